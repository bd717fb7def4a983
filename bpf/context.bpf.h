/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which context is current in a thread, and on which device it is. They are followed here because
 * only the thread's own order of events can tell.
 */
#ifndef MS_CONTEXT_BPF_H
#define MS_CONTEXT_BPF_H

static __always_inline struct ms_context_key context_key(__u64 start_ns, __u64 context)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (struct ms_context_key){
		.start_ns = start_ns,
		.context = context,
		.pid = task->tgid,
		.program = task->self_exec_id,
	};
}

/* These three are functions of their own so that their stack is given back. -1: unknown. */
__noinline int ms_context_device(__u64 start_ns, __u64 context)
{
	const struct ms_context_key key = context_key(start_ns, context);
	__s32 *device = bpf_map_lookup_elem(&ms_context_devices, &key);

	return device ? *device : -1;
}

__noinline int ms_context_learn(__u64 start_ns, __u64 context, __s32 device)
{
	const struct ms_context_key key = context_key(start_ns, context);

	return bpf_map_update_elem(&ms_context_devices, &key, &device, BPF_ANY);
}

__noinline int ms_context_forget(__u64 start_ns, __u64 context)
{
	const struct ms_context_key key = context_key(start_ns, context);

	return bpf_map_delete_elem(&ms_context_devices, &key);
}

static __always_inline struct ms_current *current_at(struct ms_thread *thread, __u32 depth)
{
	barrier_var(depth);
	return &thread->current[depth & (MS_CONTEXTS - 1)];
}

static __always_inline void current_push(struct ms_thread *thread, __u64 context, __s32 device)
{
	struct ms_current *top;

	if (thread->contexts >= MS_CONTEXTS) {
		/* Forget the oldest; popping down to it will make the context unknown. */
#pragma unroll
		for (int i = 1; i < MS_CONTEXTS; i++)
			thread->current[i - 1] = thread->current[i];
		thread->contexts = MS_CONTEXTS - 1;
	}
	top = current_at(thread, thread->contexts++);
	top->context = context;
	top->device = device;
}

static __always_inline void current_pop(struct ms_thread *thread)
{
	if (thread->contexts)
		thread->contexts--;
}

static __always_inline bool is_or_may_be(struct ms_thread *thread, __u64 context)
{
	const struct ms_current *top = current_at(thread, thread->contexts - 1);

	return !top->context || top->context == context;
}

/* A successful context call changes what is current in its thread. */
static __always_inline void current_follow(struct ms_thread *thread, const struct ms_spec *spec,
					   const struct ms_call *call)
{
	bool has_device = call->known & MS_KNOWN_DEVICE;

	switch (spec->action) {
	case MS_ACTION_CREATE:
		current_push(thread, call->addr, has_device ? call->device : -1);
		if (has_device)
			ms_context_learn(thread->start_ns, call->addr, call->device);
		break;
	case MS_ACTION_RETAIN:
		if (has_device && call->addr)
			ms_context_learn(thread->start_ns, call->addr, call->device);
		break;
	case MS_ACTION_PUSH:
		current_push(thread, call->addr, ms_context_device(thread->start_ns, call->addr));
		break;
	case MS_ACTION_POP:
		current_pop(thread);
		break;
	case MS_ACTION_SET:
		current_pop(thread);
		if (call->addr)
			current_push(thread, call->addr,
				     ms_context_device(thread->start_ns, call->addr));
		break;
	case MS_ACTION_DESTROY:
		/* One that is not known may be this one, and what lies below it is not known. */
		if (thread->contexts && is_or_may_be(thread, call->addr))
			current_pop(thread);
		ms_context_forget(thread->start_ns, call->addr);
		break;
	case MS_ACTION_SET_DEVICE:
		/* Unless cuCtxSetCurrent was seen, the context is still that of another device. */
		if (!thread->contexts ||
		    (current_at(thread, thread->contexts - 1)->device >= 0 &&
		     current_at(thread, thread->contexts - 1)->device != call->device)) {
			current_pop(thread);
			current_push(thread, 0, -1);
		}
		current_at(thread, thread->contexts - 1)->device = call->device;
		break;
	}
}

static __always_inline void current_note(struct ms_thread *thread, struct ms_call *call)
{
	struct ms_current *top;

	if (!thread->contexts)
		return;
	top = current_at(thread, thread->contexts - 1);
	if (top->context) {
		call->context = top->context;
		call->known |= MS_KNOWN_CONTEXT;
	}
	if (top->device >= 0 && !(call->known & MS_KNOWN_DEVICE)) {
		call->device = top->device;
		call->known |= MS_KNOWN_DEVICE;
	}
}

#endif /* MS_CONTEXT_BPF_H */
