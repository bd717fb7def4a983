/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The record that says who a process is.
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_IDENTITY_RECORD_H
#define MEMSCOPE_CAPTURE_RECORDS_IDENTITY_RECORD_H

#include "abi.h"
#include "base/string.h"
#include "capture/records/whos.h"
#include "event/identity.h"
#include "host/name_sources.h"
#include "host/process_facts.h"
#include "host/users.h"

/* A zeroed one is ready. */
struct identity_maker {
	bool lines;                 /* command lines, too */
	struct name_sources *names; /* of containers and pods; NULL: none has one */
	const char *cgroup;         /* as in struct process_facts_wish */
	/* Of the process that is asked for next; NULL: it is seen for the first time. */
	struct title *title;
	const struct identity *before;   /* what was known of the same program */
	struct whos whos;                /* what the kernel side has said */
	struct process_facts facts;      /* the last that were known */
	struct process_facts read, said; /* room for the next: of /proc, of the kernel side */
	struct ms_event facts_of;        /* the process that they are of */
	uint64_t facts_ns;               /* CLOCK_MONOTONIC: when they were read */
	struct users users;
	struct string record;
};

/*
 * What is known of the process now, as of the time of the record that is to follow. Without texts
 * if it has ended, was not looked at after that time, and the kernel side has not said who it is.
 * It lives until the next call; NULL without memory.
 */
struct ms_identity *identity_record_make(struct identity_maker *maker, const struct ms_event *next);

void identity_record_fini(struct identity_maker *maker);

#endif /* MEMSCOPE_CAPTURE_RECORDS_IDENTITY_RECORD_H */
