// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/gpu_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/kernels.h"
#include "ledger/limits.h"
#include "ledger/state.h"

static struct gpu_times *times_get(struct process *process)
{
	if (!process->gpu)
		process->gpu = calloc(1, sizeof(*process->gpu));
	return process->gpu;
}

static struct gpu_device *device_get(struct gpu_times *times, int32_t device, int *err)
{
	size_t i;

	for (i = 0; i < times->devices_count; i++)
		if (times->devices[i].device == device)
			return &times->devices[i];
	if (times->devices_count >= LIMIT_DEVICES)
		return NULL;
	*err = memory_grow(&times->devices, &times->devices_capacity, times->devices_count + 1,
			   sizeof(*times->devices));
	if (*err)
		return NULL;
	times->devices[times->devices_count] = (struct gpu_device){ .device = device };
	return &times->devices[times->devices_count++];
}

bool gpu_times_is_work(const struct ms_activity_body *activity)
{
	return (activity->kind == MS_ACTIVITY_KERNEL || activity->kind == MS_ACTIVITY_COPY ||
		activity->kind == MS_ACTIVITY_MEMSET) &&
	       !(activity->flags & MS_ACTIVITY_UNTIMED) && activity->end_ns >= activity->begin_ns;
}

static int device_add(struct gpu_times *times, const struct ms_activity_body *activity)
{
	const uint64_t ns = activity->end_ns - activity->begin_ns;
	struct gpu_device *device;
	int err = 0;

	if (!gpu_times_is_work(activity))
		return 0;
	device = device_get(times, activity->device, &err);
	if (!device)
		return err;
	device->activities++;
	if (!device->first_ns || activity->begin_ns < device->first_ns)
		device->first_ns = activity->begin_ns;
	if (activity->end_ns > device->last_ns)
		device->last_ns = activity->end_ns;
	if (activity->kind == MS_ACTIVITY_KERNEL)
		device->kernels_ns += ns;
	else if (activity->kind == MS_ACTIVITY_COPY)
		device->copies_ns += ns;
	else
		device->memsets_ns += ns;
	return gpu_busy_add(&device->busy, &times->calls,
			    (struct gpu_call){ activity->begin_ns, activity->end_ns });
}

/* ---- totals ---------------------------------------------------------------------------------- */

static void total_note(struct gpu_total *total, const struct ms_activity_body *activity)
{
	const uint64_t ns = activity->end_ns - activity->begin_ns;

	total->count++;
	total->bytes += activity->size;
	if (activity->flags & MS_ACTIVITY_UNTIMED) {
		total->untimed++;
		return;
	}
	if (total->count - total->untimed == 1 || ns < total->least_ns)
		total->least_ns = ns;
	if (ns > total->most_ns)
		total->most_ns = ns;
	total->total_ns += ns;
}

static void total_add(struct gpu_total *sum, const struct gpu_total *total)
{
	const bool first = sum->count == sum->untimed;

	if (total->count > total->untimed && (first || total->least_ns < sum->least_ns))
		sum->least_ns = total->least_ns;
	if (total->most_ns > sum->most_ns)
		sum->most_ns = total->most_ns;
	sum->count += total->count;
	sum->untimed += total->untimed;
	sum->bytes += total->bytes;
	sum->total_ns += total->total_ns;
}

static struct gpu_kernel *kernel_get(struct gpu_times *times, uint64_t id, int *err)
{
	const uint64_t *place = map_get(&times->kernel_places, id), *name;

	if (place)
		return &times->kernels[*place];
	if (times->kernels_count >= LIMIT_KERNELS)
		return NULL;
	*err = memory_grow(&times->kernels, &times->kernels_capacity, times->kernels_count + 1,
			   sizeof(*times->kernels));
	if (!*err)
		*err = map_set(&times->kernel_places, id, times->kernels_count);
	if (*err)
		return NULL;
	name = map_get(&times->names, id);
	times->kernels[times->kernels_count] =
		(struct gpu_kernel){ .id = id,
				     .name = name ? (const char *)(uintptr_t)*name : NULL };
	return &times->kernels[times->kernels_count++];
}

static int run_note(struct call_times *runs, const struct ms_activity_body *activity)
{
	const uint64_t ns = activity->end_ns - activity->begin_ns;

	if (!gpu_times_is_work(activity))
		return 0;
	if (ns > runs->max_ns)
		runs->max_ns = ns;
	return call_times_count(runs, call_times_bucket(ns), 1);
}

static int apply_kernel(struct gpu_times *times, const struct ms_activity_body *activity)
{
	int err = 0;
	struct gpu_kernel *kernel = kernel_get(times, activity->name, &err);

	if (err)
		return err;
	total_note(kernel ? &kernel->total : &times->others, activity);
	times->device_launched += (activity->flags & MS_ACTIVITY_DEVICE_LAUNCHED) != 0;
	return kernel ? run_note(&kernel->runs, activity) : 0;
}

