// SPDX-License-Identifier: BSD-2-Clause
#include "render/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "render/field.h"
#include "render/stack_words.h"
#include "render/identity_words.h"
#include "render/gpu_words.h"
#include "render/summary_gpu.h"
#include "render/record_field.h"
#include "render/wrap.h"

#define RED "\033[31m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"
#define CLEAR "\033[H\033[2J"

struct text_sink {
	struct sink sink;
	struct writer *writer;
	struct text_options options;
	struct string scratch;
	struct string cell;
	bool headed;
	uint64_t left_out; /* bit set of fields whose columns have no room */
};

#define DETAIL_COLUMNS 16 /* that the last column, which has no width, gets at least */

/* In this order columns give way where a line would be too long. */
static const char *const gives_way[] = {
	"addr", "device", "name", "duration_ns", "ts_ns", "thread"
};

static void append_time(struct text_sink *text, struct string *out, uint64_t ts_ns)
{
	uint64_t wall_ns = ts_ns + text->options.clock_ns;
	time_t seconds = wall_ns / 1000000000;
	struct tm local;

	localtime_r(&seconds, &local);
	string_append_format(out, "%02d:%02d:%02d.%06u", local.tm_hour, local.tm_min, local.tm_sec,
			     (unsigned int)(wall_ns % 1000000000 / 1000));
}

static void append_value(struct text_sink *text, struct string *out, enum field_kind kind,
			 struct field_value value)
{
	char number[STRING_NUMBER_BYTES];

	if (!value.known) {
		string_append_char(out, '-');
		return;
	}
	switch (kind) {
	case FIELD_TIME:
		append_time(text, out, value.number);
		break;
	case FIELD_SIZE:
		if (text->options.exact)
			string_append_u64(out, value.number);
		else
			string_append_text(out, string_size(number, value.number));
		break;
	case FIELD_DURATION:
		string_append_text(out, string_duration(number, value.number));
		break;
	case FIELD_ADDRESS:
		string_append_hex(out, value.number);
		break;
	case FIELD_SIGNED:
		string_append_i64(out, value.signed_number);
		break;
	case FIELD_TEXT:
		string_append(out, value.text, value.length);
		break;
	default:
		string_append_u64(out, value.number);
	}
}

/* A cell of `width` columns, negative: flush left. A wider value pushes the rest to the right. */
static void append_cell(struct string *out, const struct string *cell, int width)
{
	size_t columns = abs(width);

	if (width > 0)
		string_pad(out, out->length + columns -
					(cell->length < columns ? cell->length : columns));
	string_append(out, cell->bytes, cell->length);
	out->failed |= cell->failed;
	if (width < -1)
		string_pad(out, out->length + columns -
					(cell->length < columns ? cell->length : columns));
}

static int cell_width(const struct text_sink *text, const struct field *field)
{
	/* A number of bytes needs more room than "1.50 GiB". */
	return text->options.exact && field->kind == FIELD_SIZE ? 14 : field->width;
}

static bool is_shown(const struct text_sink *text, size_t field)
{
	return fields[field].heading && !(text->left_out >> field & 1);
}

static size_t columns_of(const struct text_sink *text)
{
	size_t columns = DETAIL_COLUMNS, i;

	for (i = 0; i < fields_count; i++)
		if (is_shown(text, i) && fields[i].width != -1)
			columns += (size_t)abs(cell_width(text, &fields[i])) + 1;
	return columns;
}

static void choose_columns(struct text_sink *text)
{
	size_t i, field;

	for (i = 0; i < sizeof(gives_way) / sizeof(*gives_way); i++)
		for (field = 0; field < fields_count; field++)
			if (columns_of(text) > text->options.width &&
			    !strcmp(fields[field].name, gives_way[i]))
				text->left_out |= 1ull << field;
}

/* Cuts what has been written from `begin` on to the width of a line. */
static void cut(struct text_sink *text, size_t begin)
{
	if (text->options.width)
		wrap_cut(&text->writer->text, begin, text->options.width);
}

static void trim(struct string *out)
{
	while (out->length && out->bytes[out->length - 1] == ' ')
		out->length--;
}

