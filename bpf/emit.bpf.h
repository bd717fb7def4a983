/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts every record, then puts it where user space finds it: into a slot of this CPU's, or into
 * the ring buffer behind if there is none free. Nothing waits here, and calls do not wake user
 * space, which looks on a timer. A record that finds no room in either is counted as lost.
 *
 * A ring is written from its beginning to its end and over again, so that a large one is never in a
 * processor's cache. Slots are, and are enough for what happens between two looks as a rule. User
 * space merges what is in all of them by time.
 */
#ifndef MS_EMIT_BPF_H
#define MS_EMIT_BPF_H

/*
 * When the task's process started; never 0: the first processes start later than one tick after
 * boot. Not for what runs at each call: see ms_leader_boottime().
 */
static __always_inline __u64 start_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime) / MS_START_NS * MS_START_NS;
}

/*
 * When the calling process started. A function of its own: for each pointer of the kernel's that is
 * followed directly, the verifier searches all of the kernel's types, more than once, which takes a
 * millisecond. What is rare reads it with a call of the kernel's instead.
 */
__noinline __u64 ms_leader_boottime(void)
{
	return bpf_get_current_task_btf()->group_leader->start_boottime;
}

static __always_inline __u64 start_of_current(void)
{
	return ms_leader_boottime() / MS_START_NS * MS_START_NS;
}

static __always_inline struct ms_counters *counters(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&ms_counts, &key);
}

/*
 * Atomic although the map is per CPU: uprobe programs can be preempted by one another, and the
 * counts must be exact.
 */
static __always_inline void count_seen_many(__u32 kind, __u64 many)
{
	struct ms_counters *count = counters();

	if (count && kind < MS_KINDS_COUNT)
		__sync_fetch_and_add(&count->seen[kind], many);
}

static __always_inline void count_seen(__u32 kind)
{
	count_seen_many(kind, 1);
}

/* Of the process that is running; NULL if there is no room. */
static __always_inline struct ms_process_losses *process_losses(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ms_process_key key = { .start_ns = start_of(task), .pid = task->tgid };
	struct ms_process_losses *losses = bpf_map_lookup_elem(&ms_losses, &key);

	if (!has_losses)
		has_losses = 1;
	if (!losses) {
		bpf_map_update_elem(&ms_losses, &key, &no_losses, BPF_NOEXIST);
		losses = bpf_map_lookup_elem(&ms_losses, &key);
	}
	return losses;
}

/* A function of its own, as the next one: both are rarely called, and their stack counts once. */
__noinline int ms_process_lost(__u32 kind, __u64 many)
{
	struct ms_process_losses *losses = process_losses();

	if (losses && kind < MS_KINDS_COUNT)
		__sync_fetch_and_add(&losses->lost[kind], many);
	return 0;
}

__noinline int ms_process_abandoned(__u64 many)
{
	struct ms_process_losses *losses = process_losses();

	if (losses)
		__sync_fetch_and_add(&losses->abandoned, many);
	return 0;
}

static __always_inline void count_lost_many(__u32 kind, __u64 many)
{
	struct ms_counters *count = counters();

	if (count && kind < MS_KINDS_COUNT)
		__sync_fetch_and_add(&count->lost[kind], many);
	ms_process_lost(kind, many);
}

static __always_inline void count_lost(__u32 kind)
{
	count_lost_many(kind, 1);
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
	ms_process_abandoned(1);
}

static __always_inline void count_bystander(void)
{
	struct ms_counters *count = counters();

	if (count)
		__sync_fetch_and_add(&count->bystanders, 1);
}

