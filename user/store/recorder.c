// SPDX-License-Identifier: BSD-2-Clause
#include "store/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/place.h"
#include "base/string.h"
#include "ledger/copy_aggregator.h"
#include "store/bundle.h"
#include "store/dump_file.h"
#include "store/dump_name.h"
#include "store/dump_ring.h"
#include "store/dump_writer.h"
#include "store/loss_records.h"
#include "store/oom_trigger.h"
#include "store/triggers.h"

/* What a SIGKILL may cost is this and the time between two ticks, which may be 100 ms. */
#define FLUSH_NS 150000000
#define SECOND_NS 1000000000
#define TELL_NS (60ull * SECOND_NS) /* from one message about a full disk to the next */

struct recorder {
	struct sink sink; /* first: the pipeline hands copies over */
	struct recorder_options options;
	struct pipeline *pipeline;
	struct dump_writer *writer;
	struct copy_aggregator *aggregator; /* NULL: each copy is recorded */

	struct dump_file file; /* or: */
	struct dump_ring ring;
	bool is_ring;
	bool is_over; /* the ring has become what it was to become, or is worth nothing */

	uint64_t dirty_ns;   /* since when something waits to be handed on; 0: nothing does */
	uint64_t second_ns;  /* when what is done once a second was done */
	uint64_t segment_ns; /* when the segment was begun */
	uint64_t checkpoint_bytes;
	bool added; /* something, since the last tick */

	/* Blocks are missing: nothing is worth being written but a new segment. */
	bool broken;
	bool beginning;          /* one */
	uint64_t retry_ns;       /* not before */
	struct dump_extent gone; /* that was written, and taken out of the file since */
	bool elsewhere;          /* the file has been renamed: the next segment is another's */
	uint64_t told_ns;        /* when that was told; 0: never */
	bool is_told;            /* and that it is over was not */

	int err;                      /* that ends the recording */
	struct ms_counters accounted; /* what the dump says already */

	struct triggers triggers;
	struct oom_trigger oom_trigger;
};

/* ---- blocks ---------------------------------------------------------------------------------- */

static const char *output_name(const struct recorder *recorder)
{
	return recorder->is_ring ? recorder->ring.directory : recorder->file.path;
}

static void end_by_reader(struct recorder *recorder)
{
	if (!recorder->err)
		log_warning("%s: the reader has closed the pipe: the recording ends",
			    output_name(recorder));
	recorder->err = -EPIPE;
}

static void note_failure(struct recorder *recorder, int err)
{
	uint64_t now_ns = clock_monotonic_ns();

	/* In a ring, the next segment has a file of its own, which may become as large. */
	recorder->retry_ns =
		err == -EFBIG && recorder->is_ring && !recorder->beginning ? 0 : now_ns + SECOND_NS;
	recorder->broken = true;
	recorder->beginning = false;
	if (err == -EPIPE) {
		end_by_reader(recorder);
		return;
	}
	if (!recorder->told_ns || now_ns - recorder->told_ns > TELL_NS) {
		recorder->told_ns = now_ns;
		recorder->is_told = true;
		log_error("%s: cannot write: %s; recording goes on, and tries again",
			  output_name(recorder), strerror(-err));
	}
}

/* The next segment begins at once: it says what is live, which is all that can be saved. */
static int note_gone(struct recorder *recorder, const struct dump_extent *lost)
{
	char blocks[STRING_NUMBER_BYTES], records[STRING_NUMBER_BYTES];

	recorder->gone.blocks += lost->blocks;
	recorder->gone.records += lost->records;
	dump_writer_cut(recorder->writer,
			dump_writer_counts(recorder->writer)->bytes - lost->bytes);
	recorder->broken = true;
	recorder->retry_ns = 0;
	log_warning("%s: it was truncated, or written over: %s block%s with %s record%s are gone"
		    " from it; a new segment begins",
		    output_name(recorder), string_count(blocks, lost->blocks),
		    lost->blocks == 1 ? "" : "s", string_count(records, lost->records),
		    lost->records == 1 ? "" : "s");
	return -ESTALE;
}

