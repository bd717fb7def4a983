// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf agent`: always on; metrics, questions and the flight recorder.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "commands/agent_run.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/requirements.h"
#include "store/triggers.h"

#define MIB (1ull << 20)
#define HOUR_NS 3600000000000ull
#define DEFAULT_LISTEN "127.0.0.1:9750"
#define DEFAULT_STATE "/var/lib/memscope-bpf"
#define DEFAULT_BUFFER (8 * MIB)
#define DEFAULT_RING (1024 * MIB)
#define MIN_RING (8 * MIB)
#define SEGMENTS_OF_RING 16 /* that much of the oldest goes at once */
#define DEFAULT_BUNDLES 12
#define DEFAULT_NVML 10000000000 /* ns */
#define DEFAULT_SERIES 5000

static int parse_address(const struct option_row *row, const char *value, void *context)
{
	const char **text = (const char **)((char *)context + row->offset);
	struct listener_address address;

	*text = strcmp(value, "off") != 0 ? value : NULL;
	if (!*text || !listener_parse(&address, value))
		return 0;
	log_error("--%s: \"%s\" is not an address and port (127.0.0.1:9750, [::1]:9750),"
		  " unix:PATH or off",
		  row->name, value);
	return -EINVAL;
}

static int parse_socket(const struct option_row *row, const char *value, void *context)
{
	const char **text = (const char **)((char *)context + row->offset);

	*text = strcmp(value, "off") != 0 ? value : NULL;
	if (!*text || *value == '/')
		return 0;
	log_error("--%s: \"%s\" is not a path from the root, or off", row->name, value);
	return -EINVAL;
}

static int parse_ring(const struct option_row *row, const char *value, void *settings)
{
	const uint64_t *bytes = (const uint64_t *)((char *)settings + row->offset);
	int err = option_size(row, value, settings);

	if (err || *bytes >= MIN_RING)
		return err;
	log_error("--%s: %s is less than 8M", row->name, value);
	return -ERANGE;
}

static int parse_series(const struct option_row *row, const char *value, void *settings)
{
	return option_number(row, value, settings, 100, 1000000);
}

#define AT(member) offsetof(struct agent_settings, member)
#define OF_CAPTURE(member) offsetof(struct agent_settings, recording.capture.member)

static const struct option_row rows[] = {
	{ 0, "listen", "ADDR:PORT|unix:PATH|off",
	  "Answer over HTTP there (default " DEFAULT_LISTEN "). Whoever reaches an address sees all"
	  " processes; of a Unix socket, see --socket.",
	  parse_address, AT(listen) },
	{ 0, "socket", "PATH|off",
	  "Answer over HTTP on this Unix socket, too (default off): root and members of the group"
	  " memscope see all processes, other users their own.",
	  parse_socket, AT(socket) },
	{ 0, "state-dir", "DIR",
	  "Where the flight recorder has its ring, and bundles go (default " DEFAULT_STATE ").",
	  option_file, AT(state_directory) },
	{ 0, "ring", "SIZE",
	  "Keep the newest SIZE of what is recorded (default 1G). Each bundle takes as much again;"
	  " eight are kept.",
	  parse_ring, AT(recording.ring_bytes) },
	{ 0, "ring-time", "TIME", "Keep no more than that time, by the hour (default 24h).",
	  option_duration, AT(ring_ns) },
	{ 0, "series", "N",
	  "At most N series of metrics (default 5000); what is beyond has one for each metric.",
	  parse_series, AT(most_series) },
	{ 0, "buffer", "SIZE",
	  "Size of each of the two ring buffers (default 8M). Events that find no room are lost,"
	  " and counted.",
	  option_buffer, OF_CAPTURE(buffer_bytes) },
	{ 0, "without", "FEATURE[,FEATURE...]",
	  "Do as if the kernel lacked these (`memscope-bpf check` lists them).", option_without,
	  OF_CAPTURE(features) },
	{ 'q', "quiet", NULL, "No messages but warnings and errors.", option_quiet, 0 },
	{ 'v', "verbose", NULL, "Say what is going on.", option_verbose, 0 },
	{ 0 },
};

