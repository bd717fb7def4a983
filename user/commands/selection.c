// SPDX-License-Identifier: BSD-2-Clause
#include "commands/selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "commands/options.h"
#include "capture/targets/spawn.h"
#include "commands/options.h"
#include "host/proc.h"
#include "event/probe.h"

#define ALL_OPS ((1u << MS_OPS_COUNT) - 1)
/* Programs change contexts and ask about memory all the time, and few people want to read that. */
#define DEFAULT_OPS (ALL_OPS & ~(1u << MS_OP_CONTEXT | 1u << MS_OP_MEMORY))
/* What the ledger needs, whatever is shown. */
#define LEDGER_OPS (1u << MS_OP_ALLOC | 1u << MS_OP_FREE | 1u << MS_OP_MEMORY | 1u << MS_OP_CONTEXT)

#define BOTH_LAYERS (1u << MS_LAYER_DRIVER | 1u << MS_LAYER_RUNTIME)
/* What programs call most often, and what owns no memory. */
#define SPARED_OPS (1u << MS_OP_COPY | 1u << MS_OP_MEMSET | 1u << MS_OP_LAUNCH | 1u << MS_OP_SYNC)

static struct selection *place(const struct option_row *row, void *settings)
{
	return (struct selection *)((char *)settings + row->offset);
}

static int take_pid(void *context, uint32_t pid)
{
	struct selection *selection = context;
	int err = memory_grow(&selection->pids, &selection->pids_capacity,
			      selection->pids_count + 1, sizeof(*selection->pids));

	if (!err)
		selection->pids[selection->pids_count++] = (pid_t)pid;
	return err;
}

int selection_parse_pids(const struct option_row *row, const char *value, void *settings)
{
	return option_pids(row, value, take_pid, place(row, settings));
}

int selection_parse_cgroup(const struct option_row *row, const char *value, void *settings)
{
	return cgroup_option_parse(row, value, &place(row, settings)->cgroup);
}

static int find_op(const char *name)
{
	int op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		if (op != MS_OP_NAME && !strcmp(name, probe_op_name(op)))
			return op;
	return -1;
}

/* What else is meant by what is typed there. */
static void refuse_event(const struct option_row *row, const char *text)
{
	static const struct {
		const char *begins, *hint;
	} hints[] = {
		{ "cu", "; a function is chosen by its name: --api '^cuMemAlloc_v2$'" },
		{ "wait", "; waits for the device are sync" },
		{ "sync", "; waits for the device are sync" },
		{ "malloc", "; allocations are alloc" },
		{ "kernel", "; kernels are launched: launch" },
		{ "alloc", "; allocations are alloc" },
		{ "free", "; frees are free" },
		{ "cop", "; copies are copy" },
		{ "launch", "; launches are launch" },
		{ "memcpy", "; copies are copy" },
		{ "status=",
		  "; failed calls are in any case; alone: --json | jq 'select((.result // 0) != 0)'" },
		{ "signal=", "; signals are not traced; leave it out" },
		{ "inject=", "; programs are not changed" },
		{ "fault=", "; programs are not changed" },
		{ "read=", "; what is copied is not shown, only how much" },
		{ "write=", "; what is copied is not shown, only how much" },
		{ "", "" },
	};
	size_t i = 0;

	while (strncmp(text, hints[i].begins, strlen(hints[i].begins)) != 0)
		i++;
	log_error("--%s: there are no \"%s\" events; choose from %s%s", row->name, text,
		  row->argument, hints[i].hint);
}

/* Of strace, it is every call that gives or takes memory; here, what the driver says of it. */
static uint32_t what_memory_means(bool strace)
{
	if (!strace) {
		log_info("-e memory: what the driver is asked about memory (cuMemGetInfo);"
			 " allocations and frees are -e alloc,free");
		return 0;
	}
	log_info("-e trace=memory: with allocations and frees, as -e alloc,free,memory");
	return 1u << MS_OP_ALLOC | 1u << MS_OP_FREE;
}

