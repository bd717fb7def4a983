// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reports on more than one file: parts of a recording, bundles of a flight recorder, several
 * recordings, and what is none.
 */
#include "reported.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analysis/process_activity.h"
#include "render/report_json.h"
#include "store/verification.h"

#define SEGMENTS 6

/* Segments in files of their own, a bundle with some of them, and a file that lacks one. */
static void make_ring(void)
{
	size_t segment, i;

	report_dump_init(&dump, 7, "host-a");
	now_ns = BEGIN;
	for (segment = 0; segment < SEGMENTS; segment++) {
		dump.files = 1 | 2u << segment | (segment >= 2 && segment < 5 ? 1u << 7 : 0) |
			     (segment != 3 ? 1u << 8 : 0);
		report_dump_segment(&dump, now_ns);
		for (i = 0; i < 40; i++) {
			add(alloc("cudaMalloc", 4096 * (1 + segment * 40 + i), 100));
			if (i % 10 == 9)
				report_dump_flush(&dump, now_ns);
		}
	}
	report_dump_end(&dump, now_ns);
}

/* The whole report; only the names of the files are left out. */
static struct string json_of(const size_t *files, size_t count)
{
	struct report_reader reader = read_files(files, count);
	struct report_coverage *coverage = &reader.report.recordings[0]->coverage;
	struct string json = { 0 };

	while (coverage->files_count > 1)
		free(coverage->files[--coverage->files_count]);
	*coverage->files[0] = '\0';
	report_json(&json, &reader.report);
	report_reader_fini(&reader);
	return json;
}

/* As the one on file 0, which has all. */
static void assert_whole_report(const size_t *files, size_t count)
{
	static const size_t whole[] = { 0 };
	struct string expected = json_of(whole, 1), actual = json_of(files, count);

	assert_int_equal(actual.length, expected.length);
	assert_memory_equal(actual.bytes, expected.bytes, expected.length);
	string_fini(&expected);
	string_fini(&actual);
}

static void test_files_of_one_recording_are_put_together(void **state)
{
	static const size_t sets[][8] = { { 1, 2, 3, 4, 5, 6 },
					  { 6, 5, 4, 3, 2, 1 },
					  { 7, 6, 1, 2, 3, 4, 5 },
					  { 7, 1, 6, 2, 0 } };
	static const size_t counts[] = { 6, 6, 7, 5 };
	size_t i;

	(void)state;
	make_ring();
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		assert_whole_report(sets[i], counts[i]);
	report_dump_fini(&dump);
}

/* A bundle has what a lost file of the ring had. */
static void test_a_bundle_fills_a_gap(void **state)
{
	static const size_t files[] = { 1, 2, 4, 5, 6, 7 }, other[] = { 7, 8 };

	(void)state;
	make_ring();
	assert_whole_report(files, 6);
	/* Also in the middle of a file. */
	assert_whole_report(other, 2);
	report_dump_fini(&dump);
}

/* Writes to the file that is chosen, but not to those that the recording goes to. */
static void end_copy(uint32_t files)
{
	const uint32_t others = dump.files;
	struct properties end = { 0 };

	properties_put(&end, "reason", "asked-for");
	dump.files = files;
	assert_int_equal(dump_writer_end_copy(dump.writer, &end, now_ns, report_dump_write, &dump),
			 0);
	dump.files = others;
	properties_fini(&end);
}

/* File 0: all. 1, 2: bundles of all so far, at two times. 3, 4: the two behind each other. */
static void make_bundles(void)
{
	uint32_t bundle, i;

	report_dump_init(&dump, 7, "host-a");
	now_ns = BEGIN;
	dump.files = 0x1f;
	report_dump_segment(&dump, now_ns);
	for (bundle = 0; bundle < 2; bundle++) {
		for (i = 0; i < 4; i++) {
			add(alloc("cudaMalloc", 4096 * (1 + bundle * 4 + i), 100));
			report_dump_flush(&dump, now_ns);
		}
		end_copy(bundle ? 1u << 2 | 1u << 4 : 1u << 1 | 1u << 3);
		dump.files = 0x15;
	}
	add(alloc("cudaMalloc", 0x100000, 100));
	dump.files = 1;
	report_dump_end(&dump, now_ns + 1000000);
}

