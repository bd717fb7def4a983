// SPDX-License-Identifier: BSD-2-Clause
/*
 * Recordings that are damaged in some way, and then repaired: what is repaired never looks better
 * than what was damaged, and has every event that can still be read.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "report_dump.h"

#include "base/log.h"
#include "store/verification.h"

#define DAMAGES 2500

#define FILES_MAX 24
#define BLOCKS_MAX 200

static char directory[] = "/tmp/memscope-repair-XXXXXX";

static uint64_t seed;

static uint64_t below(uint64_t bound)
{
	seed = unit_random(seed);
	return (seed >> 20) % bound;
}

/* ---- recordings ------------------------------------------------------------------------------ */

/* The files of a recording, in the order of their names. */
struct files {
	struct string bytes[FILES_MAX];
	size_t count;
};

struct writing {
	struct files *files;
	bool is_ring; /* each segment has a file of its own */
};

static int write_block(void *context, const struct block_header *header, const void *stored)
{
	struct writing *writing = context;
	struct files *files = writing->files;
	struct string *bytes;

	if (!files->count || (writing->is_ring && header->type == BLOCK_SEGMENT))
		assert_true(files->count++ < FILES_MAX);
	bytes = &files->bytes[files->count - 1];
	string_append(bytes, (const char *)header, sizeof(*header));
	string_append(bytes, stored, header->stored_bytes);
	return 0;
}

static void describe(void *context, struct properties *properties)
{
	(void)context;
	properties_put(properties, "host", "example");
	properties_put(properties, "ops", "alloc,free,copy,memset,launch,sync,memory,context");
}

struct sample {
	uint64_t recording;
	bool is_ring;
	bool is_killed;  /* there is no end */
	bool has_bundle; /* of what there was in the middle, in a file of its own */
};

#define STEPS 360
#define PER_SEGMENT 60
#define PER_BLOCK 12

/* Allocations of three processes, each of which frees what it has allocated but for the last. */
static union record record_of_step(uint64_t step)
{
	const uint32_t pid = 100 + step / 3 % 3;
	const uint64_t addr = 0x7000000000 + (step - step % 3) * 4096;
	union record record;

	if (step < 9)
		record = record_process(MS_TYPE_ATTACH, "train", 0);
	else if (step % 3 == 0)
		record = record_on(0, record_alloc("cuMemAlloc_v2", addr, 4096 * (1 + step)));
	else if (step % 3 == 1)
		record = record_free_begin(addr - 27 * 4096);
	else
		record = record_free("cuMemFree_v2", addr - 27 * 4096);
	if (step >= 9 && step < 36 && step % 3)
		record = record_call("cuCtxSynchronize");
	return record_at(1000000000 + step * 1000000, record_of(pid, MS_START_NS, record));
}

static void add_bundle(struct dump_writer *writer, struct files *files, uint64_t now_ns)
{
	struct writing bundle = { .files = files };
	struct properties end = { 0 };
	struct string all = { 0 };
	size_t i;

	for (i = 0; i < files->count; i++)
		string_append(&all, files->bytes[i].bytes, files->bytes[i].length);
	files->bytes[files->count++] = all;
	properties_put(&end, "reason", "asked-for");
	assert_int_equal(dump_writer_end_copy(writer, &end, now_ns, write_block, &bundle), 0);
	properties_fini(&end);
}

static void write_sample(const struct sample *sample, struct files *files)
{
	struct writing writing = { .files = files, .is_ring = sample->is_ring };
	const struct dump_writer_options options = { .recording = sample->recording,
						     .write = write_block,
						     .describe = describe,
						     .context = &writing };
	struct dump_writer *writer = dump_writer_new(&options);
	struct pipeline live = { 0 };
	struct properties end = { 0 };
	uint64_t step, now_ns = 0;

	for (step = 0; step < STEPS; step++) {
		union record record = record_of_step(step);

		now_ns = record.event.ts_ns;
		if (sample->has_bundle && step == STEPS / 2)
			add_bundle(writer, files, now_ns);
		if (step % PER_SEGMENT == 0)
			assert_int_equal(dump_writer_segment(writer, &live.state, now_ns), 0);
		else if (step % PER_BLOCK == 0)
			assert_int_equal(dump_writer_flush(writer, now_ns), 0);
		assert_int_equal(dump_writer_add(writer, &record), 0);
		assert_int_equal(pipeline_feed(&live, &record, record.event.size), 0);
	}
	assert_int_equal(dump_writer_flush(writer, now_ns), 0);
	properties_put(&end, "reason", "exit");
	if (!sample->is_killed)
		assert_int_equal(dump_writer_end(writer, &end, now_ns), 0);
	properties_fini(&end);
	dump_writer_free(writer);
	state_fini(&live.state);
}

