// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes a dump of so many events, as `record` would have: a training loop's mix of launches,
 * copies, allocations, frees and synchronisations, of several threads.
 *
 * usage: dumps EVENTS FILE
 *        dumps time COMMAND...    runs it; prints seconds of CPU time and the largest RSS in KiB
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/probe.h"
#include "pipeline.h"
#include "store/dump_file.h"
#include "store/dump_writer.h"

#define PID 4242
#define START_NS (1000ull * MS_START_NS)
#define THREADS 4
#define BLOCKS 2048 /* live at most, in each thread */
#define KERNELS 200
#define STEP_NS 2000 /* on average, between two events of any thread: 500,000 a second */
#define FLUSH_NS 250000000ull
#define SEGMENT_BYTES (64ull << 20)

struct maker {
	struct dump_file file;
	struct dump_writer *writer;
	struct pipeline pipeline;
	uint64_t random, ts_ns, flushed_ns;
	uint64_t events;
	struct {
		uint64_t addrs[BLOCKS];
		size_t count;
	} threads[THREADS];
	uint64_t next_addr;
	uint16_t alloc, alloc_inner, release, release_inner, copy, launch, sync;
	int err;
};

static uint64_t below(struct maker *maker, uint64_t bound)
{
	maker->random ^= maker->random << 13;
	maker->random ^= maker->random >> 7;
	maker->random ^= maker->random << 17;
	return (maker->random >> 20) % bound;
}

static int write_block(void *context, const struct block_header *header, const void *stored)
{
	return dump_file_write(&((struct maker *)context)->file, header, stored);
}

static void describe(void *context, struct properties *properties)
{
	(void)context;
	properties_put(properties, "tool", "memscope-bpf");
	properties_put(properties, "version", "bench");
	properties_put(properties, "host", "bench");
	properties_put_u64(properties, "monotonic_ns", 1);
	properties_put_u64(properties, "realtime_offset_ns", 1700000000ull * 1000000000);
}

static void add(struct maker *maker, void *record)
{
	struct ms_event *event = record;
	int err;

	err = dump_writer_add(maker->writer, record);
	if (!err)
		err = pipeline_feed(&maker->pipeline, record, event->size);
	maker->events++;
	if (!err && maker->ts_ns - maker->flushed_ns >= FLUSH_NS) {
		maker->flushed_ns = maker->ts_ns;
		err = dump_writer_counts(maker->writer)->segment_bytes < SEGMENT_BYTES ?
			      dump_writer_flush(maker->writer, maker->ts_ns) :
			      dump_writer_segment(maker->writer, &maker->pipeline.state,
						  maker->ts_ns);
	}
	if (err && !maker->err)
		maker->err = err;
}

static struct ms_event header_of(struct maker *maker, size_t thread, uint16_t type, uint16_t size)
{
	return (struct ms_event){ .ts_ns = maker->ts_ns,
				  .start_ns = START_NS,
				  .pid = PID,
				  .tid = PID + (uint32_t)thread,
				  .type = type,
				  .size = size };
}

static struct ms_call call_of(struct maker *maker, size_t thread, uint16_t row, uint16_t driver_row)
{
	return (struct ms_call){
		.event = header_of(maker, thread, MS_TYPE_CALL, sizeof(struct ms_call)),
		.duration_ns = 1000 + below(maker, 3000),
		.context = 0x55550000,
		.row = row,
		.driver_row = driver_row,
		.known = MS_KNOWN_RESULT | MS_KNOWN_CONTEXT,
	};
}

static void make_alloc(struct maker *maker, size_t thread)
{
	struct ms_call call = call_of(maker, thread, maker->alloc, maker->alloc_inner);

	call.addr = maker->next_addr;
	call.size = 512ull << below(maker, 12);
	call.device = 0;
	call.known |= MS_KNOWN_ADDR | MS_KNOWN_SIZE | MS_KNOWN_DEVICE;
	maker->next_addr = 0x7f0000000000 + (maker->next_addr + (4 << 20)) % (1ull << 40);
	maker->threads[thread].addrs[maker->threads[thread].count++] = call.addr;
	add(maker, &call);
}

static void make_free(struct maker *maker, size_t thread)
{
	size_t place = below(maker, maker->threads[thread].count);
	struct ms_call call = call_of(maker, thread, maker->release, maker->release_inner);
	struct ms_free begin = {
		.event = header_of(maker, thread, MS_TYPE_FREE_BEGIN, sizeof(begin)),
		.addr = maker->threads[thread].addrs[place],
		.row = maker->release,
	};

	call.addr = begin.addr;
	call.known |= MS_KNOWN_ADDR;
	maker->threads[thread].addrs[place] =
		maker->threads[thread].addrs[--maker->threads[thread].count];
	add(maker, &begin);
	add(maker, &call);
}

