// SPDX-License-Identifier: BSD-2-Clause
/*
 * The one function that memscope-bpf probes. It does nothing: at its entry, the kernel side copies
 * what the arguments point to. Without a probe, a call has no effect.
 */
#include <string.h>

#include "inject/inject.h"

INJECT_EXPORT void MS_HAND_FUNCTION(uint32_t what, const void *items, uint32_t count);

/*
 * The arguments have to be there, and what they point to has to be in memory. At a nop, a probe
 * costs one trap; at any instruction that the kernel does not emulate, as the return is, several.
 */
INJECT_EXPORT __attribute__((noinline, noipa)) void
MS_HAND_FUNCTION(uint32_t what, const void *items, uint32_t count)
{
	__asm__ volatile("nop" : : "r"(what), "r"(items), "r"(count) : "memory");
}

void hand_activities(const struct ms_activity_body *activities, uint32_t count)
{
	while (count) {
		const uint32_t part = count < MS_HAND_MOST ? count : MS_HAND_MOST;

		MS_HAND_FUNCTION(MS_HAND_ACTIVITIES, activities, part);
		activities += part;
		count -= part;
	}
}

static uint32_t room_for(size_t length)
{
	if (length < 128)
		return 128;
	return length < 512 ? 512 : MS_GPU_NAME_MAX;
}

void hand_name(uint64_t id, const char *name)
{
	struct {
		struct ms_gpu_name_body is;
		char text[MS_GPU_NAME_MAX];
	} named = { .is.id = id };
	const size_t length = strnlen(name, MS_GPU_NAME_MAX - 1);

	named.is.length = (uint32_t)length;
	named.is.room = room_for(length);
	memcpy(named.text, name, length);
	MS_HAND_FUNCTION(MS_HAND_NAME, &named, 1);
}

void hand_status(const struct ms_gpu_status_body *status)
{
	MS_HAND_FUNCTION(MS_HAND_STATUS, status, 1);
}
