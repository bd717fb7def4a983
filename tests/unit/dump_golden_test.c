// SPDX-License-Identifier: BSD-2-Clause
/*
 * A recording of each version of the format is kept, and must stay readable: with the same events,
 * and the same summary. dump_golden_segments_test.c reads them from each of their segments on.
 *
 *   build/unit/dump_golden_test FILE                writes this version's, when there is a new one
 *   UPDATE_GOLDEN=1 build/unit/dump_golden_test     writes what is said of each
 *
 * It is example.h's run, with what that lacks, so that there is a record of every type. How well it
 * is compressed depends on zstd's version: its bytes are not compared.
 */
#include "dumps.h"
#include "example.h"
#include "golden_dumps.h"
#include "golden_host.h"

#include <fcntl.h>
#include <unistd.h>

#include "render/text.h"
#include "base/writer.h"
#include "store/dump_file.h"
#include "store/delta.h"

#define PER_SEGMENT 12

/* ---- the recording --------------------------------------------------------------------------- */

static void add_what_the_example_lacks(struct example *example)
{
	static const uint16_t since_1_1[] = { MS_ACCOUNT_UNTRACKED, MS_ACCOUNT_ABANDONED };
	size_t i;

	example_add_to_other(example, record_process(MS_TYPE_ATTACH, "late", 1));
	example_add_to_other(example, record_name(0x1000, "gemm"));
	example_add_to_other(example, record_alias(0x1008, 0x1000));
	example_add_to_other(example, record_launches("cuLaunchKernel", 0x1008, 500));
	example_add_to_other(example, record_account(MS_OP_LAUNCH, 1000, 3));
	for (i = 0; i < sizeof(since_1_1) / sizeof(*since_1_1); i++)
		example_add_to_other(example, record_account(since_1_1[i], 2, 2));
	/* Since 1.2. */
	example_add_to_other(example, record_process(MS_TYPE_ATTACH, "worker",
						     MS_ATTACH_RUNNING | MS_ATTACH_BEGUN));
	example_add_to_other(example, record_process(MS_TYPE_ATTACH, "forked", MS_ATTACH_BEGUN));
	example_add_to_other(example, record_node(0x6a, 0x10000, 4096));
	example_add_to_other(example, record_alloc("cuMemAlloc_v2", 0x20000, 8192));
	example_add_to_other(example, record_memory("cuIpcGetMemHandle", 0x20000, 0x9ab));
	example_add_to_other(example, record_free_begin(0x20000));
	/* Since 1.3: what this ends may have held more, which the next anchor says. */
	example_add_to_other(example, record_process(MS_TYPE_EXEC, "next", 0));
	/* Since 1.4, which also has a counter of it in the next anchor. */
	example_add_to_other(example, record_loss(MS_OP_FREE, 7));
	example_add_to_other(example, record_loss(MS_ACCOUNT_ABANDONED, 2));
	example_add_to_other(example, record_visible(0x1234, MS_VISIBLE_RENUMBERED));
	example_add_to_other(example, record_device("cuDeviceGetUuid", 1, "its UUID, 16 B.."));
	example_add_to_other(example, record_newer(3, 1, "cuMemNew"));
	example_add_to_other(example, record_unread_library("/mnt/libcuda.so.1"));
	example_add_to_other(example, record_object(0x5c000010, 1 << 21));
	example_add_to_other(example,
			     record_identity("exe\0/usr/bin/python3.11\0script\0train.py\0uid\0"
					     "1000\0user\0bob\0"
					     "parent\0"
					     "1\0ns_pid\0"
					     "7\0cgroup\0/system.slice\0runtime\0podman\0"
					     "container\0c0ffee\0RANK\0"
					     "3\0later\0this version skips it"));
	example_add_to_other(example, record_device_memory("GPU-1", 1 << 30));
	example_add_to_other(example, record_held("GPU-1", 1 << 20));
	example_add_to_other(example, record_tensor(0x7f0000000000, 1 << 20, 3 << 20));
	example_add_to_other(example, record_nccl(MS_NCCL_ncclReduce, 0x5000, 512));
	example_add_to_other(example, record_launch_sample("cuLaunchKernel", 1, 100));
	example_add_to_other(example, record_gpu_status(MS_GPU_ON, MS_GPU_REASON_NONE));
	example_add_to_other(example, record_gpu_name(7, "fill"));
	example_add_to_other(example, record_activity(MS_ACTIVITY_KERNEL, 1, 1000000, 2500));
	example_add_to_other(example, record_activity(MS_ACTIVITY_CALL, 1, 990000, 5000));
	example_add_to_other(example, record_activity(MS_ACTIVITY_COPY, 2, 1010000, 4000));
	example_add_to_other(example, record_marker(MS_MARKER_PUSH, "step"));
	example_add_to_other(example, record_budget(MS_BUDGET_ALL, MS_BUDGET_OFF, 1000000000));
	example_add_to_other(example, record_limit("drm/0000:65:00.0/vram", 1 << 20, 1 << 30));
	example_add_to_other(example, record_range(MS_RANGE_MAP, 0x7f0000000000, 2 << 20, 1));
	example_add_to_other(example, record_xid(31, "0000:65:00.0", 4711, "MMU Fault"));
	example_add_to_other(example, record_frame(1, "cudaMalloc", "/lib/libcudart.so.12"));
	example_add_to_other(example, record_frame(2, "allocate", "/lib/libtorch.so"));
	example_add_to_other(example, record_stack(1, 1, 2));
	example_add_to_other(example,
			     record_called_from(1, record_alloc("cuMemAlloc_v2", 0x30000, 512)));
	example_add_to_other(example, record_split(record_call("cuStreamSynchronize"), 3000000,
						   1000000, 1900000));
	example_add_to_other(example,
			     record_device("cuDeviceGetPCIBusId", 1, "0000:81:00.0\0\0\0"));
}

