// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files that are there once they are whole, and other users who want to be given root's.
 */
#include "folder.h"

#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../workloads/swap.h"
#include "base/writer.h"

#define OTHER SWAP_UID
#define ROUNDS 1000

/* Returns what whole_file_begin(), or whatever came next, said. */
static int write_whole(const char *path, const char *text, bool whole)
{
	struct whole_file file;
	struct writer writer;
	int err = whole_file_begin(&file, path), ended;

	if (err)
		return err;
	err = writer_open_whole(&writer, &file);
	if (!err) {
		string_append_text(&writer.text, text);
		err = writer_close(&writer);
	}
	ended = whole_file_end(&file, whole && !err);
	return err ? err : ended;
}

static int write_in_place(const char *path, const char *text)
{
	struct writer writer;
	int err = writer_open(&writer, path);

	if (err)
		return err;
	string_append_text(&writer.text, text);
	return writer_close(&writer);
}

/* ---- what becomes of files ------------------------------------------------------------------- */

static void test_it_is_there_once_it_is_whole(void **state)
{
	const mode_t mask = umask(027);

	(void)state;
	assert_int_equal(write_whole("file", "text", false), 0);
	assert_int_equal(folder_count(), 0);
	assert_int_equal(write_whole("file", "text", true), 0);
	folder_assert_text("file", "text");
	assert_int_equal(folder_status("file").st_mode & 07777, 0640);
	assert_int_equal(write_whole("file", "newer", false), 0);
	folder_assert_text("file", "text");
	assert_int_equal(write_whole("file", "newer", true), 0);
	folder_assert_text("file", "newer");
	assert_int_equal(folder_count(), 1);
	umask(mask);
}

static void test_a_link_stays_one(void **state)
{
	(void)state;
	assert_int_equal(mkdir("d", 0755) | symlink("d/file", "link"), 0);
	assert_int_equal(write_whole("link", "first", true), 0); /* it leads to nothing yet */
	assert_int_equal(write_whole("link", "text", true), 0);
	assert_true(S_ISLNK(folder_status("link").st_mode));
	folder_assert_text("d/file", "text");
}

static void test_what_cannot_be_one(void **state)
{
	int saved = folder_hush();

	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(write_whole("d", "", true), -EISDIR);
	assert_int_equal(write_whole("d/", "", true), -EISDIR);
	assert_int_equal(write_whole("none/file", "", true), -ENOENT);
	assert_int_equal(write_whole("/proc/none/file", "", true), -ENOENT);
	folder_speak(saved);
}

static void test_what_is_no_plain_file_is_written_to(void **state)
{
	char text[8] = "";
	int fd;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	fd = open("fifo", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write_whole("fifo", "text", true), 0);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	assert_string_equal(text, "text");
	assert_true(S_ISFIFO(folder_status("fifo").st_mode));
	assert_int_equal(write_whole("/dev/null", "text", true), 0);
	close(fd);
}

/* ---- whose it is ----------------------------------------------------------------------------- */

static void test_mode_and_group_are_those_of_the_own_file_before(void **state)
{
	(void)state;
	folder_put("file", "");
	assert_int_equal(chmod("file", 04751), 0);
	assert_int_equal(write_whole("file", "text", true), 0);
	assert_int_equal(folder_status("file").st_mode & 07777, 0751);
	/* One that somebody else may have put there says nothing. */
	assert_int_equal(link("file", "second"), 0);
	assert_int_equal(write_whole("file", "text", true), 0);
	assert_int_equal(folder_status("file").st_mode & 07777, 0600);
	assert_int_equal(folder_status("second").st_mode & 07777, 0751);
	folder_need_root();
	assert_int_equal(chown("file", 0, OTHER) | chmod("file", 0640), 0);
	assert_int_equal(write_whole("file", "text", true), 0);
	assert_int_equal(folder_status("file").st_mode & 07777, 0640);
	assert_int_equal(folder_status("file").st_gid, OTHER);
}

/* A group that one is not in gets no rights by it. */
static void test_a_group_that_cannot_be_kept(void **state)
{
	(void)state;
	folder_need_root();
	folder_put("file", "");
	assert_int_equal(chown(".", OTHER, OTHER) | chown("file", OTHER, 1) | chmod("file", 0664),
			 0);
	assert_int_equal(setgroups(0, NULL) | setegid(OTHER) | seteuid(OTHER), 0);
	assert_int_equal(write_whole("file", "text", true), 0);
	assert_int_equal(seteuid(0) | setegid(0), 0);
	assert_int_equal(folder_status("file").st_mode & 07777, 0604);
	assert_int_equal(folder_status("file").st_gid, OTHER);
}

