// SPDX-License-Identifier: BSD-2-Clause
#include "commands/record_run.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/string.h"
#include "commands/command.h"
#include "commands/recording_description.h"
#include "host/machine.h"
#include "pipeline.h"
#include "store/dump_name.h"
#include "store/recorder.h"

#define COUNT_NS 1000000000 /* between two looks at counted launches */
#define PROGRESS_NS 1000000000

struct run {
	struct record_run_settings *settings;
	struct machine machine;
	struct pipeline pipeline;
	struct live *live;
	struct recorder *recorder;
	uint64_t start_ns, end_ns;
	uint64_t progress_ns; /* when that was shown */
	struct losses losses;
};

/* ---- what the dump says of itself ------------------------------------------------------------ */

static void describe(void *context, struct properties *properties)
{
	const struct run *run = context;

	recording_description_put(properties, run->settings, &run->machine, run->start_ns);
}

static void count(struct run *run)
{
	struct ms_counters counters;

	if (live_counters(run->live, &counters))
		return;
	run->losses = losses_of(&counters);
	losses_leave_out(&run->losses, live_dropped(run->live));
}

static void describe_end(void *context, const char *reason, struct properties *properties)
{
	struct run *run = context;

	count(run);
	recording_description_put_end(properties, reason, run->end_ns, &run->losses, run->live,
				      run->recorder);
}

static int read_counters(void *context, struct ms_counters *counters)
{
	struct run *run = context;

	return live_counters(run->live, counters);
}

/* ---- what people see ------------------------------------------------------------------------- */

static uint64_t live_bytes(const struct state *state)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < state->processes_count; i++)
		bytes += state->processes[i]->spaces[MS_SPACE_DEVICE].live_bytes;
	return bytes;
}

#define EVENTS_BYTES (STRING_NUMBER_BYTES + 8)

/* "1 event" */
static const char *events_of(char text[EVENTS_BYTES], uint64_t count)
{
	char number[STRING_NUMBER_BYTES];

	snprintf(text, EVENTS_BYTES, "%s event%s", string_count(number, count),
		 count == 1 ? "" : "s");
	return text;
}

static void show_progress(struct run *run, uint64_t now_ns)
{
	char took[STRING_NUMBER_BYTES], seen[EVENTS_BYTES], size[STRING_NUMBER_BYTES];
	char live[STRING_NUMBER_BYTES], lost[STRING_NUMBER_BYTES], line[200];

	run->progress_ns = now_ns;
	count(run);
	snprintf(line, sizeof(line), "%s: %s, %s written, %s of device memory live, %s lost",
		 string_duration(took, now_ns - run->start_ns),
		 events_of(seen, losses_kept(&run->losses)),
		 string_size(size, recorder_counts(run->recorder).bytes),
		 string_size(live, live_bytes(&run->pipeline.state)),
		 string_count(lost, losses_count(&run->losses)));
	log_progress(line);
}

/* ", 5 records not written" */
static const char *not_written(char text[64], uint64_t records)
{
	char number[STRING_NUMBER_BYTES];

	*text = '\0';
	if (records)
		snprintf(text, 64, ", %s record%s not written", string_count(number, records),
			 records == 1 ? "" : "s");
	return text;
}

/* "905 KiB", of a ring "905 KiB of the last 1.18 s". */
static void of_the_last(char text[64], const struct recorder_counts *counts, const struct run *run)
{
	const uint64_t from_ns =
		counts->oldest_ns > run->start_ns ? counts->oldest_ns : run->start_ns;
	char size[STRING_NUMBER_BYTES], length[STRING_NUMBER_BYTES];

	string_size(size, counts->bytes);
	if (counts->oldest_ns && from_ns <= run->end_ns)
		snprintf(text, 64, "%s of the last %s", size,
			 string_duration(length, run->end_ns - from_ns));
	else
		snprintf(text, 64, "%s", size);
}

static void tell_result(const struct run *run)
{
	const struct recorder_counts counts = recorder_counts(run->recorder);
	const char *result = recorder_result(run->recorder), *ring = recorder_ring(run->recorder);
	char took[STRING_NUMBER_BYTES], seen[EVENTS_BYTES], size[64];
	char lost[STRING_NUMBER_BYTES], unwritten[64];

	if (counts.unwritten_records)
		log_warning("%s record%s could not be written%s",
			    string_count(seen, counts.unwritten_records),
			    counts.unwritten_records == 1 ? "" : "s",
			    counts.gone_records ? ", or are no longer in the file" : "");
	events_of(seen, losses_kept(&run->losses));
	string_duration(took, run->end_ns - run->start_ns);
	of_the_last(size, &counts, run);
	string_count(lost, losses_count(&run->losses));
	not_written(unwritten, counts.unwritten_records);
	/* What a ring or a bundle holds is not all that was seen. */
	if (ring)
		log_info("recorded %s in %s, %s lost%s; the newest, %s, are in %s", seen, took,
			 lost, unwritten, size, ring);
	else if (run->settings->triggers)
		log_info("recorded %s in %s, %s lost%s; %s%s", seen, took, lost, unwritten,
			 result ? "the last bundle: " :
				  "no trigger fired, so nothing of it was kept (--on-exit"
				  " keeps what there is at the end)",
			 result ? result : "");
	else if (run->settings->ring_bytes)
		log_info("recorded %s in %s, %s lost%s; the newest, %s, are in %s", seen, took,
			 lost, unwritten, size, result);
	else
		log_info("%s: %s in %s, %s, %s lost%s", result, seen, took, size, lost, unwritten);
}

