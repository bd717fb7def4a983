/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the allocators of frameworks say of themselves, at the entry of the functions that they say
 * it to (frameworks.def). If they say the device, only of CUDA devices: memory of the host comes
 * through them, too. Else of all memory: where blocks lie tells the ledger what they are.
 * Besides, what NCCL is asked to do, from its entry to its return.
 */
#ifndef MS_TENSOR_BPF_H
#define MS_TENSOR_BPF_H

#define MS_FRAMEWORK_ROOM 64 /* a power of two: a mask */

/* clang-format off */
const struct ms_framework_row ms_framework_rows[MS_FRAMEWORK_ROOM] = {
#define MS_FRAMEWORK(of, what, symbol, ...) { MS_FRAMEWORK_##of, MS_TENSOR_##what, __VA_ARGS__ },
#include "frameworks.def"
#undef MS_FRAMEWORK
};
/* clang-format on */

#define MS_C10_CUDA 1        /* c10::DeviceType::CUDA */
#define MS_C10_NO_INDEX 0xff /* of a c10::Device */

/* A thread is in one such function at a time: one within another is the same request. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ms_tensor_request);
} ms_tensor_requests SEC(".maps");

static __always_inline struct ms_tensor_request *tensor_request(__u64 flags)
{
	return bpf_task_storage_get(&ms_tensor_requests, bpf_get_current_task_btf(), NULL, flags);
}

static __always_inline const struct ms_framework_row *tensor_row(__u32 number)
{
	barrier_var(number);
	return &ms_framework_rows[number & (MS_FRAMEWORK_ROOM - 1)];
}

static __always_inline void tensor_emit(struct ms_tensor *record, __u64 start_ns)
{
	event_init(&record->event, MS_TYPE_TENSOR, sizeof(*record), start_ns, bpf_ktime_get_ns());
	emit(MS_KIND_TENSOR, record, sizeof(*record));
}

/* Whether the stack of a block is left to chance: MS_TENSOR_CHANCE or 0. */
static __always_inline __u8 tensor_chance(__u64 size)
{
	return settings.tensor_chance && size < MS_TENSOR_ALWAYS_BYTES ? MS_TENSOR_CHANCE : 0;
}

/* The stack of what asks for a block, unless chance is against it. `lowered`: as of a call. */
static __always_inline __u32 tensor_stack(struct pt_regs *ctx, __u64 size, __u32 lowered)
{
	const __u32 least = size < MS_TENSOR_LEAST_BYTES ? MS_TENSOR_LEAST_BYTES : size;

	if (tensor_chance(size) && bpf_get_prandom_u32() % MS_TENSOR_ALWAYS_BYTES >= least)
		return 0;
	return stack_take(ctx, MS_OP_ALLOC, regs_entry_sp(ctx) + lowered);
}

