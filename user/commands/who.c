// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf who`: who holds memory of which device, now. Nothing is probed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/writer.h"
#include "capture/records/identity_record.h"
#include "commands/cgroup_option.h"
#include "commands/command.h"
#include "commands/container_option.h"
#include "commands/dump_selection.h"
#include "commands/live_choice.h"
#include "commands/options.h"
#include "commands/process_names.h"
#include "commands/terminal.h"
#include "host/holders.h"
#include "host/nvml.h"
#include "host/nvml_limits.h"
#include "render/who.h"

#define ROOT "" /* of the machine's files */
#define PIDS_MOST 256
#define CALL_NS 5000000000ull
#define CLEAR "\033[H\033[2J"

struct settings {
	bool json;
	uint64_t watch_ns; /* 0: once */
	uint64_t call_ns;  /* what a call of NVML may take */
	struct name_sources names;
	struct process_selection selection;
	struct cgroup_option cgroup; /* of that, too */
	uint32_t pids[PIDS_MOST];
	size_t pids_count; /* 0: all */
	enum process_groups_by by;
};

#define AT(member) offsetof(struct settings, member)

static int take_pid(void *context, uint32_t pid)
{
	struct settings *settings = context;

	if (settings->pids_count == PIDS_MOST) {
		log_error("--pid: more than %d processes", PIDS_MOST);
		return -E2BIG;
	}
	settings->pids[settings->pids_count++] = pid;
	return 0;
}

static int parse_pids(const struct option_row *row, const char *value, void *settings)
{
	return option_pids(row, value, take_pid, settings);
}

static int parse_cgroup(const struct option_row *row, const char *value, void *settings)
{
	struct settings *who = settings;
	int err = cgroup_option_parse(row, value, &who->cgroup);

	who->selection.cgroup = who->cgroup.path;
	return err;
}

static int parse_by(const struct option_row *row, const char *value, void *settings)
{
	const int which = option_which(row, value);

	if (which >= 0)
		((struct settings *)settings)->by =
			(enum process_groups_by)(PROCESS_GROUPS_NONE + 1 + which);
	return which < 0 ? which : 0;
}

#define BY_NAME(by, name, title) name

static const struct option_row rows[] = {
	{ 'j', "json", NULL, "Write one JSON object per line (docs/who.schema.json).", option_flag,
	  AT(json) },
	{ 'f', "format", "text|json", "text (default), or what --json writes.", option_text_or_json,
	  AT(json) },
	{ 'p', "pid", "PID[,PID...]", "Only these processes.", parse_pids, 0 },
	DUMP_SELECTION_USER_ROW(AT(selection)),
	{ 0, "cgroup", "PATH", DUMP_SELECTION_CGROUP_HELP, parse_cgroup, 0 },
	DUMP_SELECTION_CONTAINER_ROWS(AT(selection)),
	{ 0, "by", PROCESS_GROUPS_BY(BY_NAME, "|"),
	  "Add a table of sums over all devices: how many processes of a user, container, pod, job,"
	  " name or cgroup there are, and what they hold. (none): those that have none.",
	  parse_by, 0 },
	{ 'w', "watch", "TIME", "Repeat every TIME (2, 2s, 1m30s), until Ctrl-C.", option_duration,
	  AT(watch_ns) },
	{ 0, "timeout", "TIME",
	  "Give up on NVML if one of its calls takes longer than TIME (default 5s).",
	  option_duration, AT(call_ns) },
	CONTAINER_OPTION_ROWS(AT(names)),
	OPTION_QUIET_ROW,
	OPTION_VERBOSE_ROW,
	{ 0 },
};

/* ---- once ------------------------------------------------------------------------------------ */

static void write_text(struct writer *writer, const struct who *who, bool again)
{
	const struct document_text_options options = terminal_options(writer);
	struct document_text text;

	if (again && writer->terminal)
		string_append_text(&writer->text, CLEAR);
	document_text_init(&text, &writer->text, SIZE_MAX, &options);
	who_append_text(&text.document, who);
	document_text_fini(&text);
}

/* All that a look needs, for the next one too. */
struct looking {
	struct settings settings;
	struct writer writer;
	struct nvml *nvml;
	struct holders holders;
	struct identity_maker maker;
	struct who_process *processes; /* one for each holder */
	struct string_table texts;     /* what they point to */
	struct dmem_table cgroups;     /* of them */
	size_t left_out;               /* so many of them */
};

static void identify(struct looking *looking, const struct holder *holder,
		     struct who_process *process)
{
	const struct ms_event event = { .pid = holder->pid, .start_ns = holder->info.start_ns };
	const struct ms_identity *record = identity_record_make(&looking->maker, &event);
	char comm[MS_COMM_BYTES] = "";
	const char *texts;