/* What others have done to the output. Returns 0, or -errno if no block may follow. */
static int check_output(struct recorder *recorder)
{
	struct dump_extent lost = { 0 };
	int state = recorder->is_ring ? dump_ring_check_file(&recorder->ring, &lost) :
					dump_file_check(&recorder->file, &lost);

	recorder->elsewhere |= state == DUMP_FILE_ELSEWHERE;
	if (state == DUMP_FILE_CUT)
		return note_gone(recorder, &lost);
	if (state < 0)
		note_failure(recorder, state);
	return state < 0 ? state : 0;
}

static int write_block(void *context, const struct block_header *header, const void *stored)
{
	struct recorder *recorder = context;
	int err;

	/* Without an anchor after what is missing, it would be of no use. */
	if (recorder->broken && !recorder->beginning)
		return -EIO;
	/* A segment's beginning is one: what happens meanwhile is noticed at the next block. */
	err = recorder->beginning ? 0 : check_output(recorder);
	if (err)
		return err;
	err = recorder->is_ring ? dump_ring_write(&recorder->ring, header, stored) :
				  dump_file_write(&recorder->file, header, stored);
	if (err)
		note_failure(recorder, err);
	return err;
}

static void add(struct recorder *recorder, const void *record)
{
	recorder->added = true;
	dump_writer_add(recorder->writer, record);
}

static int take_sum(void *context, const struct ms_calls *sum)
{
	add(context, sum);
	return 0;
}

