/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Markers: a probed function says that a part of the program's work begins or ends. Which one it is
 * and what it is called is read here; whether begins and ends fit is for user space to find out.
 */
#ifndef MS_MARKER_BPF_H
#define MS_MARKER_BPF_H

/* By the row in the probe's cookie. */
const volatile struct ms_marker_row marker_rows[MS_MARKER_ROWS] = {};

/* Where a record is made: names are longer than the stack. */
struct ms_marker_room {
	__u64 words[(sizeof(struct ms_marker) + MS_MARKER_NAME_BYTES) / 8]; /* a struct ms_marker */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ms_marker_room);
} ms_marker_rooms SEC(".maps");

/* nvtxEventAttributes_t, versions 1 to 3: as far as it is read here. */
struct ms_nvtx_attributes {
	__u64 apart[4];
	__u32 message_type;
	__u32 reserved;
	__u64 message;
};

enum ms_nvtx_message {
	MS_NVTX_ASCII = 1,
	MS_NVTX_UNICODE = 2, /* wchar_t */
};

static __always_inline long marker_read_string(struct ms_marker *marker, __u64 address)
{
	long length = bpf_probe_read_user_str(marker->name, MS_MARKER_NAME_BYTES, (void *)address);

	if (length <= 0) {
		marker->flags |= MS_MARKER_UNREAD;
		return 0;
	}
	if (length == MS_MARKER_NAME_BYTES) {
		char next = 0;

		/* What fills the room exactly is whole. */
		bpf_probe_read_user(&next, sizeof(next),
				    (void *)(address + MS_MARKER_NAME_BYTES - 1));
		if (next)
			marker->flags |= MS_MARKER_CUT;
	}
	return length;
}

#define MS_MARKER_WIDE 64 /* characters that are read */

/* What is not ASCII is a question mark. */
static __always_inline long marker_read_wide(struct ms_marker *marker, __u64 address)
{
	__u32 letter = 0, i;

	for (i = 0; i < MS_MARKER_WIDE - 1; i++) {
		if (bpf_probe_read_user(&letter, sizeof(letter), (void *)(address + 4 * i))) {
			marker->flags |= MS_MARKER_UNREAD;
			break;
		}
		if (!letter)
			break;
		marker->name[i & (MS_MARKER_WIDE - 1)] = letter < 128 ? letter : '?';
	}
	if (i == MS_MARKER_WIDE - 1 && letter)
		marker->flags |= MS_MARKER_CUT;
	marker->name[i & (MS_MARKER_WIDE - 1)] = 0;
	return i + 1;
}

static __always_inline long marker_read_message(struct ms_marker *marker, __u64 address)
{
	struct ms_nvtx_attributes attributes = {};

	if (bpf_probe_read_user(&attributes, sizeof(attributes), (void *)address)) {
		marker->flags |= MS_MARKER_UNREAD;
		return 0;
	}
	if (!attributes.message_type || !attributes.message)
		return 0;
	if (attributes.message_type == MS_NVTX_ASCII)
		return marker_read_string(marker, attributes.message);
	if (attributes.message_type == MS_NVTX_UNICODE)
		return marker_read_wide(marker, attributes.message);
	marker->flags |= MS_MARKER_UNREAD; /* a handle, which only NVTX's tool knows */
	return 0;
}

static __always_inline long marker_copy_fixed(struct ms_marker *marker,
					      const volatile struct ms_marker_row *row)
{
	for (int i = 0; i < MS_MARKER_FIXED_BYTES; i++)
		marker->name[i] = row->fixed[i];
	return row->length;
}

static __always_inline long
marker_read_name(struct ms_marker *marker, const volatile struct ms_marker_row *row, __u64 argument)
{
	switch (row->name) {
	case MS_MARKER_NAME_FIXED:
		return marker_copy_fixed(marker, row);
	case MS_MARKER_NAME_STRING:
		return argument ? marker_read_string(marker, argument) : 0;
	case MS_MARKER_NAME_WIDE:
		return argument ? marker_read_wide(marker, argument) : 0;
	case MS_MARKER_NAME_ATTRIBUTES:
		return argument ? marker_read_message(marker, argument) : 0;
	}
	return 0;
}