static void append_heading(struct text_sink *text)
{
	struct string *out = &text->writer->text;
	size_t i, begin;

	if (text->options.width)
		choose_columns(text);
	if (text->writer->colour)
		string_append_text(out, DIM);
	begin = out->length;
	for (i = 0; i < fields_count; i++) {
		if (!is_shown(text, i))
			continue;
		string_clear(&text->cell);
		string_append_text(&text->cell, fields[i].heading);
		append_cell(out, &text->cell, cell_width(text, &fields[i]));
		string_append_char(out, ' ');
	}
	trim(out);
	cut(text, begin);
	if (text->writer->colour)
		string_append_text(out, PLAIN);
	writer_end_line(text->writer);
	text->headed = true;
}

/* What a process holds besides what it held before it was attached to is marked as such. */
static void append_field(struct text_sink *text, const struct field *field,
			 const struct field_source *source)
{
	const struct field_value value = field->get(source);
	const struct process *process = source->change->process;

	if (value.known && !strcmp(field->name, "live_bytes") && process &&
	    state_may_hold_more(process))
		string_append_char(&text->cell, '+');
	append_value(text, &text->cell, field->kind, value);
}

static void append_stack(struct text_sink *text, uint32_t id)
{
	const struct stacks *stacks = &text->sink.state->stacks;
	const struct stack *stack = stacks_find(stacks, id);
	struct string *out = &text->writer->text;
	size_t i;

	for (i = 0; stack && i < stack->count; i++) {
		const size_t folded =
			text->options.whole_stacks ? 0 : stack_words_interpreter(stacks, stack, i);
		const size_t begin = out->length + 1;

		string_append_text(out, "\n > ");
		if (folded)
			string_append_format(out, "... %zu frame%s of Python itself (--stack=full)",
					     folded, folded == 1 ? "" : "s");
		else
			stack_words_append(out, stacks_frame(stacks, stack, i));
		i += folded ? folded - 1 : 0;
		cut(text, begin);
	}
	if (!stack || stack->end == MS_STACK_END_COMPLETE)
		return;
	string_append_text(out, "\n > ... (");
	string_append_text(out, stack_words_end(stack->end));
	string_append_char(out, ')');
}

static int show_call(struct text_sink *text, const struct event *event, const struct change *change)
{
	struct field_source source = { .event = event,
				       .change = change,
				       .scratch = &text->scratch,
				       .split = text->options.split,
				       .exact = text->options.exact };
	struct string *out = &text->writer->text;
	bool alarming = text->writer->colour && !event_succeeded(event->call);
	size_t i, begin;

	if (alarming)
		string_append_text(out, RED);
	begin = out->length;
	for (i = 0; i < fields_count; i++) {
		const struct field *field = &fields[i];
		bool applies = !field->ops || field->ops >> event->probe->spec.op & 1;

		if (!is_shown(text, i))
			continue;
		string_clear(&text->scratch);
		string_clear(&text->cell);
		if (applies)
			append_field(text, field, &source);
		append_cell(out, &text->cell, cell_width(text, field));
		string_append_char(out, ' ');
		out->failed |= text->scratch.failed;
	}
	trim(out);
	cut(text, begin);
	if (alarming)
		string_append_text(out, PLAIN);
	if (text->options.stacks)
		append_stack(text, event_stack_id(event->call));
	return writer_end_line(text->writer);
}

static void append_exit(struct string *out, const struct event *event)
{
	uint32_t status = event->process->value;

	if (status == MS_EXIT_UNKNOWN)
		string_append_text(out, "ended");
	else if (WIFSIGNALED(status))
		string_append_format(out, "killed by signal %d (%s)", WTERMSIG(status),
				     strsignal(WTERMSIG(status)));
	else
		string_append_format(out, "exited with %d", WEXITSTATUS(status));
}

/* What a GPU did is heard of later: when it did counts. */
static uint64_t shown_ns(const struct event *event)
{
	uint64_t begin_ns = 0;

	if (event->header->type == MS_TYPE_ACTIVITY)
		begin_ns = ((const struct ms_activity *)event->sample)->is.begin_ns;
	return begin_ns ? begin_ns : event->header->ts_ns;
}

