/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was lost, how much and why, in words.
 */
#ifndef MEMSCOPE_RENDER_LOSSES_WORDS_H
#define MEMSCOPE_RENDER_LOSSES_WORDS_H

#include "base/string.h"
#include "event/losses.h"

/* What is lost less of if less is captured by `trace`. */
#define LOSSES_FEWER_EVENTS "fewer events (-e)"

/* "12 events and 3 other records" */
void losses_append_amount(struct string *out, const struct losses *losses);

/*
 * "a ring buffer was full; a larger --buffer, or `fewer`, would help; 4 of the lost events were not
 * tracked: ..." `fewer` NULL: nothing is captured any more. Nothing if nothing was lost.
 */
void losses_append_reasons(struct string *out, const struct losses *losses, const char *fewer);

#endif /* MEMSCOPE_RENDER_LOSSES_WORDS_H */
