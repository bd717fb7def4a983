// SPDX-License-Identifier: GPL-2.0-only
/*
 * The attach points. Each is a stub into a handler that the headers share; which function was hit
 * is the attach cookie, with how far the stack pointer is lowered there (MS_COOKIE() in abi.h). The
 * loader chooses the programs by attach strategy: ms_session alone, or ms_entry and ms_return (on
 * multi links or on single uprobes).
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"
#include "regs.h"

#include "maps.bpf.h"
#include "value.bpf.h"
#include "emit.bpf.h"
#include "count.bpf.h"
#include "python.bpf.h"
#include "stack.bpf.h"
#include "sample.bpf.h"
#include "split.bpf.h"
#include "context.bpf.h"
#include "call.bpf.h"
#include "who.bpf.h"
#include "admit.bpf.h"
#include "process.bpf.h"
#include "ioctl.bpf.h"
#include "tensor.bpf.h"
#include "activity.bpf.h"
#include "marker.bpf.h"
#include "ask.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * One program for both sides: at entry the instruction pointer is the probed address, at the return
 * it is not. (bpf_session_is_return() would say so too, but its prototype differs between kernels.)
 * Returning 1 at entry keeps the kernel from trapping the return; at the return it means nothing.
 */
SEC("kprobe")
int ms_session(struct pt_regs *ctx)
{
	enum call_way way = CALL_IS_OVER;
	__u64 cookie;

	if (PT_REGS_IP(ctx) == bpf_get_func_ip(ctx)) {
		cookie = bpf_get_attach_cookie(ctx);
		if (stopped || !is_admitted(cookie))
			return 1;
		way = call_enter(ctx, cookie);
	} else if (stopped == MS_STOP_ALL) {
		return 0;
	}
	if (way == CALL_IS_OVER)
		call_leave(ctx);
	return way != CALL_IS_FOLLOWED;
}

SEC("kprobe")
int ms_entry(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	if (!stopped && is_admitted(cookie))
		call_enter(ctx, cookie);
	return 0;
}

SEC("kprobe")
int ms_return(struct pt_regs *ctx)
{
	if (stopped != MS_STOP_ALL)
		call_leave(ctx);
	return 0;
}

/*
 * The same of ioctl() in the C library, whose arguments are those of the system call; and of the
 * stub by which CUDA's driver calls it. Then both see a call, and the inner return reports it.
 */
SEC("kprobe")
int ms_ioctl_session(struct pt_regs *ctx)
{
	__u64 cookie;

	if (PT_REGS_IP(ctx) != bpf_get_func_ip(ctx)) {
		if (stopped != MS_STOP_ALL)
			ioctl_leave(ctx);
		return 0;
	}
	cookie = bpf_get_attach_cookie(ctx);
	if (stopped || (MS_COOKIE_FILE(cookie) && !ms_admits(cookie)))
		return 1;
	return !ioctl_enter(ctx);
}

SEC("kprobe")
int ms_ioctl_entry(struct pt_regs *ctx)
{
	if (!stopped)
		ioctl_enter(ctx);
	return 0;
}

SEC("kprobe")
int ms_ioctl_return(struct pt_regs *ctx)
{
	if (stopped != MS_STOP_ALL)
		ioctl_leave(ctx);
	return 0;
}

/* In ioctl() behind its system call; the cookie says where on the stack the argument is. */
SEC("kprobe")
int ms_ioctl_tail(struct pt_regs *ctx)
{
	if (!stopped)
		ioctl_done(ctx, bpf_get_attach_cookie(ctx) & 0x7f);
	return 0;
}

/* The same of the functions by which a thread asks where it is. */
SEC("kprobe")
int ms_ask_session(struct pt_regs *ctx)
{
	const __u32 row = MS_COOKIE_ROW(bpf_get_attach_cookie(ctx));

	if (PT_REGS_IP(ctx) != bpf_get_func_ip(ctx)) {
		ask_leave(ctx, row);
		return 0;
	}
	return stopped || !ask_enter(ctx, row);
}

SEC("kprobe")
int ms_ask_entry(struct pt_regs *ctx)
{
	if (!stopped)
		ask_enter(ctx, MS_COOKIE_ROW(bpf_get_attach_cookie(ctx)));
	return 0;
}

SEC("kprobe")
int ms_ask_return(struct pt_regs *ctx)
{
	ask_leave(ctx, MS_COOKIE_ROW(bpf_get_attach_cookie(ctx)));
	return 0;
}

/* What the allocator of a framework says of itself: an entry, whatever the strategy. */
SEC("kprobe")
int ms_tensor(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	if (!stopped && is_admitted(cookie))
		tensor_report(ctx, MS_COOKIE_ROW(cookie), MS_COOKIE_STACK_BYTES(cookie));
	return 0;
}

/* What it has given to a thread that asked for it. */
SEC("kprobe")
int ms_tensor_return(struct pt_regs *ctx)
{
	if (stopped != MS_STOP_ALL)
		tensor_answer(ctx);
	return 0;
}

/* What the library that was loaded into a command says of CUPTI's records: an entry alone, too. */
SEC("kprobe")
int ms_hand(struct pt_regs *ctx)
{
	if (stopped != MS_STOP_ALL)
		activity_take(ctx);
	return 0;
}

/* By what the program says where it is: at a function's entry, or at its return. */
SEC("kprobe")
int ms_marker(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	if (!stopped && marker_is_wanted(cookie))
		marker_report(ctx, MS_COOKIE_ROW(cookie));
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(ms_exec, struct task_struct *task, pid_t old_pid)
{
	if (stopped != MS_STOP_ALL)
		process_exec(task, old_pid);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(ms_fork, struct task_struct *parent, struct task_struct *child)
{
	if (stopped != MS_STOP_ALL)
		process_fork(parent, child);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ms_exit, struct task_struct *task)
{
	if (stopped != MS_STOP_ALL)
		process_exit(task);
	return 0;
}

/* Of a process as a whole, or of one of its threads; in all hierarchies. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(ms_moved, struct cgroup *group, const char *path, struct task_struct *task)
{
	if (!stopped)
		process_moved(task);
	return 0;
}
