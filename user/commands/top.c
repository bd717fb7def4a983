// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf top`: who holds memory now, again and again: its options.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "commands/command.h"
#include "commands/dump_selection.h"
#include "commands/live_choice.h"
#include "commands/options.h"
#include "commands/requirements.h"
#include "commands/top_agent_run.h"
#include "commands/top_run.h"

#define MIB (1ull << 20)
#define DEFAULT_BUFFER (8 * MIB) /* as of `record`: it may run for long */
#define DEFAULT_DELAY 2000000000ull
#define MIN_DELAY 100000000ull
#define MAX_COUNT 1000000000ull

/* ---- options --------------------------------------------------------------------------------- */

static int parse_delay(const struct option_row *row, const char *value, void *settings)
{
	const uint64_t *delay_ns = (const uint64_t *)((char *)settings + row->offset);
	int err = option_duration(row, value, settings);

	if (err || *delay_ns >= MIN_DELAY)
		return err;
	log_error("--%s: %s is less than 100ms", row->name, value);
	return -ERANGE;
}

static int parse_count(const struct option_row *row, const char *value, void *settings)
{
	if (!strcmp(row->name, "iterations") && *value && !strpbrk(value, "0123456789")) {
		log_error(
			"--iterations: \"%s\" is no number of times; for a namespace of pods write"
			" --namespace %s",
			value, value);
		return -EINVAL;
	}
	return option_number(row, value, settings, 1, MAX_COUNT);
}

static int parse_sort(const struct option_row *row, const char *value, void *settings)
{
	int which = option_which(row, value);

	if (which < 0)
		return which;
	*(enum top_sort *)((char *)settings + row->offset) = (enum top_sort)which;
	return 0;
}

static int parse_no_launches(const struct option_row *row, const char *value, void *settings)
{
	int which = option_which(row, value);

	if (which < 0)
		return which;
	*(bool *)((char *)settings + row->offset) = which == 1;
	return 0;
}

/* As the agent's own options have it, too: unix:PATH. */
static int parse_agent(const struct option_row *row, const char *value, void *settings)
{
	static const char prefix[] = "unix:";

	if (!strncmp(value, prefix, sizeof(prefix) - 1))
		value += sizeof(prefix) - 1;
	if (!strstr(value, "://") && (strchr(value, '/') || !strchr(value, ':')))
		return option_file(row, value, settings);
	log_error("--%s: \"%s\" is an address; it needs the path of a Unix socket, which"
		  " `memscope-bpf agent --socket PATH` opens",
		  row->name, value);
	return -EINVAL;
}

#define AT(member) offsetof(struct top_run_settings, member)

static const struct option_row rows[] = {
	CAPTURE_OPTIONS_PROCESS_ROWS(AT(capture), "Watch", "watched"),
	DUMP_SELECTION_USER_ROW(AT(selection)),
	DUMP_SELECTION_CONTAINER_ROWS(AT(selection)),
	{ 0, "agent", "SOCKET",
	  "Trace nothing, and show what the agent traces that answers on this Unix socket (its"
	  " option --socket). This needs no privilege. Only root and members of the group memscope"
	  " see the processes of other users.",
	  parse_agent, AT(agent) },
	{ 'd', "delay", "TIME",
	  "Show new numbers every TIME (2, 1.5s, 1m; at least 100ms; default 2s).", parse_delay,
	  AT(delay_ns) },
	{ 'n', "iterations", "COUNT", "End after showing numbers COUNT times.", parse_count,
	  AT(looks) },
	{ 'b', "batch", NULL,
	  "Write plain tables. This is the default if standard input or output is not a terminal.",
	  option_flag, AT(batch) },
	{ 's', "sort", "live|growth|rate|peak|pid",
	  "Order of the processes: those first that hold most (live, default), grow most, allocate"
	  " most often (rate) or have held most (peak), or the lowest PID.",
	  parse_sort, AT(sort) },
	{ 't', "top", "N", "With -b: show only the first N processes (default: all).", parse_count,
	  AT(most) },
	{ 0, "launches", "on|off",
	  "on: count the launches of kernels (default). off: do not; then launches cost nothing.",
	  parse_no_launches, AT(no_launches) },
	{ 0, "stacks", "off|alloc",
	  "Take the call stack of each allocation, to show call sites: on a process's page or, with"
	  " -b, the 20 of all processes that hold most (default off). docs/stacks.md says what that"
	  " costs.",
	  capture_options_stacks, AT(capture.stack_ops) },
	CAPTURE_OPTIONS_STACK_ROWS(AT(capture)),
	CONTAINER_OPTION_ROWS(AT(capture.names)),
	CAPTURE_OPTIONS_BUFFER_ROW(AT(capture), "8M"),
	CAPTURE_OPTIONS_PROBE_ROWS(AT(capture), "watched"),
	CAPTURE_OPTIONS_WITHOUT_ROW(AT(capture)),
	OPTION_QUIET_ROW,
	OPTION_VERBOSE_ROW,
	{ 0 },
};

/* ---- the command ----------------------------------------------------------------------------- */

