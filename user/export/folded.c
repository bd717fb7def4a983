// SPDX-License-Identifier: BSD-2-Clause
/*
 * Folded stacks: a line per owner, "train (4242);device 0;pool;cudaMallocAsync 1048576", with the
 * functions that called behind the process. Bytes; which of them, --metric says. Lines that begin
 * with '#' say what is missing.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "export/export.h"
#include "export/owners.h"
#include "render/stack_words.h"

struct folded {
	struct sink sink;
	struct writer *writer;
	struct string frame;
	enum export_metric metric;
	uint64_t lines; /* of owners, so far */
	bool has_hosts;
};

static uint64_t bytes_of(const struct owner *owner, enum export_metric metric)
{
	switch (metric) {
	case EXPORT_ALLOC:
		return owner->cell->alloc_bytes;
	case EXPORT_PEAK:
		/* If it was before the time that is reported, what it was made of is not known. */
		return owner->process->usage->spaces[owner->cell->space].known ?
			       owner->cell->peak_bytes :
			       0;
	case EXPORT_INUSE:
		break;
	}
	return owner->cell->live_bytes;
}

static void put_frame(struct folded *export)
{
	struct string *out = &export->writer->text;
	size_t i;

	/* The one character that is special and printable. */
	for (i = 0; i < export->frame.length; i++)
		if (export->frame.bytes[i] == ';')
			string_append_text(out, "\\x3b");
		else
			string_append_char(out, export->frame.bytes[i]);
	out->failed |= export->frame.failed;
	string_clear(&export->frame);
}

/* The outermost first. */
static void put_stack(struct folded *export, const struct owner *owner)
{
	const struct stacks *stacks = &owner->recording->state->stacks;
	size_t i;

	for (i = owner->stack ? owner->stack->count : 0; i; i--) {
		string_append_char(&export->writer->text, ';');
		stack_words_append_function(&export->frame,
					    stacks_frame(stacks, owner->stack, i - 1));
		put_frame(export);
	}
}

static int put_owner(void *context, const struct owner *owner)
{
	struct folded *export = context;
	struct string *out = &export->writer->text;
	const uint64_t bytes = bytes_of(owner, export->metric);
	int frame = export->has_hosts ? OWNER_HOST : OWNER_PROCESS;
	const int first = frame;

	if (!bytes)
		return 0;
	for (; frame < OWNER_FRAMES; frame++) {
		if (frame != first)
			string_append_char(out, ';');
		owner_append_frame(&export->frame, owner, frame);
		put_frame(export);
		if (frame == OWNER_PROCESS)
			put_stack(export, owner);
	}
	string_append_char(out, ' ');
	string_append_u64(out, bytes);
	export->lines++;
	return writer_end_line(export->writer);
}

static int put_remark(void *context, const char *text)
{
	struct folded *export = context;

	string_append_text(&export->writer->text, "# ");
	string_append_text(&export->writer->text, text);
	return writer_end_line(export->writer);
}

static int finish_folded(struct sink *sink, const struct report *report)
{
	struct folded *export = (struct folded *)sink;
	static const char *const nothing[] = {
		[EXPORT_INUSE] = "nothing is live at the end, nor was when a process exited",
		[EXPORT_ALLOC] = "nothing was allocated",
		[EXPORT_PEAK] = "nothing was live at a high-water mark",
	};
	int err;

	export->has_hosts = report->count > 1;
	err = owners_remarks(report, put_remark, export);
	if (!err)
		err = owners_visit(report, put_owner, export);
	if (!err && !export->lines)
		err = put_remark(export, nothing[export->metric]);
	if (err == -ENOMEM)
		log_error("not enough memory");
	return err;
}

static void free_folded(struct sink *sink)
{
	struct folded *export = (struct folded *)sink;

	string_fini(&export->frame);
	free(export);
}

static struct sink *begin_folded(const struct export_options *options)
{
	struct folded *export = calloc(1, sizeof(*export));

	if (!export) {
		log_error("not enough memory");
		return NULL;
	}
	export->writer = options->writer;
	export->metric = options->metric;
	return &export->sink;
}

const struct exporter export_folded = {
	.name = "folded",
	.endings = ".folded",
	.summary = "folded stacks, bytes by owner (--metric), for flamegraph.pl and speedscope",
	.takes_metric = true,
	.begin = begin_folded,
	.finish = finish_folded,
	.free = free_folded,
};
