// SPDX-License-Identifier: BSD-2-Clause
/*
 * How large the agent's history becomes in a year, and how long its queries take: writes one for a
 * node with so many processes a day, as the agent does, and asks it. Rows of what is kept in coarse
 * steps only are made in such steps, so that a year does not take hours.
 *
 *   history DIRECTORY PROCESSES DAYS [always]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "history/database.h"
#include "history/reader.h"
#include "quantile.h"

#define DAY_S 86400u
#define BEGIN_S 1700006400ull
#define DEVICES 8
#define CELLS 2 /* of a process: on a device, and pinned */
#define QUERIES 500

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

struct job {
	uint64_t begin_s, end_s;
	uint64_t bytes;
	uint32_t device;
	uint64_t pid;
};

static struct job *jobs;
static size_t jobs_count;

/* From ten minutes to a day: half of them less than two hours. */
static uint64_t lifetime_s(void)
{
	static const uint32_t minutes[] = { 10, 15, 20, 30, 45, 60, 90, 120, 240, 480, 720, 1440 };

	return 60ull * minutes[next_random() % (sizeof(minutes) / sizeof(*minutes))];
}

static void make_jobs(uint32_t a_day, uint32_t days, bool always)
{
	uint32_t day, i;

	jobs = calloc((size_t)a_day * days, sizeof(*jobs));
	for (day = 0; jobs && day < days; day++)
		for (i = 0; i < a_day; i++) {
			struct job *job = &jobs[jobs_count++];

			job->begin_s = BEGIN_S + day * DAY_S + (always ? 0 : next_random() % DAY_S);
			job->end_s = job->begin_s + (always ? DAY_S : lifetime_s());
			job->bytes = next_random() % (80ull << 30);
			job->device = next_random() % DEVICES;
			job->pid = 1000 + next_random() % 4000000;
		}
}

static struct history_device devices[DEVICES];
static struct history_process *processes;
static struct history_memory *memory;

static struct history_held held(uint64_t bytes, uint64_t ms)
{
	return (struct history_held){ ms, bytes - bytes / 10, bytes, bytes * ms };
}

static void put_job(struct history_batch *batch, const struct job *job)
{
	static const char *const spaces[CELLS] = { "device", "pinned" };
	struct history_process *process = &processes[batch->processes_count];
	uint32_t i;

	*process = (struct history_process){ .pid = job->pid,
					     .start_ns = job->begin_s * 1000000000,
					     .launches = next_random() % 100000 };
	snprintf(process->name, sizeof(process->name), "python3 train_%u.py",
		 (unsigned int)(job->pid % 50));
	snprintf(process->user, sizeof(process->user), "user%u", (unsigned int)(job->pid % 20));
	snprintf(process->container, sizeof(process->container), "%016llx%016llx%016llx%016llx",
		 (unsigned long long)job->pid * 0x9e3779b97f4a7c15ull,
		 (unsigned long long)job->begin_s * 0x9e3779b97f4a7c15ull,
		 (unsigned long long)job->bytes * 0x9e3779b97f4a7c15ull,
		 (unsigned long long)job->end_s * 0x9e3779b97f4a7c15ull);
	snprintf(process->pod, sizeof(process->pod), "training-job-%llu-worker-0",
		 (unsigned long long)job->pid);
	snprintf(process->namespace, sizeof(process->namespace), "team-%u",
		 (unsigned int)(job->pid % 10));
	for (i = 0; i < CELLS; i++) {
		struct history_memory *row = &memory[batch->memory_count++];

		*row = (struct history_memory){ .process = batch->processes_count,
						.device = i ? HISTORY_NONE : job->device,
						.on_device = !i,
						.held = held(job->bytes >> (4 * i), batch->ms),
						.allocs = next_random() % 1000,
						.alloc_bytes = next_random() % (1ull << 36),
						.frees = next_random() % 1000,
						.free_bytes = next_random() % (1ull << 36) };
		strcpy(row->space, spaces[i]);
		row->idle_byte_ms = next_random() % 3 ? 0 : row->held.byte_ms;
	}
	batch->processes_count++;
}