static int to_file(void *context, const struct block_header *header, const void *stored)
{
	return dump_file_write(context, header, stored);
}

static int write_golden(const char *path)
{
	static struct example example;
	struct pipeline live = { 0 };
	struct dump_file file;
	const struct dump_writer_options options = {
		.recording = 0x1, .write = to_file, .describe = dump_describe, .context = &file
	};
	struct dump_writer *writer = dump_writer_new(&options);
	struct properties end = { 0 };
	size_t i;
	int err = 0;

	example_init(&example);
	add_what_the_example_lacks(&example);
	if (!writer || dump_file_open(&file, path, ""))
		return dump_writer_free(writer), 1;
	for (i = 0; !err && i < example.count; i++) {
		union record record = example.records[i];

		if (i % PER_SEGMENT == 0)
			err = dump_writer_segment(writer, &live.state, record.event.ts_ns);
		if (!err)
			err = dump_writer_add(writer, &record);
		pipeline_feed(&live, &record, record.event.size);
	}
	properties_put(&end, "reason", "signal");
	if (!err)
		err = dump_writer_segment(writer, &live.state, 2 * EXAMPLE_SECOND);
	if (!err)
		err = dump_writer_end(writer, &end, 2 * EXAMPLE_SECOND);
	properties_fini(&end);
	dump_writer_free(writer);
	state_fini(&live.state);
	return err || dump_file_close(&file);
}

/* ---- reading it ------------------------------------------------------------------------------ */

