/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the architecture's calling convention passes arguments: all that the probe table and the BPF
 * programs need to know about registers. Sources: System V x86-64 psABI 3.2.3, AAPCS64 6.8.2.
 */
#ifndef MS_REGS_H
#define MS_REGS_H

/*
 * Arguments kept per call: those in registers, then some words of the caller's stack. Few, because
 * up to 63 bytes are copied by a loop, more by an instruction that takes long to get going.
 */
#define MS_ARGS (MS_REG_ARGS + MS_STACK_ARGS)

#if defined(__TARGET_ARCH_x86) || (!defined(__TARGET_ARCH_arm64) && defined(__x86_64__))

#define MS_REG_ARGS 6
#define MS_STACK_ARGS 3
#define MS_RETURN_IN_REGISTER 0 /* the address that a function returns to, when it begins */

/*
 * A structure of more than 16 bytes passed by value: x86-64 copies it to the stack, where it begins
 * at `word`; arm64 passes a pointer to it as argument `arg`.
 */
#define MS_BY_VALUE_ARGS 0 /* how many later arguments it moves up */
#define MS_BY_VALUE(arg, word, offset) \
	{ \
		MS_FROM_ARG, MS_REG_ARGS + (word) + (offset) / 8, 0 \
	}

#elif defined(__TARGET_ARCH_arm64) || defined(__aarch64__)

#define MS_REG_ARGS 8
#define MS_STACK_ARGS 3
#define MS_RETURN_IN_REGISTER 1
#define MS_BY_VALUE_ARGS 1
#define MS_BY_VALUE(arg, word, offset) \
	{ \
		MS_FROM_MEM64, (arg), (offset) \
	}

#else
#error "bpf/regs.h does not know this architecture's calling convention"
#endif

#ifdef __bpf__

#if defined(__TARGET_ARCH_x86)

/* The stack pointer before the call instruction's push, which identifies the call on both sides. */
static __always_inline __u64 regs_entry_sp(struct pt_regs *ctx)
{
	return ctx->sp;
}

static __always_inline __u64 regs_return_sp(struct pt_regs *ctx)
{
	return ctx->sp - 8;
}

static __always_inline __u64 regs_stack_args(struct pt_regs *ctx)
{
	return ctx->sp + 8;
}

/* Where the second argument is, a structure of more than 16 bytes by value. */
static __always_inline __u64 regs_by_value(struct pt_regs *ctx, __u32 lowered)
{
	return regs_stack_args(ctx) + lowered;
}

static __always_inline __u64 regs_result(struct pt_regs *ctx)
{
	return ctx->ax;
}

static __always_inline __u64 regs_frame_pointer(struct pt_regs *ctx)
{
	return ctx->bp;
}

/* Where a function returns to, if that is in a register when it begins. */
static __always_inline __u64 regs_link(struct pt_regs *ctx)
{
	return 0;
}

/* A reader of this value finds all that was written before it. x86 keeps stores in order. */
static __always_inline void publish(__u64 *to, __u64 value)
{
	barrier();
	*(volatile __u64 *)to = value;
}

static __always_inline void regs_args(struct pt_regs *ctx, __u64 *args)
{
	args[0] = ctx->di;
	args[1] = ctx->si;
	args[2] = ctx->dx;
	args[3] = ctx->cx;
	args[4] = ctx->r8;
	args[5] = ctx->r9;
}

#elif defined(__TARGET_ARCH_arm64)

static __always_inline __u64 regs_entry_sp(struct pt_regs *ctx)
{
	return PT_REGS_SP(ctx);
}

static __always_inline __u64 regs_return_sp(struct pt_regs *ctx)
{
	return PT_REGS_SP(ctx);
}

static __always_inline __u64 regs_stack_args(struct pt_regs *ctx)
{
	return PT_REGS_SP(ctx);
}

static __always_inline __u64 regs_by_value(struct pt_regs *ctx, __u32 lowered)
{
	const struct user_pt_regs *regs = (const void *)ctx;

	return regs->regs[1];
}

static __always_inline __u64 regs_result(struct pt_regs *ctx)
{
	return PT_REGS_RC(ctx);
}

static __always_inline __u64 regs_frame_pointer(struct pt_regs *ctx)
{
	const struct user_pt_regs *regs = (const void *)ctx;

	return regs->regs[29];
}

static __always_inline __u64 regs_link(struct pt_regs *ctx)
{
	const struct user_pt_regs *regs = (const void *)ctx;

	return regs->regs[30];
}

/* A reader of this value finds all that was written before it: an exchange is ordered so. */
static __always_inline void publish(__u64 *to, __u64 value)
{
	__sync_lock_test_and_set(to, value);
}

static __always_inline void regs_args(struct pt_regs *ctx, __u64 *args)
{
	const struct user_pt_regs *regs = (const void *)ctx;

#pragma unroll
	for (int i = 0; i < MS_REG_ARGS; i++)
		args[i] = regs->regs[i];
}

#endif
#endif /* __bpf__ */

#endif /* MS_REGS_H */