/* An interval of that length. */
static int put(struct history_database *database, uint64_t start_s, uint64_t step_s)
{
	static size_t first; /* those before have ended */
	struct history_batch batch = { .start_ms = start_s * 1000,
				       .ms = step_s * 1000,
				       .boot = "00000000-0000-0000-0000-000000000000",
				       .devices = devices,
				       .processes = processes,
				       .memory = memory,
				       .devices_count = DEVICES };
	size_t i;

	for (i = 0; i < DEVICES; i++) {
		snprintf(devices[i].key, sizeof(devices[i].key),
			 "GPU-00000000-0000-0000-0000-00000000000%zu", i);
		devices[i].held = held(next_random() % (80ull << 30), batch.ms);
		devices[i].used = devices[i].held;
		devices[i].used_known = 1;
	}
	while (first < jobs_count && jobs[first].begin_s + DAY_S < start_s)
		first++;
	for (i = first; i < jobs_count && jobs[i].begin_s < start_s + 2 * DAY_S; i++)
		if (jobs[i].begin_s < start_s + step_s && jobs[i].end_s > start_s)
			put_job(&batch, &jobs[i]);
	return history_database_put(database, &batch);
}

/* ---- questions ------------------------------------------------------------------------------- */

static double ask(const char *path, uint64_t from_s, uint64_t to_s, enum history_by by)
{
	const struct history_query query = { .from_s = from_s, .to_s = to_s, .by = by };
	const uint64_t begin_ns = clock_monotonic_ns();
	struct history_reader *reader;
	struct history_usage usage;

	if (history_reader_open(&reader, path) || history_reader_query(reader, &query, &usage)) {
		fprintf(stderr, "%s: a query failed\n", path);
		exit(1);
	}
	history_usage_fini(&usage);
	history_reader_close(reader);
	return (double)(clock_monotonic_ns() - begin_ns) / 1e6;
}

static void ask_all(const char *path, uint64_t end_s, uint32_t days)
{
	double times[QUERIES];
	uint32_t i;

	for (i = 0; i < QUERIES; i++) {
		const uint64_t from_s = BEGIN_S + next_random() % (end_s - BEGIN_S - 3600);

		times[i] = ask(path, from_s, from_s + 3600, i % (HISTORY_BY_DEVICE + 1));
	}
	printf("an hour of the year: %.1f ms (median), %.1f ms (slowest of %d)\n",
	       quantile(times, QUERIES, 0.5), quantile(times, QUERIES, 1), QUERIES);
	printf("the last hour, by process: %.1f ms\n",
	       ask(path, end_s - 3600, end_s, HISTORY_BY_PROCESS));
	printf("the last day, by process: %.1f ms\n",
	       ask(path, end_s - DAY_S, end_s, HISTORY_BY_PROCESS));
	printf("all %u days, by user: %.1f ms\n", days, ask(path, BEGIN_S, end_s, HISTORY_BY_USER));
}

int main(int argc, char **argv)
{
	const uint32_t a_day = argc > 3 ? (uint32_t)atoi(argv[2]) : 0;
	const uint32_t days = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
	const uint64_t end_s = BEGIN_S + (uint64_t)days * DAY_S;
	const struct history_options options = { argv[1], 512ull << 20, 400ull * DAY_S };
	struct history_database *database;
	struct history_counts counts;
	uint64_t now_s = BEGIN_S, fine_s = end_s - 6 * 3600, fine_ns;
	char path[4096];

	if (!a_day || days < 16) {
		fprintf(stderr, "usage: history DIRECTORY PROCESSES DAYS [always]\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/" HISTORY_FILE, argv[1]);
	make_jobs(a_day, days, argc > 4);
	processes = calloc((size_t)a_day * 4, sizeof(*processes));
	memory = calloc((size_t)a_day * 4 * CELLS, sizeof(*memory));
	database = history_database_open(&options);
	if (!jobs || !processes || !memory || !database)
		return 1;
	for (; now_s < end_s - 14 * DAY_S; now_s += 3600)
		put(database, now_s, 3600);
	for (; now_s < fine_s; now_s += 300)
		put(database, now_s, 300);
	fine_ns = clock_cpu_ns();
	for (; now_s < end_s; now_s += 10)
		put(database, now_s, 10);
	fine_ns = clock_cpu_ns() - fine_ns;
	counts = history_database_counts(database);
	history_database_close(database);
	printf("%u processes a day, %u days: %.1f MiB, %llu intervals not written\n", a_day, days,
	       (double)counts.bytes / (1 << 20), (unsigned long long)counts.failed);
	printf("an interval of ten seconds: %.2f ms of CPU time\n",
	       (double)fine_ns / 1e6 / (double)((end_s - fine_s) / 10));
	ask_all(path, end_s, days);
	return 0;
}
