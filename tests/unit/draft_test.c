// SPDX-License-Identifier: BSD-2-Clause
#include "folder.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/draft.h"

/* ---- file systems that can do less ----------------------------------------------------------- */

static bool no_unnamed_files, no_proc, no_exclusive_rename;

int openat(int directory, const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, mode_t);
	va_end(arguments);
	if (no_unnamed_files && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_openat, directory, name, flags, mode);
}

int access(const char *path, int mode)
{
	if (no_proc && !strncmp(path, "/proc/", 6)) {
		errno = ENOENT;
		return -1;
	}
	return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to,
	      unsigned int flags)
{
	if (no_exclusive_rename && flags & RENAME_NOREPLACE) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
}

static int leave(void **state)
{
	no_unnamed_files = no_proc = no_exclusive_rename = false;
	signal(SIGCHLD, SIG_DFL);
	return folder_leave(state);
}

/* The same tests in each of them. */
static const struct {
	const char *name;
	bool *lacks;
	bool is_named;
} systems[] = {
	{ "as here", NULL, false },
	{ "no unnamed files", &no_unnamed_files, true },
	{ "no /proc", &no_proc, true },
};

#define SYSTEMS (sizeof(systems) / sizeof(*systems))

static void enter_system(size_t i)
{
	no_unnamed_files = no_proc = false;
	if (systems[i].lacks)
		*systems[i].lacks = true;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void open_draft(struct draft *draft, const char *path)
{
	struct place place;

	assert_int_equal(place_find(&place, path), 0);
	assert_int_equal(draft_open(draft, &place, 0600), 0);
	assert_int_equal(write(draft->fd, "text", 4), 4);
}

static void test_nothing_is_there_before_it_is_named(void **state)
{
	struct draft draft;
	size_t i;

	(void)state;
	for (i = 0; i < SYSTEMS; i++) {
		enter_system(i);
		open_draft(&draft, "file");
		assert_int_equal(*draft.name != '\0', systems[i].is_named);
		assert_int_equal(folder_count(), systems[i].is_named);
		draft_close(&draft);
		draft_close(&draft);
		assert_int_equal(folder_count(), 0);
	}
}

static void test_it_gets_its_name(void **state)
{
	struct draft draft;
	size_t i;

	(void)state;
	umask(0);
	for (i = 0; i < SYSTEMS; i++) {
		enter_system(i);
		open_draft(&draft, "file");
		assert_int_equal(draft_name(&draft, "file", false), 0);
		draft_close(&draft);
		folder_assert_text("file", "text");
		assert_int_equal(folder_status("file").st_mode & 07777, 0600);
		assert_int_equal(folder_status("file").st_nlink, 1);
		assert_int_equal(folder_count(), 1);
		unlink("file");
	}
}

static void test_what_is_there_stays_or_gives_way(void **state)
{
	struct draft draft;
	size_t i;

	(void)state;
	for (i = 0; i < 2 * SYSTEMS; i++) {
		enter_system(i / 2);
		no_exclusive_rename = i % 2;
		folder_put("file", "before");
		folder_put("victim", "precious");
		assert_int_equal(symlink("victim", "link"), 0);
		open_draft(&draft, "file");
		assert_int_equal(draft_name(&draft, "file", false), -EEXIST);
		assert_int_equal(draft_name(&draft, "link", false), -EEXIST);
		assert_int_equal(draft_name(&draft, "other", false), 0);
		draft_close(&draft);
		folder_assert_text("file", "before");
		folder_assert_text("other", "text");
		open_draft(&draft, "file");
		assert_int_equal(draft_name(&draft, "file", true), 0);
		draft_close(&draft);
		folder_assert_text("file", "text");
		/* Not what the link leads to. */
		open_draft(&draft, "file");
		assert_int_equal(draft_name(&draft, "link", true), 0);
		draft_close(&draft);
		assert_true(S_ISREG(folder_status("link").st_mode));
		folder_assert_text("victim", "precious");
		assert_int_equal(folder_count(), 4);
		unlink("link");
		unlink("other");
	}
}

static void test_a_name_that_cannot_be_taken(void **state)
{
	struct draft draft;
	size_t i;

	(void)state;
	assert_int_equal(mkdir("directory", 0700), 0);
	for (i = 0; i < SYSTEMS; i++) {
		enter_system(i);
		open_draft(&draft, "directory/../file");
		assert_int_equal(draft_name(&draft, "directory", true), -EISDIR);
		draft_close(&draft);
		assert_int_equal(folder_count(), 1);
	}
}

static void test_no_place_for_one(void **state)
{
	struct draft draft;
	struct place place;
	size_t i;

	(void)state;
	assert_int_equal(mkdir("gone", 0700), 0);
	for (i = 0; i < SYSTEMS; i++) {
		enter_system(i);
		mkdir("gone", 0700);
		assert_int_equal(place_find(&place, "gone/file"), 0);
		assert_int_equal(rmdir("gone"), 0);
		assert_int_equal(draft_open(&draft, &place, 0600), -ENOENT);
		place_close(&place);
	}
}

/* As a parent may have left it. */
static void test_children_that_are_not_waited_for(void **state)
{
	struct draft draft;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	folder_put("file", "before");
	assert_int_equal(mkdir("directory", 0700), 0);
	open_draft(&draft, "file");
	assert_int_equal(draft_name(&draft, "file", true), 0);
	draft_close(&draft);
	folder_assert_text("file", "text");
	open_draft(&draft, "file");
	assert_int_equal(draft_name(&draft, "directory", true), -EIO);
	draft_close(&draft);
	assert_int_equal(folder_count(), 2);
}

/* A kill between the two steps of a replacement leaves nothing either. */
static void test_a_kill_while_it_is_named(void **state)
{
	int kills;

	(void)state;
	for (kills = 0; kills < 300; kills++) {
		pid_t child = fork();

		while (!child) {
			struct draft draft;

			open_draft(&draft, "file");
			draft_name(&draft, "file", true);
			draft_close(&draft);
		}
		usleep(500 + (useconds_t)kills * 7);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	/* The last ones may be at it still. */
	for (kills = 0; kills < 20000 && folder_count() > 1; kills++)
		usleep(1000);
	assert_int_equal(folder_count(), 1);
	folder_assert_text("file", "text");
}

/* Whatever ends the program, SIGKILL in the middle of its work too. */
static void test_a_killed_program_leaves_nothing(void **state)
{
	struct draft draft;
	pid_t child = fork();
	int status;

	(void)state;
	if (!child) {
		open_draft(&draft, "file");
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(folder_count(), 0);
}

#define draft_test(function) cmocka_unit_test_setup_teardown(function, folder_enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		draft_test(test_nothing_is_there_before_it_is_named),
		draft_test(test_it_gets_its_name),
		draft_test(test_what_is_there_stays_or_gives_way),
		draft_test(test_a_name_that_cannot_be_taken),
		draft_test(test_no_place_for_one),
		draft_test(test_children_that_are_not_waited_for),
		draft_test(test_a_kill_while_it_is_named),
		draft_test(test_a_killed_program_leaves_nothing),
	};

	return unit_run("draft", tests);
}
