/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builders of wire records, so that a scenario reads as a list of events: a builder says what was
 * called and what it acted on, a modifier wraps it to say what was unusual about it. Every record
 * is complete and valid; whoever wants a broken one breaks it afterwards.
 */
#ifndef MEMSCOPE_TESTS_RECORDS_H
#define MEMSCOPE_TESTS_RECORDS_H

#include <string.h>

#include "abi.h"
#include "event/probe.h"
#include "unit.h"

#define RECORD_PID 100
#define RECORD_START_NS (50ull * MS_START_NS)

/* Aligned as the rings align them; its length is event.size. */
union record {
	struct ms_event event;
	struct ms_call call;
	struct ms_launch launch;
	struct ms_split_call split;
	struct ms_calls launches;
	struct ms_free free;
	struct ms_name name;
	struct ms_process process;
	struct ms_account account;
	struct ms_loss loss;
	struct ms_visible visible;
	struct ms_newer newer;
	struct ms_unread unread;
	struct ms_device device;
	struct ms_held held;
	struct ms_host host;
	struct ms_load load;
	struct ms_node node;
	struct ms_gpu gpu;
	struct ms_limit limit;
	struct ms_placement placement;
	struct ms_budget budget;
	struct ms_xid xid;
	struct ms_identity identity;
	struct ms_object object;
	struct ms_range range;
	struct ms_tensor tensor;
	struct ms_nccl nccl;
	struct ms_launch_sample launch_sample;
	struct ms_activity activity;
	struct ms_gpu_name gpu_name;
	struct ms_gpu_status gpu_status;
	struct ms_marker marker;
	struct ms_stack stack;
	struct ms_frame_record frame;
	char bytes[sizeof(struct ms_name) + MS_NAME_BYTES + 8]; /* room for too long a name */
};

/* ---- builders -------------------------------------------------------------------------------- */

/* Of the first thread of process RECORD_PID; time 0 stands for "whenever it is its turn". */
static inline union record record_event(enum ms_type type, size_t size)
{
	return (union record){ .event = { .start_ns = RECORD_START_NS,
					  .pid = RECORD_PID,
					  .tid = RECORD_PID,
					  .type = type,
					  .size = size } };
}

static inline uint16_t record_row(const char *symbol)
{
	int row = probe_find(symbol);

	if (row < 0)
		fail_msg("%s is not in the probe table", symbol);
	return row;
}

/* A call (or launch) that succeeded; nothing else is known of it. */
static inline union record record_call(const char *symbol)
{
	uint16_t row = record_row(symbol);
	bool launch = probe_at(row)->spec.op == MS_OP_LAUNCH;
	union record record =
		record_event(launch ? MS_TYPE_LAUNCH : MS_TYPE_CALL,
			     launch ? sizeof(struct ms_launch) : sizeof(struct ms_call));

	record.call.row = row;
	record.call.driver_row = MS_NO_ROW;
	record.call.known = MS_KNOWN_RESULT;
	return record;
}

static inline union record record_alloc(const char *symbol, uint64_t addr, uint64_t size)
{
	union record record = record_call(symbol);

	record.call.addr = addr;
	record.call.size = size;
	record.call.known |= MS_KNOWN_ADDR | MS_KNOWN_SIZE;
	return record;
}

/* The end of a free. */
static inline union record record_free(const char *symbol, uint64_t addr)
{
	union record record = record_call(symbol);

	record.call.addr = addr;
	record.call.known |= MS_KNOWN_ADDR;
	return record;
}

static inline union record record_begin_of(const char *symbol, uint64_t addr, uint64_t size)
{
	union record record = record_event(MS_TYPE_FREE_BEGIN, sizeof(struct ms_free));

	record.free.addr = addr;
	record.free.size = size;
	record.free.row = record_row(symbol);
	return record;
}

static inline union record record_free_begin(uint64_t addr)
{
	return record_begin_of("cuMemFree_v2", addr, 0);
}

/* Memory `handle` at an address. */
static inline union record record_map(uint64_t addr, uint64_t size, uint64_t handle)
{
	union record record = record_alloc("cuMemMap", addr, size);

	record.call.src = handle;
	record.call.known |= MS_KNOWN_SRC;
	return record;
}

