// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/unexplained.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings.h"

#define WINDOWS 8
#define NONE UINT64_MAX /* the program did not ask */
#define NVML ACTIVITY_DEVICES

/* A sample of NVML's: it comes device by device, and the last one has all. */
struct sample {
	uint64_t ts_ns; /* 0: there is none */
	unsigned int bucket;
	uint64_t used, unexplained, perhaps;
};

/* What the driver reported to the program about one device, or NVML about the process. */
struct unexplained {
	uint64_t least[ACTIVITY_BUCKETS]; /* bytes that nothing explains, at least; or NONE */
	uint64_t told;                    /* times */
	uint64_t first_ns, last_ns;
	uint64_t free_first, free_last;           /* bytes; of NVML: in use */
	uint64_t explained_first, explained_last; /* by allocations; of NVML: also by objects */
	uint64_t perhaps_last;                    /* what may explain as much, besides */
	bool shared;          /* another process was seen on the device, or may be on it */
	bool objects_seen;    /* of NVML: contexts and code are explained, too */
	struct sample sample; /* not counted yet */
};

size_t unexplained_bytes(const struct process_activity *activity)
{
	size_t bytes = 0, i;

	for (i = 0; i < ACTIVITY_UNEXPLAINED; i++)
		if (activity->unexplained[i])
			bytes += sizeof(*activity->unexplained[i]);
	return bytes;
}

static void count_sample(struct unexplained *unexplained)
{
	struct sample *sample = &unexplained->sample;
	uint64_t *least = &unexplained->least[sample->bucket];

	if (!sample->ts_ns)
		return;
	if (!unexplained->told++) {
		unexplained->first_ns = sample->ts_ns;
		unexplained->free_first = sample->used;
		unexplained->explained_first = sample->used - sample->unexplained;
	}
	unexplained->last_ns = sample->ts_ns;
	unexplained->free_last = sample->used;
	unexplained->explained_last = sample->used - sample->unexplained;
	unexplained->perhaps_last = sample->perhaps;
	if (sample->unexplained < *least)
		*least = sample->unexplained;
	sample->ts_ns = 0;
}

void unexplained_fold(struct unexplained *unexplained)
{
	uint64_t *least = unexplained->least;
	unsigned int i;

	count_sample(unexplained);
	for (i = 0; i < ACTIVITY_BUCKETS; i += 2)
		least[i / 2] = least[i] < least[i + 1] ? least[i] : least[i + 1];
	for (i = ACTIVITY_BUCKETS / 2; i < ACTIVITY_BUCKETS; i++)
		least[i] = NONE;
}

static struct unexplained *unexplained_of(struct process_activity *activity, uint32_t device)
{
	struct unexplained *unexplained = activity->unexplained[device];
	size_t i;

	if (unexplained)
		return unexplained;
	unexplained = calloc(1, sizeof(*unexplained));
	if (!unexplained)
		return NULL;
	for (i = 0; i < ACTIVITY_BUCKETS; i++)
		unexplained->least[i] = NONE;
	activity->unexplained[device] = unexplained;
	return unexplained;
}

/* ---- what explains it ------------------------------------------------------------------------ */

/* By allocations, of all processes that are taken to mean the same device. */
static uint64_t explained(const struct process_activity *activity, const struct process *process,
			  const struct state *state, int32_t device)
{
	const uint64_t own = activity->device_live[device];
	size_t place = SIZE_MAX;

	if (process->usage && state->usage)
		place = usage_device_place(state->usage, &process->devices, device);
	if (place == SIZE_MAX)
		return own;
	place = usage_device_root(state->usage, place);
	return state->usage->devices[place].live_bytes > own ?
		       state->usage->devices[place].live_bytes :
		       own;
}

/* What pools keep, at most, of what has been freed into them. */
static uint64_t kept_by_pools(const struct process *process)
{
	const struct space_total *pool = &process->spaces[MS_SPACE_POOL];

	return pool->peak_bytes > pool->live_bytes ? pool->peak_bytes - pool->live_bytes : 0;
}

/* At most: managed memory may move to the device. */
static uint64_t perhaps(const struct process *process)
{
	const struct space_total *managed = &process->spaces[MS_SPACE_MANAGED];
	const uint64_t kept = kept_by_pools(process);

	return kept < UINT64_MAX - managed->live_bytes ? kept + managed->live_bytes : UINT64_MAX;
}

static bool has_company(const struct state *state, const struct process *process)
{
	size_t i;

	for (i = 0; i < state->processes_count; i++)
		if (state->processes[i] != process && !state->processes[i]->exited &&
		    state->processes[i]->calls[MS_OP_CONTEXT] +
			    state->processes[i]->calls[MS_OP_ALLOC])
			return true;
	return false;
}