static void flush_sums(struct recorder *recorder, uint64_t now_ns)
{
	if (recorder->aggregator)
		copy_aggregator_flush(recorder->aggregator, now_ns);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* A segment that failed; `bytes` were handed on before it, and the file was as `before`. */
static void take_back(struct recorder *recorder, const struct dump_extent *before, uint64_t bytes)
{
	struct dump_file *file = &recorder->file;

	if (recorder->is_ring) {
		dump_ring_cut(&recorder->ring);
		if (!recorder->ring.file.has.bytes)
			dump_writer_cut(recorder->writer, bytes);
		return;
	}
	dump_file_cut(file, before);
	/* Nothing can be taken back from a stream. */
	dump_writer_cut(recorder->writer, file->has.bytes);
}

/* All of its beginning or nothing: it would only take room. */
static void begin_segment(struct recorder *recorder, uint64_t now_ns)
{
	struct dump_extent before;
	uint64_t bytes;
	int err;

	flush_sums(recorder, now_ns);
	dump_writer_flush(recorder->writer, now_ns);
	check_output(recorder);
	before = recorder->file.has;
	bytes = dump_writer_counts(recorder->writer)->bytes;
	recorder->beginning = true;
	recorder->segment_ns = now_ns;
	err = dump_writer_segment(recorder->writer, &recorder->pipeline->state, now_ns);
	recorder->beginning = false;
	recorder->checkpoint_bytes = dump_writer_counts(recorder->writer)->segment_bytes;
	if (err && err != -EPIPE)
		take_back(recorder, &before, bytes);
	if (err)
		return;
	recorder->broken = false;
	if (recorder->is_told)
		log_warning("%s: can be written again", output_name(recorder));
	recorder->is_told = false;
}

/* What was written stays where the file is now. Returns whether a new segment is to be begun. */
static bool move(struct recorder *recorder)
{
	if (!recorder->elsewhere)
		return false;
	recorder->elsewhere = false;
	if (recorder->is_ring)
		return true;
	if (dump_file_move(&recorder->file))
		return false;
	dump_writer_cut(recorder->writer, 0);
	return true;
}

/* If what is live takes much, a segment is at least as much again. */
static bool is_long_enough(const struct recorder *recorder)
{
	uint64_t bytes = dump_writer_counts(recorder->writer)->segment_bytes;

	/* One that began since the last second is younger than that. */
	if (recorder->options.segment_ns && recorder->second_ns > recorder->segment_ns &&
	    recorder->second_ns - recorder->segment_ns >= recorder->options.segment_ns)
		return true;
	return bytes >= recorder->options.segment_bytes && bytes >= 2 * recorder->checkpoint_bytes;
}

/*
 * Where somebody has removed the directory, or renamed one above it, a new file cannot be created,
 * and the one that is written may be all that there is of it, as long as it is open.
 */
static bool must_wait(struct recorder *recorder)
{
	const struct dump_file *file = &recorder->ring.file;

	if (!recorder->is_ring)
		return false;
	if (!file->is_lost)
		check_output(recorder);
	return (file->is_lost || file->is_elsewhere) &&
	       file->has.bytes < recorder->options.ring_bytes / 2;
}

/* ---- records --------------------------------------------------------------------------------- */

/* What the pipeline says of a process. */
static int take_process(struct sink *sink, const struct event *event, const struct change *change)
{
	struct recorder *recorder = (struct recorder *)sink;

	oom_trigger_event(&recorder->oom_trigger, event, change);
	return 0;
}

/* What the pipeline says of a call. */
static int take_call(struct sink *sink, const struct event *event, const struct change *change)
{
	struct recorder *recorder = (struct recorder *)sink;

	oom_trigger_event(&recorder->oom_trigger, event, change);
	if (recorder->aggregator && copy_aggregator_is_about(event) &&
	    copy_aggregator_add(recorder->aggregator, event, change, event->header->ts_ns))
		add(recorder, event->header);
	return 0;
}

/* The state has what came before: that is what a segment begins with. */
static int take_record(struct sink *sink, const struct event *event)
{
	struct recorder *recorder = (struct recorder *)sink;
	const bool summed = recorder->aggregator && copy_aggregator_is_about(event);

	/* A segment's beginning ends with an account. */
	if (!event->account && is_long_enough(recorder) && !must_wait(recorder))
		begin_segment(recorder, clock_monotonic_ns());
	if (recorder->aggregator && !summed)
		copy_aggregator_before(recorder->aggregator, event, event->header->ts_ns);
	if (!summed)
		add(recorder, event->header);
	return recorder->err;
}

/* ---- what was lost --------------------------------------------------------------------------- */

static void account_for(struct recorder *recorder, uint64_t now_ns)
{
	struct ms_counters now;

	if (!recorder->options.counters(recorder->options.context, &now))
		loss_records_feed(&recorder->accounted, &now, now_ns, pipeline_feed,
				  recorder->pipeline);
}

static void flush(struct recorder *recorder, uint64_t now_ns)
{
	account_for(recorder, now_ns);
	dump_writer_flush(recorder->writer, now_ns);
	if (move(recorder) || (recorder->broken && now_ns >= recorder->retry_ns))
		begin_segment(recorder, now_ns);
	recorder->dirty_ns = 0;
	recorder->added = false;
}

/* ---- bundles --------------------------------------------------------------------------------- */

static int write_bundle(struct recorder *recorder, int which, uint64_t now_ns, bool again)
{
	const char *reason = triggers_reason(which);
	struct properties end = { 0 };
	struct bundle bundle = {
		.ring = &recorder->ring,
		.path = recorder->options.path,
		.host = recorder->options.host,
		.writer = recorder->writer,
		.now_ns = now_ns,
		.again = again,
	};
	int err;

	if (reason) {
		recorder->options.describe_end(recorder->options.context, reason, &end);
		triggers_describe_end(&recorder->triggers, which, &end);
		bundle.end = &end;
	}
	err = triggers_write(&recorder->triggers, which, &bundle);
	properties_fini(&end);
	return err;
}

static void write_bundles(struct recorder *recorder, uint64_t now_ns, bool now_or_never)
{
	int which;

	for (which = 0; which < TRIGGERS_COUNT; which++) {
		if (!triggers_take(&recorder->triggers, which, now_ns, now_or_never))
			continue;
		flush_sums(recorder, now_ns);
		flush(recorder, now_ns);
		write_bundle(recorder, which, now_ns, !now_or_never);
	}
}

void recorder_set_ring(struct recorder *recorder, const struct recorder_ring *ring)
{
	recorder->options.segment_bytes = ring->segment_bytes;
	recorder->options.segment_ns = ring->segment_ns;
	recorder->options.ring_bytes = recorder->ring.max_bytes = ring->bytes;
	recorder->ring.max_ns = ring->ns;
}

void recorder_signal(struct recorder *recorder)
{
	/* There may be room now. */
	triggers_pull(&recorder->triggers, TRIGGER_SIGNAL, true);
}

void recorder_reached(struct recorder *recorder)
{
	triggers_pull(&recorder->triggers, TRIGGER_LIMIT, true);
}

/* ---- time passes ----------------------------------------------------------------------------- */

static void do_once_a_second(struct recorder *recorder, uint64_t now_ns)
{
	recorder->second_ns = now_ns;
	flush_sums(recorder, now_ns);
	account_for(recorder, now_ns); /* it may be that all was lost */
	if (recorder->is_ring)
		dump_ring_check(&recorder->ring);
	check_output(recorder);
}

int recorder_tick(struct recorder *recorder)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - recorder->second_ns >= SECOND_NS)
		do_once_a_second(recorder, now_ns);
	if (!recorder->dirty_ns && (recorder->added || recorder->broken || recorder->elsewhere))
		recorder->dirty_ns = now_ns;
	if (recorder->dirty_ns && now_ns - recorder->dirty_ns >= FLUSH_NS)
		flush(recorder, now_ns);
	oom_trigger_tick(&recorder->oom_trigger, now_ns);
	write_bundles(recorder, now_ns, false);
	return recorder->err;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int open_output(struct recorder *recorder)
{
	struct string directory = { 0 };
	const char *path = recorder->options.path;
	int err;

	if (!path)
		return dump_file_open_stdout(&recorder->file);
	if (!recorder->is_ring && dump_file_is_irregular(path)) {
		log_error("%s: a recording needs a regular file; choose another name with -o, or"
			  " standard output: -o - > %s",
			  path, path);
		return -EEXIST;
	}
	if (!recorder->is_ring)
		return dump_file_open(&recorder->file, path,
				      "; remove it, or choose another name with -o, such as"
				      " run-%t.mscope, where %t is the time");
	err = triggers_check_names(&recorder->triggers, path);
	if (err)
		return err;
	if (recorder->options.ring_directory) {
		err = dump_ring_adopt(&recorder->ring, recorder->options.ring_directory,
				      recorder->options.ring_bytes);
		recorder->ring.max_ns = recorder->options.ring_ns;
		return err;
	}
	string_append_text(&directory, path);
	string_append_text(&directory, ".ring");
	string_append_char(&directory, '\0');
	err = directory.failed ? -ENOMEM :
				 dump_ring_open(&recorder->ring, directory.bytes,
						recorder->options.ring_bytes);
	string_fini(&directory);
	return err;
}

