/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether what a process allocates only becomes more: of one size, of sizes that rise, or of any.
 * A part of the analysis; docs/rules.md explains it (leak-growth).
 */
#ifndef MEMSCOPE_ANALYSIS_GROWTH_H
#define MEMSCOPE_ANALYSIS_GROWTH_H

#include "analysis/families.h"

#define GROWTH_WINDOWS 8

/* As of when it is looked at. */
struct growth_view {
	const struct process_activity *activity;
	const struct activity_ending *before; /* as it was before these frees; NULL: as it is */
	unsigned int last;                    /* bucket */
	uint64_t end_ns;
};

/* What has been left behind while it grew. */
struct growth {
	struct amount left;
	struct amount by_window[GROWTH_WINDOWS]; /* the same, by when it was allocated */
	unsigned int windows; /* that left something behind, but for the last one */
	uint64_t first_ns, last_ns;
	uint64_t refused_ns; /* for so long after that, memory was refused: held_growth_of() */
	bool less_granted;   /* meanwhile: smaller blocks than those that were refused */
	bool until_end;      /* it was found before the frees with which the process ends */
	uint64_t launches;   /* meanwhile */
	uint64_t frees;      /* meanwhile, of anything, but for those with which the process ends */

	/* The groups that it is about: */
	struct amount live;
	uint64_t allocs, freed;
	uint64_t smallest, largest; /* bytes */
	unsigned int classes;
};

struct growth_view growth_view_now(const struct process_activity *activity);

/*
 * When a process is judged for the last time. The time of one that has exited ends with its last
 * work: an interpreter may take seconds to exit, in which nothing can grow.
 */
struct growth_view growth_view_last(const struct process_activity *activity);
struct growth_view growth_view_before(const struct process_activity *activity,
				      const struct activity_ending *ending);

/* Then the groups that grow are `picked`, and no others. */
bool growth_of(const struct growth_view *view, const struct family *family,
	       const struct analysis_options *options, struct growth *growth);

/* How the sizes of the blocks change; the words are constants. */
const char *growth_pattern(const struct growth *growth);

/* The mean size of what was left behind first and last, in bytes; false: it hardly changes. */
bool growth_rises(const struct growth *growth, uint64_t *first, uint64_t *last);

/* What of it lives, and the least that lived in a bucket, as of the view. */
struct amount growth_live(const struct growth_view *view, const struct group *group);
struct amount growth_born(const struct growth_view *view, const struct group *group,
			  unsigned int bucket); /* of what lives, what was made then */
struct amount growth_lowest(const struct growth_view *view, const struct group *group,
			    unsigned int bucket);

#endif /* MEMSCOPE_ANALYSIS_GROWTH_H */
