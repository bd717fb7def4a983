// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf trace`: live capture into text or JSON lines.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/string.h"
#include "capture/live.h"
#include "commands/capture_options.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/output_format.h"
#include "commands/requirements.h"
#include "commands/selection.h"
#include "commands/terminal.h"
#include "host/machine.h"
#include "render/json.h"
#include "render/text.h"
#include "base/writer.h"
#include "pipeline.h"
#include "report/call_sites.h"

#define SECOND 1000000000ull

struct settings {
	struct capture_options capture;
	const char *output;
	bool json;
	bool summary_only;
	bool exact;
	bool stacks;
	bool whole_stacks;
	bool verbose;
	bool no_return;
	bool tensors;         /* what the allocators of frameworks say of themselves, too */
	uint64_t interval_ns; /* between summaries; 0: there is one, at the end */
	uint64_t nvml_ns;     /* as option_period() leaves it */
};

/* ---- options --------------------------------------------------------------------------------- */

static int parse_stack(const struct option_row *row, const char *value, void *context)
{
	struct settings *settings = context;

	settings->stacks = true;
	settings->whole_stacks = value;
	if (!value || !strcmp(value, "full"))
		return 0;
	log_error(
		"--%s: \"%s\" is not full; how much there is of each: --stack-depth, --stack-frames",
		row->name, value);
	return -EINVAL;
}

#define AT(member) offsetof(struct settings, member)

static int parse_verbose(const struct option_row *row, const char *value, void *context)
{
	((struct settings *)context)->verbose = true;
	return option_verbose(row, value, context);
}