/* The beginning of a line that is no call. */
static struct string *begin_line(struct text_sink *text, const struct event *event,
				 const struct change *change)
{
	struct string *out = &text->writer->text;

	append_time(text, out, shown_ns(event));
	string_append_text(out, " +++ ");
	if (change->process) {
		string_append_format(out, "%u (", event->header->pid);
		identity_words_name(out, change->process);
		string_append_text(out, ") ");
	}
	return out;
}

/* "clock: hertz 1410000000, device 0" */
static int show_sample(struct text_sink *text, const struct event *event,
		       const struct change *change)
{
	const size_t begin = text->writer->text.length;
	struct string *out = begin_line(text, event, change);
	const char *before = ": ";
	size_t i;

	string_append_text(out, event_type_name(event_type(event)));
	for (i = 0; i < record_fields_count; i++) {
		const struct record_field *field = &record_fields[i];
		struct field_value value;

		/* The stack itself comes below. */
		if (field->type != event->header->type || !strcmp(field->name, "stack_id"))
			continue;
		string_append_format(out, "%s%s ", before, field->name);
		value = record_field_value(field, event, change);
		if (field->kind == FIELD_TEXT)
			field_append_safe(out, value.text, value.length);
		else
			append_value(text, out, field->kind, value);
		before = ", ";
	}
	cut(text, begin);
	if (change->has_tensor && change->tensor.given.stack)
		append_stack(text, change->tensor.given.stack);
	return writer_end_line(text->writer);
}

/* A marker that ends something does not say what that is called. */
static void append_marker(struct string *out, const struct ms_marker *marker)
{
	static const char *const words[] = {
		[MS_MARKER_PUSH] = "begins",        [MS_MARKER_POP] = "ends",
		[MS_MARKER_START] = "begins range", [MS_MARKER_STARTED] = "has begun range",
		[MS_MARKER_END] = "ends range",     [MS_MARKER_INSTANT] = "mark",
	};
	static const char *const sources[] = {
#define X(source, name) name,
		MS_MARKER_SOURCES(X)
#undef X
	};
	const bool has_number = marker->action == MS_MARKER_STARTED ||
				marker->action == MS_MARKER_END || marker->id;

	string_append_text(out, words[marker->action]);
	if (marker->length) {
		string_append_char(out, ' ');
		field_append_safe(out, marker->name, strlen(marker->name));
		string_append_text(out, marker->flags & MS_MARKER_CUT ? "..." : "");
	} else if (marker->flags & MS_MARKER_UNREAD) {
		string_append_text(out, " (its name could not be read)");
	}
	if (has_number) {
		string_append_char(out, ' ');
		string_append_hex(out, marker->id);
	}
	if (marker->domain) {
		string_append_text(out, " in domain ");
		string_append_hex(out, marker->domain);
	}
	if (marker->event.tid)
		string_append_format(out, ", thread %u", marker->event.tid);
	string_append_format(out, ", %s", sources[marker->source]);
}

static int show_marker(struct text_sink *text, const struct event *event,
		       const struct change *change)
{
	const size_t begin = text->writer->text.length;
	struct string *out = begin_line(text, event, change);

	string_append_text(out, "marker: ");
	append_marker(out, (const struct ms_marker *)event->sample);
	cut(text, begin);
	return writer_end_line(text->writer);
}

/* Calls have lines of their own, by probes. */
static int show_activity(struct text_sink *text, const struct event *event,
			 const struct change *change)
{
	const struct ms_activity_body *activity = &((const struct ms_activity *)event->sample)->is;
	const size_t begin = text->writer->text.length;

	if (activity->kind == MS_ACTIVITY_CALL)
		return 0;
	summary_gpu_append_activity(begin_line(text, event, change), activity, change);
	cut(text, begin);
	return writer_end_line(text->writer);
}

