// SPDX-License-Identifier: BSD-2-Clause
#include "event/filter.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>

int filter_set_api(struct filter *filter, const char *regex, char *reason, size_t reason_bytes)
{
	regex_t compiled;
	bool found = false;
	uint32_t row;
	int err;

	err = regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &compiled, reason, reason_bytes);
		return -EINVAL;
	}
	free(filter->rows);
	filter->rows = calloc(probe_count(), sizeof(*filter->rows));
	for (row = 0; filter->rows && row < probe_count(); row++) {
		filter->rows[row] = !regexec(&compiled, probe_at(row)->symbol, 0, NULL, 0);
		found |= filter->rows[row];
	}
	regfree(&compiled);
	return !filter->rows ? -ENOMEM : found ? 0 : -ENOENT;
}

static bool size_accepted(const struct filter *filter, const struct event *event,
			  const struct filter_effect *effect)
{
	switch (event->probe->spec.op) {
	case MS_OP_FREE:
		return !effect->freed_known || effect->freed_bytes >= filter->min_bytes;
	case MS_OP_ALLOC:
	case MS_OP_COPY:
	case MS_OP_MEMSET:
		return !(event->call->known & MS_KNOWN_SIZE) ||
		       event->call->size >= filter->min_bytes;
	}
	return true;
}

/* Whether there is any: together as much as a single one would have to be, or of unknown size. */
static bool amount_accepted(const struct filter *filter, uint64_t count, uint64_t bytes)
{
	return count && (!bytes || bytes >= filter->min_bytes);
}

static bool effect_accepted(const struct filter *filter, const struct filter_effect *effect)
{
	return (filter->ops >> MS_OP_ALLOC & 1 &&
		amount_accepted(filter, effect->made_count, effect->made_bytes)) ||
	       (filter->ops >> MS_OP_FREE & 1 &&
		amount_accepted(filter, effect->ended_count, effect->ended_bytes));
}

bool filter_accepts(const struct filter *filter, const struct event *event,
		    const struct filter_effect *effect)
{
	const struct ms_call *call = event->call;

	const uint32_t ops = filter->ops | (event_succeeded(call) ? 0 : filter->failures);

	if (!(ops >> event->probe->spec.op & 1) && !effect_accepted(filter, effect))
		return false;
	if (filter->rows && !filter->rows[call->row] &&
	    (call->driver_row == MS_NO_ROW || !filter->rows[call->driver_row]))
		return false;
	return size_accepted(filter, event, effect);
}

void filter_fini(struct filter *filter)
{
	free(filter->rows);
	filter->rows = NULL;
}