/* Appends what the text output says. */
static void append_replay(struct writer *writer, struct dump_reader *reader, bool lines)
{
	const struct text_options options = { .lines = lines, .exact = true };
	struct sink *sink = text_sink_new(writer, &options);
	struct pipeline pipeline = {
		.filter = { .ops = ~0u }, .shows_sums = true, .sinks = { sink }, .sinks_count = 1
	};
	struct replay *replay = replay_new(&pipeline, NULL);
	struct summary summary = { .captured_ops = ~0u };
	const struct recording_account *account;
	struct dump_item item;

	assert_non_null(replay);
	do {
		assert_int_equal(dump_reader_next(reader, &item), 0);
		assert_int_equal(replay_item(replay, &item), 0);
	} while (item.kind != DUMP_END);
	account = replay_account(replay);
	assert_int_equal(account->damaged_places + account->missing_blocks + account->refused, 0);
	assert_int_equal(account->unknown_records + account->unknown_calls, 0);
	assert_int_equal(pipeline.refused, 0);
	assert_true(account->has_end);
	summary.start_ns = EXAMPLE_SECOND;
	summary.end_ns = account->last_ts_ns;
	summary.counters = pipeline.recorded;
	assert_int_equal(pipeline_finish(&pipeline, &summary), 0);
	text_sink_free(sink);
	replay_free(replay);
	state_fini(&pipeline.state);
}

/* ---- its records, one a line ----------------------------------------------------------------- */

static void append_bytes(struct string *out, const void *bytes, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		string_append_format(out, "%02x", ((const uint8_t *)bytes)[i]);
}

/* The dump's probe table, which may not be this version's: layers and names in turn. */
static char rows[1 << 16];
static size_t rows_bytes;

static void read_rows(const void *raw, size_t bytes)
{
	assert_in_range(bytes, 1, sizeof(rows) - 1);
	memcpy(rows, raw, bytes);
	rows_bytes = bytes;
}

static const char *row_name(uint16_t row)
{
	const char *text = rows;
	size_t skipped = 2 * (size_t)row + 1;

	for (; skipped && text < rows + rows_bytes; skipped--)
		text += strlen(text) + 1;
	assert_true(text < rows + rows_bytes);
	return text;
}

static void append_call(struct string *out, const char *kind, const struct ms_call *call)
{
	string_append_format(out, "%s %s addr=0x%llx size=%llu result=%d", kind,
			     row_name(call->row), (unsigned long long)call->addr,
			     (unsigned long long)call->size, call->result);
}

static void append_allocation(struct string *out, const struct ms_checkpoint_allocation *saved)
{
	string_append_format(out, "anchor allocation %s addr=0x%llx size=%llu id=%llu ts=%llu",
			     row_name(saved->row), (unsigned long long)saved->addr,
			     (unsigned long long)saved->size_bytes, (unsigned long long)saved->id,
			     (unsigned long long)saved->ts_ns);
	string_append_format(out, " space=%u known=%u role=%u key=%u", saved->space,
			     saved->size_known, saved->role, saved->key);
}

static void append_anchor(struct string *out, const struct ms_event *event)
{
	const struct ms_checkpoint_process *process = (const void *)event;
	const struct ms_checkpoint_state *whole = (const void *)event;

	switch (event->type) {
	case MS_CHECKPOINT_STATE:
		string_append_format(out, "anchor allocations=%u exits=%u more=%u",
				     (unsigned int)whole->allocations, (unsigned int)whole->exits,
				     (unsigned int)whole->more_count);
		return;
	case MS_CHECKPOINT_PROCESS:
		string_append_text(out, "anchor process comm=");
		append_bytes(out, process->comm, sizeof(process->comm));
		string_append_format(out, " flags=%u", process->flags);
		return;
	case MS_CHECKPOINT_ALLOCATION:
		append_allocation(out, (const void *)event);
		return;
	}
	string_append_format(out, "anchor %u ", event->type);
	append_bytes(out, event + 1, event->size - sizeof(*event));
}

static void append_process(struct string *out, const struct ms_process *process)
{
	string_append_format(out, "process %u child=%llu/%u value=%u comm=", process->event.type,
			     (unsigned long long)process->child_start_ns, process->child_pid,
			     process->value);
	append_bytes(out, process->comm, sizeof(process->comm));
}