static int complete(struct agent_settings *settings)
{
	static char output[4096], socket[256];
	struct record_run_settings *recording = &settings->recording;

	recording->segment_bytes = recording->ring_bytes / SEGMENTS_OF_RING;
	recording->triggers = 1u << TRIGGER_OOM;
	recording->capture.selection.ops = (1u << MS_OPS_COUNT) - 1;
	if (settings->listen)
		listener_parse(&settings->listen_address, settings->listen);
	if (settings->socket) {
		snprintf(socket, sizeof(socket), "unix:%s", settings->socket);
		if (listener_parse(&settings->socket_address, socket)) {
			log_error("--socket: the path is too long");
			return EXIT_USAGE;
		}
	}
	if (snprintf(output, sizeof(output), "%s/%%h-%%t.mscope", settings->state_directory) >=
		    (int)sizeof(output) ||
	    strchr(settings->state_directory, '%')) {
		log_error("--state-dir: the path is too long, or has a %% in it");
		return EXIT_USAGE;
	}
	recording->output = output;
	return EXIT_OK;
}

static void do_nothing(int number)
{
	(void)number;
}

/* Until the capture reads it. */
static void hold_hangup(void)
{
	sigset_t signals;

	signal(SIGHUP, do_nothing);
	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

static int agent(int argc, char **argv)
{
	struct agent_settings settings = {
		.recording = { .capture = CAPTURE_OPTIONS_DEFAULTS,
			       .ring_bytes = DEFAULT_RING,
			       .bundles_an_hour = DEFAULT_BUNDLES,
			       .nvml_ns = DEFAULT_NVML,
			       .signal = SIGHUP },
		.listen = DEFAULT_LISTEN,
		.state_directory = DEFAULT_STATE,
		.ring_ns = 24 * HOUR_NS,
		.most_series = DEFAULT_SERIES,
	};
	struct capture_options *capture = &settings.recording.capture;
	int first, code = EXIT_OK;

	capture->selection.all = true;
	capture->buffer_bytes = DEFAULT_BUFFER;
	capture->fewer = "a larger --buffer";
	first = options_parse(&agent_command, argc, argv, &settings, &code);
	if (first < 0)
		return code;
	if (first < argc) {
		log_error("agent takes no argument \"%s\"", argv[first]);
		return EXIT_USAGE;
	}
	hold_hangup();
	code = complete(&settings);
	if (code == EXIT_OK)
		code = require_tracing(&capture->features);
	if (code == EXIT_OK)
		code = agent_run(&settings);
	selection_fini(&capture->selection);
	return code;
}

const struct command agent_command = {
	.name = "agent",
	.summary = "Trace all processes that use CUDA, always, and answer questions about them",
	.synopsis = "[OPTIONS]",
	.description =
		"Runs in the foreground until SIGTERM or Ctrl-C: traces every process that uses CUDA,"
		" those that run and those that start later, keeps the newest of what happens in a"
		" ring of files, writes a bundle of it when memory runs out, and answers over HTTP:"
		" /metrics for Prometheus (its text format or OpenMetrics, as asked for), /api/v1/who"
		" and /api/v1/processes/PID as JSON, /debug/pprof/gpu_heap, /health, /ready, and a"
		" page at /. No request changes anything.\n"
		"\n"
		"Clients are served by a process of its own without any privilege; each answer is"
		" made by a short-lived copy, so that the capture never waits for a client. GNU"
		" libmicrohttpd is needed when the agent runs, unless --listen is off and there is no"
		" --socket.\n"
		"\n"
		"The ring stays when the agent ends or is killed, and is taken over by the next one;"
		" its files are recordings (memscope-bpf-report(1)).",
	.examples = "# as it is\n"
		    "sudo memscope-bpf agent\n"
		    "# what it says\n"
		    "curl -s http://127.0.0.1:9750/metrics | grep live_bytes\n"
		    "curl -s http://127.0.0.1:9750/api/v1/who | jq '.processes[].device_bytes'\n"
		    "# what happened in the last hours\n"
		    "sudo memscope-bpf report /var/lib/memscope-bpf/ring/*.mscope\n",
	.options = rows,
	.run = agent,
};
