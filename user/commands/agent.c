// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf agent`: always on; metrics, questions and the flight recorder.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/web_config.h"
#include "agent/web_tls.h"
#include "base/log.h"
#include "base/writer.h"
#include "capture/attach/programs.h"
#include "commands/agent_push.h"
#include "commands/agent_run.h"
#include "commands/command.h"
#include "commands/config.h"
#include "commands/options.h"
#include "commands/requirements.h"
#include "store/triggers.h"

#define MIN_RING (8ull << 20)
#define MIN_HISTORY (16ull << 20)
#define MIN_HISTORY_NS (3600 * 1000000000ull)
#define SEGMENTS_OF_RING 16 /* that much of the oldest goes at once */
#define BUNDLES_AN_HOUR 12
#define DEFAULT_CONFIG "/etc/memscope-bpf/agent.conf"

/* What can be set by a file and the environment. */
static const struct config_default defaults[] = {
	{ "listen", "127.0.0.1:9750" },
	{ "socket", "off" },
	{ "web-config", "none" },
	{ "state-dir", "/var/lib/memscope-bpf" },
	{ "ring", "1G" },
	{ "ring-time", "24h" },
	{ "bundle-on", "oom" },
	{ "history", "512M" },
	{ "history-time", "400d" },
	{ "series", "5000" },
	{ "budget", "0.5%" },
	{ "stacks", "alloc" },
	{ "stack-memory", "64M" },
	{ "stack-cache", "/var/cache/memscope-bpf" },
	{ "allow", "all" },
	{ "deny", "none" },
	{ "container-map", "none" },
	{ "pod-logs", POD_LOGS_DEFAULT },
	{ "otlp", "off" },
	{ "otlp-interval", "30s" },
	{ "otlp-client", "none" },
	{ "remote-write", "off" },
	{ "remote-write-interval", "30s" },
	{ "remote-write-client", "none" },
	{ "buffer", "8M" },
	{ "quiet", "no" },
	{ "verbose", "no" },
	{ 0 },
};

/* Those that SIGHUP changes. */
static const char *const changeable[] = { "ring",  "ring-time", "bundle-on", "budget",
					  "allow", "deny",      "quiet",     "verbose" };

static int parse_address(const struct option_row *row, const char *value, void *context)
{
	const char **text = (const char **)((char *)context + row->offset);
	struct listener_address address;

	*text = strcmp(value, "off") != 0 ? value : NULL;
	if (!*text || !listener_parse(&address, value))
		return 0;
	log_error("--%s: \"%s\" is not an address and port (127.0.0.1:9750, [::1]:9750;"
		  " ports are 1 to 65535), unix:/PATH or off",
		  row->name, value);
	return -EINVAL;
}

static int parse_socket(const struct option_row *row, const char *value, void *settings)
{
	return option_absolute_path(row, value, "off", settings);
}

/* The process for clients reads it again, each time that it starts. */
static int parse_web_config(const struct option_row *row, const char *value, void *settings)
{
	int err = option_absolute_path(row, value, "none", settings);
	struct web_config config;

	if (err || *value != '/')
		return err;
	err = web_config_read(&config, value);
	if (!err)
		err = web_tls_check(&config, value);
	web_config_fini(&config);
	return err;
}

