/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What makes a flight recorder write bundles: when each is due, how many there are, which make way
 * for others, and what has become of those that failed.
 */
#ifndef MEMSCOPE_STORE_TRIGGERS_H
#define MEMSCOPE_STORE_TRIGGERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/oom_watch.h"
#include "base/string.h"
#include "store/bundle.h"

enum trigger_kind {
	TRIGGER_OOM,    /* memory ran out, and it is known how it ended, or has been waited for */
	TRIGGER_SIGNAL, /* a signal asks for one */
	TRIGGER_LIMIT,  /* an amount of memory is reached */
	TRIGGER_EXIT,   /* the recording ends */
	TRIGGERS_COUNT,
};

/* A bundle because memory ran out, which may make way for another. */
struct oom_bundle {
	struct string name; /* with a byte 0; empty: there is none */
	uint64_t device, inode;
	enum oom_outcome outcome;
	uint32_t pid;
	uint64_t written_ns;
};

/* What became of bundles so far. */
struct bundle_counts {
	uint64_t written;
	uint64_t failed;   /* attempts, of which each is made again */
	uint64_t withheld; /* by the limits of how many there may be */
	bool waits;        /* one that is due has not been written */
};

#define OOM_BUNDLES_KEPT 8     /* each is as large as the ring */
#define OOM_BUNDLES_AN_HOUR 60 /* that can be asked for at most */

struct trigger {
	bool pulled; /* until its bundle is written */
	bool told;   /* that there will be no more */
	uint32_t written;
	uint32_t failures;      /* since the last one */
	uint64_t not_before_ns; /* the next */
};

struct triggers {
	uint32_t asked; /* bit set of enum trigger_kind */
	struct trigger kinds[TRIGGERS_COUNT];
	struct string bundle; /* the last one's name, with a byte 0 */
	uint64_t left_out;    /* there were too many of that kind already */
	uint64_t failed;      /* attempts to write one */
	int said;             /* -errno: why they failed since one was written; 0: none has */
	uint32_t most_asked;  /* bundles of TRIGGER_SIGNAL; 0: five */

	/* For TRIGGER_OOM: */
	uint32_t an_hour;                         /* at most; half of them for one process */
	enum oom_outcome outcome;                 /* the gravest since the last bundle, */
	uint32_t pid;                             /* and of which process, */
	uint64_t failed_ns;                       /* which was refused last then */
	struct oom_bundle kept[OOM_BUNDLES_KEPT]; /* in the order in which they were written */
	uint32_t kept_count;
	struct {
		uint64_t ts_ns;
		uint32_t pid;
	} lately[OOM_BUNDLES_AN_HOUR]; /* a ring of those that were written */
	uint32_t lately_next;
};

void triggers_fini(struct triggers *triggers);

bool triggers_asked(const struct triggers *triggers, enum trigger_kind which);

/*
 * Whether what will be written in the end could be: the dump at `path` itself, if nothing was asked
 * for, or the bundle of TRIGGER_EXIT. Returns 0, or -EEXIST or -ENOMEM, logged.
 */
int triggers_check_names(const struct triggers *triggers, const char *path);

/* Something has happened; `at_once`: a failure of before does not make it wait. */
void triggers_pull(struct triggers *triggers, enum trigger_kind which, bool at_once);

/*
 * It is known how a request for memory ended that had failed (last at `failed_ns`), or it has been
 * waited for long enough: a bundle is due, unless that process has had its share.
 */
void triggers_pull_oom(struct triggers *triggers, uint32_t pid, uint64_t failed_ns,
		       enum oom_outcome outcome, uint64_t now_ns);

/*
 * Takes one that is pulled, asked for and due (`now_or_never`: it is): a bundle is to be written.
 * Returns whether there is; a trigger beyond the limit is reported and ignored.
 */
bool triggers_take(struct triggers *triggers, enum trigger_kind which, uint64_t now_ns,
		   bool now_or_never);

/* What a bundle's end gives as the reason; NULL: that of the recording's end. */
const char *triggers_reason(enum trigger_kind which);

/* And, beside it, of which failure that bundle is. */
void triggers_describe_end(const struct triggers *triggers, enum trigger_kind which,
			   struct properties *end);

/*
 * Writes a bundle; its suffix and number are set here. If that fails, it is due again after a
 * while. Returns 0 or -errno, logged.
 */
int triggers_write(struct triggers *triggers, enum trigger_kind which, struct bundle *bundle);

/* Whether one that was asked for has not been written. */
bool triggers_missing(const struct triggers *triggers);

struct bundle_counts triggers_counts(const struct triggers *triggers);

#endif /* MEMSCOPE_STORE_TRIGGERS_H */