static void files_fini(struct files *files)
{
	while (files->count)
		string_fini(&files->bytes[--files->count]);
}

#define SAMPLES 6

static void make_sample(size_t which, struct files *files)
{
	static const struct sample samples[SAMPLES + 1] = {
		{ 1, false, false, false }, { 2, false, true, false }, { 3, true, false, false },
		{ 4, true, true, false },   { 5, true, false, true },  { 6, false, true, false },
		{ 7, false, false, false },
	};

	*files = (struct files){ 0 };
	write_sample(&samples[which], files);
	/* The last one has two recordings in one file. */
	if (which == SAMPLES - 1)
		write_sample(&samples[SAMPLES], files);
}

/* ---- damages --------------------------------------------------------------------------------- */

struct place {
	size_t begin, end;
};

/* Where the blocks are that are whole. */
static size_t find_blocks(const struct string *file, struct place places[BLOCKS_MAX])
{
	struct dump_reader *reader = dump_reader_of(file->bytes, file->length);
	struct dump_item item;
	size_t count = 0;

	while (!dump_reader_next(reader, &item) && item.kind != DUMP_END)
		if (item.kind == DUMP_BLOCK && count < BLOCKS_MAX)
			places[count++] = (struct place){ item.offset, item.offset + item.bytes };
	dump_reader_close(reader);
	return count;
}

static void put_part(struct string *out, const struct string *file, size_t begin, size_t end)
{
	string_append(out, file->bytes + begin, end - begin);
}

static void replace(struct string *file, struct string *by)
{
	string_fini(file);
	*file = *by;
}

static void flip(struct string *file, size_t at)
{
	file->bytes[at] = (char)(file->bytes[at] ^ 1 << below(8));
}

static void flip_any(struct string *file)
{
	flip(file, below(file->length));
}

/* Where the end is, and the index. */
static void flip_last(struct string *file)
{
	const size_t last = file->length < 400 ? file->length : 400;

	flip(file, file->length - 1 - below(last));
}

static void cut_any(struct string *file)
{
	file->length = below(file->length);
}

static void overwrite(struct string *file)
{
	size_t at = below(file->length), end = at + 1 + below(3000);

	for (; at < end && at < file->length; at++)
		file->bytes[at] = (char)below(256);
}

static void insert_noise(struct string *file)
{
	const size_t at = below(file->length);
	struct string out = { 0 };
	size_t i;

	put_part(&out, file, 0, at);
	for (i = below(200); i > 0; i--)
		string_append_char(&out, (char)below(256));
	put_part(&out, file, at, file->length);
	replace(file, &out);
}

/* Between two blocks, so that each of them stays whole. */
static void insert_between(struct string *file)
{
	struct place places[BLOCKS_MAX];
	const size_t count = find_blocks(file, places);
	struct string out = { 0 };
	size_t at;

	if (!count)
		return;
	at = places[below(count)].begin;
	put_part(&out, file, 0, at);
	string_append_text(&out, "MSCP?");
	put_part(&out, file, at, file->length);
	replace(file, &out);
}

static void cut_blocks(struct string *file)
{
	struct place places[BLOCKS_MAX];
	const size_t count = find_blocks(file, places);

	if (count)
		file->length = places[below(count)].begin;
}

/* Some in a row, of which the last one is often the last one of the file but for the index. */
static void remove_blocks(struct string *file)
{
	struct place places[BLOCKS_MAX];
	const size_t count = find_blocks(file, places);
	struct string out = { 0 };
	size_t first, last;

	if (count < 2)
		return;
	first = below(count - 1);
	last = below(2) ? count - 2 : first + below(count - 1 - first);
	put_part(&out, file, 0, places[first].begin);
	put_part(&out, file, places[last].end, file->length);
	replace(file, &out);
}

