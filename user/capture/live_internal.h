/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What live.c (the loop) and live_targets.c (who is traced) share.
 */
#ifndef MEMSCOPE_CAPTURE_LIVE_INTERNAL_H
#define MEMSCOPE_CAPTURE_LIVE_INTERNAL_H

#include <signal.h>
#include <sys/resource.h>

#include "capture/records/identity_record.h"
#include "capture/records/launch_counts.h"
#include "capture/records/process_losses.h"
#include "capture/live.h"
#include "capture/targets/mappings.h"
#include "capture/attach/programs.h"
#include "capture/targets/spawn.h"
#include "capture/targets/target.h"

#define LIVE_UNTRACED 8 /* more are not told of */

struct live {
	struct live_options options;
	struct programs *programs;
	struct targets targets;
	struct launch_counts *launch_counts; /* NULL: each is recorded */
	struct process_losses losses;
	struct identity_maker identities;
	uint64_t losses_ns;        /* when they were last looked at */
	struct mappings *mappings; /* NULL: searched for once a second */
	struct spawn spawn;
	bool spawned;
	bool command_done;
	int command_status; /* as wait(2) gives it */
	struct loop *loop;
	struct loop_source *drain_timer;
	sigset_t signals;    /* that the loop handles */
	uint64_t drain_ns;   /* current period */
	uint64_t drained_ns; /* all that happened until then has been handed over, or is held up */
	sigset_t original_mask;
	struct rlimit original_files;
	uint64_t counted_ns; /* when counted launches were last looked at */
	bool stopping;
	bool detaching; /* still, when the capture is over */
	enum live_reason reason;
	uint64_t start_cpu_ns;
	uint64_t end_ns;          /* when the end began: detaching may take long */
	bool interrupted;         /* once already */
	int err;                  /* of the callbacks */
	uint64_t dropped_notices; /* how often records of mapped files were dropped */
	/* Descendants that use CUDA and are not traced, of which it has been told. */
	pid_t untraced[LIVE_UNTRACED];
	size_t untraced_count;
};

/* live.c */
int live_watch_exit(struct live *live, struct target *target);
int live_feed(struct live *live, void *record, size_t length);

/* Hands over everything that has happened so far; live_drain(): unless it is held up. */
void live_drain(struct live *live);
void live_drain_all(struct live *live);

/* live_targets.c. Each returns 0, or -errno, logged. */
int live_open_targets(struct live *live);
int live_announce_targets(struct live *live);
/* What the rings hand over. */
int live_take(void *context, void *record, size_t length);
/* For struct mappings_visitor: whether the scope is known to include the process. */
bool live_note_mapped(pid_t pid, const struct proc_mapping *mapping, void *context);
/* The process has mapped a file; `in_scope`: what live_note_mapped() said of it. */
void live_mapped(pid_t pid, const struct proc_mapping *mapping, uint64_t mapped_ns, bool in_scope,
		 void *context);
/* The same when nothing is attached to any more. */
void live_mapped_last(pid_t pid, const struct proc_mapping *mapping, uint64_t mapped_ns,
		      bool in_scope, void *context);
/* Looks for everything that may have been missed. */
void live_search(struct live *live);
/* A target has exited; its status if it is the command, whose record might have been lost. */
void live_forget(struct live *live, pid_t pid, const int *status);

#endif /* MEMSCOPE_CAPTURE_LIVE_INTERNAL_H */