static const struct option_row rows[] = {
	CAPTURE_OPTIONS_PROCESS_ROWS(AT(capture), "Trace", "traced"),
	CAPTURE_OPTIONS_WHO_ROWS(AT(capture)),
	CAPTURE_OPTIONS_CMDLINE_ROW(AT(capture), "Show", "shown"),
	CONTAINER_OPTION_ROWS(AT(capture.names)),
	{ 'e', "events", "alloc,free,copy,memset,launch,sync,memory,context,all",
	  "Show only these calls; with ! in front (!free,copy), those of the default but these."
	  " Default: all, but of memory and context only the failures."
	  " Allocations, frees, memory, context and launches of graphs (which allocate) are always"
	  " captured, so that the account stays right. Other calls are captured only if they are"
	  " shown: if not, they cost nothing, and the summary has no numbers for them. Calls that"
	  " also allocate or free, such as launches of graphs (not with --no-return) and the ends"
	  " of contexts, are also shown as allocations and frees.",
	  selection_parse_events, AT(capture.selection) },
	{ 0, "tensors", NULL,
	  "Also show each block that the allocator of PyTorch, TensorFlow or JAX gives to the program"
	  " or takes back, as the allocator reports it, and each call of NCCL. With -c, what the"
	  " allocator has given, caches and could still give is summed up.",
	  option_flag, AT(tensors) },
	CAPTURE_OPTIONS_GPU_ROW(AT(capture), ""),
	CAPTURE_OPTIONS_MARKER_ROWS(
		AT(capture),
		"Also show what programs mark with NVTX's functions (nvtx), or not (off, default)."),
	{ 0, "min-size", "SIZE",
	  "Show only allocations, frees, copies and memsets of SIZE or more.", option_size,
	  AT(capture.selection.min_bytes) },
	{ 0, "api", "REGEX",
	  "Show only calls whose function, or the driver function inside it, matches.", option_text,
	  AT(capture.selection.api) },
	{ 0, "nvml", "TIME|off",
	  "If NVML is installed, ask it at the beginning and the end, when memory runs out, and every"
	  " TIME (default 10s): the summary breaks its last number for each process down.",
	  option_period, AT(nvml_ns) },
	{ 'o', "output", "FILE", "Write to FILE. Default: standard output (-).", option_output,
	  AT(output) },
	{ 'j', "json", NULL,
	  "Write JSON lines: one object per event, and the summary as the last one"
	  " (docs/event.schema.json). This is the default for a FILE that ends in .jsonl, .ndjson"
	  " or .json. Without -o, the standard output of COMMAND goes to standard error.",
	  option_flag, AT(json) },
	{ 0, "format", "text|json", "text (default), or what --json writes.", option_text_or_json,
	  AT(json) },
	{ 0, "stack", "[=full]",
	  "Show the call stack of each allocation, below its line; with -e, of the allocations,"
	  " copies, memsets, launches and waits (sync) among the calls that -e names; with -c alone,"
	  " of all these but launches. In stripped files, a frame is shown as an address in the file"
	  " (docs/stacks.md). full: with the interpreter's own frames between lines of Python.",
	  parse_stack, 0 },
	CAPTURE_OPTIONS_STACK_ROWS(AT(capture)),
	{ 'c', "summary", NULL, "Only the summary at the end.", option_flag, AT(summary_only) },
	{ 'i', "interval", "TIME",
	  "With -c: show the summary so far every TIME (2, 10s, 1m; at least 1s). On a terminal it"
	  " replaces the one before; in JSON its member final is false.",
	  option_duration, AT(interval_ns) },
	CAPTURE_OPTIONS_DURATION_ROW(AT(capture)),
	{ 'b', "bytes", NULL, "Sizes as numbers of bytes.", option_flag, AT(exact) },
	CAPTURE_OPTIONS_BUFFER_ROW(AT(capture), "64M"),
	CAPTURE_OPTIONS_MAX_LOSS_ROW(AT(capture)),
	{ 0, "attach", "auto|process",
	  "With -a, --cgroup and -f, auto (default) puts probes into files, so that even the first"
	  " call of a new process is seen. A process that is not traced then pays about a"
	  " microsecond for each probed call. With process, only traced processes have probes.",
	  selection_parse_attach, AT(capture.selection) },
	{ 0, "layer", "auto|both|runtime|driver",
	  "Which functions to probe. both: those of the CUDA runtime and of the CUDA driver; a"
	  " runtime call and the driver call that it makes are shown as one. driver: only those of"
	  " the driver. This is the complete account at the least cost, even for programs that use"
	  " no runtime, or one that cannot be found. runtime: only those of the runtime. This"
	  " misses such programs, but has the names that programs use. auto (default): as both, but"
	  " launches, copies, memsets and synchronisations are probed in the driver alone if"
	  " possible, and have its names. Functions of the runtime that --api matches are probed,"
	  " too.",
	  selection_parse_layer, AT(capture.selection) },
	{ 0, "no-return", NULL,
	  "Probe only the entries of functions. This costs less than two thirds as much, and"
	  " changes no return address, which matters to programs that switch stacks by themselves."
	  " Results, durations, addresses of allocations, kernel names, contexts and live memory"
	  " are then unknown. With --layer=auto, only the driver's functions are probed.",
	  option_flag, AT(no_return) },
	CAPTURE_OPTIONS_WITHOUT_ROW(AT(capture)),
	OPTION_QUIET_ROW,
	{ 'v', "verbose", NULL,
	  "Print more messages, and show for each call how long the thread ran, waited for a CPU,"
	  " and was blocked.",
	  parse_verbose, 0 },
	{ 0 },
};

/* ---- running --------------------------------------------------------------------------------- */

/* Where time is spent in the calls that are shown, if their stacks are taken. */
struct place_sink {
	struct sink sink;
	struct call_sites sites;
};

struct run {
	struct settings settings;
	struct writer writer;
	struct sink *sink;
	struct place_sink places;
	struct pipeline pipeline;
	struct live *live;
	struct summary summary; /* so far */
	uint64_t shown_ns;      /* when it was shown */
	struct losses losses;   /* once the capture is over */
};