int selection_parse_events(const struct option_row *row, const char *value, void *settings)
{
	struct selection *selection = place(row, settings);
	/* As strace has it. */
	const size_t before = strncmp(value, "trace=", 6) ? 0 : 6;
	/* "!free": all but frees. */
	const bool inverted = value[before] == '!' && value[before + 1];
	char *copy = strdup(value + before + inverted), *rest = copy, *text;
	int err = copy ? 0 : -ENOMEM;
	const uint32_t others = selection->ops;
	bool strace = before;

	if (inverted)
		selection->ops = 0;

	while (!err && (text = strsep(&rest, ","))) {
		int op = find_op(text);

		if (*text == '%' && text[1]) {
			strace = true;
			op = find_op(++text);
		}
		if (op == MS_OP_MEMORY)
			selection->ops |= what_memory_means(strace);
		if (!strcmp(text, "all")) {
			selection->ops |= ALL_OPS;
		} else if (op >= 0) {
			selection->ops |= 1u << op;
		} else {
			refuse_event(row, text);
			err = -EINVAL;
		}
	}
	free(copy);
	/* By default failed calls are shown of all; of those that are left out, none is. */
	selection->failed = inverted ? (others ? selection->failed : ~0u) & ~selection->ops : 0;
	if (inverted)
		selection->ops = (others ? others : DEFAULT_OPS) & ~selection->ops;
	if (err || selection->ops)
		return err;
	log_error("--%s: \"%s\" leaves nothing to show", row->name, value);
	return -EINVAL;
}

int selection_parse_layer(const struct option_row *row, const char *value, void *settings)
{
	struct selection *selection = place(row, settings);
	uint32_t layer;

	selection->layers = 0;
	if (!strcmp(value, "auto"))
		return 0;
	if (!strcmp(value, "both"))
		selection->layers = BOTH_LAYERS;
	for (layer = 0; layer < MS_LAYERS_COUNT; layer++)
		if (!strcmp(value, probe_layer_name(layer)))
			selection->layers = 1u << layer;
	if (selection->layers)
		return 0;
	log_error("--%s: there is no layer \"%s\"; choose from %s", row->name, value,
		  row->argument);
	return -EINVAL;
}

int selection_parse_attach(const struct option_row *row, const char *value, void *settings)
{
	int which;

	if (*value && !value[strspn(value, "0123456789")]) {
		log_error("--%s: a running process is -p %s; this says where probes are put: %s",
			  row->name, value, row->argument);
		return -EINVAL;
	}
	which = option_which(row, value);

	if (which >= 0)
		place(row, settings)->in_processes = which;
	return which < 0 ? which : 0;
}

/*
 * Both, so that a call has the name that the program used and the values that the driver got. But
 * which driver call belongs to which runtime call is seen at their ends.
 */
uint32_t selection_layers(const struct selection *selection, bool entries_only)
{
	if (selection->layers)
		return selection->layers;
	return entries_only ? 1u << MS_LAYER_DRIVER : BOTH_LAYERS;
}

uint32_t selection_spared(const struct selection *selection)
{
	return selection->layers ? 0 : SPARED_OPS;
}

int selection_check_layer(const struct selection *selection, bool entries_only)
{
	if (!entries_only || selection->layers != BOTH_LAYERS)
		return EXIT_OK;
	log_error("--layer=both needs the returns of calls to join the two layers; with"
		  " --no-return, choose driver or runtime");
	return EXIT_USAGE;
}

/* Looked at before anything is loaded into the kernel, where it may have to wait for others. */
static int check_targets(const struct selection *selection)
{
	struct proc_info info;
	size_t i;

	/* If some are there, it is they that are traced. */
	for (i = 0; i < selection->pids_count; i++)
		if (proc_read(selection->pids[i], &info) != -ESRCH)
			break;
	if (selection->pids_count && i == selection->pids_count) {
		if (i == 1)
			log_error("there is no process %d", selection->pids[0]);
		else
			log_error("there is none of the processes of -p");
		return EXIT_NO_TARGET;
	}
	/* As a shell has it. */
	return selection->command && spawn_find(*selection->command) ? 127 : EXIT_OK;
}