static void repeat_block(struct string *file)
{
	struct place places[BLOCKS_MAX];
	const size_t count = find_blocks(file, places);
	struct string out = { 0 };
	size_t which, at;

	if (!count)
		return;
	which = below(count);
	at = places[below(count)].begin;
	put_part(&out, file, 0, at);
	put_part(&out, file, places[which].begin, places[which].end);
	put_part(&out, file, at, file->length);
	replace(file, &out);
}

static void swap_blocks(struct string *file)
{
	struct place places[BLOCKS_MAX];
	const size_t count = find_blocks(file, places);
	struct string out = { 0 };
	size_t a, b;

	if (count < 2)
		return;
	a = below(2) ? count - 2 : below(count - 1);
	b = a + 1 + below(count - a - 1);
	put_part(&out, file, 0, places[a].begin);
	put_part(&out, file, places[b].begin, places[b].end);
	put_part(&out, file, places[a].end, places[b].begin);
	put_part(&out, file, places[a].begin, places[a].end);
	put_part(&out, file, places[b].end, file->length);
	replace(file, &out);
}

static void (*const damages_of_files[])(struct string *file) = {
	flip_any,       flip_last,  cut_any,       overwrite,    insert_noise,
	insert_between, cut_blocks, remove_blocks, repeat_block, swap_blocks,
};

static void swap_names(struct files *files)
{
	const size_t a = below(files->count), b = below(files->count);
	const struct string file = files->bytes[a];

	files->bytes[a] = files->bytes[b];
	files->bytes[b] = file;
}

static void remove_file(struct files *files)
{
	const size_t which = below(files->count);

	string_fini(&files->bytes[which]);
	files->count--;
	memmove(files->bytes + which, files->bytes + which + 1,
		(files->count - which) * sizeof(*files->bytes));
}

static void empty_file(struct files *files)
{
	files->bytes[below(files->count)].length = 0;
}

static void repeat_file(struct files *files)
{
	const struct string *file = &files->bytes[below(files->count)];
	struct string copy = { 0 };

	if (files->count == FILES_MAX)
		return;
	put_part(&copy, file, 0, file->length);
	files->bytes[files->count++] = copy;
	swap_names(files);
}

static void (*const damages_of_rings[])(struct files *files) = { swap_names, remove_file,
								 empty_file, repeat_file };

/* Returns whether anything is left. */
static bool damage_once(struct files *files)
{
	const size_t of_files = sizeof(damages_of_files) / sizeof(*damages_of_files);
	const size_t of_rings = sizeof(damages_of_rings) / sizeof(*damages_of_rings);
	size_t which = below(of_files + (files->count > 1 ? of_rings : 0));
	struct string *file = &files->bytes[below(files->count)];

	if (which >= of_files)
		damages_of_rings[which - of_files](files);
	else if (file->length)
		damages_of_files[which](file);
	return files->count > 0;
}

/* ---- what is said of them -------------------------------------------------------------------- */

struct said {
	uint64_t recording;
	uint64_t events, hash; /* all that were fed, in their order */
	uint64_t calls, missing, uncertain, unanchored, allocations, live;
	size_t inexact_processes;
	bool has_end, has_beginning, has_losses, is_inexact;
};

#define RECORDINGS 4

struct heard {
	struct sink sink;
	struct said said[RECORDINGS];
	size_t count;
	uint64_t events, hash;
	bool is_exact; /* all of it */
	size_t refused;
};

static int hear_begin(struct sink *sink)
{
	struct heard *heard = (struct heard *)sink;

	heard->events = heard->hash = 0;
	return 0;
}

static int hear_event(struct sink *sink, const struct event *event, const struct change *change)
{
	struct heard *heard = (struct heard *)sink;
	const uint8_t *bytes = (const uint8_t *)event->header;
	size_t i;

	(void)change;
	heard->events++;
	for (i = 0; i < event->header->size; i++)
		heard->hash = (heard->hash ^ bytes[i]) * 1099511628211u;
	return 0;
}

