// SPDX-License-Identifier: BSD-2-Clause
/*
 * A ring's directory that an earlier recorder has left.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "store/dump_ring.h"

static char directory[] = "/tmp/dump_ring_test.XXXXXX";
static char path[200];

static const char *at(const char *name)
{
	snprintf(path, sizeof(path), "%s/ring/%s", directory, name);
	return path;
}

static void make(const char *name, size_t bytes, time_t age)
{
	const struct timespec times[2] = { { .tv_sec = time(NULL) - age },
					   { .tv_sec = time(NULL) - age } };
	const int fd = open(at(name), O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static bool is_there(const char *name)
{
	return !access(at(name), F_OK);
}

static void segments_are_taken_over(void **unused)
{
	struct dump_ring ring;

	(void)unused;
	make("000009.mscope", 300, 0);
	make("000010.mscope", 20, 0);
	make("000002.mscope", 1, 0);
	make("1234567.mscope", 4000, 0);
	make("000003.mscope.part", 7, 0);
	make("other.mscope", 7, 0);
	make("99.mscope", 7, 0);
	assert_int_equal(symlink("other.mscope", at("000004.mscope")), 0);
	snprintf(path, sizeof(path), "%s/ring", directory);
	assert_int_equal(dump_ring_adopt(&ring, path, 10000), 0);
	assert_int_equal(ring.count, 4);
	assert_int_equal(ring.segments[0].number, 2);
	assert_int_equal(ring.segments[1].number, 9);
	assert_int_equal(ring.segments[3].number, 1234567);
	assert_int_equal(ring.next, 1234568);
	assert_int_equal(ring.bytes, 4321);
	dump_ring_close(&ring, true);
	assert_true(is_there("000002.mscope"));
}

static void old_segments_go(void **unused)
{
	struct dump_ring ring;

	(void)unused;
	make("000001.mscope", 10, 5000);
	make("000002.mscope", 10, 4000);
	make("000003.mscope", 10, 3000);
	make("000004.mscope", 10, 0);
	snprintf(path, sizeof(path), "%s/ring", directory);
	assert_int_equal(dump_ring_adopt(&ring, path, 10000), 0);
	dump_ring_check(&ring);
	assert_int_equal(ring.count, 4);
	ring.max_ns = 3500000000000;
	dump_ring_check(&ring);
	assert_int_equal(ring.count, 2);
	assert_int_equal(ring.bytes, 20);
	assert_false(is_there("000002.mscope"));
	assert_true(is_there("000003.mscope"));
	dump_ring_close(&ring, true);
}

static void others_directories_are_refused(void **unused)
{
	struct dump_ring ring;

	(void)unused;
	snprintf(path, sizeof(path), "%s/ring", directory);
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(dump_ring_adopt(&ring, path, 10000), -EPERM);
	assert_null(ring.directory);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(symlink("ring", at("../link")), 0);
	snprintf(path, sizeof(path), "%s/link", directory);
	assert_true(dump_ring_adopt(&ring, path, 10000) < 0);
	snprintf(path, sizeof(path), "%s/none/ring", directory);
	assert_int_equal(dump_ring_adopt(&ring, path, 10000), -ENOENT);
	dump_ring_close(&ring, false);
}

static int make_directory(void **unused)
{
	(void)unused;
	log_set_level(LOG_ERROR);
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/ring", directory);
	return mkdir(path, 0700);
}

static int remove_directory(void **unused)
{
	char command[100];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return system(command);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, new_directory, remove_directory)

static int new_directory(void **unused)
{
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	return make_directory(unused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(segments_are_taken_over),
		TEST(old_segments_go),
		TEST(others_directories_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
