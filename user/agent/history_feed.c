// SPDX-License-Identifier: BSD-2-Clause
#include "agent/history_feed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/place.h"
#include "history/schema.h"

/* SQLite does not follow links, which are those of the state directory that have been followed. */
static int resolve(struct history_feed *feed)
{
	char *real = realpath(feed->directory, NULL);
	int err = real ? 0 : -errno;

	if (!err)
		snprintf(feed->directory, sizeof(feed->directory), "%s", real);
	else
		log_error("%s: %s", feed->directory, strerror(errno));
	snprintf(feed->path, sizeof(feed->path), "%s/" HISTORY_FILE, feed->directory);
	free(real);
	return err;
}

int history_feed_open(struct history_feed *feed, const struct history_feed_options *options)
{
	const struct history_options history = { .directory = feed->directory,
						 .most_bytes = options->most_bytes,
						 .kept_seconds = options->kept_seconds };
	int err;

	if (!options->most_bytes)
		return 0;
	if (snprintf(feed->directory, sizeof(feed->directory), "%s/history",
		     options->state_directory) >= (int)sizeof(feed->directory))
		return -ENAMETOOLONG;
	err = place_make_directory(feed->directory);
	if (err && err != -EEXIST) {
		log_error("%s: cannot create: %s", feed->directory, place_error(err));
		return err;
	}
	err = resolve(feed);
	return err ? err : history_writer_open(&feed->writer, &history);
}

static void take(void *context, const struct string *batch)
{
	struct history_feed *feed = context;

	history_writer_put(&feed->writer, batch);
}

int history_feed_begin(struct history_feed *feed, struct pipeline *pipeline, const char *boot)
{
	struct history_sampler_options options = { .wall_offset_ns = clock_realtime_offset_ns,
						   .take = take,
						   .context = feed };

	if (!feed->writer.child)
		return 0;
	snprintf(options.boot, sizeof(options.boot), "%s", boot);
	feed->sampler = history_sampler_new(&options, clock_monotonic_ns());
	if (!feed->sampler)
		return -ENOMEM;
	pipeline_add_sink(pipeline, history_sampler_sink(feed->sampler));
	return 0;
}

int history_feed_start(struct history_feed *feed, struct loop *loop)
{
	return history_writer_start(&feed->writer, loop);
}

void history_feed_finish(struct history_feed *feed, uint64_t now_ns)
{
	if (feed->sampler)
		history_sampler_finish(feed->sampler, now_ns);
	history_writer_close(&feed->writer);
}

void history_feed_close(struct history_feed *feed)
{
	history_writer_close(&feed->writer);
	history_sampler_free(feed->sampler);
	feed->sampler = NULL;
}
