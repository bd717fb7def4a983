// SPDX-License-Identifier: BSD-2-Clause
/*
 * Defects that there were once: each test failed before its fix.
 */
#include "example.h"
#include "scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "elf_image.h"
#include "render/json.h"
#include "render/text.h"
#include "elf/elf_symbols.h"

#define A 0x7f0000001000
#define B 0x7f0000002000
#define OTHER_THREAD 101

/* ---- state ----------------------------------------------------------------------------------- */

static void test_lost_end_then_the_same_thread_frees_the_address_again(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	apply(&s, record_free_begin(A)); /* its end is lost, or the call was abandoned */
	apply(&s, record_alloc("cuMemAlloc_v2", A, 20));
	apply_free_of(&s, "cuMemFree_v2", A);
	assert_changed(&s, 2, 20);
	assert_int_equal(first_process(&s)->pending.count, 0);
	state_fini(&s.state);
}

/* It has returned: only what is inside of a free can come before its end. */
static void test_lost_end_then_the_same_thread_does_something_else(void **state)
{
	struct scenario s = { 0 };
	union record inside = record_call("cuCtxSynchronize");

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	apply(&s, record_free_begin(A));
	inside.call.flags |= MS_CALL_NESTED;
	apply(&s, inside);
	apply(&s, record_by(OTHER_THREAD, record_call("cuCtxSynchronize")));
	apply(&s, record_launches("cuLaunchKernel", 0x1008, 5));
	assert_int_equal(first_process(&s)->pending.count, 1);
	apply(&s, record_call("cuCtxSynchronize"));
	assert_int_equal(first_process(&s)->pending.count, 0);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->frees, 1);
	apply(&s, record_exit(9));
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->exit_count, 0);
	state_fini(&s.state);
}

static void test_the_peak_is_never_below_what_is_live(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 100));
	apply(&s, record_free_begin(A));
	apply(&s, record_by(OTHER_THREAD, record_alloc("cuMemAlloc_v2", B, 50)));
	apply(&s, record_failed(1, record_free("cuMemFree_v2", A)));
	assert_live(&s, MS_SPACE_DEVICE, 2, 150);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->peak_bytes, 150);
	state_fini(&s.state);
}

static void test_a_missed_free_of_a_block_of_unknown_size(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_without(MS_KNOWN_SIZE, record_alloc("cudaMallocPitch", A, 0)));
	apply(&s, record_alloc("cudaMalloc", A, 10));
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 1);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_SIZES], 0);
	state_fini(&s.state);
}

static void test_exec_during_a_free_of_a_block_of_unknown_size(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_without(MS_KNOWN_SIZE, record_alloc("cudaMallocPitch", A, 0)));
	apply(&s, record_free_begin(A));
	apply(&s, record_process(MS_TYPE_EXEC, "train", 0));
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_SIZES], 0);
	state_fini(&s.state);
}

static void test_a_part_of_an_alloc_is_not_a_second_alloc(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	/* What call_enter() makes of cudaMalloc { cuMemAlloc_v2; any other probed call }. */
	apply(&s, record_at(110, record_flagged(MS_CALL_NESTED | MS_CALL_PART,
						record_alloc("cuMemAlloc_v2", A, 10))));
	apply(&s, record_at(100, record_alloc("cudaMalloc", A, 10)));
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 0);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->allocs, 1);
	state_fini(&s.state);
}

static void test_a_part_of_a_free_is_not_a_second_free(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, record_at(1000, record_free_begin(A)));
	apply(&s, record_at(1010, record_flagged(MS_CALL_NESTED | MS_CALL_PART,
						 record_free("cuMemFree_v2", A))));
	apply(&s, record_at(1000, record_free("cudaFree", A)));
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->frees, 1);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_FREES], 0);
	state_fini(&s.state);
}

static void test_the_latest_of_name_and_alias_counts(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_name(0x1234, "old"));
	apply(&s, record_name(0x5678, "new"));
	apply(&s, record_alias(0x1234, 0x5678)); /* the handle was reused */
	apply(&s, record_launch("cuLaunchKernel", 0x1234));
	assert_string_equal(s.change.kernel, "new");
	state_fini(&s.state);
}

static void test_every_allocation_is_accounted_for(void **state)
{
	struct scenario s = { 0 };
	const struct space_total *device;

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	apply(&s, record_free_begin(A));
	apply(&s, record_by(OTHER_THREAD, record_alloc("cuMemAlloc_v2", A, 20)));
	apply(&s, record_failed(700, record_free("cuMemFree_v2", A))); /* a sticky error */
	device = space_of(&s, MS_SPACE_DEVICE);
	assert_int_equal(device->live_count + device->frees + device->implicit_frees +
				 first_process(&s)->counters[COUNTER_MISSED_FREES],
			 device->allocs); /* 1 and 2 */
	state_fini(&s.state);
}

