// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf check`: what works on this machine and for a process, and what would be invisible.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/log.h"
#include "base/string.h"
#include "capture/attach/features.h"
#include "capture/attach/programs.h"
#include "commands/command.h"
#include "commands/inspection.h"
#include "commands/options.h"
#include "commands/requirements.h"
#include "host/privilege.h"
#include "host/proc.h"
#include "render/check.h"
#include "base/writer.h"

struct settings {
	uint64_t pid; /* 0: none */
	bool json, verbose;
	struct features features;
};

static int take_pid(void *context, uint32_t pid)
{
	struct settings *settings = context;

	if (settings->pid) {
		log_error("check looks at one process at a time: check -p %u", pid);
		return -EINVAL;
	}
	settings->pid = pid;
	return 0;
}

static int parse_pid(const struct option_row *row, const char *value, void *context)
{
	return option_pids(row, value, take_pid, context);
}

static int parse_verbose(const struct option_row *row, const char *value, void *context)
{
	((struct settings *)context)->verbose = true;
	return option_verbose(row, value, context);
}

#define AT(member) offsetof(struct settings, member)

static const struct option_row rows[] = {
	{ 'p', "pid", "PID", "Look at this process too.", parse_pid, 0 },
	{ 'j', "json", NULL, "Write one JSON object (docs/check.schema.json).", option_flag,
	  AT(json) },
	{ 'f', "format", "text|json", "text (default), or what --json writes.", option_text_or_json,
	  AT(json) },
	{ 0, "without", "FEATURE[,FEATURE...]", "Act as if the kernel lacked these features.",
	  option_without, AT(features) },
	OPTION_QUIET_ROW,
	{ 'v', "verbose", NULL,
	  "Print more messages and, with -p, list each function: where its probe goes and what that"
	  " costs.",
	  parse_verbose, 0 },
	{ 0 },
};

/* ---- the machine ----------------------------------------------------------------------------- */

static void check_privileges(struct check *check, struct check_item *items)
{
	size_t i;

	for (i = 0; i < privileges_count; i++)
		items[i] = (struct check_item){
			.name = privileges[i].name,
			.what = privileges[i].what,
			.without = privileges[i].without,
			.required = privileges[i].required,
			.err = privilege_held(&privileges[i]) ? 0 : -EPERM,
		};
	check->privileges = items;
	check->privileges_count = privileges_count;
}

static bool is_privileged(const struct check *check)
{
	size_t i;

	for (i = 0; i < check->privileges_count; i++)
		if (check->privileges[i].err && check->privileges[i].required)
			return false;
	return true;
}

static void check_features(struct check *check, struct check_item *items, struct features *features)
{
	int i;

	for (i = 0; i < FEATURES_COUNT; i++) {
		bool masked = features->masked >> i & 1;
		int err = feature_test(features, i);

		items[i] = (struct check_item){
			.name = feature_infos[i].name,
			.what = feature_infos[i].what,
			.without = feature_infos[i].without,
			.required = feature_infos[i].required,
			.err = err,
			/* libbpf's probes cannot tell "not there" from "not allowed". */
			.untried = err && !masked && i != FEATURE_PID_NAMESPACE &&
				   !is_privileged(check),
		};
	}
	check->features = items;
	check->features_count = FEATURES_COUNT;
}

/* That all is there that programs need does not mean that the verifier understands them. */
static void check_programs(struct check *check, enum strategy strategy)
{
	int err = programs_try(strategy);

	check->features[check->features_count++] = (struct check_item){
		.name = "programs",
		.what = "the BPF programs of memscope-bpf, which the kernel verifies",
		.without = "nothing can be traced; report this as a bug, with the output of -v",
		.required = true,
		.err = err,
		.untried = err && !is_privileged(check),
	};
}

static bool is_able(const struct check *check)
{
	bool able = check->strategy && is_privileged(check);
	size_t i;

	for (i = 0; i < check->features_count; i++)
		able &= !check->features[i].required || !check->features[i].err;
	return able;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int report(struct check *check, const struct settings *settings)
{
	struct writer writer;

	writer_init_stdout(&writer);
	if (settings->json)
		check_append_json(&writer.text, check);
	else
		check_append_text(&writer.text, check, settings->verbose);
	return writer_close(&writer);
}

static int exit_code(const struct check *check)
{
	if (!is_privileged(check))
		return EXIT_PERMISSION;
	return check->able ? EXIT_OK : EXIT_UNSUPPORTED;
}

static int run_check(struct settings *settings)
{
	struct check_item privilege_items[8], feature_items[FEATURES_COUNT + 1];
	struct inspection inspection = { 0 };
	struct check check = { 0 };
	struct utsname kernel;
	int strategy, report_err, err = 0;
	struct proc_info info;

	/* Trying features can take long on a busy machine. */
	if (settings->pid && proc_read(settings->pid, &info) == -ESRCH) {
		log_error("there is no process %llu", (unsigned long long)settings->pid);
		return EXIT_NO_TARGET;
	}
	uname(&kernel);
	check.kernel = kernel.release;
	check_privileges(&check, privilege_items);
	check_features(&check, feature_items, &settings->features);
	strategy = strategy_choose(&settings->features, false);
	if (strategy >= 0) {
		check.strategy = strategy_name(strategy);
		check_programs(&check, strategy);
	}
	check.able = is_able(&check);
	if (settings->pid) {
		err = inspection_run(&inspection, settings->pid, &settings->features);
		check.process = &inspection.process;
	}
	/* What can be said of the machine is said in any case: it may be the reason. */
	if (err) {
		check.process = NULL;
		check.failed_pid = settings->pid;
	}
	report_err = report(&check, settings);
	if (inspection.process.unread)
		err = -EACCES;
	inspection_fini(&inspection);
	if (err)
		return exit_code_of(err);
	return report_err && report_err != -EPIPE ? EXIT_FAILED : exit_code(&check);
}

static int check(int argc, char **argv)
{
	struct settings settings = { 0 };
	int code, first = options_parse(&check_command, argc, argv, &settings, &code);

	if (first < 0)
		return code;
	signal(SIGPIPE, SIG_IGN); /* who reads a part of it wants the verdict too */
	if (first < argc) {
		log_error("check takes no argument \"%s\"; for a process, write check -p %s; for a"
			  " recording, report FILE, or verify FILE",
			  argv[first],
			  argv[first][strspn(argv[first], "0123456789")] ? "PID" : argv[first]);
		return EXIT_USAGE;
	}
	return run_check(&settings);
}

const struct command check_command = {
	.name = "check",
	.summary = "Show what works here and for a process, and what would be invisible",
	.synopsis = "[OPTIONS]",
	.description =
		"Tries each kernel feature that tracing uses, and says what is lost without it."
		" With -p, it also lists the CUDA libraries of the process, which of the traced"
		" functions each library has, and what tracing the process would not see. It"
		" attaches nothing to the process.\n"
		"\n"
		"With -v, it says for each function where the probe would go and how much longer a"
		" call would then take, in REF: the cost of a trap with an empty program. A probe"
		" costs that much on an instruction that the kernel emulates; on one that the"
		" kernel single-steps, it costs two to three times as much, in a nested virtual"
		" machine 18 times. So the probe goes to the first emulated instruction that"
		" provably stands for the function's entry (\"+4 push\" is four bytes after it), or"
		" stays at the first byte. Functions whose code the process has changed, as inline"
		" hooks do, are not probed.",
	.examples = "# the machine\n"
		    "sudo memscope-bpf check\n"
		    "# and a process\n"
		    "sudo memscope-bpf check -p 4711\n",
	.options = rows,
	.run = check,
};
