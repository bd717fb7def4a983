/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of calls that failed because memory had run out: who held what then, how it ended,
 * why, and what would have helped.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_EPISODE_H
#define MEMSCOPE_ANALYSIS_OOM_EPISODE_H

#include "analysis/finding.h"
#include "analysis/oom_watch.h"
#include "ledger/state.h"

/* clang-format off */
#define OOM_CAUSES(X) \
	X(UNKNOWN,       "unknown") \
	X(TOO_LARGE,     "too-large")     /* more was asked for than there could ever be */ \
	X(LEAK,          "leak")          /* what has leaked holds most of what is in use */ \
	X(STEADY,        "steady-growth") /* from one place, block by block until then, none freed */ \
	X(CACHED,        "cached")        /* the program's own allocator keeps what it does not use */ \
	X(FULL,          "full")          /* the program itself needs more than there is */ \
	X(CO_TENANT,     "co-tenant")     /* other processes hold most of what is in use */ \
	X(FRAGMENTATION, "fragmentation") /* enough is free, but not in one piece */ \
	X(POOLED,        "pooled")        /* what pools hold and do not use would have sufficed */ \
	X(ADDRESSES,     "addresses")     /* addresses could not be reserved or mapped */ \
	X(LIMIT,         "limit")         /* the process may use only a part of the device */ \
	X(UNEXPLAINED,   "unexplained")   /* most of what is in use is in no account */

/* What would have had to be different, so that it would have fit. */
#define OOM_REMEDIES(X) \
	X(LEAK,     "no-leak")         /* the growth had not been */ \
	X(CACHE,    "cache-given-back") /* what the program gave back afterwards */ \
	X(POOL,     "pool-trimmed") \
	X(PROCESS,  "less-elsewhere")  /* another process had held so much less */ \
	X(LIMIT,    "higher-limit")    /* of so much */ \
	X(LESS,     "less")            /* so much less had been asked for, or held */
/* clang-format on */

enum oom_cause {
#define X(cause, name) OOM_##cause,
	OOM_CAUSES(X)
#undef X
		OOM_CAUSES_COUNT,
};

const char *analysis_oom_cause_name(enum oom_cause cause);

enum oom_remedy_kind {
#define X(kind, name) OOM_REMEDY_##kind,
	OOM_REMEDIES(X)
#undef X
		OOM_REMEDIES_COUNT,
};

const char *analysis_oom_remedy_name(enum oom_remedy_kind kind);

/* Only where the size of the device is known. */
struct oom_remedy {
	enum oom_remedy_kind kind;
	uint64_t bytes;
	uint32_t pid; /* of PROCESS: whose */
	char comm[MS_COMM_BYTES];
};

/* Of an allocator of the program's own, when a request of the driver failed. */
enum oom_allocator {
	OOM_ALLOCATOR_UNKNOWN,
	OOM_ALLOCATOR_CACHES,  /* segments without blocks would have sufficed */
	OOM_ALLOCATOR_IN_BITS, /* so would what is free between blocks, in one piece */
	OOM_ALLOCATOR_USED,    /* neither */
};

#define OOM_TOP 10   /* holders of each kind that are listed */
#define OOM_KINDS 16 /* of one process: the first that are found */
#define OOM_MAX 16   /* episodes that are described; the others are counted */

struct oom_kind {
	uint8_t space;
	uint16_t row;
	struct amount live;
};

struct oom_process {
	uint32_t pid;
	uint64_t start_ns;
	char comm[MS_COMM_BYTES];
	char name[IDENTITY_NAME_BYTES];   /* what to call it; set once all has been found */
	struct amount live;               /* on the device */
	bool held_before;                 /* it ran before it was attached to: at least so much */
	struct oom_kind kinds[OOM_KINDS]; /* of that, and of managed memory */
	size_t kinds_count;
};

/* Another process that held memory of the device. */
struct oom_holder {
	uint32_t pid;
	uint64_t start_ns;
	char comm[MS_COMM_BYTES];
	uint64_t bytes;
	uint64_t live_bytes; /* of that, allocated while it was traced, and not freed */
};

/* Who held the rest of the device, and how full it was (analysis/oom_others.h). */
struct oom_others {
	bool sampled; /* NVML had said what is in use; else these are allocations alone */
	bool fresh;   /* less than oom_view_ns before the failure */
	uint64_t sample_ns;
	char uuid[MS_UUID_BYTES];
	uint64_t total_bytes, used_bytes; /* in the sample: that programs can have, and in use */
	uint64_t in_use_bytes;            /* when the call failed */
	uint64_t own_bytes;               /* of that, the process that failed */
	uint64_t bytes;                   /* of all others */
	uint64_t live_bytes;              /* of that, traced and allocated, as above */
	uint64_t untraced_bytes;          /* of that, processes that were not traced: so many */
	uint32_t untraced;
	struct oom_holder list[OOM_TOP]; /* traced ones, largest first */
	size_t count, more;
};

/* Allocations that were called from one stack. */
struct oom_site {
	uint32_t stack; /* id, of ledger/stacks.h: it need not be known there */
	struct amount live;
};

#define OOM_SERIES_PARTS 4 /* of the time from the first block to the failure */

