// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/tensor_places.h"

#include <stdlib.h>
#include <string.h>

void tensor_places_add(struct tensor_places *places, uint32_t stack, uint64_t bytes)
{
	size_t i;

	for (i = 0; i < places->count; i++)
		if (places->list[i].stack == stack)
			break;
	if (i == TENSOR_PLACES) {
		places->more++;
		return;
	}
	if (i == places->count)
		places->list[places->count++] = (struct tensor_site){ .stack = stack };
	places->list[i].segments++;
	places->list[i].bytes += bytes;
}

static int compare(const void *a, const void *b)
{
	const struct tensor_site *first = a, *second = b;
	int order = (first->bytes < second->bytes) - (first->bytes > second->bytes);

	return order ? order : (first->stack > second->stack) - (first->stack < second->stack);
}

size_t tensor_places_list(struct tensor_places *places, struct tensor_site sites[TENSOR_SITES],
			  uint64_t *more)
{
	const size_t count = places->count < TENSOR_SITES ? places->count : TENSOR_SITES;
	size_t i;

	qsort(places->list, places->count, sizeof(*places->list), compare);
	memcpy(sites, places->list, count * sizeof(*sites));
	*more = places->more;
	for (i = count; i < places->count; i++)
		*more += places->list[i].segments;
	return count;
}