static int hear_end(struct sink *sink, const struct summary *summary)
{
	struct heard *heard = (struct heard *)sink;

	(void)summary;
	assert_true(heard->count < RECORDINGS);
	heard->said[heard->count].events = heard->events;
	heard->said[heard->count++].hash = heard->hash;
	return 0;
}

static void note(struct said *said, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	size_t i, space;

	said->recording = coverage->account.recording;
	said->calls = coverage->account.calls;
	said->missing = coverage->account.missing_blocks;
	said->uncertain = coverage->account.uncertain;
	said->unanchored = coverage->account.unanchored;
	said->has_end = coverage->account.has_end;
	said->has_beginning = coverage->has_beginning;
	said->has_losses = report_has_losses(recording);
	said->is_inexact = report_is_inexact(recording);
	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;

		said->inexact_processes += report_process_is_inexact(recording, process);
		for (space = 0; space < MS_SPACES_COUNT; space++) {
			said->allocations += process->spaces[space].allocs;
			said->live += process->spaces[space].live_bytes;
		}
	}
}

static struct heard hear(const char *path)
{
	struct heard heard = { .sink = { .begin = hear_begin,
					 .call = hear_event,
					 .process = hear_event,
					 .end = hear_end } };
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	size_t i;

	reader.sink = &heard.sink;
	assert_int_equal(dump_set_add(&set, path), 0);
	report_dump_read_set(&set, &reader);
	assert_int_equal(heard.count, reader.report.count);
	for (i = 0; i < heard.count; i++)
		note(&heard.said[i], reader.report.recordings[i]);
	heard.is_exact = report_all_is_exact(&reader.report);
	heard.refused = reader.report.refused;
	report_reader_fini(&reader);
	return heard;
}

/* ---- repairing ------------------------------------------------------------------------------- */

static void path_in(char path[100], const char *name)
{
	snprintf(path, 100, "%s/%s", directory, name);
}

static void remove_files(const char *path)
{
	struct dirent *entry;
	char name[400];
	DIR *dir = opendir(path);

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (entry->d_type == DT_REG)
			assert_int_equal(unlink(name), 0);
	}
	closedir(dir);
}

static void tidy(void)
{
	char path[100];

	path_in(path, "ring");
	remove_files(path);
	remove_files(directory);
}

static void store(const struct files *files, const char *path)
{
	char name[200];
	size_t i;

	tidy();
	for (i = 0; i < files->count; i++) {
		FILE *file;

		snprintf(name, sizeof(name), "%s/%06zu.mscope", path, i);
		file = fopen(name, "w");
		assert_non_null(file);
		assert_int_equal(fwrite(files->bytes[i].bytes, 1, files->bytes[i].length, file),
				 files->bytes[i].length);
		fclose(file);
	}
}

/* Returns whether there was anything that could be repaired. */
static bool repair(const char *from, const char *to, uint64_t *events,
		   enum verification_status *status)
{
	struct verification verification;
	int err;

	assert_int_equal(verification_init(&verification), 0);
	verification.copy_path = to;
	assert_int_equal(verification_add(&verification, from), 0);
	assert_int_equal(verification_read(&verification), 0);
	*events = replay_account(verification.replay)->calls;
	*status = verification_status(&verification);
	err = verification_finish(&verification);
	assert_true(!err || err == -ENODATA);
	verification_fini(&verification);
	return !err;
}

static void assert_never_better(const struct said *damaged, const struct said *repaired)
{
	assert_int_equal(repaired->recording, damaged->recording);
	assert_int_equal(repaired->events, damaged->events);
	assert_int_equal(repaired->hash, damaged->hash);
	assert_int_equal(repaired->allocations, damaged->allocations);
	assert_int_equal(repaired->live, damaged->live);
	assert_int_equal(repaired->uncertain, damaged->uncertain);
	assert_int_equal(repaired->unanchored, damaged->unanchored);
	assert_true(repaired->missing >= damaged->missing);
	assert_true(repaired->inexact_processes >= damaged->inexact_processes);
	assert_true(repaired->is_inexact >= damaged->is_inexact);
	assert_true(repaired->has_losses >= damaged->has_losses);
	assert_true(repaired->has_end <= damaged->has_end);
	assert_true(repaired->has_beginning <= damaged->has_beginning);
	/* One more stands for what no number tells of. */
	assert_true(repaired->missing <= damaged->missing + 1);
}

