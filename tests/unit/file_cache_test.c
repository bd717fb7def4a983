// SPDX-License-Identifier: BSD-2-Clause
/* What is kept from one trace to the next, and what is done to the files of the cache. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/file_cache.h"
#include "unit.h"

#define ITEMS 1000
#define MOST_BYTES (3 * (ITEMS * sizeof(struct item) + 1000))

struct item {
	uint64_t a, b;
};

static const struct file_cache_kind kind = {
	.suffix = "", .version = 1, .item_bytes = sizeof(struct item), .most_items = ITEMS
};

static char directory[] = "/tmp/file_cache_test.XXXXXX";
static char path[200];
static struct file_cache cache;

static struct file_cache_file file_of(uint64_t inode)
{
	return (struct file_cache_file){ .status = { .st_mode = S_IFREG | 0644,
						     .st_dev = 7,
						     .st_ino = inode,
						     .st_size = 5 << 20,
						     .st_ctim = { 1700000000, 123456789 } },
					 .build_id = "0123abcd" };
}

static void put(uint64_t inode)
{
	const struct file_cache_file file = file_of(inode);
	struct item items[ITEMS];
	size_t i;

	for (i = 0; i < ITEMS; i++)
		items[i] = (struct item){ i * inode, 2 };
	file_cache_put(&cache, &kind, &file, items, ITEMS);
}

/* The result of looking for it; what is found is right. */
static int get_as(const struct file_cache_kind *as, const struct file_cache_file *file)
{
	void *items;
	size_t count, i;
	int err = file_cache_get(&cache, as, file, &items, &count);

	if (err) {
		assert_null(items);
		assert_int_equal(count, 0);
		return err;
	}
	assert_int_equal(count, ITEMS);
	for (i = 0; i < ITEMS; i++)
		assert_int_equal(((struct item *)items)[i].a, i * file->status.st_ino);
	free(items);
	return 0;
}

static int get_of(const struct file_cache_file *file)
{
	return get_as(&kind, file);
}

static int get(uint64_t inode)
{
	const struct file_cache_file file = file_of(inode);

	return get_of(&file);
}

static int setup(void **state)
{
	(void)state;
	snprintf(directory + sizeof(directory) - 7, 7, "XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/tables", directory);
	file_cache_open(&cache, path, MOST_BYTES);
	return cache.directory < 0;
}

static int teardown(void **state)
{
	char command[300];

	(void)state;
	file_cache_close(&cache);
	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	return system(command);
}

static void test_it_is_there_again(void **state)
{
	(void)state;
	assert_int_equal(get(1), -ENOENT);
	put(1);
	put(2);
	assert_int_equal(get(1), 0);
	assert_int_equal(get(2), 0);
	file_cache_close(&cache);
	file_cache_open(&cache, path, MOST_BYTES);
	assert_int_equal(get(1), 0);
}

/* One of another version, or of another kind; and more than there can be. */
static void test_items_of_another_kind(void **state)
{
	const struct file_cache_file file = file_of(1);
	struct file_cache_kind other = kind;

	(void)state;
	put(1);
	other.version = 2;
	assert_int_equal(get_as(&other, &file), -ENOENT);
	other = kind;
	other.item_bytes = sizeof(struct item) / 2;
	assert_int_equal(get_as(&other, &file), -ENOENT);
	other = kind;
	other.most_items = ITEMS - 1;
	assert_int_equal(get_as(&other, &file), -ENOENT);
	other = kind;
	other.suffix = ".other";
	assert_int_equal(get_as(&other, &file), -ENOENT);
	assert_int_equal(get(1), 0);
}

static void test_a_file_that_has_changed_has_none(void **state)
{
	struct file_cache_file file = file_of(1);

	(void)state;
	put(1);
	file.status.st_ctim.tv_nsec++;
	assert_int_equal(get_of(&file), -ENOENT);
	file = file_of(1);
	file.status.st_mtim.tv_sec++;
	assert_int_equal(get_of(&file), -ENOENT);
	file = file_of(1);
	file.status.st_size++;
	assert_int_equal(get_of(&file), -ENOENT);
	file = file_of(1);
	file.status.st_dev++;
	assert_int_equal(get_of(&file), -ENOENT);
	file = file_of(1);
	file.build_id[7] = 'e';
	assert_int_equal(get_of(&file), -ENOENT);
	assert_int_equal(get(1), 0);
}

static int open_entry(int flags)
{
	const int fd = openat(cache.directory, "7-1", flags);

	assert_true(fd >= 0);
	return fd;
}

