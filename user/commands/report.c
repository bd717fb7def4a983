// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf report`: dumps into a report.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/log.h"
#include "base/string.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/dump_input.h"
#include "commands/dump_selection.h"
#include "commands/report_format.h"
#include "commands/requirements.h"
#include "commands/suppress_file.h"
#include "commands/terminal.h"
#include "render/gate_words.h"
#include "render/report_github.h"
#include "render/report_html.h"
#include "render/report_json.h"
#include "render/report_junit.h"
#include "render/report_md.h"
#include "render/report_text.h"
#include "base/writer.h"
#include "store/report_reader.h"

#define DEFAULT_TOP 10
#define MAX_TOP 10000

/* What may be asked for: there is nothing that this is new against. */
#define GATE_KINDS \
	(1u << GATE_LOSS | 1u << GATE_INEXACT | 1u << GATE_EMPTY | 1u << GATE_LEFT | \
	 1u << GATE_PEAK)

struct settings {
	struct report_reader reader;
	struct symbol_files_options symbols;
	struct lanes lanes;
	const char *output;
	enum report_format format;
	bool quiet; /* once settled: nothing is written */
	struct gate gate;
	struct suppressions suppressions;
	const char *suppress; /* their file; NULL: none */
	bool verbose;
};

/* ---- formats --------------------------------------------------------------------------------- */

static void write_md(struct writer *writer, const struct settings *settings)
{
	report_md(&writer->text, &settings->reader.report, terminal_is_ascii(writer),
		  settings->verbose);
}

static void write_text(struct writer *writer, const struct settings *settings)
{
	const struct document_text_options options = terminal_options(writer);

	report_text(&writer->text, &settings->reader.report, settings->verbose, &options);
}

static void write_json(struct writer *writer, const struct settings *settings)
{
	report_json(&writer->text, &settings->reader.report);
}

static void write_html(struct writer *writer, const struct settings *settings)
{
	report_html(&writer->text, &settings->reader.report, &settings->lanes);
}

static void write_junit(struct writer *writer, const struct settings *settings)
{
	report_junit(&writer->text, &settings->reader.report, &settings->gate);
}

static void write_github(struct writer *writer, const struct settings *settings)
{
	report_github(&writer->text, &settings->reader.report, &settings->gate);
}

static void (*const writers[])(struct writer *writer, const struct settings *settings) = {
	[REPORT_FORMAT_MD] = write_md,       [REPORT_FORMAT_TEXT] = write_text,
	[REPORT_FORMAT_JSON] = write_json,   [REPORT_FORMAT_HTML] = write_html,
	[REPORT_FORMAT_JUNIT] = write_junit, [REPORT_FORMAT_GITHUB] = write_github,
};

/* ---- options --------------------------------------------------------------------------------- */

static int parse_by(const struct option_row *row, const char *value, void *context)
{
	enum process_groups_by *by = &((struct settings *)context)->reader.report.options.by;
	int which = -EINVAL;

	if (*by != PROCESS_GROUPS_NONE)
		log_error("--by: one report has one such table; run it once for %s, and once for"
			  " \"%s\"",
			  process_groups_name(*by), value);
	else
		which = option_which(row, value);
	if (which < 0)
		return which;
	*by = (enum process_groups_by)(PROCESS_GROUPS_NONE + 1 + which);
	return 0;
}

static int parse_top(const struct option_row *row, const char *value, void *context)
{
	if (*value && (*value < '0' || *value > '9')) {
		log_error(
			"--top: \"%s\" is no number of rows; -n of perf is not needed, since the"
			" tables have numbers of calls; for a namespace of pods: --namespace NAME",
			value);
		return -EINVAL;
	}
	return option_number(row, value, context, 1, MAX_TOP);
}

static int take_window(const struct option_row *row, char *part, size_t place, void *context)
{
	struct settings *settings = context;
	if (place < 3)
		return dump_input_moment(row, part, &settings->reader.window[place]);
	log_error("--%s: it takes three times, not more", row->name);
	return -EINVAL;
}

