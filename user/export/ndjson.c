// SPDX-License-Identifier: BSD-2-Clause
/*
 * One JSON object per line and event, as `trace --json` writes them (docs/event.schema.json).
 */
#include <stdlib.h>

#include "base/log.h"
#include "export/export.h"
#include "output/json.h"

struct ndjson {
	struct follower follower;
	struct sink *sink;
};

static int take_event(struct follower *follower, const struct event *event,
		      const struct change *change)
{
	struct ndjson *export = (struct ndjson *)follower;

	if (event->header->type == MS_TYPE_CALLS)
		return 0; /* only counted: there is no event to show */
	return export->sink->event(export->sink, event, change);
}

static void free_ndjson(struct follower *follower)
{
	struct ndjson *export = (struct ndjson *)follower;

	json_sink_free(export->sink);
	free(export);
}

static struct follower *begin_ndjson(const struct export_options *options)
{
	struct ndjson *export = calloc(1, sizeof(*export));

	if (export)
		export->sink = json_sink_new(options->writer, true);
	if (export && export->sink) {
		export->follower.event = take_event;
		return &export->follower;
	}
	log_error("not enough memory");
	free(export);
	return NULL;
}

static int finish_ndjson(struct follower *follower, const struct report *report)
{
	(void)follower;
	(void)report;
	return 0;
}

const struct exporter export_ndjson = {
	.name = "ndjson",
	.summary =
		"a JSON object per line and event, as trace --json writes them, for jq and scripts",
	.begin = begin_ndjson,
	.finish = finish_ndjson,
	.free = free_ndjson,
};
