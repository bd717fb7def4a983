// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf record`: live capture into a dump.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/attach/programs.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/output_format.h"
#include "commands/record_run.h"
#include "commands/requirements.h"
#include "store/dump_name.h"
#include "store/recorder.h"

#define MIB (1ull << 20)
#define DEFAULT_OUTPUT "memscope.%h.%p.mscope"
#define DEFAULT_IF_TAKEN "memscope.%h.%p.%t.mscope"
#define DEFAULT_BUFFER (8 * MIB) /* 0.16 s at 500,000 events/s; it is meant to run for long */
#define DEFAULT_SEGMENT (64 * MIB)
#define DEFAULT_RING (64 * MIB)
#define MIN_SEGMENT (4ull << 10) /* twice what begins one */
#define DEFAULT_BUNDLES 12
#define DEFAULT_HOST 10000000000 /* ns */
#define MIN_RING MIB             /* some blocks must fit, of up to 256 KiB each */
#define SEGMENTS_OF_RING 8       /* that much of the oldest goes at once */

struct settings {
	struct record_run_settings recording;
	bool to_stdout;
	bool on_oom, on_exit;
};

/* ---- options --------------------------------------------------------------------------------- */

static int parse_detail(const struct option_row *row, const char *value, void *settings)
{
	static const enum recording_detail details[] = { RECORDING_ALL, RECORDING_SUMMARY,
							 RECORDING_OFF };
	int which = option_which(row, value);

	if (which < 0)
		return which;
	*(enum recording_detail *)((char *)settings + row->offset) = details[which];
	return 0;
}

/* 0 would mean that there was no such option. */
static int parse_size_from(const struct option_row *row, const char *value, void *settings,
			   uint64_t min_bytes, const char *min)
{
	const uint64_t *bytes = (const uint64_t *)((char *)settings + row->offset);
	int err = option_size(row, value, settings);

	if (err || *bytes >= min_bytes)
		return err;
	log_error("--%s: %s is less than %s", row->name, value, min);
	return -ERANGE;
}

static int parse_segment(const struct option_row *row, const char *value, void *settings)
{
	return parse_size_from(row, value, settings, MIN_SEGMENT, "4K");
}

static int parse_ring(const struct option_row *row, const char *value, void *settings)
{
	return parse_size_from(row, value, settings, MIN_RING, "1M");
}

/* "12/h" */
static int parse_bundles(const struct option_row *row, const char *value, void *settings)
{
	uint32_t *an_hour = (uint32_t *)((char *)settings + row->offset);
	char *end;
	unsigned long number = strtoul(value, &end, 10);

	if (*value >= '0' && *value <= '9' && !strcmp(end, "/h") && number > 0 &&
	    number <= OOM_BUNDLES_AN_HOUR) {
		*an_hour = (uint32_t)number;
		return 0;
	}
	log_error("--%s: \"%s\" is not a number of bundles an hour; write 1/h to %d/h", row->name,
		  value, OOM_BUNDLES_AN_HOUR);
	return -EINVAL;
}

static int parse_output(const struct option_row *row, const char *value, void *context)
{
	if (strcmp(value, "-") != 0)
		return option_file(row, value, context);
	((struct settings *)context)->to_stdout = true;
	return 0;
}

static int parse_signal(const struct option_row *row, const char *value, void *settings)
{
	int *number = (int *)((char *)settings + row->offset);

	if (!strncmp(value, "SIG", 3))
		value += 3;
	*number = !strcmp(value, "USR1") ? SIGUSR1 : !strcmp(value, "USR2") ? SIGUSR2 : 0;
	if (*number)
		return 0;
	log_error("--%s: \"%s\" is not one of %s", row->name, value, row->argument);
	return -EINVAL;
}

static int parse_tensors(const struct option_row *row, const char *value, void *context)
{
	struct record_run_settings *recording = &((struct settings *)context)->recording;
	enum { SITES, ALL, OFF };
	const int which = option_which(row, value);

	if (which < 0)
		return which;
	recording->tensors = which != OFF;
	recording->tensor_chance = which == SITES;
	return 0;
}

#define ONE_IN_MOST \
	1000000 /* so that a random number of 32 bits makes a chance of 1 in N, to 0.03 % */

