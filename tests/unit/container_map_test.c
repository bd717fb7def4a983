// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of containers from a file.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/container_map.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "0123456789abd000000000000000000000000000000000000000000000000000"

static char path[] = "/tmp/container_map.XXXXXX";

static int make_file(void **state)
{
	(void)state;
	return close(mkstemp(path));
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_file(const char *text, size_t length)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_int_equal(write(fd, text, length), length);
	close(fd);
}

static int open_text(struct container_map *map, const char *text)
{
	write_file(text, strlen(text));
	return container_map_open(map, path);
}

static void assert_names(struct container_map *map, const char *id, const char *namespace,
			 const char *pod, const char *name)
{
	const struct container_names *names = container_map_find(map, id);

	assert_non_null(names);
	assert_string_equal(names->namespace, namespace);
	assert_string_equal(names->pod, pod);
	assert_string_equal(names->name, name);
}

static void test_lines(void **state)
{
	struct container_map map = { 0 };

	(void)state;
	assert_null(container_map_find(&map, ID));
	assert_int_equal(open_text(&map,
				   "# written by a timer\n\n" OTHER "  prod\tllm-1 server \r\n"
				   "0123456789abc research train-0 -\nfeedfeedfeed - - web"),
			 0);
	assert_int_equal(map.count, 3);
	assert_names(&map, OTHER, "prod", "llm-1", "server");
	/* By the first characters of it. */
	assert_names(&map, ID, "research", "train-0", "");
	assert_names(&map, "feedfeedfeed", "", "", "web");
	assert_names(&map, "feedfeedfeedfeed", "", "", "web");
	assert_null(container_map_find(&map, "feedfeedfee"));
	assert_null(container_map_find(&map, "0123456789ab0000"));
	assert_null(container_map_find(&map, ""));
	assert_null(container_map_find(&map, "zzzzzzzzzzzzzz"));
	container_map_close(&map);
	assert_null(container_map_find(&map, ID));
}

static void test_files_that_are_refused(void **state)
{
	static const char *const refused[] = {
		ID " prod llm-1\n",
		ID " prod llm-1 server more\n",
		"0123456789a prod pod c\n",
		ID " a b c\nfeedfeedfeed\n",
		ID,
	};
	struct container_map map = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		assert_int_equal(open_text(&map, refused[i]), -EINVAL);
	write_file(ID " a b c\n\0", sizeof(ID " a b c\n"));
	assert_int_equal(container_map_open(&map, path), -EINVAL);
	assert_int_equal(container_map_open(&map, "/nonexistent"), -ENOENT);
	assert_int_equal(container_map_open(&map, "/"), -EINVAL);
	write_file("", 0);
	chmod(path, 0666);
	assert_int_equal(container_map_open(&map, path), -EPERM);
	chmod(path, 0600);
	assert_int_equal(container_map_open(&map, path), 0);
	assert_null(container_map_find(&map, ID));
	container_map_close(&map);
}

/* As if a second had gone by. */
static const struct container_names *find_later(struct container_map *map, const char *id)
{
	map->looked_ns = clock_monotonic_ns() - 2000000000;
	return container_map_find(map, id);
}

static void test_a_file_that_changes(void **state)
{
	struct container_map map = { 0 };

	(void)state;
	assert_int_equal(open_text(&map, ID " prod llm-1 server\n"), 0);
	write_file(ID " prod llm-22 server\n", strlen(ID " prod llm-22 server\n"));
	assert_names(&map, ID, "prod", "llm-1", "server");
	assert_string_equal(find_later(&map, ID)->pod, "llm-22");
	/* A wrong one, or none, leaves what is known. */
	write_file("nonsense\n", 9);
	assert_string_equal(find_later(&map, ID)->pod, "llm-22");
	assert_string_equal(find_later(&map, ID)->pod, "llm-22");
	write_file(OTHER " prod llm-3 server\n", strlen(OTHER " prod llm-3 server\n"));
	assert_null(find_later(&map, ID));
	assert_string_equal(find_later(&map, OTHER)->pod, "llm-3");
	container_map_close(&map);
}

static void test_more_than_there_is_room_for(void **state)
{
	struct container_map map = { 0 };
	FILE *file = fopen(path, "w");
	unsigned int i;

	(void)state;
	for (i = 0; i < CONTAINER_MAP_MAX; i++)
		fprintf(file, "%064x - pod-%u -\n", i * 2654435761u, i);
	fclose(file);
	assert_int_equal(container_map_open(&map, path), 0);
	for (i = 0; i < CONTAINER_MAP_MAX; i += 77) {
		char id[65], pod[16];

		snprintf(id, sizeof(id), "%064x", i * 2654435761u);
		snprintf(pod, sizeof(pod), "pod-%u", i);
		assert_names(&map, id, "", pod, "");
	}
	container_map_close(&map);
	file = fopen(path, "a");
	fprintf(file, "%064x - pod -\n", 1);
	fclose(file);
	assert_int_equal(container_map_open(&map, path), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_files_that_are_refused),
		cmocka_unit_test(test_a_file_that_changes),
		cmocka_unit_test(test_more_than_there_is_room_for),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("names of containers", tests, make_file, remove_file);
}
