// SPDX-License-Identifier: BSD-2-Clause
/*
 * What cgroups use and may use of devices' memory, from directories that stand for the kernel's.
 */
#include "folder.h"

#include "host/dmem.h"
#include "host/host_files.h"

#define PID 77
#define VRAM "drm/0000:03:00.0/vram0"
#define STOLEN "drm/0000:03:00.0/stolen"
#define TOP "sys/fs/cgroup/"

static struct dmem dmem;

static void put(const char *path, const char *text)
{
	char directory[256];
	size_t i;

	assert_true(strlen(path) < sizeof(directory));
	for (i = 0; path[i]; i++) {
		directory[i] = '\0';
		if (path[i] == '/' && mkdir(directory, 0700))
			assert_int_equal(errno, EEXIST);
		directory[i] = path[i];
	}
	folder_put(path, text);
}

/* The root of the machine, and a process three cgroups below it: the last has no counters. */
static void put_machine(void)
{
	put("proc/77/cgroup", "0::/pods/one/task\n");
	put(TOP "cgroup.controllers", "cpu memory dmem\n");
	put(TOP "dmem.capacity", VRAM " 1000\n" STOLEN " 90\n");
	put(TOP "dmem.current", VRAM " 700\n" STOLEN " 9\n");
	put(TOP "pods/dmem.current", VRAM " 600\n" STOLEN " 0\n");
	put(TOP "pods/dmem.max", VRAM " max\n" STOLEN " max\n");
	put(TOP "pods/one/dmem.current", VRAM " 300\n" STOLEN " 0\n");
	put(TOP "pods/one/dmem.max", VRAM " 400\n" STOLEN " max\n");
	put(TOP "pods/one/dmem.min", VRAM " 250\n" STOLEN " 0\n");
	put(TOP "pods/one/task/cgroup.procs", "77\n");
}

static void test_own_limit(void **state)
{
	const struct dmem_region *vram = &dmem.regions[0], *stolen = &dmem.regions[1];

	(void)state;
	put_machine();
	assert_true(dmem_read(".", PID, &dmem));
	assert_string_equal(dmem.path, "/pods/one");
	assert_int_equal(dmem.count, 2);
	assert_false(dmem.cut);
	assert_string_equal(vram->name, VRAM);
	assert_int_equal(vram->known, DMEM_GUARANTEED | DMEM_LIMIT | DMEM_DEVICE);
	assert_int_equal(vram->used_bytes, 300);
	assert_int_equal(vram->guaranteed_bytes, 250);
	assert_int_equal(vram->limit_bytes, 400);
	assert_int_equal(vram->limit_used_bytes, 300);
	assert_int_equal(vram->limit_path_bytes, strlen("/pods/one"));
	assert_int_equal(vram->capacity_bytes, 1000);
	assert_int_equal(vram->device_used_bytes, 700);
	assert_int_equal(dmem_left(vram), 100);
	assert_string_equal(stolen->name, STOLEN);
	assert_int_equal(stolen->known, DMEM_GUARANTEED | DMEM_DEVICE);
}

/* What one that it is in allows counts if it leaves less, whichever limit is the smaller one. */
static void test_limit_of_an_outer_one(void **state)
{
	const struct dmem_region *vram = &dmem.regions[0];

	(void)state;
	put_machine();
	put(TOP "pods/dmem.max", VRAM " 610\n" STOLEN " max\n");
	assert_true(dmem_read(".", PID, &dmem));
	assert_int_equal(vram->limit_bytes, 610);
	assert_int_equal(vram->limit_used_bytes, 600);
	assert_int_equal(vram->limit_path_bytes, strlen("/pods"));
	assert_int_equal(vram->used_bytes, 300);
	/* As little is left by both: the inner one is told. */
	put(TOP "pods/dmem.max", VRAM " 700\n");
	assert_true(dmem_read(".", PID, &dmem));
	assert_int_equal(vram->limit_bytes, 400);
	/* The limit can be lowered below what is used. */
	put(TOP "pods/dmem.max", VRAM " 500\n");
	assert_true(dmem_read(".", PID, &dmem));
	assert_int_equal(vram->limit_bytes, 500);
	assert_int_equal(dmem_left(vram), 0);
}

/* Beside a version 1, and in the root of a namespace: that has a limit, and no capacities. */
static void test_in_a_namespace(void **state)
{
	const struct dmem_region *vram = &dmem.regions[0];

	(void)state;
	put("proc/77/cgroup", "3:memory:/m\n0::/\n");
	put(TOP "unified/dmem.current", VRAM " 30\n");
	put(TOP "unified/dmem.max", VRAM " 40\n");
	assert_true(dmem_read(".", PID, &dmem));
	assert_string_equal(dmem.path, "/");
	assert_int_equal(vram->known, DMEM_LIMIT);
	assert_int_equal(vram->limit_bytes, 40);
	assert_int_equal(vram->limit_path_bytes, 1);
	/* Which cgroup this is cannot be seen from here, so neither can its numbers. */
	put("proc/77/cgroup", "0::/../other\n");
	put(TOP "other/dmem.current", VRAM " 20\n");
	assert_false(dmem_read(".", PID, &dmem));
}