/* What is asked for is kept until the result is there. */
static __always_inline void tensor_ask(struct pt_regs *ctx, const struct ms_framework_row *row,
				       __u32 number, __u64 *args)
{
	struct ms_tensor_request *request = tensor_request(BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!request)
		return;
	request->sp = regs_entry_sp(ctx);
	request->size = place_get(args, row->size);
	request->allocator = place_get(args, row->reserved);
	request->row = number;
	request->start_ns = start_of_current();
	request->stack = tensor_stack(ctx, request->size, 0);
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

/* An argument behind those in registers, of a function that begins at this instruction. */
static __always_inline __u64 nccl_place(struct pt_regs *ctx, const __u64 *args, __u8 place)
{
	__u64 value = 0;

	if (MS_REG_ARGS < MS_PLACE_NONE && place == MS_REG_ARGS) {
		read_u64(&value, regs_entry_sp(ctx) + sizeof(value));
		return value;
	}
	return place_get(args, place);
}

/*
 * Whether the group ends within a call that makes communicators: until about 2.22,
 * ncclCommInitAll() calls the exported ncclGroupEnd().
 */
static __always_inline bool nccl_is_inner(const struct ms_framework_row *row, __u64 sp,
					  const struct ms_tensor_request *request)
{
	return row->device == MS_NCCL_ncclGroupEnd && request->sp > sp &&
	       tensor_row(request->row)->action == MS_TENSOR_COMM_MADE;
}

static __always_inline void nccl_ask(struct pt_regs *ctx, const struct ms_framework_row *row,
				     __u32 number, const __u64 *args)
{
	struct ms_tensor_request *request = tensor_request(BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!request || nccl_is_inner(row, regs_entry_sp(ctx), request))
		return;
	request->sp = regs_entry_sp(ctx);
	request->size = place_get(args, row->size);
	request->detail = place_get(args, row->allocated);
	request->allocator = nccl_place(ctx, args, row->reserved);
	request->row = number;
	request->start_ns = start_of_current();
	request->began_ns = bpf_ktime_get_ns();
}

static __always_inline void nccl_answer(struct pt_regs *ctx, const struct ms_framework_row *row,
					const struct ms_tensor_request *request)
{
	const __u64 now_ns = bpf_ktime_get_ns();
	struct ms_nccl record = {};

	event_init(&record.event, MS_TYPE_NCCL, sizeof(record), request->start_ns, now_ns);
	record.duration_ns = now_ns - request->began_ns;
	record.comm = request->allocator;
	if (row->action == MS_TENSOR_COMM_MADE && read_u64(&record.comm, request->allocator))
		record.comm = 0;
	record.count = request->size;
	record.result = (__s32)regs_result(ctx);
	record.detail = request->detail;
	record.function = row->device;
	emit(MS_KIND_TENSOR, &record, sizeof(record));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static __always_inline void tensor_answer(struct pt_regs *ctx)
{
	struct ms_tensor_request *request = tensor_request(0);
	const struct ms_framework_row *row;
	struct ms_tensor record = {};

	if (!request || request->sp != regs_return_sp(ctx))
		return;
	request->sp = 0;
	row = tensor_row(request->row);
	if (row->framework == MS_FRAMEWORK_NCCL) {
		nccl_answer(ctx, row, request);
		return;
	}
	if (!request->size)
		return;
	record.addr = regs_result(ctx);
	record.size = request->size;
	record.reserved = request->allocator;
	record.device = -1;
	record.framework = row->framework;
	record.action = record.addr ? MS_TENSOR_CHANGE : MS_TENSOR_OUT_OF_MEMORY;
	record.flags = MS_TENSOR_UNTOLD | tensor_chance(request->size);
	if (record.addr && request->stack) {
		record.event.stack = request->stack;
		record.flags |= MS_TENSOR_STACK;
	}
	tensor_emit(&record, request->start_ns);
}

static __always_inline void tensor_back(const struct ms_framework_row *row, __u64 *args)
{
	struct ms_tensor record = {};

	record.addr = place_get(args, row->addr);
	record.reserved = place_get(args, row->reserved);
	record.device = -1;
	record.framework = row->framework;
	record.action = row->action;
	record.flags = MS_TENSOR_UNTOLD;
	if (record.addr)
		tensor_emit(&record, start_of_current());
}

/* What the allocator says is written where user space finds it, and nowhere before. */
static __always_inline void tensor_told(struct pt_regs *ctx, const struct ms_framework_row *row,
					const __u64 *args, __u32 lowered)
{
	const __u64 size = place_get(args, row->size);
	__u32 device, stack = 0;
	struct ms_tensor *record;
	struct ms_room room;
	__u64 ts_ns, asked;
	__u8 flags = 0;

	/* The rest of the register may hold anything. */
	device = place_get(args, row->device) & 0xffff;
	if ((device & 0xff) != MS_C10_CUDA)
		return;
	/* Where a block is taken back says nothing. A stack's record comes before this one. */
	if ((__s64)size > 0) {
		/* Where the program is told that there is none left matters, however little. */
		asked = row->action == MS_TENSOR_CHANGE ? size : MS_TENSOR_ALWAYS_BYTES;
		flags = tensor_chance(asked);
		stack = tensor_stack(ctx, asked, lowered);
	}
	ts_ns = bpf_ktime_get_ns();
	if (!emit_begin(MS_KIND_TENSOR, sizeof(*record), &room))
		return;
	record = room.record;
	event_init(&record->event, MS_TYPE_TENSOR, sizeof(*record), room.start_ns, ts_ns);
	if (stack) {
		record->event.stack = stack;
		flags |= MS_TENSOR_STACK;
	}
	record->addr = place_get(args, row->addr);
	record->size = size;
	record->allocated = place_get(args, row->allocated);
	record->reserved = place_get(args, row->reserved);
	record->device = device >> 8 == MS_C10_NO_INDEX ? -1 : (__s32)(device >> 8);
	record->framework = row->framework;
	record->action = row->action;
	record->flags = flags;
	emit_end(&room);
}

static __always_inline void tensor_report(struct pt_regs *ctx, __u32 number, __u32 lowered)
{
	const struct ms_framework_row *row = tensor_row(number);
	__u64 args[MS_PLACES];

	places_read(args, ctx);
	if (row->action == MS_TENSOR_GIVE)
		tensor_ask(ctx, row, number, args);
	else if (row->action == MS_TENSOR_BACK)
		tensor_back(row, args);
	else if (row->framework == MS_FRAMEWORK_NCCL)
		nccl_ask(ctx, row, number, args);
	else
		tensor_told(ctx, row, args, lowered);
}

#endif /* MS_TENSOR_BPF_H */
