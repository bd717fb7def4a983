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