/* "off", or "1/100" */
static int parse_launch_stacks(const struct option_row *row, const char *value, void *settings)
{
	uint32_t *one_in = (uint32_t *)((char *)settings + row->offset);
	const bool is_part = !strncmp(value, "1/", 2) && value[2] >= '0' && value[2] <= '9';
	char *end = NULL;
	const unsigned long number = is_part ? strtoul(value + 2, &end, 10) : 0;

	*one_in = (uint32_t)number;
	if (!strcmp(value, "off") || (is_part && !*end && number >= 1 && number <= ONE_IN_MOST))
		return 0;
	log_error("--%s: \"%s\" is not a part of the launches; write 1/100 for one in 100 (1/1 to"
		  " 1/%d), or off",
		  row->name, value, ONE_IN_MOST);
	return -EINVAL;
}

#define AT(member) offsetof(struct settings, member)

static const struct option_row rows[] = {
	CAPTURE_OPTIONS_PROCESS_ROWS(AT(recording.capture), "Record", "recorded"),
	CAPTURE_OPTIONS_WHO_ROWS(AT(recording.capture)),
	CAPTURE_OPTIONS_CMDLINE_ROW(AT(recording.capture), "Record", "recorded"),
	CONTAINER_OPTION_ROWS(AT(recording.capture.names)),
	{ 'o', "output", "FILE",
	  "Write to this file, which must not exist yet. - is standard output, which must not be a"
	  " terminal (the standard output of COMMAND then goes to standard error). %h becomes the"
	  " name of the host, %p the PID of the first recorded process (with -a and --cgroup that"
	  " of this program), %t the time (UTC, 20261121T155500), %% a percent sign. Default: " DEFAULT_OUTPUT
	  ", or if that exists " DEFAULT_IF_TAKEN ".",
	  parse_output, AT(recording.output) },
	CAPTURE_OPTIONS_DURATION_ROW(AT(recording.capture)),
	{ 0, "segment", "SIZE",
	  "Begin a new segment after SIZE bytes. Each segment can be read without those before it"
	  " (default 64M, or an eighth of a ring).",
	  parse_segment, AT(recording.segment_bytes) },
	{ 0, "ring", "SIZE",
	  "Flight recorder: keep only the newest segments, at most SIZE, in a directory FILE.ring"
	  " (at least 1M; default with a trigger: 64M). At the end they become FILE, unless a"
	  " trigger is given.",
	  parse_ring, AT(recording.ring_bytes) },
	{ 0, "on-oom", NULL,
	  "When a call fails because memory has run out, copy the ring into a bundle: FILE with"
	  " .oom-1 before its extension. The bundle is written once the outcome is known (the"
	  " program got the memory, or less memory, or ended), or 5 s later. There is at most one"
	  " bundle in 2 s; failures in between share the next one. Eight bundles are kept: the next"
	  " one replaces the oldest that ended well, or if there is none, the oldest. If a bundle"
	  " cannot be written, the recorder tries again; if it still fails at the end, the ring"
	  " stays and the exit code is 1.",
	  option_flag, AT(on_oom) },
	{ 0, "bundles", "N/h",
	  "Write at most N bundles of --on-oom an hour (default 12/h, at most 60/h), and at most"
	  " half of them for failures of one process that ended well.",
	  parse_bundles, AT(recording.bundles_an_hour) },
	{ 0, "on-signal", "USR1|USR2",
	  "Write a bundle, with .signal-1, when this program gets that signal: at most five.",
	  parse_signal, AT(recording.signal) },
	{ 0, "on-exit", NULL, "Write a bundle, with .exit, when the recording ends.", option_flag,
	  AT(on_exit) },
	{ 0, "launches", "all|summary|off",
	  "all: record each launch of a kernel. summary (default): record each second how often"
	  " each kernel was launched. off: record no launches. Launches of graphs are always"
	  " recorded, because they allocate.",
	  parse_detail, AT(recording.launches) },
	{ 0, "copies", "all|summary|off",
	  "The same for copies and memsets. The summary joins those that differ only in time, size"
	  " and offset in the block.",
	  parse_detail, AT(recording.copies) },
	{ 0, "stacks", "off|alloc|waits|all",
	  "alloc: record the call stack of each allocation, and of blocks with --tensors. waits:"
	  " also of each copy, memset and wait for the device. all: also of each launch, which is then"
	  " recorded by itself. Default: alloc. docs/stacks.md says what that costs.",
	  capture_options_stacks, AT(recording.capture.stack_ops) },
	{ 0, "launch-stacks", "1/N|off",
	  "Of launches that are summed up, take the call stack of one in N, by chance: report then"
	  " estimates from where how many were made, with a stated error. 1/100 costs little; a"
	  " smaller N has a smaller error. Default: off. docs/stacks.md says what that costs.",
	  parse_launch_stacks, AT(recording.launch_one_in) },
	CAPTURE_OPTIONS_STACK_ROWS(AT(recording.capture)),
	{ 0, "tensors", "sites|all|off",
	  "sites: also record each block that the allocator of PyTorch, TensorFlow or JAX gives to"
	  " the program or takes back, with the call stacks of blocks of 1 MiB and more. Those of"
	  " smaller blocks are taken by chance, the larger the likelier, and sums by line of code are"
	  " estimates with a stated error. all: with the call stack of each block. Calls of NCCL are"
	  " recorded, too. Default: off."
	  " docs/frameworks.md says what that costs.",
	  parse_tensors, 0 },
	CAPTURE_OPTIONS_GPU_ROW(
		AT(recording.capture),
		" Launches and copies are then recorded one by one, unless --launches and --copies"
		" say otherwise."),
	CAPTURE_OPTIONS_MARKER_ROWS(
		AT(recording.capture),
		"Also record what programs mark with NVTX's functions (nvtx, default), or not (off)."),
	{ 0, "nvml", "TIME|off",
	  "Also record NVML's numbers for devices and for the recorded processes, if NVML is"
	  " installed: at the beginning and the end, when memory runs out, and every TIME (default"
	  " 10s).",
	  option_period, AT(recording.nvml_ns) },
	{ 0, "host", "TIME|off",
	  "Also record what the kernel says of the host and of the recorded processes (CPU time,"
	  " waits for a CPU, memory, pressure, NUMA nodes, links of GPUs): at the beginning, at the"
	  " end, and every TIME (default 10s), or less often if that takes more than a thousandth of"
	  " a core.",
	  option_period, AT(recording.host_ns) },
	CAPTURE_OPTIONS_BUFFER_ROW(AT(recording.capture), "8M"),
	CAPTURE_OPTIONS_MAX_LOSS_ROW(AT(recording.capture)),
	CAPTURE_OPTIONS_PROBE_ROWS(AT(recording.capture), "recorded"),
	CAPTURE_OPTIONS_WITHOUT_ROW(AT(recording.capture)),
	OPTION_QUIET_ROW,
	OPTION_VERBOSE_ROW,
	{ 0 },
};

