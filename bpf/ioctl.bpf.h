/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of NVIDIA's kernel driver that traced processes make and free, by their ioctls
 * (ioctls.def). They are seen in the C library's ioctl(), and only of traced processes: a
 * tracepoint of system calls would make each system call of the machine slower
 * (docs/driver-path.md). The driver's answer is in the argument when it returns.
 */
#ifndef MS_IOCTL_BPF_H
#define MS_IOCTL_BPF_H

#include "driver_file.bpf.h"

#define MS_NV_XFER 0xd3 /* NV_ESC_IOCTL_XFER_CMD: the ioctl is in a structure */
#define MS_NV_HEAP 0x4a /* RM_VID_HEAP_CONTROL: which one is in its argument */
#define MS_NV_HEAP_BYTES 0xb8
#define MS_NV_HEAP_FUNCTION 0x08
#define MS_NV_HEAP_FUNCTIONS 0x100         /* none has so high a number */
#define MS_NV_HEAP_VIRTUAL 0x80000         /* NVOS32_ALLOC_FLAGS_VIRTUAL: addresses alone */
#define MS_NV_HEAP_LOCATION 0x6000000      /* NVOS32_ATTR_LOCATION: 0 is memory of the device */
#define MS_NV_MEMORY_VIRTUAL 0x50a0        /* NV50_MEMORY_VIRTUAL */
#define MS_NV_PARAMS_SIZE 0x40             /* NV_MEMORY_ALLOCATION_PARAMS.size */
#define MS_NV_ASSUMED MS_DRIVER(580, 0, 0) /* the version, if it is not known */
#define MS_NV_LIMIT 0x18                   /* NV_OS_DESC_MEMORY_ALLOCATION_PARAMS.limit */
#define MS_NV_DESCRIPTOR 0x10
#define MS_NV_DESCRIPTOR_TYPE 0x20
#define MS_NV_DESCRIPTOR_FILE 4   /* NVOS32_DESCRIPTOR_TYPE_OS_FILE_HANDLE */
#define MS_NV_GPU_ATTRIBUTES 0x24 /* from one GPU of UVM_MAP_EXTERNAL to the next */

/* NV0000_CTRL_CMD_OS_UNIX_..., of one object and of several: of these, the first is reported. */
#define MS_NV_EXPORT_OBJECT 0x3d05
#define MS_NV_IMPORT_OBJECT 0x3d06
#define MS_NV_EXPORT_OBJECTS 0x3d0b
#define MS_NV_IMPORT_OBJECTS 0x3d0c
#define MS_NV_EXPORT_OBJECT_HANDLE 0x0c
#define MS_NV_EXPORT_OBJECT_FD 0x10
#define MS_NV_IMPORT_OBJECT_FD 0x00
#define MS_NV_IMPORT_OBJECT_PARENT 0x0c
#define MS_NV_IMPORT_OBJECT_HANDLE 0x10
#define MS_NV_EXPORT_OBJECTS_FD 0x00
#define MS_NV_EXPORT_OBJECTS_HANDLE 0x4c
#define MS_NV_IMPORT_OBJECTS_FD 0x00
#define MS_NV_IMPORT_OBJECTS_PARENT 0x04
#define MS_NV_IMPORT_OBJECTS_HANDLE 0x08

/*
 * Of /dev/nvidia-uvm, which is dynamic; 0: not known. Then it is that of the first file that says
 * that it is ready, which any process can make up: user space corrects it when it knows better.
 */
__u32 uvm_major = 0;

