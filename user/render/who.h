/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who holds memory of which device (host/holders.h), for people and as JSON.
 */
#ifndef MEMSCOPE_RENDER_WHO_H
#define MEMSCOPE_RENDER_WHO_H

#include "event/identity.h"
#include "host/dmem.h"
#include "host/holders.h"
#include "render/document.h"
#include "report/process_groups.h"

#define WHO_SCHEMA "memscope-bpf/who/1"

/* Who a process is. Nothing is known if it cannot be seen. */
struct who_process {
	struct identity identity;
	char name[IDENTITY_NAME_BYTES]; /* to call it by; "": not known */
	bool left_out;                  /* it is none of those that are asked for */
	size_t cgroup; /* the place of its own among `cgroups`, plus 1; 0: none is known */
};

struct who {
	const struct holders *holders;
	const struct who_process *processes; /* one for each of the holders */
	size_t left_out;                     /* so many of them */
	enum process_groups_by by;           /* what sums are of, besides */
	const struct dmem *cgroups; /* of the processes, where the kernel counts their memory */
	size_t cgroups_count;
};

/* One screen, if there are not too many of them. */
void who_append_text(struct document *document, const struct who *who);

/* An object in one line (docs/who.schema.json). */
void who_append_json(struct string *out, const struct who *who);

#endif /* MEMSCOPE_RENDER_WHO_H */