static bool append_call_record(struct string *out, const union record *record)
{
	switch (record->event.type) {
	case MS_TYPE_CALL:
		append_call(out, "call", &record->call);
		return true;
	case MS_TYPE_LAUNCH:
		append_call(out, "launch", &record->call);
		string_append_format(out, " grid=%u,%u,%u", record->launch.grid[0],
				     record->launch.grid[1], record->launch.grid[2]);
		return true;
	case MS_TYPE_CALLS:
		append_call(out, "calls", &record->call);
		string_append_format(out, " count=%llu",
				     (unsigned long long)record->launches.count);
		return true;
	case MS_TYPE_FREE_BEGIN:
		string_append_format(out, "free_begin %s addr=0x%llx size=%llu",
				     row_name(record->free.row),
				     (unsigned long long)record->free.addr,
				     (unsigned long long)record->free.size);
		return true;
	case MS_TYPE_NAME:
		string_append_format(out, "name handle=0x%llx alias=0x%llx text=",
				     (unsigned long long)record->name.handle,
				     (unsigned long long)record->name.alias);
		append_bytes(out, record->name.name, record->name.length);
		return true;
	case MS_TYPE_ACCOUNT:
		string_append_format(out, "account op=%u seen=%llu lost=%llu", record->account.op,
				     (unsigned long long)record->account.seen,
				     (unsigned long long)record->account.lost);
		return true;
	case MS_TYPE_LOSS:
		string_append_format(out, "loss op=%u lost=%llu", record->loss.op,
				     (unsigned long long)record->loss.lost);
		return true;
	default:
		return false;
	}
}

static bool append_process_record(struct string *out, const union record *record)
{
	switch (record->event.type) {
	case MS_TYPE_VISIBLE:
		string_append_format(out, "visible key=0x%llx flags=%u",
				     (unsigned long long)record->visible.key,
				     record->visible.flags);
		return true;
	case MS_TYPE_NEWER:
		string_append_format(out, "newer functions=%llu memory=%llu function=%s",
				     (unsigned long long)record->newer.functions,
				     (unsigned long long)record->newer.memory,
				     record->newer.function);
		return true;
	case MS_TYPE_UNREAD:
		string_append_format(out, "unread error=%u path=%s", record->unread.error,
				     record->unread.path);
		return true;
	case MS_TYPE_IDENTITY:
		string_append_text(out, "identity ");
		append_bytes(out, record->identity.texts, record->identity.length);
		return true;
	case MS_TYPE_EXEC:
	case MS_TYPE_FORK:
	case MS_TYPE_EXIT:
	case MS_TYPE_ATTACH:
		append_process(out, &record->process);
		return true;
	default:
		return false;
	}
}

static bool append_marker(struct string *out, const union record *record)
{
	if (record->event.type != MS_TYPE_MARKER)
		return false;
	string_append_format(out, "marker action=%u name=%s", record->marker.action,
			     record->marker.name);
	return true;
}

static bool append_framework(struct string *out, const union record *record)
{
	switch (record->event.type) {
	case MS_TYPE_TENSOR:
		string_append_format(out, "tensor addr=0x%llx size=%lld of %llu in %llu device=%d",
				     (unsigned long long)record->tensor.addr,
				     (long long)record->tensor.size,
				     (unsigned long long)record->tensor.allocated,
				     (unsigned long long)record->tensor.reserved,
				     record->tensor.device);
		return true;
	case MS_TYPE_NCCL:
		string_append_format(out, "nccl %u count=%llu detail=%u", record->nccl.function,
				     (unsigned long long)record->nccl.count, record->nccl.detail);
		return true;
	case MS_TYPE_LAUNCH_SAMPLE:
		string_append_format(out, "launch_sample %s stack=%u one_in=%u",
				     probe_at(record->launch_sample.row)->symbol,
				     record->event.stack, record->launch_sample.one_in);
		return true;
	}
	return false;
}

