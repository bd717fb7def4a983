// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/oom_cause.h"
#include "analysis/oom_limit.h"

/* Blocks that may be looked at for figures: these, some for each event, and after a while all. */
#define WALK_ANYWAY (1ull << 20)
#define WALK_PER_EVENT 16
#define WALK_PAUSE_NS 100000000ull

void ooms_fini(struct ooms *ooms)
{
	free(ooms->list);
	*ooms = (struct ooms){ 0 };
}

/* ---- the list -------------------------------------------------------------------------------- */

/* What may make way: the oldest that ended well. */
static size_t find_lesser(const struct ooms *ooms)
{
	static const enum oom_outcome lesser[] = { OOM_RECOVERED, OOM_BACKED_OFF, OOM_HANDLED };
	size_t i, j;

	for (i = 0; i < sizeof(lesser) / sizeof(*lesser); i++)
		for (j = 0; j < ooms->count; j++)
			if (ooms->list[j].request.outcome == lesser[i])
				return j;
	return SIZE_MAX;
}

static void drop(struct ooms *ooms, size_t place)
{
	size_t i;

	ooms->count--;
	memmove(&ooms->list[place], &ooms->list[place + 1],
		(ooms->count - place) * sizeof(*ooms->list));
	for (i = 0; i < ooms->watch.count; i++) {
		struct oom_request *request = &ooms->watch.requests[i];

		if (request->place != SIZE_MAX && request->place > place)
			request->place--;
	}
}

/* NULL without memory, or if there is no place for it. */
static struct analysis_oom *add(struct ooms *ooms, struct oom_request *request)
{
	size_t lesser;