/* The end of cuMemUnmap, which is given a size. */
static inline union record record_unmap(uint64_t addr, uint64_t size)
{
	return record_alloc("cuMemUnmap", addr, size);
}

/* A call about memory or graphs: `addr` is made or changed from `src`. */
static inline union record record_memory(const char *symbol, uint64_t addr, uint64_t src)
{
	union record record = record_free(symbol, addr);

	record.call.src = src;
	record.call.known |= MS_KNOWN_SRC;
	return record;
}

/* A node of a graph that allocates, or frees if there is no size. */
static inline union record record_node(uint64_t graph, uint64_t addr, uint64_t size)
{
	union record record = record_memory(
		size ? "cuGraphAddMemAllocNode" : "cuGraphAddMemFreeNode", addr, graph);

	record.call.size = size;
	record.call.known |= size ? MS_KNOWN_SIZE : 0;
	return record;
}

static inline union record record_copy(const char *symbol, uint64_t size,
				       enum ms_direction direction)
{
	union record record = record_call(symbol);

	record.call.size = size;
	record.call.direction = direction;
	record.call.known |= MS_KNOWN_SIZE | MS_KNOWN_DIRECTION;
	return record;
}

/* The same call, of so many nanoseconds, in which its thread waited for a CPU and was blocked. */
static inline union record record_split(union record record, uint64_t duration_ns,
					uint64_t runnable_ns, uint64_t blocked_ns)
{
	record.event.size = sizeof(struct ms_split_call);
	record.call.duration_ns = duration_ns;
	record.split.runnable_ns = runnable_ns;
	record.split.blocked_ns = blocked_ns;
	return record;
}

static inline union record record_launch(const char *symbol, uint64_t function)
{
	union record record = record_call(symbol);

	record.call.addr = function;
	record.call.known |= MS_KNOWN_ADDR;
	return record;
}

/* A launch that chance chose, one in so many, from that call stack. */
static inline union record record_launch_sample(const char *symbol, uint32_t stack, uint32_t one_in)
{
	union record record = record_event(MS_TYPE_LAUNCH_SAMPLE, sizeof(struct ms_launch_sample));

	record.launch_sample.event.stack = stack;
	record.launch_sample.one_in = one_in;
	record.launch_sample.row = record_row(symbol);
	return record;
}

/* So many launches that were only counted. */
static inline union record record_launches(const char *symbol, uint64_t function, uint64_t count)
{
	union record record = record_launch(symbol, function);

	record.event.type = MS_TYPE_CALLS;
	record.event.size = sizeof(struct ms_calls);
	record.launches.count = count;
	return record;
}

/* So many such calls that were summed up; size and duration are those of all. */
static inline union record record_summed(uint64_t count, union record record)
{
	record.event.type = MS_TYPE_CALLS;
	record.event.size = sizeof(struct ms_calls);
	record.call.known &= ~MS_KNOWN_STREAM;
	record.call.stream = 0;
	record.launches.count = count;
	return record;
}

/* A context call on a handle; 0: the call names none. */
static inline union record record_context(const char *symbol, uint64_t context, int32_t device)
{
	union record record = record_call(symbol);

	record.call.addr = context;
	record.call.device = device;
	record.call.known |= MS_KNOWN_DEVICE | (context ? MS_KNOWN_ADDR : 0);
	return record;
}

/* What was counted since the last account; of no process. */
static inline union record record_loss(uint16_t op, uint64_t lost)
{
	union record record = record_event(MS_TYPE_LOSS, sizeof(struct ms_loss));

	record.loss.op = op;
	record.loss.lost = lost;
	return record;
}

static inline union record record_visible(uint64_t key, uint32_t flags)
{
	union record record = record_event(MS_TYPE_VISIBLE, sizeof(struct ms_visible));

	record.visible.key = key;
	record.visible.flags = flags;
	return record;
}

static inline union record record_newer(uint64_t functions, uint64_t memory, const char *function)
{
	union record record = record_event(MS_TYPE_NEWER, sizeof(struct ms_newer));

	record.newer.functions = functions;
	record.newer.memory = memory;
	memcpy(record.newer.function, function, strlen(function));
	return record;
}

