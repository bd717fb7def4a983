// SPDX-License-Identifier: BSD-2-Clause
/*
 * Libraries that are known from the capture before: whatever has become of their paths since.
 */
#include <limits.h>

#include "base/log.h"
#include "capture/targets/known_libraries.h"
#include "folder.h"

#define LIST "./list"
#define TEST(function) cmocka_unit_test_setup_teardown(function, folder_enter, folder_leave)

static char path[PATH_MAX];

/* The whole path of a file in the folder. */
static const char *at(const char *name)
{
	char *here = getcwd(NULL, 0);

	assert_non_null(here);
	assert_true(snprintf(path, sizeof(path), "%s/%s", here, name) < (int)sizeof(path));
	free(here);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* As a process that has mapped it is seen. */
static int add(const char *name)
{
	struct stat status;

	assert_int_equal(stat(name, &status), 0);
	return known_libraries_add(LIST, at(name), status.st_dev, status.st_ino);
}

/* The first letter of each file, in order. */
static int visit(int fd, const char *name, void *context)
{
	char *seen = context, letter;

	assert_int_equal(*name, '/');
	assert_int_equal(read(fd, &letter, 1), 1);
	strncat(seen, &letter, 1);
	return 0;
}

static void check(const char *expected)
{
	char seen[KNOWN_LIBRARIES_MOST + 1] = "";

	known_libraries_each(LIST, visit, seen);
	assert_string_equal(seen, expected);
}

static void those_that_were_added(void **unused)
{
	struct stat status;

	(void)unused;
	check("");
	put("a", "a");
	put("b", "b");
	assert_int_equal(add("a"), 0);
	assert_int_equal(add("b"), 0);
	assert_int_equal(add("a"), 0);
	check("ba");
	/* It is no other user's concern. */
	assert_int_equal(stat(LIST, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

/* Of a process in another mount namespace, the path leads elsewhere. */
static void what_the_path_does_not_lead_to(void **unused)
{
	struct stat status;

	(void)unused;
	put("a", "a");
	put("b", "b");
	put("new\nline", "c");
	assert_int_equal(symlink("a", "link"), 0);
	assert_int_equal(stat("a", &status), 0);
	assert_int_equal(known_libraries_add(LIST, at("b"), status.st_dev, status.st_ino), -ESTALE);
	assert_int_equal(known_libraries_add(LIST, at("c"), status.st_dev, status.st_ino), -ENOENT);
	assert_int_equal(known_libraries_add(LIST, at("link"), status.st_dev, status.st_ino),
			 -ELOOP);
	assert_int_equal(known_libraries_add(LIST, "a", status.st_dev, status.st_ino), -EINVAL);
	assert_int_equal(add("new\nline"), -EINVAL);
	assert_int_equal(access(LIST, F_OK), -1);
}

/* Only a plain file is opened: a device may do something when it is. */
static void what_has_taken_their_place(void **unused)
{
	(void)unused;
	put("a", "a");
	put("b", "b");
	put("c", "c");
	put("d", "d");
	put("e", "e");
	assert_int_equal(add("a") | add("b") | add("c") | add("d") | add("e"), 0);
	assert_int_equal(unlink("a") | unlink("b") | unlink("c") | unlink("d"), 0);
	assert_int_equal(mkfifo("a", 0600), 0);
	assert_int_equal(symlink("e", "b"), 0);
	assert_int_equal(mkdir("c", 0700), 0);
	check("e");
	/* A new version is as good. */
	put("d", "D");
	check("De");
}

/* Adds files of those letters, which are that user's. */
static void add_of(uid_t owner, const char *letters)
{
	char name[] = "?";

	for (; *letters; letters++) {
		*name = *letters;
		put(name, name);
		assert_int_equal(chown(name, owner, (gid_t)-1), 0);
		assert_int_equal(add(name), 0);
	}
}

static void remove_all(const char *letters)
{
	char name[] = "?";

	for (; *letters; letters++) {
		*name = *letters;
		assert_int_equal(unlink(name), 0);
	}
}

/* 64 letters, and those that follow. */
#define LETTERS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
#define MORE_LETTERS "!#$%&()+,:"

/* Root may have all of them, another user only a part. */
static void only_the_last_ones(void **unused)
{
	const size_t most = geteuid() ? KNOWN_LIBRARIES_MOST_OF_USER : KNOWN_LIBRARIES_MOST;
	const char *all = LETTERS MORE_LETTERS;

	(void)unused;
	add_of(geteuid(), all);
	check(all + strlen(all) - most);
}

/* Or the list would be full of them for ever: those that are there are added only once. */
static void what_is_gone_goes_first(void **unused)
{
	(void)unused;
	if (geteuid())
		skip();
	add_of(0, LETTERS);
	remove_all("12345");
	add_of(0, "!#$%&");
	check("06789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_!#$%&");
	/* As long as there is room, they may come back. */
	remove_all("6");
	add_of(0, "7");
	put("6", "6");
	check("0689abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_!#$%&7");
}

static void a_user_takes_no_room_of_others(void **unused)
{
	(void)unused;
	if (geteuid())
		skip();
	add_of(0, "ab");
	add_of(1001, "c");
	add_of(1000, "0123456789ABCDEF");
	check("abc0123456789ABCDEF");
	add_of(1000, "GHIJKLMNOPQRSTUVWXYZ");
	check("abcKLMNOPQRSTUVWXYZ");
	add_of(1002, "0123456789ABCDEF");
	add_of(1003, "defghijklmnopqrs");
	add_of(1004, "tuvwxyz!#$%&(");
	check("abcKLMNOPQRSTUVWXYZ0123456789ABCDEFdefghijklmnopqrstuvwxyz!#$%&(");
	/* It is full: their own, then other users', and never root's. */
	add_of(1004, ")");
	check("abcKLMNOPQRSTUVWXYZ0123456789ABCDEFdefghijklmnopqrsuvwxyz!#$%&()");
	add_of(1005, "-");
	check("abKLMNOPQRSTUVWXYZ0123456789ABCDEFdefghijklmnopqrsuvwxyz!#$%&()-");
	add_of(0, "+,");
	check("abMNOPQRSTUVWXYZ0123456789ABCDEFdefghijklmnopqrsuvwxyz!#$%&()-+,");
}

/* Where a server or a program may have to answer first: /proc stands for them, which is neither. */
static void nothing_across_mounts_that_are_not_local(void **unused)
{
	const char *version = "/proc/version";
	struct stat status;

	(void)unused;
	assert_int_equal(stat(version, &status), 0);
	assert_int_equal(known_libraries_add(LIST, version, status.st_dev, status.st_ino), -EXDEV);
	put("list", "/proc/version\n");
	assert_int_equal(chmod("list", 0600), 0);
	check("");
	/* It hinders no other. */
	put("a", "a");
	assert_int_equal(add("a"), 0);
	check("a");
}

static void say_nothing(void *context, const char *line)
{
	(void)context;
	(void)line;
}

static void a_list_of_other_users_is_not_used(void **unused)
{
	(void)unused;
	put("a", "a");
	put("b", "b");
	assert_int_equal(add("a"), 0);
	assert_int_equal(chmod(LIST, 0666), 0);
	log_divert(say_nothing, NULL);
	check("");
	/* It is made anew. */
	assert_int_equal(add("b"), 0);
	log_divert(NULL, NULL);
	check("b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(those_that_were_added),
		TEST(what_the_path_does_not_lead_to),
		TEST(what_has_taken_their_place),
		TEST(only_the_last_ones),
		TEST(what_is_gone_goes_first),
		TEST(a_user_takes_no_room_of_others),
		TEST(nothing_across_mounts_that_are_not_local),
		TEST(a_list_of_other_users_is_not_used),
	};

	return unit_run("known_libraries", tests);
}