static int note_place(struct sink *sink, const struct event *event, const struct change *change)
{
	(void)change;
	return call_sites_event(&((struct place_sink *)sink)->sites, sink->state, event);
}

static void begin_json(struct sink *sink, uint64_t wall_offset_ns)
{
	struct machine machine;
	struct json_header header = { .wall_offset_ns = wall_offset_ns };

	machine_read(&machine);
	header.host = machine.host;
	header.kernel = machine.kernel;
	header.machine = machine.hardware;
	json_sink_begin(sink, &header);
}

static int open_output(struct run *run)
{
	const struct settings *settings = &run->settings;
	struct text_options text = { .lines = !settings->summary_only,
				     .exact = settings->exact,
				     .stacks = settings->stacks,
				     .whole_stacks = settings->whole_stacks,
				     .split = settings->verbose,
				     .clock_ns = clock_realtime_offset_ns() };
	int err = 0;

	if (settings->output)
		err = writer_open(&run->writer, settings->output);
	else
		writer_init_stdout(&run->writer);
	if (err)
		return err;
	text.width = run->writer.terminal ? terminal_options(&run->writer).width : 0;
	run->sink = settings->json ? json_sink_new(&run->writer, !settings->summary_only) :
				     text_sink_new(&run->writer, &text);
	if (!run->sink)
		return -ENOMEM;
	pipeline_add_sink(&run->pipeline, run->sink);
	run->places.sink.call = note_place;
	if (settings->stacks)
		pipeline_add_sink(&run->pipeline, &run->places.sink);
	/* The summary alone is one object. */
	if (settings->json && (!settings->summary_only || settings->interval_ns))
		begin_json(run->sink, text.clock_ns);
	return settings->stacks ? state_follow_usage(&run->pipeline.state) : 0;
}

static void close_output(struct run *run, int *err)
{
	int close_err = run->writer.fd >= 0 ? writer_close(&run->writer) : 0;

	if (run->settings.json)
		json_sink_free(run->sink);
	else
		text_sink_free(run->sink);
	if (!*err)
		*err = close_err;
}

static int feed(void *context, void *record, size_t length)
{
	return pipeline_feed(&((struct run *)context)->pipeline, record, length);
}

/* What there is so far. */
static int show_interim(struct run *run, uint64_t now_ns)
{
	int err = live_counters(run->live, &run->summary.counters);

	run->shown_ns = now_ns;
	run->summary.end_ns = now_ns;
	run->summary.left_out = live_dropped(run->live);
	run->summary.interim = true;
	pipeline_summarise(&run->pipeline, &run->summary);
	if (err)
		return err;
	return run->settings.json ? json_sink_show(run->sink, &run->summary) :
				    text_sink_show(run->sink, &run->summary);
}

static int flush(void *context)
{
	struct run *run = context;
	const uint64_t now_ns = clock_monotonic_ns(), interval_ns = run->settings.interval_ns;
	int err = pipeline_flush(&run->pipeline);

	if (!err)
		err = pipeline_tick(&run->pipeline, now_ns);
	if (!err && interval_ns && run->summary.start_ns && now_ns - run->shown_ns >= interval_ns)
		err = show_interim(run, now_ns);
	return err;
}

/* Without lines to make longer, also of the calls that threads wait in. */
static uint32_t stack_ops(const struct settings *settings)
{
	const uint32_t ops = settings->capture.selection.ops;

	if (ops)
		return ops & CAPTURE_STACKS_OF_ALL;
	return settings->summary_only ? CAPTURE_STACKS_OF_WAITS : 1u << MS_OP_ALLOC;
}

static int open_capture(struct run *run)
{
	struct settings *settings = &run->settings;
	struct live_options options = capture_options_live(&settings->capture, settings->no_return);

	options.named = run->pipeline.filter.rows;
	options.tensors = settings->tensors;
	/* Where one comes from cannot be counted. */
	options.count_launches = settings->summary_only && !(options.stack_ops >> MS_OP_LAUNCH & 1);
	options.feed = feed;
	options.flush = flush;
	options.count_ns = settings->interval_ns;
	options.devices_ns = options_period(settings->nvml_ns, CAPTURE_NVML_NS);
	options.context = run;
	return live_open(&run->live, &options);
}