/* ---- what they mean -------------------------------------------------------------------------- */

static uint32_t triggers_of(const struct settings *settings)
{
	return (uint32_t)settings->on_oom << TRIGGER_OOM |
	       (uint32_t)(settings->recording.signal != 0) << TRIGGER_SIGNAL |
	       (uint32_t)settings->on_exit << TRIGGER_EXIT;
}

static int check_output(const struct settings *settings)
{
	const struct record_run_settings *recording = &settings->recording;
	const struct dump_name any = { .host = "" };
	struct string expanded = { 0 };
	int err = recording->output ? dump_name_expand(&expanded, recording->output, &any) : 0;

	string_fini(&expanded);
	if (err)
		log_error("-o %s: only h, p, t or %% can follow %%", recording->output);
	else if (settings->to_stdout &&
		 (recording->output || recording->ring_bytes || recording->triggers))
		log_error("-o - cannot be combined with -o FILE, --ring or a trigger");
	else if (settings->to_stdout && isatty(STDOUT_FILENO))
		log_error(
			"cannot write a recording to a terminal: redirect standard output, or use -o");
	else
		return EXIT_OK;
	return EXIT_USAGE;
}

static int check_sizes(const struct record_run_settings *recording)
{
	if (!recording->ring_bytes || recording->segment_bytes <= recording->ring_bytes / 4)
		return EXIT_OK;
	log_error("--segment must be at most a quarter of --ring");
	return EXIT_USAGE;
}

/* Python functions that are markers are not seen at what is summed up by the kernel side. */
static uint32_t ops_of_functions(const struct record_run_settings *recording)
{
	const bool summed = recording->launches == RECORDING_SUMMARY;
	uint32_t ops = (1u << MS_OPS_COUNT) - 1;

	if (summed || recording->launches == RECORDING_OFF)
		ops &= ~(1u << MS_OP_LAUNCH);
	if (recording->copies == RECORDING_OFF)
		ops &= ~(1u << MS_OP_COPY | 1u << MS_OP_MEMSET);
	return ops;
}

#define STACKS_UNSAID (1u << 31)

