// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf who`: who holds memory of which device, now. Nothing is probed.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/writer.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "host/holders.h"
#include "host/nvml.h"
#include "render/who.h"

#define CALL_NS 5000000000ull
#define CLEAR "\033[H\033[2J"

struct settings {
	bool json;
	uint64_t watch_ns; /* 0: once */
	uint64_t call_ns;  /* what a call of NVML may take */
};

#define AT(member) offsetof(struct settings, member)

static const struct option_row rows[] = {
	{ 'j', "json", NULL, "Write one JSON object per line (docs/who.schema.json).", option_flag,
	  AT(json) },
	{ 'f', "format", "text|json", "text (default), or what --json writes.", option_text_or_json,
	  AT(json) },
	{ 'w', "watch", "TIME", "Again every 2, 2s or 1m30s, until Ctrl-C.", option_duration,
	  AT(watch_ns) },
	{ 0, "timeout", "TIME",
	  "Do without NVML if one of its calls takes longer than that (default 5s).",
	  option_duration, AT(call_ns) },
	{ 'q', "quiet", NULL, "No messages but warnings and errors.", option_quiet, 0 },
	{ 'v', "verbose", NULL, "Say what is going on.", option_verbose, 0 },
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

static int look(struct writer *writer, const struct settings *settings, struct holders *holders,
		struct nvml *nvml)
{
	const struct who who = { .holders = holders };
	int err = holders_read(holders, nvml, (int)(settings->call_ns / 1000000));

	if (err) {
		log_error("there is no memory");
		return err;
	}
	log_debug("NVML took %llu us", (unsigned long long)holders->nvml->ns / 1000);
	if (settings->json)
		who_append_json(&writer->text, &who);
	else
		write_text(writer, &who, settings->watch_ns);
	return writer_flush(writer);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void wait_until(uint64_t ns)
{
	const struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static int run_who(const struct settings *settings)
{
	struct holders holders = { 0 };
	struct nvml *nvml = NULL;
	struct writer writer;
	uint64_t next_ns;
	int err, code;

	if (nvml_open(&nvml))
		log_warning("NVML cannot be asked");
	writer_init_stdout(&writer);
	next_ns = clock_monotonic_ns();
	do {
		err = look(&writer, settings, &holders, nvml);
		next_ns += settings->watch_ns;
		if (!err && settings->watch_ns)
			wait_until(next_ns);
	} while (!err && settings->watch_ns);
	code = holders.devices_count ? EXIT_OK : EXIT_UNSUPPORTED;
	if (err)
		code = err == -EPIPE ? EXIT_OK : EXIT_FAILED;
	nvml_close(nvml);
	holders_fini(&holders);
	err = writer_close(&writer);
	return err && err != -EPIPE ? EXIT_FAILED : code;
}

static int who(int argc, char **argv)
{
	struct settings settings = { .call_ns = CALL_NS };
	int code, first = options_parse(&who_command, argc, argv, &settings, &code);

	if (first < 0)
		return code;
	signal(SIGPIPE, SIG_IGN);
	if (first < argc) {
		log_error("who takes no argument \"%s\"", argv[first]);
		return EXIT_USAGE;
	}
	return run_who(&settings);
}

const struct command who_command = {
	.name = "who",
	.summary = "Show who holds memory of which device now, without tracing",
	.synopsis = "[OPTIONS]",
	.description =
		"Asks NVML, the driver's management library, and looks through /proc for open"
		" files of the driver's. Nothing is probed, and no privilege is needed, but as root"
		" more is seen: the files of other users' processes.\n"
		"\n"
		"A process that NVML does not list can hold memory all the same, and one that it"
		" lists can have ended. Both are shown, and what the output cannot explain it says,"
		" with the possible reasons and what to type next. A call of NVML that does not"
		" return does not stop the program: what came before is shown.",
	.examples = "# now\n"
		    "memscope-bpf who\n"
		    "# every two seconds, with what only root may see\n"
		    "sudo memscope-bpf who -w 2\n"
		    "# how much is free, for a script\n"
		    "memscope-bpf who --json | jq '.devices[].free_bytes'\n",
	.options = rows,
	.run = who,
};