	snprintf(comm, sizeof(comm), "%s", holder->info.comm);
	/* The record is the maker's, and gone with the next one. */
	texts = record && record->length ?
			string_intern(&looking->texts, record->texts, record->length) :
			NULL;
	if (texts && identity_parse(texts, record->length, &process->identity))
		memset(&process->identity, 0, sizeof(process->identity));
	identity_name(&process->identity, comm, process->name);
	process->cgroup = dmem_table_add(&looking->cgroups, ROOT, (pid_t)holder->pid) + 1;
	if (!process->cgroup)
		process->cgroup =
			nvml_limits_add(&looking->cgroups, looking->holders.nvml, holder->pid) + 1;
}

static bool is_wanted(const struct settings *settings, uint32_t pid, const char *comm,
		      const struct who_process *process)
{
	size_t i;

	for (i = 0; i < settings->pids_count && settings->pids[i] != pid; i++)
		;
	return (!settings->pids_count || i < settings->pids_count) &&
	       process_selection_fits(&settings->selection, &process->identity, comm,
				      process->name);
}

/* Once all are identified. */
static void choose(struct looking *looking)
{
	const struct holders *holders = &looking->holders;
	size_t i;

	looking->left_out = 0;
	for (i = 0; i < holders->holders_count; i++) {
		const struct holder *holder = &holders->holders[i];
		struct who_process *process = &looking->processes[i];

		process->left_out = !is_wanted(&looking->settings, holder->pid,
					       holder->present ? holder->info.comm : "", process);
		looking->left_out += process->left_out;
	}
}

static int identify_all(struct looking *looking)
{
	const struct holders *holders = &looking->holders;
	size_t i;

	free(looking->processes);
	string_table_fini(&looking->texts);
	memset(&looking->texts, 0, sizeof(looking->texts));
	looking->processes = calloc(holders->holders_count + 1, sizeof(*looking->processes));
	if (!looking->processes)
		return -ENOMEM;
	dmem_table_fini(&looking->cgroups);
	for (i = 0; i < holders->holders_count; i++)
		if (holders->holders[i].present)
			identify(looking, &holders->holders[i], &looking->processes[i]);
	choose(looking);
	return 0;
}

/* Whether none is what was asked for. */
static bool is_without_any(const struct looking *looking)
{
	const struct settings *settings = &looking->settings;

	return looking->holders.holders_count <= looking->left_out &&
	       (settings->pids_count || process_selection_is_some(&settings->selection));
}