/* Whatever ended it, a capture that began ends with its summary; -ECHILD: it did not begin. */
static int capture(struct run *run)
{
	struct summary summary = {
		.start_ns = clock_monotonic_ns(),
		.captured_ops = selection_captured_ops(&run->settings.capture.selection),
		.call_sites = run->settings.stacks ? &run->places.sites : NULL,
		.stack_ops = run->settings.capture.stack_ops,
	};
	int err, finish_err;

	run->summary = summary;
	run->shown_ns = summary.start_ns;
	if (run->settings.summary_only)
		log_info("capturing; Ctrl-C ends with the summary");
	err = live_run(run->live);
	if (err == -ECHILD)
		return err;
	summary.end_ns = live_end_ns(run->live);
	finish_err = live_stop(run->live);
	if (!finish_err)
		finish_err = live_counters(run->live, &summary.counters);
	summary.left_out = live_dropped(run->live);
	live_cost(run->live, &summary.cost);
	summary.missed_processes = live_missed(run->live);
	summary.missed_known = true;
	summary.untraced = live_untraced(run->live);
	summary.untraced_known = true;
	summary.forks = live_untraced_forks(run->live);
	summary.leavers = live_cgroup_leavers(run->live);
	if (!finish_err)
		finish_err = pipeline_finish(&run->pipeline, &summary);
	run->losses = summary.losses;
	if (!err)
		err = finish_err;
	return err ? err :
		     capture_options_tell_blindness(&run->settings.capture, run->live,
						    &run->losses);
}

static int run_all(struct run *run)
{
	int err, command_code = -1;

	err = open_output(run);
	if (!err)
		err = open_capture(run);
	if (!err) {
		err = capture(run);
		command_code = live_wait_command(run->live);
	}
	close_output(run, &err);
	live_close(run->live);
	return capture_options_exit_code(&run->settings.capture, err, &run->losses, command_code);
}

static int check_interval(const struct settings *settings)
{
	if (settings->interval_ns && !settings->summary_only)
		log_error("--interval goes with --summary: trace -c -i 2");
	else if (settings->interval_ns && settings->interval_ns < SECOND)
		log_error("--interval must be at least 1s");
	else
		return EXIT_OK;
	return EXIT_USAGE;
}

static int check_stacks(const struct settings *settings)
{
	if (!settings->stacks || stack_ops(settings))
		return EXIT_OK;
	log_error(
		"--stack shows where allocations, copies, memsets, launches and waits come from, and -e"
		" names none of these: -e alloc,copy,memset,launch,sync");
	return EXIT_USAGE;
}

static int check_output(const char *output)
{
	return output_format_refuse_name(output, "json") ||
			       output_format_refuse_name(output, "text") ||
			       output_format_refuse_kubectl(output) ?
		       EXIT_USAGE :
		       EXIT_OK;
}

/* Launches whose stacks are taken are not counted, but recorded. */
static void set_stacks(struct settings *settings)
{
	struct capture_options *capture = &settings->capture;

	capture->stack_ops = settings->stacks ? stack_ops(settings) : 0;
	capture_options_see_functions(capture, selection_captured_ops(&capture->selection));
}

