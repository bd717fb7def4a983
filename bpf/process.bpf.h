/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Life and death of the traced processes. The records share the ring of allocations and frees, so
 * that an exit is seen after the last of them.
 */
#ifndef MS_PROCESS_BPF_H
#define MS_PROCESS_BPF_H

static __always_inline void process_report(__u16 type, struct task_struct *task,
					   struct ms_process *record)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	event_init(&record->event, type, sizeof(*record), start_of(task), bpf_ktime_get_ns());
	bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), leader->comm);
	/* User space has to do something about forks and executions, at once. */
	emit_to_ring(MS_COUNTED_EXIT, record, sizeof(*record), BPF_RB_FORCE_WAKEUP);
}

#define MS_SIGNAL_GROUP_EXIT 4 /* SIGNAL_GROUP_EXIT, include/linux/sched/signal.h */

/*
 * The thread will not return from the calls that it is in: it ends, or executes another program.
 * The process' exit says what ends with the whole process.
 */
static __always_inline void process_abandon(struct task_struct *task)
{
	struct ms_thread *thread = bpf_task_storage_get(&ms_threads, task, NULL, 0);

	if (thread)
		call_unwind(thread, (__u64)-1);
}

/*
 * The new program has called nothing yet. User space may make a target of the process meanwhile,
 * which replaces what the map has: that is neither undone nor overlooked. Returns the flags of a
 * target, or 0.
 */
static __always_inline __u32 process_forget_calls(__u32 pid)
{
	__u32 *known = bpf_map_lookup_elem(&ms_targets, &pid);

	if (!known)
		return 0;
	__sync_val_compare_and_swap(known, MS_TARGET_STRANGER, 0);
	return target_flags(pid);
}

/*
 * Of all threads only the one that executes the program survives, with the leader's pid; `old_pid`
 * is what it had before.
 */
static __always_inline void process_exec(struct task_struct *task, __u32 old_pid)
{
	__u32 pid = task->tgid;
	struct ms_process record = {};

	if (!process_forget_calls(pid))
		return;
	process_abandon(task);
	bpf_task_storage_delete(&ms_threads, task);
	bpf_task_storage_delete(&ms_python_threads, task);
	python_gone(task->tgid);
	who_report(task);
	record.value = (__u32)old_pid != (__u32)task->pid;
	record.program = task->self_exec_id;
	process_report(MS_TYPE_EXEC, task, &record);
}

static __always_inline void process_fork(struct task_struct *parent, struct task_struct *child)
{
	struct ms_process record = {};
	__u32 flags = target_flags(parent->tgid) & ~(MS_TARGET_SHUT | MS_TARGET_ENTRIES |
						     MS_TARGET_STACKLESS | MS_TARGET_STRANGER),
	      pid = child->tgid;

	if (!flags || child->tgid == parent->tgid)
		return;
	if (flags & MS_TARGET_FOLLOW) {
		bpf_map_update_elem(&ms_targets, &pid, &flags, BPF_ANY);
		python_fork(parent->tgid, pid);
		if (settings.who == MS_WHO_OF_CHILDREN)
			who_report(child);
	}
	record.child_pid = pid;
	record.child_start_ns = start_of(child);
	process_report(MS_TYPE_FORK, parent, &record);
}

static __always_inline void process_exit(struct task_struct *task)
{
	struct ms_process record = {};
	__u32 pid = task->tgid, *known = bpf_map_lookup_elem(&ms_targets, &pid);
	bool was_target = !known || *known & ~MS_TARGET_STRANGER;

	if (!(BPF_CORE_READ(task, signal, flags) & MS_SIGNAL_GROUP_EXIT))
		process_abandon(task);
	/* The last thread; if several find themselves last, the one that removes the target. */
	if (BPF_CORE_READ(task, signal, live.counter) || bpf_map_delete_elem(&ms_targets, &pid))
		return;
	if (!was_target)
		return;
	python_gone(pid);
	record.value = task->exit_code;
	process_report(MS_TYPE_EXIT, task, &record);
}

/*
 * Whether it is in the scope by now, user space finds out: the kernel cannot tell here of which
 * hierarchy the cgroup is that was asked for.
 */
static __always_inline void process_moved(struct task_struct *task)
{
	struct ms_event record = {};

	if (!moves_of_all && !target_flags(task->tgid))
		return;
	event_init(&record, MS_TYPE_MOVED, sizeof(record), start_of(task), bpf_ktime_get_ns());
	record.pid = record.tid = task->tgid;
	if (ring_output(false, &record, sizeof(record), BPF_RB_FORCE_WAKEUP))
		__sync_fetch_and_add(&lost_moves, 1);
}

#endif /* MS_PROCESS_BPF_H */