/* Puts one file behind another one. */
static void append_file(size_t to, size_t from)
{
	char bytes[4096];
	off_t offset = 0;
	ssize_t length;

	while ((length = pread(dump.fds[from], bytes, sizeof(bytes), offset)) > 0) {
		assert_int_equal(write(dump.fds[to], bytes, length), length);
		offset += length;
	}
}

/* A bundle's last block has the number of what really came next, which must not get lost. */
static void test_a_bundle_is_no_end(void **state)
{
	static const struct {
		size_t files[2], count;
		uint64_t events;
		const char *reason;
	} sets[] = {
		{ { 1 }, 1, 4, "asked-for" },    { { 1, 0 }, 2, 9, "exit" },
		{ { 0, 1 }, 2, 9, "exit" },      { { 1, 2 }, 2, 8, "asked-for" },
		{ { 2, 1 }, 2, 8, "asked-for" }, { { 3 }, 1, 8, "asked-for" },
		{ { 4 }, 1, 8, "asked-for" },    { { 3, 0 }, 2, 9, "exit" },
	};
	size_t i;

	(void)state;
	make_bundles();
	append_file(3, 2);
	append_file(4, 1);
	for (i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		struct report_reader reader = read_files(sets[i].files, sets[i].count);
		const struct report_coverage *coverage = &reader.report.recordings[0]->coverage;

		assert_int_equal(coverage->account.calls, sets[i].events);
		assert_int_equal(coverage->account.missing_blocks, 0);
		assert_true(coverage->account.has_end);
		assert_string_equal(coverage->reason, sets[i].reason);
		report_reader_fini(&reader);
	}
	report_dump_fini(&dump);
}

/* Of two files, added in that order. */
static struct verification verify(size_t first, size_t second)
{
	const int fds[] = { dump.fds[first], dump.fds[second] };
	struct verification verification;
	char path[32];
	size_t i;

	assert_int_equal(verification_init(&verification), 0);
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[i]);
		assert_int_equal(verification_add(&verification, path), 0);
	}
	assert_int_equal(verification_read(&verification), 0);
	return verification;
}

static void test_verification_follows_the_same_rule(void **state)
{
	static const size_t sets[][2] = { { 1, 0 }, { 0, 1 }, { 2, 1 }, { 3, 3 }, { 4, 4 } };
	static const uint64_t events[] = { 9, 9, 8, 8, 8 };
	struct verification verification;
	size_t i;

	(void)state;
	make_bundles();
	append_file(3, 2);
	append_file(4, 1);
	for (i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		verification = verify(sets[i][0], sets[i][1]);
		assert_int_equal(replay_account(verification.replay)->calls, events[i]);
		assert_int_equal(verification.gaps_count, 0);
		assert_int_equal(verification_status(&verification), VERIFICATION_WHOLE);
		verification_fini(&verification);
	}
	report_dump_fini(&dump);
	/* The order of the names is not that of the recording. */
	make_ring();
	verification = verify(6, 5);
	assert_int_equal(replay_account(verification.replay)->calls, 80);
	assert_int_equal(verification_status(&verification), VERIFICATION_WHOLE);
	verification_fini(&verification);
	/* What comes too late within a file is left out, which is not whole. */
	append_file(6, 5);
	verification = verify(6, 6);
	assert_int_equal(replay_account(verification.replay)->calls, 40);
	assert_int_equal(verification_status(&verification), VERIFICATION_DAMAGED);
	verification_fini(&verification);
	report_dump_fini(&dump);
}

/* A file of the ring that goes on behind a bundle, and has no end. */
static void test_a_recording_goes_on_behind_a_bundle(void **state)
{
	static const size_t files[] = { 1, 2 };
	struct report_reader reader;

	(void)state;
	report_dump_init(&dump, 7, "host-a");
	now_ns = BEGIN;
	dump.files = 2;
	report_dump_segment(&dump, now_ns);
	end_copy(2);
	dump.files = 4;
	add(alloc("cudaMalloc", 0x1000, 100));
	report_dump_flush(&dump, now_ns);
	reader = read_files(files, 2);
	assert_int_equal(reader.report.recordings[0]->coverage.account.calls, 1);
	assert_false(reader.report.recordings[0]->coverage.account.has_end);
	assert_null(reader.report.recordings[0]->coverage.reason);
	done(&reader);
}

/* ---- several recordings ---------------------------------------------------------------------- */

