/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Launches are by far the most frequent calls. If user space does not need each of them, they are
 * counted in a map that user space reads now and then, and cost it nothing.
 */
#ifndef MS_COUNT_BPF_H
#define MS_COUNT_BPF_H

/* A launch of a graph is more than a number: it allocates and frees. */
static __always_inline bool is_counted(const struct ms_spec *spec)
{
	return settings.count_launches && spec->kind == MS_OP_LAUNCH;
}

/* Should the handle be named now, launches so far were of a function without a name. */
static __always_inline void handle_launched(const struct ms_call *call, __u64 handle)
{
	struct ms_handle key = { call->event.start_ns, handle, call->event.pid };
	__u64 nameless = 0;

	bpf_map_update_elem(&ms_named, &key, &nameless, BPF_NOEXIST);
}

static __always_inline struct ms_launch_key launch_key(const struct ms_call *call)
{
	const __u16 common = MS_KNOWN_ADDR | MS_KNOWN_SRC | MS_KNOWN_RESULT;

	return (struct ms_launch_key){
		.start_ns = call->event.start_ns,
		.addr = call->addr,
		.src = call->src,
		.pid = call->event.pid,
		.epoch = call->event.epoch,
		.program = bpf_get_current_task_btf()->self_exec_id,
		.result = call->result,
		.row = call->row,
		.driver_row = call->driver_row,
		.known = call->known & common,
		.flags = call->flags,
	};
}

/*
 * Returns 0 if there is no room for one more kind of launch. Not inline, so that its stack is given
 * back: before Linux 6.13 a program and all that it calls share 512 bytes.
 */
__noinline int ms_launch_count(const struct ms_call *call)
{
	struct ms_launch_key key;
	__u64 *count, none = 0;

	if (!call)
		return 0;
	key = launch_key(call);
	count = bpf_map_lookup_elem(&ms_launch_counts, &key);
	if (!count) {
		handle_launched(call, call->addr);
		handle_launched(call, call->src);
		__sync_fetch_and_add(&launch_keys, 1);
		bpf_map_update_elem(&ms_launch_counts, &key, &none, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&ms_launch_counts, &key);
	}
	if (!count)
		return 0;
	__sync_fetch_and_add(count, 1);
	count_seen(MS_OP_LAUNCH);
	return 1;
}

#define MS_NAME_WORDS (MS_NAME_BYTES / 8)

struct ms_name_text {
	__u64 words[MS_NAME_WORDS];
};

/*
 * What tells names of at most MS_NAME_BYTES apart: a hash (FNV-1a, by words). A function of its
 * own, so that the verifier goes through its loop once, and not on each way that leads here.
 */
__noinline __u64 ms_name_hash(const struct ms_name_text *text, __u32 length)
{
	__u64 hash = 0xcbf29ce484222325;
	__u32 whole = length / 8, i;

	if (!text)
		return 0;
	for (i = 0; i < MS_NAME_WORDS; i++) {
		if (i >= whole)
			break;
		hash = (hash ^ text->words[i]) * 0x100000001b3;
	}
	if (i < MS_NAME_WORDS && length % 8)
		hash = (hash ^ (text->words[i] & ((1ull << length % 8 * 8) - 1))) * 0x100000001b3;
	return hash;
}

/* A handle that is being named rarely had another name before. */
static __always_inline void epoch_note(struct ms_name *name)
{
	struct ms_handle key = { name->event.start_ns, name->handle, name->event.pid };
	__u64 meaning, *before;

	if (!settings.count_launches)
		return;
	meaning = name->alias ? name->alias :
				ms_name_hash((const struct ms_name_text *)name->name, name->length);
	before = bpf_map_lookup_elem(&ms_named, &key);
	if (before && *before == meaning)
		return;
	if (before)
		name->event.epoch = __sync_fetch_and_add(&epoch, 1) + 1;
	bpf_map_update_elem(&ms_named, &key, &meaning, BPF_ANY);
}

#endif /* MS_COUNT_BPF_H */