/* clang-format off */
const struct ms_ioctl ms_ioctls[] = {
#define MS_IOCTL(name, nr, size_of, from, to, what, ...) \
	{ .number = nr, .bytes = size_of, .since = from, .until = to, .action = MS_OBJECT_##what, \
	  ##__VA_ARGS__ },
#define MS_UVM(name, what_for, size_of, from, to, what, ...) \
	{ .request = what_for, .since = from, .until = to, .action = MS_RANGE_##what, \
	  ##__VA_ARGS__ },
#include "ioctls.def"
#undef MS_UVM
#undef MS_IOCTL
};
/* clang-format on */

#define MS_IOCTLS_COUNT (sizeof(ms_ioctls) / sizeof(*ms_ioctls))
#define MS_IOCTL_UNREAD (MS_IOCTLS_COUNT + 1) /* in place of a row's: which one could not be read */

/*
 * What stands for a file of that device, which the row is for; else 0. Of one that says that it is
 * ready: the device's major number.
 */
static __always_inline __u32 device_file(const struct file *file, __u32 device,
					 const struct ms_ioctl *row)
{
	const __u32 major = device >> MS_MINOR_BITS;

	if (!row || !row->request)
		return is_control(device) ? file_number(file) : 0;
	if (device & ((1 << MS_MINOR_BITS) - 1))
		return 0;
	if (row->action == MS_RANGE_READY)
		return major;
	return major == uvm_major ? file_number(file) : 0;
}

static __always_inline __u32 inode_file(const struct file *file, const struct inode *inode,
					const struct ms_ioctl *row)
{
	if (is_device(inode))
		return device_file(file, BPF_CORE_READ(inode, i_rdev), row);
	return is_of_test(inode) ? file_number(file) : 0;
}

/* NULL: there is none. */
static __always_inline const struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), &files[fd]))
		return NULL;
	return file;
}

/*
 * The number of the file if the descriptor is one of NVIDIA's that the row is for, or of the file
 * system that a test has for them; else 0. Without a row: of any but /dev/nvidia-uvm.
 */
static __always_inline __u32 nvidia_file(struct task_struct *task, __u32 fd,
					 const struct ms_ioctl *row)
{
	const struct file *file = file_of(task, fd);

	return file ? inode_file(file, BPF_CORE_READ(file, f_inode), row) : 0;
}

/*
 * What cannot be read is 0, and `*failed` is not: the kernel reads without waiting, and memory that
 * it is moving just then, or has not brought in yet, is not there. Results are joined without a
 * branch for each: else the verifier goes through what follows once more for each of them.
 */
static __always_inline __u32 user_u32(__u64 argument, __u32 offset, long *failed)
{
	__u32 value = 0;

	*failed |= bpf_probe_read_user(&value, sizeof(value), (void *)(argument + offset));
	return value;
}

static __always_inline __u64 user_u64(__u64 argument, __u32 offset, long *failed)
{
	__u64 value = 0;

	*failed |= bpf_probe_read_user(&value, sizeof(value), (void *)(argument + offset));
	return value;
}

/* 0: the argument does not have it. */
static __always_inline __u32 user_u32_if(__u64 argument, __u32 offset, long *failed)
{
	return offset == MS_NOWHERE ? 0 : user_u32(argument, offset, failed);
}

static __always_inline __u64 user_u64_if(__u64 argument, __u32 offset, long *failed)
{
	return offset == MS_NOWHERE ? 0 : user_u64(argument, offset, failed);
}

/* The row's place, plus 1; 0: there is none. */
static __always_inline __u32 ioctl_find(__u32 request, __u32 number, __u32 bytes)
{
	const __u32 version = settings.driver_version ? settings.driver_version : MS_NV_ASSUMED;
	__u32 i;

	for (i = 0; i < MS_IOCTLS_COUNT; i++) {
		const struct ms_ioctl *row = &ms_ioctls[i];

		if ((row->request ? row->request == request :
				    row->number == number && row->bytes == bytes) &&
		    version >= row->since && (!row->until || version < row->until))
			return i + 1;
	}
	return 0;
}

static __always_inline bool class_is_kept(__u32 class_number)
{
	return class_number <= MS_NV_ROOT_NON_PRIV || class_number == MS_NV_ROOT_CLIENT ||
	       class_number == MS_NV_DEVICE || class_number == MS_NV_MEMORY_LOCAL ||
	       class_number == MS_NV_MEMORY_SYSTEM || class_number == MS_NV_MEMORY_OS;
}

/* The one that the driver gives the object, if the request does not say it. */
static __always_inline __u32 class_of(const struct ms_ioctl *row, __u64 argument, long *failed)
{
	__u32 flags, attributes;

	if (row->class_number != MS_NOWHERE)
		return user_u32(argument, row->class_number, failed);
	if (!row->attributes)
		return row->fixed_class;
	flags = user_u32(argument, row->flags, failed);
	attributes = user_u32(argument, row->attributes, failed);
	if (flags & MS_NV_HEAP_VIRTUAL)
		return MS_NV_MEMORY_VIRTUAL;
	return attributes & MS_NV_HEAP_LOCATION ? MS_NV_MEMORY_SYSTEM : MS_NV_MEMORY_LOCAL;
}