/* A slot is of one size; what is longer goes to the ring. */
static __always_inline void marker_emit(const struct ms_marker_room *room, __u32 length)
{
	struct ms_slot *slot = NULL;
	__u64 turn;

	count_seen(MS_KIND_MARKER);
	if (sizeof(struct ms_marker) + length <= sizeof(slot->record))
		slot = slot_claim(cpu_slots_of(is_bulk(MS_KIND_MARKER)), &turn);
	if (slot) {
#pragma unroll
		for (__u64 i = 0; i < sizeof(slot->record) / 8; i++)
			slot->record[i] = room->words[i];
		slot_publish(slot, turn);
		return;
	}
	if (ring_output(is_bulk(MS_KIND_MARKER), room, sizeof(struct ms_marker) + length,
			BPF_RB_NO_WAKEUP))
		count_lost(MS_KIND_MARKER);
}

static __always_inline bool marker_says_action(const volatile struct ms_marker_row *row)
{
	return row->source == MS_MARKER_BY_INJECTED || row->source == MS_MARKER_BY_COMMAND;
}

static __always_inline void marker_set_values(struct ms_marker *marker, struct pt_regs *ctx,
					      const volatile struct ms_marker_row *row,
					      const __u64 *args)
{
	__u64 result = regs_result(ctx), entry_sp = regs_entry_sp(ctx);
	__u64 return_sp = regs_return_sp(ctx);

	/* The verifier wants none of them to be read from where it depends on the row. */
	barrier_var(result);
	barrier_var(entry_sp);
	barrier_var(return_sp);
	marker->source = row->source;
	marker->action = marker_says_action(row) ? args[0] : row->action;
	marker->domain = place_get(args, row->domain_arg);
	marker->id = marker->sp = 0;
	if (row->id == MS_MARKER_ID_RESULT)
		marker->id = result;
	else if (row->id == MS_MARKER_ID_ARGUMENT)
		marker->id = place_get(args, row->id_arg);
	if (row->source == MS_MARKER_BY_FUNCTION)
		marker->sp = row->action == MS_MARKER_POP ? return_sp : entry_sp;
	else if (row->source == MS_MARKER_BY_COMMAND)
		marker->sp = (__u32)bpf_get_current_uid_gid();
	marker->flags = marker->reserved = 0;
}

static __always_inline const volatile struct ms_marker_row *marker_row(__u32 number)
{
	barrier_var(number);
	return &marker_rows[number & (MS_MARKER_ROWS - 1)];
}

/* When the current second began, and what was said in it. */
static __u64 commands_since_ns;
static __u64 commands_count;

/* Anybody can run our program: no one of them may fill the rings. */
static __always_inline bool marker_command_is_wanted(void)
{
	const __u64 now_ns = bpf_ktime_get_ns();
	struct bpf_pidns_info info;

	/* Containers of one image have one file of our program, and root is another one in each. */
	if (bpf_get_ns_current_pid_tgid(settings.pid_space_device, settings.pid_space, &info,
					sizeof(info)))
		return false;
	if (!(__u32)bpf_get_current_uid_gid())
		return true;
	if (now_ns - commands_since_ns >= MS_MARKER_COMMANDS_NS) {
		commands_since_ns = now_ns;
		commands_count = 0;
	}
	return __sync_fetch_and_add(&commands_count, 1) < MS_MARKER_COMMANDS;
}

/*
 * The probe in our library is in each process that has it, and children need not be traced; but it
 * need not wait until all probes of a process are in place.
 */
static __always_inline bool marker_is_wanted(__u64 cookie)
{
	const __u8 source = marker_row(MS_COOKIE_ROW(cookie))->source;

	if (source == MS_MARKER_BY_COMMAND)
		return marker_command_is_wanted();
	if (source == MS_MARKER_BY_INJECTED)
		return target_flags(bpf_get_current_pid_tgid() >> 32) & MS_TARGET_TRACED;
	return is_admitted(cookie);
}

static __always_inline void marker_report(struct pt_regs *ctx, __u32 number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const volatile struct ms_marker_row *row;
	__u64 args[MS_PLACES];
	struct ms_marker_room *room;
	struct ms_marker *marker;
	long length;

	row = marker_row(number);
	room = bpf_task_storage_get(&ms_marker_rooms, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!room) {
		count_seen(MS_KIND_MARKER);
		count_lost(MS_KIND_MARKER);
		return;
	}
	places_read(args, ctx);
	marker = (struct ms_marker *)room->words;
	event_init(&marker->event, MS_TYPE_MARKER, 0, start_of_current(), bpf_ktime_get_ns());
	marker_set_values(marker, ctx, row, args);
	length = marker_read_name(marker, row, place_get(args, row->name_arg));
	if (length < 0 || length > MS_MARKER_NAME_BYTES)
		length = 0;
	marker->length = length;
	marker->event.size = sizeof(*marker) + length;
	marker_emit(room, length);
}

#endif /* MS_MARKER_BPF_H */