/* ---- running --------------------------------------------------------------------------------- */

static int feed(void *context, void *record, size_t length)
{
	struct run *run = context;

	return pipeline_feed(&run->pipeline, record, length);
}

static int flush(void *context)
{
	struct run *run = context;
	uint64_t now_ns = clock_monotonic_ns();

	/* What comes while it is attached to what runs is in the first segment's beginning. */
	if (!run->recorder)
		return 0;
	if (now_ns - run->progress_ns >= PROGRESS_NS && isatty(STDERR_FILENO))
		show_progress(run, now_ns);
	return recorder_tick(run->recorder);
}

static void signalled(void *context)
{
	struct run *run = context;

	recorder_signal(run->recorder);
	recorder_tick(run->recorder);
}

static int open_capture(struct run *run)
{
	struct record_run_settings *settings = run->settings;
	struct live_options options = capture_options_live(&settings->capture, false);

	options.count_launches = settings->launches == RECORDING_SUMMARY;
	options.count_ns = COUNT_NS;
	options.tensors = settings->tensors;
	options.tensor_chance = settings->tensor_chance;
	options.launch_one_in = settings->launch_one_in;
	if (settings->launch_one_in)
		options.stack_ops |= 1u << MS_OP_LAUNCH;
	options.devices_ns = settings->nvml_ns;
	options.host_ns = settings->host_ns;
	options.state = &run->pipeline.state;
	options.feed = feed;
	options.flush = flush;
	options.signalled = signalled;
	options.signal = settings->signal;
	options.context = run;
	return live_open(&run->live, &options);
}

static int expand_output(const struct run *run, struct string *path)
{
	const pid_t first = live_first_pid(run->live);
	const struct dump_name name = {
		.host = run->machine.host,
		.pid = first ? first : getpid(),
		.realtime_ns = clock_monotonic_ns() + clock_realtime_offset_ns(),
	};

	const char *other = run->settings->output_if_taken;
	int err = dump_name_expand(path, run->settings->output, &name);

	if (err || path->failed || !other || access(path->bytes, F_OK))
		return err;
	string_clear(path);
	return dump_name_expand(path, other, &name);
}

static int open_recorder(struct run *run, struct string *path)
{
	const struct record_run_settings *settings = run->settings;
	struct recorder_options options = {
		.segment_bytes = settings->segment_bytes,
		.ring_bytes = settings->ring_bytes,
		.triggers = settings->triggers,
		.bundles_an_hour = settings->bundles_an_hour,
		.sum_copies = settings->copies == RECORDING_SUMMARY,
		.describe = describe,
		.describe_end = describe_end,
		.counters = read_counters,
		.context = run,
	};
	int err = settings->output ? expand_output(run, path) : 0;

	if (err || path->failed)
		return err ? err : -ENOMEM;
	options.path = settings->output ? path->bytes : NULL;
	run->start_ns = run->progress_ns = clock_monotonic_ns();
	run->pipeline.filter.ops = UINT32_MAX;
	return recorder_open(&run->recorder, &run->pipeline, &options);
}

static const char *reason_of(const struct run *run, int err)
{
	static const char *const reasons[] = {
		[LIVE_TARGETS_GONE] = "targets-gone",
		[LIVE_DURATION] = "duration",
		[LIVE_SIGNAL] = "signal",
	};

	return err ? "error" : reasons[live_reason(run->live)];
}

static int capture(struct run *run)
{
	int err, stop_err, end_err;

	log_info("recording; Ctrl-C ends");
	err = live_run(run->live);
	if (err == -ECHILD) {
		recorder_discard(run->recorder);
		return err;
	}
	run->end_ns = live_end_ns(run->live);
	stop_err = live_stop(run->live);
	log_progress(NULL);
	end_err = recorder_end(run->recorder, reason_of(run, err));
	tell_result(run);
	if (!err)
		err = stop_err;
	if (!err)
		err = end_err;
	return err ? err :
		     capture_options_tell_blindness(&run->settings->capture, run->live,
						    &run->losses);
}

int record_run_run(struct record_run_settings *settings)
{
	struct run run = { .settings = settings };
	struct string path = { 0 };
	int err, command_code = -1;

	machine_read(&run.machine);
	err = open_capture(&run);
	if (!err)
		err = open_recorder(&run, &path);
	if (!err) {
		err = capture(&run);
		command_code = live_wait_command(run.live);
	}
	/* Unlike a trace, a dump that has no end is not what was asked for. */
	if (err == -EPIPE)
		err = -EIO;
	recorder_close(run.recorder);
	live_close(run.live);
	string_fini(&path);
	state_fini(&run.pipeline.state);
	return capture_options_exit_code(&settings->capture, err, &run.losses, command_code);
}