	if (!ooms->list)
		ooms->list = calloc(OOM_MAX, sizeof(*ooms->list));
	if (!ooms->list) {
		ooms->err = -ENOMEM;
		return NULL;
	}
	if (ooms->count == OOM_MAX) {
		ooms->not_listed++;
		lesser = find_lesser(ooms);
		if (lesser == SIZE_MAX)
			return NULL;
		drop(ooms, lesser);
	}
	request->place = ooms->count++;
	ooms->list[request->place] = (struct analysis_oom){ .ts_ns = request->first_ts_ns };
	return &ooms->list[request->place];
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void take_request(struct analysis_oom *oom, const struct oom_request *request)
{
	oom->request = *request;
	oom->last_ts_ns = request->last_ts_ns;
	oom->failures = request->failures;
	oom->pid = request->pid;
	oom->tid = request->tid;
	oom->start_ns = request->start_ns;
	oom->row = request->row;
	oom->space = request->space;
	oom->device = request->device;
	oom->requested_known = request->size_known;
	oom->requested_bytes = request->last_bytes;
}

/* All that is live is looked at: not for each failure of a program that tries for ever. */
static bool may_walk(struct ooms *ooms)
{
	const struct state *state = ooms->around->state;
	uint64_t blocks = 0;
	size_t i, key;

	for (i = 0; i < state->processes_count; i++)
		for (key = 0; key < LEDGERS_COUNT; key++)
			blocks += state->processes[i]->ledgers[key].count;
	if (ooms->walked + blocks > WALK_ANYWAY + ooms->events * WALK_PER_EVENT &&
	    ooms->around->now_ns < ooms->looked_ns + WALK_PAUSE_NS)
		return false;
	ooms->walked += blocks + 1;
	ooms->looked_ns = ooms->around->now_ns;
	return true;
}

static void look(struct ooms *ooms, struct analysis_oom *oom, const struct change *change)
{
	int err = 0;

	if (may_walk(ooms))
		err = oom_figures_take(oom, ooms->around, change->process, ooms->options);
	memcpy(oom->comm, change->process->comm, sizeof(oom->comm));
	if (err)
		ooms->err = err;
}

/* What is freed to try again says nothing of how a program works: its cache is emptied for it. */
static void note_retry_frees(const struct oom_around *around, const struct oom_request *request)
{
	size_t i;

	for (i = 0; around && request->freed_count && i < around->tracks_count; i++) {
		struct process_activity *activity = around->activities[i];

		if (activity->pid == request->pid && activity->start_ns == request->start_ns)
			activity->retry_frees += request->freed_count;
	}
}

static bool is_wrong(const struct oom_request *before)
{
	return before->outcome == OOM_RECOVERED ||
	       (before->outcome == OOM_BACKED_OFF && !before->granted_at_once);
}

/*
 * Requests that had ended as calls from elsewhere got memory: this is one more from the same place
 * that does not. So they have neither recovered nor backed off.
 */
static void revise(struct ooms *ooms, const struct oom_request *request)
{
	struct oom_refused_site *site =
		oom_sites_find(&ooms->watch.sites, request->pid, request->start_ns, request->stack);
	size_t i;

	/* Those that are not listed are counted all the same. */
	ooms->outcomes[OOM_RECOVERED] -= site->recovered;
	ooms->outcomes[OOM_BACKED_OFF] -= site->backed_off;
	ooms->outcomes[OOM_HANDLED] += site->recovered + site->backed_off;
	site->recovered = site->backed_off = 0;

	for (i = 0; i < ooms->count; i++) {
		struct oom_request *before = &ooms->list[i].request;

		if (before->site != site->number || !before->granted_elsewhere ||
		    !before->end_ts_ns)
			continue;
		before->refused_later += request->refused_again;
		if (!is_wrong(before))
			continue;
		before->outcome = OOM_HANDLED;
		before->granted_bytes = 0;
		oom_cause_find(&ooms->list[i], ooms->options);
	}
}

static void step(void *context, struct oom_request *request, enum oom_step what,
		 const struct event *event, const struct change *change)
{
	struct ooms *ooms = context;
	struct analysis_oom *oom = request->place != SIZE_MAX ? &ooms->list[request->place] : NULL;

	(void)event;
	if (request->refused_again && (what == OOM_BEGAN || what == OOM_FAILED_AGAIN))
		revise(ooms, request);
	if (what == OOM_BEGAN)
		oom = add(ooms, request);
	if (what == OOM_ENDED) {
		ooms->outcomes[request->outcome]++;
		note_retry_frees(ooms->around, request);
	}
	if (!oom)
		return;
	take_request(oom, request);
	if (what == OOM_ENDED)
		oom_cause_find(oom, ooms->options);
	else
		look(ooms, oom, change);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void prepare(struct ooms *ooms, const struct analysis_options *options)
{
	ooms->watch.step = step;
	ooms->watch.context = ooms;
	ooms->watch.retry_ns = options->oom_retry_ns;
	ooms->options = options;
}

int ooms_event(struct ooms *ooms, const struct oom_around *around, const struct event *event,
	       const struct change *change, const struct analysis_options *options)
{
	prepare(ooms, options);
	ooms->around = around;
	ooms->events++;
	ooms->failures += oom_watch_is_failure(event) ? event->count : 0;
	oom_watch_event(&ooms->watch, event, change);
	ooms->around = NULL;
	return ooms->err;
}

int ooms_limit(struct ooms *ooms, const struct process *process,
	       const struct analysis_options *options)
{
	const struct device_limits *limits = &process->limits;
	size_t i;

	for (i = 0; i < ooms->count; i++) {
		struct analysis_oom *oom = &ooms->list[i];

		if (oom->pid != process->pid || oom->start_ns != process->start_ns ||
		    !oom_limit_is_of(oom, limits->ts_ns))
			continue;
		oom_limit_take(oom, process);
		if (oom->request.outcome != OOM_OPEN)
			oom_cause_find(oom, options);
	}
	return 0;
}

int ooms_finish(struct ooms *ooms, const struct analysis_options *options, uint64_t now_ns)
{
	prepare(ooms, options);
	oom_watch_finish(&ooms->watch, now_ns);
	return ooms->err;
}

/* ---- findings -------------------------------------------------------------------------------- */

static void say_live(struct finding *finding, const struct analysis_oom *oom)
{
	if (!oom->live.count && !oom->unclear.count)
		return;
	finding_say(finding, "live bytes of all traced processes", FINDING_BYTES, oom->live.bytes);
	if (oom->live.bytes > oom->own.bytes) {
		finding_say(finding, "live bytes of this process", FINDING_BYTES, oom->own.bytes);
		finding_say(finding, "live bytes of the others", FINDING_BYTES,
			    oom->live.bytes - oom->own.bytes);
	}
	if (oom->unclear.bytes)
		finding_say(finding, "live bytes of others, on a device that may be the same",
			    FINDING_BYTES, oom->unclear.bytes);
	if (oom->growing.bytes)
		finding_say(finding, "live bytes in kinds that only grow", FINDING_BYTES,
			    oom->growing.bytes);
}

static void say_series(struct finding *finding, const struct analysis_oom *oom)
{
	const struct oom_series *series = &oom->series;

	if (!series->live.count)
		return;
	finding_say(finding, "live bytes from one place in equal blocks", FINDING_BYTES,
		    series->live.bytes);
	finding_say(finding, "these blocks", FINDING_COUNT, series->live.count);
	finding_say(finding, "made within", FINDING_NS, series->last_ns - series->first_ns);
	finding_say(finding, "frees of such blocks", FINDING_COUNT, series->frees);
}

static void say_known(struct finding *finding, const struct analysis_oom *oom)
{
	const struct oom_request *request = &oom->request;
	uint64_t total = request->told ? request->told_total_bytes : oom->view.total_bytes;
	uint64_t bytes;

	if (oom->view.known)
		finding_say(finding, "free bytes, as reported before", FINDING_BYTES,
			    oom->view.free_bytes);
	if (request->told)
		finding_say(finding, "free bytes, as reported afterwards", FINDING_BYTES,
			    request->told_free_bytes);
	if (analysis_oom_free(oom, &bytes) && (!request->told || bytes != request->told_free_bytes))
		finding_say(finding, "free bytes then, at most", FINDING_BYTES, bytes);
	if (oom->device_bytes > total)
		total = oom->device_bytes;
	if (total)
		finding_say(finding, "bytes of the device", FINDING_BYTES, total);
	if (!total && oom->room_bytes)
		finding_say(finding, "bytes that were in use on the device before, and are not now",
			    FINDING_BYTES, oom->room_bytes);
	if (oom->pools_known)
		finding_say(finding, "bytes that pools held unused", FINDING_BYTES,
			    oom->pooled_bytes);
	if (oom->holes_known && oom->cause == OOM_FRAGMENTATION)
		finding_say(finding, "largest hole between its blocks", FINDING_BYTES,
			    oom->largest_hole_bytes);
}

/* What the kernel said of the cgroup's limit. */
static void say_limit(struct finding *finding, const struct analysis_oom *oom)
{
	uint64_t bytes;

	if (!oom->limit_reached)
		return;
	finding_say(finding, "bytes that its cgroup may use of the device", FINDING_BYTES,
		    oom->limit.limit_bytes);
	finding_say(finding, "bytes that the cgroup used then, about", FINDING_BYTES,
		    oom_limit_used(oom));
	if (oom_limit_free(oom, &bytes))
		finding_say(finding, "free bytes of the device, about", FINDING_BYTES, bytes);
}

static void say_outcome(struct finding *finding, const struct analysis_oom *oom)
{
	const struct oom_request *request = &oom->request;

	if (request->freed_count)
		finding_say(finding, "freed by it afterwards", FINDING_BYTES, request->freed_bytes);
	if (request->granted_bytes)
		finding_say(finding, "granted in the end", FINDING_BYTES, request->granted_bytes);
	if (request->end_ts_ns > request->last_ts_ns)
		finding_say(finding, "so long after the last failure", FINDING_NS,
			    request->end_ts_ns - request->last_ts_ns);
}

static void say_request(struct finding *finding, const struct analysis_oom *oom)
{
	const struct oom_request *request = &oom->request;

	if (oom->requested_known)
		finding_say(finding,
			    request->at_least ? "bytes asked for, at least" : "bytes asked for",
			    FINDING_BYTES, oom->requested_bytes);
	if (request->pieces && request->last_bytes != request->piece_bytes)
		finding_say(finding, "in pieces of", FINDING_BYTES, request->piece_bytes);
	if (oom->requested_known && request->first_bytes != oom->requested_bytes)
		finding_say(finding, "bytes asked for first", FINDING_BYTES, request->first_bytes);
	finding_say(finding, "failures in a row", FINDING_COUNT, oom->failures);
}

int ooms_report(const struct ooms *ooms, struct findings *findings)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ooms->count; i++) {
		const struct analysis_oom *oom = &ooms->list[i];
		struct finding finding = {
			.rule = FINDING_OOM,
			.confidence = oom->confidence,
			.lowered_by = oom->lowered_by,
			.pid = oom->pid,
			.start_ns = oom->start_ns,
			.device = oom->device,
			.space = oom->space,
			.row = oom->row,
			.first_ts_ns = oom->ts_ns,
			.last_ts_ns = oom->last_ts_ns,
			.bytes = oom->requested_bytes,
			.oom = i,
			.outcome = oom->request.outcome,
			.too_large = oom->cause == OOM_TOO_LARGE,
		};

		memcpy(finding.comm, oom->comm, sizeof(finding.comm));
		if (oom->requested_known)
			finding.says = "ran out of memory when it asked for %B";
		say_request(&finding, oom);
		say_outcome(&finding, oom);
		say_live(&finding, oom);
		say_known(&finding, oom);
		say_limit(&finding, oom);
		say_series(&finding, oom);
		err = findings_add(findings, &finding);
	}
	return err;
}
