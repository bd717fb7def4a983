// SPDX-License-Identifier: BSD-2-Clause
#include "commands/agent_run.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/answers.h"
#include "agent/budget.h"
#include "agent/bundle_requests.h"
#include "agent/front.h"
#include "agent/history_feed.h"
#include "agent/notify.h"
#include "agent/nvml_watch.h"
#include "agent/push_feed.h"
#include "agent/self.h"
#include "agent/stack_room.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "capture/attach/programs.h"
#include "commands/agent_places.h"
#include "commands/interrupt.h"
#include "commands/recording_description.h"
#include "commands/requirements.h"
#include "host/machine.h"
#include "ledger/without_blocks.h"
#include "store/recorder.h"

#define SECOND_NS 1000000000ull
#define GROUP "memscope"
#define DENIED_SECONDS 10
#define RETURNED_BYTES (128 << 10)
#define SEGMENT_NS (3600 * SECOND_NS) /* what is older than the ring's time goes by segments */

struct run {
	struct agent_settings *settings;
	struct machine machine;
	struct pipeline pipeline;
	struct live *live;
	struct recorder *recorder;
	struct books *books;
	struct costs costs;
	struct budget budget;
	struct front front;
	struct push_feed pushes[PUSH_PROTOCOLS];
	struct history_feed history;
	struct bundle_requests bundles;
	struct notify notify;
	struct nvml_watch nvml_watch;
	struct answers_source source;
	struct losses losses;
	struct string ring; /* its path, with a byte 0 */
	char known_libraries[PATH_MAX];
	uint64_t start_ns, end_ns;
	int lock_fd;
	const struct listener_address *opened[2];
	size_t opened_count;
	uint64_t seconds; /* that it has run for */
	bool running;
	bool ran_before_said;
};

/* ---- what the flight recorder says of itself ------------------------------------------------- */

static void describe(void *context, struct properties *properties)
{
	const struct run *run = context;

	recording_description_put(properties, &run->settings->recording, &run->machine,
				  run->start_ns);
}

static int read_counters(void *context, struct ms_counters *counters)
{
	struct run *run = context;
	int err = live_counters(run->live, counters);

	if (!err)
		run->losses = losses_of(counters);
	return err;
}

static void describe_end(void *context, const char *reason, struct properties *properties)
{
	struct run *run = context;
	struct ms_counters counters;

	read_counters(run, &counters);
	recording_description_put_end(properties, reason, run->end_ns, &run->losses, run->live,
				      run->recorder);
}

/* ---- what the books and metrics need --------------------------------------------------------- */

static void note_outside(struct run *run)
{
	struct books_outside outside = { .missed_processes = live_missed(run->live) };
	const struct recorder_counts counts = recorder_counts(run->recorder);

	read_counters(run, &outside.counters);
	outside.unwritten_blocks = counts.unwritten_blocks;
	outside.unwritten_records = counts.unwritten_records;
	books_note(run->books, &outside);
}

static void prepare(void *context, const struct channel_question *question)
{
	struct run *run = context;
	struct own_numbers *own = &run->source.own;
	const struct broker *front = &run->front.served.broker;
	const struct recorder_counts recorded = recorder_counts(run->recorder);
	struct books_late late;
	size_t i;

	/* Whoever has called and then asks finds the call in the answer. */
	if (run->running)
		live_drain(run->live);
	note_outside(run);
	own->inexact = books_inexact(run->books, &late);
	own->ready = run->running && !own->inexact;
	own_numbers_count(own, &run->pipeline.state);
	live_cost(run->live, &own->cost);
	own->denied = live_denied(run->live);
	own->moved = live_moved(run->live);
	own->resident_bytes = self_resident_bytes();
	own->descriptors = self_descriptors();
	own->pause_ns = loop_longest_ns(live_loop(run->live));
	own->recorded_bytes = recorded.bytes;
	own->bundles = recorded.bundles;
	own->bundles.withheld += run->bundles.left_out;
	own->answers = front->counts;
	for (i = 0; i < PUSH_PROTOCOLS; i++)
		broker_counts_add(&own->answers, &run->pushes[i].served.broker.counts);
	own->server = front->server;
	own->server_restarts = front->servers;
	if (request_is_of_sums(&question->request))
		without_blocks_begin(&run->pipeline.state);
}

