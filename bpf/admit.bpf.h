/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose calls are recorded. Probes in one process alone are of a target. Probes in a file are in
 * every process that has mapped it: then the map of targets says whose calls count, and the process
 * whose first call it is may become a target here, so that not even that one is missed.
 */
#ifndef MS_ADMIT_BPF_H
#define MS_ADMIT_BPF_H

static __always_inline bool is_in_scope(void)
{
	if (settings.admits == MS_ADMITS_CGROUP)
		return bpf_current_task_under_cgroup(&ms_cgroup, 0) == 1;
	return settings.admits == MS_ADMITS_ALL;
}

/*
 * Whether the calling process has begun to be a target: user space has been sent a record of it,
 * which is made where the thread has room for names, as there is little left of the stack.
 */
static __always_inline bool admit(__u32 file, bool was_stranger)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__u32 pid = task->tgid, flags = MS_TARGET_TRACED | MS_TARGET_FOLLOW;
	struct ms_thread *thread =
		bpf_task_storage_get(&ms_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct ms_process *record;
	__u32 *known;

	if (!thread)
		return false;
	if (settings.who == MS_WHO_OF_CHILDREN)
		who_report(task);
	record = (struct ms_process *)thread->name;
	event_init(&record->event, MS_TYPE_ATTACH, sizeof(*record), start_of(task),
		   bpf_ktime_get_ns());
	record->child_start_ns = BPF_CORE_READ(leader, start_time);
	record->child_pid = was_stranger;
	record->value = file;
	bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), leader->comm);
	/*
	 * Before it is a target, so that the record is older than any call's. If two threads come
	 * here, there are two records.
	 */
	if (ring_output(false, record, sizeof(*record), BPF_RB_FORCE_WAKEUP))
		return false;
	known = bpf_map_lookup_elem(&ms_targets, &pid);
	/* User space may have made a target of it by now, and have set other flags. */
	if (!known) {
		bpf_map_update_elem(&ms_targets, &pid, &flags, BPF_NOEXIST);
		return true;
	}
	__sync_val_compare_and_swap(known, 0, flags);
	__sync_val_compare_and_swap(known, MS_TARGET_STRANGER, flags);
	return true;
}

/*
 * The process calls while it is not in the scope. Should it be moved there, its account does not
 * begin with nothing, although the probes were there before it was.
 */
static __always_inline void note_stranger(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32, flags = MS_TARGET_STRANGER, *known;

	if (settings.admits != MS_ADMITS_CGROUP)
		return;
	known = bpf_map_lookup_elem(&ms_targets, &pid);
	if (known)
		__sync_val_compare_and_swap(known, 0, flags);
	else
		bpf_map_update_elem(&ms_targets, &pid, &flags, BPF_NOEXIST);
}

/*
 * Of a process that user space has found: it may end before it is looked at. User space may change
 * other flags meanwhile.
 */
static __always_inline void say_who(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = task->tgid, *flags = bpf_map_lookup_elem(&ms_targets, &pid);

	if (flags && __sync_fetch_and_and(flags, ~MS_TARGET_UNSAID) & MS_TARGET_UNSAID)
		who_report(task);
}

/* Whether a call through the probe with that cookie is to be recorded. */
__noinline int ms_admits(__u64 cookie)
{
	__u32 file = MS_COOKIE_FILE(cookie), flags = target_flags(bpf_get_current_pid_tgid() >> 32);

	if (file & MS_FILE_AFTER && open_files[file & (MS_FILES - 1)])
		return 0;
	if (!file || file & MS_FILE_AFTER)
		return !(flags & (MS_TARGET_SHUT | MS_TARGET_DENIED));
	if (!open_files[file & (MS_FILES - 1)])
		return 0;
	if (flags & MS_TARGET_UNSAID)
		say_who();
	if (flags & MS_TARGET_TRACED)
		return 1;
	if (flags & ~MS_TARGET_STRANGER || !is_in_scope()) {
		count_bystander();
		if (!flags)
			note_stranger();
		return 0;
	}
	if (admit(file, flags))
		return 1;
	call_refuse(spec_of(MS_COOKIE_ROW(cookie))->kind);
	return 0;
}

/* What is attached to one process, with nothing being attached, has nothing to be looked up. */
static __always_inline bool is_admitted(__u64 cookie)
{
	return (!MS_COOKIE_FILE(cookie) && !shut_targets) || ms_admits(cookie);
}

#endif /* MS_ADMIT_BPF_H */
