// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf diff`: what changed between two recordings.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/string.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/dump_input.h"
#include "commands/report_format.h"
#include "commands/requirements.h"
#include "commands/terminal.h"
#include "report/diff_gate.h"
#include "render/diff_ci.h"
#include "render/diff_html.h"
#include "render/diff_json.h"
#include "render/diff_md.h"
#include "render/diff_text.h"
#include "base/writer.h"

#define DEFAULT_TOP 10
#define MAX_TOP 10000

#define GATE_KINDS (1u << GATE_NEW | 1u << GATE_ANY | 1u << GATE_LOSS | 1u << GATE_INEXACT)

struct settings {
	struct report_time from, until;
	struct diff_options options;
	const char *output;
	enum report_format format;
	bool quiet;   /* once settled: nothing is written */
	uint64_t top; /* 0: as the format has it */
	struct gate gate;
};

/* ---- formats --------------------------------------------------------------------------------- */

static void write_md(struct writer *writer, const struct diff *diff,
		     const struct settings *settings)
{
	diff_md(&writer->text, diff, settings->top ? settings->top : DEFAULT_TOP);
}

static void write_json(struct writer *writer, const struct diff *diff,
		       const struct settings *settings)
{
	(void)settings;
	diff_json(&writer->text, diff);
}

/* The page lets its reader filter, and shows the first of many rows. */
static void write_html(struct writer *writer, const struct diff *diff,
		       const struct settings *settings)
{
	diff_html(&writer->text, diff, settings->top ? settings->top : MAX_TOP);
}

static void write_text(struct writer *writer, const struct diff *diff,
		       const struct settings *settings)
{
	const struct document_text_options options = terminal_options(writer);

	diff_text(&writer->text, diff, settings->top ? settings->top : DEFAULT_TOP, &options);
}

static void write_junit(struct writer *writer, const struct diff *diff,
			const struct settings *settings)
{
	diff_junit(&writer->text, diff, &settings->gate);
}

static void write_github(struct writer *writer, const struct diff *diff,
			 const struct settings *settings)
{
	diff_github(&writer->text, diff, &settings->gate);
}

static void (*const writers[])(struct writer *writer, const struct diff *diff,
			       const struct settings *settings) = {
	[REPORT_FORMAT_MD] = write_md,       [REPORT_FORMAT_TEXT] = write_text,
	[REPORT_FORMAT_JSON] = write_json,   [REPORT_FORMAT_HTML] = write_html,
	[REPORT_FORMAT_JUNIT] = write_junit, [REPORT_FORMAT_GITHUB] = write_github,
};

/* ---- options --------------------------------------------------------------------------------- */

static int parse_top(const struct option_row *row, const char *value, void *context)
{
	return option_number(row, value, context, 1, MAX_TOP);
}

static int parse_count(const struct option_row *row, const char *value, void *context)
{
	return option_number(row, value, context, 0, UINT64_MAX);
}

static int parse_share(const struct option_row *row, const char *value, void *context)
{
	return option_number(row, value, context, 0, 100);
}

static int parse_per(const struct option_row *row, const char *value, void *context)
{
	int which = option_which(row, value);

	if (which < 0)
		return which;
	((struct settings *)context)->options.basis = (enum diff_basis)(DIFF_PER_AUTO + which);
	return 0;
}

static int parse_fail_on(const struct option_row *row, const char *value, void *context)
{
	return dump_input_gate(row, value, &((struct settings *)context)->gate, GATE_KINDS);
}

#define AT(member) offsetof(struct settings, member)

