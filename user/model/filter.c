// SPDX-License-Identifier: BSD-2-Clause
#include "model/filter.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>

int filter_set_api(struct filter *filter, const char *regex, char *reason, size_t reason_bytes)
{
	regex_t compiled;
	uint32_t row;
	int err;

	err = regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &compiled, reason, reason_bytes);
		return -EINVAL;
	}
	free(filter->rows);
	filter->rows = calloc(probe_count(), sizeof(*filter->rows));
	for (row = 0; filter->rows && row < probe_count(); row++)
		filter->rows[row] = !regexec(&compiled, probe_at(row)->symbol, 0, NULL, 0);
	regfree(&compiled);
	return filter->rows ? 0 : -ENOMEM;
}

static bool size_accepted(const struct filter *filter, const struct event *event,
			  const struct change *change)
{
	switch (event->probe->spec.op) {
	case MS_OP_FREE:
		return !change->has_allocation || !change->allocation.size_known ||
		       change->allocation.size_bytes >= filter->min_bytes;
	case MS_OP_ALLOC:
	case MS_OP_COPY:
	case MS_OP_MEMSET:
		return !(event->call->known & MS_KNOWN_SIZE) ||
		       event->call->size >= filter->min_bytes;
	}
	return true;
}

/* The end of a context that held memory is a free of it. */
static bool op_accepted(const struct filter *filter, const struct event *event,
			const struct change *change)
{
	enum ms_op op = event->probe->spec.op;
	uint32_t space;

	if (filter->ops >> op & 1 || (filter->failures && !event_succeeded(event->call)))
		return true;
	if (op != MS_OP_CONTEXT || !(filter->ops >> MS_OP_FREE & 1))
		return false;
	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (change->implicit[space].count)
			return true;
	return false;
}

bool filter_accepts(const struct filter *filter, const struct event *event,
		    const struct change *change)
{
	const struct ms_call *call = event->call;

	if (!op_accepted(filter, event, change))
		return false;
	if (filter->rows && !filter->rows[call->row] &&
	    (call->driver_row == MS_NO_ROW || !filter->rows[call->driver_row]))
		return false;
	return size_accepted(filter, event, change);
}

void filter_fini(struct filter *filter)
{
	free(filter->rows);
	filter->rows = NULL;
}