static int parse_window(const struct option_row *row, const char *value, void *context)
{
	struct settings *settings = context;
	int err = dump_input_list(row, value, context, take_window);

	if (err || settings->reader.window[2].kind)
		return err;
	log_error("--%s: it takes three times, not \"%s\"", row->name, value);
	return -EINVAL;
}

/* Sizes as 64K, times as 1.5s, all others as plain numbers. */
static int parse_threshold_value(const char *text, enum finding_unit unit, uint64_t *value)
{
	if (unit == FINDING_BYTES)
		return string_parse_size(text, value);
	return unit == FINDING_NS ? duration_parse(text, value) :
				    string_parse_u64(text, 0, UINT64_MAX, value);
}

static int take_threshold(const struct option_row *row, char *part, size_t place, void *context)
{
	struct settings *settings = context;
	char *name = strsep(&part, "=");
	const struct threshold *threshold;
	size_t i;

	(void)place;
	for (i = 0; (threshold = analysis_threshold_at(i)); i++)
		if (!strcmp(threshold->name, name))
			break;
	if (!threshold) {
		log_error("--%s: there is no threshold \"%s\"; with -v, the last table of a report"
			  " lists them",
			  row->name, name);
		return -EINVAL;
	}
	if (part && !parse_threshold_value(part, threshold->unit,
					   threshold_in(threshold, &settings->reader.thresholds)))
		return 0;
	log_error("--%s: \"%s\" is not a value for %s", row->name, part ? part : "", name);
	return -EINVAL;
}

static int parse_thresholds(const struct option_row *row, const char *value, void *context)
{
	return dump_input_list(row, value, context, take_threshold);
}

static int parse_fail_on(const struct option_row *row, const char *value, void *context)
{
	return dump_input_gate(row, value, &((struct settings *)context)->gate, GATE_KINDS);
}

/* "30s" after the first allocation, or "100allocs". */
static int parse_warmup(const struct option_row *row, const char *value, void *context)
{
	struct holdings_warmup *warmup =
		&((struct settings *)context)->reader.report.options.warmup;
	const size_t digits = strspn(value, "0123456789");
	char number[32];

	*warmup = (struct holdings_warmup){ 0 };
	if (!strcmp(value + digits, "allocs") && digits < sizeof(number)) {
		memcpy(number, value, digits);
		number[digits] = '\0';
		if (!string_parse_u64(number, 1, UINT64_MAX, &warmup->allocs))
			return 0;
	} else if (!duration_parse(value, &warmup->ns) && warmup->ns) {
		return 0;
	}
	log_error("--%s: \"%s\" is not a time, as in 30s, nor a number of allocations, as in"
		  " 100allocs",
		  row->name, value);
	return -EINVAL;
}

static int parse_verbose(const struct option_row *row, const char *value, void *context)
{
	((struct settings *)context)->verbose = true;
	return option_verbose(row, value, context);
}

#define AT(member) offsetof(struct settings, member)
#define BY_NAME(by, name, title) name

