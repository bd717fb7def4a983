// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is written about events: text or JSON, line by line, and the summary. The first byte of the
 * input chooses which, the rest is a list of steps. Writing takes ten times as long as keeping the
 * state, which has a target of its own.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>

#include "invariants.h"
#include "render/json.h"
#include "render/text.h"
#include "steps.h"

enum choice {
	CHOICE_JSON = 1 << 0, /* else text */
	CHOICE_EXACT = 1 << 1,
	CHOICE_NO_TIME = 1 << 2, /* nothing was observed */
	CHOICE_LOSSES = 1 << 3,
};

static void write_text(struct fuzz_steps *steps, struct pipeline *pipeline, struct writer *writer,
		       const struct summary *summary, uint8_t choice)
{
	const struct text_options options = { .lines = true, .exact = choice & CHOICE_EXACT };
	struct sink *sink = text_sink_new(writer, &options);

	pipeline->sinks_count = 0;
	pipeline_add_sink(pipeline, sink);
	while (steps_feed(steps, pipeline))
		;
	text_append_summary(&writer->text, summary, &options);
	invariants_check_text(writer->text.bytes, writer->text.length);
	text_sink_free(sink);
}

static void write_json(struct fuzz_steps *steps, struct pipeline *pipeline, struct writer *writer,
		       const struct summary *summary)
{
	struct sink *sink = json_sink_new(writer, true);
	struct json json = { .out = &writer->text };

	pipeline->sinks_count = 0;
	pipeline_add_sink(pipeline, sink);
	while (steps_feed(steps, pipeline))
		;
	json_open(&json, '{');
	json_summary(&json, summary);
	json_close(&json, '}');
	string_append_char(&writer->text, '\n');
	invariants_check_json(writer->text.bytes, writer->text.length);
	json_sink_free(sink);
}

static struct summary summary_of(const struct pipeline *pipeline, uint8_t choice)
{
	struct summary summary = { .state = &pipeline->state, .captured_ops = ~0u };

	summary.end_ns = choice & CHOICE_NO_TIME ? 0 : 1000000;
	if (choice & CHOICE_LOSSES) {
		memset(&summary.counters, choice, sizeof(summary.counters));
		summary.losses = losses_of(&summary.counters);
		summary.captured_ops = choice;
	}
	return summary;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_steps steps = { bytes + 1, size ? size - 1 : 0, 1000 };
	struct pipeline pipeline = { .filter = { .ops = ~0u } };
	struct writer writer = { 0 };
	struct summary summary;
	static int null = -1; /* where lines go that do not fit into the buffer */

	if (!size)
		return 0;
	if (null < 0)
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	writer.fd = null;
	summary = summary_of(&pipeline, bytes[0]);
	if (bytes[0] & CHOICE_JSON)
		write_json(&steps, &pipeline, &writer, &summary);
	else
		write_text(&steps, &pipeline, &writer, &summary, bytes[0]);
	fuzz_check(!writer.text.failed && !writer.err);
	string_fini(&writer.text);
	state_fini(&pipeline.state);
	return 0;
}
