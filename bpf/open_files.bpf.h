/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which files of NVIDIA's driver processes have open, of the whole machine, as often as user space
 * asks: an ioctl says what is made by a file, and none says that it is closed. A file has the
 * number that records of objects have.
 */
#ifndef MS_OPEN_FILES_BPF_H
#define MS_OPEN_FILES_BPF_H

/* What the kernel gives to such a program: struct bpf_iter__task_file, as it has been since 5.8. */
struct ms_task_file {
	struct ms_task_file_meta {
		struct seq_file *seq;
	} * meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

static __always_inline void open_files_visit(struct ms_task_file *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct ms_open_file open = {};
	struct file *file = NULL;

	/* As a number: the verifier lets none be made of a pointer that it knows. */
	bpf_probe_read_kernel(&file, sizeof(file), &ctx->file);
	if (!task || !file)
		return;
	open.file = inode_file(file, BPF_CORE_READ(file, f_inode), NULL);
	if (!open.file)
		return;
	open.pid = BPF_CORE_READ(task, tgid);
	bpf_seq_write(seq, &open, sizeof(open));
}

#endif /* MS_OPEN_FILES_BPF_H */
