// SPDX-License-Identifier: BSD-2-Clause
/*
 * What keeping the account costs: `make bench-ledger`. Operations per second of CPU time while so
 * many allocations are live, and what each takes of memory; of the ledger alone, of the whole way
 * of a record as it lies in a ring buffer, and of that with the analysis behind it. Needs neither
 * root nor CUDA.
 *
 * An operation is an allocation or a free (which is two records). Freed addresses are handed out
 * again after a while, as allocators do. What is to be done is written down before the clock runs.
 *
 * usage: ledger [ROUNDS [LIVE ...]]
 */
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "ledger/ledger.h"
#include "event/probe.h"
#include "pipeline.h"
#include "quantile.h"

#define ROUNDS 5
#define MAX_ROUNDS 100
#define CHUNK 65536     /* operations between two looks at the clock: some ring buffers full */
#define REST 4096       /* how many addresses are free at a time: reuse is soon, but not at once */
#define BLOCK_BYTES 512 /* CUDA's smallest distance between two blocks */
#define FIRST_ADDR 0x7f0000000000ull
#define PID 4711

#define RECORD_BYTES (sizeof(struct ms_free) + sizeof(struct ms_call))

struct operation {
	uint64_t addr;
	bool is_free;
};

enum order { ORDER_OLDEST, ORDER_RANDOM };

/* The program whose allocations are accounted for. */
struct program {
	uint64_t *live; /* addresses, a ring from the oldest to the youngest */
	size_t capacity, count, oldest;
	uint64_t rest[REST]; /* free addresses, a ring too */
	size_t rest_next;
	uint64_t random, ts_ns;
};

/* One of the ways to keep the account. */
struct account {
	const char *name;
	void (*run)(struct account *account, size_t count);
	const struct operation *operations;
	struct ledger ledger;
	struct pipeline pipeline;
	struct sink sink, *sinks[1];
	struct analysis *analysis;
	bool analyses;
	char *records; /* as they lie in a ring buffer, made from the operations */
	size_t records_bytes;
	uint64_t ts_ns;
	uint16_t alloc_row, free_row;
};

static void die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static void *reserve(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		die("out of memory");
	memset(memory, 0xff, bytes); /* it is there before anything is measured */
	return memory;
}

static double cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1e9 + used.tv_nsec;
}

static double resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!file || fscanf(file, "%*u %lu", &pages) != 1)
		die("/proc/self/statm cannot be read");
	fclose(file);
	return (double)pages * sysconf(_SC_PAGESIZE);
}

/* ---- the program ----------------------------------------------------------------------------- */

static uint64_t random_next(struct program *program)
{
	/* xorshift64 (Marsaglia, 2003) */
	program->random ^= program->random << 13;
	program->random ^= program->random >> 7;
	program->random ^= program->random << 17;
	return program->random;
}

static struct operation program_alloc(struct program *program, uint64_t addr)
{
	program->live[(program->oldest + program->count++) % program->capacity] = addr;
	return (struct operation){ .addr = addr };
}

static struct operation program_free(struct program *program, enum order order)
{
	uint64_t *oldest = &program->live[program->oldest], *victim = oldest, addr;

	if (order == ORDER_RANDOM)
		victim = &program->live[(program->oldest + random_next(program) % program->count) %
					program->capacity];
	addr = *victim;
	*victim = *oldest;
	program->oldest = (program->oldest + 1) % program->capacity;
	program->count--;
	return (struct operation){ .addr = addr, .is_free = true };
}

/* A new allocation takes the address that has been free for longest. */
static uint64_t reuse(struct program *program, uint64_t freed)
{
	uint64_t *place = &program->rest[program->rest_next++ % REST], addr = *place;

	*place = freed;
	return addr;
}

static void program_init(struct program *program, size_t live)
{
	size_t i;

	*program = (struct program){ .live = reserve(live * sizeof(uint64_t)),
				     .capacity = live,
				     .random = 88172645463325252ull };
	for (i = 0; i < REST; i++)
		program->rest[i] = FIRST_ADDR + (live + i) * BLOCK_BYTES;
}

