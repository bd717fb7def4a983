// SPDX-License-Identifier: BSD-2-Clause
#include "commands/dump_input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "commands/command.h"
#include "base/string.h"
#include "commands/dump_selection.h"
#include "commands/interrupt.h"
#include "commands/options.h"
#include "commands/progress.h"
#include "commands/requirements.h"
#include "commands/standard_input.h"
#include "render/gate_words.h"
#include "render/report_notes.h"
#include "render/report_words.h"
#include "store/block.h"
#include "symbols/frame_names.h"

/* ---- options --------------------------------------------------------------------------------- */

static int take_pid(void *context, uint32_t pid)
{
	struct report_options *options = context;

	if (options->pids_count == REPORT_PIDS) {
		log_error("-p: at most %d processes can be given", REPORT_PIDS);
		return -E2BIG;
	}
	options->pids[options->pids_count++] = pid;
	return 0;
}

int dump_input_pids(const struct option_row *row, const char *value, void *settings)
{
	return option_pids(row, value, take_pid, (char *)settings + row->offset);
}

int dump_input_device(const struct option_row *row, const char *value, void *settings)
{
	uint64_t device;
	int err = string_parse_u64(value, 0, INT32_MAX, &device);

	if (err)
		log_error("--%s: \"%s\" is not the number of a device, as 0; the report says which"
			  " UUID each number is",
			  row->name, value);
	else
		*(int32_t *)((char *)settings + row->offset) = (int32_t)device;
	return err;
}

#define MARK "mark:"
#define OOM "oom:"

int dump_input_moment(const struct option_row *row, const char *value, struct report_time *time)
{
	int err = report_time_parse(time, value);

	if (err)
		log_error("--%s: \"%s\" is not a time; write +5s or 1m30s after the beginning, -10s"
			  " from the end, 15:04, 2026-11-21T15:04:05Z, or @1764000000%s",
			  row->name, value,
			  strcmp(row->name, "leak-window") != 0 ? "; mark:NAME, oom or peak" : "");
	return err;
}

int dump_input_time(const struct option_row *row, const char *value, void *settings)
{
	struct report_time *time = (struct report_time *)((char *)settings + row->offset);
	int err = report_time_parse(time, value);

	if (err)
		log_error("--%s: \"%s\" is not a time; write -7d or -1h from the end, 15:04,"
			  " yesterday, 2026-11-21, 2026-11-21T15:04:05Z, or @1764000000",
			  row->name, value);
	return err;
}

/* "oom:2": the second failure of the report. */
static int take_failure(const struct option_row *row, const char *value, struct report_time *time)
{
	uint64_t number;

	if (string_parse_u64(value + strlen(OOM), 1, SIZE_MAX, &number)) {
		log_error("--%s: \"%s\" is no failure; write " OOM "1 for the first, or oom",
			  row->name, value);
		return -EINVAL;
	}
	*time = (struct report_time){ .kind = REPORT_TIME_OOM, .number = (size_t)number };
	return 0;
}

int dump_input_time_or_mark(const struct option_row *row, const char *value, void *settings)
{
	struct report_time *time = (struct report_time *)((char *)settings + row->offset);

	if (!strcmp(value, "oom") || !strcmp(value, "peak")) {
		*time = (struct report_time){ .kind = *value == 'o' ? REPORT_TIME_OOM :
								      REPORT_TIME_PEAK };
		return 0;
	}
	if (!strncmp(value, OOM, strlen(OOM)))
		return take_failure(row, value, time);
	if (strncmp(value, MARK, strlen(MARK)) != 0)
		return dump_input_moment(row, value, time);
	if (!value[strlen(MARK)]) {
		log_error("--%s: which mark? " MARK "NAME", row->name);
		return -EINVAL;
	}
	*time = (struct report_time){ .kind = REPORT_TIME_MARK,
				      .mark = value + strlen(MARK),
				      .takes_last = strcmp(row->name, "from") != 0 };
	return 0;
}

int dump_input_list(const struct option_row *row, const char *value, void *settings,
		    int (*take)(const struct option_row *row, char *part, size_t place,
				void *settings))
{
	char *copy = strdup(value), *rest = copy, *part;
	int err = copy ? 0 : -ENOMEM;
	size_t place = 0;

	while (!err && (part = strsep(&rest, ",")))
		err = take(row, part, place++, settings);
	free(copy);
	return err;
}

/* The gate that words are put into, and what may be asked for. */
struct gate_words {
	struct gate *gate;
	uint32_t kinds;
};

static int take_condition(const struct option_row *row, char *part, size_t place, void *context)
{
	struct gate_words *words = context;
	struct string why = { 0 };
	int err = gate_add(words->gate, part, words->kinds, &why);

	(void)place;
	if (err)
		log_error("--%s: %.*s", row->name, (int)why.length, why.length ? why.bytes : "");
	string_fini(&why);
	return err;
}