static inline union record record_unread_library(const char *path)
{
	union record record = record_event(MS_TYPE_UNREAD, sizeof(struct ms_unread));

	record.unread.error = 13;
	memcpy(record.unread.path, path, strlen(path));
	return record;
}

/* Of no process. */
static inline union record record_device_memory(const char *uuid, uint64_t used)
{
	union record record = { .event = { .type = MS_TYPE_DEVICE,
					   .size = sizeof(struct ms_device) } };

	record.device.known = MS_DEVICE_MEMORY | MS_DEVICE_RESERVED | MS_DEVICE_PROCESSES;
	record.device.total_bytes = used * 10;
	record.device.used_bytes = used;
	record.device.free_bytes = used * 8;
	record.device.reserved_bytes = used;
	record.device.processes = 2;
	record.device.processes_bytes = used / 2;
	memcpy(record.device.uuid, uuid, strlen(uuid));
	return record;
}

static inline union record record_held(const char *uuid, uint64_t used)
{
	union record record = record_event(MS_TYPE_HELD, sizeof(struct ms_held));

	record.held.used_bytes = used;
	memcpy(record.held.uuid, uuid, strlen(uuid));
	return record;
}

/* Of no process. */
static inline union record record_xid(uint32_t number, const char *bdf, uint32_t process,
				      const char *text)
{
	union record record = { .event = { .type = MS_TYPE_XID, .size = sizeof(struct ms_xid) } };

	record.xid.xid = number;
	record.xid.process = process;
	memcpy(record.xid.bdf, bdf, strlen(bdf));
	memcpy(record.xid.text, text, strlen(text));
	return record;
}

/* All kinds of pressure lasted for so many microseconds so far. */
static inline union record record_host(uint64_t available, uint64_t pressure_us)
{
	union record record = { .event = { .type = MS_TYPE_HOST, .size = sizeof(struct ms_host) } };

	record.host.known = MS_HOST_MEMORY | MS_HOST_CPU_PRESSURE | MS_HOST_MEMORY_PRESSURE |
			    MS_HOST_IO_PRESSURE;
	record.host.processes = 1;
	record.host.total_bytes = 64ull << 30;
	record.host.available_bytes = available;
	record.host.cpu_some_us = pressure_us;
	record.host.memory_some_us = pressure_us / 2;
	record.host.memory_full_us = pressure_us / 4;
	record.host.io_some_us = pressure_us / 8;
	record.host.io_full_us = pressure_us / 16;
	record.host.looking_ns = 40000;
	return record;
}

static inline union record record_load(uint64_t cpu_ns, uint64_t queue_ns, uint64_t bytes)
{
	union record record = record_event(MS_TYPE_LOAD, sizeof(struct ms_load));

	record.load.known = MS_LOAD_CPU | MS_LOAD_QUEUE | MS_LOAD_MEMORY | MS_LOAD_CGROUP_MEMORY |
			    MS_LOAD_CGROUP_LIMIT | MS_LOAD_THROTTLED | MS_LOAD_CGROUP_PRESSURE;
	record.load.threads = 4;
	record.load.cpu_ns = cpu_ns;
	record.load.queue_ns = queue_ns;
	record.load.major_faults = cpu_ns / 100000000;
	record.load.minor_faults = cpu_ns / 1000000;
	record.load.anon_bytes = bytes;
	record.load.file_bytes = bytes / 2;
	record.load.cgroup_bytes = 2 * bytes;
	record.load.cgroup_limit_bytes = 8ull << 30;
	record.load.throttled_ns = queue_ns / 2;
	record.load.throttled = queue_ns / 100000000;
	record.load.cgroup_stall_us = queue_ns / 10000;
	return record;
}

static inline union record record_numa_node(uint32_t node, uint64_t free_bytes)
{
	union record record = { .event = { .type = MS_TYPE_NODE, .size = sizeof(struct ms_node) } };

	record.node.node = node;
	record.node.total_bytes = 32ull << 30;
	record.node.free_bytes = free_bytes;
	return record;
}

