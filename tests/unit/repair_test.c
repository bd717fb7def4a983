// SPDX-License-Identifier: BSD-2-Clause
/*
 * Recordings that are damaged in some way, and then repaired: what is repaired never looks better
 * than what was damaged, and has every event that can still be read.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "damaged.h"

#include "base/log.h"
#include "store/verification.h"

#define DAMAGES 2500

static char directory[] = "/tmp/memscope-repair-XXXXXX";

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
