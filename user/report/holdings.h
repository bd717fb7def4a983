/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each process holds of memory on devices, all kinds of it together (and managed memory), from
 * its first allocation on: its high-water mark, and how much it had when its initialisation was
 * over. Kept while a recording is replayed; a process that the state does not list any more is
 * forgotten.
 */
#ifndef MEMSCOPE_REPORT_HOLDINGS_H
#define MEMSCOPE_REPORT_HOLDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"
#include "ledger/state.h"

#define HOLDINGS_PIECES 64
#define HOLDINGS_FREES 16 /* that ended last */

/* When a process has set itself up. Both 0: when a share of its time is over. */
struct holdings_warmup {
	uint64_t ns;     /* after its first allocation */
	uint64_t allocs; /* or after so many */
};

struct holdings_process {
	size_t place; /* in the list */
	uint32_t pid;
	uint64_t start_ns; /* with the pid, the process */
	uint64_t bytes;    /* now */
	uint64_t peak_bytes, peak_ts_ns;
	uint64_t on_devices_bytes, on_devices_ts_ns; /* the peak without managed memory */
	/*
	 * The most that it may have held at a time. A free counts from its beginning on and an
	 * allocation from its end on; if another thread was in a free meanwhile, the driver may
	 * have done the allocation first.
	 */
	uint64_t most_bytes;
	struct holdings_free {
		uint64_t end_ns, bytes;
		uint32_t tid;
	} frees[HOLDINGS_FREES]; /* a ring */
	uint64_t frees_count;

	/* The times of the program that it runs: an exec begins anew. CLOCK_MONOTONIC. */
	uint64_t first_ns; /* when the first allocation returned; 0: there was none */
	uint64_t allocs;
	uint64_t width_ns;              /* of pieces of the time since then */
	size_t piece;                   /* that is the present one */
	uint64_t ends[HOLDINGS_PIECES]; /* bytes when a piece ended */
	/* Of calls that are work: when the first began and the last ended. 0: there is none. */
	uint64_t work_begin_ns, work_end_ns;
	bool warm; /* the warm-up is over: */
	uint64_t warm_ns, warm_bytes;
};

struct holdings {
	struct holdings_warmup warmup;
	struct holdings_process **list;
	size_t count, capacity;
	struct map by_identity; /* event_process_key() -> holding */
	struct holdings_process *last;
	uint64_t more_count; /* the state's, when it was looked at */
};

/* How much a process held when it had set itself up, and in the end. */
struct holdings_growth {
	uint64_t warm_ns; /* CLOCK_MONOTONIC */
	uint64_t before_bytes, after_bytes;
	bool estimated; /* the end of the initialisation is: by a share of the time */
};

void holdings_fini(struct holdings *holdings);
size_t holdings_bytes(const struct holdings *holdings);

/* What a sink of the pipeline gets. Returns 0 or -ENOMEM: then something is not known. */
int holdings_event(struct holdings *holdings, const struct state *state, const struct event *event,
		   const struct change *change);

/* For so long it worked, first call to last: asleep before or after, a program does not leak. */
uint64_t holdings_work_ns(const struct holdings_process *holding);

/* NULL: it has allocated nothing, and had nothing when it was seen. */
const struct holdings_process *holdings_find(const struct holdings *holdings, uint32_t pid,
					     uint64_t start_ns);

/* How much more than its high-water mark a process may have held; 0: it is exact. */
uint64_t holdings_unsure(const struct holdings_process *holding);

/*
 * `end_ns` is when the process ended, or the recording did; it held `after_bytes` then. Of the time
 * since its first allocation, `share` percent is initialisation if no warm-up was chosen. Returns
 * false if nothing can be said: it has allocated nothing, or not for long enough.
 */
bool holdings_grew(const struct holdings *holdings, const struct holdings_process *holding,
		   uint64_t end_ns, uint64_t after_bytes, uint64_t share,
		   struct holdings_growth *growth);

#endif /* MEMSCOPE_REPORT_HOLDINGS_H */
