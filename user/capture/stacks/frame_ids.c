// SPDX-License-Identifier: BSD-2-Clause
#include "capture/stacks/frame_ids.h"

#include "base/string.h"
#include "capture/stacks/modules.h"

uint64_t frame_ids_key(const struct ms_event *event, const struct ms_stack_frame *frame,
		       const struct code_range *range, const struct module *module,
		       uint64_t program)
{
	const struct {
		uint64_t module, pid, program, place, kind;
	} what = { module ? module->identity : 0, module ? 0 : event->pid, module ? 0 : program,
		   module ? frame->address - range->start + range->offset : frame->address,
		   (uint64_t)frame->kind << 8 | frame->flags };

	return string_hash(map_secret(), &what, sizeof(what));
}

static uint32_t count_of(uint64_t value)
{
	return (uint32_t)((value & ~FRAME_IDS_NAMELESS) >> FRAME_IDS_SHIFT);
}

static bool is_wanted(uint64_t value, const struct map *wanted)
{
	const uint32_t count = count_of(value);
	uint32_t i;

	for (i = 0; i < count; i++)
		if (!map_get(wanted, (uint32_t)value + i))
			return false;
	return true;
}

uint32_t frame_ids_keep(struct map *frames, const struct map *wanted)
{
	struct map kept = { 0 };
	uint32_t count = 0;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < frames->capacity; i++) {
		if (!map_is_used(frames, i) || !is_wanted(frames->slots[i].value, wanted))
			continue;
		err = map_set(&kept, map_key_at(frames, i), frames->slots[i].value);
		count += count_of(frames->slots[i].value);
	}
	map_fini(frames);
	if (err)
		map_fini(&kept);
	else
		*frames = kept;
	return err ? 0 : count;
}