static void made(void *context)
{
	const struct run *run = context;

	without_blocks_end(&run->pipeline.state);
}

static int answer(void *context, const struct channel_question *question, int fd)
{
	const struct run *run = context;

	return answers_write(&run->source, &question->request, fd);
}

/* ---- while it runs --------------------------------------------------------------------------- */

static int feed(void *context, void *record, size_t length)
{
	struct run *run = context;

	return pipeline_feed(&run->pipeline, record, length);
}

static int flush(void *context)
{
	struct run *run = context;

	/* What comes while it is attached to what runs is in the first segment's beginning. */
	return run->recorder ? recorder_tick(run->recorder) : 0;
}

static uint64_t segment_ns(const struct agent_settings *settings)
{
	return settings->ring_ns < SEGMENT_NS ? settings->ring_ns : SEGMENT_NS;
}

static void set_ring(struct run *run, const struct agent_settings *settings)
{
	const struct recorder_ring ring = {
		.segment_bytes = settings->recording.segment_bytes,
		.bytes = settings->recording.ring_bytes,
		.segment_ns = segment_ns(settings),
		.ns = settings->ring_ns,
	};

	recorder_set_ring(run->recorder, &ring);
	run->source.own.recorded_most = ring.bytes;
}

/* Without a change, no process is asked for anew. */
static void set_policy(struct run *run, const struct policy *policy)
{
	struct policy *own = &run->settings->policy;

	if (policy_is_same(own, policy))
		return;
	policy_rules_copy(&own->allow, &policy->allow);
	policy_rules_copy(&own->deny, &policy->deny);
	live_set_policy(run->live, policy_is_set(own) ? own : NULL);
}

static void say_reloaded(const struct run *run, const struct config_changes *changes)
{
	const char *files = run->front.server.web_config_path ?
				    "; the files of --web-config have been read, too" :
				    "";

	if (changes->in_force || changes->waiting)
		log_info("the configuration has been read again: changes in force: %zu, changes"
			 " that need a restart: %zu%s",
			 changes->in_force, changes->waiting, files);
	else
		log_info("the configuration has been read again: no setting has changed%s", files);
}

static void signalled(void *context)
{
	struct run *run = context;
	struct agent_settings now;

	notify_say(&run->notify, "RELOADING=1\nMONOTONIC_USEC=%llu",
		   (unsigned long long)clock_monotonic_ns() / 1000);
	if (run->settings->reload(&now)) {
		run->source.own.failed_reloads++;
		log_error("the configuration stays as it was");
	} else {
		run->source.own.reloads++;
		set_ring(run, &now);
		set_policy(run, &now.policy);
		run->bundles.thresholds.options = now.bundle_on;
		front_renew(&run->front);
		if (now.budget_ppm != run->budget.governor.options.budget_ppm)
			budget_set(&run->budget, now.budget_ppm);
		say_reloaded(run, &now.changes);
	}
	/* The capture has its own, which looks after itself. */
	name_sources_close(&now.recording.capture.names);
	notify_say(&run->notify, "READY=1\nSTATUS=tracing %s",
		   policy_traced(&run->settings->policy));
}

/* Of those that it came late to itself, the capture speaks. */
static void say_ran_before(struct run *run, const struct books_late *late)
{
	const struct books_late before = { .ran_before = late->ran_before };
	char words[sizeof(((struct channel_status *)NULL)->reason)];

	if (run->ran_before_said || !before.ran_before)
		return;
	run->ran_before_said = true;
	books_late_words(&before, words, sizeof(words));
	log_info("%s", words);
}

