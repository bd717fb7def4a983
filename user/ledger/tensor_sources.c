// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/tensor_sources.h"

#include "abi.h"
#include "ledger/ledger.h"

static struct tensor_source *find(struct tensor_sources *sources, uint16_t row)
{
	size_t i;

	for (i = 0; i < sources->count; i++)
		if (sources->list[i].row == row)
			return &sources->list[i];
	return NULL;
}

void tensor_sources_add(struct tensor_sources *sources, const struct allocation *segment)
{
	struct tensor_source *source = find(sources, segment->row);

	if (!source && sources->count == TENSOR_SOURCES)
		return;
	if (!source) {
		source = &sources->list[sources->count++];
		*source = (struct tensor_source){ .row = segment->row,
						  .mapped = segment->space == MS_SPACE_MAPPED };
	}
	source->made++;
	source->made_bytes += segment->size_bytes;
	source->live++;
	source->live_bytes += segment->size_bytes;
}

/* It may have been counted by another one, which began anew since. */
void tensor_sources_remove(struct tensor_sources *sources, const struct allocation *segment)
{
	struct tensor_source *source = find(sources, segment->row);

	if (!source || !source->live)
		return;
	source->live--;
	source->live_bytes -=
		segment->size_bytes < source->live_bytes ? segment->size_bytes : source->live_bytes;
}

const struct tensor_source *tensor_sources_find(const struct tensor_sources *sources, uint8_t space,
						uint16_t row)
{
	size_t i;

	for (i = 0; i < sources->count; i++)
		if (space == MS_SPACE_PHYSICAL ? sources->list[i].mapped :
						 sources->list[i].row == row)
			return &sources->list[i];
	return NULL;
}