int unexplained_event(struct process_activity *activity, const struct event *event,
		      const struct change *change, const struct state *state)
{
	const struct ms_call *call = event->call;
	const uint16_t needed = MS_KNOWN_SIZE | MS_KNOWN_SRC;
	struct unexplained *unexplained;
	uint64_t used, known, *least;

	if (event->probe->spec.action != MS_ACTION_DEVICE_INFO ||
	    (call->known & needed) != needed || (uint32_t)change->device >= ACTIVITY_DEVICES ||
	    call->src > call->size)
		return 0;
	unexplained = unexplained_of(activity, change->device);
	if (!unexplained)
		return -ENOMEM;
	least = &unexplained->least[activity->bucket];
	used = call->size - call->src;
	known = explained(activity, change->process, state, change->device);
	if (!unexplained->told++) {
		unexplained->first_ns = activity->now_ns;
		unexplained->free_first = call->src;
		unexplained->explained_first = known;
	}
	unexplained->last_ns = activity->now_ns;
	unexplained->free_last = call->src;
	unexplained->explained_last = known;
	/* There may be many processes. */
	if (*least == NONE && !unexplained->shared)
		unexplained->shared = has_company(state, change->process);
	used -= known < used ? known : used;
	unexplained->perhaps_last = perhaps(change->process);
	if (used < *least)
		*least = used;
	return 0;
}

int unexplained_held(struct process_activity *activity, const struct process *process)
{
	struct unexplained *unexplained;
	struct nvml_parts parts;

	if (!nvml_account_parts(process, &parts))
		return 0;
	unexplained = unexplained_of(activity, NVML);
	if (!unexplained)
		return -ENOMEM;
	if (unexplained->sample.ts_ns != process->nvml.last.ts_ns)
		count_sample(unexplained);
	unexplained->objects_seen = process->nvml.last.objects_seen;
	unexplained->sample = (struct sample){
		.ts_ns = process->nvml.last.ts_ns,
		.bucket = activity->bucket,
		.used = parts.used_bytes,
		.unexplained = parts.unexplained_bytes > 0 ? parts.unexplained_bytes : 0,
		.perhaps = unexplained->objects_seen ? 0 : kept_by_pools(process),
	};
	return 0;
}

/* ---- whether it becomes more ----------------------------------------------------------------- */

struct trend {
	uint64_t least[WINDOWS];
	unsigned int windows; /* that have any */
	unsigned int rises;
	uint64_t rise; /* bytes, from the first to the last */
};

static bool is_little(const struct trend *trend, const struct unexplained *unexplained,
		      const struct analysis_options *options)
{
	return trend->rise < unexplained->perhaps_last ||
	       trend->rise - unexplained->perhaps_last < options->unexplained_bytes;
}

static bool trend_of(const struct process_activity *activity, const struct unexplained *unexplained,
		     struct trend *trend)
{
	const unsigned int first = process_activity_bucket_at(activity, unexplained->first_ns),
			   last = process_activity_bucket_at(activity, unexplained->last_ns);
	unsigned int i, w, before = WINDOWS;

	*trend = (struct trend){ 0 };
	if (last + 1 - first < WINDOWS)
		return false;
	memset(trend->least, 0xff, sizeof(trend->least));
	for (i = first; i <= last; i++) {
		w = (i - first) * WINDOWS / (last + 1 - first);
		if (unexplained->least[i] < trend->least[w])
			trend->least[w] = unexplained->least[i];
	}
	for (w = 0; w < WINDOWS; w++) {
		if (trend->least[w] == NONE)
			continue;
		trend->windows++;
		trend->rises += before < WINDOWS && trend->least[w] > trend->least[before];
		before = w;
	}
	if (trend->windows < WINDOWS - 1 || trend->least[0] == NONE ||
	    trend->least[before] <= trend->least[0])
		return false;
	trend->rise = trend->least[before] - trend->least[0];
	return true;
}

/* What grows for a while and then stays is how libraries and modules are loaded. */
static bool goes_on(const struct trend *trend)
{
	const uint64_t middle = trend->least[WINDOWS / 2] == NONE ? trend->least[WINDOWS / 2 - 1] :
								    trend->least[WINDOWS / 2];
	const uint64_t last = trend->least[0] + trend->rise;

	return middle != NONE && last > middle && (last - middle) * 4 >= trend->rise;
}