/* Without parameters, a device is the first one. */
static __always_inline __u64 object_size(const struct ms_ioctl *row, __u64 argument,
					 __u32 class_number, long *failed)
{
	__u64 params;

	if (row->size == MS_SIZE_LIMIT)
		return user_u64(argument, row->size_at, failed) + 1;
	if (row->size == MS_SIZE_AT)
		return user_u64(argument, row->size_at, failed);
	params = user_u64(argument, row->params, failed);
	if (class_number == MS_NV_MEMORY_OS)
		return user_u64(params, MS_NV_LIMIT, failed) + 1;
	if (class_number == MS_NV_DEVICE)
		return params ? user_u32(params, 0, failed) : 0;
	return user_u64(params, MS_NV_PARAMS_SIZE, failed);
}

/* The traced call that the thread is in, the innermost. */
static __always_inline __u16 row_around(struct ms_thread *thread)
{
	if (!thread->depth)
		return MS_NO_ROW;
	return frame_at(thread, thread->depth - 1)->record.call.row;
}

static __always_inline void object_emit(struct ms_object *record, struct ms_thread *thread)
{
	record->row = row_around(thread);
	event_init(&record->event, MS_TYPE_OBJECT, sizeof(*record), start_of_current(),
		   bpf_ktime_get_ns());
	emit(MS_KIND_OBJECT, record, sizeof(*record));
}

/* An ioctl was made and could not be read: what the driver holds is not known any more. */
static __always_inline void unread_report(struct ms_thread *thread)
{
	struct ms_object record = { .action = MS_OBJECT_UNREAD, .file = thread->ioctl_file };

	object_emit(&record, thread);
}

static __always_inline bool class_has_size(__u32 class_number)
{
	return class_number > MS_NV_ROOT_NON_PRIV && class_number != MS_NV_ROOT_CLIENT;
}

/* The file that memory goes by, which is none of NVIDIA's: a dma-buf. */
static __always_inline __u32 passed_file(struct task_struct *task, __u32 fd)
{
	const struct file *file = file_of(task, fd);

	return file ? file_number(file) : 0;
}

/* Whether it is not the process' own memory that the driver takes, but another's, by a file. */
static __always_inline bool comes_by_file(const struct ms_ioctl *row, __u64 argument, __u32 *fd,
					  long *failed)
{
	__u32 place = row->descriptor, type = row->descriptor_type;

	if (row->size == MS_SIZE_IN_PARAMS) {
		argument = user_u64(argument, row->params, failed);
		place = MS_NV_DESCRIPTOR;
		type = MS_NV_DESCRIPTOR_TYPE;
	}
	if (!type || user_u32(argument, type, failed) != MS_NV_DESCRIPTOR_FILE)
		return false;
	*fd = user_u32(argument, place, failed);
	return true;
}

static __always_inline void object_report(const struct ms_ioctl *row, __u64 argument,
					  struct task_struct *task, struct ms_thread *thread)
{
	struct ms_object record = { .action = row->action };
	long failed = 0, unsized = 0;
	__u32 fd;

	record.class_number = class_of(row, argument, &failed);
	if (!failed && !class_is_kept(record.class_number))
		return;
	record.status = user_u32(argument, row->status, &failed);
	record.client = user_u32(argument, row->client, &failed);
	record.parent = user_u32_if(argument, row->parent, &failed);
	record.object = user_u32(argument, row->object, &failed);
	if (row->size && class_has_size(record.class_number))
		record.size = object_size(row, argument, record.class_number, &unsized);
	if (row->source_client) {
		record.source_client = user_u32(argument, row->source_client, &failed);
		record.source_object = user_u32(argument, row->source_object, &failed);
	} else {
		record.file = thread->ioctl_file;
	}
	if (row->action == MS_OBJECT_EXPORT) {
		record.source_client =
			passed_file(task, user_u32(argument, row->passed_by, &failed));
	} else if (record.class_number == MS_NV_MEMORY_OS &&
		   comes_by_file(row, argument, &fd, &unsized)) {
		record.action = MS_OBJECT_IMPORT;
		record.source_client = passed_file(task, fd);
	}
	/* What the driver has refused needs no size. */
	if (failed || (unsized && !record.status))
		unread_report(thread);
	else
		object_emit(&record, thread);
}