static void apply_copy(struct gpu_times *times, const struct ms_activity_body *activity)
{
	total_note(&times->copies[activity->what], activity);
	if (activity->from == MS_GPU_MEMORY_PAGEABLE || activity->to == MS_GPU_MEMORY_PAGEABLE)
		total_note(&times->pageable, activity);
}

int gpu_times_activity(struct process *process, const struct ms_activity_body *activity,
		       const struct gpu_link **link)
{
	struct gpu_times *times = times_get(process);
	int err = 0;

	*link = NULL;
	if (!times)
		return -ENOMEM;
	times->total++;
	switch ((enum ms_activity_kind)activity->kind) {
	case MS_ACTIVITY_KERNEL:
		err = apply_kernel(times, activity);
		break;
	case MS_ACTIVITY_COPY:
		apply_copy(times, activity);
		break;
	case MS_ACTIVITY_MEMSET:
		total_note(&times->memsets, activity);
		break;
	case MS_ACTIVITY_OVERHEAD:
		total_note(&times->overheads, activity);
		return 0;
	case MS_ACTIVITY_CALL:
	case MS_ACTIVITY_NONE:
	case MS_ACTIVITIES_COUNT:
		return gpu_joins_activity(&times->joins, activity, link);
	}
	times->in_graphs += activity->graph != 0;
	if (!err)
		err = device_add(times, activity);
	return err ? err : gpu_joins_activity(&times->joins, activity, link);
}

int gpu_times_set_name(struct process *process, uint64_t id, const char *name)
{
	struct gpu_times *times = times_get(process);
	const uint64_t *place;

	if (!times)
		return -ENOMEM;
	if (times->names.count >= LIMIT_NAMES && !map_get(&times->names, id)) {
		process->counters[COUNTER_OTHER_NAMES]++;
		return 0;
	}
	place = map_get(&times->kernel_places, id);
	if (place && times->kernels)
		times->kernels[*place].name = name;
	return map_set(&times->names, id, (uintptr_t)name);
}

int gpu_times_name(struct state *state, struct process *process, const struct ms_gpu_name *name)
{
	const char *text = kernels_intern(state, process, name->name, name->is.length);

	return text ? gpu_times_set_name(process, name->is.id, text) : -ENOMEM;
}

int gpu_times_status(struct process *process, const struct ms_gpu_status *status)
{
	struct gpu_times *times = times_get(process);

	if (!times)
		return -ENOMEM;
	if (!times->statuses++)
		times->first_status_ns = status->event.ts_ns;
	times->last_status_ns = status->event.ts_ns;
	times->status = status->is;
	return 0;
}

/*
 * Takes the gaps that the oldest calls may lie in, and forgets these calls, but not those in a gap
 * that is not over.
 */
static int forget_calls(struct gpu_times *times, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t settled_ns = 0;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < times->devices_count; i++) {
		struct gpu_busy *busy = &times->devices[i].busy;

		err = gpu_busy_settle(busy, &times->calls, until_ns);
		if (busy->settled_until_ns > settled_ns)
			settled_ns = busy->settled_until_ns;
	}
	if (!err)
		gpu_host_calls_forget(&times->calls, settled_ns > from_ns && settled_ns < until_ns ?
							     settled_ns :
							     until_ns);
	return err;
}

static int host_call(struct gpu_times *times, const struct event *event)
{
	uint64_t from_ns, until_ns;
	int err = 0;

	if (gpu_host_calls_full(&times->calls, &from_ns, &until_ns))
		err = forget_calls(times, from_ns, until_ns);
	return err ? err : gpu_host_calls_add(&times->calls, event);
}

int gpu_times_call(struct process *process, const struct event *event)
{
	int err;

	if (!process->gpu)
		return 0;
	err = host_call(process->gpu, event);
	return err ? err : gpu_joins_call(&process->gpu->joins, event);
}

const char *gpu_times_kernel(const struct process *process, uint64_t id)
{
	const uint64_t *name = process->gpu ? map_get(&process->gpu->names, id) : NULL;

	return name ? (const char *)(uintptr_t)*name : NULL;
}

/* ---- what outputs ask ------------------------------------------------------------------------ */

/* CUpti_ActivityOverheadKind: 1, or what stands in its upper half, with 0x100. */
const char *gpu_overhead_name(uint16_t kind)
{
	static const char *const names[] = {
		[1] = "activity buffer flush",
		[2] = "instrumentation",
		[3] = "resources of CUPTI",
		[4] = "loading of modules while the program runs",
		[5] = "lazy loading of functions",
		[6] = "command buffer full",
		[7] = "activity buffer request",
		[8] = "initialisation of unified memory",
	};

	if (kind == 1)
		return "compilation by the driver";
	kind &= 0xff;
	return kind < sizeof(names) / sizeof(*names) ? names[kind] : NULL;
}

struct gpu_total gpu_times_kernels(const struct gpu_times *times)
{
	struct gpu_total sum = times->others;
	size_t i;

	for (i = 0; i < times->kernels_count; i++)
		total_add(&sum, &times->kernels[i].total);
	return sum;
}

struct gpu_total gpu_times_copies(const struct gpu_times *times)
{
	struct gpu_total sum = { 0 };
	size_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++)
		total_add(&sum, &times->copies[i]);
	return sum;
}