static int trace(int argc, char **argv)
{
	struct run run = { .writer.fd = -1, .settings.capture = CAPTURE_OPTIONS_DEFAULTS };
	struct selection *selection = &run.settings.capture.selection;
	int first, code = EXIT_OK;

	first = options_parse(&trace_command, argc, argv, &run.settings, &code);
	if (first >= 0) {
		selection->command = first < argc ? argv + first : NULL;
		run.settings.json |=
			output_format_ends_in(run.settings.output, ".jsonl .ndjson .json");
		run.settings.capture.output_is_taken = run.settings.json && !run.settings.output;
		code = check_output(run.settings.output);
		if (code == EXIT_OK)
			code = check_interval(&run.settings);
		if (code == EXIT_OK)
			code = check_stacks(&run.settings);
		if (code == EXIT_OK)
			set_stacks(&run.settings);
		if (code == EXIT_OK)
			code = selection_check(selection);
		if (code == EXIT_OK)
			code = capture_options_check_gpu(&run.settings.capture);
		if (code == EXIT_OK)
			code = capture_options_check_markers(&run.settings.capture);
		if (code == EXIT_OK)
			code = selection_check_layer(selection, run.settings.no_return);
		if (code == EXIT_OK)
			code = selection_filter(selection, &run.pipeline.filter);
		if (code == EXIT_OK)
			code = require_tracing(&run.settings.capture.features, "");
		if (code == EXIT_OK)
			code = capture_options_check_choice(&run.settings.capture);
		if (code == EXIT_OK)
			code = run_all(&run);
	}
	call_sites_fini(&run.places.sites);
	state_fini(&run.pipeline.state);
	filter_fini(&run.pipeline.filter);
	capture_options_fini(&run.settings.capture);
	return code;
}

const struct command trace_command = {
	.name = "trace",
	.summary = "Show the GPU memory operations of running programs as they happen",
	.synopsis = "[OPTIONS] -p PID[,PID...] | -a | --cgroup PATH\n"
		    "[OPTIONS] --container ID | --pod NAME | --user NAME\n"
		    "[OPTIONS] [--] COMMAND [ARGUMENT...]",
	.description =
		"Attaches to the CUDA runtime and driver libraries that the processes have mapped"
		" or map later, and shows every allocation, free, copy, memset, launch,"
		" synchronisation and context change, one line each, with the live memory after it."
		" The trace ends when the processes end, after -d SECONDS, or with Ctrl-C, and"
		" always prints a summary.\n"
		"\n"
		"If a runtime function calls the driver function that does the work, the two are"
		" one event, with the runtime's name and the driver's values. Launches, copies,"
		" memsets and synchronisations are shown as the driver's functions (--layer=both"
		" shows the runtime's names). Events are in the order in which the calls ended;"
		" their times are those at which the calls began.\n"
		"\n"
		"LIVE is the memory that the process holds after the call, in the memory space of"
		" the call: device, pool (stream-ordered), managed, array, graph, pinned or"
		" registered memory; with virtual memory management physical (memory without an"
		" address), reserved (addresses without memory) and mapped (both; not memory of its"
		" own); and imported (owned by another process or API). Spaces are never added up."
		" Memory that a process held before it was attached to is unknown; frees of it are"
		" counted separately.\n"
		"\n"
		"With -- COMMAND, memscope-bpf starts the command and traces it from its first"
		" instruction. It exits with the command's exit code, or 128 plus the number of the"
		" signal that killed the command. The exit code is 127 if the command cannot be"
		" found, and 126 if it cannot be executed: then nothing was traced, and there is no"
		" summary. If tracing fails, the codes below take precedence. The command gets the"
		" first SIGINT (Ctrl-C), SIGTERM or SIGHUP; at the second, or after -d SECONDS,"
		" tracing ends and the command goes on.",
	.examples = "# a running program, until Ctrl-C\n"
		    "sudo memscope-bpf trace -p 4711\n"
		    "# a program from its first instruction: allocations and frees of >= 1 MiB\n"
		    "sudo memscope-bpf trace -e alloc,free --min-size 1M -- python3 train.py\n"
		    "# ten seconds of a program and its children, the summary alone\n"
		    "sudo memscope-bpf trace -c -f -d 10 -p 4711\n"
		    "# for a script\n"
		    "sudo memscope-bpf trace --json -o events.jsonl -p 4711\n",
	.options = rows,
	.starts_command = true,
	.run = trace,
};