/* The same pid and time as in the first one, but on another machine. */
static void write_other(struct report_dump *other)
{
	report_dump_segment(other, now_ns);
	report_dump_add(other, record_at(now_ns, alloc("cudaMalloc", 0x1000, 5)));
	report_dump_end(other, now_ns);
}

static void begin_first(void)
{
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	report_dump_end(&dump, now_ns);
}

static void assert_both(const struct report *report)
{
	assert_string_equal(report->recordings[0]->coverage.host, "host-a");
	assert_string_equal(report->recordings[1]->coverage.host, "host-b");
	assert_int_equal(report->recordings[0]->devices[0].live_bytes, 300);
	assert_int_equal(report->recordings[1]->devices[0].live_bytes, 5);
}

#define MANY 2500

/* All with something alive. */
static void write_processes(struct report_dump *to, uint64_t recording, uint32_t count)
{
	uint32_t pid;

	report_dump_init(to, recording, "host");
	report_dump_segment(to, BEGIN);
	for (pid = 1; pid <= count; pid++) {
		union record record = record_of(pid, 0, alloc("cudaMalloc", 0x1000, 300));

		record.event.ts_ns = BEGIN;
		assert_int_equal(dump_writer_add(to->writer, &record), 0);
	}
	report_dump_end(to, BEGIN);
}

/* What cannot be true of one file is no reason not to report on the others. */
static void test_what_the_report_notes_down_counts_as_memory(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	static struct report_dump large;

	(void)state;
	write_processes(&large, 1, MANY);
	write_processes(&dump, 7, 500);
	/* The state alone takes less than is allowed. */
	assert_true(MANY * sizeof(struct process) < REPLAY_BYTES);
	report_dump_use(&large, 0, &set);
	report_dump_use(&dump, 0, &set);
	report_dump_read_set(&set, &reader);
	assert_int_equal(reader.report.refused, 1);
	assert_int_equal(reader.report.count, 1);
	assert_int_equal(reader.report.recordings[0]->coverage.account.recording, 7);
	assert_true(report_recording_bytes(reader.report.recordings[0]) >
		    500 * (sizeof(struct timeline_series) + sizeof(struct process_activity)));
	report_dump_fini(&large);
	done(&reader);
}

/* 600 workers that live at once, as they are forked within a second. */
static void test_many_living_processes_are_no_attack(void **state)
{
	static const char *const symbols[] = { "cuDevicePrimaryCtxRetain", "cuMemGetInfo_v2",
					       "cuCtxSetCurrent", "cuMemAlloc_v2" };
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	uint32_t pid, i;

	(void)state;
	report_dump_init(&dump, 7, "host-a");
	report_dump_segment(&dump, BEGIN);
	for (pid = 1; pid <= 600; pid++)
		for (i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
			union record record = i < 3 ? record_call(symbols[i]) :
						      record_alloc(symbols[i], 0x7000, 4096);

			record = record_of(pid, MS_START_NS, record);
			record.event.ts_ns = BEGIN + pid * 1000 + i;
			assert_int_equal(dump_writer_add(dump.writer, &record), 0);
		}
	report_dump_end(&dump, BEGIN + 1000000);
	report_dump_use(&dump, 0, &set);
	report_dump_read_set(&set, &reader);
	assert_int_equal(reader.report.refused, 0);
	assert_int_equal(reader.report.count, 1);
	done(&reader);
}

static void test_recordings_are_kept_apart(void **state)
{
	struct report_reader reader = report_dump_reader();
	static struct report_dump other;

	(void)state;
	begin_first();
	report_dump_init(&other, 8, "host-b");
	write_other(&other);
	read_both(&other, &reader);
	assert_both(&reader.report);
	report_dump_fini(&other);
	done(&reader);
}

/* One file behind the other, as `cat` would do it. */
static void test_a_file_may_have_two_recordings(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	static struct report_dump other;

	(void)state;
	begin_first();
	report_dump_init(&other, 8, "host-b");
	close(other.fds[0]);
	other.fds[0] = dup(dump.fds[0]);
	write_other(&other);
	report_dump_use(&dump, 0, &set);
	report_dump_read_set(&set, &reader);
	assert_int_equal(reader.report.count, 2);
	assert_both(&reader.report);
	report_dump_fini(&other);
	done(&reader);
}

#define RECORDINGS 1500

static int count_item(void *context, const struct dump_item *item)
{
	++*(uint64_t *)context;
	return item->kind == DUMP_BLOCK ? 0 : -EINVAL;
}

