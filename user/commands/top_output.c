// SPDX-License-Identifier: BSD-2-Clause
#include "commands/top_output.h"

#include "base/clock.h"
#include "commands/terminal.h"
#include "top/top_text.h"

void top_output_init(struct top_output *output, const struct top_run_settings *settings,
		     uint64_t now_ns)
{
	*output = (struct top_output){ .settings = settings };
	top_init(&output->top, now_ns);
	output->top.selection = &settings->selection;
	output->status.begin_ns = output->status.now_ns = now_ns;
	writer_init_stdout(&output->writer);
}

int top_output_open(struct top_output *output, struct loop *loop, void (*end)(void *context),
		    int (*sites)(void *context, const struct process *process), void *context)
{
	const struct top_display_options options = {
		.top = &output->top,
		.status = &output->status,
		.sort = output->settings->sort,
		.loop = loop,
		.end = end,
		.sites = sites,
		.context = context,
	};

	return output->settings->batch ? 0 : top_display_open(&output->display, &options);
}

void top_output_leave_terminal(struct top_output *output)
{
	top_display_close(output->display);
	output->display = NULL;
}

int top_output_close(struct top_output *output)
{
	top_output_leave_terminal(output);
	top_fini(&output->top);
	return output->settings ? writer_close(&output->writer) : 0;
}

bool top_output_is_paused(const struct top_output *output)
{
	return output->display && top_display_is_paused(output->display);
}

bool top_output_is_done(const struct top_output *output)
{
	return output->settings->looks && output->looks >= output->settings->looks;
}

static int write_look(struct top_output *output)
{
	const struct document_text_options options = terminal_options(&output->writer);
	const uint64_t most = output->settings->most;
	struct document_text text;

	if (output->looks > 1)
		string_append_char(&output->writer.text, '\n');
	document_text_init(&text, &output->writer.text, most ? most : SIZE_MAX, &options);
	top_text_append(&text.document, &output->top, &output->status);
	document_text_fini(&text);
	return writer_flush(&output->writer);
}

int top_output_look(struct top_output *output, uint64_t at_ns, uint64_t now_ns)
{
	int err = 0;

	output->status.now_ns = now_ns;
	output->looks++;
	if (at_ns != output->top.at_ns)
		err = top_look(&output->top, at_ns);
	output->status.realtime_ns = output->top.at_ns + clock_realtime_offset_ns();
	if (err)
		return err;
	if (output->display)
		return top_display_look(output->display);
	top_sort_rows(&output->top, output->settings->sort, false);
	return write_look(output);
}
