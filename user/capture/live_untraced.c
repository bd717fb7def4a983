// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tells of descendants of traced processes that use CUDA and are not traced.
 */
#include "base/log.h"
#include "base/string.h"
#include "capture/live_internal.h"
#include "capture/targets/scope.h"
#include "capture/targets/untraced_children.h"

/* Each of them once, up to a number at which it is clear that there are many. */
static bool is_news(const struct live *live, pid_t pid)
{
	size_t i;

	for (i = 0; i < live->untraced_count; i++)
		if (live->untraced[i] == pid)
			return false;
	return live->untraced_count < LIVE_UNTRACED;
}

void live_warn_untraced(struct live *live, pid_t pid, const struct proc_mapping *mapping)
{
	struct proc_info info;

	if (live->stopping || scope_is_open(&live->options.scope) || !is_news(live, pid) ||
	    !untraced_children_uses_cuda(&live->targets, pid, mapping) || proc_read(pid, &info) ||
	    info.zombie)
		return;
	live->untraced[live->untraced_count++] = pid;
	log_warning("process %d (%s), a descendant of a traced one, has mapped the CUDA driver and"
		    " is not traced: %s%s",
		    pid, info.comm,
		    live->options.follow ? "trace it with -p" :
					   "use -f to trace child processes, too",
		    live->untraced_count == LIVE_UNTRACED ? "; further ones are not reported" : "");
}

static int stop_at_first(const struct proc_mapping *mapping, void *context)
{
	(void)mapping;
	(void)context;
	return 1;
}

/* One that cannot be looked into is no cure. Returns how many can. */
static size_t append_traceable(struct string *names, const pid_t *pids, size_t count)
{
	size_t i, traceable = 0;

	for (i = 0; i < count; i++) {
		if (proc_each_mapping(pids[i], stop_at_first, NULL) < 0)
			continue;
		string_append_format(names, "%s%d", names->length ? "," : "", pids[i]);
		traceable++;
	}
	return traceable;
}

/* Before anything is attached to: it takes a while, and what will be followed is not there yet. */
void live_warn_untraced_before(struct live *live)
{
	const struct live_options *options = &live->options;
	pid_t found[LIVE_UNTRACED];
	size_t count =
		untraced_children_find(options->pids, options->pids_count, found, LIVE_UNTRACED);
	const size_t named = count < LIVE_UNTRACED ? count : LIVE_UNTRACED;
	struct string names = { 0 }, cure = { 0 };

	live->untraced_before = count;
	append_traceable(&names, options->pids, options->pids_count);
	/* If it lacked one of them it would not do what it says. */
	if (append_traceable(&names, found, named) == named && names.length)
		string_append_format(&cure, "; with %s: -p %.*s%s", count == 1 ? "it" : "them",
				     (int)names.length, names.bytes,
				     count > LIVE_UNTRACED ? ",..." : "");
	if (count)
		log_warning("%zu descendant%s of these processes %s the CUDA driver mapped and will"
			    " not be traced%.*s",
			    count, count == 1 ? "" : "s", count == 1 ? "has" : "have",
			    (int)cure.length, cure.length ? cure.bytes : "");
	string_fini(&names);
	string_fini(&cure);
}

size_t live_untraced(const struct live *live)
{
	return live->untraced_before + live->untraced_count;
}
