/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls in progress: a small stack per thread, paired by stack pointer. A runtime function calls a
 * driver function that does the same thing; the pair becomes one event, with the runtime's name
 * (intent) and the driver's values (truth).
 */
#ifndef MS_CALL_BPF_H
#define MS_CALL_BPF_H

static __always_inline struct ms_thread *thread_get(__u64 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ms_thread *thread = bpf_task_storage_get(&ms_threads, task, NULL, flags);

	if (thread && !thread->start_ns)
		thread->start_ns = start_of_current();
	return thread;
}

/* ---- records --------------------------------------------------------------------------------- */

/* A function of its own for the verifier's sake: see ms_name_hash(). */
__noinline int ms_call_report(const struct ms_launch *record, __u32 op)
{
	const struct ms_spec *spec;

	if (!record)
		return -1;
	if (op != MS_OP_LAUNCH) {
		if (split_is_known() && record->call.event.size == sizeof(struct ms_split_call))
			emit(op, record, sizeof(struct ms_split_call));
		else
			emit(op, record, sizeof(struct ms_call));
		return 0;
	}
	spec = spec_of(record->call.row);
	/* One that fails because memory has run out is recorded: by whom and when matters. */
	if (!is_counted(spec) || record->call.result == MS_CUDA_OUT_OF_MEMORY ||
	    !ms_launch_count(&record->call))
		emit(spec->kind, record, sizeof(struct ms_launch));
	return 0;
}

#define FILL(bit, member) \
	do { \
		if (!value_get(input, spec->member, &value)) { \
			call->member = value; \
			call->known |= bit; \
		} \
	} while (0)

/* All that the row says of a launch, once it is over (or at entry, if the end is not watched). */
static __always_inline void launch_fill(struct ms_launch *launch, const struct ms_input *input,
					const struct ms_spec *spec)
{
	struct ms_call *call = &launch->call;
	__u64 value;

	FILL(MS_KNOWN_ADDR, addr);
	if (is_counted(spec))
		return;
	FILL(MS_KNOWN_STREAM, stream);
	if (!value_dims(input, spec->dims, launch))
		call->known |= MS_KNOWN_DIMS;
	if (!value_get(input, spec->shared, &value)) {
		launch->shared_bytes = value;
		call->known |= MS_KNOWN_SHARED;
	}
}

/* All that the row says of any other call. */
static __always_inline void call_fill(struct ms_call *call, const struct ms_input *input,
				      const struct ms_spec *spec)
{
	__u64 value;

	FILL(MS_KNOWN_ADDR, addr);
	FILL(MS_KNOWN_STREAM, stream);
	FILL(MS_KNOWN_SRC, src);
	FILL(MS_KNOWN_DEVICE, device);
	if (!value_direction(input, spec->direction, &value)) {
		call->direction = value;
		call->known |= MS_KNOWN_DIRECTION;
	}
	if (!value_size(input, spec, &value)) {
		call->size = value;
		call->known |= MS_KNOWN_SIZE;
	}
}

static __always_inline void launch_init(struct ms_launch *launch, __u32 row, __u64 start_ns,
					__u64 ts_ns)
{
	__builtin_memset(launch, 0, sizeof(*launch));
	event_init(&launch->call.event, MS_TYPE_LAUNCH, sizeof(*launch), start_ns, ts_ns);
	launch->call.row = row;
	launch->call.driver_row = MS_NO_ROW;
}

static __always_inline void call_note_stack(struct ms_call *call, __u32 stack)
{
	if (!stack)
		return;
	call->event.stack = stack;
	call->flags |= MS_CALL_STACK;
}

static __always_inline void name_report(struct ms_thread *thread, struct ms_frame *frame,
					const struct ms_spec *spec)
{
	struct ms_name *name = (struct ms_name *)thread->name;
	struct ms_call *call = &frame->record.call;
	long length = 0;

	if (!(call->known & MS_KNOWN_ADDR))
		return; /* the call failed: nothing was named */
	name->event = call->event;
	name->event.type = MS_TYPE_NAME;
	name->event.ts_ns += call->duration_ns; /* its epoch is of now, and so is its place */
	name->handle = call->addr;
	name->alias = call->src;
	name->string = 0;
	name->found = 0;
	if (spec->name.kind == MS_FROM_STRING) {
		name->string = value_arg(&frame->input, spec->name.arg);
		length = bpf_probe_read_user_str(name->name, MS_NAME_BYTES,
						 (const void *)name->string);
	}
	if (length < 0 || length > MS_NAME_BYTES)
		length = 0;
	name->length = length;
	epoch_note(name);
	name->event.size = sizeof(*name) + length;
	emit_to_ring(MS_COUNTED_NAME, name, sizeof(*name) + length, BPF_RB_NO_WAKEUP);
}

