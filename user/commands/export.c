// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf export`: dumps in the formats of other programs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/string.h"
#include "commands/command.h"
#include "commands/interrupt.h"
#include "commands/options.h"
#include "commands/dump_input.h"
#include "commands/dump_selection.h"
#include "commands/output_format.h"
#include "commands/requirements.h"
#include "commands/spellings.h"
#include "export/export.h"

struct settings {
	struct report_reader reader;
	struct symbol_files_options symbols;
	const struct exporter *exporter;
	const char *output;
	enum export_metric metric;
	bool has_metric, label_pid;
};

/* ---- options --------------------------------------------------------------------------------- */

static const char *format_name(size_t i, const char **meaning)
{
	if (!exporters[i])
		return NULL;
	*meaning = exporters[i]->summary;
	return exporters[i]->name;
}

static const struct command_choice formats = {
	.option = "format",
	.heading = "Formats",
	.name = format_name,
};

/* Also by the ending of its files: jsonl, prom. NULL: there is none. */
static const struct exporter *find_format(const char *value)
{
	const struct exporter *found = exporter_find(value);
	char file[32];
	size_t i;

	/* As in all commands, what --json writes. */
	if (!found && !strcmp(value, "json"))
		return &export_ndjson;
	snprintf(file, sizeof(file), "FILE.%s", value);
	for (i = 0; !found && !strchr(value, '.') && exporters[i]; i++)
		if (output_format_ends_in(file, exporters[i]->endings))
			found = exporters[i];
	return found;
}

static int parse_format(const struct option_row *row, const char *value, void *context)
{
	const struct spelling_of_value *other;
	struct nearest nearest = { .word = value };
	struct settings *settings = context;
	struct string names = { 0 };
	size_t i;

	settings->exporter = find_format(value);
	if (settings->exporter)
		return 0;
	for (i = 0; exporters[i]; i++) {
		nearest_offer(&nearest, exporters[i]->name);
		string_append_format(&names, "%s%s", i ? ", " : "", exporters[i]->name);
	}
	string_append_char(&names, '\0');
	other = spelling_of_value(row->name, value, names.bytes);
	if (other)
		log_error("--%s: %s", row->name, other->text);
	else if (nearest.found)
		log_error("--%s: there is no format \"%s\"; did you mean %s?", row->name, value,
			  nearest.found);
	else
		log_error("--%s: there is no format \"%s\"; there are %.*s", row->name, value,
			  (int)names.length, names.bytes);
	string_fini(&names);
	return -EINVAL;
}

static int parse_json(const struct option_row *row, const char *value, void *context)
{
	(void)row;
	(void)value;
	((struct settings *)context)->exporter = &export_ndjson;
	return 0;
}

/* Those that choose a format: all of them. */
static void refuse_ending(const char *output)
{
	const char *dot = strrchr(output, '.');
	const struct spelling_of_value *other;
	struct string endings = { 0 };
	size_t i;

	for (i = 0; exporters[i]; i++)
		if (exporters[i]->endings)
			string_append_format(&endings, "%s%s", endings.length ? " " : "",
					     exporters[i]->endings);
	other = dot ? spelling_of_value("format", dot + 1, "folded") : NULL;
	if (other) {
		log_error("%s: %s", output, other->text);
		string_fini(&endings);
		return;
	}
	log_error("%s: no format has this ending; write -f FORMAT, or one of these endings: %.*s",
		  output, (int)endings.length, endings.length ? endings.bytes : "");
	string_fini(&endings);
}

/* By the ending of the file. Returns an exit code; an error has been logged. */
static int choose_format(struct settings *settings)
{
	size_t i;

	for (i = 0; exporters[i]; i++)
		if (output_format_refuse_name(settings->output, exporters[i]->name))
			return EXIT_USAGE;
	for (i = 0; !settings->exporter && exporters[i]; i++)
		if (output_format_ends_in(settings->output, exporters[i]->endings))
			settings->exporter = exporters[i];
	if (settings->exporter)
		return EXIT_OK;
	if (settings->output) {
		refuse_ending(settings->output);
		return EXIT_USAGE;
	}
	log_error("export needs a format: -f FORMAT, or -o FILE with the ending of one; see"
		  " `memscope-bpf export --help`");
	return EXIT_USAGE;
}

static int parse_metric(const struct option_row *row, const char *value, void *context)
{
	struct settings *settings = context;
	int which = option_which(row, value);

	if (which < 0)
		return which;
	settings->metric = (enum export_metric)which;
	settings->has_metric = true;
	return 0;
}

