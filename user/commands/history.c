// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf history`: who used how much of which device, by the agent's history.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/history_answer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/writer.h"
#include "commands/command.h"
#include "commands/dump_input.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "render/history.h"

#define SECOND_NS 1000000000ull
#define DAY_S 86400
#define DEFAULT_DIRECTORY "/var/lib/memscope-bpf"

struct settings {
	bool json, events, points;
	const char *directory;
	struct report_time from, to;
	enum history_by by;
	uint64_t top;
};

static int parse_by(const struct option_row *row, const char *value, void *settings)
{
	const int which = option_which(row, value);

	if (which < 0)
		return which;
	*(enum history_by *)((char *)settings + row->offset) = (enum history_by)which;
	return 0;
}

static int parse_top(const struct option_row *row, const char *value, void *settings)
{
	return option_number(row, value, settings, 1, 1000000);
}

#define AT(member) offsetof(struct settings, member)

static const struct option_row rows[] = {
	{ 0, "from", "TIME",
	  "Begin there: -1h (an hour before the end), 15:04, yesterday, 2026-11-21 (when that day"
	  " begins) or 2026-11-21T15:04, in UTC unless a zone is given. Default: 24 hours before the"
	  " end.",
	  dump_input_time, AT(from) },
	{ 0, "to", "TIME", "End there. Default: the end of the history.", dump_input_time, AT(to) },
	{ 0, "by", "process|pod|container|user|job|device",
	  "What a row is about (default process). A process without a pod, container or job counts"
	  " under \"(none)\".",
	  parse_by, AT(by) },
	{ 0, "events", NULL,
	  "Show only which processes held more and more, when memory ran out, when processes"
	  " were killed while they held memory, and when records were lost.",
	  option_flag, AT(events) },
	{ 0, "top", "N", "Show at most N rows (default 20; JSON: 1000).", parse_top, AT(top) },
	{ 'j', "json", NULL, "Write one JSON object (docs/history.schema.json).", option_flag,
	  AT(json) },
	{ 'f', "format", "text|json", "text (default), or what --json writes.", option_text_or_json,
	  AT(json) },
	{ 0, "points", NULL,
	  "With --json: also what each row held in each step, as [time, mean, peak].", option_flag,
	  AT(points) },
	{ 0, "state-dir", "DIR",
	  "The agent's directory (default " DEFAULT_DIRECTORY "). The agent need not run.",
	  option_file, AT(directory) },
	OPTION_QUIET_ROW,
	OPTION_VERBOSE_ROW,
	{ 0 },
};

/* ---- what is asked for ----------------------------------------------------------------------- */

static int explain(const char *path, int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
		log_error("%s: there is no history. An agent without \"history = off\" writes one;"
			  " --state-dir names its directory",
			  path);
		return EXIT_NO_TARGET;
	case -EACCES:
		log_error("%s: cannot read: only root and the agent's user may", path);
		return EXIT_PERMISSION;
	case -EILSEQ:
		log_error("%s: damaged, or not a history. The agent sets it aside when it starts"
			  " again",
			  path);
		return EXIT_CORRUPT;
	case -EPROTO:
		log_error(
			"%s: a history of another version of this program: read it with that version. An"
			" agent of this version sets it aside and begins a new one",
			path);
		return EXIT_CORRUPT;
	}
	log_error("%s: cannot read: %s", path, strerror(-err));
	return EXIT_FAILED;
}

/* There is nothing in between: without --to, because --from is later than all that there is. */
static void refuse_range(const struct settings *settings, const struct history_query *query,
			 uint64_t end_s)
{
	char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];

	clock_utc_text(from, query->from_s * SECOND_NS);
	clock_utc_text(to, query->to_s * SECOND_NS);
	if (settings->to.kind == REPORT_TIME_NONE)
		log_error(
			"--from is %s, and the history ends at %s: write an earlier time, and with the"
			" day if it is of another one (yesterday, 2026-11-21T15:04, in UTC)",
			from, clock_utc_text(to, end_s * SECOND_NS));
	else
		log_error(
			"--to, which is %s, is not later than --from, which is %s: there is nothing"
			" in between",
			to, from);
}