static void test_lost_beginning_and_an_alloc_that_waited(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	/* The alloc was entered before the free, and returned after it: it is the younger block. */
	apply(&s, record_at(100, record_alloc("cuMemAlloc_v2", A, 10)));
	apply(&s,
	      record_at(190, record_taking(60, record_by(OTHER_THREAD,
							 record_alloc("cuMemAlloc_v2", A, 20)))));
	apply(&s, record_at(200, record_taking(100, record_free("cuMemFree_v2", A))));
	assert_live(&s, MS_SPACE_DEVICE, 1, 20);
	state_fini(&s.state);
}

/* ---- event ----------------------------------------------------------------------------------- */

static void test_a_driver_row_is_of_the_driver(void **state)
{
	union record record = record_merged("cudaMallocManaged", record_alloc("cudaMalloc", A, 1));
	struct event event;

	(void)state;
	assert_true(event_decode(&record, record.event.size, &event) ||
		    event.driver_probe->layer == MS_LAYER_DRIVER);
}

static void test_a_name_ends_where_it_says(void **state)
{
	union record record = record_name(0x1234, "kernel");
	struct event event;

	(void)state;
	record.bytes[sizeof(struct ms_name) + 2] = '\0';
	assert_int_equal(event_decode(&record, record.event.size, &event), -EINVAL);
}

/* ---- base ------------------------------------------------------------------------------------ */

static void test_almost_a_minute(void **state)
{
	char out[STRING_NUMBER_BYTES];

	(void)state;
	assert_string_not_equal(string_duration(out, 59999999999), "60.0 s");
}

static void test_sizes_are_exact_and_decimal(void **state)
{
	uint64_t value = 0;

	(void)state;
	assert_int_equal(string_parse_size("9007199254740993", &value), 0);
	assert_int_equal(value, 9007199254740993);
	assert_int_equal(string_parse_size("18446744073709551615", &value), 0);
}