/* ---- an inner call of the same kind ---------------------------------------------------------- */

static __always_inline bool call_is_same(__u8 op, const struct ms_call *outer,
					 const struct ms_call *inner)
{
	switch (op) {
	case MS_OP_ALLOC:
	case MS_OP_FREE:
	case MS_OP_MEMORY:
		return outer->addr == inner->addr;
	case MS_OP_COPY:
	case MS_OP_MEMSET:
		return outer->size == inner->size || !(outer->known & MS_KNOWN_SIZE);
	}
	return true;
}

#define TAKE(bit, member) \
	do { \
		if (from->known & bit) { \
			to->member = from->member; \
			to->known |= bit; \
		} \
	} while (0)

/* The runtime's name, the driver's values. */
static __always_inline void call_merge(__u8 op, struct ms_call *to, const struct ms_call *from)
{
	if (from->driver_row != MS_NO_ROW)
		to->driver_row = from->driver_row;
	else if (spec_of(from->row)->layer == MS_LAYER_DRIVER)
		to->driver_row = from->row;
	if (op == MS_OP_LAUNCH) {
		/* Two handles of one function; the name may be known by either. */
		to->src = to->addr;
		to->known |= MS_KNOWN_SRC;
	}
	TAKE(MS_KNOWN_SRC, src);
	TAKE(MS_KNOWN_ADDR, addr);
	TAKE(MS_KNOWN_SIZE, size);
	/* The driver's cuMemcpy leaves open what the program may have told the runtime. */
	if (from->direction != MS_DIRECTION_DEFAULT || !(to->known & MS_KNOWN_DIRECTION))
		TAKE(MS_KNOWN_DIRECTION, direction);
	TAKE(MS_KNOWN_STREAM, stream);
}

/* The finished inner call that the frame holds, if any, gets an event of its own. */
static __always_inline void call_release(struct ms_frame *frame, __u8 flags)
{
	if (!frame->holds)
		return;
	frame->holds = 0;
	frame->inner.call.flags |= flags;
	ms_call_report(&frame->inner, frame->op);
}

/* A call that another one of the same kind has made waits until that one is over. */
static __always_inline void call_hold(struct ms_frame *outer, const struct ms_frame *frame)
{
	call_release(outer, MS_CALL_PART);
	outer->inner = frame->record;
	outer->holds = 1;
}

/* The call is over: it and what it holds are one event, if they did the same thing. */
static __always_inline void call_join(struct ms_frame *frame)
{
	if (frame->holds && call_is_same(frame->op, &frame->record.call, &frame->inner.call)) {
		frame->holds = 0;
		call_merge(frame->op, &frame->record.call, &frame->inner.call);
	}
	call_release(frame, MS_CALL_PART);
}

/* ---- the two probes -------------------------------------------------------------------------- */

/*
 * Forgets calls that can no longer return: their frame lies below `sp`, on a part of the stack that
 * has since been given up by longjmp or an exception.
 */
static __always_inline void call_unwind(struct ms_thread *thread, __u64 sp)
{
	for (int i = 0; i < MS_DEPTH; i++) {
		__u32 depth = thread->depth;
		struct ms_frame *top = frame_at(thread, depth - 1);

		if (!depth || top->sp >= sp)
			break;
		call_release(top, 0);
		count_abandoned();
		thread->depth = depth - 1;
	}
}

/*
 * Two calls can begin at the same stack pointer: one function has jumped into the other (a tail
 * call), and then the kernel's return trampoline is what it will return to; or the earlier one was
 * left by longjmp.
 */
static __always_inline bool call_was_jumped_into(__u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	__u64 trampoline = area ? BPF_CORE_READ(area, vaddr) : 0, return_addr;

	return trampoline && !read_u64(&return_addr, sp) &&
	       return_addr - trampoline < MS_TRAMPOLINE_BYTES;
}

/*
 * A finished allocation that waits for the call around it is reported before it is freed: it took
 * effect first, and what is freed before the outer call returns is no part of its result.
 */
static __always_inline void call_release_allocation(struct ms_thread *thread, __u64 addr)
{
	for (__u32 depth = 0; depth < MS_DEPTH; depth++) {
		struct ms_frame *frame = frame_at(thread, depth);

		if (depth >= thread->depth)
			break;
		if (frame->op == MS_OP_ALLOC && frame->inner.call.addr == addr)
			call_release(frame, 0);
	}
}

