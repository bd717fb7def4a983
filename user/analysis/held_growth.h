/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growth to the end, or until memory was refused for good: what cannot become more has not levelled
 * off. A part of the analysis; docs/rules.md explains it (leak-growth).
 */
#ifndef MEMSCOPE_ANALYSIS_HELD_GROWTH_H
#define MEMSCOPE_ANALYSIS_HELD_GROWTH_H

#include "analysis/growth.h"

/*
 * If memory is refused, what has grown until now is noted down in its groups, also of tensors.
 * Returns 0 or -ENOMEM.
 */
int held_growth_event(struct process_activity *activity, const struct event *event,
		      const struct change *change);

size_t held_growth_bytes(const struct process_activity *activity);

/* As growth_of(), which is asked first; else what was noted down, if refusals have held it. */
bool held_growth_of(const struct growth_view *view, const struct family *family,
		    const struct analysis_options *options, struct growth *growth);

#endif /* MEMSCOPE_ANALYSIS_HELD_GROWTH_H */