/* Equal ones by name, and those without one by their ids: what is shown is the same every time. */
static int by_time(const void *a, const void *b)
{
	const struct gpu_kernel *x = *(const struct gpu_kernel *const *)a;
	const struct gpu_kernel *y = *(const struct gpu_kernel *const *)b;

	if (x->total.total_ns != y->total.total_ns)
		return x->total.total_ns > y->total.total_ns ? -1 : 1;
	if (x->name && y->name && x->name != y->name)
		return strcmp(x->name, y->name);
	return x->id < y->id ? -1 : x->id > y->id;
}

const struct gpu_kernel **gpu_times_sorted(const struct gpu_times *times)
{
	const struct gpu_kernel **sorted =
		calloc(times->kernels_count ? times->kernels_count : 1, sizeof(*sorted));
	size_t i;

	if (!sorted)
		return NULL;
	for (i = 0; i < times->kernels_count; i++)
		sorted[i] = &times->kernels[i];
	qsort(sorted, times->kernels_count, sizeof(*sorted), by_time);
	return sorted;
}

/* ---- several --------------------------------------------------------------------------------- */

static void totals_forget(struct gpu_times *times)
{
	size_t i;

	for (i = 0; i < times->devices_count; i++)
		gpu_busy_fini(&times->devices[i].busy);
	for (i = 0; i < times->kernels_count; i++)
		call_times_fini(&times->kernels[i].runs);
	times->devices_count = 0;
	times->kernels_count = 0;
	map_fini(&times->kernel_places);
	memset(times->copies, 0, sizeof(times->copies));
	times->others = times->pageable = times->memsets = times->overheads =
		(struct gpu_total){ 0 };
	times->total = times->device_launched = times->in_graphs = 0;
}

void gpu_times_restart(struct gpu_times *times)
{
	if (!times)
		return;
	totals_forget(times);
	gpu_joins_restart(&times->joins);
}

static int add_devices(struct gpu_times *sum, const struct gpu_times *times)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < times->devices_count; i++) {
		const struct gpu_device *from = &times->devices[i];
		struct gpu_device *to = device_get(sum, from->device, &err);

		if (!to)
			continue;
		to->kernels_ns += from->kernels_ns;
		to->copies_ns += from->copies_ns;
		to->memsets_ns += from->memsets_ns;
		to->activities += from->activities;
		to->busy.settled_ns += gpu_busy_ns(&from->busy);
		to->busy.late += from->busy.late;
		if (!to->first_ns || from->first_ns < to->first_ns)
			to->first_ns = from->first_ns;
		if (from->last_ns > to->last_ns)
			to->last_ns = from->last_ns;
	}
	return err;
}

static int add_kernels(struct gpu_times *sum, const struct gpu_times *times)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < times->kernels_count; i++) {
		const struct gpu_kernel *from = &times->kernels[i];
		struct gpu_kernel *to = kernel_get(sum, from->id, &err);

		if (to && !to->name)
			to->name = from->name;
		total_add(to ? &to->total : &sum->others, &from->total);
	}
	return err;
}

int gpu_times_add(struct process *process, const struct process *other)
{
	const struct gpu_times *times = other->gpu;
	struct gpu_times *sum = times ? times_get(process) : NULL;
	size_t i;
	int err;

	if (!times)
		return 0;
	if (!sum)
		return -ENOMEM;
	sum->statuses += times->statuses;
	sum->total += times->total;
	sum->device_launched += times->device_launched;
	sum->in_graphs += times->in_graphs;
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++)
		total_add(&sum->copies[i], &times->copies[i]);
	total_add(&sum->others, &times->others);
	total_add(&sum->pageable, &times->pageable);
	total_add(&sum->memsets, &times->memsets);
	total_add(&sum->overheads, &times->overheads);
	gpu_joins_add(&sum->joins, &times->joins);
	err = add_kernels(sum, times);
	return err ? err : add_devices(sum, times);
}

size_t gpu_times_bytes(const struct gpu_times *times)
{
	size_t bytes, i;

	if (!times)
		return 0;
	bytes = sizeof(*times) + map_bytes(&times->names) + map_bytes(&times->kernel_places) +
		times->kernels_capacity * sizeof(*times->kernels) +
		times->devices_capacity * sizeof(*times->devices);
	for (i = 0; i < times->devices_count; i++)
		bytes += gpu_busy_bytes(&times->devices[i].busy);
	for (i = 0; i < times->kernels_count; i++)
		bytes += times->kernels[i].runs.room * sizeof(*times->kernels[i].runs.buckets);
	bytes += times->calls.capacity * sizeof(*times->calls.list);
	return bytes + gpu_joins_bytes(&times->joins);
}

void gpu_times_free(struct gpu_times *times)
{
	if (!times)
		return;
	totals_forget(times);
	gpu_joins_fini(&times->joins);
	gpu_host_calls_fini(&times->calls);
	map_fini(&times->names);
	free(times->kernels);
	free(times->devices);
	free(times);
}