static bool append_sample(struct string *out, const union record *record)
{
	switch (record->event.type) {
	case MS_TYPE_DEVICE:
		string_append_format(out,
				     "device_memory known=%u used=%llu of %llu processes=%u %s",
				     record->device.known,
				     (unsigned long long)record->device.used_bytes,
				     (unsigned long long)record->device.total_bytes,
				     record->device.processes, record->device.uuid);
		return true;
	case MS_TYPE_HELD:
		string_append_format(out, "process_memory used=%llu %s",
				     (unsigned long long)record->held.used_bytes,
				     record->held.uuid);
		return true;
	case MS_TYPE_OBJECT:
		string_append_format(out, "object action=%u class=0x%x size=%llu",
				     record->object.action, record->object.class_number,
				     (unsigned long long)record->object.size);
		return true;
	case MS_TYPE_ACTIVITY:
		string_append_format(out, "activity %u of %u: %llu to %llu name=%llu what=%u",
				     record->activity.is.kind, record->activity.is.correlation,
				     (unsigned long long)record->activity.is.begin_ns,
				     (unsigned long long)record->activity.is.end_ns,
				     (unsigned long long)record->activity.is.name,
				     record->activity.is.what);
		return true;
	case MS_TYPE_GPU_NAME:
		string_append_format(out, "gpu_name %llu %s",
				     (unsigned long long)record->gpu_name.is.id,
				     record->gpu_name.name);
		return true;
	case MS_TYPE_GPU_STATUS:
		string_append_format(out, "gpu_status %u %u version=%u %s",
				     record->gpu_status.is.state, record->gpu_status.is.reason,
				     record->gpu_status.is.version, record->gpu_status.is.who);
		return true;
	case MS_TYPE_STACK:
		string_append_format(out, "stack %u end=%u frames=", record->stack.id,
				     record->stack.end);
		append_bytes(out, record->stack.frames,
			     record->event.size - offsetof(struct ms_stack, frames));
		return true;
	case MS_TYPE_FRAME:
		string_append_format(out, "frame %u address=0x%llx line=%u offset=%u texts=",
				     record->frame.id, (unsigned long long)record->frame.address,
				     record->frame.line, record->frame.offset);
		append_bytes(out, record->frame.texts, record->frame.length);
		return true;
	default:
		return append_host_record(out, record);
	}
}

static void append_record(struct string *out, const union record *record)
{
	const struct ms_event *event = &record->event;

	string_append_format(out, "%llu %u/%u %llu ", (unsigned long long)event->ts_ns, event->pid,
			     event->tid, (unsigned long long)event->start_ns);
	if (!append_call_record(out, record) && !append_process_record(out, record) &&
	    !append_marker(out, record) && !append_framework(out, record) &&
	    !append_sample(out, record))
		append_anchor(out, event);
	string_append_char(out, '\n');
}

static void append_records(struct string *out, struct dump_reader *reader)
{
	static struct delta_reader pack;
	static union {
		union record record;
		uint64_t words[UINT16_MAX / 8 + 1];
	} record;
	struct dump_item item;

	do {
		assert_int_equal(dump_reader_next(reader, &item), 0);
		if (item.kind == DUMP_BLOCK && item.header.type == BLOCK_ROWS)
			read_rows(item.raw, item.header.raw_bytes);
		if (item.kind != DUMP_BLOCK ||
		    (item.header.type != BLOCK_ANCHOR && item.header.type != BLOCK_EVENTS))
			continue;
		assert_true(delta_open(&pack, item.raw, item.header.raw_bytes));
		while (delta_read(&pack, &record, sizeof(record)))
			append_record(out, &record.record);
	} while (item.kind != DUMP_END);
	assert_false(out->failed);
}

static char *read_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = calloc(1, 1 << 20);

	assert_true(fd >= 0 && text && read(fd, text, (1 << 20) - 1) > 0);
	close(fd);
	return text;
}