/* Memory is looked for by line of code, where the kernel can find it. */
static void choose_stacks(struct record_run_settings *recording)
{
	struct capture_options *capture = &recording->capture;

	if (capture->stack_ops != STACKS_UNSAID)
		return;
	capture->stack_ops = 0;
	capture_options_see_functions(capture, ops_of_functions(recording));
	if (!capture->stack_ops && programs_can_walk_stacks())
		capture->stack_ops = 1u << MS_OP_ALLOC;
}

/* Those that are summed up are not told apart by where they come from. */
static int check_stacks(const struct record_run_settings *recording)
{
	if (recording->launch_one_in && recording->launches != RECORDING_SUMMARY) {
		log_error("--launch-stacks is of launches that are summed up, and here %s: leave it"
			  " out, or write --launches=summary%s",
			  recording->launches == RECORDING_OFF ? "there are none" :
								 "each is recorded",
			  recording->capture.stack_ops >> MS_OP_LAUNCH & 1 ? " and --stacks=waits" :
									     "");
		return EXIT_USAGE;
	}
	if (!(recording->capture.stack_ops >> MS_OP_LAUNCH & 1) ||
	    recording->launches == RECORDING_ALL)
		return EXIT_OK;
	log_error("--stacks=all is of each launch: write --launches=all, or --stacks=waits");
	return EXIT_USAGE;
}

/* What CUPTI says is joined with calls, one by one, and each launch has its stack. */
static void set_details(struct record_run_settings *recording)
{
	const enum recording_detail unsaid =
		recording->capture.gpu_times ? RECORDING_ALL : RECORDING_SUMMARY;
	const bool stacks = recording->capture.stack_ops >> MS_OP_LAUNCH & 1;

	if (recording->launches == RECORDING_UNSAID)
		recording->launches = stacks ? RECORDING_ALL : unsaid;
	if (recording->copies == RECORDING_UNSAID)
		recording->copies = unsaid;
}

static int complete(struct settings *settings)
{
	struct record_run_settings *recording = &settings->recording;
	uint32_t *ops = &recording->capture.selection.ops;
	int code;

	choose_stacks(recording);
	set_details(recording);
	recording->triggers = triggers_of(settings);
	recording->capture.output_is_taken = settings->to_stdout;
	if (recording->triggers && !recording->ring_bytes)
		recording->ring_bytes = DEFAULT_RING;
	code = check_output(settings);
	if (code == EXIT_OK)
		code = check_sizes(recording);
	if (code == EXIT_OK)
		code = check_stacks(recording);
	if (!recording->output && !settings->to_stdout) {
		recording->output = DEFAULT_OUTPUT;
		recording->output_if_taken = DEFAULT_IF_TAKEN;
	}
	if (!recording->bundles_an_hour)
		recording->bundles_an_hour = DEFAULT_BUNDLES;
	if (!recording->segment_bytes)
		recording->segment_bytes = recording->ring_bytes ?
						   recording->ring_bytes / SEGMENTS_OF_RING :
						   DEFAULT_SEGMENT;
	recording->nvml_ns = options_period(recording->nvml_ns, CAPTURE_NVML_NS);
	recording->host_ns = options_period(recording->host_ns, DEFAULT_HOST);
	*ops = (1u << MS_OPS_COUNT) - 1;
	if (recording->launches == RECORDING_OFF)
		*ops &= ~(1u << MS_OP_LAUNCH | 1u << MS_OP_NAME);
	if (recording->copies == RECORDING_OFF)
		*ops &= ~(1u << MS_OP_COPY | 1u << MS_OP_MEMSET);
	return code;
}

static void do_nothing(int number)
{
	(void)number;
}

/* Safe in a signal handler. */
static void say_ignored(int number)
{
	static const char usr1[] = "memscope-bpf: warning: SIGUSR1 is ignored: without --on-signal"
				   " USR1 it triggers nothing\n";
	static const char usr2[] = "memscope-bpf: warning: SIGUSR2 is ignored: without --on-signal"
				   " USR2 it triggers nothing\n";
	const int err = errno;
	const ssize_t length =
		write(STDERR_FILENO, number == SIGUSR1 ? usr1 : usr2, sizeof(usr1) - 1);

	(void)length;
	errno = err;
}

/* Their default would end the recording. A command that is started has the default again. */
static void outlive_triggers(int trigger)
{
	static const int numbers[] = { SIGUSR1, SIGUSR2 };
	const struct sigaction action = { .sa_handler = say_ignored, .sa_flags = SA_RESTART };
	struct sigaction before;
	size_t i;

	for (i = 0; i < 2; i++)
		if (numbers[i] != trigger && !sigaction(numbers[i], NULL, &before) &&
		    before.sa_handler == SIG_DFL)
			sigaction(numbers[i], &action, NULL);
}