static void describe(void *context, struct properties *properties)
{
	const struct recorder *recorder = context;

	recorder->options.describe(recorder->options.context, properties);
}

static int open_writer(struct recorder *recorder)
{
	struct dump_writer_options options = { .write = write_block,
					       .describe = describe,
					       .context = recorder };

	/* Any number but 0 will do. */
	if (getrandom(&options.recording, sizeof(options.recording), 0) < 0 || !options.recording)
		options.recording = clock_monotonic_ns();
	recorder->writer = dump_writer_new(&options);
	if (recorder->options.sum_copies)
		recorder->aggregator = copy_aggregator_new(take_sum, recorder);
	return !recorder->writer || (recorder->options.sum_copies && !recorder->aggregator) ?
		       -ENOMEM :
		       0;
}

int recorder_open(struct recorder **result, struct pipeline *pipeline,
		  const struct recorder_options *options)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int err = recorder ? 0 : -ENOMEM;

	if (err)
		return err;
	*recorder = (struct recorder){
		.sink = { .record = take_record, .call = take_call, .process = take_process },
		.options = *options,
		.pipeline = pipeline,
		.triggers = { .asked = options->triggers,
			      .an_hour = options->bundles_an_hour,
			      .most_asked = options->bundles_asked },
		.is_ring = options->ring_bytes > 0,
		.second_ns = clock_monotonic_ns(),
		.file.fd = -1,
		.ring.file.fd = -1
	};
	oom_trigger_init(&recorder->oom_trigger, &recorder->triggers);
	err = open_output(recorder);
	if (!err)
		err = open_writer(recorder);
	if (err) {
		recorder_close(recorder);
		return err;
	}
	pipeline_add_sink(pipeline, &recorder->sink);
	begin_segment(recorder, recorder->second_ns);
	*result = recorder;
	return 0;
}