/* Blocks of one size that a process made at one place, if they were most of what it held. */
struct oom_series {
	struct amount live; /* count 0: there is none */
	uint32_t stack;     /* id, where they were made; 0: not known */
	uint16_t row;
	uint8_t space;
	uint64_t block_bytes;
	uint64_t first_ns, last_ns;
	uint64_t made[OOM_SERIES_PARTS];
	uint64_t frees;   /* of blocks of about that size, from the same function */
	bool launched;    /* the process launched something meanwhile */
	bool made_before; /* before what was seen: parts end with the last block */
};

struct oom_block {
	uint32_t pid;
	uint64_t start_ns; /* with the pid, the process */
	struct allocation allocation;
};

/* What a program was told by cuMemGetInfo. */
struct oom_view {
	bool known;
	uint32_t pid; /* who was told: the one that failed, or one on the same device */
	char comm[MS_COMM_BYTES];
	uint64_t total_bytes, free_bytes, ts_ns;
};

/*
 * A thread's failures that belong together, and who held what at the last one. Unknown numbers have
 * a flag beside them.
 */
struct analysis_oom {
	uint64_t ts_ns, last_ts_ns; /* first and last failure */
	uint64_t failures;          /* so many */
	uint32_t pid, tid;
	uint64_t start_ns;
	char comm[MS_COMM_BYTES];
	char name[IDENTITY_NAME_BYTES]; /* likewise */
	uint16_t row;                   /* the call that failed last */
	uint8_t space;  /* that was asked for: of host memory, the rest is about host memory too */
	int32_t device; /* -1: unknown, then all devices are meant */
	bool requested_known;
	uint64_t requested_bytes;   /* the last time */
	struct oom_request request; /* what was asked, freed and told, and the outcome */
	struct amount first_own;    /* what the process held at the first failure */
	uint64_t figures_ts_ns;     /* the failure that what follows is about */

	/* The live set: sorted by bytes, largest first. Managed memory is in `kinds` and the blocks
	 * only: it may be anywhere. */
	struct amount live;    /* of all processes that were traced */
	struct amount own;     /* of the one that failed */
	struct amount managed; /* of all */
	struct amount unclear; /* of others, whose device may be the same for all that is known */
	bool held_before; /* some of them ran before they were attached to, and may hold more */
	bool own_before;  /* the one that failed did */
	struct oom_series series;
	struct amount growing;     /* part of `live` in kinds of allocations that only grow */
	struct amount own_growing; /* of that, in the process that failed */
	struct oom_process processes[OOM_TOP];
	size_t processes_count, more_processes;
	struct oom_kind kinds[OOM_TOP];
	size_t kinds_count;
	struct oom_site sites[OOM_TOP]; /* none without stacks */
	size_t sites_count;
	struct oom_block largest[OOM_TOP], newest[OOM_TOP];
	size_t largest_count, newest_count;

	struct oom_others others;

	/* What a program was told last before that about the device. */
	struct oom_view view;
	bool view_fresh;            /* younger than oom_view_ns */
	uint64_t taken_since_bytes; /* live, and allocated after that; of all if there is no view */
	uint64_t device_bytes;      /* of the device, used or not; 0: not known */
	uint64_t room_bytes;        /* that traced processes held more on the device before */

	/* What pools held and did not use, as cuMemPoolGetAttribute said last. */
	bool pools_known;
	uint64_t pooled_bytes, pools_ts_ns;
	uint64_t reserved_bytes; /* addresses that the process has reserved */

	/*
	 * Between live blocks of the process, by their addresses: what lies beyond them, and how
	 * the driver maps addresses to memory, cannot be seen. Holes larger than what the process
	 * has ever freed at once are left out: nothing was there.
	 */
	bool holes_known;
	uint64_t holes, holes_bytes, largest_hole_bytes;

	/* Signs of an allocator of the program's own: large blocks, few of them freed. */
	bool large_blocks, few_frees, is_torch;
	/* What its blocks and segments show, if it says what it does. */
	enum oom_allocator allocator;
	bool allocator_complete; /* all of them are known */
	/*
	 * The limit that the process's cgroup had on the device, as the kernel said last before the
	 * failure, or soon after it; and whether it left less than was asked for, of the cause.
	 */
	bool limit_known;
	uint64_t limit_ts_ns; /* when the kernel said what is taken; also if it is nothing */
	bool limit_is_sure;   /* that it is of this device, and not of another one */
	struct ms_limit limit;
	uint64_t limit_held_bytes; /* by the process on the device, when the kernel said that */
	bool limit_reached;
	bool evicted; /* a call said that an MPS client was terminated */

	enum oom_cause cause;
	enum finding_confidence confidence;
	const char *lowered_by; /* NULL: it is high */
	struct oom_remedy remedies[OOM_REMEDIES_COUNT];
	size_t remedies_count;
};

/* What was free at the last failure, if that is known. */
bool analysis_oom_free(const struct analysis_oom *oom, uint64_t *bytes);

/* Whether others held so much of the device that they are a part of the cause, whatever it is. */
bool analysis_oom_others_matter(const struct analysis_oom *oom);

/* Whether what the process held before it was attached to may be the cause. */
bool analysis_oom_lacks_own(const struct analysis_oom *oom);

/* Whether it might have fit if the process had had the device alone. */
bool analysis_oom_is_shared(const struct analysis_oom *oom);

#endif /* MEMSCOPE_ANALYSIS_OOM_EPISODE_H */
