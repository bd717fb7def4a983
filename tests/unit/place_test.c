// SPDX-License-Identifier: BSD-2-Clause
#include "folder.h"

#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/place.h"

#define OTHER 65534 /* a user who is neither root nor runs the test */

static int found(const char *path)
{
	struct place place;
	int err = place_find(&place, path);

	place_close(&place);
	return err;
}

/* Finds the path, and checks that the place is that name in that directory. */
static void assert_place(const char *path, const char *directory, const char *name)
{
	struct place place;
	struct stat expected, got;

	assert_int_equal(place_find(&place, path), 0);
	assert_string_equal(place.name, name);
	assert_false(place.is_descriptor);
	assert_int_equal(stat(directory, &expected), 0);
	assert_int_equal(fstat(place.directory, &got), 0);
	assert_int_equal(got.st_ino, expected.st_ino);
	assert_int_equal(got.st_dev, expected.st_dev);
	place_close(&place);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void test_paths(void **state)
{
	char long_path[PATH_MAX + 10], absolute[64];

	(void)state;
	assert_int_equal(mkdir("a", 0755) | mkdir("a/b", 0755), 0);
	assert_place("file", ".", "file");
	assert_place("./a/../a//b///file", "a/b", "file");
	snprintf(absolute, sizeof(absolute), "%s/a/file", folder);
	assert_place(absolute, "a", "file");
	assert_int_equal(found(""), -ENOENT);
	assert_int_equal(found("none/file"), -ENOENT);
	assert_int_equal(found("/"), -EISDIR);
	assert_int_equal(found("a/"), -EISDIR);
	assert_int_equal(found("a/."), -EISDIR);
	assert_int_equal(found(".."), -EISDIR);
	folder_put("file", "");
	assert_int_equal(found("file/"), -ENOTDIR);
	assert_int_equal(found("file/x"), -ENOTDIR);
	memset(long_path, 'x', sizeof(long_path));
	long_path[NAME_MAX + 1] = '\0';
	assert_int_equal(found(long_path), -ENAMETOOLONG);
	long_path[NAME_MAX + 1] = 'x';
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(found(long_path), -ENAMETOOLONG);
}

static void test_own_links_are_followed(void **state)
{
	char target[PATH_MAX], name[16];
	int i;

	(void)state;
	assert_int_equal(mkdir("a", 0755) | mkdir("a/b", 0755), 0);
	assert_int_equal(symlink("a/b", "there") | symlink("../file", "a/b/back"), 0);
	assert_place("there/file", "a/b", "file");
	assert_place("there/back", "a", "file"); /* dangling */
	folder_put("a/file", "");
	assert_place("there/back", "a", "file");
	snprintf(target, sizeof(target), "%s/there/", folder);
	assert_int_equal(symlink(target, "absolute"), 0);
	assert_place("absolute/../file", "a", "file");
	assert_int_equal(found("absolute"), -EISDIR);
	assert_int_equal(symlink("round", "round") | symlink("40", "chain"), 0);
	assert_int_equal(found("round"), -EMLINK);
	assert_int_equal(found("round/file"), -EMLINK);
	for (i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "%d", i + 1);
		snprintf(target, sizeof(target), "%d", i);
		assert_int_equal(symlink(target, name), 0);
	}
	assert_place("40", ".", "0");
	assert_int_equal(found("chain"), -EMLINK);
	memset(target, 'x', sizeof(target));
	for (i = 0; i < PATH_MAX; i += 200)
		target[i] = '/';
	memcpy(target, "./", 2);
	target[PATH_MAX - 1] = '\0';
	assert_int_equal(symlink(target, "long"), 0);
	assert_int_equal(found("long/file"), -ENAMETOOLONG);
}