static int end_dump(struct recorder *recorder, const char *reason, uint64_t now_ns)
{
	struct properties properties = { 0 };
	int err;

	flush_sums(recorder, now_ns);
	recorder->retry_ns = 0; /* now or never */
	flush(recorder, now_ns);
	recorder->options.describe_end(recorder->options.context, reason, &properties);
	err = dump_writer_end(recorder->writer, &properties, now_ns);
	properties_fini(&properties);
	return err;
}

/* What should have become a bundle, and has not, is nowhere but in the ring. */
static int end_ring(struct recorder *recorder, uint64_t now_ns)
{
	int err = 0;

	if (triggers_asked(&recorder->triggers, TRIGGER_EXIT) ||
	    (!recorder->triggers.asked && !recorder->options.ring_directory))
		err = write_bundle(recorder, TRIGGER_EXIT, now_ns, false);
	if (!err && triggers_missing(&recorder->triggers))
		err = -EIO;
	recorder->is_over = !err && !recorder->options.ring_directory;
	if (err)
		log_warning("%s: the ring stays there", recorder->ring.directory);
	if (recorder->triggers.left_out)
		log_warning("%llu more bundles would have been written",
			    (unsigned long long)recorder->triggers.left_out);
	return err;
}

int recorder_end(struct recorder *recorder, const char *reason)
{
	uint64_t now_ns = clock_monotonic_ns();
	int err;

	if (recorder->is_ring)
		dump_ring_check(&recorder->ring);
	oom_trigger_end(&recorder->oom_trigger, now_ns);
	write_bundles(recorder, now_ns, true);
	check_output(recorder);
	err = end_dump(recorder, reason, now_ns);
	if (recorder->is_ring)
		err = end_ring(recorder, now_ns);
	else if (!err && !recorder->file.is_stream) /* its reader has all of it, and may go */
		err = check_output(recorder);
	if (recorder->file.is_lost)
		err = -ENOENT;
	if (!err && recorder_counts(recorder).unwritten_records)
		err = -EIO;
	return recorder->err ? recorder->err : err;
}

void recorder_discard(struct recorder *recorder)
{
	recorder->is_over = true;
	if (!recorder->is_ring && !recorder->file.is_stream)
		place_remove(recorder->file.path);
}

void recorder_close(struct recorder *recorder)
{
	if (!recorder)
		return;
	dump_ring_close(&recorder->ring, !recorder->is_over);
	dump_file_close(&recorder->file);
	dump_writer_free(recorder->writer);
	copy_aggregator_free(recorder->aggregator);
	triggers_fini(&recorder->triggers);
	free(recorder);
}

struct recorder_counts recorder_counts(const struct recorder *recorder)
{
	const struct dump_writer_counts *counts = dump_writer_counts(recorder->writer);

	return (struct recorder_counts){
		.bytes = recorder->is_ring ? recorder->ring.bytes : recorder->file.has.bytes,
		.unwritten_blocks = counts->unwritten_blocks + recorder->gone.blocks,
		.unwritten_records = counts->unwritten_records + recorder->gone.records,
		.gone_records = recorder->gone.records,
		.bundles = triggers_counts(&recorder->triggers),
		.oldest_ns = recorder->is_ring && recorder->ring.count ?
				     recorder->ring.segments[0].begin_ns :
				     0,
	};
}

const char *recorder_result(const struct recorder *recorder)
{
	if (!recorder->is_ring)
		return recorder->file.path;
	return recorder->triggers.bundle.length ? recorder->triggers.bundle.bytes : NULL;
}

const char *recorder_ring(const struct recorder *recorder)
{
	return recorder->is_ring && !recorder->is_over ? recorder->ring.directory : NULL;
}