/*
 * A free that another free was called for has been announced by that one, unless they free
 * different things.
 */
static __always_inline void free_begin(struct ms_thread *thread, struct ms_frame *frame,
				       const struct ms_frame *outer, const struct ms_spec *spec)
{
	struct ms_call *call = &frame->record.call;
	struct ms_free begin = {};
	__u64 addr;

	if (value_get(&frame->input, spec->addr, &addr) || !addr)
		return;
	call->addr = addr;
	frame->begun = 1;
	if (outer && outer->begun && outer->record.call.addr == addr)
		return;
	if (outer)
		call_release_allocation(thread, addr);
	begin.event = call->event;
	begin.event.type = MS_TYPE_FREE_BEGIN;
	begin.event.size = sizeof(begin);
	begin.addr = addr;
	value_get(&frame->input, spec->size, &begin.size);
	value_get(&frame->input, spec->stream, &begin.stream);
	begin.row = call->row;
	emit(MS_COUNTED_FREE_BEGIN, &begin, sizeof(begin));
}

/* `lowered`: by how many bytes the stack pointer is lower than where the function begins. */
static __always_inline void input_read(struct ms_input *input, struct pt_regs *ctx,
				       const struct ms_spec *spec, __u32 lowered)
{
	regs_args(ctx, input->args);
	if (spec->flags & MS_ROW_STACK_ARGS && !is_counted(spec))
		bpf_probe_read_user(&input->args[MS_REG_ARGS], MS_STACK_ARGS * sizeof(__u64),
				    (const void *)(regs_stack_args(ctx) + lowered));
	else
		__builtin_memset(&input->args[MS_REG_ARGS], 0, MS_STACK_ARGS * sizeof(__u64));
	/* At the entry: what is passed by value is the function's own, to be written over. */
	if (spec->flags & MS_ROW_IPC_HANDLE)
		ms_read_handle(&input->args[MS_REG_ARGS], regs_by_value(ctx, lowered));
	input->result = -1;
}

static __always_inline void launch_report_entry(const struct ms_input *input,
						const struct ms_spec *spec, __u32 row)
{
	struct ms_launch counted;
	struct ms_room room;
	__u64 ts_ns;

	if (is_counted(spec)) {
		launch_init(&counted, row, start_of_current(), 0);
		launch_fill(&counted, input, spec);
		if (ms_launch_count(&counted.call))
			return;
		counted.call.event.ts_ns = bpf_ktime_get_ns();
		emit(MS_OP_LAUNCH, &counted, sizeof(counted));
		return;
	}
	ts_ns = bpf_ktime_get_ns();
	if (!emit_begin(spec->kind, sizeof(struct ms_launch), &room))
		return;
	launch_init(room.record, row, room.start_ns, ts_ns);
	launch_fill(room.record, input, spec);
	emit_end(&room);
}

/*
 * All that there will be of a call whose end is not watched; it is taken to succeed. Nothing is
 * remembered of the thread: neither what it is in the middle of, nor its context.
 */
static __always_inline void call_report_entry(struct pt_regs *ctx, __u32 row, __u32 lowered)
{
	const struct ms_spec *spec = spec_of(row);
	struct ms_input input;
	struct ms_room room;
	__u32 stack;
	__u64 ts_ns;

	input_read(&input, ctx, spec, lowered);
	if (spec->op == MS_OP_LAUNCH) {
		launch_report_entry(&input, spec, row);
		return;
	}
	stack = stack_of_call(ctx, spec, regs_entry_sp(ctx) + lowered);
	ts_ns = bpf_ktime_get_ns();
	if (!emit_begin(spec->kind, sizeof(struct ms_call), &room))
		return;
	call_init(room.record, row, room.start_ns, ts_ns);
	call_note_stack(room.record, stack);
	call_fill(room.record, &input, spec);
	emit_end(&room);
}

/*
 * Whether the calling process, which is to cost less, makes a call whose end is of no account. A
 * runtime's call may have to be joined to the driver's.
 */
static __always_inline bool entry_suffices(const struct ms_spec *spec)
{
	return settings.governed && entry_targets && MS_BULK_OPS >> (spec->kind & 31) & 1 &&
	       spec->layer == MS_LAYER_DRIVER &&
	       target_flags(bpf_get_current_pid_tgid() >> 32) & MS_TARGET_ENTRIES;
}

static __always_inline void call_refuse(__u32 kind)
{
	count_seen(kind);
	count_lost(kind);
	count_untracked();
}

