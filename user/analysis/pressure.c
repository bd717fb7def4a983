// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/pressure.h"

static void note_pressure(struct process_activity *activity, int32_t device, uint64_t free_bytes,
			  uint64_t total_bytes)
{
	if (!total_bytes || (double)free_bytes * 100 >=
				    (double)total_bytes * (double)activity->options->pressure_free)
		return;
	if (!activity->pressed)
		activity->pressed_first_ns = activity->now_ns;
	activity->pressed_times++;
	if (activity->pressed && free_bytes >= activity->pressed_free)
		return;
	activity->pressed = true;
	activity->pressed_device = device;
	activity->pressed_free = free_bytes;
	activity->pressed_total = total_bytes;
	activity->pressed_ts_ns = activity->now_ns;
}

void pressure_event(struct process_activity *activity, const struct event *event,
		    const struct change *change)
{
	const struct ms_call *call = event->call;
	const uint32_t device = change->device;

	if (event->probe->spec.op == MS_OP_MEMORY) {
		if (event->probe->spec.action != MS_ACTION_DEVICE_INFO ||
		    !(call->known & MS_KNOWN_SIZE) || !(call->known & MS_KNOWN_SRC))
			return;
		if (device < ACTIVITY_DEVICES)
			activity->total_bytes[device] = call->size;
		note_pressure(activity, change->device, call->src, call->size);
	} else if (device < ACTIVITY_DEVICES && activity->total_bytes[device]) {
		uint64_t total = activity->total_bytes[device],
			 live = activity->device_live[device];

		note_pressure(activity, change->device, live < total ? total - live : 0, total);
	}
}

int pressure_report(struct process_activity *activity, const struct analysis_options *options,
		    struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_MEMORY_PRESSURE);
	const uint32_t device = activity->pressed_device;

	(void)options;
	/* Why an allocation failed says more. */
	if (!activity->pressed || activity->failures)
		return 0;
	finding.device = activity->pressed_device;
	finding.first_ts_ns = activity->pressed_first_ns;
	finding.bytes = activity->pressed_total - activity->pressed_free;
	finding_say(&finding, "least free bytes of the device", FINDING_BYTES,
		    activity->pressed_free);
	finding_say(&finding, "bytes of the device", FINDING_BYTES, activity->pressed_total);
	finding_say(&finding, "least free at", FINDING_TIME, activity->pressed_ts_ns);
	finding_say(&finding, "times that little was free", FINDING_COUNT, activity->pressed_times);
	if (device < ACTIVITY_DEVICES)
		finding_say(&finding, "live bytes of this process on it at the end", FINDING_BYTES,
			    activity->device_live[device]);
	return findings_add(findings, &finding);
}