static int look(struct looking *looking)
{
	struct writer *writer = &looking->writer;
	struct who who = { .holders = &looking->holders };
	int err = holders_read(&looking->holders, looking->nvml,
			       (int)(looking->settings.call_ns / 1000000));

	if (!err)
		err = identify_all(looking);
	if (err) {
		log_error("not enough memory");
		return err;
	}
	who.processes = looking->processes;
	who.left_out = looking->left_out;
	who.by = looking->settings.by;
	who.cgroups = looking->cgroups.cgroups;
	who.cgroups_count = looking->cgroups.count;
	log_debug("NVML took %llu us", (unsigned long long)looking->holders.nvml->ns / 1000);
	if (looking->settings.json)
		who_append_json(&writer->text, &who);
	else if (looking->settings.watch_ns || !looking->holders.devices_count ||
		 !is_without_any(looking))
		write_text(writer, &who, looking->settings.watch_ns);
	return writer_flush(writer);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void wait_until(uint64_t ns)
{
	const struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

/* Returns 0 or -errno. */
static int look_on(struct looking *looking)
{
	const uint64_t watch_ns = looking->settings.watch_ns;
	uint64_t next_ns = clock_monotonic_ns();
	int err;

	while (!(err = look(looking)) && watch_ns) {
		next_ns += watch_ns;
		wait_until(next_ns);
	}
	return err;
}

/* Whether PIDs were asked for, and there is no such process. */
static bool are_gone(const struct settings *settings)
{
	struct proc_info info;
	size_t i;

	for (i = 0; i < settings->pids_count; i++)
		if (proc_read((pid_t)settings->pids[i], &info) != -ESRCH)
			return false;
	return settings->pids_count;
}

/* What there is instead. */
static void append_instead(struct string *out, const struct looking *looking)
{
	const struct holders *holders = &looking->holders;
	struct process_names names = { 0 };
	size_t i;

	for (i = 0; i < holders->holders_count; i++)
		process_names_note(&names, looking->processes[i].name[0] ?
						   looking->processes[i].name :
						   holders->holders[i].info.comm);
	process_names_append(out, &names, "; those that have: ");
	if (holders->refused)
		string_append_text(out, "; other users' open files are seen with sudo");
}

/* Says so if none is what was asked for: of names that no process has, too. */
static bool tell_if_without_any(const struct looking *looking)
{
	const struct settings *settings = &looking->settings;
	const struct holders *holders = &looking->holders;
	struct string asked = { 0 }, instead = { 0 };

	if (!is_without_any(looking))
		return false;
	if (are_gone(settings)) {
		log_error("there is no process %u%s", settings->pids[0],
			  settings->pids_count > 1 ? ", nor one of the others" : "");
		return true;
	}
	string_append_text(&asked, settings->pids_count ? "--pid" : "");
	if (settings->pids_count && process_selection_is_some(&settings->selection))
		string_append_text(&asked, ", ");
	process_selection_append(&asked, &settings->selection);
	append_instead(&instead, looking);
	if (!holders->driver[0] && !holders->devices_count && !holders->holders_count)
		log_error(
			"no NVIDIA driver is loaded here, so who can see no process, and not"
			" what was asked for (%.*s); to see one with a simulated driver, trace it:"
			" sudo memscope-bpf top -p PID",
			(int)asked.length, asked.bytes);
	else
		log_error("no process that has the driver open is what was asked for (%.*s)%.*s",
			  (int)asked.length, asked.bytes, (int)instead.length,
			  instead.length ? instead.bytes : "");
	string_fini(&asked);
	string_fini(&instead);
	return true;
}

/* Names that nothing here has. Returns an exit code, logged. */
static int check_names(struct settings *settings)
{
	const struct process_selection names = { .user = settings->selection.user,
						 .container = settings->selection.container };

	return live_choice_check_names(&names, &settings->names);
}

static int run_who(struct looking *looking)
{
	int err, code;

	if (nvml_open(&looking->nvml))
		log_warning("cannot use NVML");
	looking->maker.names = &looking->settings.names;
	looking->maker.cgroup = looking->settings.cgroup.path;
	writer_init_stdout(&looking->writer);
	err = look_on(looking);
	code = looking->holders.devices_count ? EXIT_OK : EXIT_UNSUPPORTED;
	if (!err && tell_if_without_any(looking) && code == EXIT_OK)
		code = EXIT_NO_TARGET;
	if (err)
		code = err == -EPIPE ? EXIT_OK : EXIT_FAILED;
	nvml_close(looking->nvml);
	holders_fini(&looking->holders);
	identity_record_fini(&looking->maker);
	cgroup_option_fini(&looking->settings.cgroup);
	name_sources_close(&looking->settings.names);
	string_table_fini(&looking->texts);
	dmem_table_fini(&looking->cgroups);
	free(looking->processes);
	err = writer_close(&looking->writer);
	return err && err != -EPIPE ? EXIT_FAILED : code;
}

/* The option that a PID alone stands for. */
static const struct option_row *pid_row(void)
{
	const struct option_row *row = rows;

	while (row->letter != 'p')
		row++;
	return row;
}

static int who(int argc, char **argv)
{
	static struct looking looking; /* large */
	int code, first;

	looking.settings.call_ns = CALL_NS;
	looking.settings.names.logs.path = POD_LOGS_DEFAULT;
	first = options_parse(&who_command, argc, argv, &looking.settings, &code);

	if (first < 0)
		return code;
	signal(SIGPIPE, SIG_IGN);
	while (first < argc && *argv[first] && !argv[first][strspn(argv[first], "0123456789")])
		if (option_pids(pid_row(), argv[first++], take_pid, &looking.settings))
			return EXIT_USAGE;
	if (first < argc) {
		log_error(
			"who looks at what runs now and takes no file, such as \"%s\"; programs of"
			" a name are --comm NAME; who held what in a recording: memscope-bpf"
			" report --at TIME FILE",
			argv[first]);
		return EXIT_USAGE;
	}
	code = check_names(&looking.settings);
	return code == EXIT_OK ? run_who(&looking) : code;
}

const struct command who_command = {
	.name = "who",
	.several = "run it once for each",
	.summary = "Show who holds memory of which device now, without tracing",
	.synopsis = "[OPTIONS]",
	.description =
		"Asks NVML, the driver's management library, and searches /proc for processes that"
		" have the driver's device files open. It probes nothing and needs no privileges."
		" Root also sees the open files of other users' processes.\n"
		"\n"
		"A process that NVML does not list can still hold memory, and a process that it"
		" lists can have ended. Both are shown. If memory cannot be explained, the output"
		" names possible reasons and the next command to type. If a call of NVML hangs, the"
		" output has the answers so far.",
	.examples = "# now\n"
		    "memscope-bpf who\n"
		    "# every two seconds, with what only root may see\n"
		    "sudo memscope-bpf who -w 2\n"
		    "# one container, by its name or the beginning of its ID\n"
		    "sudo memscope-bpf who --container 0123456789ab\n"
		    "# which user holds how much\n"
		    "sudo memscope-bpf who --by user\n"
		    "# how much is free, for a script\n"
		    "memscope-bpf who --json | jq '.devices[].free_bytes'\n",
	.options = rows,
	.run = who,
};