int dump_input_gate(const struct option_row *row, const char *value, struct gate *gate,
		    uint32_t kinds)
{
	struct gate_words words = { gate, kinds };

	return dump_input_list(row, value, &words, take_condition);
}

#define OR_PASS ", or add unknown=pass to let this pass"

/* What to do about a recording that began too late, or saw nothing. NULL: it is not that. */
static const char *hint_for_beginning(const char *why)
{
	if (strstr(why, "no call was recorded"))
		return "; record the program while it uses CUDA, and its children, too, if -f was"
		       " not given; if a script sets LD_LIBRARY_PATH, so that the first calls are"
		       " missing, write it before memscope-bpf, too" OR_PASS;
	if (strstr(why, "attached to is not known"))
		return "; record the program from its start (record -f -- COMMAND; if a script in it"
		       " sets LD_LIBRARY_PATH, write that before memscope-bpf, too)" OR_PASS;
	return NULL;
}

const char *dump_input_gate_hint(const struct gate *gate, const struct gate_result *result,
				 bool has_thresholds)
{
	if (result->outcome != GATE_UNKNOWN)
		return "";
	if (gate->unknown_passes)
		return " (unknown=pass)";
	if (hint_for_beginning(result->why))
		return hint_for_beginning(result->why);
	if (has_thresholds && report_shortage_of(result->why) == REPORT_SHORT_OF_WARMUP)
		return "; record for longer, say with --warmup when the initialisation ends (1s,"
		       " 100allocs), or add unknown=pass to let this pass";
	if (has_thresholds && report_shortage_of(result->why) == REPORT_SHORT_OF_LEAK_TIME)
		return "; add unknown=pass to let this pass, let the program work for longer (more"
		       " steps), or ask for left=SIZE or peak=SIZE, which need no such time";
	return "; add unknown=pass to let this pass";
}

/* "Nothing was found" would be heard as "nothing is there". Returns whether there is. */
static bool warn_of_doubtful(const struct gate *gate, const struct report *report)
{
	const struct gate_condition *condition = NULL;
	const char *rule = NULL;
	size_t count = 0, i, j;

	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];

		for (j = 0; j < recording->findings_count; j++) {
			const struct finding *finding = recording->findings[j].finding;
			const struct gate_condition *spares = gate_spares(gate, recording, finding);

			if (!spares)
				continue;
			if (!count++) {
				condition = spares;
				rule = finding_rule_name(finding->rule);
			}
		}
	}
	if (count)
		log_warning("--fail-on: the report has %zu finding%s that %s too little confidence"
			    " to count here (%s); %.*s>=low counts %s, too",
			    count, count == 1 ? "" : "s", count == 1 ? "has" : "have", rule,
			    (int)strcspn(condition->text, ">="), condition->text,
			    count == 1 ? "it" : "them");
	return count;
}

/* What was found, as far as it counts. */
static const char *nothing_of(const struct gate *gate, const struct report *report)
{
	size_t i;

	if (warn_of_doubtful(gate, report))
		return "nothing with enough confidence";
	for (i = 0; i < report->count; i++)
		if (report->recordings[i]->suppressed)
			return "nothing but what is suppressed";
	return "nothing";
}

