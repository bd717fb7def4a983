/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Listens to what CUDA answers a thread that asks for its device or its context (asks.def). A
 * process that was running when it was attached to has said long ago which device it uses; many
 * programs never say it again, but ask all the time. What is learnt stands in the thread's state,
 * from which the records of its calls have their device: there is no record of the question.
 */
#ifndef MS_ASK_BPF_H
#define MS_ASK_BPF_H

/* User space has put in the processes that are listened to, and takes them out again. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct ms_asking);
} ms_asking SEC(".maps");

#define MS_ASK_MOST_DEVICES 1024 /* an answer beyond it is none */

/* clang-format off */
const __u8 ms_ask_answers[MS_ASK_ROWS] = {
#define MS_ASK(answer, symbol) MS_ASK_##answer,
#include "asks.def"
#undef MS_ASK
};
/* clang-format on */

static __always_inline struct ms_question *question_at(struct ms_thread *thread, __u32 row)
{
	barrier_var(row);
	return &thread->questions[row & (MS_QUESTIONS - 1)];
}

static __always_inline bool knows_device(const struct ms_thread *thread)
{
	return thread->contexts &&
	       thread->current[(thread->contexts - 1) & (MS_CONTEXTS - 1)].device >= 0;
}

/* Whether the answer can be no news. */
static __always_inline bool is_answered(const struct ms_thread *thread, __u32 row, __u64 context)
{
	if (row != MS_ASK_ROW_cuCtxGetDevice_v2 || !context)
		return knows_device(thread);
	return ms_context_device(thread->start_ns, context) >= 0;
}

/* Whether the answer is worth waiting for. */
static __always_inline bool ask_enter(struct pt_regs *ctx, __u32 row)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32, flags = target_flags(pid);
	struct ms_asking *asking = bpf_map_lookup_elem(&ms_asking, &pid);
	struct ms_question *question;
	struct ms_thread *thread;
	__u64 args[MS_PLACES];

	/* As long as other probes are missing, what is learnt may change without being seen. */
	if (!asking || !flags || flags & MS_TARGET_SHUT)
		return false;
	__sync_fetch_and_add(&asking->calls, 1);
	thread = thread_get(BPF_LOCAL_STORAGE_GET_F_CREATE);
	places_read(args, ctx);
	if (!thread || is_answered(thread, row, args[1]))
		return false;
	question = question_at(thread, row);
	question->sp = regs_entry_sp(ctx);
	question->answer = args[0];
	question->context = args[1];
	return true;
}

static __always_inline void learn_device(struct ms_thread *thread, __s32 device)
{
	if (!thread->contexts)
		current_push(thread, 0, -1);
	current_at(thread, thread->contexts - 1)->device = device;
}

static __always_inline bool learn_context(struct ms_thread *thread, __u64 context)
{
	struct ms_current *top;

	if (!context)
		return false;
	if (!thread->contexts)
		current_push(thread, 0, -1);
	top = current_at(thread, thread->contexts - 1);
	top->context = context;
	top->device = ms_context_device(thread->start_ns, context);
	return top->device >= 0;
}

/* Returns whether it was news. */
static __always_inline bool learn(struct ms_thread *thread, __u32 row,
				  const struct ms_question *question)
{
	__u64 device, context = 0;
	__u32 index = row;

	if (thread->contexts)
		context = current_at(thread, thread->contexts - 1)->context;
	barrier_var(index);
	if (index >= MS_ASK_ROWS)
		return false;
	if (ms_ask_answers[index] == MS_ASK_CONTEXT)
		return !read_u64(&context, question->answer) && learn_context(thread, context);
	if (read_u32(&device, question->answer))
		return false;
	if (device >= MS_ASK_MOST_DEVICES)
		return false;
	if (ms_ask_answers[index] == MS_ASK_RUNTIME) {
		learn_device(thread, device);
		return true;
	}
	if (ms_ask_answers[index] == MS_ASK_DEVICE_OF && question->context) {
		ms_context_learn(thread->start_ns, question->context, device);
		if (question->context == context)
			learn_device(thread, device);
		return true;
	}
	if (context)
		ms_context_learn(thread->start_ns, context, device);
	learn_device(thread, device);
	return true;
}

static __always_inline void ask_leave(struct pt_regs *ctx, __u32 row)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ms_thread *thread = thread_get(0);
	struct ms_question *question;
	struct ms_asking *asking;

	if (!thread)
		return;
	question = question_at(thread, row);
	if (question->sp != regs_return_sp(ctx))
		return;
	question->sp = 0;
	/* A question within this one may have been answered. */
	if (regs_result(ctx) << 32 || is_answered(thread, row, question->context) ||
	    !learn(thread, row, question))
		return;
	asking = bpf_map_lookup_elem(&ms_asking, &pid);
	if (asking)
		__sync_fetch_and_add(&asking->lessons, 1);
}

#endif /* MS_ASK_BPF_H */