/* One behind the other, a block each: none is looked at more often than twice. */
static void test_a_file_may_have_many_recordings(void **state)
{
	struct dump_set set = { 0 };
	struct block_coder *coder = block_coder_new();
	uint64_t taken = 0;
	size_t i;

	(void)state;
	report_dump_init(&dump, 7, "host-a");
	for (i = 0; i < RECORDINGS; i++) {
		struct block_header header = { .type = BLOCK_EVENTS, .recording = 1 + i };
		const size_t bytes = 4;
		const void *stored = block_encode(coder, &header, "text", &bytes, 1);

		assert_int_equal(report_dump_write(&dump, &header, stored), 0);
	}
	report_dump_use(&dump, 0, &set);
	assert_int_equal(set.count, 1);
	for (i = 0; i < set.count; i++) {
		const struct dump_set_file file = set.recordings[i].files[0];

		assert_int_equal(set.recordings[i].recording, 1 + i);
		assert_int_equal(dump_set_read(&set, i, count_item, &taken), 0);
		assert_int_equal(set.recordings[i].count, 1);
		/* The others' blocks are nowhere in the part that is read. */
		assert_int_equal(file.end - file.begin, i ? sizeof(struct block_header) + 4 : 0);
	}
	assert_int_equal(set.count, 1 + DUMP_SET_OTHERS);
	assert_int_equal(taken, 1 + DUMP_SET_OTHERS);
	dump_set_fini(&set);
	block_coder_free(coder);
	report_dump_fini(&dump);
}

static void test_what_is_no_dump_is_refused(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };

	(void)state;
	begin();
	assert_int_equal(write(dump.fds[3], "MSCPhello", 9), 9);
	report_dump_use(&dump, 3, &set); /* garbage */
	report_dump_use(&dump, 4, &set); /* empty */
	assert_int_equal(set.refused, 2);
	assert_int_equal(set.count, 0);
	add(alloc("cudaMalloc", 0x1000, 300));
	report_dump_end(&dump, now_ns);
	report_dump_use(&dump, 0, &set);
	report_dump_read_set(&set, &reader);
	assert_int_equal(reader.report.count, 1);
	assert_int_equal(reader.report.refused, 2);
	assert_false(report_is_inexact(reader.report.recordings[0]));
	assert_false(report_all_is_exact(&reader.report));
	done(&reader);
}

/* Whole, but of a version that is not known: as a newer program would write it. */
static void test_a_newer_version_is_refused(void **state)
{
	struct block_header header = { .magic = "MSCP",
				       .major = BLOCK_MAJOR + 1,
				       .type = BLOCK_SEGMENT,
				       .raw_bytes = 4,
				       .stored_bytes = 4,
				       .recording = 9 };
	struct dump_set set = { 0 };
	XXH3_state_t checksum;

	(void)state;
	begin();
	XXH3_64bits_reset(&checksum);
	XXH3_64bits_update(&checksum, &header, offsetof(struct block_header, checksum));
	XXH3_64bits_update(&checksum, "a\0b", 4);
	header.checksum = XXH3_64bits_digest(&checksum);
	assert_int_equal(write(dump.fds[3], &header, sizeof(header)), sizeof(header));
	assert_int_equal(write(dump.fds[3], "a\0b", 4), 4);
	report_dump_use(&dump, 3, &set);
	assert_int_equal(set.refused, 1);
	assert_int_equal(set.count, 0);
	dump_set_fini(&set);
	report_dump_fini(&dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_of_one_recording_are_put_together),
		cmocka_unit_test(test_a_bundle_fills_a_gap),
		cmocka_unit_test(test_a_bundle_is_no_end),
		cmocka_unit_test(test_verification_follows_the_same_rule),
		cmocka_unit_test(test_a_recording_goes_on_behind_a_bundle),
		cmocka_unit_test(test_what_the_report_notes_down_counts_as_memory),
		cmocka_unit_test(test_many_living_processes_are_no_attack),
		cmocka_unit_test(test_recordings_are_kept_apart),
		cmocka_unit_test(test_a_file_may_have_two_recordings),
		cmocka_unit_test(test_a_file_may_have_many_recordings),
		cmocka_unit_test(test_what_is_no_dump_is_refused),
		cmocka_unit_test(test_a_newer_version_is_refused),
	};

	return unit_run("report: files", tests);
}
