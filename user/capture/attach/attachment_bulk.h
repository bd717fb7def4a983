/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of an attachment that is on the functions of bulk calls, if it is apart
 * (programs_apart()): it can be removed, and come back, while the rest stays.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_ATTACHMENT_BULK_H
#define MEMSCOPE_CAPTURE_ATTACH_ATTACHMENT_BULK_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/attach/attachment.h"

struct attachment_bulk;

/*
 * Gives the attachment, which has all others, its probes of bulk calls; none for the time being, if
 * they are not wanted (programs_wants_bulk()), or cannot be attached, which is logged: then they
 * are missing. Returns 0 or -errno: then it is closed as a whole.
 */
int attachment_bulk_open(struct attachment *attachment, struct programs *programs,
			 const struct attachment_site *site, struct detacher *detacher);
void attachment_bulk_close(struct attachment_bulk *bulk); /* NULL does nothing */

/*
 * Removes them, without waiting for it to be done, or attaches them again, as they are wanted. What
 * the process has changed by now gets none. Returns 0, or -errno, logged: then there are none.
 */
int attachment_bulk_set(struct attachment *attachment, struct programs *programs);

/*
 * Notes that they do not come back for the time being. Returns whether that is new since they were
 * there; false, too, if they are not apart.
 */
bool attachment_bulk_hold(struct attachment *attachment);

/* Whether they are wanted, and not there: held, or they could not be attached. */
bool attachment_bulk_is_missing(const struct attachment *attachment,
				const struct programs *programs);

/* Whether the function of that row is one of these. */
bool attachment_bulk_has(const struct attachment_bulk *bulk, uint32_t row);

/* What is attached to them; nothing while they are removed. */
const struct attachment *attachment_bulk_probes(const struct attachment_bulk *bulk);

#endif /* MEMSCOPE_CAPTURE_ATTACH_ATTACHMENT_BULK_H */