/* Allocations, frees and contexts are captured in any case. */
static void choose_ops(struct top_run_settings *settings)
{
	settings->capture.selection.ops = 1u << MS_OP_ALLOC | 1u << MS_OP_FREE;
	if (!settings->no_launches)
		settings->capture.selection.ops |= 1u << MS_OP_LAUNCH;
}

static bool is_empty(const struct selection *selection)
{
	return !selection->pids_count && !selection->all && !selection->cgroup.path &&
	       !selection->command;
}

static int look_at_agent(struct top_run_settings *settings)
{
	if (is_empty(&settings->capture.selection))
		return top_agent_run(settings);
	log_error("--agent shows what the agent traces; leave out -p, -a, --cgroup and COMMAND");
	return EXIT_USAGE;
}

/* Who is shown says enough of who is traced. */
static void trace_all_for_selection(struct top_run_settings *settings)
{
	struct selection *selection = &settings->capture.selection;

	if (process_selection_is_some(&settings->selection) && !selection->pids_count &&
	    !selection->cgroup.path && !selection->command)
		selection->all = true;
}

/* `top` alone shows all processes elsewhere; here that puts probes into them. */
static int refuse_nothing(void)
{
	log_error("there is nothing to trace: with sudo, write -a (all that use CUDA), -p PID,"
		  " --cgroup PATH or -- COMMAND; without privileges, --agent SOCKET, if an agent"
		  " runs, or `memscope-bpf who`");
	return EXIT_USAGE;
}

static int look_here(struct top_run_settings *settings)
{
	struct capture_options *capture = &settings->capture;
	const struct selection *selection = &capture->selection;
	int code;

	trace_all_for_selection(settings);
	if (is_empty(selection))
		return refuse_nothing();
	code = selection_check(&capture->selection);
	choose_ops(settings);
	if (code == EXIT_OK)
		code = require_tracing(
			&settings->capture.features,
			"; without privileges, --agent SOCKET shows what an agent traces");
	if (code == EXIT_OK && !selection->command)
		code = live_choice_check(&settings->selection, &capture->names);
	return code == EXIT_OK ? top_run(settings) : code;
}

static int top(int argc, char **argv)
{
	struct top_run_settings settings = { .capture = CAPTURE_OPTIONS_DEFAULTS,
					     .delay_ns = DEFAULT_DELAY };
	struct capture_options *capture = &settings.capture;
	int first, code = EXIT_OK;

	capture->buffer_bytes = DEFAULT_BUFFER;
	capture->fewer = "--launches=off";
	first = options_parse(&top_command, argc, argv, &settings, &code);
	if (first >= 0) {
		capture->selection.command = first < argc ? argv + first : NULL;
		code = settings.agent ? look_at_agent(&settings) : look_here(&settings);
	}
	capture_options_fini(capture);
	return code;
}

const struct command top_command = {
	.name = "top",
	.several = "run it once for each",
	.summary = "Show which processes hold GPU memory, again and again",
	.synopsis = "[OPTIONS] -p PID[,PID...] | -a | --cgroup PATH\n"
		    "[OPTIONS] [--] COMMAND [ARGUMENT...]\n"
		    "[OPTIONS] --agent SOCKET",
	.description =
		"Traces as memscope-bpf-trace(1) does. Every two seconds, it shows what each process"
		" holds on devices (device memory, pools, arrays, graphs and physical memory), the"
		" most that it has held, how that changed since the last time and in 60 seconds, and"
		" how often it allocates and launches kernels. If NVML is installed, it also shows"
		" NVML's number for each process, how much of it has no known cause, and how full the"
		" devices are. A process that has ended is shown once more. top ends when the"
		" processes do, after -n COUNT, or with Ctrl-C.\n"
		"\n"
		"At a terminal, it uses the whole screen (this needs ncurses, libncursesw.so.6) and"
		" reads keys: arrows choose a process, Enter shows its spaces, its call sites and its"
		" largest blocks, s changes the order, / filters, space pauses, h shows help, q quits."
		" A COMMAND then has no terminal: its input and output are /dev/null unless they are"
		" redirected. Messages stand in the last line, and top prints them to standard error"
		" when it ends. NO_COLOR turns colours off.\n"
		"\n"
		"+ after what a process holds: it may hold more, from before top attached. ~: events"
		" were lost or not understood, and the number may be wrong. The remarks say so, too,"
		" and name the container, the pod and the job, as memscope-bpf-who(1) does.\n"
		"\n"
		"With --agent, top shows the agent's answers: the 20 largest call sites, but no blocks.\n"
		"\n"
		"For programs, use memscope-bpf-who(1) with --json, or memscope-bpf-trace(1) with"
		" -c -i TIME --json.",
	.examples = "# all that use CUDA on this machine\n"
		    "sudo memscope-bpf top -a\n"
		    "# into a file, every ten seconds, the five that grow most\n"
		    "sudo memscope-bpf top -b -a -d 10 --sort growth --top 5 > growth.txt\n"
		    "# a program from its beginning, with the places where it allocates\n"
		    "sudo memscope-bpf top --stacks=alloc -- python3 train.py\n"
		    "# what an agent traces, without privileges\n"
		    "memscope-bpf top --agent /run/memscope-bpf/query\n",
	.options = rows,
	.starts_command = true,
	.run = top,
};