/* Whether it is measured, and that it is over; what comes in between only counts. */
static int show_gpu_status(struct text_sink *text, const struct event *event,
			   const struct change *change)
{
	const struct ms_gpu_status_body *status =
		&((const struct ms_gpu_status *)event->sample)->is;
	const size_t begin = text->writer->text.length;
	struct string *out;

	if (!change->process || !change->process->gpu ||
	    (status->state == MS_GPU_ON && change->process->gpu->statuses > 1))
		return 0;
	out = begin_line(text, event, change);
	string_append_text(out, "GPU time: ");
	if (status->state == MS_GPU_ON)
		string_append_text(out, "measured from now on");
	else
		gpu_words_state(out, change->process->gpu);
	cut(text, begin);
	return writer_end_line(text->writer);
}

static int show_process(struct text_sink *text, const struct event *event,
			const struct change *change)
{
	const size_t begin = text->writer->text.length;
	struct string *out = begin_line(text, event, change);

	switch (event_type(event)) {
	case MS_TYPE_EXIT:
		append_exit(out, event);
		break;
	case MS_TYPE_FORK:
		string_append_format(out, "forked %u", event->process->child_pid);
		break;
	case MS_TYPE_EXEC:
		string_append_text(out, "is being executed");
		identity_words_append(out, change->process, ": ");
		break;
	case MS_TYPE_ATTACH:
		string_append_text(out, state_may_hold_more(change->process) ?
						"is traced from now on" :
						"is traced from its first CUDA call");
		identity_words_append(out, change->process, ": ");
		break;
	default:
		string_append_text(out, event_type_name(event_type(event)));
		break;
	}
	field_append_amounts(out, change->implicit, "; still live: ", text->options.exact);
	cut(text, begin);
	return writer_end_line(text->writer);
}

/* There are ten times as many of the driver's objects as calls. */
static bool is_summary_alone(uint32_t type)
{
	return type == MS_TYPE_OBJECT || type == MS_TYPE_RANGE || type == MS_TYPE_DEVICE ||
	       type == MS_TYPE_HELD || type == MS_TYPE_LIMIT;
}

static int text_event(struct sink *sink, const struct event *event, const struct change *change)
{
	struct text_sink *text = (struct text_sink *)sink;

	if (!text->options.lines || is_summary_alone(event->header->type))
		return 0;
	if (!text->headed)
		append_heading(text);
	if (event->call)
		return show_call(text, event, change);
	if (event->header->type == MS_TYPE_ACTIVITY)
		return show_activity(text, event, change);
	if (event->header->type == MS_TYPE_GPU_STATUS)
		return show_gpu_status(text, event, change);
	if (event->header->type == MS_TYPE_MARKER)
		return show_marker(text, event, change);
	return event->sample ? show_sample(text, event, change) : show_process(text, event, change);
}

static int text_flush(struct sink *sink)
{
	return writer_flush(((struct text_sink *)sink)->writer);
}

static int text_finish(struct sink *sink, const struct summary *summary)
{
	struct text_sink *text = (struct text_sink *)sink;

	text_append_summary(&text->writer->text, summary, &text->options);
	return writer_flush(text->writer);
}

int text_sink_show(struct sink *sink, const struct summary *summary)
{
	struct text_sink *text = (struct text_sink *)sink;
	struct string *out = &text->writer->text;

	string_append_text(out, text->writer->terminal ? CLEAR : "");
	append_time(text, out, summary->end_ns);
	string_append_char(out, '\n');
	text_append_summary(out, summary, &text->options);
	string_append_text(out, text->writer->terminal ? "" : "\n");
	return writer_flush(text->writer);
}

struct sink *text_sink_new(struct writer *writer, const struct text_options *options)
{
	struct text_sink *text = calloc(1, sizeof(*text));

	if (!text)
		return NULL;
	text->sink = (struct sink){ .call = text_event,
				    .process = text_event,
				    .sample = text_event,
				    .flush = text_flush,
				    .end = text_finish };
	text->writer = writer;
	text->options = *options;
	return &text->sink;
}

void text_sink_free(struct sink *sink)
{
	struct text_sink *text = (struct text_sink *)sink;

	if (!text)
		return;
	string_fini(&text->scratch);
	string_fini(&text->cell);
	free(text);
}
