// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/tensor_sources.h"

#include "ledger/effort.h"
#include "ledger/state.h"

/* ---- what they come from --------------------------------------------------------------------- */

static struct tensor_source *find(struct tensor_sources *sources, const struct allocation *segment)
{
	size_t i;

	for (i = 0; i < sources->count; i++)
		if (sources->list[i].row == segment->row &&
		    sources->list[i].device == segment->device &&
		    sources->list[i].framework + 1 == segment->framework)
			return &sources->list[i];
	return NULL;
}

static void add(struct tensor_sources *sources, const struct allocation *segment)
{
	struct tensor_source *source = find(sources, segment);

	if (!source && sources->count == TENSOR_SOURCES)
		return;
	if (!source) {
		source = &sources->list[sources->count++];
		*source = (struct tensor_source){ .row = segment->row,
						  .framework = segment->framework - 1,
						  .device = segment->device,
						  .mapped = segment->space == MS_SPACE_MAPPED };
	}
	source->made++;
	source->made_bytes += segment->size_bytes;
	source->live++;
	source->live_bytes += segment->size_bytes;
}

/* It may have been left out. */
void tensor_sources_remove(struct tensor_sources *sources, const struct allocation *segment)
{
	struct tensor_source *source = find(sources, segment);

	if (!source || !source->live)
		return;
	source->live--;
	source->live_bytes -=
		segment->size_bytes < source->live_bytes ? segment->size_bytes : source->live_bytes;
}

void tensor_sources_restore(struct tensor_sources *sources, const struct allocation *segment)
{
	struct tensor_source *source = find(sources, segment);

	if (!source)
		return;
	source->live++;
	source->live_bytes += segment->size_bytes;
}

bool tensor_sources_of(const struct tensor_sources *sources, uint8_t space, uint16_t row,
		       int32_t device, struct tensor_source *sum)
{
	bool found = false;
	size_t i;

	*sum = (struct tensor_source){ 0 };
	for (i = 0; i < sources->count; i++) {
		const struct tensor_source *source = &sources->list[i];

		if (source->device != device ||
		    (space == MS_SPACE_PHYSICAL ? !source->mapped : source->row != row))
			continue;
		found = true;
		sum->made += source->made;
		sum->made_bytes += source->made_bytes;
		sum->live += source->live;
		sum->live_bytes += source->live_bytes;
	}
	return found;
}

uint64_t tensor_sources_bytes(const struct tensor_sources *sources, uint16_t framework,
			      int32_t device)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < sources->count; i++)
		if (sources->list[i].framework == framework && sources->list[i].device == device)
			bytes += sources->list[i].live_bytes;
	return bytes;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Pieces that one block may lie in; of the others, it is not known whose they are. */
#define PIECES_MOST 4096

static struct allocation *allocation_at(struct process *process, uint64_t addr)
{
	static const enum ms_key keys[] = { MS_KEY_POINTER, MS_KEY_MAPPING };
	const struct allocation *found = NULL;
	struct ledger *ledger;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys) && !found; i++) {
		ledger = &process->ledgers[keys[i]];
		found = ledger->count ? ledger_containing(ledger, addr) : NULL;
	}
	return found ? ledger_find(ledger, found->addr) : NULL;
}

const struct allocation *tensor_sources_containing(struct process *process, uint64_t addr)
{
	return allocation_at(process, addr);
}

static void segment_mark(struct process *process, struct allocation *segment, uint8_t framework)
{
	if (segment->framework == framework + 1)
		return;
	if (segment->framework)
		tensor_sources_remove(&process->tensors.sources, segment);
	segment->framework = framework + 1;
	add(&process->tensors.sources, segment);
}

uint64_t tensor_sources_mark(struct process *process, uint8_t framework, uint64_t addr,
			     uint64_t bytes)
{
	uint64_t newest_ns = 0, done = 0;
	unsigned int i;

	for (i = 0; i < PIECES_MOST && done < bytes; i++) {
		struct allocation *segment =
			!i || effort_pay(process, 1) ? allocation_at(process, addr + done) : NULL;

		if (!segment)
			break;
		segment_mark(process, segment, framework);
		if (segment->ts_ns > newest_ns)
			newest_ns = segment->ts_ns;
		if (segment->addr + segment->size_bytes - addr <= done)
			break; /* beyond the last address */
		done = segment->addr + segment->size_bytes - addr;
	}
	return newest_ns;
}
