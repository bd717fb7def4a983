// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_relation.h"

bool oom_relation_is_host(uint8_t space)
{
	return space == MS_SPACE_PINNED || space == MS_SPACE_REGISTERED;
}

/* Whether something says that they are two devices; not knowing what a process sees does not. */
static bool is_told_apart(const struct process *own, int32_t device, const struct process *other,
			  int32_t other_device)
{
	const struct process_device *a = process_devices_find(&own->devices, device);
	const struct process_device *b = process_devices_find(&other->devices, other_device);

	if (a && b && device_identity_differs(&a->identity, &b->identity))
		return true;
	return device != other_device || (own->devices.visible && other->devices.visible);
}

/* Numbers of devices are a process's own: two mean the same only if something says so. */
static bool is_proven(const struct state *state, const struct process *own, int32_t device,
		      const struct process *other, int32_t other_device)
{
	const struct process_device *a = process_devices_find(&own->devices, device);
	const struct process_device *b = process_devices_find(&other->devices, other_device);

	if (a && b && state->usage && device_identity_is_known(&a->identity) &&
	    device_identity_is_known(&b->identity))
		return true;
	return own->devices.visible && own->devices.visible == other->devices.visible &&
	       device == other_device;
}

enum oom_relation oom_relation_of(const struct analysis_oom *oom, const struct state *state,
				  const struct process *process, uint8_t space, int32_t device)
{
	const bool is_own = process->pid == oom->pid && process->start_ns == oom->start_ns;
	const struct process *own;

	if (oom_relation_is_host(oom->space))
		return oom_relation_is_host(space) ? OOM_RELATION_SAME : OOM_RELATION_NONE;
	if (!usage_is_on_device(space) && space != MS_SPACE_MANAGED)
		return OOM_RELATION_NONE;
	if (is_own)
		return oom->device < 0 || device < 0 || oom->device == device ? OOM_RELATION_SAME :
										OOM_RELATION_NONE;
	if (oom->device < 0 || device < 0)
		return OOM_RELATION_UNCLEAR;
	own = state_find(state, oom->pid, oom->start_ns);
	if (!own)
		return oom->device == device ? OOM_RELATION_UNCLEAR : OOM_RELATION_NONE;
	if (!usage_device_is_same(state->usage, &own->devices, oom->device, &process->devices,
				  device))
		return is_told_apart(own, oom->device, process, device) ? OOM_RELATION_NONE :
									  OOM_RELATION_UNCLEAR;
	return is_proven(state, own, oom->device, process, device) ? OOM_RELATION_SAME :
								     OOM_RELATION_UNCLEAR;
}