static const struct option_row rows[] = {
	REPORT_FORMAT_ROWS(
		"md: Markdown. text: aligned text. json: one JSON object (docs/report.schema.json). html:"
		" one HTML file with charts, which needs no network. junit: JUnit XML, whose tests are"
		" the conditions of --fail-on. github: annotations for a GitHub workflow. Default: by the"
		" ending of FILE, text on a terminal, otherwise Markdown.",
		AT(format)),
	{ 'o', "output", "FILE", "Write to FILE. Default: standard output (-).", option_output,
	  AT(output) },
	{ 'p', "pid", "PID[,PID...]", "Only these processes.", dump_input_pids,
	  AT(reader.report.options) },
	DUMP_SELECTION_ROWS(AT(reader.report.options.selection)),
	{ 0, "by", PROCESS_GROUPS_BY(BY_NAME, "|"),
	  "Add a table of who holds memory, with a row for all processes of a user, container,"
	  " pod, job, name or cgroup: how many they are, what they hold and held at most together, leaks,"
	  " and how often memory ran out. A process without one counts under \"(none)\".",
	  parse_by, 0 },
	{ 0, "device", "NUMBER",
	  "Only this device, by the processes' own number: its memory, its allocations by function,"
	  " its largest blocks, and findings about it or about no device. Totals by kind of memory"
	  " and the timeline still cover all devices.",
	  dump_input_device, AT(reader.report.options.device) },
	DUMP_INPUT_SYMBOL_ROWS(AT(symbols)),
	{ 0, "from", "TIME",
	  "Only events from this time on: +5s or 1m30s after the recording began, -10s before its"
	  " end, 15:04 (UTC), or 2026-11-21T15:04:05Z, with or without seconds and zone, or @SECONDS"
	  " since 1970; or from"
	  " mark:NAME on, the first mark or phase of that name. oom is when memory ran out (the"
	  " gravest failure; oom:2: the second), peak when most was"
	  " allocated on a device. Memory that was live at that time still counts.",
	  dump_input_time_or_mark, AT(reader.from) },
	{ 0, "to", "TIME",
	  "Only events until this time, the last mark:NAME, oom or peak; the report shows the"
	  " state at that time.",
	  dump_input_time_or_mark, AT(reader.until) },
	{ 0, "at", "TIME",
	  "Show who held what at that time, by process, function and block, as in --at oom. The"
	  " report ends there, as with --to TIME.",
	  dump_input_time_or_mark, AT(reader.until) },
	{ 0, "blocks", NULL, "List live blocks one by one instead of grouping similar ones.",
	  option_flag, AT(reader.report.options.blocks) },
	{ 0, "top", "K", "List up to K rows of each table (default 10).", parse_top,
	  AT(reader.report.options.top) },
	{ 0, "fail-on",
	  "leak,oom,loss,inexact,growth=SIZE,left=SIZE,peak=SIZE,empty,unknown=pass,RULE>=CONFIDENCE",
	  "Exit with 8 if a condition holds. leak: a rule about leaks (also"
	  " leak-at-exit) has a finding of medium confidence or more. oom: an allocation ran out of memory (oom=any: even if a retry"
	  " succeeded). loss: anything was lost or is damaged. inexact: the numbers are not exact,"
	  " also because processes held memory before they were attached to. growth=SIZE: a process"
	  " holds SIZE more device memory at its end than after its initialisation. left=SIZE: a"
	  " process held SIZE or more of it when it ended (left: anything). peak=SIZE: so"
	  " much or more was held on a device at a time. empty: no call was recorded. RULE>=CONF: the rule or topic has a finding of this confidence (low,"
	  " medium, high; default medium). Exit with 9 if none holds, but a rule in the list"
	  " could not look, unless unknown=pass is given. docs/ci.md has more.",
	  parse_fail_on, 0 },
	{ 0, "warmup", "TIME",
	  "For growth=SIZE: when the initialisation of a process ends, as the time since its first"
	  " allocation (30s) or a number of allocations (100allocs). Default: init-share (12 %) of"
	  " the time since its first allocation.",
	  parse_warmup, 0 },
	{ 0, "suppress", "FILE",
	  "Known findings: each line of FILE has patterns for the rule, the process, the CUDA"
	  " function and a frame of the call stack (leak-growth python* cudaMalloc* warm_up)."
	  " Findings that match are only counted.",
	  option_file, AT(suppress) },
	{ 0, "leak-window", "A,B,C",
	  "Three times: memory that was allocated between A and B and is live at C is a leak.",
	  parse_window, 0 },
	{ 0, "threshold", "NAME=VALUE[,...]",
	  "Set a threshold of the rules. The report ends with a list of the changed thresholds;"
	  " with -v, of all.",
	  parse_thresholds, 0 },
	OPTION_SILENT_ROW(" unless -f or --json asks for it", AT(quiet)),
	{ 'v', "verbose", NULL, "Print more messages, and list all thresholds in the report.",
	  parse_verbose, 0 },
	{ 0 },
};