/* `perf record -p PID -- sleep 10` */
static bool is_perf_sleep(const struct selection *selection)
{
	char *const *command = selection->command;

	return (selection->pids_count || selection->all || selection->cgroup.path) && command &&
	       !strcmp(command[0], "sleep") && command[1];
}

/* `record -p PID run.mscope`, as other programs have it. Returns the file. */
static const char *file_without_option(const struct selection *selection)
{
	char *const *command = selection->command;
	const char *ending = command ? strrchr(command[0], '.') : NULL;

	return ending && !strcmp(ending, ".mscope") && access(command[0], X_OK) ? command[0] : NULL;
}

/* "trace -p 4711 0.5" */
static bool is_time_alone(const struct selection *selection)
{
	uint64_t ns;

	return selection->command && !selection->command[1] &&
	       !duration_parse(selection->command[0], &ns);
}

/* Processes of which more is asked are those of the machine, or of a cgroup. */
static bool refuse_choice(const struct selection *selection)
{
	if (!process_selection_is_some(&selection->who))
		return false;
	if (selection->command)
		log_error(
			"--user, --container, --pod, --namespace and --comm choose among processes"
			" that run or begin by themselves; leave out %s, or that option (to run it"
			" as another user: -f -- sudo -u USER %s)",
			selection->command[0], selection->command[0]);
	else if (selection->pids_count)
		log_error("-p names the processes; leave out --user, --container, --pod,"
			  " --namespace and --comm, or -p");
	return selection->command || selection->pids_count;
}

int selection_check(const struct selection *selection)
{
	int ways = (selection->pids_count > 0) +
		   (!selection->cgroup.path &&
		    (selection->all || process_selection_is_some(&selection->who))) +
		   (selection->cgroup.path != NULL) + (selection->command != NULL);

	if (selection->api && !*selection->api)
		log_error("--api: an empty expression matches everything; leave it out");
	else if (file_without_option(selection))
		log_error("%s: a recording is read with `memscope-bpf report FILE`; the file to"
			  " record to is given with -o",
			  file_without_option(selection));
	else if (is_perf_sleep(selection))
		log_error("-d %s stops after that time; write it in place of the command `sleep`",
			  selection->command[1]);
	else if (refuse_choice(selection))
		return EXIT_USAGE;
	else if (ways == 0)
		log_error("there is nothing to trace: give -p PID, -a, --cgroup PATH, --container"
			  " ID, or -- COMMAND");
	else if (ways > 1 && is_time_alone(selection))
		log_error("-d %s stops after that time", selection->command[0]);
	else if (ways > 1)
		log_error("give one of -p PID, -a, --cgroup PATH and -- COMMAND, not several");
	else
		return check_targets(selection);
	return EXIT_USAGE;
}

static uint32_t shown_ops(const struct selection *selection)
{
	return selection->ops ? selection->ops : DEFAULT_OPS;
}

int selection_filter(const struct selection *selection, struct filter *filter)
{
	char reason[128];
	int err;

	filter->ops = shown_ops(selection);
	filter->failures = selection->ops ? selection->failed : ~0u;
	filter->min_bytes = selection->min_bytes;
	if (!selection->api)
		return EXIT_OK;
	err = filter_set_api(filter, selection->api, reason, sizeof(reason));
	if (!err)
		return EXIT_OK;
	if (err == -ENOENT)
		log_error(
			"--api: \"%s\" matches the name of no function that is traced; case counts,"
			" and a part is enough: --api Malloc",
			selection->api);
	if (err == -EINVAL)
		log_error(
			"--api: \"%s\": %s; it is a regular expression, as of grep -E: --api Malloc",
			selection->api, reason);
	return err == -ENOMEM ? EXIT_FAILED : EXIT_USAGE;
}

uint32_t selection_captured_ops(const struct selection *selection)
{
	uint32_t ops = shown_ops(selection) | LEDGER_OPS;

	if (ops >> MS_OP_LAUNCH & 1)
		ops |= 1u << MS_OP_NAME;
	return ops;
}

void selection_fini(struct selection *selection)
{
	free(selection->pids);
	selection->pids = NULL;
	cgroup_option_fini(&selection->cgroup);
}