/*
 * It waits until the capture reads it, since it would interrupt the loading of programs, and does
 * nothing afterwards. Ignored, the command that is started would inherit that.
 */
static void hold_signal(int number)
{
	sigset_t signals;

	if (!number)
		return;
	signal(number, do_nothing);
	sigemptyset(&signals);
	sigaddset(&signals, number);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

static int record(int argc, char **argv)
{
	struct settings settings = { .recording.capture = CAPTURE_OPTIONS_DEFAULTS };
	struct capture_options *capture = &settings.recording.capture;
	int first, code = EXIT_OK;

	capture->buffer_bytes = DEFAULT_BUFFER;
	capture->nvtx = CAPTURE_MARKERS_NVTX;
	capture->stack_ops = STACKS_UNSAID;
	capture->fewer = "less detail (--launches, --copies)";
	first = options_parse(&record_command, argc, argv, &settings, &code);
	outlive_triggers(settings.recording.signal);
	hold_signal(settings.recording.signal);
	if (first >= 0) {
		capture->selection.command = first < argc ? argv + first : NULL;
		code = selection_check(&capture->selection);
		if (code == EXIT_OK)
			code = capture_options_check_gpu(capture);
		if (code == EXIT_OK)
			code = capture_options_check_markers(capture);
		if (code == EXIT_OK)
			code = complete(&settings);
		if (code == EXIT_OK)
			code = require_tracing(&capture->features, "");
		if (code == EXIT_OK)
			code = capture_options_check_choice(capture);
		if (code == EXIT_OK)
			output_format_say_recording(settings.recording.output);
		if (code == EXIT_OK)
			code = record_run_run(&settings.recording);
	}
	capture_options_fini(capture);
	return code;
}

const struct command record_command = {
	.name = "record",
	.summary = "Record the GPU memory operations of running programs into a file",
	.synopsis = "[OPTIONS] -p PID[,PID...] | -a | --cgroup PATH\n"
		    "[OPTIONS] --container ID | --pod NAME | --user NAME\n"
		    "[OPTIONS] [--] COMMAND [ARGUMENT...]",
	.description =
		"Captures the same calls as memscope-bpf-trace(1) into a file, which can be read"
		" later, on another machine and without root. Every allocation and free is"
		" recorded, and every call about memory, contexts and synchronisation. Launches,"
		" copies and memsets are added up unless --launches=all or --copies=all is given."
		" The recording ends when the processes end, after -d SECONDS, or with Ctrl-C.\n"
		"\n"
		"If this program is killed, the last quarter of a second is missing from the file;"
		" everything older can be read. If the disk is full, or the file may not grow"
		" (RLIMIT_FSIZE), the recording goes on, counts the events that it could not write,"
		" and begins a new segment as soon as there is room; the exit code is then 1. If"
		" the file is removed meanwhile, or its file system unmounted, the recorder writes"
		" it again with everything that was in it. If the file is renamed, the recording"
		" goes on in a new file with the old name; give both files to one report. If the"
		" file is truncated, the next block begins a new segment in it, the lost events are"
		" counted as not written, and the exit code is 1. The recorded programs notice none"
		" of this. If the reader of -o - closes the pipe, the recording ends, and the exit"
		" code is 1, because the reader's copy is cut short.\n"
		"\n"
		"A recording consists of segments, each of which can be read without the others. So"
		" a file can be cut between two segments, and files can be concatenated. With"
		" --ring or a trigger (--on-oom, --on-signal, --on-exit), only the newest segments"
		" are kept, so the recording can go on for months. When a trigger fires, the ring's"
		" contents become a bundle, which is a recording like any other. If this program is"
		" killed, the directory FILE.ring stays, and its files are readable, too.",
	.examples = "# a running program, until Ctrl-C\n"
		    "sudo memscope-bpf record -o run.mscope -p 4711\n"
		    "# a program from its first instruction, with each copy\n"
		    "sudo memscope-bpf record --copies=all -o run.mscope -- python3 train.py\n"
		    "# all programs for as long as the machine runs, kept only if memory runs out\n"
		    "sudo memscope-bpf record -a --on-oom -o /var/tmp/%h-%t.mscope\n"
		    "# a minute, to another machine\n"
		    "sudo memscope-bpf record -o - -d 60 -a | ssh host 'cat > run.mscope'\n",
	.options = rows,
	.starts_command = true,
	.run = record,
};