static const struct option_row rows[] = {
	REPORT_FORMAT_ROWS(
		"md: Markdown. text: aligned text. json: one JSON object (docs/diff.schema.json). html:"
		" one HTML file, which needs no network. junit: JUnit XML, whose tests are the conditions"
		" of --fail-on. github: annotations for a GitHub workflow. Default: by the ending of"
		" FILE, text on a terminal, otherwise Markdown.",
		AT(format)),
	{ 'o', "output", "FILE", "Write to FILE. Default: standard output (-).", option_output,
	  AT(output) },
	{ 0, "from", "TIME",
	  "On both sides, only events from this time on: +5s or 1m30s after the recording began,"
	  " -10s before its end, 15:04 (UTC), or 2026-11-21T15:04:05Z, with or without seconds and"
	  " zone, or @SECONDS since 1970; or from mark:NAME on, the first mark or phase of that name; or from oom (when"
	  " memory ran out) or peak. Memory that was live at that time still counts.",
	  dump_input_time_or_mark, AT(from) },
	{ 0, "to", "TIME",
	  "On both sides, only events until this time, the last mark:NAME, oom or peak.",
	  dump_input_time_or_mark, AT(until) },
	{ 0, "top", "K",
	  "List up to K rows of each table (default 10; HTML 10000; JSON has all rows).", parse_top,
	  AT(top) },
	{ 0, "min-bytes", "SIZE", "Differences of less than SIZE bytes are noise (default 1M).",
	  option_size, AT(options.min_bytes) },
	{ 0, "min-count", "N",
	  "Differences in calls and blocks of less than N are noise (default 10).", parse_count,
	  AT(options.min_count) },
	{ 0, "min-share", "PERCENT",
	  "Differences of less than PERCENT of the larger side are noise (default 1).", parse_share,
	  AT(options.min_share) },
	{ 0, "per", "auto|run|second|launch",
	  "How to compare counts that grow over time (allocations, copies, launches). run: as they"
	  " are. launch: per launch of a kernel. second: per second, which is shown but is never a"
	  " difference. auto (default): run if both sides have the process from its start to its"
	  " end, otherwise second.",
	  parse_per, 0 },
	{ 0, "fail-on", "growth=SIZE,leak,oom,new,any,loss,inexact,unknown=pass,RULE>=CONFIDENCE",
	  "Exit with 8 if a condition holds. growth=SIZE: a process holds SIZE more device memory"
	  " at the end, or its peak of that memory, or the peak of a device, is SIZE higher. leak,"
	  " oom, RULE>=CONF: B has a leak (a finding of a rule about leaks, of medium confidence"
	  " or more), an out-of-memory failure, or a finding of the rule or topic of this"
	  " confidence, that A does not have; or a leak of A that is at least twice as large in B for"
	  " the time and work. new: a process, function, kernel or the like is new."
	  " any: anything differs by more than noise, but for findings that are gone. loss: anything was lost on either side."
	  " inexact: the numbers of either side are not exact. Exit with 9 if none holds, but a"
	  " rule in the list could not look in B, unless unknown=pass is given.",
	  parse_fail_on, 0 },
	OPTION_SILENT_ROW(" unless -f or --json asks for it", AT(quiet)),
	OPTION_VERBOSE_ROW,
	{ 0 },
};

/* ---- findings that are asked for ------------------------------------------------------------- */

/* What fails a report does not fail a comparison if it was there before. */
static void say_in_both(const struct gate_condition *condition, const struct diff *diff)
{
	struct string text = { 0 };

	diff_append_in_both(&text, condition, diff);
	if (text.length)
		log_warning("--fail-on %s: %.*s", condition->text, (int)text.length, text.bytes);
	string_fini(&text);
}

static int check_findings(const struct settings *settings, const struct diff *diff)
{
	const struct gate *gate = &settings->gate;
	struct string text = { 0 };
	uint64_t unknown = 0;
	bool found = false;
	size_t i;

	for (i = 0; i < gate->count; i++) {
		const struct gate_result result = diff_judge(&gate->list[i], diff);

		say_in_both(&gate->list[i], diff);
		if (result.outcome == GATE_PASSED)
			continue;
		diff_append_result(&text, &gate->list[i], diff, &result);
		log_warning("--fail-on %s: %.*s%s", gate->list[i].text, (int)text.length,
			    text.length ? text.bytes : "",
			    dump_input_gate_hint(gate, &result, false));
		string_clear(&text);
		found |= result.outcome == GATE_FAILED;
		unknown |= (uint64_t)(result.outcome == GATE_UNKNOWN) << i;
	}
	string_fini(&text);
	return dump_input_gate_code(gate, diff->b, found, unknown);
}

/* ---- running --------------------------------------------------------------------------------- */

/* What is written, and how. */
struct shown {
	const struct settings *settings;
	const struct diff *diff;
};

static void put_diff(struct writer *writer, const void *context)
{
	const struct shown *shown = context;

	writers[shown->settings->format](writer, shown->diff, shown->settings);
}

