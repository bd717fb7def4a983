/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the allocators of frameworks say of themselves, at the entry of the functions that they say
 * it to (frameworks.def). Only of CUDA devices: memory of the host comes through them, too.
 */
#ifndef MS_TENSOR_BPF_H
#define MS_TENSOR_BPF_H

/* clang-format off */
const struct ms_framework_row ms_framework_rows[] = {
#define MS_FRAMEWORK(of, what, symbol, ...) { MS_FRAMEWORK_##of, MS_TENSOR_##what, __VA_ARGS__ },
#include "frameworks.def"
#undef MS_FRAMEWORK
};
/* clang-format on */

#define MS_FRAMEWORK_ROWS (sizeof(ms_framework_rows) / sizeof(*ms_framework_rows))

#define MS_C10_CUDA 1        /* c10::DeviceType::CUDA */
#define MS_C10_NO_INDEX 0xff /* of a c10::Device */

static __always_inline void tensor_report(struct pt_regs *ctx, __u32 number)
{
	__u64 args[MS_PLACES], device;
	const struct ms_framework_row *row;
	struct ms_tensor record = {};

	if (number >= MS_FRAMEWORK_ROWS)
		return;
	row = &ms_framework_rows[number];
	places_read(args, ctx);
	/* The rest of the register may hold anything. */
	device = place_get(args, row->device) & 0xffff;
	if ((device & 0xff) != MS_C10_CUDA)
		return;
	record.addr = place_get(args, row->addr);
	record.size = place_get(args, row->size);
	record.allocated = place_get(args, row->allocated);
	record.reserved = place_get(args, row->reserved);
	record.device = device >> 8 == MS_C10_NO_INDEX ? -1 : (__s32)(device >> 8);
	record.framework = row->framework;
	record.action = row->action;
	event_init(&record.event, MS_TYPE_TENSOR, sizeof(record), start_of_current(),
		   bpf_ktime_get_ns());
	/* Where a block is taken back says nothing. */
	if (record.size > 0)
		record.event.stack = stack_take(ctx, MS_OP_ALLOC, regs_entry_sp(ctx));
	if (record.size > 0 && record.event.stack)
		record.flags = MS_TENSOR_STACK;
	emit(MS_KIND_TENSOR, &record, sizeof(record));
}

#endif /* MS_TENSOR_BPF_H */