/* It may be absent: the agent makes it. If it cannot be looked at, opening it fails later. */
static int parse_state_directory(const struct option_row *row, const char *value, void *settings)
{
	struct stat status;

	if (*value != '/') {
		log_error("--%s: \"%s\" is not an absolute path", row->name, value);
		return -EINVAL;
	}
	if (stat(value, &status) ? errno == ENOTDIR : !S_ISDIR(status.st_mode)) {
		log_error("--%s: %s is not a directory, and cannot become one", row->name, value);
		return -ENOTDIR;
	}
	return option_text(row, value, settings);
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

static int parse_history(const struct option_row *row, const char *value, void *settings)
{
	uint64_t *bytes = (uint64_t *)((char *)settings + row->offset);
	int err;

	*bytes = 0;
	if (!strcmp(value, "off"))
		return 0;
	err = option_size(row, value, settings);
	if (err || *bytes >= MIN_HISTORY)
		return err;
	log_error("--%s: %s is less than 16M", row->name, value);
	return -ERANGE;
}

static int parse_history_time(const struct option_row *row, const char *value, void *settings)
{
	const uint64_t *ns = (const uint64_t *)((char *)settings + row->offset);
	int err = option_duration(row, value, settings);

	if (err || *ns >= MIN_HISTORY_NS)
		return err;
	log_error("--%s: %s is less than 1h", row->name, value);
	return -ERANGE;
}

static int parse_bundle_on(const struct option_row *row, const char *value, void *settings)
{
	struct thresholds_options *options =
		(struct thresholds_options *)((char *)settings + row->offset);
	const char *wrong;

	*options = (struct thresholds_options){ 0 };
	wrong = strcmp(value, "oom") != 0 ? thresholds_parse(options, value) : NULL;
	if (!wrong)
		return 0;
	log_error("--%s: \"%s\": %s", row->name, value, wrong);
	return -EINVAL;
}

static int parse_stacks(const struct option_row *row, const char *value, void *settings)
{
	const int which = option_which(row, value);

	if (which < 0)
		return which;
	*(uint32_t *)((char *)settings + row->offset) = which ? 0 : 1u << MS_OP_ALLOC;
	return 0;
}

static int parse_series(const struct option_row *row, const char *value, void *settings)
{
	return option_number(row, value, settings, 100, 1000000);
}

static void warn_of_unknown_users(const struct option_row *row, const struct policy_rules *rules)
{
	struct string users = { 0 };
	const size_t count = policy_append_unknown_users(rules, &users);

	if (count)
		log_warning(
			"--%s: this machine has no user %.*s now: the rule%s about no process until"
			" it has",
			row->name, (int)users.length, users.length ? users.bytes : "",
			count == 1 ? " is" : "s are");
	string_fini(&users);
}

/* "all" or "none": there are none. */
static int parse_rules(const struct option_row *row, const char *value, void *settings)
{
	struct policy_rules *rules = (struct policy_rules *)((char *)settings + row->offset);
	const char *wrong;

	rules->count = 0;
	if (!strcmp(value, *row->name == 'a' ? "all" : "none"))
		return 0;
	wrong = policy_parse(rules, value);
	if (!wrong) {
		warn_of_unknown_users(row, rules);
		return 0;
	}
	log_error("--%s: \"%s\": %s", row->name, value, wrong);
	return -EINVAL;
}

#define PPM_OF_PERCENT 10000ull
#define BUDGET_MOST (100 * PPM_OF_PERCENT)

/* A number with at most four digits behind the point, in ten thousandths. Returns 0 or -EINVAL. */
static int parse_decimal(const char *text, size_t length, uint64_t *value)
{
	uint64_t unit = PPM_OF_PERCENT;
	bool behind = false;
	size_t i;

	*value = 0;
	for (i = 0; i < length; i++) {
		if (text[i] == '.' && !behind && i && i + 1 < length) {
			behind = true;
			continue;
		}
		if (text[i] < '0' || text[i] > '9' || *value > BUDGET_MOST || unit == 1)
			return -EINVAL;
		if (behind)
			unit /= 10;
		*value = behind ? *value + unit * (uint64_t)(text[i] - '0') :
				  *value * 10 + unit * (uint64_t)(text[i] - '0');
	}
	return length ? 0 : -EINVAL;
}

static int parse_budget(const struct option_row *row, const char *value, void *settings)
{
	uint64_t *ppm = (uint64_t *)((char *)settings + row->offset);
	const size_t length = strlen(value);

	*ppm = 0;
	if (!strcmp(value, "off"))
		return 0;
	if (length && value[length - 1] == '%' && !parse_decimal(value, length - 1, ppm) && *ppm &&
	    *ppm <= BUDGET_MOST)
		return 0;
	log_error("--%s: \"%s\" is not a percentage from 0.0001%% to 100%%, or off", row->name,
		  value);
	return -EINVAL;
}

#define AT(member) offsetof(struct agent_settings, member)

static const struct option_row rows[] = {
	{ 0, "config", "FILE",
	  "Read this file (default " DEFAULT_CONFIG ", if it exists): lines \"name = value\", with"
	  " the names of these options. A flag takes precedence over an environment variable"
	  " (MEMSCOPE_RING=1G), and a variable over the file.",
	  option_file, AT(config_path) },
	{ 0, "check-config", NULL, "Only check the configuration.", option_flag, AT(check_config) },
	{ 0, "lenient", NULL,
	  "Only warn of names in the file, or of variables, that are no settings, instead of refusing"
	  " them: for one file for agents of several versions.",
	  option_flag, AT(lenient) },
	{ 0, "show-config", NULL, "Only print all settings, and where each comes from.",
	  option_flag, AT(show_config) },
	{ 0, "listen", "ADDR:PORT|unix:PATH|off",
	  "Answer HTTP requests at this address (default 127.0.0.1:9750). Every client that reaches"
	  " it sees all processes. For Unix sockets, see --socket.",
	  parse_address, AT(listen) },
	{ 0, "socket", "PATH|off",
	  "Also answer HTTP requests on this Unix socket (default off). Root and members of the group"
	  " memscope see all processes, other users only their own.",
	  parse_socket, AT(socket) },
	{ 0, "web-config", "FILE|none",
	  "TLS, certificates of clients and passwords for the address of --listen (default none): a"
	  " web configuration as Prometheus and its exporters have it (tls_server_config,"
	  " basic_auth_users).",
	  parse_web_config, AT(web_config) },
	{ 0, "state-dir", "DIR",
	  "Directory for the flight recorder's ring, for bundles, the history and what is yet to be"
	  " pushed (default /var/lib/memscope-bpf).",
	  parse_state_directory, AT(state_directory) },
	{ 0, "ring", "SIZE",
	  "Keep the newest SIZE of the recording (default 1G). Each bundle takes as much again; eight"
	  " are kept.",
	  parse_ring, AT(recording.ring_bytes) },
	{ 0, "ring-time", "TIME",
	  "Keep at most the events of the last TIME, in steps of an hour (default 24h).",
	  option_duration, AT(ring_ns) },
	{ 0, "bundle-on", "RULES|oom",
	  "Write a bundle also when an amount of memory is reached (default oom: only when memory runs"
	  " out, and on SIGUSR1). RULES are some of used=PERCENT% and free=SIZE (of a device, by"
	  " NVML), process=SIZE, growth=SIZE (of a process, within ten minutes) and unexplained=SIZE"
	  " (of a process, by NVML), with commas between them.",
	  parse_bundle_on, AT(bundle_on) },
	{ 0, "history", "SIZE|off",
	  "Keep a database of at most SIZE about who used how much (default 512M), for"
	  " memscope-bpf-history(1).",
	  parse_history, AT(history_bytes) },
	{ 0, "history-time", "TIME", "Let it go back at most TIME (default 400d).",
	  parse_history_time, AT(history_ns) },
	{ 0, "series", "N",
	  "Make at most N series of metrics (default 5000). Further values of a metric share one"
	  " series.",
	  parse_series, AT(most_series) },
	{ 0, "budget", "PERCENT|off",
	  "Let tracing cost each process at most this share of a CPU, over ten seconds (default 0.5%)."
	  " If it would cost more, copies, memsets, launches and synchronisation are traced without"
	  " their results, and then for parts of the time only. Allocations and frees are always"
	  " traced.",
	  parse_budget, AT(budget_ppm) },
	{ 0, "stacks", "alloc|off",
	  "Record the call stack of each allocation (default alloc), as long as that keeps within the"
	  " budget of its process.",
	  parse_stacks, AT(recording.capture.stack_ops) },
	{ 0, "stack-memory", "SIZE",
	  "Kernel memory for the tables by which call stacks are walked (default 64M). Stacks end in"
	  " files whose table does not fit.",
	  option_size, AT(recording.capture.table_bytes) },
	{ 0, "stack-cache", "DIRECTORY|off",
	  "Keep the tables of large files there (default /var/cache/memscope-bpf), as record does.",
	  option_text, AT(recording.capture.table_cache) },
	{ 0, "allow", "RULES|all",
	  "Trace only processes that one of these rules is about (default all). RULES is a list of"
	  " KEY=PATTERN, with commas between them; KEY is comm, user (a name or number), cgroup,"
	  " container or namespace, and in a pattern, * and ? stand for any characters.",
	  parse_rules, AT(policy.allow) },
	{ 0, "deny", "RULES|none",
	  "Do not trace processes that one of these rules is about, even if --allow has them"
	  " (default none).",
	  parse_rules, AT(policy.deny) },
	{ 0, "otlp", "URL|unix:PATH|off",
	  "Push the metrics to an OpenTelemetry collector, by OTLP over HTTP (default off):"
	  " http://127.0.0.1:4318 or https://HOST. Without a path, it is /v1/metrics. This needs"
	  " libcurl.",
	  agent_push_parse_url, AT(pushes[PUSH_OTLP].url) },
	{ 0, "otlp-interval", "TIME", "Push them every TIME, from 1s to 1h (default 30s).",
	  agent_push_parse_interval, AT(pushes[PUSH_OTLP].interval_ns) },
	{ 0, "otlp-client", "FILE|none",
	  "Headers, certificate and authorities for that (default none): lines \"header = NAME:"
	  " VALUE\", \"ca-file = FILE\", \"cert-file = FILE\" and \"key-file = FILE\".",
	  agent_push_parse_client, AT(pushes[PUSH_OTLP].client_path) },
	{ 0, "remote-write", "URL|unix:PATH|off",
	  "Push the metrics by Prometheus' remote write 1.0 (default off): http://127.0.0.1:9090 or"
	  " https://HOST. Without a path, it is /api/v1/write. This needs libcurl.",
	  agent_push_parse_url, AT(pushes[PUSH_REMOTE_WRITE].url) },
	{ 0, "remote-write-interval", "TIME", "Push them every TIME, from 1s to 1h (default 30s).",
	  agent_push_parse_interval, AT(pushes[PUSH_REMOTE_WRITE].interval_ns) },
	{ 0, "remote-write-client", "FILE|none", "As --otlp-client, for --remote-write.",
	  agent_push_parse_client, AT(pushes[PUSH_REMOTE_WRITE].client_path) },
	CONTAINER_OPTION_ROWS(AT(recording.capture.names)),
	CAPTURE_OPTIONS_BUFFER_ROW(AT(recording.capture), "8M"),
	CAPTURE_OPTIONS_WITHOUT_ROW(AT(recording.capture)),
	OPTION_QUIET_ROW,
	OPTION_VERBOSE_ROW,
	{ 0 },
};

/* A service manager may create it when it starts the agent: no reason to refuse. */
static void check_directory(const struct listener_address *address, const char *option,
			    const char *text)
{
	if (listener_lacks_directory(address))
		log_warning("--%s %s: its directory does not exist: the agent does not start"
			    " until that is created (RuntimeDirectory= of systemd does that);"
			    " or choose another path",
			    option, text);
}

static int complete(struct agent_settings *settings)
{
	static char output[4096], socket[256];
	struct record_run_settings *recording = &settings->recording;

	recording->segment_bytes = recording->ring_bytes / SEGMENTS_OF_RING;
	recording->signal = SIGHUP;
	recording->launches = recording->copies = RECORDING_SUMMARY;
	recording->nvml_ns = CAPTURE_NVML_NS;
	recording->bundles_an_hour = BUNDLES_AN_HOUR;
	recording->triggers = 1u << TRIGGER_OOM | 1u << TRIGGER_SIGNAL | 1u << TRIGGER_LIMIT;
	recording->capture.selection.ops = (1u << MS_OPS_COUNT) - 1;
	if (settings->listen)
		listener_parse(&settings->listen_address, settings->listen);
	if (settings->listen && settings->check_config)
		check_directory(&settings->listen_address, "listen", settings->listen);
	if (settings->web_config && (!settings->listen || settings->listen_address.is_unix)) {
		log_error("--web-config: it is for an address and port of --listen%s",
			  settings->listen ? ": on a Unix socket, the kernel says who asks" :
					     ", which is off");
		return EXIT_USAGE;
	}
	if (settings->socket) {
		snprintf(socket, sizeof(socket), "unix:%s", settings->socket);
		if (listener_parse(&settings->socket_address, socket)) {
			log_error("--socket: the path is too long");
			return EXIT_USAGE;
		}
		if (settings->check_config)
			check_directory(&settings->socket_address, "socket", settings->socket);
	}
	if (snprintf(output, sizeof(output), "%s/%%h-%%t.mscope", settings->state_directory) >=
		    (int)sizeof(output) ||
	    strchr(settings->state_directory, '%')) {
		log_error("--state-dir: the path is too long, or contains a %%");
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
	signal(SIGUSR1, do_nothing);
	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* ---- the configuration ----------------------------------------------------------------------- */

/* For when it is read again: `last` is what has been read since then, if its count is not 0. */
static struct {
	int argc;
	char **argv;
	struct config config, last;
} as_started;

static const struct agent_settings unset = {
	.recording = { .capture = { .buffer_bytes = 0,
				    .max_loss = UINT64_MAX,
				    .stack_depth = MS_STACK_MOST,
				    .stack_kinds = MS_FRAME_KINDS_ALL,
				    .selection.all = true,
				    .fewer = "more CPU for the agent" } },
};

/* Returns EXIT_OK, or an exit code, logged; `*first` is the first operand's place, or -1. */
static int load(struct config *config, struct agent_settings *settings, int *first)
{
	const char *path, *variable = getenv("MEMSCOPE_CONFIG");
	int code = EXIT_OK;

	*settings = unset;
	*first = -1;
	if (config_begin(config, &agent_command, defaults))
		return EXIT_FAILED;
	*first = config_take_flags(config, as_started.argc, as_started.argv, &code);
	if (*first < 0)
		return code;
	if (*first < as_started.argc) {
		log_error("agent takes no argument \"%s\": it runs until Ctrl-C or SIGTERM; as a"
			  " service, systemctl start, status and stop memscope-bpf, or ask"
			  " http://127.0.0.1:9750/ready",
			  as_started.argv[*first]);
		return EXIT_USAGE;
	}
	config->lenient = config_flag(config, "lenient");
	path = config_flag(config, "config");
	if (!path)
		path = variable && *variable ? variable : NULL;
	if (config_take_file(config, path ? path : DEFAULT_CONFIG, path))
		return EXIT_USAGE;
	if (config_take_environment(config))
		return EXIT_USAGE;
	return config_apply(config, settings) ? EXIT_USAGE : complete(settings);
}

static int show(const struct config *config)
{
	struct writer writer;

	writer_init_stdout(&writer);
	config_append(&writer.text, config);
	return writer_close(&writer) ? EXIT_FAILED : EXIT_OK;
}

static bool can_change(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(changeable) / sizeof(*changeable); i++)
		if (!strcmp(name, changeable[i]))
			return true;
	return false;
}

/* Settings that need a restart stay as they are, with a warning. */
static int reload(struct agent_settings *settings)
{
	const enum log_level level = log_get_level();
	struct config config = { 0 }, *last = &as_started.last;
	int first;

	log_set_level(LOG_INFO);
	if (load(&config, settings, &first) != EXIT_OK) {
		log_set_level(level);
		config_fini(&config);
		return -EINVAL;
	}
	settings->changes = config_say_changes(&config, last->count ? last : &as_started.config,
					       &as_started.config, can_change);
	config_fini(last);
	*last = config;
	return 0;
}

static void choose_stacks(struct agent_settings *settings)
{
	uint32_t *stack_ops = &settings->recording.capture.stack_ops;

	if (!*stack_ops || programs_can_walk_stacks())
		return;
	log_warning("this kernel cannot walk call stacks (memscope-bpf check says why): none are"
		    " recorded. \"stacks = off\" ends this warning");
	*stack_ops = 0;
}

static int agent(int argc, char **argv)
{
	static struct agent_settings settings;
	int first, code;

	as_started.argc = argc;
	as_started.argv = argv;
	code = load(&as_started.config, &settings, &first);
	if (first < 0 || code != EXIT_OK || settings.check_config) {
		config_fini(&as_started.config);
		return code;
	}
	if (settings.show_config) {
		code = show(&as_started.config);
	} else {
		settings.reload = reload;
		hold_hangup();
		code = require_tracing(&settings.recording.capture.features, "");
		if (code == EXIT_OK) {
			choose_stacks(&settings);
			code = agent_run(&settings);
		}
	}
	capture_options_fini(&settings.recording.capture);
	config_fini(&as_started.last);
	config_fini(&as_started.config);
	return code;
}

const struct command agent_command = {
	.name = "agent",
	.summary = "Trace all processes that use CUDA, always, and serve metrics",
	.synopsis = "[OPTIONS]",
	.description =
		"Runs in the foreground until SIGTERM or Ctrl-C. It traces every process that uses"
		" CUDA: those that already run, and those that start later. It keeps the newest"
		" events in a ring of files, and writes a bundle of them when memory runs out. It"
		" answers over HTTP: /metrics for Prometheus (in its text format or OpenMetrics, as"
		" the request prefers), /api/v1/who and /api/v1/processes/PID as JSON,"
		" /debug/pprof/gpu_heap, /health, /ready, and a page at /. No request changes"
		" anything.\n"
		"\n"
		"A process of its own without any privilege serves the clients, and a short-lived"
		" copy of the agent makes each answer, so that the capture never waits for a client."
		" The agent needs GNU libmicrohttpd, unless --listen is off and there is no"
		" --socket.\n"
		"\n"
		"The ring stays when the agent ends or is killed, and the next agent takes it over."
		" Its files are recordings (memscope-bpf-report(1)).",
	.examples = "# with the defaults\n"
		    "sudo memscope-bpf agent\n"
		    "# metrics, and the memory of each process\n"
		    "curl -s http://127.0.0.1:9750/metrics | grep live_bytes\n"
		    "curl -s http://127.0.0.1:9750/api/v1/who | jq '.processes[].device_bytes'\n"
		    "# what happened in the last hours\n"
		    "sudo memscope-bpf report /var/lib/memscope-bpf/ring\n",
	.options = rows,
	.run = agent,
};