/* Of 16 lanes of 16 GT/s each, so many of that speed (in tenths). */
static inline union record record_gpu_link(const char *bdf, uint32_t speed, uint32_t width)
{
	union record record = { .event = { .type = MS_TYPE_GPU, .size = sizeof(struct ms_gpu) } };

	record.gpu.known = MS_GPU_NODE | MS_GPU_LINK;
	record.gpu.node = 1;
	record.gpu.speed = speed;
	record.gpu.max_speed = 160;
	record.gpu.width = width;
	record.gpu.max_width = 16;
	memcpy(record.gpu.bdf, bdf, strlen(bdf));
	return record;
}

/* So many of 8 pages of a block of 2 GiB lie there. */
static inline union record record_placement(enum ms_space space, int32_t node, uint64_t pages)
{
	union record record = record_event(MS_TYPE_PLACEMENT, sizeof(struct ms_placement));

	record.placement.space = space;
	record.placement.node = node;
	record.placement.pages = pages;
	record.placement.asked = 8;
	record.placement.bytes = 2ull << 30;
	record.placement.blocks = 1;
	return record;
}

/* The step before has lasted for so long. */
static inline union record record_budget(enum ms_budget_step step, enum ms_budget_step before,
					 uint64_t lasted_ns)
{
	union record record = record_event(MS_TYPE_BUDGET, sizeof(struct ms_budget));

	record.budget.lasted_ns = lasted_ns;
	record.budget.spent_ns = lasted_ns / 100;
	record.budget.budget_ppm = 5000;
	record.budget.step = step;
	record.budget.before = before;
	return record;
}

/* `module`: path of the file that the function is in. */
static inline union record record_frame(uint32_t id, const char *function, const char *module)
{
	const char *const texts[] = { function, module, "c0ffee", "" };
	union record record = { .event = { .type = MS_TYPE_FRAME } };
	size_t i;

	record.frame.id = id;
	record.frame.address = 0x1000 + id;
	record.frame.offset = id;
	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++) {
		memcpy(record.frame.texts + record.frame.length, texts[i], strlen(texts[i]) + 1);
		record.frame.length += strlen(texts[i]) + 1;
	}
	record.event.size = sizeof(record.frame) + record.frame.length;
	return record;
}

/* Of `count` frames with ids that follow each other, the innermost first. */
static inline union record record_stack(uint32_t id, uint32_t frame, uint16_t count)
{
	union record record = record_event(MS_TYPE_STACK, sizeof(struct ms_stack) + 4 * count);
	uint16_t i;

	record.stack.hash = id * 0x123456789abcull;
	record.stack.id = id;
	record.stack.count = count;
	record.stack.form = MS_STACK_FRAMES;
	for (i = 0; i < count; i++, frame++)
		memcpy(record.stack.frames + 4 * i, &frame, sizeof(frame));
	return record;
}

/* A call from there. */
static inline union record record_called_from(uint32_t stack, union record record)
{
	record.call.flags |= MS_CALL_STACK;
	record.event.stack = stack;
	return record;
}

/* `texts`: pairs of strings, a name and a value; a literal ends with the last one's zero byte. */
static inline union record record_identity_of(const char *texts, size_t bytes)
{
	union record record = record_event(MS_TYPE_IDENTITY, sizeof(struct ms_identity) + bytes);

	if (sizeof(struct ms_identity) + bytes > sizeof(record))
		fail_msg("no room for %zu bytes", bytes);
	record.identity.length = (uint32_t)bytes;
	memcpy(record.bytes + sizeof(struct ms_identity), texts, bytes);
	return record;
}

#define record_identity(texts) record_identity_of(texts, sizeof(texts))

/* What a GPU did from `begin_ns` on, for the call with that number of CUPTI's. */
static inline union record record_activity(enum ms_activity_kind kind, uint32_t correlation,
					   uint64_t begin_ns, uint64_t ns)
{
	union record record = record_event(MS_TYPE_ACTIVITY, sizeof(struct ms_activity));

	record.activity.is.kind = kind;
	record.activity.is.correlation = correlation;
	record.activity.is.begin_ns = begin_ns;
	record.activity.is.end_ns = begin_ns + ns;
	record.activity.is.name = kind == MS_ACTIVITY_KERNEL ? 7 : 0;
	record.activity.is.what = kind == MS_ACTIVITY_COPY ? MS_DIRECTION_HTOD : 0;
	record.activity.is.stream = 7;
	record.activity.is.thread = record.event.tid;
	return record;
}