static void test_nothing_is_given_away(void **state)
{
	(void)state;
	folder_need_root();
	folder_put("file", "his");
	assert_int_equal(chmod("file", 0666) | chown("file", OTHER, OTHER), 0);
	assert_int_equal(write_whole("file", "roots", true), 0);
	assert_int_equal(folder_status("file").st_uid, 0);
	assert_int_equal(folder_status("file").st_gid, 0);
	assert_int_equal(folder_status("file").st_mode & 07777, 0600);
}

/* ---- a file that is swapped ------------------------------------------------------------------ */

struct race {
	volatile uint64_t *swaps;
	struct stat victim;
};

static pid_t attacker; /* of the test that runs */

static int end_attacker(void **state)
{
	if (attacker > 0) {
		kill(attacker, SIGKILL);
		waitpid(attacker, NULL, 0);
	}
	attacker = 0;
	return folder_leave(state);
}

static void assert_victim(const struct race *race)
{
	const struct stat now = folder_status("victim");

	assert_int_equal(now.st_ino, race->victim.st_ino);
	assert_int_equal(now.st_uid, 0);
	assert_int_equal(now.st_mode, race->victim.st_mode);
	folder_assert_text("victim", "precious");
}

static void begin_race(struct race *race)
{
	folder_put("victim", "precious");
	assert_int_equal(chmod(".", 0755) | mkdir("shared", 0755) | chmod("shared", 01777), 0);
	race->victim = folder_status("victim");
	race->swaps = mmap(NULL, sizeof(*race->swaps), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(race->swaps != MAP_FAILED);
	attacker = fork();
	if (!attacker) {
		if (!chdir("shared"))
			swap_for_ever("file", "../victim", race->swaps);
		_exit(1);
	}
}

/* Whatever root has written is root's, and what it could not write has nothing in it. */
static void end_round(const struct race *race)
{
	struct stat status;

	assert_victim(race);
	if (lstat("shared/file", &status))
		return;
	if (S_ISREG(status.st_mode))
		assert_int_equal(status.st_size ? status.st_uid : OTHER,
				 status.st_size ? 0 : OTHER);
	unlink("shared/file");
}

/* Until it has been swapped, and `write` been called, so often. */
static void race(int (*write)(const char *path))
{
	struct race race = { 0 };
	int saved = folder_hush(), round, written = 0;

	begin_race(&race);
	for (round = 0; round < ROUNDS || *race.swaps < ROUNDS || !written; round++) {
		written += !write("shared/file");
		end_round(&race);
	}
	munmap((void *)race.swaps, sizeof(*race.swaps));
	folder_speak(saved);
}

static int race_whole(const char *path)
{
	return write_whole(path, "report", true);
}

static int race_in_place(const char *path)
{
	return write_in_place(path, "trace");
}

static void test_a_file_that_is_swapped_for_a_link(void **state)
{
	(void)state;
	folder_need_root();
	race(race_whole);
}

static void test_a_file_that_is_swapped_for_a_link_and_written_in_place(void **state)
{
	(void)state;
	folder_need_root();
	race(race_in_place);
}

/* ---- full disks ------------------------------------------------------------------------------ */

/* A limit of the size of files is one. The program's main() ignores the signal. */
static void test_a_file_that_becomes_too_large(void **state)
{
	const struct rlimit limit = { 4, RLIM_INFINITY };
	struct rlimit before;
	int saved = folder_hush();

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	folder_put("file", "before");
	getrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(write_whole("file", "too long", true), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	folder_speak(saved);
	folder_assert_text("file", "before");
	assert_int_equal(folder_count(), 1);
}

#define race_test(function) cmocka_unit_test_setup_teardown(function, folder_enter, end_attacker)

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_it_is_there_once_it_is_whole),
		folder_test(test_a_link_stays_one),
		folder_test(test_what_cannot_be_one),
		folder_test(test_what_is_no_plain_file_is_written_to),
		folder_test(test_mode_and_group_are_those_of_the_own_file_before),
		folder_test(test_a_group_that_cannot_be_kept),
		folder_test(test_nothing_is_given_away),
		race_test(test_a_file_that_is_swapped_for_a_link),
		race_test(test_a_file_that_is_swapped_for_a_link_and_written_in_place),
		folder_test(test_a_file_that_becomes_too_large),
	};

	return unit_run("whole_file", tests);
}
