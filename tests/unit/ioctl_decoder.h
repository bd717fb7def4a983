/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpf/ioctl.bpf.h as a part of a user-space program: what it takes from the kernel stands here. So
 * the decoder that runs in the kernel can be tested, and fuzzed, byte by byte.
 */
#ifndef MEMSCOPE_TESTS_IOCTL_DECODER_H
#define MEMSCOPE_TESTS_IOCTL_DECODER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#ifndef __noinline
#define __noinline static __attribute__((noinline))
#endif
#define barrier_var(variable) ((void)(variable))

#define DECODER_PID 4711

/* ---- the kernel's ---------------------------------------------------------------------------- */

struct super_block {
	uint32_t s_dev;
};

struct inode {
	uint32_t i_rdev;
	uint16_t i_mode;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct fdtable {
	uint32_t max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	struct files_struct *files;
};

struct pt_regs {
	uint64_t parameters[3];
	uint64_t result;
};

#define PT_REGS_PARM1(regs) ((regs)->parameters[0])
#define PT_REGS_PARM2(regs) ((regs)->parameters[1])
#define PT_REGS_PARM3(regs) ((regs)->parameters[2])
#define PT_REGS_RC(regs) ((regs)->result)
#define PT_REGS_SP(regs) 0

#define DECODER_READ_1(from, member) ((from)->member)
#define DECODER_READ_2(from, member, next) ((from)->member->next)
#define DECODER_PICK(_1, _2, _3, name, ...) name
#define BPF_CORE_READ(...) DECODER_PICK(__VA_ARGS__, DECODER_READ_2, DECODER_READ_1, )(__VA_ARGS__)
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

/* ---- what the program has by the side -------------------------------------------------------- */

struct ms_frame {
	struct ms_launch record;
};

struct ms_thread {
	uint32_t depth;
	struct ms_frame frames[1];
	uint64_t ioctl_argument;
	uint32_t ioctl_row, ioctl_file;
};

static struct {
	/* Fails as the kernel does, or copies from the program's memory. */
	int (*read)(void *to, uint32_t size, uint64_t address);
	struct ms_thread thread;
	struct inode inodes[2]; /* of descriptors 0 and 1 */
	union {
		struct ms_event event;
		struct ms_object record; /* if its type is MS_TYPE_OBJECT */
		struct ms_range range;   /* if it is MS_TYPE_RANGE */
	};
	unsigned int emitted;
	uint8_t gpus[64]; /* of each of the first: how its UUID begins, if it has any */
	uint64_t now_ns;
} decoder;

static struct ms_settings settings;
static int ms_threads;

static inline struct task_struct *bpf_get_current_task_btf(void)
{
	static struct super_block blocks[2];
	static struct file files[2];
	static struct file *table[2] = { &files[0], &files[1] };
	static struct fdtable fdtable = { .max_fds = 2, .fd = table };
	static struct files_struct all = { .fdt = &fdtable };
	static struct task_struct task = { .files = &all };
	int i;

	for (i = 0; i < 2; i++) {
		decoder.inodes[i].i_sb = &blocks[i];
		files[i].f_inode = &decoder.inodes[i];
	}
	return &task;
}

static inline long bpf_probe_read_kernel(void *to, uint32_t size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

static inline long bpf_probe_read_user(void *to, uint32_t size, const void *from)
{
	return decoder.read(to, size, (uintptr_t)from);
}

static inline void *bpf_task_storage_get(void *map, struct task_struct *task, void *value,
					 uint64_t flags)
{
	(void)map;
	(void)task;
	(void)value;
	(void)flags;
	return &decoder.thread;
}

static inline uint64_t bpf_ktime_get_ns(void)
{
	return ++decoder.now_ns;
}

static inline uint64_t start_of_current(void)
{
	return MS_START_NS;
}

static inline struct ms_frame *frame_at(struct ms_thread *thread, uint32_t depth)
{
	(void)depth;
	return thread->frames;
}

static inline void event_init(struct ms_event *event, uint16_t type, uint16_t size,
			      uint64_t start_ns, uint64_t ts_ns)
{
	*event = (struct ms_event){ .ts_ns = ts_ns,
				    .start_ns = start_ns,
				    .pid = DECODER_PID,
				    .tid = DECODER_PID,
				    .type = type,
				    .size = size };
}

static inline void emit(uint32_t kind, const void *record, uint64_t size)
{
	(void)kind;
	memcpy(&decoder.event, record, size);
	if (decoder.event.type == MS_TYPE_RANGE && decoder.emitted < sizeof(decoder.gpus))
		decoder.gpus[decoder.emitted] = decoder.range.uuid[0];
	decoder.emitted++;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "ioctl.bpf.h"
#pragma GCC diagnostic pop

/* ---- an ioctl -------------------------------------------------------------------------------- */

/* Whether it made a record, which is in `decoder` then. */
static inline bool decode(uint32_t fd, uint32_t request, uint64_t argument, int result)
{
	struct pt_regs regs = { .parameters = { fd, request, argument },
				.result = (uint64_t)(int64_t)result };
	const unsigned int before = decoder.emitted;

	if (ioctl_enter(&regs))
		ioctl_leave(&regs);
	return decoder.emitted != before;
}

#endif /* MEMSCOPE_TESTS_IOCTL_DECODER_H */
