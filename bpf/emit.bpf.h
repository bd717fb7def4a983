/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts every record, then puts it into its ring. Nothing waits here, and calls wake nobody: user
 * space drains the rings on a timer. A record that finds no room is counted as lost.
 *
 * A ring is written from its beginning to its end and over again, so that a large one is never in a
 * processor's cache. The small one in front of it is, and has room for what happens between two
 * looks of user space as a rule. User space merges what is in both by time.
 */
#ifndef MS_EMIT_BPF_H
#define MS_EMIT_BPF_H

static __always_inline struct ms_counters *counters(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&ms_counts, &key);
}

/*
 * Atomic although the map is per CPU: uprobe programs can be preempted by one another, and the
 * counts must be exact.
 */
static __always_inline void count_seen(__u32 kind)
{
	struct ms_counters *count = counters();

	if (count && kind < MS_KINDS_COUNT)
		__sync_fetch_and_add(&count->seen[kind], 1);
}

static __always_inline void count_lost(__u32 kind)
{
	struct ms_counters *count = counters();

	if (count && kind < MS_KINDS_COUNT)
		__sync_fetch_and_add(&count->lost[kind], 1);
}

static __always_inline void count_untracked(void)
{
	struct ms_counters *count = counters();

	if (count)
		__sync_fetch_and_add(&count->untracked, 1);
}

static __always_inline void count_abandoned(void)
{
	struct ms_counters *count = counters();

	if (count)
		__sync_fetch_and_add(&count->abandoned, 1);
}

static __always_inline bool is_bulk(__u32 kind)
{
	return kind < MS_OPS_COUNT && MS_BULK_OPS >> kind & 1;
}

/* User space has to do something about forks and executions, at once: the process is woken. */
static __always_inline void emit(__u32 kind, const void *record, __u64 size)
{
	__u64 flags = kind == MS_KIND_PROCESS ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	long err;

	count_seen(kind);
	if (is_bulk(kind))
		err = bpf_ringbuf_output(&ms_bulk_front, (void *)record, size, flags) &&
		      bpf_ringbuf_output(&ms_bulk, (void *)record, size, flags);
	else
		err = bpf_ringbuf_output(&ms_crit_front, (void *)record, size, flags) &&
		      bpf_ringbuf_output(&ms_critical, (void *)record, size, flags);
	if (err)
		count_lost(kind);
}

/*
 * Room for a call's record, of a size that is known when the program is loaded: what is made in the
 * ring itself need not be copied there. Whoever gets it submits it. Its time must have been taken
 * before: user space merges rings on the assumption that what comes behind a record is not older
 * than that had to be (docs/design.md, "A small ring in front of each").
 */
static __always_inline void *emit_begin(__u32 op, __u64 size)
{
	void *record;

	count_seen(op);
	if (is_bulk(op))
		record = bpf_ringbuf_reserve(&ms_bulk_front, size, 0);
	else
		record = bpf_ringbuf_reserve(&ms_crit_front, size, 0);
	if (record)
		return record;
	if (is_bulk(op))
		record = bpf_ringbuf_reserve(&ms_bulk, size, 0);
	else
		record = bpf_ringbuf_reserve(&ms_critical, size, 0);
	if (!record)
		count_lost(op);
	return record;
}

static __always_inline void emit_end(void *record)
{
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void event_init(struct ms_event *event, __u16 type, __u16 size,
				       __u64 start_ns, __u64 ts_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();

	event->ts_ns = ts_ns;
	event->start_ns = start_ns;
	event->pid = task->tgid;
	event->tid = task->pid;
	event->type = type;
	event->size = size;
	event->epoch = epoch;
}

#endif /* MS_EMIT_BPF_H */