static int parse_label(const struct option_row *row, const char *value, void *context)
{
	int which = option_which(row, value);

	((struct settings *)context)->label_pid = !which;
	return which;
}

#define AT(member) offsetof(struct settings, member)

static const struct option_row rows[] = {
	{ 'f', "format", "FORMAT", "One of the formats below. Default: by the ending of FILE.",
	  parse_format, 0 },
	{ 'j', "json", NULL, "The same as -f ndjson.", parse_json, 0 },
	{ 'o', "output", "FILE", "Write to FILE. Default: standard output (-).", option_output,
	  AT(output) },
	{ 'p', "pid", "PID[,PID...]", "Only these processes.", dump_input_pids,
	  AT(reader.report.options) },
	DUMP_SELECTION_ROWS(AT(reader.report.options.selection)),
	DUMP_INPUT_SYMBOL_ROWS(AT(symbols)),
	{ 0, "from", "TIME",
	  "Only events from this time on: +5s or 1m30s after the recording began, -10s before its"
	  " end, 15:04 (UTC), or 2026-11-21T15:04:05Z, with or without seconds and zone, or @SECONDS"
	  " since 1970; or from"
	  " mark:NAME on, the first mark or phase of that name; or from oom (when memory ran out)"
	  " or peak. Memory that was live at that time still counts.",
	  dump_input_time_or_mark, AT(reader.from) },
	{ 0, "to", "TIME", "Only events until this time, the last mark:NAME, oom or peak.",
	  dump_input_time_or_mark, AT(reader.until) },
	{ 0, "metric", "inuse|alloc|peak",
	  "Bytes per owner in folded. inuse (default): live at the end. alloc: all that were"
	  " allocated. peak: live at the high-water mark.",
	  parse_metric, 0 },
	{ 0, "label", "pid",
	  "In openmetrics, a series for each process instead of one for all processes with the same"
	  " name.",
	  parse_label, 0 },
	OPTION_QUIET_ROW,
	OPTION_VERBOSE_ROW,
	{ 0 },
};

/* ---- running --------------------------------------------------------------------------------- */

static int write_all(struct settings *settings, struct dump_set *set,
		     const struct export_options *options)
{
	const struct exporter *exporter = settings->exporter;
	struct sink *sink = exporter->begin(options);
	int code;

	if (!sink) {
		dump_set_fini(set);
		return EXIT_FAILED;
	}
	settings->reader.sink = sink;
	code = dump_input_read(&settings->reader, set, &settings->symbols);
	if (code == EXIT_OK && !(options->writer && options->writer->err))
		code = exit_code_of(exporter->finish(sink, &settings->reader.report));
	exporter->free(sink);
	return code;
}

/* Lines that are shown go on below each other. */
static int show_no_progress(void *context, uint64_t bytes)
{
	(void)context;
	(void)bytes;
	return 0;
}

static int open_writer(struct settings *settings, struct writer *writer,
		       const struct whole_file *file)
{
	int code = exit_code_of(writer_open_whole(writer, file));

	if (code != EXIT_OK || !writer->terminal)
		return code;
	if (settings->exporter->binary) {
		log_error("-f %s is not for a terminal: use -o FILE", settings->exporter->name);
		code = EXIT_USAGE;
	}
	settings->reader.progress = show_no_progress;
	return code;
}

/* Whether the recording may turn out not to have what was asked for, once it has been read. */
static bool may_find_nothing(const struct settings *settings)
{
	const struct report_options *options = &settings->reader.report.options;

	return report_selects(options) || options->device >= 0 ||
	       settings->reader.from.kind != REPORT_TIME_NONE ||
	       settings->reader.until.kind != REPORT_TIME_NONE;
}

static int write_through(struct settings *settings, struct dump_set *set,
			 const struct whole_file *file)
{
	struct writer writer;
	const struct export_options options = { .writer = &writer,
						.metric = settings->metric,
						.label_pid = settings->label_pid };
	int code = open_writer(settings, &writer, file), err;

	if (code != EXIT_OK) {
		dump_set_fini(set);
		return code;
	}
	if (may_find_nothing(settings))
		writer_hold(&writer);
	code = write_all(settings, set, &options);
	/* A header and nothing after it would look like a process that did nothing. */
	if (code == EXIT_NO_TARGET || code == EXIT_USAGE)
		writer_drop(&writer);
	err = writer_close(&writer);
	return code == EXIT_OK ? exit_code_of(err) : code;
}

