// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is read of /proc, /sys and cgroups, from directories that stand for them.
 */
#include "folder.h"

#include "host/cgroup_files.h"
#include "host/host_load.h"
#include "host/topology.h"

#define PID 77
#define KIB 1024ull

/* Makes the directories that the file is in, too. */
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

static void test_the_machine(void **state)
{
	struct ms_host host = { .known = 0 };

	(void)state;
	host_load_machine(".", &host);
	assert_int_equal(host.known, 0);
	put("proc/meminfo", "MemTotal:  64 kB\nMemFree: 1 kB\nMemAvailable:    32 kB\n");
	put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\n"
				 "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
	put("proc/pressure/memory", "some avg10=1.50 avg60=0.00 avg300=0.00 total=77\n"
				    "full avg10=0.00 avg60=0.00 avg300=0.00 total=55\n");
	put("proc/pressure/io", "");
	host_load_machine(".", &host);
	assert_int_equal(host.known,
			 MS_HOST_MEMORY | MS_HOST_CPU_PRESSURE | MS_HOST_MEMORY_PRESSURE);
	assert_int_equal(host.total_bytes, 64 * KIB);
	assert_int_equal(host.available_bytes, 32 * KIB);
	assert_int_equal(host.cpu_some_us, 1234);
	assert_int_equal(host.memory_some_us, 77);
	assert_int_equal(host.memory_full_us, 55);
}

static void test_a_process(void **state)
{
	struct ms_load load = { .known = 0 };

	(void)state;
	host_load_process(".", PID, &load);
	assert_int_equal(load.known, 0);
	put("proc/77/stat", "77 (a) b (c) S 1 77 77 0 -1 4194560 500 0 3 0 120 30 0 0 20 0 5 0 100"
			    " 1000 20 18446744073709551615\n");
	put("proc/77/status",
	    "Name:\ta\nVmLck:\t       8 kB\nRssAnon:\t     100 kB\n"
	    "RssFile:\t      20 kB\nRssShmem:\t       4 kB\nVmSwap:\t       2 kB\n");
	put("proc/77/task/77/schedstat", "1000 300 5\n");
	put("proc/77/task/78/schedstat", "1000 40 5\n");
	put("proc/77/task/79/other", "");
	host_load_process(".", PID, &load);
	assert_int_equal(load.known, MS_LOAD_CPU | MS_LOAD_QUEUE | MS_LOAD_MEMORY);
	assert_int_equal(load.threads, 5);
	assert_int_equal(load.cpu_ns, 1500000000);
	assert_int_equal(load.minor_faults, 500);
	assert_int_equal(load.major_faults, 3);
	assert_int_equal(load.queue_ns, 340);
	assert_int_equal(load.anon_bytes, 100 * KIB);
	assert_int_equal(load.file_bytes, 20 * KIB);
	assert_int_equal(load.shmem_bytes, 4 * KIB);
	assert_int_equal(load.swap_bytes, 2 * KIB);
	assert_int_equal(load.locked_bytes, 8 * KIB);
}