static void test_nothing_is_counted(void **state)
{
	(void)state;
	assert_false(dmem_read(".", PID, &dmem));
	put("proc/77/cgroup", "0::/pods/one\n");
	put(TOP "cgroup.controllers", "cpu memory\n");
	put(TOP "pods/one/memory.current", "1\n");
	assert_false(dmem_read(".", PID, &dmem));
	/* The controller is there, and no driver takes part. */
	put(TOP "dmem.current", "");
	put(TOP "dmem.capacity", "");
	assert_false(dmem_read(".", PID, &dmem));
	assert_int_equal(dmem.count, 0);
}

static void test_what_no_kernel_writes(void **state)
{
	char text[1024];
	size_t i, length = 0;

	(void)state;
	put_machine();
	put(TOP "pods/one/dmem.current",
	    "\n " VRAM "\nx\n 5\n" VRAM " 12x\n" VRAM " -1\n" VRAM
	    " 99999999999999999999\nregion-whose-name-is-longer-than-there-is-room-for-"
	    "and-then-some-more 5\nlast 5");
	assert_false(dmem_read(".", PID, &dmem));
	for (i = 0; i < DMEM_REGIONS + 1; i++)
		length +=
			(size_t)snprintf(text + length, sizeof(text) - length, "r%zu %zu\n", i, i);
	put(TOP "pods/one/dmem.current", text);
	assert_true(dmem_read(".", PID, &dmem));
	assert_int_equal(dmem.count, DMEM_REGIONS);
	assert_true(dmem.cut);
	assert_int_equal(dmem.regions[DMEM_REGIONS - 1].used_bytes, DMEM_REGIONS - 1);
}

/* A region with too long a name, and the regions of a file that is too long. */
static void test_what_finds_no_room_is_said(void **state)
{
	static const char name[] =
		"drm/0000:03:00.0/a-region-whose-name-is-longer-than-there-is-room-for";
	char text[2 * HOST_FILES_BYTES];
	int length = 0;

	(void)state;
	put_machine();
	assert_true(dmem_read(".", PID, &dmem));
	assert_false(dmem.cut);
	snprintf(text, sizeof(text), VRAM " 300\n%s 5\n", name);
	put(TOP "pods/one/dmem.current", text);
	assert_true(dmem_read(".", PID, &dmem));
	assert_int_equal(dmem.count, 1);
	assert_true(dmem.cut);
	/* Without a number, it is no region that has been left out. */
	snprintf(text, sizeof(text), VRAM " 300\n%s max\n", name);
	put(TOP "pods/one/dmem.current", text);
	assert_true(dmem_read(".", PID, &dmem));
	assert_false(dmem.cut);
	/* The last line, of the file that has the limits. */
	put(TOP "pods/one/dmem.current", VRAM " 300\n");
	while (length < HOST_FILES_BYTES)
		length += snprintf(text + length, sizeof(text) - (size_t)length, "r max\n");
	snprintf(text + length, sizeof(text) - (size_t)length, VRAM " 400\n");
	put(TOP "pods/one/dmem.max", text);
	assert_true(dmem_read(".", PID, &dmem));
	assert_true(dmem.cut);
}

static void test_devices_of_regions(void **state)
{
	char pci[DMEM_PCI_BYTES];

	(void)state;
	assert_true(dmem_pci(VRAM, pci));
	assert_string_equal(pci, "0000:03:00.0");
	assert_true(dmem_pci("nvidia/00010000:0A:1f.7", pci));
	assert_string_equal(pci, "00010000:0A:1f.7");
	assert_false(dmem_pci("drm/000:03:00.0/vram", pci));
	assert_false(dmem_pci("drm/0000:03:00-0/vram", pci));
	assert_false(dmem_pci("drm/0000:03:0g.0/vram", pci));
	assert_false(dmem_pci("drm/000000000000000000000:03:00.0", pci));
	assert_false(dmem_pci("vram", pci));
	assert_false(dmem_pci("", pci));
}

/* Two processes of a cgroup, one of another, and one that is in none. */
static void test_each_cgroup_once(void **state)
{
	struct dmem_table table = { .count = 0 };

	(void)state;
	put_machine();
	put("proc/78/cgroup", "0::/pods\n");
	put("proc/79/cgroup", "0::/pods/one\n");
	assert_int_equal(dmem_table_add(&table, ".", PID), 0);
	assert_int_equal(dmem_table_add(&table, ".", 78), 1);
	assert_int_equal(dmem_table_add(&table, ".", 79), 0);
	assert_true(dmem_table_add(&table, ".", 80) == DMEM_NONE);
	assert_int_equal(table.count, 2);
	assert_string_equal(table.cgroups[1].path, "/pods");
	dmem_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_own_limit),
		folder_test(test_limit_of_an_outer_one),
		folder_test(test_in_a_namespace),
		folder_test(test_nothing_is_counted),
		folder_test(test_what_no_kernel_writes),
		folder_test(test_what_finds_no_room_is_said),
		folder_test(test_devices_of_regions),
		folder_test(test_each_cgroup_once),
	};

	return unit_run("dmem", tests);
}
