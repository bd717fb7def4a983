/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why a call took long: for how much of it the thread ran, was runnable but had no CPU, or was
 * blocked. The kernel counts that for every thread, so it is read at the entry and at the return;
 * nothing is installed where threads are switched.
 *
 * The `sum_exec_runtime` of a thread that runs is its CPU time up to `exec_start`, and both are
 * brought up to date together (kernel/sched/fair.c, update_curr()). So what the second has grown by
 * more than the first is the time without a CPU, however long ago that was.
 */
#ifndef MS_SPLIT_BPF_H
#define MS_SPLIT_BPF_H

/* A kernel without CONFIG_SCHED_INFO has a struct sched_info without members. */
static __always_inline bool split_is_known(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return bpf_core_field_exists(task->sched_info.run_delay);
}

static __always_inline void on_cpu_read(struct ms_on_cpu *on_cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!split_is_known())
		return;
	on_cpu->looked_ns = task->se.exec_start;
	on_cpu->running_ns = task->se.sum_exec_runtime;
	on_cpu->runnable_ns = task->sched_info.run_delay;
	on_cpu->migrations = task->se.nr_migrations;
}

static __always_inline void call_init(struct ms_call *call, __u32 row, __u64 start_ns, __u64 ts_ns)
{
	__builtin_memset(call, 0, sizeof(*call));
	event_init(&call->event, MS_TYPE_CALL, sizeof(*call), start_ns, ts_ns);
	call->row = row;
	call->driver_row = MS_NO_ROW;
}

/* Begins the record of a call whose end is watched. */
static __always_inline void split_init(struct ms_frame *frame, __u32 row, __u64 start_ns)
{
	struct ms_call *call = &frame->record.call;

	call_init(call, row, start_ns, bpf_ktime_get_ns());
	if (!split_is_known())
		return;
	call->event.size = sizeof(struct ms_split_call);
	on_cpu_read(&frame->entered);
}

/*
 * The scheduler's clock is one of the CPU, and where the kernel leaves interrupts and stolen time
 * out of it, two CPUs' clocks differ: of a thread that came to another one, it is only believed if
 * it says the same as ours. Else, what the thread ran since the last tick is not known.
 */
#define MS_TICK_NS 10000000 /* at most: 100 in a second */

static __always_inline __u64 off_cpu_of(const struct ms_on_cpu *from, const struct ms_on_cpu *to,
					__u64 duration_ns)
{
	__u64 clock_ns = to->looked_ns - from->looked_ns;
	__s64 off_ns;

	if (to->migrations != from->migrations &&
	    clock_ns + MS_TICK_NS - duration_ns > 2 * MS_TICK_NS)
		clock_ns = duration_ns;
	off_ns = clock_ns - (to->running_ns - from->running_ns);
	if (off_ns < 0)
		return 0;
	return (__u64)off_ns < duration_ns ? off_ns : duration_ns;
}

/* The call is over, and its duration known. */
static __always_inline void split_note(struct ms_frame *frame)
{
	struct ms_split_call *split = (struct ms_split_call *)&frame->record;
	struct ms_on_cpu now = {};
	__u64 off_ns, runnable_ns;

	if (!split_is_known())
		return;
	on_cpu_read(&now);
	off_ns = off_cpu_of(&frame->entered, &now, split->call.duration_ns);
	runnable_ns = now.runnable_ns - frame->entered.runnable_ns;
	if (runnable_ns > off_ns)
		runnable_ns = off_ns;
	split->runnable_ns = runnable_ns;
	split->blocked_ns = off_ns - runnable_ns;
}

#endif /* MS_SPLIT_BPF_H */
