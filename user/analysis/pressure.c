// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/pressure.h"

static void note_pressure(struct track *track, int32_t device, uint64_t free_bytes,
			  uint64_t total_bytes)
{
	if (!total_bytes ||
	    (double)free_bytes * 100 >= (double)total_bytes * (double)track->options->pressure_free)
		return;
	if (!track->pressed)
		track->pressed_first_ns = track->now_ns;
	track->pressed_times++;
	if (track->pressed && free_bytes >= track->pressed_free)
		return;
	track->pressed = true;
	track->pressed_device = device;
	track->pressed_free = free_bytes;
	track->pressed_total = total_bytes;
	track->pressed_ts_ns = track->now_ns;
}

void pressure_event(struct track *track, const struct event *event, const struct change *change)
{
	const struct ms_call *call = event->call;
	const uint32_t device = change->device;

	if (event->probe->spec.op == MS_OP_MEMORY) {
		if (event->probe->spec.action != MS_ACTION_DEVICE_INFO ||
		    !(call->known & MS_KNOWN_SIZE) || !(call->known & MS_KNOWN_SRC))
			return;
		if (device < TRACK_DEVICES)
			track->total_bytes[device] = call->size;
		note_pressure(track, change->device, call->src, call->size);
	} else if (device < TRACK_DEVICES && track->total_bytes[device]) {
		uint64_t total = track->total_bytes[device], live = track->device_live[device];

		note_pressure(track, change->device, live < total ? total - live : 0, total);
	}
}

int pressure_report(struct track *track, const struct analysis_options *options,
		    struct findings *findings)
{
	struct finding finding = track_finding(track, FINDING_MEMORY_PRESSURE);
	const uint32_t device = track->pressed_device;

	(void)options;
	/* Why an allocation failed says more. */
	if (!track->pressed || track->failures)
		return 0;
	finding.device = track->pressed_device;
	finding.first_ts_ns = track->pressed_first_ns;
	finding.bytes = track->pressed_total - track->pressed_free;
	finding_say(&finding, "least free bytes of the device", FINDING_BYTES, track->pressed_free);
	finding_say(&finding, "bytes of the device", FINDING_BYTES, track->pressed_total);
	finding_say(&finding, "least free at", FINDING_TIME, track->pressed_ts_ns);
	finding_say(&finding, "times that little was free", FINDING_COUNT, track->pressed_times);
	if (device < TRACK_DEVICES)
		finding_say(&finding, "live bytes of this process on it at the end", FINDING_BYTES,
			    track->device_live[device]);
	return findings_add(findings, &finding);
}
