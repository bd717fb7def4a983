// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which files of NVIDIA's driver processes have open, of the whole machine, as often as user space
 * asks: an ioctl says what is made by a file, and none says that it is closed. A file has the
 * number that records of objects have. An object of its own: it is loaded when it is wanted, and a
 * kernel that refuses it traces all the same.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

const volatile struct ms_settings settings = {};

#include "driver_file.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Of /dev/nvidia-uvm; 0: not known. */
__u32 uvm_major = 0;

/* What the kernel gives to such a program: struct bpf_iter__task_file, as it has been since 5.8. */
struct ms_task_file {
	struct ms_task_file_meta {
		struct seq_file *seq;
	} * meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

static __always_inline bool is_drivers(const struct inode *inode)
{
	__u32 device;

	if (!is_device(inode))
		return is_of_test(inode);
	device = BPF_CORE_READ(inode, i_rdev);
	return is_control(device) || (uvm_major && device == uvm_major << MS_MINOR_BITS);
}

SEC("iter/task_file")
int ms_open_files(struct ms_task_file *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct ms_open_file open = {};
	struct file *file = NULL;

	/* As a number: the verifier lets none be made of a pointer that it knows. */
	bpf_probe_read_kernel(&file, sizeof(file), &ctx->file);
	if (!task || !file || !is_drivers(BPF_CORE_READ(file, f_inode)))
		return 0;
	open.file = file_number(file);
	open.pid = BPF_CORE_READ(task, tgid);
	bpf_seq_write(seq, &open, sizeof(open));
	return 0;
}