static void make_copy(struct maker *maker, size_t thread)
{
	struct ms_call call = call_of(maker, thread, maker->copy, MS_NO_ROW);

	call.addr = 0x7f0000000000 + (below(maker, 1 << 16) << 22);
	call.src = 0x560000000000 + (below(maker, 256) << 16);
	call.size = 4096ull << below(maker, 8);
	call.stream = 0x77770000 + thread * 256;
	call.direction = MS_DIRECTION_HTOD;
	call.known |=
		MS_KNOWN_ADDR | MS_KNOWN_SRC | MS_KNOWN_SIZE | MS_KNOWN_STREAM | MS_KNOWN_DIRECTION;
	add(maker, &call);
}

static void make_launch(struct maker *maker, size_t thread)
{
	struct ms_launch launch = { .call = call_of(maker, thread, maker->launch, MS_NO_ROW) };
	uint32_t kernel = (uint32_t)below(maker, KERNELS);

	launch.call.event.type = MS_TYPE_LAUNCH;
	launch.call.event.size = sizeof(launch);
	launch.call.addr = 0x600000 + kernel * 64;
	launch.call.stream = 0x77770000 + thread * 256;
	launch.call.known |= MS_KNOWN_ADDR | MS_KNOWN_STREAM | MS_KNOWN_DIMS;
	launch.grid[0] = 1 + kernel * 7;
	launch.grid[1] = launch.grid[2] = 1;
	launch.block[0] = 256;
	launch.block[1] = launch.block[2] = 1;
	add(maker, &launch);
}

static void make_sync(struct maker *maker, size_t thread)
{
	struct ms_call call = call_of(maker, thread, maker->sync, MS_NO_ROW);

	call.duration_ns = 5000 + below(maker, 100000);
	call.stream = 0x77770000 + thread * 256;
	call.known |= MS_KNOWN_STREAM;
	add(maker, &call);
}

/* 70 % launches, 10 % copies, 14 % allocations and frees, the rest synchronisation. */
static void make_event(struct maker *maker)
{
	size_t thread = below(maker, THREADS), held = maker->threads[thread].count;
	uint64_t kind = below(maker, 100);

	maker->ts_ns += 1 + below(maker, 2 * STEP_NS);
	if (kind < 70)
		make_launch(maker, thread);
	else if (kind < 80)
		make_copy(maker, thread);
	else if (kind < 94 && held < BLOCKS && (below(maker, 2) || held < BLOCKS / 2))
		make_alloc(maker, thread);
	else if (kind < 94)
		make_free(maker, thread);
	else
		make_sync(maker, thread);
}

static void make_process(struct maker *maker, uint16_t type)
{
	struct ms_process process = { .event = header_of(maker, 0, type, sizeof(process)),
				      .comm = "bench" };

	add(maker, &process);
}

static int make(struct maker *maker, uint64_t events)
{
	struct properties end = { 0 };
	int err;

	maker->alloc = probe_find("cudaMalloc");
	maker->alloc_inner = probe_find("cuMemAlloc_v2");
	maker->release = probe_find("cudaFree");
	maker->release_inner = probe_find("cuMemFree_v2");
	maker->copy = probe_find("cudaMemcpyAsync");
	maker->launch = probe_find("cudaLaunchKernel");
	maker->sync = probe_find("cudaStreamSynchronize");
	err = dump_writer_segment(maker->writer, &maker->pipeline.state, maker->ts_ns);
	if (err)
		return err;
	make_process(maker, MS_TYPE_ATTACH);
	while (!maker->err && maker->events + 1 < events)
		make_event(maker);
	make_process(maker, MS_TYPE_EXIT);
	properties_put_u64(&end, "end_ns", maker->ts_ns);
	err = dump_writer_end(maker->writer, &end, maker->ts_ns);
	properties_fini(&end);
	return maker->err ? maker->err : err;
}

/* From a program this small: what a process was before it executed another counts in its RSS. */
static int time_command(char **command)
{
	struct rusage used;
	pid_t pid = fork();
	int status;

	if (!pid) {
		execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) < 0)
		return 1;
	printf("%.2f %ld\n",
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
	       used.ru_maxrss);
	return status != 0;
}

int main(int argc, char **argv)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	const struct dump_writer_options options = {
		.recording = 0xbe7c4, .write = write_block, .describe = describe, .context = maker
	};
	uint64_t events;
	int err;

	if (argc > 2 && !strcmp(argv[1], "time"))
		return time_command(argv + 2);
	if (argc != 3 || !maker || string_parse_u64(argv[1], 2, UINT64_MAX, &events)) {
		fprintf(stderr, "usage: dumps EVENTS FILE\n");
		return 2;
	}
	maker->random = 88172645463325252;
	maker->ts_ns = maker->flushed_ns = 1000000000;
	maker->next_addr = 0x7f0000000000;
	maker->writer = dump_writer_new(&options);
	err = maker->writer ? dump_file_open(&maker->file, argv[2], "remove it first") : -ENOMEM;
	if (!err)
		err = make(maker, events);
	if (!err)
		printf("%llu events, %llu bytes\n", (unsigned long long)maker->events,
		       (unsigned long long)dump_writer_counts(maker->writer)->bytes);
	dump_file_close(&maker->file);
	dump_writer_free(maker->writer);
	state_fini(&maker->pipeline.state);
	free(maker);
	return err != 0;
}