static int say_state(void *context, uint64_t data)
{
	struct run *run = context;
	struct channel_status status = { .ready = run->running };
	struct books_late late;
	const char *inexact;

	(void)data;
	note_outside(run);
	if (++run->seconds % DENIED_SECONDS == 0)
		live_look_at_denied(run->live);
	costs_look(&run->costs, clock_monotonic_ns());
	pipeline_tick(&run->pipeline, clock_monotonic_ns());
	stack_room_look(&run->source.own.stacks, run->live, &run->pipeline.state);
	if (nvml_watch_is_due(&run->nvml_watch, &run->pipeline.state, clock_monotonic_ns()))
		live_ask_devices(run->live);
	inexact = books_inexact(run->books, &late);
	say_ran_before(run, &late);
	status.ready = run->running && !inexact;
	if (inexact)
		snprintf(status.reason, sizeof(status.reason), "the books are not exact: %s",
			 inexact);
	else
		books_late_words(&late, status.reason, sizeof(status.reason));
	front_say(&run->front, &status);
	return 0;
}

static int feed_watchdog(void *context, uint64_t data)
{
	const struct run *run = context;

	(void)data;
	notify_say(&run->notify, "WATCHDOG=1");
	return 0;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int open_listener(struct run *run, const struct listener_address *address,
			 const char *option, const char *text)
{
	struct http_server_options *server = &run->front.server;
	int fd;

	if (!text)
		return 0;
	fd = listener_open(address, option, text);
	if (fd < 0)
		return fd;
	run->opened[run->opened_count++] = address;
	server->listeners[server->listeners_count].fd = fd;
	server->listeners[server->listeners_count++].is_unix = address->is_unix;
	return 0;
}

static void set_broker(struct run *run, struct broker *broker)
{
	broker->prepare = prepare;
	broker->made = made;
	broker->answer = answer;
	broker->context = run;
}

static int open_front(struct run *run)
{
	const struct agent_settings *settings = run->settings;
	const struct group *group = getgrnam(GROUP);
	int err = open_listener(run, &settings->listen_address, "listen", settings->listen);

	if (!err)
		err = open_listener(run, &settings->socket_address, "socket", settings->socket);
	run->front.server.has_group = group;
	run->front.server.web_config_path = run->settings->web_config;
	if (group)
		run->front.server.group = group->gr_gid;
	set_broker(run, &run->front.served.broker);
	return err ? err : front_open(&run->front);
}

static int open_pushes(struct run *run)
{
	size_t i;

	for (i = 0; i < PUSH_PROTOCOLS; i++) {
		const struct agent_push *push = &run->settings->pushes[i];

		run->pushes[i].options.url = push->url;
		run->pushes[i].options.client_path = push->client_path;
		run->pushes[i].options.interval_ns = push->interval_ns;
		run->pushes[i].state_directory = run->settings->state_directory;
		set_broker(run, &run->pushes[i].served.broker);
	}
	return push_feed_open(run->pushes);
}

static int open_history(struct run *run)
{
	const struct history_feed_options options = {
		.state_directory = run->settings->state_directory,
		.most_bytes = run->settings->history_bytes,
		.kept_seconds = run->settings->history_ns / SECOND_NS,
	};

	return history_feed_open(&run->history, &options);
}

/* Before anything is traced, and while there is one thread. */
static void open_costs(struct run *run)
{
	uint64_t trap_ns = 0;
	int err = features_measure_trap(&run->settings->recording.capture.features, &trap_ns);

	if (err)
		log_warning("cannot measure what a probe takes here (%s): taken to be %d ns",
			    strerror(-err), COSTS_TRAP_NS);
	else
		log_debug("a probe takes %llu ns here", (unsigned long long)trap_ns);
	costs_init(&run->costs,
		   run->settings->recording.capture.stack_ops ? &run->pipeline.state.stacks : NULL,
		   trap_ns, clock_monotonic_ns());
	pipeline_add_sink(&run->pipeline, &run->costs.sink);
}

static int open_books(struct run *run)
{
	const struct record_run_settings *recording = &run->settings->recording;
	const struct books_options options = {
		.host = run->machine.host,
		.kernel = run->machine.kernel,
		.hardware = run->machine.hardware,
		.captured_ops = selection_captured_ops(&recording->capture.selection),
		.launches_summed = recording->launches == RECORDING_SUMMARY,
		.copies_summed = recording->copies == RECORDING_SUMMARY,
		.label_pid = run->settings->label_pid,
		.most_series = run->settings->most_series,
	};

	run->start_ns = clock_monotonic_ns();
	run->pipeline.filter.ops = UINT32_MAX;
	run->books = books_new(&run->pipeline, &options);
	open_costs(run);
	run->source = (struct answers_source){
		.books = run->books,
		.host = run->machine.host,
		.start_ns = run->start_ns,
		.captured_ops = options.captured_ops,
		.own.start_ns = run->start_ns + clock_realtime_offset_ns(),
		.own.recorded_most = recording->ring_bytes,
		.own.costs = &run->costs,
		.history_path = *run->history.path ? run->history.path : NULL,
		.own.budget = &run->budget,
		.own.history = &run->history,
		.own.pushes = run->pushes,
	};
	if (!run->books)
		return -ENOMEM;
	return history_feed_begin(&run->history, &run->pipeline, run->machine.boot_id);
}

static int open_capture(struct run *run)
{
	struct record_run_settings *recording = &run->settings->recording;
	struct live_options options = capture_options_live(&recording->capture, false);

	options.count_launches = recording->launches == RECORDING_SUMMARY;
	options.count_ns = SECOND_NS;
	options.governed = true;
	options.beside = "if there are many, only traced processes keep their probes";
	options.scope.policy =
		policy_is_set(&run->settings->policy) ? &run->settings->policy : NULL;
	options.devices_ns = recording->nvml_ns;
	if (snprintf(run->known_libraries, sizeof(run->known_libraries), "%s/known-libraries",
		     run->settings->state_directory) < (int)sizeof(run->known_libraries))
		options.known_libraries = run->known_libraries;
	options.feed = feed;
	options.flush = flush;
	options.signalled = signalled;
	options.signal = recording->signal;
	options.context = run;
	return live_open(&run->live, &options);
}

/* Bundles: "STATE/HOST-TIME.oom-1.mscope", where TIME is when they are written. */
static int open_recorder(struct run *run)
{
	const struct agent_settings *settings = run->settings;
	const struct record_run_settings *recording = &settings->recording;
	struct recorder_options options = {
		.path = recording->output,
		.host = run->machine.host,
		.segment_bytes = recording->segment_bytes,
		.ring_bytes = recording->ring_bytes,
		.segment_ns = segment_ns(settings),
		.ring_ns = settings->ring_ns,
		.triggers = recording->triggers,
		.bundles_an_hour = recording->bundles_an_hour,
		.bundles_asked = UINT32_MAX,
		.sum_copies = recording->copies == RECORDING_SUMMARY,
		.describe = describe,
		.describe_end = describe_end,
		.counters = read_counters,
		.context = run,
	};

	string_append_format(&run->ring, "%s/ring", settings->state_directory);
	string_append_char(&run->ring, '\0');
	if (run->ring.failed)
		return -ENOMEM;
	options.ring_directory = run->source.ring = run->ring.bytes;
	return recorder_open(&run->recorder, &run->pipeline, &options);
}

static int start_bundles(struct run *run)
{
	run->bundles.thresholds.options = run->settings->bundle_on;
	run->bundles.recorder = run->recorder;
	run->bundles.state = &run->pipeline.state;
	run->bundles.directory = run->settings->state_directory;
	return bundle_requests_start(&run->bundles, live_loop(run->live));
}

static int add_sources(struct run *run)
{
	struct loop *loop = live_loop(run->live);
	const uint64_t watchdog_ns = run->notify.watchdog_ns / 2;
	const struct budget_options budget = { .ppm = run->settings->budget_ppm,
					       .costs = &run->costs,
					       .live = run->live,
					       .feed = feed,
					       .context = run };
	int err = front_start(&run->front, loop);

	if (!err)
		err = push_feed_start(run->pushes, loop);
	if (!err)
		err = history_feed_start(&run->history, loop);
	if (!err)
		err = start_bundles(run);
	if (!err)
		err = budget_open(&run->budget, &budget, loop);
	if (!err)
		err = loop_add_timer(loop, SECOND_NS, SECOND_NS, say_state, run, 0, NULL);
	if (!err && watchdog_ns)
		err = loop_add_timer(loop, watchdog_ns, watchdog_ns, feed_watchdog, run, 0, NULL);
	if (err)
		log_error("cannot set up the agent: %s", strerror(-err));
	return err;
}

static int open_places(struct run *run)
{
	return agent_places_open(run->settings, &run->lock_fd);
}

/* ---- the whole of it ------------------------------------------------------------------------- */

/* Clients find no socket of one that has ended. */
static void close_front(struct run *run)
{
	front_close(&run->front);
	while (run->opened_count)
		listener_remove(run->opened[--run->opened_count]);
}

static int capture(struct run *run)
{
	const struct agent_settings *settings = run->settings;
	int err, stop_err, end_err;

	run->running = true;
	say_state(run, 0);
	log_info("tracing %s%s%s%s%s; SIGTERM or Ctrl-C ends", policy_traced(&settings->policy),
		 settings->listen ? "; listening on " : "",
		 settings->listen ? settings->listen : "", settings->socket ? ", socket " : "",
		 settings->socket ? settings->socket : "");
	notify_say(&run->notify, "READY=1\nSTATUS=tracing %s", policy_traced(&settings->policy));
	err = live_run(run->live);
	run->running = false;
	notify_say(&run->notify, "STOPPING=1");
	close_front(run);
	run->end_ns = live_end_ns(run->live);
	stop_err = live_stop(run->live);
	interrupt_block(false);
	/* Signals kill from now on: what is to stay is written before a receiver is waited for. */
	budget_close(&run->budget);
	end_err = recorder_end(run->recorder, err ? "error" : "signal");
	history_feed_finish(&run->history, clock_monotonic_ns());
	push_feed_finish(run->pushes);
	push_feed_close(run->pushes);
	return err ? err : stop_err ? stop_err : end_err;
}

/* Returns 0, also if it is asked to end before it has begun, or -errno, logged. */
static int begin_and_capture(struct run *run)
{
	static int (*const steps[])(struct run * run) = {
		open_places,  open_front,    open_pushes, open_history, open_books,
		open_capture, open_recorder, add_sources, capture,
	};
	size_t i;
	int err = 0;

	/* A recording that has begun is ended by the capture. */
	for (i = 0; i < sizeof(steps) / sizeof(*steps) && !err; i++)
		if (run->recorder || !interrupt_waits())
			err = steps[i](run);
	return err;
}

int agent_run(struct agent_settings *settings)
{
	struct run run = { .settings = settings, .lock_fd = -1 };
	int err;

	/* What a bundle took goes back to the system, instead of staying between what is kept. */
	mallopt(M_MMAP_THRESHOLD, RETURNED_BYTES);
	interrupt_block(true);
	front_init(&run.front);
	push_feed_init(run.pushes);
	machine_read(&run.machine);
	notify_open(&run.notify);
	err = begin_and_capture(&run);
	close_front(&run);
	push_feed_close(run.pushes);
	history_feed_close(&run.history);
	recorder_close(run.recorder);
	bundle_requests_fini(&run.bundles);
	string_fini(&run.ring);
	live_close(run.live);
	books_free(run.books);
	costs_fini(&run.costs);
	state_fini(&run.pipeline.state);
	notify_close(&run.notify);
	if (run.lock_fd >= 0)
		close(run.lock_fd);
	return capture_options_exit_code(&settings->recording.capture, err, &run.losses, -1);
}
