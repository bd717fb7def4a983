// SPDX-License-Identifier: GPL-2.0-only
/*
 * The unit that the benchmark measures in: a program that does nothing.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("kprobe")
int reference(struct pt_regs *ctx)
{
	return 0;
}

/* What ioctl() is compared with: programs that do nothing on its system call, machine-wide. */
SEC("tracepoint/syscalls/sys_enter_ioctl")
int reference_ioctl_entry(void *ctx)
{
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_ioctl")
int reference_ioctl_exit(void *ctx)
{
	return 0;
}