static inline union record record_gpu_name(uint64_t id, const char *text)
{
	union record record = record_event(MS_TYPE_GPU_NAME, sizeof(struct ms_gpu_name) + 128);

	assert_true(strlen(text) < 128);
	record.gpu_name.is.id = id;
	record.gpu_name.is.length = strlen(text);
	record.gpu_name.is.room = 128;
	strcpy((char *)record.bytes + sizeof(struct ms_gpu_name), text);
	return record;
}

static inline union record record_gpu_status(enum ms_gpu_state state, enum ms_gpu_reason reason)
{
	union record record = record_event(MS_TYPE_GPU_STATUS, sizeof(struct ms_gpu_status));

	record.gpu_status.is.state = state;
	record.gpu_status.is.reason = reason;
	record.gpu_status.is.version = 130000;
	strcpy(record.gpu_status.is.who, "/usr/lib/libcupti.so.13");
	return record;
}

/* By NVTX; NULL: it has no name. */
static inline union record record_marker(enum ms_marker_action action, const char *name)
{
	const size_t length = name ? strlen(name) + 1 : 0;
	union record record = record_event(MS_TYPE_MARKER, sizeof(struct ms_marker) + length);

	record.marker.action = action;
	record.marker.length = length;
	if (name)
		memcpy(record.marker.name, name, length);
	return record;
}

/* What a call says of a device, in two words: its UUID, or text. */
static inline union record record_device(const char *symbol, int32_t device, const void *bytes)
{
	union record record = record_call(symbol);

	memcpy(&record.call.addr, bytes, sizeof(record.call.addr));
	memcpy(&record.call.src, (const char *)bytes + sizeof(record.call.addr),
	       sizeof(record.call.src));
	record.call.device = device;
	record.call.known |= MS_KNOWN_ADDR | MS_KNOWN_SRC | MS_KNOWN_DEVICE;
	return record;
}

static inline union record record_account(uint16_t op, uint64_t seen, uint64_t lost)
{
	union record record = { .event = { .type = MS_TYPE_ACCOUNT,
					   .size = sizeof(struct ms_account) } };

	record.account.op = op;
	record.account.seen = seen;
	record.account.lost = lost;
	return record;
}

static inline union record record_name(uint64_t handle, const char *text)
{
	size_t length = strlen(text) + 1;
	union record record = record_event(MS_TYPE_NAME, sizeof(struct ms_name) + length);

	assert_true(length <= MS_NAME_BYTES);
	record.name.handle = handle;
	record.name.string = 0x5000;
	record.name.length = length;
	memcpy(record.bytes + sizeof(struct ms_name), text, length);
	return record;
}

static inline union record record_alias(uint64_t handle, uint64_t alias)
{
	union record record = record_event(MS_TYPE_NAME, sizeof(struct ms_name));

	record.name.handle = handle;
	record.name.alias = alias;
	return record;
}

/* EXEC, FORK, EXIT or ATTACH; `value` is the status or the flags. */
static inline union record record_process(enum ms_type type, const char *comm, uint32_t value)
{
	union record record = record_event(type, sizeof(struct ms_process));

	assert_true(strlen(comm) < MS_COMM_BYTES);
	strcpy(record.process.comm, comm);
	record.process.value = value;
	return record;
}

static inline union record record_exit(uint32_t status)
{
	return record_process(MS_TYPE_EXIT, "program", status);
}

static inline union record record_attach_running(void)
{
	return record_process(MS_TYPE_ATTACH, "program", MS_ATTACH_RUNNING);
}

#include "record_driver.h"
#include "record_frameworks.h"
#include "record_limits.h"
#include "record_modifiers.h"

#endif /* MEMSCOPE_TESTS_RECORDS_H */
