/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which files are those of NVIDIA's driver, and what stands for one of them. `settings` is the
 * program's that includes it.
 */
#ifndef MS_DRIVER_FILE_BPF_H
#define MS_DRIVER_FILE_BPF_H

#define MS_NV_MAJOR 195   /* of /dev/nvidiactl and /dev/nvidia<N> */
#define MS_NV_MODESET 254 /* a minor of it that is about displays */
#define MS_MINOR_BITS 20  /* of a dev_t in the kernel */

/* Stands for an open file, which processes may share. It does not say where the file lies. */
static __always_inline __u32 file_number(const struct file *file)
{
	return (((__u64)file ^ settings.secret) * 0x9e3779b97f4a7c15ull) >> 32 | 1;
}

static __always_inline bool is_device(const struct inode *inode)
{
	return (BPF_CORE_READ(inode, i_mode) & 0170000) == 0020000;
}

/* /dev/nvidiactl or /dev/nvidia<N>. */
static __always_inline bool is_control(__u32 device)
{
	return device >> MS_MINOR_BITS == MS_NV_MAJOR &&
	       (device & ((1 << MS_MINOR_BITS) - 1)) != MS_NV_MODESET;
}

/* Of the file system that a test has for them. */
static __always_inline bool is_of_test(const struct inode *inode)
{
	return settings.test_device && BPF_CORE_READ(inode, i_sb, s_dev) == settings.test_device;
}

#endif /* MS_DRIVER_FILE_BPF_H */