static int compare(const struct settings *settings, const struct report *a, const struct report *b)
{
	struct diff *diff = diff_new(a, b, &settings->options);
	const struct shown shown = { settings, diff };
	int code;

	if (!diff) {
		log_error("not enough memory to compare the recordings");
		return EXIT_FAILED;
	}
	code = settings->quiet ? EXIT_OK :
				 exit_code_of(dump_input_write(settings->output, put_diff, &shown));
	if (code == EXIT_OK)
		code = check_findings(settings, diff);
	diff_free(diff);
	return code;
}

static int read_side(const struct settings *settings, struct report_reader *reader, char *file)
{
	char *files[] = { file, NULL };
	struct dump_set set;
	int code;

	*reader = (struct report_reader){ .from = settings->from,
					  .until = settings->until,
					  .thresholds = analysis_defaults(),
					  .report.options = { .device = -1, .top = 1 } };
	code = dump_input_find(&set, files, settings->output);
	return code == EXIT_OK ? dump_input_read(reader, &set, NULL) : code;
}

static int run(const struct settings *settings, char **files)
{
	struct report_reader a = { 0 }, b = { 0 };
	int code = read_side(settings, &a, files[0]);

	if (code == EXIT_OK)
		code = read_side(settings, &b, files[1]);
	if (code == EXIT_OK)
		code = compare(settings, &a.report, &b.report);
	report_reader_fini(&a);
	report_reader_fini(&b);
	return code;
}

static int diff(int argc, char **argv)
{
	struct settings settings = { .options = diff_defaults() };
	int first, code = EXIT_OK;

	first = options_parse(&diff_command, argc, argv, &settings, &code);
	if (first < 0)
		return code;
	if (argc - first != 2) {
		log_error("diff needs two recordings, A from before and B from after; see"
			  " `memscope-bpf diff --help`");
		return EXIT_USAGE;
	}
	settings.quiet &= settings.format == REPORT_FORMAT_BY_OUTPUT && !settings.output;
	settings.format = report_format_choose(settings.format, settings.output);
	if (settings.format == REPORT_FORMAT_BY_OUTPUT)
		return EXIT_USAGE;
	return run(&settings, argv + first);
}

const struct command diff_command = {
	.name = "diff",
	.summary = "Say what changed between two recordings",
	.synopsis = "[OPTIONS] A B",
	.description =
		"Compares two recordings, A from before and B from after: the memory that each"
		" process holds at the end and at its peak, by kind of memory, function, device and"
		" size; allocated and copied bytes; launches by kernel; and leaks and failed"
		" allocations that are new or gone. It needs no root, no GPU and no BPF.\n"
		"\n"
		"A and B are each a file, a directory or a bundle, as for `memscope-bpf report`.\n"
		"\n"
		"Processes are matched by their names, whatever their hosts and process IDs. If"
		" several have the same name, they are matched by the recorded command, then by"
		" host, then by the order in which they started. The first sentences of the output"
		" say what is wrong in B and was not in A, and what grew most. Rows that are on one"
		" side only are always listed. Other rows whose differences are noise are only"
		" counted, and two equal recordings have no rows at all. Counts of allocations,"
		" copies and launches are compared only if they are comparable: see --per. Rates"
		" and times are shown, and are never a difference by themselves.\n"
		"\n"
		"On a terminal, the tables are aligned text, and values that differ by more than"
		" noise have a star. In a pipe or a file they are Markdown, unless -f is given.\n"
		"\n"
		"If a side lost records, or does not know the memory that was held before it began,"
		" the rows that this may affect are marked.",
	.examples =
		"memscope-bpf diff before.mscope after.mscope\n"
		"# in CI: fail if it holds 10 MiB more than the release before, or leaks anew\n"
		"memscope-bpf diff --fail-on growth=10M,leak,loss release.mscope run.mscope\n"
		"# everything that differs, however little\n"
		"memscope-bpf diff --min-bytes 0 --min-count 0 --min-share 0 a.mscope b.mscope\n"
		"# two parts of the same service's time: per launch of a kernel\n"
		"memscope-bpf diff --per launch monday/ tuesday/\n",
	.options = rows,
	.run = diff,
};