static void test_cgroups_of_version_2(void **state)
{
	struct ms_load load = { .known = 0 };

	(void)state;
	put("proc/77/cgroup", "0::/a.slice/b\n");
	put("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
	put("sys/fs/cgroup/a.slice/b/memory.current", "4096\n");
	put("sys/fs/cgroup/a.slice/b/memory.max", "max\n");
	put("sys/fs/cgroup/a.slice/b/cpu.stat",
	    "usage_usec 5\nnr_periods 9\nnr_throttled 4\nthrottled_usec 17\n");
	put("sys/fs/cgroup/a.slice/b/cgroup.type", "domain\n");
	put("sys/fs/cgroup/a.slice/b/memory.pressure",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=88\n");
	host_load_process(".", PID, &load);
	assert_int_equal(load.known,
			 MS_LOAD_CGROUP_MEMORY | MS_LOAD_THROTTLED | MS_LOAD_CGROUP_PRESSURE);
	assert_int_equal(load.cgroup_bytes, 4096);
	assert_int_equal(load.throttled, 4);
	assert_int_equal(load.throttled_ns, 17000);
	assert_int_equal(load.cgroup_stall_us, 88);
	put("sys/fs/cgroup/a.slice/b/memory.max", "8192\n");
	host_load_process(".", PID, &load);
	assert_true(load.known & MS_LOAD_CGROUP_LIMIT);
	assert_int_equal(load.cgroup_limit_bytes, 8192);
}

/* Beside a version 2 that has no controllers. */
static void test_cgroups_of_version_1(void **state)
{
	struct ms_load load = { .known = 0 };

	(void)state;
	put("proc/77/cgroup", "5:cpuset:/c\n4:memory:/m\n2:cpu,cpuacct:/\n0::/\n");
	put("sys/fs/cgroup/memory/m/memory.usage_in_bytes", "4096\n");
	put("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
	put("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 170\n");
	host_load_process(".", PID, &load);
	assert_int_equal(load.known, MS_LOAD_CGROUP_MEMORY | MS_LOAD_THROTTLED);
	assert_int_equal(load.cgroup_bytes, 4096);
	assert_int_equal(load.throttled, 4);
	assert_int_equal(load.throttled_ns, 170);
}

/* Version 1 limits memory, version 2 has the pressure; that of its root is the machine's. */
static void test_pressure_beside_version_1(void **state)
{
	struct ms_load load = { .known = 0 };

	(void)state;
	put("proc/77/cgroup", "4:memory:/m\n0::/p\n");
	put("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "8192\n");
	put("sys/fs/cgroup/unified/p/cgroup.type", "domain\n");
	put("sys/fs/cgroup/unified/p/memory.pressure",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=88\n");
	put("sys/fs/cgroup/unified/memory.pressure",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
	host_load_process(".", PID, &load);
	assert_int_equal(load.known, MS_LOAD_CGROUP_LIMIT | MS_LOAD_CGROUP_PRESSURE);
	assert_int_equal(load.cgroup_limit_bytes, 8192);
	assert_int_equal(load.cgroup_stall_us, 88);
	put("proc/77/cgroup", "4:memory:/m\n0::/\n");
	load = (struct ms_load){ .known = 0 };
	host_load_process(".", PID, &load);
	assert_int_equal(load.known, MS_LOAD_CGROUP_LIMIT);
}

static void test_no_cgroup_file_makes_a_long_path(void **state)
{
	static char line[8000];
	struct cgroup_files files;

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	memcpy(line, "0::/", 4);
	put("proc/77/cgroup", line);
	assert_false(cgroup_files_find(".", PID, &files));
	put("proc/77/cgroup", "memory\n::\n:\n\n3:memory");
	assert_true(cgroup_files_find(".", PID, &files));
	assert_string_equal(files.memory, "/sys/fs/cgroup/unified");
}

static void test_nodes(void **state)
{
	struct ms_node nodes[TOPOLOGY_NODES];

	(void)state;
	assert_int_equal(topology_nodes(".", nodes), 0);
	/* With holes between them, and one without memory. */
	put("sys/devices/system/node/node8/meminfo",
	    "Node 8 MemTotal:       64 kB\nNode 8 MemFree:       16 kB\n");
	put("sys/devices/system/node/node0/meminfo",
	    "Node 0 MemTotal:       32 kB\nNode 0 MemFree:        8 kB\n");
	put("sys/devices/system/node/node4/meminfo",
	    "Node 4 MemTotal:        0 kB\nNode 4 MemFree:        0 kB\n");
	put("sys/devices/system/node/has_cpu", "0\n");
	assert_int_equal(topology_nodes(".", nodes), 2);
	assert_int_equal(nodes[0].node, 0);
	assert_int_equal(nodes[0].free_bytes, 8 * KIB);
	assert_int_equal(nodes[1].node, 8);
	assert_int_equal(nodes[1].total_bytes, 64 * KIB);
}

#define PORT "sys/devices/pci0000:80/0000:80:00.0/"
#define CARD PORT "0000:81:00.0/"

static void put_card(const char *node)
{
	put(CARD "vendor", "0x10de\n");
	put(CARD "class", "0x030200\n");
	put(CARD "numa_node", node);
	put(CARD "current_link_speed", "2.5 GT/s PCIe\n");
	put(CARD "current_link_width", "8\n");
	put(CARD "max_link_speed", "32.0 GT/s PCIe\n");
	put(CARD "max_link_width", "16\n");
	put(PORT "max_link_speed", "16.0 GT/s PCIe\n");
	put(PORT "max_link_width", "16\n");
	put("sys/bus/pci/devices/0000:00:01.0/vendor", "0x8086\n");
	put("sys/bus/pci/devices/0000:00:01.0/class", "0x030000\n");
	assert_int_equal(symlink("../../../devices/pci0000:80/0000:80:00.0/0000:81:00.0",
				 "sys/bus/pci/devices/0000:81:00.0"),
			 0);
}

static void test_gpus(void **state)
{
	struct ms_gpu gpus[TOPOLOGY_GPUS];

	(void)state;
	assert_int_equal(topology_gpus(".", gpus), 0);
	put_card("1\n");
	assert_int_equal(topology_gpus(".", gpus), 1);
	assert_string_equal(gpus[0].bdf, "0000:81:00.0");
	assert_int_equal(gpus[0].known, MS_GPU_NODE | MS_GPU_LINK);
	assert_int_equal(gpus[0].node, 1);
	assert_int_equal(gpus[0].speed, 25);
	assert_int_equal(gpus[0].width, 8);
	assert_int_equal(gpus[0].max_speed, 160); /* the port's */
	assert_int_equal(gpus[0].max_width, 16);
	put(CARD "numa_node", "-1\n");
	put(CARD "current_link_speed", "Unknown\n");
	assert_int_equal(topology_gpus(".", gpus), 1);
	assert_int_equal(gpus[0].known, 0);
	assert_int_equal(gpus[0].max_speed, 0);
	put(CARD "class", "0x040300\n"); /* sound */
	assert_int_equal(topology_gpus(".", gpus), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_the_machine),
		folder_test(test_a_process),
		folder_test(test_cgroups_of_version_2),
		folder_test(test_cgroups_of_version_1),
		folder_test(test_pressure_beside_version_1),
		folder_test(test_no_cgroup_file_makes_a_long_path),
		folder_test(test_nodes),
		folder_test(test_gpus),
	};

	return cmocka_run_group_tests_name("host_load", tests, NULL, NULL);
}