static void test_hexadecimal_sizes(void **state)
{
	uint64_t value = 0;

	(void)state;
	assert_int_equal(string_parse_size("0x10", &value), -EINVAL);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void render(const union record *records, size_t count, bool exact, bool json,
		   struct string *out, const struct ms_counters *counters)
{
	const struct text_options options = { .lines = true, .exact = exact };
	struct writer writer = { .fd = -1 };
	struct sink *sink = json ? json_sink_new(&writer, true) : text_sink_new(&writer, &options);
	struct pipeline pipeline = { .filter = { .ops = -1 }, .sinks = { sink }, .sinks_count = 1 };
	struct summary summary = { .counters = *counters };
	size_t i;

	for (i = 0; i < count; i++) {
		union record record = record_at(1000 + i, records[i]);

		pipeline_feed(&pipeline, &record, record.event.size);
	}
	summary.state = &pipeline.state;
	string_fini(out);
	string_append(out, writer.text.bytes, writer.text.length);
	if (!json) {
		summary.losses = losses_of(counters);
		text_append_summary(out, &summary, &options);
	}
	string_append(out, "", 1);
	string_fini(&writer.text);
	state_fini(&pipeline.state);
	json ? json_sink_free(sink) : text_sink_free(sink);
}

static void test_implicit_frees_of_a_call_without_a_context(void **state)
{
	const struct ms_counters none = { 0 };
	const union record records[] = {
		record_context("cuDevicePrimaryCtxRetain", 0xc000, 0),
		record_in(0xc000, record_alloc("cudaMalloc", A, 10)),
		record_context("cuDevicePrimaryCtxReset_v2", 0, 0),
	};
	struct string out = { 0 };

	(void)state;
	render(records, 3, false, false, &out, &none);
	assert_null(strstr(out.bytes, " ; its end frees"));
	string_fini(&out);
}

static void test_json_tells_what_a_context_ended(void **state)
{
	const struct ms_counters none = { 0 };
	const union record records[] = {
		record_in(0xc000, record_alloc("cudaMalloc", A, 777)),
		record_context("cuCtxDestroy_v2", 0xc000, 0),
	};
	struct string out = { 0 };

	(void)state;
	render(records, 2, false, true, &out, &none);
	assert_non_null(strstr(strstr(out.bytes, "cuCtxDestroy_v2"), "777"));
	string_fini(&out);
}

static void test_text_tells_what_an_exec_ended(void **state)
{
	const struct ms_counters none = { 0 };
	const union record records[] = {
		record_alloc("cudaMallocHost", A, 777),
		record_process(MS_TYPE_EXEC, "train", 0),
	};
	struct string out = { 0 };

	(void)state;
	render(records, 2, false, false, &out, &none);
	assert_non_null(strstr(strstr(out.bytes, "execute"), "1 pinned (777 B)"));
	string_fini(&out);
}

static void test_an_unknown_size_is_not_zero(void **state)
{
	const struct ms_counters none = { 0 };
	const union record records[] = {
		record_without(MS_KNOWN_SIZE, record_alloc("cudaMallocPitch", A, 0)),
	};
	struct string out = { 0 };
	const char *largest;

	(void)state;
	render(records, 1, false, false, &out, &none);
	largest = strstr(out.bytes, "LARGEST LIVE");
	assert_non_null(largest);
	assert_null(strstr(largest, " 0 B  0x7f"));
	string_fini(&out);
}

static void test_exact_sizes_of_what_ended(void **state)
{
	const struct ms_counters none = { 0 };
	const union record records[] = { record_alloc("cudaMalloc", A, 1234567), record_exit(0) };
	struct string out = { 0 };

	(void)state;
	render(records, 2, true, false, &out, &none);
	assert_null(strstr(out.bytes, "1.18 MiB"));
	string_fini(&out);
}

static void test_lost_names_are_told_once(void **state)
{
	const struct ms_counters lost = { .lost[MS_OP_NAME] = 7, .seen[MS_OP_NAME] = 9 };
	struct string out = { 0 };

	(void)state;
	render(NULL, 0, false, false, &out, &lost);
	assert_true(!strstr(out.bytes, "7 of 9 name events") ||
		    !strstr(out.bytes, "7 other records"));
	string_fini(&out);
}

static void test_a_copy_of_unknown_direction_begins_at_the_margin(void **state)
{
	const struct ms_counters none = { 0 };
	const union record records[] = { record_from(0x5000, record_call("cuMemcpy2D_v2")) };
	struct string out = { 0 };

	(void)state;
	render(records, 1, false, false, &out, &none);
	assert_null(strstr(out.bytes, "            from 0x5000"));
	string_fini(&out);
}

/* Of a dump that is damaged: a mapping that goes on behind the last address. */
static void test_an_unmapping_comes_to_an_end(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	alarm(60); /* it did not */
	apply(&s, record_at(9000, record_map(0x2000, UINT64_MAX - 0xfff, 0x42)));
	/* Entered before that, so it takes nothing away. */
	apply(&s, record_at(100, record_begin_of("cuMemUnmap", 0x1000, UINT64_MAX - 0x1000)));
	assert_live(&s, MS_SPACE_MAPPED, 1, UINT64_MAX - 0xfff);
	apply(&s, record_at(9900, record_begin_of("cuMemUnmap", 0x1000, UINT64_MAX - 0x1000)));
	assert_live(&s, MS_SPACE_MAPPED, 0, 0);
	alarm(0);
	state_fini(&s.state);
}

/* Its handle could not be read, and 0 stood for all contexts. */
static void test_a_reset_of_an_unread_context_ends_nothing_else(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuDevicePrimaryCtxRetain", 0, 0));
	apply(&s, record_context("cuDevicePrimaryCtxRetain", 0, 1));
	apply(&s, record_in(0xc2, record_alloc("cuMemAlloc_v2", A, 10)));
	apply(&s, record_map(B, 20, 0x42));
	apply(&s, record_context("cuDevicePrimaryCtxReset_v2", 0, 0));
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	assert_live(&s, MS_SPACE_MAPPED, 1, 20);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNCLEAR_ENDS], 1);
	/* Nor is it the context of a thread that has none. */
	apply(&s, record_in(0, record_alloc("cuMemAlloc_v2", 0x7f0000003000, 10)));
	assert_int_equal(s.change.device, -1);
	/* One for each device, however often it is retained. */
	apply(&s, record_context("cuDevicePrimaryCtxRetain", 0, 0));
	apply(&s, record_context("cuCtxCreate_v2", 0, 0));
	assert_int_equal(first_process(&s)->contexts_count, 2);
	state_fini(&s.state);
}

/* ---- ELF files ------------------------------------------------------------------------------- */

static int count_visits(const struct elf_function *function, void *context)
{
	(void)function;
	++*(size_t *)context;
	return 0;
}

static int truncate_file(const struct elf_function *function, void *context)
{
	(void)function;
	return ftruncate(*(int *)context, 0);
}