int dump_input_gate_code(const struct gate *gate, const struct report *report, bool found,
			 uint64_t unknown)
{
	const bool unchecked = unknown && !gate->unknown_passes;
	const char *nothing;
	struct string checked = { 0 };

	if (found)
		return EXIT_FINDING;
	nothing = nothing_of(gate, report);
	if (!unchecked && gate->count) {
		gate_append_checked(&checked, gate, unknown, report);
		gate_append_unfreed(&checked, gate, report);
		log_info("--fail-on: %s was found; %.*s", nothing, (int)checked.length,
			 checked.length ? checked.bytes : "");
		string_fini(&checked);
	}
	if (!unchecked)
		return EXIT_OK;
	log_warning("--fail-on: %s was found, but not everything could be checked; the exit"
		    " code is %d, and not %d as for what is found",
		    nothing, EXIT_UNCHECKED, EXIT_FINDING);
	return EXIT_UNCHECKED;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Whether the output would be written over that file. */
static bool is_same_file(const struct stat *output, const char *path)
{
	struct stat input;

	return !stat(path, &input) && input.st_dev == output->st_dev &&
	       input.st_ino == output->st_ino;
}

static bool is_input(const struct dump_set *set, char **files, const char *path)
{
	struct stat output;
	size_t i, j;

	if (!path || stat(path, &output) || !S_ISREG(output.st_mode))
		return false;
	for (i = 0; i < set->count; i++)
		for (j = 0; j < set->recordings[i].count; j++)
			if (is_same_file(&output, set->recordings[i].files[j].path))
				return true;
	/* Also those that cannot be used. */
	for (; *files; files++)
		if (is_same_file(&output, *files))
			return true;
	return false;
}

/* Whether there is a file of that name that begins as a recording does. */
static bool is_recording(const char *path)
{
	struct block_header header;
	char magic[sizeof(header.magic)];
	struct stat status;
	ssize_t length;
	int fd;

	if (!path || stat(path, &status) || !S_ISREG(status.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return false;
	length = read(fd, magic, sizeof(magic));
	close(fd);
	return length == sizeof(magic) && block_peek(magic, sizeof(magic), &header) != BLOCK_NONE;
}

/* A report takes a moment to make again; a recording may be the only one. */
static int check_output(const struct dump_set *set, char **files, const char *output)
{
	if (is_input(set, files, output))
		log_error("%s: this is one of the files to read, and the output would replace it;"
			  " choose another name with -o",
			  output);
	else if (is_recording(output))
		log_error("%s: is a recording, and the output would replace it; choose another"
			  " name with -o",
			  output);
	else
		return EXIT_OK;
	return EXIT_USAGE;
}

#define BEYOND_NS 1000000000 /* the last event comes a moment before the end */

static int warn_of_the_end(const struct report *report)
{
	uint64_t beyond_ns = report->count ? UINT64_MAX : 0;
	char before[STRING_NUMBER_BYTES];
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct report_coverage *coverage = &report->recordings[i]->coverage;
		const uint64_t last_ns = coverage->account.last_ts_ns;
		const uint64_t by_ns =
			coverage->until_ns > last_ns ? coverage->until_ns - last_ns : 0;

		if (by_ns < beyond_ns)
			beyond_ns = by_ns;
	}
	if (beyond_ns >= BEYOND_NS)
		log_warning("--to, --at: the recording's last event is %s earlier; what is shown is"
			    " its end (times without a zone are UTC)",
			    string_duration(before, beyond_ns));
	return EXIT_OK;
}

/* "that of FILE is from TIME to TIME": what can be asked for. */
static void refuse_time(const struct report *report, const char *what)
{
	const struct report_recording *recording = report->recordings[0];
	struct string span = { 0 };

	report_append_time(&span, recording, recording->coverage.account.first_ts_ns);
	string_append_text(&span, " to ");
	report_append_time(&span, recording, recording->coverage.account.last_ts_ns);
	log_error("%s; %s is from %.*s; times without a zone are UTC, +TIME is from its beginning,"
		  " -TIME from its end",
		  what, report->count > 1 ? "the first recording" : "the recording",
		  (int)span.length, span.length ? span.bytes : "");
	string_fini(&span);
}

/* What was asked for must be possible: a typo shall not look like a program without faults. */
static int check_times(const struct report *report)
{
	size_t earlier = 0, later = 0, i;

	for (i = 0; i < report->count; i++) {
		const struct report_coverage *coverage = &report->recordings[i]->coverage;

		if (coverage->until_ns && coverage->until_ns < coverage->account.first_ts_ns)
			earlier++;
		else if (coverage->from_ns > coverage->account.last_ts_ns)
			later++;
		else if (coverage->until_ns && coverage->from_ns >= coverage->until_ns)
			break;
	}
	if (i < report->count)
		log_error("--to is not later than --from: there is nothing in between (+TIME is"
			  " from the recording's beginning, -TIME from its end)");
	else if (earlier == report->count)
		refuse_time(report, "--to, --at: that is before the recording began");
	else if (later == report->count)
		refuse_time(report, "--from: the recording had ended by then");
	else
		return warn_of_the_end(report);
	return EXIT_USAGE;
}

static int check_window(const struct report *report)
{
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct analysis_options *window = &report->recordings[i]->thresholds;

		if (!window->window_c_ns || (window->window_a_ns <= window->window_b_ns &&
					     window->window_b_ns <= window->window_c_ns))
			continue;
		log_error("--leak-window: the three times must be in ascending order");
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

static bool has_process(const struct report_recording *recording, uint32_t pid)
{
	size_t i;

	for (i = 0; i < recording->state->processes_count; i++)
		if (recording->state->processes[i]->pid == pid)
			return true;
	return false;
}

/* One that was asked for and is in none of the recordings; NULL: all are. */
static const uint32_t *missing_pid(const struct report *report)
{
	const struct report_options *options = &report->options;
	size_t pid, i;

	for (pid = 0; pid < options->pids_count; pid++) {
		for (i = 0; i < report->count; i++)
			if (has_process(report->recordings[i], options->pids[pid]))
				break;
		if (i == report->count)
			return &options->pids[pid];
	}
	return NULL;
}

/* The sums of processes and devices. */
static int check_selected(const struct report *report)
{
	const uint32_t *missing = missing_pid(report);
	size_t devices = 0, i;
	uint64_t unlisted = 0;

	for (i = 0; i < report->count; i++) {
		devices += report->recordings[i]->devices_count;
		unlisted += report->recordings[i]->state->more_count;
	}
	if (missing)
		log_error("process %u is not in the recording%s", *missing,
			  unlisted ? ", or held so little memory that only the sum of such"
				     " processes is known" :
				     "");
	else if (report->options.device >= 0 && !devices)
		dump_selection_refuse_device(report);
	else
		return EXIT_OK;
	return EXIT_NO_TARGET;
}

static int check_asked(const struct report *report)
{
	int code = check_times(report);

	if (code == EXIT_OK)
		code = check_window(report);
	if (code == EXIT_OK)
		code = check_selected(report);
	return code == EXIT_OK ? dump_selection_check(report) : code;
}

int dump_input_find(struct dump_set *set, char **files, const char *output)
{
	size_t i;
	int err = 0, code;

	signal(SIGPIPE, SIG_IGN);
	*set = (struct dump_set){ 0 };
	err = standard_input_prepare(files);
	for (i = 0; !err && files[i]; i++)
		err = dump_set_add(set, files[i]);
	code = exit_code_of(err);
	if (code == EXIT_OK)
		code = check_output(set, files, output);
	if (code != EXIT_OK)
		dump_set_fini(set);
	return code;
}

int dump_input_write(const char *output, void (*put)(struct writer *writer, const void *context),
		     const void *context)
{
	struct whole_file file = { 0 };
	struct writer writer;
	int err = 0, ended;

	if (output)
		err = whole_file_begin(&file, output);
	if (err)
		return err;
	if (file.is_part)
		interrupt_hold();
	err = writer_open_whole(&writer, &file);
	if (!err) {
		put(&writer, context);
		err = writer_close(&writer);
	}
	ended = whole_file_end(&file, !err && !interrupt_came());
	interrupt_let();
	return err ? err : ended;
}

static int take_progress(void *context, uint64_t bytes)
{
	progress_show(context, bytes);
	return interrupt_came() ? -EINTR : 0;
}

/* Not every format has a place to say so, and not every reader of one looks there. */
static void tell_lack(const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	struct string lack = { 0 };
	char others[40] = "";

	report_append_lack(&lack, recording);
	if (coverage->files_count > 1)
		snprintf(others, sizeof(others), " and %zu more", coverage->files_count - 1);
	if (coverage->being_written)
		log_warning("%s%s: still being written: what happens from now on is missing in the"
			    " output",
			    coverage->files_count ? coverage->files[0] : "?", others);
	if (lack.length)
		log_warning("%s%s: not whole (%.*s): %s is missing in the output",
			    coverage->files_count ? coverage->files[0] : "?", others,
			    (int)lack.length, lack.bytes,
			    lack.length == strlen(REPORT_NO_END) ?
				    "what came after its last whole block" :
				    "what was there");
	string_fini(&lack);
}

/* With names for its frames, if they are asked for. Returns 0 or -errno, logged. */
static int read_named(struct report_reader *reader, struct dump_set *set,
		      const struct symbol_files_options *symbols)
{
	struct replay_namer namer = { .put = frame_names_put, .inlined = frame_names_inlined };
	struct frame_names *names;
	int err;

	if (!symbols || (!symbols->directory && !symbols->debuginfod))
		return report_reader_read(reader, set);
	err = frame_names_open(&names, symbols);
	if (err)
		return err;
	namer.context = names;
	reader->namer = &namer;
	err = report_reader_read(reader, set);
	reader->namer = NULL;
	if (!err && symbols->directory)
		frame_names_tell_lack(names, symbols->directory);
	frame_names_close(names);
	return err;
}

int dump_input_read(struct report_reader *reader, struct dump_set *set,
		    const struct symbol_files_options *symbols)
{
	struct progress progress;
	size_t i;
	int err;

	progress_begin(&progress, set);
	if (!reader->progress) {
		reader->progress = take_progress;
		reader->progress_context = &progress;
	}
	err = read_named(reader, set, symbols);
	progress_end();
	dump_set_fini(set);
	/* A sink whose pipe was closed has had enough: that is no failure. */
	if (err)
		return exit_code_of(err);
	for (i = 0; i < reader->report.count; i++)
		tell_lack(reader->report.recordings[i]);
	if (reader->report.count)
		return check_asked(&reader->report);
	if (reader->without && reader->without == reader->unusable) {
		log_error("none of these recordings has what is asked for");
		return exit_code_of(-ESRCH);
	}
	log_error("nothing in it can be used");
	return EXIT_CORRUPT;
}