static void test_a_damaged_entry_is_not_used(void **state)
{
	unsigned char byte;
	off_t at, size;
	int fd;

	(void)state;
	put(1);
	fd = open_entry(O_RDWR);
	size = lseek(fd, 0, SEEK_END);
	for (at = 0; at < size; at += at < 240 ? 1 : 997) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_int_equal(get(1), -ENOENT);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(get(1), 0);
	assert_int_equal(ftruncate(fd, size - 1), 0);
	assert_int_equal(get(1), -ENOENT);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(get(1), -ENOENT);
	close(fd);
}

static void test_what_others_can_write_is_not_used(void **state)
{
	int fd;

	(void)state;
	put(1);
	fd = open_entry(O_RDONLY);
	assert_int_equal(fchmod(fd, 0620), 0);
	assert_int_equal(get(1), -ENOENT);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(get(1), 0);
	close(fd);
	file_cache_close(&cache);
	assert_int_equal(chmod(path, 0777), 0);
	file_cache_open(&cache, path, MOST_BYTES);
	assert_true(cache.directory < 0);
}

static void test_a_link_is_not_followed(void **state)
{
	char link[250];

	(void)state;
	put(1);
	assert_int_equal(renameat(cache.directory, "7-1", cache.directory, "other"), 0);
	assert_int_equal(symlinkat("other", cache.directory, "7-1"), 0);
	assert_int_equal(get(1), -ENOENT);
	snprintf(link, sizeof(link), "%s/link", directory);
	assert_int_equal(symlink(path, link), 0);
	file_cache_close(&cache);
	file_cache_open(&cache, link, MOST_BYTES);
	assert_true(cache.directory < 0);
}

static void age(const char *name, time_t seconds)
{
	const struct timespec times[2] = { { seconds, 0 }, { seconds, 0 } };

	assert_int_equal(utimensat(cache.directory, name, times, 0), 0);
}

static void test_the_least_used_makes_room(void **state)
{
	(void)state;
	put(1);
	put(2);
	put(3);
	age("7-1", 1000);
	age("7-2", 2000);
	age("7-3", 3000);
	/* It is used now. */
	assert_int_equal(get(1), 0);
	put(4);
	assert_int_equal(get(2), -ENOENT);
	assert_int_equal(get(1), 0);
	assert_int_equal(get(3), 0);
	assert_int_equal(get(4), 0);
	/* What there is never room for takes nothing's place. */
	cache.most_bytes = 1000;
	put(5);
	assert_int_equal(get(5), -ENOENT);
	assert_int_equal(get(4), 0);
}

/* An entry that says that a file has nothing: of one item. */
static void put_small(uint64_t inode, time_t used)
{
	const struct file_cache_file file = file_of(inode);
	const struct item item = { 0 };
	char name[32];

	file_cache_put(&cache, &kind, &file, &item, 1);
	snprintf(name, sizeof(name), "7-%llx", (unsigned long long)inode);
	age(name, used);
}

static bool is_there(uint64_t inode)
{
	char name[32];

	snprintf(name, sizeof(name), "7-%llx", (unsigned long long)inode);
	return !faccessat(cache.directory, name, F_OK, 0);
}

static size_t count_entries(void)
{
	size_t count = 0;
	uint64_t inode;

	for (inode = 0; inode < 2000; inode++)
		count += is_there(inode);
	return count;
}

/* They were used last, and yet they go: to find them out again takes the least. */
static void test_of_too_many_the_small_ones_make_room(void **state)
{
	uint64_t inode;

	(void)state;
	cache.most_bytes = 100 << 20;
	put(1);
	put(2);
	age("7-1", 1000);
	age("7-2", 1000);
	for (inode = 3; inode <= 1024; inode++)
		put_small(inode, (time_t)(2000 + inode));
	assert_int_equal(count_entries(), 1024);
	put_small(1500, 9000);
	assert_int_equal(count_entries(), 1024 / 8 * 7 + 1);
	assert_true(is_there(1));
	assert_true(is_there(2));
	assert_true(is_there(1500));
	/* Those that were not used for longest. */
	assert_false(is_there(3));
	assert_false(is_there(3 + 127));
	assert_true(is_there(3 + 128));
}

static void test_of_too_large_ones_an_eighth_makes_room(void **state)
{
	const uint64_t each = sizeof(struct item) * ITEMS + 300;
	uint64_t inode;
	char name[32];

	(void)state;
	cache.most_bytes = 16 * each;
	put_small(100, 500);
	for (inode = 1; inode <= 16; inode++) {
		put(inode);
		snprintf(name, sizeof(name), "7-%llx", (unsigned long long)inode);
		age(name, (time_t)(1000 + inode));
	}
	put(17);
	assert_true(is_there(17));
	assert_false(is_there(1));
	assert_false(is_there(2));
	assert_true(is_there(3));
	/* It would have made no room. */
	assert_true(is_there(100));
}