static __always_inline bool is_bulk(__u32 kind)
{
	return kind < MS_KINDS_COUNT && MS_BULK_KINDS >> kind & 1;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static __always_inline struct ms_cpu_slots *cpu_slots_of(bool bulk)
{
	__u32 key =
		MS_CPU_SLOTS(bpf_get_smp_processor_id(), bulk ? MS_RING_BULK : MS_RING_CRITICAL);

	return bpf_map_lookup_elem(&ms_cpu_slots, &key);
}

/* start_of_current(), which is the same as long as one process uses the CPU. */
static __always_inline __u64 cpu_slots_start(struct ms_cpu_slots *front)
{
	__u64 start_ns = front ? *(volatile __u64 *)&front->start_ns : 0;
	__u64 boottime = ms_leader_boottime();

	if (boottime - start_ns < MS_START_NS)
		return start_ns;
	start_ns = boottime / MS_START_NS * MS_START_NS;
	if (front)
		front->start_ns = start_ns;
	return start_ns;
}

/*
 * A slot of this CPU's for the caller alone to fill, or NULL: all are taken, or another thread came
 * in between. `*turn` is what says that it is complete. Nothing depends on staying on the CPU, and
 * a thread that is preempted on the way keeps no other thread from going on.
 */
static __always_inline struct ms_slot *slot_claim(struct ms_cpu_slots *front, __u64 *turn)
{
	__u64 head, index;

	if (!front)
		return NULL;
	head = *(volatile __u64 *)&front->head;
	if (head - *(volatile __u64 *)&front->seen >= settings.cpu_slots) {
		__u64 tail = *(volatile __u64 *)&front->tail;

		*(volatile __u64 *)&front->seen = tail;
		if (head - tail >= settings.cpu_slots)
			return NULL;
	}
	if (__sync_val_compare_and_swap(&front->head, head, head + 1) != head)
		return NULL;
	*turn = head + 1;
	index = head;
	barrier_var(index);
	return &front->slots[index & (settings.cpu_slots - 1)];
}

static __always_inline void slot_publish(struct ms_slot *slot, __u64 turn)
{
	publish(&slot->turn, turn);
}

/* ---- records --------------------------------------------------------------------------------- */

static __always_inline long ring_output(bool bulk, const void *record, __u64 size, __u64 flags)
{
	if (bulk)
		return bpf_ringbuf_output(&ms_bulk, (void *)record, size, flags);
	return bpf_ringbuf_output(&ms_critical, (void *)record, size, flags);
}

/* `size`: known when the program is compiled, at most a slot's, in words. */
static __always_inline void emit(__u32 kind, const void *record, __u64 size)
{
	struct ms_slot *slot;
	__u64 turn;

	count_seen(kind);
	slot = slot_claim(cpu_slots_of(is_bulk(kind)), &turn);
	if (slot) {
#pragma unroll
		for (__u64 i = 0; i < size / 8; i++)
			slot->record[i] = ((const __u64 *)record)[i];
		slot_publish(slot, turn);
	} else if (ring_output(is_bulk(kind), record, size, BPF_RB_NO_WAKEUP)) {
		count_lost(kind);
	}
}

/* For what is larger than a slot, or has to wake user space (BPF_RB_FORCE_WAKEUP). */
static __always_inline void emit_to_ring(__u32 kind, const void *record, __u64 size, __u64 flags)
{
	count_seen(kind);
	if (ring_output(is_bulk(kind), record, size, flags))
		count_lost(kind);
}

/* Room for a record: in a slot, or in a ring buffer. */
struct ms_room {
	void *record;
	struct ms_slot *slot; /* NULL: in a ring buffer */
	__u64 turn;
	__u64 start_ns; /* of the calling process */
};

/*
 * Room for a call's record, of a size that is known when the program is compiled: what is made in
 * its place need not be copied there. The caller submits it. Its time must have been taken
 * before: user space merges on the assumption that what comes behind a record is not older than
 * that had to be (docs/design.md, "Slots in front of each ring").
 */
static __always_inline bool emit_begin(__u32 op, __u64 size, struct ms_room *room)
{
	struct ms_cpu_slots *front = cpu_slots_of(is_bulk(op));

	count_seen(op);
	room->start_ns = cpu_slots_start(front);
	room->slot = slot_claim(front, &room->turn);
	if (room->slot) {
		room->record = room->slot->record;
		return true;
	}
	if (is_bulk(op))
		room->record = bpf_ringbuf_reserve(&ms_bulk, size, 0);
	else
		room->record = bpf_ringbuf_reserve(&ms_critical, size, 0);
	if (!room->record)
		count_lost(op);
	return room->record;
}

static __always_inline void emit_end(const struct ms_room *room)
{
	if (room->slot)
		slot_publish(room->slot, room->turn);
	else
		bpf_ringbuf_submit(room->record, BPF_RB_NO_WAKEUP);
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
