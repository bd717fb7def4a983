/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What our library in a command (user/inject) hands over, at the entry of its own function: batches
 * of what GPUs did, names of kernels, and how it goes. It is read from the program's memory
 * straight into a record. The probe is in the file, for all processes that have it; what is handed
 * over by one that is not traced is left where it is.
 */
#ifndef MS_ACTIVITY_BPF_H
#define MS_ACTIVITY_BPF_H

struct ms_batch {
	const void *from;
	__u32 count;
};

/* What cannot be read is all 0, which is no activity: user space refuses and counts it. */
static __always_inline void activity_copy_one(const struct ms_batch *batch, __u32 index)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct ms_activity *record;
	struct ms_room room;

	if (!emit_begin(MS_KIND_ACTIVITY, sizeof(*record), &room))
		return;
	record = room.record;
	event_init(&record->event, MS_TYPE_ACTIVITY, sizeof(*record), room.start_ns, now_ns);
	bpf_probe_read_user(&record->is, sizeof(record->is),
			    batch->from + index * sizeof(record->is));
	emit_end(&room);
}

/*
 * MS_ACTIVITIES_TOGETHER of them are one record of the ring buffer: to find room for each takes
 * longer than to copy it. Fewer than that go one by one.
 */
static long activity_copy(__u32 turn, void *context)
{
	const struct ms_batch *batch = context;
	const __u32 first = turn * MS_ACTIVITIES_TOGETHER;
	const __u64 now_ns = bpf_ktime_get_ns(), start_ns = start_of_current();
	struct ms_activity *records;
	__u32 i;

	if (first + MS_ACTIVITIES_TOGETHER > batch->count) {
		for (i = 0; i < MS_ACTIVITIES_TOGETHER && first + i < batch->count; i++)
			activity_copy_one(batch, first + i);
		return 1;
	}
	count_seen_many(MS_KIND_ACTIVITY, MS_ACTIVITIES_TOGETHER);
	records = bpf_ringbuf_reserve(&ms_bulk, MS_ACTIVITIES_TOGETHER * sizeof(*records), 0);
	if (!records) {
		count_lost_many(MS_KIND_ACTIVITY, MS_ACTIVITIES_TOGETHER);
		return 0;
	}
#pragma unroll
	for (i = 0; i < MS_ACTIVITIES_TOGETHER; i++) {
		event_init(&records[i].event, MS_TYPE_ACTIVITY, sizeof(*records), start_ns, now_ns);
		bpf_probe_read_user(&records[i].is, sizeof(records[i].is),
				    batch->from + (first + i) * sizeof(records[i].is));
	}
	bpf_ringbuf_submit(records, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Room for a record that is larger than a slot; NULL: it is lost. `size`: a constant. */
static __always_inline void *activity_reserve(__u16 type, __u64 size)
{
	struct ms_event *event;

	count_seen(MS_KIND_GPU);
	event = bpf_ringbuf_reserve(&ms_critical, size, 0);
	if (event)
		event_init(event, type, size, start_of_current(), bpf_ktime_get_ns());
	else
		count_lost(MS_KIND_GPU);
	return event;
}

/* `room`: of the name, a constant. */
static __always_inline void activity_name(const void *from, __u32 room)
{
	struct ms_gpu_name *record = activity_reserve(MS_TYPE_GPU_NAME, sizeof(*record) + room);

	if (!record)
		return;
	bpf_probe_read_user(&record->is, sizeof(record->is) + room, from);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void activity_status(const void *from)
{
	struct ms_gpu_status *record = activity_reserve(MS_TYPE_GPU_STATUS, sizeof(*record));

	if (!record)
		return;
	bpf_probe_read_user(&record->is, sizeof(record->is), from);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void activity_named(const void *from)
{
	struct ms_gpu_name_body head = {};

	bpf_probe_read_user(&head, sizeof(head), from);
	if (head.room == 128)
		activity_name(from, 128);
	else if (head.room == 512)
		activity_name(from, 512);
	else if (head.room == MS_GPU_NAME_MAX)
		activity_name(from, MS_GPU_NAME_MAX);
}

static __always_inline void activity_take(struct pt_regs *ctx)
{
	const __u32 count = PT_REGS_PARM3(ctx);
	struct ms_batch batch = { .from = (const void *)PT_REGS_PARM2(ctx), .count = count };

	if (!(target_flags(bpf_get_current_pid_tgid() >> 32) & MS_TARGET_TRACED))
		return;
	switch ((__u32)PT_REGS_PARM1(ctx)) {
	case MS_HAND_ACTIVITIES:
		if (count <= MS_HAND_MOST)
			bpf_loop(count / MS_ACTIVITIES_TOGETHER + 1, activity_copy, &batch, 0);
		break;
	case MS_HAND_NAME:
		activity_named(batch.from);
		break;
	case MS_HAND_STATUS:
		activity_status(batch.from);
		break;
	}
}

#endif /* MS_ACTIVITY_BPF_H */