/* Returns an exit code, logged. */
static int find_range(const struct settings *settings, const char *path, uint64_t first_s,
		      uint64_t end_s, struct history_query *query)
{
	char first[CLOCK_TEXT_BYTES], end[CLOCK_TEXT_BYTES];

	if (!end_s) {
		log_error("%s: the history is empty: it gets its first row after ten seconds",
			  path);
		return EXIT_NO_TARGET;
	}
	if (history_answer_range(query, &settings->from, &settings->to, first_s, end_s, DAY_S)) {
		refuse_range(settings, query, end_s);
		return EXIT_USAGE;
	}
	if (query->from_s >= end_s || query->to_s <= first_s)
		log_warning("%s: the history is of %s to %s: of the time that was asked for,"
			    " nothing is known",
			    path, clock_utc_text(first, first_s * SECOND_NS),
			    clock_utc_text(end, end_s * SECOND_NS));
	return EXIT_OK;
}

/* ---- the output ------------------------------------------------------------------------------ */

static int write_out(const struct settings *settings, const struct history_view *view)
{
	struct document_text_options options;
	struct document_text text;
	struct writer writer;
	int err;

	writer_init_stdout(&writer);
	if (settings->json) {
		history_append_json(&writer.text, view);
	} else {
		options = terminal_options(&writer);
		document_text_init(&text, &writer.text, view->top, &options);
		history_append_text(&text.document, view);
		document_text_fini(&text);
	}
	err = writer_close(&writer);
	return err && err != -EPIPE ? EXIT_FAILED : EXIT_OK;
}

static int show(const struct settings *settings, struct history_reader *reader, const char *path)
{
	struct history_query query = { .by = settings->by,
				       .points = settings->points && settings->json };
	struct history_usage usage = { 0 };
	struct history_view view = { .query = &query,
				     .usage = &usage,
				     .top = settings->top  ? settings->top :
					    settings->json ? 1000 :
							     20,
				     .only_events = settings->events };
	uint64_t first_s, end_s, begin_ns = clock_monotonic_ns();
	int err = history_reader_range(reader, &first_s, &end_s), code;

	query.rows_pointed = view.top;
	if (err)
		return explain(path, err);
	code = find_range(settings, path, first_s, end_s, &query);
	if (code != EXIT_OK)
		return code;
	err = history_reader_query(reader, &query, &usage);
	log_debug("the query took %llu us",
		  (unsigned long long)(clock_monotonic_ns() - begin_ns) / 1000);
	code = err ? explain(path, err) : write_out(settings, &view);
	history_usage_fini(&usage);
	return code;
}

static int history(int argc, char **argv)
{
	struct settings settings = { .directory = DEFAULT_DIRECTORY };
	struct history_reader *reader;
	char path[4096];
	int code, err;
	const int first = options_parse(&history_command, argc, argv, &settings, &code);

	if (first < 0)
		return code;
	if (first < argc) {
		log_error(
			"history takes no argument \"%s\"; what it shows is chosen with --by user,"
			" --from -7d and --to; another agent's is --state-dir DIRECTORY",
			argv[first]);
		return EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	if (snprintf(path, sizeof(path), "%s/history/" HISTORY_FILE, settings.directory) >=
	    (int)sizeof(path)) {
		log_error("--state-dir: the path is too long");
		return EXIT_USAGE;
	}
	err = history_reader_open(&reader, path);
	if (err)
		return explain(path, err);
	code = show(&settings, reader, path);
	history_reader_close(reader);
	return code;
}

const struct command history_command = {
	.name = "history",
	.summary = "Show who used how much GPU memory when, by the agent's history",
	.synopsis = "[OPTIONS]",
	.description =
		"Reads the database that memscope-bpf-agent(1) keeps in its state directory, while"
		" the agent runs or afterwards. A row has the peak and the mean of what a process,"
		" pod, container, user, job or device held of the memory of devices, the GB-hours"
		" (10^9 bytes for an hour) that this makes, and how many of them were idle-held:"
		" held in steps of ten seconds in which the process launched no kernel and no"
		" graph. Below are processes that held more and more: the least that they held became"
		" more in nearly each part of their time. Then comes when memory ran out (oom),"
		" processes were killed by a signal while they held memory (killed), and records were"
		" lost (lost).\n"
		"\n"
		"The peak of several processes, or of several kinds of memory, is the sum of their"
		" peaks in a step, which need not have been at the same moment: it has \"<=\" before it."
		" Steps are ten seconds"
		" long; in long ranges, and long ago, five minutes or an hour.",
	.examples = "# the last day\n"
		    "sudo memscope-bpf history\n"
		    "# which users held memory without using it, in the last week\n"
		    "sudo memscope-bpf history --from -7d --by user\n"
		    "# GB-hours of each job, for accounting\n"
		    "sudo memscope-bpf history --from -30d --by job --json |\n"
		    "  jq -r '.rows[] | [.job, .gb_hours, .idle_gb_hours] | @tsv'\n",
	.options = rows,
	.run = history,
};