static void test_each_version_says_what_it_said(void **state)
{
	char out[] = "/tmp/memscope-dump-golden.XXXXXX", path[128], *expected, *got;
	int fd = mkstemp(out);
	size_t i;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (i = 0; i < GOLDEN_DUMPS; i++) {
		struct dump_reader *reader = golden_dump_open(golden_dumps[i]);
		struct writer writer;

		snprintf(path, sizeof(path), "tests/golden/dump-%s.txt", golden_dumps[i]);
		assert_int_equal(writer_open(&writer, getenv("UPDATE_GOLDEN") ? path : out), 0);
		append_replay(&writer, reader, true);
		assert_int_equal(writer_close(&writer), 0);
		dump_reader_close(reader);
		if (getenv("UPDATE_GOLDEN"))
			continue;
		expected = read_text(path);
		got = read_text(out);
		assert_string_equal(got, expected);
		free(expected);
		free(got);
	}
	assert_int_equal(unlink(out), 0);
}

static void check_records(const char *version)
{
	struct dump_reader *reader = golden_dump_open(version);
	struct string out = { 0 };
	char path[64], *expected;
	int fd;

	snprintf(path, sizeof(path), "tests/golden/dump-%s.events.txt", version);
	append_records(&out, reader);
	dump_reader_close(reader);
	if (getenv("UPDATE_GOLDEN")) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		assert_int_equal(write(fd, out.bytes, out.length), out.length);
		close(fd);
	}
	expected = read_text(path);
	assert_int_equal(strlen(expected), out.length);
	assert_memory_equal(expected, out.bytes, out.length);
	free(expected);
	string_fini(&out);
}

/* tests/e2e/verify.bats has a reader in another language say the same. */
static void test_its_records_are_what_they_were(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < GOLDEN_DUMPS; i++)
		check_records(golden_dumps[i]);
}

/* Of one block, whatever it is. */
static void note_types(const struct dump_item *item, bool *types)
{
	static struct delta_reader pack;
	static uint64_t record[UINT16_MAX / 8 + 1];

	if (item->kind != DUMP_BLOCK ||
	    (item->header.type != BLOCK_ANCHOR && item->header.type != BLOCK_EVENTS))
		return;
	assert_true(delta_open(&pack, item->raw, item->header.raw_bytes));
	while (delta_read(&pack, record, sizeof(record)))
		types[((const struct ms_event *)record)->type] = true;
	assert_true(delta_done(&pack));
}

static void test_there_is_a_record_of_every_type(void **state)
{
	struct dump_reader *reader = golden_dump_open(golden_dumps[GOLDEN_DUMPS - 1]);
	bool types[MS_CHECKPOINT_TYPES_END] = { 0 }, blocks[BLOCK_INDEX + 1] = { 0 };
	struct dump_item item;
	size_t i;

	(void)state;
	do {
		assert_int_equal(dump_reader_next(reader, &item), 0);
		if (item.kind == DUMP_BLOCK)
			blocks[item.header.type] = true;
		note_types(&item, types);
	} while (item.kind != DUMP_END);
	dump_reader_close(reader);
	for (i = 0; i < MS_TYPES_COUNT; i++)
		assert_int_equal(types[i], event_size(i) != 0);
	for (i = MS_CHECKPOINT_STATE; i < MS_CHECKPOINT_TYPES_END; i++)
		assert_true(types[i]);
	for (i = BLOCK_SEGMENT; i <= BLOCK_INDEX; i++)
		assert_true(blocks[i]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_version_says_what_it_said),
		cmocka_unit_test(test_its_records_are_what_they_were),
		cmocka_unit_test(test_there_is_a_record_of_every_type),
	};

	setenv("TZ", "UTC", 1);
	return argc > 1 ? write_golden(argv[1]) : unit_run("golden dumps", tests);
}