/* A name itself is found even if it is that of a link. */
static void test_a_link_itself(void **state)
{
	struct place place;
	struct stat status;

	(void)state;
	assert_int_equal(symlink("nowhere", "link"), 0);
	assert_int_equal(place_find_name(&place, "./link"), 0);
	assert_string_equal(place.name, "link");
	assert_int_equal(place_stat(&place, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	place_close(&place);
	place_close(&place);
	assert_int_equal(place_create("link"), -EEXIST);
	assert_int_equal(place_make_directory("link"), -EEXIST);
	assert_int_equal(place_read("link"), -ELOOP);
	assert_int_equal(place_remove("link"), 0);
	assert_int_equal(place_remove("link"), -ENOENT);
}

/* ---- whose links are followed ---------------------------------------------------------------- */

struct link_case {
	uid_t directory_owner;
	mode_t directory_mode;
	uid_t link_owner;
	bool has_second_name;
	int expected;
};

/* As the caller 0. */
static const struct link_case link_cases[] = {
	{ 0, 0755, 0, false, 0 },
	{ 0, 0755, 0, true, 0 },
	{ 0, 0775, 0, false, 0 },
	{ 0, 01777, 0, false, 0 },
	{ 0, 01777, 0, true, -ELOOP },
	{ 0, 0777, 0, false, -ELOOP },
	{ 0, 01777, OTHER, false, -ELOOP },
	{ 0, 0755, OTHER, false, -ELOOP },
	{ OTHER, 0755, 0, false, -ELOOP },
	{ OTHER, 01777, 0, false, -ELOOP },
	{ OTHER, 0755, OTHER, false, -ELOOP },
	{ OTHER, 01777, OTHER, false, -ELOOP },
};

static void test_links_of_others(void **state)
{
	size_t i;

	(void)state;
	folder_need_root();
	for (i = 0; i < sizeof(link_cases) / sizeof(*link_cases); i++) {
		const struct link_case *c = &link_cases[i];

		assert_int_equal(mkdir("d", 0755) | mkdir("d/real", 0755), 0);
		assert_int_equal(symlink("real", "d/link"), 0);
		assert_int_equal(lchown("d/link", c->link_owner, c->link_owner), 0);
		if (c->has_second_name)
			assert_int_equal(link("d/link", "d/second"), 0);
		assert_int_equal(chown("d", c->directory_owner, c->directory_owner), 0);
		assert_int_equal(chmod("d", c->directory_mode), 0);
		if (found("d/link/file") != c->expected ||
		    place_open("d/link/file") < 0 != !!c->expected)
			fail_msg("case %zu: %d", i, found("d/link/file"));
		assert_int_equal(access("d/real/file", F_OK), c->expected ? -1 : 0);
		unlink("d/real/file");
		unlink("d/second");
		assert_int_equal(unlink("d/link") | rmdir("d/real") | rmdir("d"), 0);
	}
}

/* As another user: his own links and root's, in his own directories and root's. */
static void test_links_as_another_user(void **state)
{
	(void)state;
	folder_need_root();
	assert_int_equal(chmod(".", 0755) | mkdir("his", 0755) | mkdir("shared", 01777), 0);
	assert_int_equal(mkdir("his/group", 0755) | mkdir("third", 0755), 0);
	assert_int_equal(chmod("his/group", 0775) | chmod("shared", 01777), 0);
	assert_int_equal(symlink("..", "his/link") | symlink("..", "his/roots"), 0);
	assert_int_equal(symlink("..", "shared/link") | symlink("..", "shared/roots"), 0);
	assert_int_equal(symlink("..", "his/group/link") | symlink("..", "third/link"), 0);
	assert_int_equal(chown("his", OTHER, OTHER) | lchown("his/link", OTHER, OTHER), 0);
	assert_int_equal(chown("his/group", OTHER, OTHER) | lchown("his/group/link", OTHER, OTHER),
			 0);
	assert_int_equal(lchown("shared/link", OTHER, OTHER), 0);
	assert_int_equal(chown("third", 1, 1) | lchown("third/link", OTHER, OTHER), 0);
	assert_int_equal(setegid(OTHER) | seteuid(OTHER), 0);
	assert_int_equal(found("his/link/file"), 0);
	assert_int_equal(found("his/roots/file"), 0);
	assert_int_equal(found("shared/link/file"), 0);
	assert_int_equal(found("shared/roots/file"), 0);
	assert_int_equal(found("his/group/link/file"), 0); /* the group is his own */
	assert_int_equal(found("third/link/file"), -ELOOP);
	assert_int_equal(seteuid(0) | setegid(1), 0);
	assert_int_equal(chown("his/group", OTHER, 1) | setegid(OTHER) | seteuid(OTHER), 0);
	assert_int_equal(found("his/group/link/file"), -ELOOP); /* and now not */
	assert_int_equal(seteuid(0) | setegid(0), 0);
}

/* ---- whose files are opened ------------------------------------------------------------------ */

struct file_case {
	uid_t directory_owner;
	mode_t directory_mode;
	mode_t kind;
	uid_t owner;
	bool has_second_name;
	int expected; /* 0: it is opened */
};

/* As the caller 0. */
static const struct file_case file_cases[] = {
	{ 0, 0755, S_IFREG, 0, true, 0 },
	{ 0, 0755, S_IFREG, OTHER, true, 0 },
	{ 0, 0755, S_IFIFO, OTHER, false, 0 },
	{ 0, 01777, S_IFREG, 0, false, 0 },
	{ 0, 01777, S_IFREG, 0, true, -EEXIST },
	{ 0, 01777, S_IFREG, OTHER, false, -EEXIST },
	{ 0, 01777, S_IFIFO, OTHER, false, -EEXIST },
	{ 0, 01777, S_IFCHR, 0, false, 0 },
	{ 0, 01777, S_IFCHR, OTHER, false, -EEXIST },
	{ 0, 0777, S_IFREG, OTHER, false, -EEXIST },
	{ OTHER, 0755, S_IFREG, OTHER, false, 0 },
	{ OTHER, 0755, S_IFIFO, OTHER, false, 0 },
	{ OTHER, 0755, S_IFREG, OTHER, true, -EEXIST },
	{ OTHER, 0755, S_IFREG, 0, false, 0 },
	{ OTHER, 0755, S_IFREG, 0, true, -EEXIST }, /* /etc/passwd, by a second name */
	{ OTHER, 0755, S_IFREG, 1, false, -EEXIST },
	{ OTHER, 01777, S_IFIFO, 1, false, -EEXIST },
};

static void test_files_of_others(void **state)
{
	size_t i;

	(void)state;
	folder_need_root();
	for (i = 0; i < sizeof(file_cases) / sizeof(*file_cases); i++) {
		const struct file_case *c = &file_cases[i];
		int reader = -1, fd;

		assert_int_equal(mkdir("d", 0755), 0);
		assert_int_equal(mknod("d/file", c->kind | 0666, makedev(1, 3)), 0);
		assert_int_equal(chown("d/file", c->owner, c->owner), 0);
		if (c->has_second_name)
			assert_int_equal(link("d/file", "second"), 0);
		assert_int_equal(chown("d", c->directory_owner, c->directory_owner), 0);
		assert_int_equal(chmod("d", c->directory_mode), 0);
		if (c->kind == S_IFIFO)
			reader = open("d/file", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		fd = place_open("d/file");
		if ((fd < 0 ? fd : 0) != c->expected)
			fail_msg("case %zu: %d", i, fd);
		if (fd >= 0)
			close(fd);
		if (reader >= 0)
			close(reader);
		unlink("second");
		assert_int_equal(unlink("d/file") | rmdir("d"), 0);
	}
}

/* ---- access lists ---------------------------------------------------------------------------- */

/* The user OTHER may do that, and root's group nothing but read; include/uapi/linux/posix_acl*.h */
static int let_other(const char *directory, uint16_t allowed)
{
	const struct {
		uint16_t tag, allowed;
		uint32_t id;
	} entries[] = {
		{ 1, 7, UINT32_MAX },        { 2, allowed, OTHER }, { 4, 5, UINT32_MAX },
		{ 16, allowed, UINT32_MAX }, { 32, 5, UINT32_MAX },
	};
	struct {
		uint32_t version;
		uint8_t entries[sizeof(entries)];
	} list = { .version = 2 };

	memcpy(list.entries, entries, sizeof(entries));
	return setxattr(directory, "system.posix_acl_access", &list, sizeof(list), 0);
}

/* A list hides in the mode behind the group, which is the caller's own. */
static void test_others_by_a_list(void **state)
{
	int fd;

	(void)state;
	folder_need_root();
	assert_int_equal(mkdir("d", 0755) | mkdir("d/real", 0755) | symlink("real", "d/link"), 0);
	assert_int_equal(mknod("d/file", S_IFREG | 0666, 0) | chown("d/file", OTHER, OTHER), 0);
	if (let_other("d", 5))
		skip();
	assert_int_equal(found("d/link/file"), 0);
	fd = place_open("d/file");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(let_other("d", 7), 0);
	assert_int_equal(found("d/link/file"), -ELOOP);
	assert_int_equal(place_open("d/file"), -EEXIST);
}

static void test_files_that_are_made(void **state)
{
	int fd;

	(void)state;
	umask(0);
	fd = place_open("new");
	assert_true(fd >= 0);
	assert_int_equal(folder_status("new").st_mode & 07777, 0600);
	assert_int_equal(write(fd, "first", 5), 5);
	close(fd);
	fd = place_open("new"); /* as it is: what to do with its old bytes is the caller's to say */
	assert_true(fd >= 0);
	close(fd);
	folder_assert_text("new", "first");
	assert_int_equal(place_create("new"), -EEXIST);
	assert_int_equal(place_make_directory("new"), -EEXIST);
	assert_int_equal(place_make_directory("directory"), 0);
	assert_int_equal(folder_status("directory").st_mode & 07777, 0700);
	assert_int_equal(place_open("directory"), -EISDIR);
	assert_int_equal(place_open("directory/none/file"), -ENOENT);
	fd = place_create("directory/file");
	assert_true(fd >= 0);
	assert_int_equal(folder_status("directory/file").st_mode & 07777, 0600);
	close(fd);
	assert_int_equal(place_remove_directory("directory"), -ENOTEMPTY);
	assert_int_equal(place_remove("directory/file"), 0);
	assert_int_equal(place_remove_directory("directory"), 0);
	fd = place_read("new");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(place_read("fifo"), -EINVAL); /* and it does not wait */
	assert_int_equal(place_read("none"), -ENOENT);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void assert_descriptor(const char *format, int number)
{
	struct place place;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), format, number);
	assert_int_equal(place_find(&place, path), 0);
	assert_true(place.is_descriptor);
	place_close(&place);
	fd = place_open(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
}

/* Whatever they stand for: also what is deleted, or of another user where others write. */
static void test_descriptors(void **state)
{
	int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0666), saved = dup(STDOUT_FILENO),
	    ends[2];
	char byte;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(unlink("file"), 0);
	assert_descriptor("/proc/self/fd/%d", fd);
	assert_descriptor("/dev/fd/%d", fd);
	assert_descriptor("/proc/thread-self/fd/%d", fd);
	assert_int_equal(symlink("/dev/stdout", "link"), 0);
	dup2(fd, STDOUT_FILENO);
	assert_descriptor("link", 0);
	assert_descriptor("/dev/stdout", 0);
	dup2(saved, STDOUT_FILENO);
	assert_int_equal(lseek(fd, 0, SEEK_END), 1);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_descriptor("/dev/fd/%d", ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(found("/dev/fd/99999"), 0);
	assert_int_equal(place_open("/dev/fd/99999"), -ENOENT);
	assert_place("/proc/self/cwd/file", ".", "file");
	close(ends[0]);
	close(ends[1]);
	close(saved);
	close(fd);
}

static void test_devices(void **state)
{
	int fd = place_open("/dev/null");

	(void)state;
	assert_true(fd >= 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_paths),
		folder_test(test_own_links_are_followed),
		folder_test(test_a_link_itself),
		folder_test(test_links_of_others),
		folder_test(test_links_as_another_user),
		folder_test(test_files_of_others),
		folder_test(test_others_by_a_list),
		folder_test(test_files_that_are_made),
		folder_test(test_descriptors),
		folder_test(test_devices),
	};

	return unit_run("place", tests);
}