static __always_inline bool command_is_kept(__u32 command)
{
	return command == MS_NV_EXPORT_OBJECT || command == MS_NV_IMPORT_OBJECT ||
	       command == MS_NV_EXPORT_OBJECTS || command == MS_NV_IMPORT_OBJECTS;
}

/* An object goes to another process by a file, or comes from there. */
static __always_inline void passed_report(const struct ms_ioctl *row, __u64 argument,
					  struct task_struct *task, struct ms_thread *thread)
{
	long failed = 0;
	const __u32 command = user_u32(argument, row->command, &failed);
	const __u64 params = user_u64(argument, row->params, &failed);
	struct ms_object record = { .action = MS_OBJECT_EXPORT };
	__u32 fd = MS_NV_EXPORT_OBJECTS_FD, handle = MS_NV_EXPORT_OBJECTS_HANDLE;
	__u32 parent = MS_NOWHERE;

	if (command == MS_NV_EXPORT_OBJECT) {
		fd = MS_NV_EXPORT_OBJECT_FD;
		handle = MS_NV_EXPORT_OBJECT_HANDLE;
	} else if (command == MS_NV_IMPORT_OBJECT) {
		fd = MS_NV_IMPORT_OBJECT_FD;
		handle = MS_NV_IMPORT_OBJECT_HANDLE;
		parent = MS_NV_IMPORT_OBJECT_PARENT;
		record.action = MS_OBJECT_IMPORT;
	} else if (command == MS_NV_IMPORT_OBJECTS) {
		fd = MS_NV_IMPORT_OBJECTS_FD;
		handle = MS_NV_IMPORT_OBJECTS_HANDLE;
		parent = MS_NV_IMPORT_OBJECTS_PARENT;
		record.action = MS_OBJECT_IMPORT;
	}
	record.status = user_u32(argument, row->status, &failed);
	record.client = user_u32(argument, row->client, &failed);
	record.parent = user_u32_if(params, parent, &failed);
	record.object = user_u32(params, handle, &failed);
	record.source_client = nvidia_file(task, user_u32(params, fd, &failed), NULL);
	record.file = thread->ioctl_file;
	if (failed)
		unread_report(thread);
	else
		object_emit(&record, thread);
}

/* A function of its own, so that the verifier goes through it once, and not for each GPU. */
__noinline int ms_range_emit(struct ms_range *record)
{
	if (!record)
		return 0;
	event_init(&record->event, MS_TYPE_RANGE, sizeof(*record), start_of_current(),
		   bpf_ktime_get_ns());
	emit(MS_KIND_OBJECT, record, sizeof(*record));
	return 0;
}

static __always_inline bool uuid_read(struct ms_range *record, __u64 address)
{
	return !bpf_probe_read_user(record->uuid, sizeof(record->uuid), (void *)address);
}

/* What is mapped on several GPUs at once is a record for each. */
static __always_inline bool range_emit_each(const struct ms_ioctl *row, __u64 argument,
					    struct ms_range *record)
{
	long failed = 0;
	__u64 gpus = row->gpus ? user_u64(argument, row->gpus, &failed) : 1, i;

	if (record->status)
		gpus = 1;
	if (gpus > MS_RANGE_GPUS)
		return false;
	for (i = 1; i < MS_RANGE_GPUS; i++) {
		if (i >= gpus)
			break;
		ms_range_emit(record);
		if (!uuid_read(record, argument + row->uuid + i * MS_NV_GPU_ATTRIBUTES))
			return false;
	}
	ms_range_emit(record);
	return !failed;
}

static __always_inline void range_report(const struct ms_ioctl *row, __u64 argument,
					 struct ms_thread *thread)
{
	struct ms_range record = { .action = row->action,
				   .file = thread->ioctl_file,
				   .row = row_around(thread) };
	long failed = 0;

