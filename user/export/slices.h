/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of a thread as slices that nest; a part of export/traces.h.
 */
#ifndef MEMSCOPE_EXPORT_SLICES_H
#define MEMSCOPE_EXPORT_SLICES_H

#include "export/traces.h"

/* A call of the thread. `change` has the kernel's name as traces keeps it. */
void slices_take(struct traces *traces, struct traces_thread *thread, const struct event *event,
		 const struct change *change);

/* The lane of the thread, or of the stream, in which nothing is told after that time yet. */
struct traces_thread *slices_lane(struct traces *traces, struct traces_thread *thread,
				  uint64_t begin_ns);

/* The thread with all of its lanes. What is kept of it is not told any more. */
void slices_free(struct traces *traces, struct traces_thread *thread);

/* Which fields traces_fields() puts. */
void slices_choose_fields(struct traces *traces);

/* Nothing comes any more that could be around what is kept back. */
void slices_end(struct traces *traces, struct traces_thread *thread);

#endif /* MEMSCOPE_EXPORT_SLICES_H */