enum call_way {
	CALL_IS_REPORTED, /* or refused: nothing more is to be done */
	CALL_IS_FOLLOWED, /* to its return */
	CALL_IS_OVER,     /* as far as it matters: call_leave() is next */
};

/* The stack pointer is never lower for a call that is to be followed to its return. */
static __always_inline enum call_way call_enter(struct pt_regs *ctx, __u64 cookie)
{
	__u32 row = MS_COOKIE_ROW(cookie), lowered = MS_COOKIE_STACK_BYTES(cookie);
	const struct ms_spec *spec = spec_of(row);
	struct ms_frame *frame, *outer = NULL;
	__u64 sp = regs_entry_sp(ctx) + lowered;
	struct ms_thread *thread;
	__u32 depth, stack = 0;

	if (!(settings.return_ops >> (spec->kind & 31) & 1)) {
		call_report_entry(ctx, row, lowered);
		return CALL_IS_REPORTED;
	}
	thread = thread_get(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		call_refuse(spec->kind);
		return CALL_IS_REPORTED;
	}
	call_unwind(thread, sp);
	depth = thread->depth;
	if (depth && frame_at(thread, depth - 1)->sp == sp && !call_was_jumped_into(sp)) {
		call_unwind(thread, sp + 1);
		depth = thread->depth;
	}
	if (depth >= MS_DEPTH) {
		call_refuse(spec->kind);
		return CALL_IS_REPORTED;
	}
	frame = frame_at(thread, depth);
	frame->sp = sp;
	frame->op = spec->op;
	frame->holds = 0;
	frame->begun = 0;
	input_read(&frame->input, ctx, spec, lowered);
	/* Before the time is taken. A call that is made for one of the same kind is that one's. */
	if ((!depth || frame_at(thread, depth - 1)->op != spec->op) && !launch_is_passed(spec))
		stack = launch_sample(spec, row, stack_of_call(ctx, spec, sp));
	frame->is_over = entry_suffices(spec);
	if (spec->op == MS_OP_LAUNCH)
		launch_init(&frame->record, row, thread->start_ns, bpf_ktime_get_ns());
	else if (frame->is_over)
		call_init(&frame->record.call, row, thread->start_ns, bpf_ktime_get_ns());
	else
		split_init(frame, row, thread->start_ns);
	call_note_stack(&frame->record.call, stack);
	if (depth) {
		outer = frame_at(thread, depth - 1);
		frame->record.call.flags |= MS_CALL_NESTED;
	}
	if (spec->op == MS_OP_FREE)
		free_begin(thread, frame, outer, spec);
	thread->depth = depth + 1;
	return frame->is_over ? CALL_IS_OVER : CALL_IS_FOLLOWED;
}

/* A call has returned, unless the last one that was entered is taken to be over. */
static __always_inline void call_leave(struct pt_regs *ctx)
{
	struct ms_thread *thread = thread_get(0);
	__u64 sp = regs_return_sp(ctx);
	const struct ms_spec *spec;
	struct ms_frame *frame, *outer;
	struct ms_call *call;
	__u32 depth;

	if (!thread)
		return;
	frame = frame_at(thread, thread->depth - 1);
	if (settings.governed && frame->is_over)
		sp = frame->sp;
	call_unwind(thread, sp);
	depth = thread->depth;
	frame = frame_at(thread, depth - 1);
	if (!depth || frame->sp != sp)
		return; /* it was entered before the probes were there */
	thread->depth = depth - 1;

	call = &frame->record.call;
	spec = spec_of(call->row);
	if (!settings.governed || !frame->is_over) {
		call->duration_ns = bpf_ktime_get_ns() - call->event.ts_ns;
		if (spec->op != MS_OP_LAUNCH)
			split_note(frame);
		if (!(spec->flags & MS_ROW_VOID)) {
			call->result = (__s32)regs_result(ctx);
			call->known |= MS_KNOWN_RESULT;
		}
		frame->input.result = call->result;
	}
	if (spec->op == MS_OP_LAUNCH)
		launch_fill(&frame->record, &frame->input, spec);
	else
		call_fill(&frame->record.call, &frame->input, spec);
	if (frame->op == MS_OP_NAME) {
		name_report(thread, frame, spec);
		return;
	}
	if (call->result == MS_CUDA_SUCCESS)
		current_follow(thread, spec, call);
	current_note(thread, call);
	call_join(frame);

	outer = frame_at(thread, depth - 2);
	if (depth > 1 && outer->op == frame->op && frame->op != MS_OP_CONTEXT)
		call_hold(outer, frame);
	else
		ms_call_report(&frame->record, frame->op);
}

#endif /* MS_CALL_BPF_H */