	record.status = user_u32(argument, row->status, &failed);
	if (row->action == MS_RANGE_READY) {
		thread->ioctl_file = 0; /* it has stood for the device */
		if (uvm_major)
			return;
		if (failed)
			unread_report(thread);
		else if (!record.status)
			uvm_major = record.file;
		return;
	}
	record.base = user_u64_if(argument, row->base, &failed);
	record.bytes = user_u64_if(argument, row->length, &failed);
	record.offset = user_u64_if(argument, row->offset, &failed);
	record.client = user_u32_if(argument, row->client, &failed);
	record.object = user_u32_if(argument, row->object, &failed);
	if (row->uuid != MS_NOWHERE && !uuid_read(&record, argument + row->uuid))
		failed = 1;
	if (failed || !range_emit_each(row, argument, &record))
		unread_report(thread);
}

static __always_inline __u32 heap_function(__u64 argument, long *failed)
{
	const __u32 function = user_u32(argument, MS_NV_HEAP_FUNCTION, failed);

	return function < MS_NV_HEAP_FUNCTIONS ? function : 0;
}

/* The place of its row, plus 1, and where its argument is; 0: there is none. */
static __always_inline __u32 ioctl_place(__u32 request, __u64 *argument)
{
	__u32 number = request & 0xff, bytes = request >> 16 & 0x3fff, place;
	const struct ms_ioctl *row;
	long failed = 0;

	if (number == MS_NV_XFER && bytes == 16) {
		number = user_u32(*argument, 0, &failed);
		bytes = user_u32(*argument, 4, &failed);
		*argument = user_u64(*argument, 8, &failed);
		request = 0;
	}
	if (number >> 8)
		bytes = 0; /* there is no such number, and no row is so short */
	if (number == MS_NV_HEAP && bytes == MS_NV_HEAP_BYTES)
		number |= heap_function(*argument, &failed) << 8;
	if (failed)
		return MS_IOCTL_UNREAD;
	place = ioctl_find(request, number, bytes);
	barrier_var(place);
	if (!place || place > MS_IOCTLS_COUNT)
		return 0;
	row = &ms_ioctls[place - 1];
	if (row->command && !command_is_kept(user_u32(*argument, row->command, &failed)))
		return failed ? MS_IOCTL_UNREAD : 0;
	return place;
}

/* Whether its end is of interest. */
static __always_inline bool ioctl_begin(__u32 fd, __u32 request, __u64 argument)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 place = ioctl_place(request, &argument), file;
	struct ms_thread *thread;

	if (!place)
		return false;
	barrier_var(place);
	file = nvidia_file(task, fd, place - 1 < MS_IOCTLS_COUNT ? &ms_ioctls[place - 1] : NULL);
	if (!file)
		return false;
	thread = bpf_task_storage_get(&ms_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return false;
	thread->ioctl_row = place;
	thread->ioctl_file = file;
	thread->ioctl_argument = argument;
	return true;
}

static __always_inline void ioctl_end(int result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ms_thread *thread = bpf_task_storage_get(&ms_threads, task, NULL, 0);
	const struct ms_ioctl *row;
	__u32 place;

	if (!thread || !thread->ioctl_row)
		return;
	place = thread->ioctl_row - 1;
	thread->ioctl_row = 0;
	if (result < 0)
		return;
	barrier_var(place);
	if (place >= MS_IOCTLS_COUNT) {
		unread_report(thread);
		return;
	}
	row = &ms_ioctls[place];
	if (row->request)
		range_report(row, thread->ioctl_argument, thread);
	else if (row->command)
		passed_report(row, thread->ioctl_argument, task, thread);
	else
		object_report(row, thread->ioctl_argument, task, thread);
}

/* Whether its return is of interest. */
static __always_inline bool ioctl_enter(struct pt_regs *ctx)
{
	return ioctl_begin(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx));
}

static __always_inline void ioctl_leave(struct pt_regs *ctx)
{
	ioctl_end((int)PT_REGS_RC(ctx));
}

/* Right behind the system call, where it is over. The argument is on the stack. */
static __always_inline void ioctl_done(struct pt_regs *ctx, __u32 offset)
{
	const int result = (int)PT_REGS_RC(ctx);
	long failed = 0;
	__u64 argument;

	if (result < 0)
		return;
	argument = user_u64(PT_REGS_SP(ctx), offset, &failed);
	if (ioctl_begin(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), argument))
		ioctl_end(result);
}

#endif /* MS_IOCTL_BPF_H */