/* ---- the accounts ---------------------------------------------------------------------------- */

static void run_ledger(struct account *account, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const struct operation *operation = &account->operations[i];
		struct allocation allocation = { .addr = operation->addr,
						 .size_bytes = BLOCK_BYTES };

		if (operation->is_free ?
			    !ledger_remove(&account->ledger, operation->addr, &allocation) :
			    ledger_insert(&account->ledger, &allocation) != 0)
			die("the ledger is wrong");
	}
}

static void run_pipeline(struct account *account, size_t count)
{
	size_t at = 0;

	(void)count;
	while (at < account->records_bytes) {
		struct ms_event *record = (void *)(account->records + at);

		if (pipeline_feed(&account->pipeline, record, record->size))
			die("the pipeline has failed");
		at += record->size;
	}
}

static int analyse(struct sink *sink, const struct event *event, const struct change *change)
{
	struct account *account = (void *)((char *)sink - offsetof(struct account, sink));

	return analysis_event(account->analysis, event, change);
}

static void account_begin(struct account *account)
{
	const struct analysis_options options = analysis_defaults();

	if (!account->analyses)
		return;
	account->analysis = analysis_new(&account->pipeline.state, &options);
	if (!account->analysis)
		die("out of memory");
	account->pipeline.filter.ops = ~0u;
	account->sink.call = account->sink.process = analyse;
	account->pipeline.sinks_count = 0;
	pipeline_add_sink(&account->pipeline, &account->sink);
}

static void account_end(struct account *account)
{
	if (account->analysis && analysis_finish(account->analysis, 0, NULL))
		die("the analysis has failed");
	analysis_free(account->analysis);
	account->analysis = NULL;
	ledger_fini(&account->ledger);
	state_fini(&account->pipeline.state);
}

static void write_record(struct account *account, const void *record, size_t length)
{
	memcpy(account->records + account->records_bytes, record, length);
	account->records_bytes += length;
}

static struct ms_event event_of(struct account *account, enum ms_type type, size_t length)
{
	return (struct ms_event){ .ts_ns = account->ts_ns += 1000,
				  .start_ns = MS_START_NS,
				  .pid = PID,
				  .tid = PID,
				  .type = type,
				  .size = length };
}

static void write_operation(struct account *account, const struct operation *operation)
{
	uint16_t row = operation->is_free ? account->free_row : account->alloc_row;
	struct ms_call call = { .addr = operation->addr,
				.row = row,
				.driver_row = MS_NO_ROW,
				.known = MS_KNOWN_ADDR | MS_KNOWN_RESULT | MS_KNOWN_CONTEXT,
				.context = 0x1000,
				.duration_ns = 100 };

	if (operation->is_free) {
		struct ms_free begun = { .addr = operation->addr, .row = row };

		begun.event = event_of(account, MS_TYPE_FREE_BEGIN, sizeof(begun));
		write_record(account, &begun, sizeof(begun));
	} else {
		call.size = BLOCK_BYTES;
		call.known |= MS_KNOWN_SIZE;
	}
	call.event = event_of(account, MS_TYPE_CALL, sizeof(call));
	write_record(account, &call, sizeof(call));
}