/* ---- findings that are asked for ------------------------------------------------------------- */

static void tell_condition(const struct gate *gate, const struct gate_condition *condition,
			   const struct report *report, const struct report_recording *recording,
			   const struct gate_result *result)
{
	struct string text = { 0 };

	gate_append_result(&text, condition, recording, result);
	if (report->count > 1) {
		string_append_text(&text, ", in ");
		gate_append_recording(&text, recording);
	}
	log_warning("--fail-on %s: %.*s%s", condition->text, (int)text.length,
		    text.length ? text.bytes : "", dump_input_gate_hint(gate, result, true));
	string_fini(&text);
}

/* Returns the worst of its outcomes. */
static enum gate_outcome check_condition(const struct gate *gate,
					 const struct gate_condition *condition,
					 const struct report *report)
{
	enum gate_outcome worst = gate_minds_refused(condition, report) ? GATE_FAILED : GATE_PASSED;
	size_t i;

	if (worst == GATE_FAILED)
		log_warning("--fail-on %s: " GATE_REFUSED, condition->text);
	for (i = 0; i < report->count; i++) {
		const struct gate_result result =
			gate_judge(condition, report, report->recordings[i]);

		if (result.outcome == GATE_PASSED)
			continue;
		tell_condition(gate, condition, report, report->recordings[i], &result);
		if (result.outcome > worst)
			worst = result.outcome;
		/* It is said of all of them. */
		if (condition->kind == GATE_EMPTY)
			break;
	}
	return worst;
}

static int check_findings(const struct settings *settings)
{
	const struct gate *gate = &settings->gate;
	uint64_t unknown = 0;
	bool found = false;
	size_t i;

	for (i = 0; i < gate->count; i++) {
		const enum gate_outcome outcome =
			check_condition(gate, &gate->list[i], &settings->reader.report);

		found |= outcome == GATE_FAILED;
		unknown |= (uint64_t)(outcome == GATE_UNKNOWN) << i;
	}
	if (settings->suppress)
		suppress_file_tell(&settings->suppressions, settings->suppress);
	return dump_input_gate_code(gate, &settings->reader.report, found, unknown);
}

/* ---- running --------------------------------------------------------------------------------- */

static void put_report(struct writer *writer, const void *context)
{
	const struct settings *settings = context;

	writers[settings->format](writer, settings);
}

static int run(struct settings *settings, char **files)
{
	struct dump_set set;
	int code = dump_input_find(&set, files, settings->output);

	/* The page also draws single calls and blocks. */
	if (settings->format == REPORT_FORMAT_HTML) {
		lanes_init(&settings->lanes);
		settings->reader.sink = &settings->lanes.sink;
	}
	if (code == EXIT_OK)
		code = dump_input_read(&settings->reader, &set, &settings->symbols);
	if (code == EXIT_OK && !settings->quiet)
		code = exit_code_of(dump_input_write(settings->output, put_report, settings));
	return code == EXIT_OK ? check_findings(settings) : code;
}

/* What the options say together. Returns an exit code; the error has been logged. */
static int settle(struct settings *settings)
{
	struct report_options *options = &settings->reader.report.options;

	options->growth_bytes = gate_growth_bytes(&settings->gate);
	if ((options->warmup.ns || options->warmup.allocs) && !options->growth_bytes) {
		log_error("--warmup goes with --fail-on growth=SIZE");
		return EXIT_USAGE;
	}
	settings->quiet &= settings->format == REPORT_FORMAT_BY_OUTPUT && !settings->output;
	settings->format = report_format_choose(settings->format, settings->output);
	if (settings->format == REPORT_FORMAT_BY_OUTPUT)
		return EXIT_USAGE;
	if (!settings->suppress)
		return EXIT_OK;
	options->suppressions = &settings->suppressions;
	return suppress_file_read(&settings->suppressions, settings->suppress) ? EXIT_USAGE :
										 EXIT_OK;
}