bool unexplained_rise(const struct process_activity *activity, int32_t device, uint64_t from_ns,
		      uint64_t to_ns, uint64_t *rise, unsigned int *first, unsigned int *last)
{
	const struct unexplained *unexplained =
		(uint32_t)device < ACTIVITY_DEVICES ? activity->unexplained[device] : NULL;

	*first = process_activity_bucket_at(activity, from_ns);
	*last = process_activity_bucket_at(activity, to_ns);
	if (!unexplained)
		return false;
	while (*first < *last && unexplained->least[*first] == NONE)
		++*first;
	while (*last > *first && unexplained->least[*last] == NONE)
		--*last;
	if (*first >= *last || unexplained->least[*last] <= unexplained->least[*first])
		return false;
	*rise = unexplained->least[*last] - unexplained->least[*first];
	return true;
}

static bool grows(const struct process_activity *activity, const struct unexplained *unexplained,
		  const struct analysis_options *options, struct trend *trend)
{
	const uint64_t length_ns = unexplained->last_ns - unexplained->first_ns,
		       all_ns = activity->now_ns - activity->base_ns;

	return length_ns >= options->leak_time_ns &&
	       (double)length_ns * 100 >= (double)all_ns * (double)options->leak_share &&
	       trend_of(activity, unexplained, trend) && trend->rises >= options->leak_windows &&
	       !is_little(trend, unexplained, options) && goes_on(trend);
}

/* What all such findings say first; `more`: what has become more. */
static struct finding begin_finding(const struct process_activity *activity,
				    const struct unexplained *unexplained,
				    const struct trend *trend, const char *more)
{
	struct finding finding = process_activity_finding(activity, FINDING_UNEXPLAINED_GROWTH);

	finding.first_ts_ns = unexplained->first_ns;
	finding.last_ts_ns = unexplained->last_ns;
	finding.bytes = trend->rise;
	finding_say(&finding, more, FINDING_BYTES, trend->rise);
	finding_say(&finding, "growth", FINDING_BYTES_PER_SECOND,
		    finding_rate(trend->rise, unexplained->last_ns - unexplained->first_ns));
	finding_say(&finding, "windows, out of 7, that had more than the one before", FINDING_COUNT,
		    trend->rises);
	return finding;
}

static int report_held(const struct process_activity *activity,
		       const struct unexplained *unexplained, const struct trend *trend,
		       struct findings *findings)
{
	struct finding finding =
		begin_finding(activity, unexplained, trend, "more, by NVML, that nothing explains");

	finding.says = "holds %B more, by NVML, that nothing explains";
	finding_say(&finding, "NVML's number of the process, first", FINDING_BYTES,
		    unexplained->free_first);
	finding_say(&finding, "NVML's number of the process, last", FINDING_BYTES,
		    unexplained->free_last);
	finding_say(&finding, "explained then, first", FINDING_BYTES, unexplained->explained_first);
	finding_say(&finding, "explained then, last", FINDING_BYTES, unexplained->explained_last);
	finding_say(&finding, "times NVML was asked", FINDING_COUNT, unexplained->told);
	if (!unexplained->objects_seen)
		finding_lower(&finding, FINDING_MEDIUM,
			      "contexts, code and unused parts of chunks are in it: the driver's"
			      " ioctls were not seen");
	return findings_add(findings, &finding);
}

static int report(const struct process_activity *activity, int32_t device,
		  const struct unexplained *unexplained, const struct trend *trend,
		  struct findings *findings)
{
	struct finding finding = begin_finding(activity, unexplained, trend,
					       "more in use that no allocation explains");

	finding.device = device;
	finding_say(&finding, "free bytes when the program asked first", FINDING_BYTES,
		    unexplained->free_first);
	finding_say(&finding, "free bytes when it asked last", FINDING_BYTES,
		    unexplained->free_last);
	finding_say(&finding, "explained by allocations then, first", FINDING_BYTES,
		    unexplained->explained_first);
	finding_say(&finding, "explained by allocations then, last", FINDING_BYTES,
		    unexplained->explained_last);
	finding_say(&finding, "times it asked", FINDING_COUNT, unexplained->told);
	if (unexplained->shared)
		finding_lower(&finding, FINDING_LOW,
			      "other processes ran meanwhile, and it may be theirs");
	finding_lower(&finding, FINDING_MEDIUM, "a process that was not traced may have taken it");
	return findings_add(findings, &finding);
}

int unexplained_report(struct process_activity *activity, const struct analysis_options *options,
		       struct findings *findings)
{
	struct unexplained *held = activity->unexplained[NVML];
	struct trend trend;
	int32_t device;
	int err = 0;

	if (held)
		count_sample(held);
	/* It says the same as the devices do, but of this process alone. */
	if (held && grows(activity, held, options, &trend))
		return report_held(activity, held, &trend, findings);
	for (device = 0; !err && device < ACTIVITY_DEVICES; device++)
		if (activity->unexplained[device] &&
		    grows(activity, activity->unexplained[device], options, &trend))
			err = report(activity, device, activity->unexplained[device], &trend,
				     findings);
	return err;
}
