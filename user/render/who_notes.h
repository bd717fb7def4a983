/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is strange about who holds a device's memory, and what could not be seen: in plain words,
 * with the possible reasons and what to type next.
 */
#ifndef MEMSCOPE_RENDER_WHO_NOTES_H
#define MEMSCOPE_RENDER_WHO_NOTES_H

#include "render/who.h"

#define WHO_REASONS 6
#define WHO_NO_DEVICE (-1)

struct who_note {
	struct string what;               /* a sentence; safe for terminals */
	const char *reasons[WHO_REASONS]; /* the likeliest first; NULL: there are no more */
	const char *command;              /* to be typed next; NULL: there is none */
};

struct who_notes {
	struct who_note *notes;
	size_t count, capacity;
	bool failed; /* there was no memory for some of them */
};

/* Those of a device, or those of no device. A zeroed struct who_notes is ready. */
void who_notes_make(struct who_notes *notes, const struct who *who, int64_t device);
void who_notes_fini(struct who_notes *notes);

#endif /* MEMSCOPE_RENDER_WHO_NOTES_H */