static void assert_same_file(const char *a, const char *b)
{
	char x[4096], y[4096];
	FILE *left = fopen(a, "r"), *right = fopen(b, "r");
	size_t length;

	assert_true(left && right);
	do {
		length = fread(x, 1, sizeof(x), left);
		assert_int_equal(fread(y, 1, sizeof(y), right), length);
		assert_memory_equal(x, y, length);
	} while (length);
	fclose(left);
	fclose(right);
}

static void check(const struct files *files)
{
	char ring[100], good[100], again[100];
	struct heard damaged, repaired;
	enum verification_status status;
	uint64_t events;
	size_t i;

	path_in(ring, "ring");
	path_in(good, "good");
	path_in(again, "again");
	store(files, ring);
	damaged = hear(ring);
	if (!repair(ring, good, &events, &status)) {
		assert_int_equal(damaged.count, 0);
		return;
	}
	repaired = hear(good);
	assert_int_equal(repaired.count, damaged.count);
	for (i = 0; i < damaged.count; i++) {
		assert_never_better(&damaged.said[i], &repaired.said[i]);
		events -= damaged.said[i].calls;
	}
	assert_int_equal(events, 0);
	assert_true(repaired.is_exact <= damaged.is_exact);
	/* Once is enough. */
	assert_true(repair(good, again, &events, &status));
	assert_true(status <= VERIFICATION_INCOMPLETE);
	assert_same_file(good, again);
}

static void test_whole_recordings_stay_what_they_are(void **state)
{
	struct files files;
	size_t which;

	(void)state;
	for (which = 0; which < SAMPLES; which++) {
		char first[100], good[100];
		struct heard heard;

		make_sample(which, &files);
		check(&files);
		path_in(first, "ring/000000.mscope");
		path_in(good, "good");
		heard = hear(good);
		assert_int_equal(heard.said[0].missing, 0);
		assert_false(heard.said[0].is_inexact);
		if (which == 0)
			assert_same_file(first, good);
		files_fini(&files);
	}
}

/* Two of a ring's files have each other's names: all of it is there, and so it stays. */
static void test_names_say_nothing(void **state)
{
	char ring[100], good[100];
	struct heard before, heard;
	struct files files;
	struct string file;
	enum verification_status status;
	uint64_t events;

	(void)state;
	make_sample(2, &files);
	path_in(ring, "ring");
	path_in(good, "good");
	store(&files, ring);
	before = hear(ring);
	file = files.bytes[1];
	files.bytes[1] = files.bytes[4];
	files.bytes[4] = file;
	store(&files, ring);
	assert_true(repair(ring, good, &events, &status));
	assert_int_equal(status, VERIFICATION_WHOLE);
	heard = hear(good);
	assert_int_equal(heard.said[0].hash, before.said[0].hash);
	assert_true(heard.is_exact);
	files_fini(&files);
}

static void test_damages(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < DAMAGES; i += unit_stride(17)) {
		struct files files;
		size_t times;

		seed = 88172645463325252 + i * 7919;
		make_sample(i % SAMPLES, &files);
		for (times = 1 + below(3); times; times--)
			if (!damage_once(&files))
				break;
		if (files.count)
			check(&files);
		files_fini(&files);
	}
}

static int make_directory(void **state)
{
	char path[100];

	(void)state;
	assert_non_null(mkdtemp(directory));
	path_in(path, "ring");
	log_set_level(LOG_ERROR);
	return mkdir(path, 0700);
}

static int remove_directory(void **state)
{
	char path[100];

	(void)state;
	tidy();
	path_in(path, "ring");
	return rmdir(path) || rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_recordings_stay_what_they_are),
		cmocka_unit_test(test_names_say_nothing),
		cmocka_unit_test(test_damages),
	};

	return (cmocka_set_message_output(CM_OUTPUT_TAP),
		cmocka_run_group_tests_name("repair", tests, make_directory, remove_directory));
}