static int row_of(const char *symbol)
{
	int row = probe_find(symbol);

	if (row < 0)
		die("the probe table has changed");
	return row;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Returns the CPU time of what was done, in ns. */
static double run_chunk(struct account *account, size_t count)
{
	double start;
	size_t i;

	account->records_bytes = 0;
	for (i = 0; account->records && i < count; i++)
		write_operation(account, &account->operations[i]);
	start = cpu_ns();
	account->run(account, count);
	return cpu_ns() - start;
}

static double fill(struct account *account, struct program *program, struct operation *operations)
{
	double ns = 0;
	size_t count;

	while (program->count < program->capacity) {
		for (count = 0; count < CHUNK && program->count < program->capacity; count++)
			operations[count] =
				program_alloc(program, FIRST_ADDR + program->count * BLOCK_BYTES);
		ns += run_chunk(account, count);
	}
	return ns;
}

/* Every free is followed by an allocation, until as many as are live have been replaced. */
static double churn(struct account *account, struct program *program, struct operation *operations,
		    enum order order)
{
	size_t replaced = 0, count;
	double ns = 0;

	while (replaced < program->capacity) {
		for (count = 0; count < CHUNK; count += 2, replaced++) {
			operations[count] = program_free(program, order);
			operations[count + 1] =
				program_alloc(program, reuse(program, operations[count].addr));
		}
		ns += run_chunk(account, count);
	}
	return ns / (2.0 * replaced);
}

struct result {
	double fill[MAX_ROUNDS], oldest[MAX_ROUNDS], random[MAX_ROUNDS]; /* ns per operation */
	double bytes[MAX_ROUNDS];                                        /* per allocation */
};

static void measure(struct account *account, struct result *result, size_t live, size_t round)
{
	struct operation *operations = reserve(CHUNK * sizeof(*operations));
	struct program program;
	double before;

	program_init(&program, live);
	account->operations = operations;
	before = resident_bytes();
	result->fill[round] = fill(account, &program, operations) / live;
	result->bytes[round] = (resident_bytes() - before) / live;
	result->oldest[round] = churn(account, &program, operations, ORDER_OLDEST);
	result->random[round] = churn(account, &program, operations, ORDER_RANDOM);
	free(program.live);
	free(operations);
}

/* The quantiles of a rate are those of its inverse, the other way round. */
static void print_rate(double *ns, size_t rounds)
{
	printf(" %.1f [%.1f, %.1f] |", 1e3 / quantile(ns, rounds, 0.5),
	       1e3 / quantile(ns, rounds, 0.9), 1e3 / quantile(ns, rounds, 0.1));
}

static void bench(struct account *account, size_t live, size_t rounds)
{
	static struct result result;
	size_t round;

	for (round = 0; round < rounds; round++) {
		account_begin(account);
		measure(account, &result, live, round);
		account_end(account);
	}
	printf("| %s, %zu live |", account->name, live);
	print_rate(result.fill, rounds);
	print_rate(result.oldest, rounds);
	print_rate(result.random, rounds);
	printf(" %.1f |\n", quantile(result.bytes, rounds, 0.5));
}

int main(int argc, char **argv)
{
	static const size_t usual[] = { 2000000, 10000 };
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : ROUNDS, i;
	size_t count = argc > 2 ? (size_t)argc - 2 : sizeof(usual) / sizeof(*usual);
	struct account accounts[] = {
		{ .name = "ledger alone", .run = run_ledger },
		{ .name = "records", .run = run_pipeline },
		{ .name = "records, analysed", .run = run_pipeline, .analyses = true },
	};
	const size_t accounts_count = sizeof(accounts) / sizeof(*accounts);

	if (rounds < 1 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: ledger [ROUNDS [LIVE ...]]\n");
		return 2;
	}
	/* What is freed goes back at once, or the next round would not be seen to take any. */
	mallopt(M_MMAP_THRESHOLD, 1 << 16);
	for (i = 1; i < accounts_count; i++) {
		accounts[i].alloc_row = row_of("cuMemAlloc_v2");
		accounts[i].free_row = row_of("cuMemFree_v2");
		accounts[i].records = reserve(CHUNK * RECORD_BYTES);
	}
	printf("| million operations/s of one core, median [p10, p90] | allocations alone "
	       "| the oldest is replaced | any is replaced | bytes per allocation |\n"
	       "|---|---|---|---|---|\n");
	for (i = 0; i < accounts_count * count; i++) {
		size_t which = i / accounts_count;
		size_t live = argc > 2 ? strtoul(argv[2 + which], NULL, 10) : usual[which];

		if (live)
			bench(&accounts[i % accounts_count], live, rounds);
	}
	for (i = 1; i < accounts_count; i++)
		free(accounts[i].records);
	return 0;
}