/* The traced program owns the file, and may shorten it while it is read. */
static void test_a_file_that_shrinks(void **state)
{
	struct elf_image image;
	int fd = elf_image_file(), status;
	pid_t child;

	(void)state;
	elf_image_init(&image);
	elf_image_write(&image, fd, image.size);
	child = fork();
	if (!child) {
		signal(SIGBUS, SIG_DFL);
		elf_each_function(fd, truncate_file, &fd, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFSIGNALED(status));
	assert_int_equal(status, 0);
	close(fd);
}

static void test_an_empty_table_is_no_damage(void **state)
{
	struct elf_image image;
	int fd = elf_image_file();
	size_t count = 0;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNSYM].sh_size = 0;
	elf_image_write(&image, fd, image.size);
	assert_int_equal(elf_each_function(fd, count_visits, &count, NULL), 0);
	assert_int_equal(count, 2);
	close(fd);
}

/* 2.4 MB of symbols, 2000 sections that all are this table: 2000 times the work. */
static void test_work_is_bounded_by_the_size_of_the_file(void **state)
{
	enum { SECTIONS = 2000, SYMBOLS = 1000 };
	const size_t tables = ELF_IMAGE_MAX, symbols_at = tables + SECTIONS * sizeof(Elf64_Shdr);
	struct elf_image image;
	int fd = elf_image_file(), i;
	size_t count = 0;
	Elf64_Shdr section;
	Elf64_Sym symbol;

	(void)state;
	elf_image_init(&image);
	section = image.sections[ELF_IMAGE_SYMTAB];
	section.sh_link = 1;
	section.sh_offset = symbols_at;
	section.sh_size = SYMBOLS * sizeof(symbol);
	symbol = (Elf64_Sym){
		.st_name = 1, .st_shndx = 1, .st_value = 0x400140, .st_info = STT_FUNC
	};
	image.header.e_shoff = tables;
	image.header.e_shnum = SECTIONS;
	elf_image_write(&image, fd, ELF_IMAGE_MAX);
	for (i = 0; i < SECTIONS; i++)
		assert_true(pwrite(fd, i == 1 ? &image.sections[ELF_IMAGE_STRTAB] : &section,
				   sizeof(section), tables + i * sizeof(section)) > 0);
	for (i = 0; i < SYMBOLS; i++)
		assert_true(pwrite(fd, &symbol, sizeof(symbol), symbols_at + i * sizeof(symbol)) >
			    0);
	elf_each_function(fd, count_visits, &count, NULL);
	assert_in_range(count, 0, 10 * SYMBOLS);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_end_then_the_same_thread_frees_the_address_again),
		cmocka_unit_test(test_lost_end_then_the_same_thread_does_something_else),
		cmocka_unit_test(test_the_peak_is_never_below_what_is_live),
		cmocka_unit_test(test_a_missed_free_of_a_block_of_unknown_size),
		cmocka_unit_test(test_exec_during_a_free_of_a_block_of_unknown_size),
		cmocka_unit_test(test_a_part_of_an_alloc_is_not_a_second_alloc),
		cmocka_unit_test(test_a_part_of_a_free_is_not_a_second_free),
		cmocka_unit_test(test_the_latest_of_name_and_alias_counts),
		cmocka_unit_test(test_every_allocation_is_accounted_for),
		cmocka_unit_test(test_lost_beginning_and_an_alloc_that_waited),
		cmocka_unit_test(test_a_driver_row_is_of_the_driver),
		cmocka_unit_test(test_a_name_ends_where_it_says),
		cmocka_unit_test(test_almost_a_minute),
		cmocka_unit_test(test_sizes_are_exact_and_decimal),
		cmocka_unit_test(test_hexadecimal_sizes),
		cmocka_unit_test(test_implicit_frees_of_a_call_without_a_context),
		cmocka_unit_test(test_json_tells_what_a_context_ended),
		cmocka_unit_test(test_text_tells_what_an_exec_ended),
		cmocka_unit_test(test_an_unknown_size_is_not_zero),
		cmocka_unit_test(test_exact_sizes_of_what_ended),
		cmocka_unit_test(test_lost_names_are_told_once),
		cmocka_unit_test(test_a_copy_of_unknown_direction_begins_at_the_margin),
		cmocka_unit_test(test_an_unmapping_comes_to_an_end),
		cmocka_unit_test(test_a_reset_of_an_unread_context_ends_nothing_else),
		cmocka_unit_test(test_a_file_that_shrinks),
		cmocka_unit_test(test_an_empty_table_is_no_damage),
		cmocka_unit_test(test_work_is_bounded_by_the_size_of_the_file),
	};

	return unit_run("defects", tests);
}
