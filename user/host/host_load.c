// SPDX-License-Identifier: BSD-2-Clause
#include "host/host_load.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "host/cgroup_files.h"
#include "host/host_files.h"

#define TICK_NS 10000000 /* of /proc: 1 / USER_HZ */

/* ---- the machine ----------------------------------------------------------------------------- */

/* `full_us`: NULL, or the same of all tasks. */
static bool read_pressure(const char *root, const char *path, __u64 *some_us, __u64 *full_us)
{
	char text[512] = "";

	if (host_files_read(root, path, text, sizeof(text)) <= 0)
		return false;
	if (full_us)
		host_files_pressure(text, "full ", full_us);
	return host_files_pressure(text, "some ", some_us);
}

void host_load_machine(const char *root, struct ms_host *host)
{
	char text[HOST_FILES_BYTES];
	__u64 total, available;

	if (host_files_read(root, "/proc/meminfo", text, sizeof(text)) > 0 &&
	    host_files_find(text, "MemTotal:", &total) &&
	    host_files_find(text, "MemAvailable:", &available)) {
		host->known |= MS_HOST_MEMORY;
		host->total_bytes = total << 10;
		host->available_bytes = available << 10;
	}
	if (read_pressure(root, "/proc/pressure/cpu", &host->cpu_some_us, NULL))
		host->known |= MS_HOST_CPU_PRESSURE;
	if (read_pressure(root, "/proc/pressure/memory", &host->memory_some_us,
			  &host->memory_full_us))
		host->known |= MS_HOST_MEMORY_PRESSURE;
	if (read_pressure(root, "/proc/pressure/io", &host->io_some_us, &host->io_full_us))
		host->known |= MS_HOST_IO_PRESSURE;
}

/* ---- a process ------------------------------------------------------------------------------- */

static void path_of(char *path, size_t bytes, pid_t pid, const char *name)
{
	snprintf(path, bytes, "/proc/%d/%s", (int)pid, name);
}

/* proc(5): minflt is field 10, majflt 12, utime 14, stime 15, num_threads 20. */
static void read_stat(const char *root, pid_t pid, struct ms_load *load)
{
	unsigned long long minor, major, user, kernel;
	char text[1024], path[64];
	const char *rest;
	unsigned int threads;

	path_of(path, sizeof(path), pid, "stat");
	if (host_files_read(root, path, text, sizeof(text)) <= 0)
		return;
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu %*d %*d %*d"
			    " %*d %u",
			    &minor, &major, &user, &kernel, &threads) != 5)
		return;
	load->known |= MS_LOAD_CPU;
	load->minor_faults = minor;
	load->major_faults = major;
	load->cpu_ns = (user + kernel) * TICK_NS;
	load->threads = threads;
}

static void read_status(const char *root, pid_t pid, struct ms_load *load)
{
	char text[HOST_FILES_BYTES], path[64];
	__u64 anon, file, shmem, swap = 0, locked = 0;

	path_of(path, sizeof(path), pid, "status");
	if (host_files_read(root, path, text, sizeof(text)) <= 0 ||
	    !host_files_find(text, "RssAnon:", &anon) ||
	    !host_files_find(text, "RssFile:", &file) ||
	    !host_files_find(text, "RssShmem:", &shmem))
		return;
	host_files_find(text, "VmSwap:", &swap);
	host_files_find(text, "VmLck:", &locked);
	load->known |= MS_LOAD_MEMORY;
	load->anon_bytes = anon << 10;
	load->file_bytes = file << 10;
	load->shmem_bytes = shmem << 10;
	load->swap_bytes = swap << 10;
	load->locked_bytes = locked << 10;
}

/* The second number of schedstat, of each thread that there is. */
static void read_queue(const char *root, pid_t pid, struct ms_load *load)
{
	char path[HOST_FILES_PATH_BYTES], text[128];
	unsigned int looked_at = 0;
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "%s/proc/%d/task", root, (int)pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks)) && looked_at < HOST_LOAD_THREADS) {
		unsigned long long waited;

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat", (int)pid,
			 entry->d_name);
		if (host_files_read(root, path, text, sizeof(text)) <= 0 ||
		    sscanf(text, "%*u %llu", &waited) != 1)
			continue;
		load->known |= MS_LOAD_QUEUE;
		load->queue_ns += waited;
		looked_at++;
	}
	if (tasks)
		closedir(tasks);
}

static void read_cgroup(const char *root, pid_t pid, struct ms_load *load)
{
	struct cgroup_files cgroup;

	if (!cgroup_files_find(root, pid, &cgroup))
		return;
	if (cgroup_files_memory(root, &cgroup, &load->cgroup_bytes))
		load->known |= MS_LOAD_CGROUP_MEMORY;
	if (cgroup_files_limit(root, &cgroup, &load->cgroup_limit_bytes))
		load->known |= MS_LOAD_CGROUP_LIMIT;
	if (cgroup_files_throttled(root, &cgroup, &load->throttled, &load->throttled_ns))
		load->known |= MS_LOAD_THROTTLED;
	if (cgroup_files_pressure(root, &cgroup, &load->cgroup_stall_us))
		load->known |= MS_LOAD_CGROUP_PRESSURE;
}

void host_load_process(const char *root, pid_t pid, struct ms_load *load)
{
	read_stat(root, pid, load);
	read_status(root, pid, load);
	read_queue(root, pid, load);
	read_cgroup(root, pid, load);
}