static int report(int argc, char **argv)
{
	struct settings settings = { .reader.report.options = { .device = -1,
								.top = DEFAULT_TOP } };
	int first, code = EXIT_OK;

	settings.reader.thresholds = analysis_defaults();
	first = options_parse(&report_command, argc, argv, &settings, &code);
	if (first < 0)
		return code;
	if (first == argc) {
		log_error("report needs a file to report on: memscope-bpf report run.mscope, which"
			  " `memscope-bpf record -o run.mscope -p PID` makes");
		return EXIT_USAGE;
	}
	code = settle(&settings);
	if (code == EXIT_OK)
		code = run(&settings, argv + first);
	lanes_fini(&settings.lanes);
	report_reader_fini(&settings.reader);
	suppressions_fini(&settings.suppressions);
	return code;
}

const struct command report_command = {
	.name = "report",
	.summary = "Say what happened in a recording",
	.synopsis = "[OPTIONS] FILE...",
	.description =
		"Reads a recording of `memscope-bpf record` and says who held memory, what leaked,"
		" who held what when an allocation failed, and what the program waited for. It"
		" needs no root, no GPU and no BPF, and runs on any machine.\n"
		"\n"
		"FILE is a recording, or a directory, which stands for the recordings in it"
		" (*.mscope), or - for standard input. Files of one recording are put together, in"
		" any order, and blocks that several of them have are read once. If there are"
		" several recordings, each has its own part of the report, after an overview of"
		" all. Processes of different hosts are never mixed up.\n"
		"\n"
		"The report begins with what is damaged, missing or lost, and uses everything else"
		" in the files. A message on standard error names each file that is damaged or"
		" incomplete. It also names each file that is left out because it is no recording,"
		" has a newer format, or has no undamaged part; if no other file is left, the exit"
		" code is 7.\n"
		"\n"
		"Times are in UTC, by the clock of the recording's host when the recording began."
		" Memory of different kinds is never added up, except for the memory on a device"
		" that allocations explain (device, pool, array, graph, physical). An unknown value"
		" is shown as ?, in JSON as null. Names come from the recorded programs and are"
		" escaped, so that they can harm neither a terminal nor the Markdown. Files of"
		" other users are safe to read: the reader checks everything in them.\n"
		"\n"
		"Each finding has a confidence and numbered evidence, which suggestions cite.\n"
		"\n"
		"On a terminal, the report is text, as wide as the terminal (or as $COLUMNS says)."
		" Times in its tables are then seconds since the recording's beginning, and a table"
		" that is too wide continues below. In a pipe or a file the report is Markdown,"
		" unless -f is given.\n"
		"\n"
		"The HTML page also draws what the other formats only add up: calls by thread and"
		" stream, and the addresses of blocks. It is one file that loads nothing and opens"
		" in any current browser; without scripts it still has all text and tables.",
	.examples = "memscope-bpf report run.mscope\n"
		    "memscope-bpf report -f text run.mscope | less\n"
		    "# to look at in a browser\n"
		    "memscope-bpf report -o report.html run.mscope\n"
		    "# for a script\n"
		    "memscope-bpf report -o report.json run.mscope\n"
		    "# in CI: fail if the program leaks or holds 64 MiB more than after its start\n"
		    "memscope-bpf report --fail-on leak,growth=64M run.mscope\n"
		    "# what one process did from a moment on\n"
		    "memscope-bpf report --from 15:04 -p 4711 ring/\n"
		    "# which user, or which container, held how much\n"
		    "memscope-bpf report --by user night.mscope\n"
		    "# several machines\n"
		    "memscope-bpf report node*/incident.mscope\n",
	.options = rows,
	.run = report,
};