/* Only such small ones, in a small directory. */
static void test_small_ones_make_room_too(void **state)
{
	uint64_t inode;

	(void)state;
	cache.most_bytes = 3000;
	for (inode = 1; inode <= 30; inode++)
		put_small(inode, (time_t)(1000 + inode));
	assert_false(is_there(1));
	assert_true(is_there(30));
}

/* Who serves a file himself can say of it what he likes. */
static void test_only_file_systems_of_the_kernel_count(void **state)
{
	struct file_cache_file file = file_of(1);

	(void)state;
	file.type = OVERLAYFS_SUPER_MAGIC;
	assert_true(file_cache_wants(&cache, &file));
	file.build_id[0] = '\0';
	assert_false(file_cache_wants(&cache, &file));
	file = file_of(1);
	file.type = FUSE_SUPER_MAGIC;
	assert_false(file_cache_wants(&cache, &file));
	file.type = NFS_SUPER_MAGIC;
	assert_false(file_cache_wants(&cache, &file));
}

static void test_a_file_is_described(void **state)
{
	struct file_cache_file file;
	const int fd = open("/proc/self/exe", O_RDONLY), memory = memfd_create("test", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(file_cache_describe(&file, fd), 0);
	assert_int_equal(strlen(file.build_id), 40);
	assert_true(file.status.st_size > 0);
	assert_int_equal(file_cache_describe(&file, memory), 0);
	assert_int_equal(file.type, TMPFS_MAGIC);
	assert_string_equal(file.build_id, "");
	assert_int_equal(file_cache_describe(&file, -1), -EBADF);
	close(fd);
	close(memory);
}

static void test_small_files_and_no_directory(void **state)
{
	struct file_cache_file file = file_of(1);
	struct file_cache none;

	(void)state;
	assert_true(file_cache_wants(&cache, &file));
	file.status.st_size = 4096;
	assert_false(file_cache_wants(&cache, &file));
	file = file_of(1);
	file.status.st_mode = S_IFCHR;
	assert_false(file_cache_wants(&cache, &file));
	file = file_of(1);
	file_cache_open(&none, NULL, MOST_BYTES);
	assert_false(file_cache_wants(&none, &file));
	file_cache_open(&none, "/tmp/there/is/none", MOST_BYTES);
	assert_false(file_cache_wants(&none, &file));
	file_cache_close(&none);
}

/* Of a small file, nothing is read but its size. */
static void test_the_size_is_asked_first(void **state)
{
	const int program = open("/proc/self/exe", O_RDONLY), fd = memfd_create("test", 0);
	struct file_cache_file file;
	struct file_cache none = { .directory = -1 };
	char bytes[65536];

	(void)state;
	assert_int_equal(read(program, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	assert_false(file_cache_may_keep(&cache, &file, fd));
	assert_int_equal(file.type, 0);
	assert_string_equal(file.build_id, "");
	assert_int_equal(ftruncate(fd, FILE_CACHE_LEAST_BYTES), 0);
	assert_true(file_cache_may_keep(&cache, &file, fd));
	assert_int_equal(file.type, TMPFS_MAGIC);
	assert_int_equal(strlen(file.build_id), 40);
	assert_false(file_cache_may_keep(&none, &file, fd));
	assert_false(file_cache_may_keep(&cache, &file, -1));
	close(program);
	close(fd);
}

static void test_a_file_that_changes_meanwhile(void **state)
{
	const int fd = memfd_create("test", 0);
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct file_cache_file file;

	(void)state;
	assert_int_equal(ftruncate(fd, 1000), 0);
	assert_int_equal(file_cache_describe(&file, fd), 0);
	assert_true(file_cache_is_unchanged(&file, fd));
	/* The times of files have the steps of the kernel's clock. */
	nanosleep(&pause, NULL);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	assert_false(file_cache_is_unchanged(&file, fd));
	assert_int_equal(file_cache_describe(&file, fd), 0);
	file.status.st_size++;
	assert_false(file_cache_is_unchanged(&file, fd));
	assert_false(file_cache_is_unchanged(&file, -1));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_it_is_there_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_items_of_another_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_file_that_has_changed_has_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_damaged_entry_is_not_used, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_others_can_write_is_not_used, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_link_is_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_least_used_makes_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_of_too_many_the_small_ones_make_room, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_of_too_large_ones_an_eighth_makes_room, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_small_ones_make_room_too, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_size_is_asked_first, setup, teardown),
		cmocka_unit_test(test_a_file_that_changes_meanwhile),
		cmocka_unit_test_setup_teardown(test_only_file_systems_of_the_kernel_count, setup,
						teardown),
		cmocka_unit_test(test_a_file_is_described),
		cmocka_unit_test_setup_teardown(test_small_files_and_no_directory, setup, teardown),
	};

	return unit_run("file_cache", tests);
}
