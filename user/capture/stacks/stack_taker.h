/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What user space does for call stacks while capturing: tells the kernel side where the code of
 * each process is, and turns the addresses of a new stack into frames with names.
 */
#ifndef MEMSCOPE_CAPTURE_STACKS_STACK_TAKER_H
#define MEMSCOPE_CAPTURE_STACKS_STACK_TAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "capture/stacks/table_store.h"
#include "capture/targets/pythons.h"
#include "ledger/stacks.h"

struct stack_taker_options {
	int ranges_fd, tables_fd; /* maps of the kernel side: ms_stack_ranges, ms_unwind_tables */
	__u32 *generation;        /* of the kernel side's stacks: programs_stacks() */
	uint64_t table_bytes;     /* that all tables may take */
	const char *table_cache;  /* the directory where they are kept; NULL: nowhere */
	bool map_files;           /* FEATURE_MAP_FILES */
	bool native;              /* there are native frames */
	const struct pythons *pythons; /* who knows what Python frames are */
	/* What is done with the records that are made; non-zero ends the capture. */
	int (*feed)(void *context, void *record, size_t length);
	void *context;
};

struct stack_taker;

/* Returns 0 or -errno. */
int stack_taker_open(struct stack_taker **taker, const struct stack_taker_options *options);
void stack_taker_close(struct stack_taker *taker);

/*
 * Orders the tables of what a process is going to map when it executes that program
 * (capture/targets/load_prediction.h), and waits for all that were ordered, at most so many
 * milliseconds.
 */
void stack_taker_expect(struct stack_taker *taker, pid_t pid, const char *program);
void stack_taker_wait(struct stack_taker *taker, int ms);

/*
 * Looks at what a process has mapped: one that begins to be traced; one that has executed a program
 * then (CLOCK_MONOTONIC). All of these do nothing without a taker.
 */
void stack_taker_look(struct stack_taker *taker, pid_t pid);
void stack_taker_executed(struct stack_taker *taker, pid_t pid, uint64_t ts_ns);

/* A process has mapped code: it is looked at again with the next stack_taker_refresh(). */
void stack_taker_mapped(struct stack_taker *taker, pid_t pid);
void stack_taker_refresh(struct stack_taker *taker);

/* The process is gone. Stacks of it that come later have no names. */
void stack_taker_forget(struct stack_taker *taker, pid_t pid);

/*
 * Feeds what a stack of addresses is, new frames first, unless another process has had the same
 * (stack_taker_id()). Returns 0 or what `feed` returned.
 */
int stack_taker_take(struct stack_taker *taker, const struct ms_stack *record);

/* By which id a stack has been fed that the kernel side knows by this one. */
uint32_t stack_taker_id(const struct stack_taker *taker, uint32_t id);

/*
 * Stacks that these do not have are new ones if they come again. What is in the rings already may
 * have ids that are not known any more.
 */
void stack_taker_keep(struct stack_taker *taker, const struct stacks *stacks);

/*
 * To be called about once a second: lets go of files that no process has mapped any more, and of
 * ids, if there are too many: the kernel side, which knows fewer stacks than programs have, gives
 * one that comes again another id.
 */
void stack_taker_rest(struct stack_taker *taker);

/* CPU time of the processes that read files, nanoseconds; 0 without a taker. */
uint64_t stack_taker_cpu_ns(const struct stack_taker *taker);

#endif /* MEMSCOPE_CAPTURE_STACKS_STACK_TAKER_H */
