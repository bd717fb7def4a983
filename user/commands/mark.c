// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf mark`: says to captures on this machine what is going on, from outside of the
 * traced programs.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "capture/mark.h"
#include "commands/command.h"
#include "commands/options.h"

struct settings {
	bool begin, end;
	uint32_t pid; /* 0: all */
};

#define AT(member) offsetof(struct settings, member)

static int take_pid(void *context, uint32_t pid)
{
	struct settings *settings = context;

	if (settings->pid) {
		log_error("--pid: one process, or all");
		return -EINVAL;
	}
	settings->pid = pid;
	return 0;
}

static int parse_pid(const struct option_row *row, const char *value, void *settings)
{
	return option_pids(row, value, take_pid, settings);
}

static const struct option_row rows[] = {
	{ 'b', "begin", NULL, "A phase called NAME begins.", option_flag, AT(begin) },
	{ 'e', "end", NULL,
	  "The phase called NAME ends, which --begin, perhaps of another shell, has begun.",
	  option_flag, AT(end) },
	{ 'p', "pid", "PID", "Mark this process only, instead of all that are traced.", parse_pid,
	  0 },
	OPTION_QUIET_ROW,
	OPTION_VERBOSE_ROW,
	{ 0 },
};

static enum ms_marker_action action_of(const struct settings *settings)
{
	return settings->begin ? MS_MARKER_START :
	       settings->end   ? MS_MARKER_END :
				 MS_MARKER_INSTANT;
}

/* The reason why it cannot be said; NULL: it can. */
static const char *refusal(const struct settings *settings, int count, char **names)
{
	if (settings->begin && settings->end)
		return "--begin or --end, not both";
	if (count != 1)
		return count ? "one name; put quotation marks around several words" :
			       "what is it called? `memscope-bpf mark NAME`";
	if (!*names[0])
		return "the name is empty";
	if (strlen(names[0]) >= MS_MARKER_NAME_BYTES)
		return "the name is longer than 255 bytes";
	return NULL;
}

static int run(int argc, char **argv)
{
	struct settings settings = { 0 };
	const char *why;
	unsigned int listeners;
	int code, first = options_parse(&mark_command, argc, argv, &settings, &code);

	if (first < 0)
		return code;
	why = refusal(&settings, argc - first, argv + first);
	if (why) {
		log_error("%s", why);
		return EXIT_USAGE;
	}
	listeners = mark_listeners();
	if (!listeners) {
		log_error(
			"nothing is marked: no trace, record or agent of this memscope-bpf runs on"
			" this machine");
		return EXIT_NO_TARGET;
	}
	mark(action_of(&settings), (pid_t)settings.pid, argv[first]);
	log_debug("%u capture%s heard it", listeners, listeners == 1 ? "" : "s");
	return EXIT_OK;
}

const struct command mark_command = {
	.name = "mark",
	.summary = "Mark a moment or a phase in running captures, from outside",
	.synopsis = "[-p PID] NAME\n--begin|--end [-p PID] NAME",
	.description =
		"Puts a marker into what `trace`, `record` and `agent` are capturing on this machine:"
		" a deployment, a change of the configuration, the phases of a script around the"
		" traced program. Traces show it, and recordings, reports and exports have it like"
		" the markers of the program itself (docs/markers.md).\n"
		"\n"
		"It is set for each traced process. Root and the user that runs the capture may mark"
		" every process, and others their own ones; what others say of other processes is"
		" ignored. With --begin and --end, it is a phase with all calls and all memory of"
		" the process meanwhile; ends belong to the begin of the same name.\n"
		"\n"
		"`mark` needs no privileges, and sends nothing: captures have a probe at a function"
		" of this program, which it calls. So both have to be the same file: in a container,"
		" run the one that captures. If no capture listens, it says so, and the exit code is"
		" 5; append `|| true` where that is no reason to stop.",
	.examples = "# a moment\n"
		    "memscope-bpf mark 'deployed 1.4.2'\n"
		    "# a phase\n"
		    "memscope-bpf mark --begin load\n"
		    "./load-requests.sh\n"
		    "memscope-bpf mark --end load\n",
	.options = rows,
	.run = run,
};