static int write_to_file(struct settings *settings, struct dump_set *set,
			 const struct whole_file *file)
{
	const struct export_options options = { .fd = file->part.fd,
						.name = settings->output,
						.metric = settings->metric,
						.label_pid = settings->label_pid };

	if (file->is_part)
		return write_all(settings, set, &options);
	log_error("-f %s can only write to a regular file, and %s is not one",
		  settings->exporter->name, settings->output);
	dump_set_fini(set);
	return EXIT_USAGE;
}

static bool takes_metric(const struct exporter *exporter)
{
	return exporter->takes_metric;
}

static bool takes_label(const struct exporter *exporter)
{
	return exporter->takes_label;
}

static int refuse_option(const struct settings *settings, const char *option,
			 bool (*takes)(const struct exporter *exporter))
{
	struct string names = { 0 };
	size_t i;

	if (takes(settings->exporter))
		return EXIT_OK;
	for (i = 0; exporters[i]; i++)
		if (takes(exporters[i]))
			string_append_format(&names, "%s-f %s", names.length ? ", " : "",
					     exporters[i]->name);
	log_error("--%s does not apply to -f %s, only to %.*s", option, settings->exporter->name,
		  (int)names.length, names.bytes);
	string_fini(&names);
	return EXIT_USAGE;
}

static int check_options(const struct settings *settings)
{
	int code = settings->has_metric ? refuse_option(settings, "metric", takes_metric) : EXIT_OK;

	return code == EXIT_OK && settings->label_pid ?
		       refuse_option(settings, "label", takes_label) :
		       code;
}

static int run(struct settings *settings, char **files)
{
	struct whole_file file = { 0 };
	struct dump_set set;
	int code, err = 0;

	if (settings->exporter->to_file && !settings->output) {
		log_error("-f %s needs a file to write: use -o FILE", settings->exporter->name);
		return EXIT_USAGE;
	}
	/* Nothing is created before it is known that there is something to write. */
	code = dump_input_find(&set, files, settings->output);
	if (code != EXIT_OK)
		return code;
	if (settings->output)
		err = whole_file_begin(&file, settings->output);
	if (err) {
		dump_set_fini(&set);
		return exit_code_of(err);
	}
	if (file.is_part)
		interrupt_hold();
	code = settings->exporter->to_file ? write_to_file(settings, &set, &file) :
					     write_through(settings, &set, &file);
	err = whole_file_end(&file, code == EXIT_OK && !interrupt_came());
	return code == EXIT_OK ? exit_code_of(err) : code;
}

static int export(int argc, char **argv)
{
	struct settings settings = { .reader.report.options = { .device = -1, .top = 10 } };
	int first, code = EXIT_OK;

	settings.reader.thresholds = analysis_defaults();
	first = options_parse(&export_command, argc, argv, &settings, &code);
	if (first < 0)
		return code;
	if (first == argc) {
		log_error("export needs the files to export; see `memscope-bpf export --help`");
		return EXIT_USAGE;
	}
	code = choose_format(&settings);
	if (code == EXIT_OK)
		code = check_options(&settings);
	if (code != EXIT_OK)
		return code;
	code = run(&settings, argv + first);
	report_reader_fini(&settings.reader);
	interrupt_let();
	return code;
}

const struct command export_command = {
	.name = "export",
	.summary = "Write a recording in the format of another program",
	.synopsis = "[-f FORMAT] [OPTIONS] FILE...",
	.description = "Reads a recording of `memscope-bpf record`, as `memscope-bpf report` does,"
		       " and writes it for existing viewers and scripts. The totals in every format"
		       " are the report's.\n"
		       "\n"
		       "The output file gets its name once it is complete. After an error or a"
		       " signal, the old file is still there. Pipes are written to directly. A"
		       " terminal shows the progress.",
	.examples = "memscope-bpf export -f ndjson run.mscope | jq -c 'select(.op == \"alloc\")'\n"
		    "# queries for nsys' exports, and views of our own\n"
		    "memscope-bpf export -o run.sqlite run.mscope\n"
		    "sqlite3 -box run.sqlite 'SELECT * FROM memscope_peak'\n"
		    "# one process, one minute of it\n"
		    "memscope-bpf export -p 4242 --from 1m --to 2m -o run.csv run.mscope\n",
	.options = rows,
	.choice = &formats,
	.run = export,
};
