// SPDX-License-Identifier: BSD-2-Clause
#include "store/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "model/sums.h"
#include "store/bundle.h"
#include "store/dump_file.h"
#include "store/dump_name.h"
#include "store/dump_ring.h"
#include "store/dump_writer.h"

/* What a SIGKILL may cost is this and the time between two ticks, which may be 100 ms. */
#define FLUSH_NS 150000000
#define SECOND_NS 1000000000
#define TELL_NS (60ull * SECOND_NS)     /* from one message about a full disk to the next */
#define OOM_PAUSE_NS (2ull * SECOND_NS) /* from one bundle to the next */
#define BUNDLES_MAX 5                   /* of a kind: they are as large as the ring */
#define RETRY_DOUBLINGS 6 /* a bundle that fails is tried again after 1, 2, ... 64 s */

#define CUDA_OUT_OF_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation */

struct trigger {
	bool pulled; /* until its bundle is written */
	bool told;   /* that there will be no more */
	uint32_t written;
	uint32_t failures;      /* since the last one */
	uint64_t not_before_ns; /* the next */
};

struct recorder {
	struct sink sink; /* first: the pipeline hands copies over */
	struct sink *sinks[1];
	struct recorder_options options;
	struct pipeline *pipeline;
	struct dump_writer *writer;
	struct sums *sums; /* NULL: each copy is recorded */

	struct dump_file file; /* or: */
	struct dump_ring ring;
	bool is_ring;
	bool is_over; /* the ring has become what it was to become, or is worth nothing */

	uint64_t dirty_ns;  /* since when something waits to be handed on; 0: nothing does */
	uint64_t second_ns; /* when what is done once a second was done */
	uint64_t anchor_bytes;
	bool added; /* something, since the last tick */

	/* Blocks are missing: nothing is worth being written but a new segment. */
	bool broken;
	bool beginning;    /* one */
	uint64_t retry_ns; /* not before */
	uint64_t told_ns;  /* when that was told; 0: never */
	bool is_told;      /* and that it is over was not */

	int err;                      /* that ends the recording */
	struct ms_counters accounted; /* what the dump says already */

	struct trigger triggers[RECORDER_TRIGGERS_COUNT];
	struct string bundle; /* the last one's name */
	uint64_t bundles_left_out;
};

/* ---- blocks ---------------------------------------------------------------------------------- */

static const char *output_name(const struct recorder *recorder)
{
	return recorder->is_ring ? recorder->ring.directory : recorder->file.path;
}

static void end_by_reader(struct recorder *recorder)
{
	if (!recorder->err)
		log_warning("%s: nobody reads it any more: the recording ends",
			    output_name(recorder));
	recorder->err = -EPIPE;
}

static void note_failure(struct recorder *recorder, int err)
{
	uint64_t now_ns = clock_monotonic_ns();

	recorder->broken = true;
	recorder->retry_ns = now_ns + SECOND_NS;
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

static int write_block(void *context, const struct block_header *header, const void *stored)
{
	struct recorder *recorder = context;
	int err;

	/* Without an anchor after what is missing, nobody could make anything of it. */
	if (recorder->broken && !recorder->beginning)
		return -EIO;
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
	if (recorder->sums)
		sums_flush(recorder->sums, now_ns);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* A segment that failed; `bytes` were handed on before. */
static void cut(struct recorder *recorder, uint64_t bytes)
{
	const uint64_t before = recorder->is_ring ? 0 : bytes;
	const struct dump_file *file = recorder->is_ring ? &recorder->ring.file : &recorder->file;

	if (recorder->is_ring)
		dump_ring_cut(&recorder->ring, 0);
	else
		dump_file_cut(&recorder->file, bytes);
	/* Of a stream nothing can be taken back. */
	if (file->bytes == before)
		dump_writer_cut(recorder->writer, bytes);
}

/* All of its beginning or nothing: it would only take room. */
static void begin_segment(struct recorder *recorder, uint64_t now_ns)
{
	uint64_t bytes;
	int err;

	flush_sums(recorder, now_ns);
	dump_writer_flush(recorder->writer, now_ns);
	bytes = dump_writer_counts(recorder->writer)->bytes;
	recorder->beginning = true;
	err = dump_writer_segment(recorder->writer, &recorder->pipeline->state, now_ns);
	recorder->beginning = false;
	recorder->anchor_bytes = dump_writer_counts(recorder->writer)->segment_bytes;
	if (err && err != -EPIPE)
		cut(recorder, bytes);
	if (err)
		return;
	recorder->broken = false;
	if (recorder->is_told)
		log_warning("%s: can be written again", output_name(recorder));
	recorder->is_told = false;
}

/* If what is live takes much, a segment is at least as much again. */
static bool is_long_enough(const struct recorder *recorder)
{
	uint64_t bytes = dump_writer_counts(recorder->writer)->segment_bytes;

	return bytes >= recorder->options.segment_bytes && bytes >= 2 * recorder->anchor_bytes;
}

/*
 * Where somebody has removed the directory, a new file cannot be created, and the one that is written
 * is all that there is of it, as long as it is open.
 */
static bool must_wait(struct recorder *recorder)
{
	if (!recorder->is_ring)
		return false;
	if (!recorder->ring.file.is_lost)
		dump_ring_check(&recorder->ring);
	return recorder->ring.file.is_lost &&
	       recorder->ring.file.bytes < recorder->options.ring_bytes / 2;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_out_of_memory(const struct ms_call *call)
{
	return call->known & MS_KNOWN_RESULT && call->result == CUDA_OUT_OF_MEMORY;
}

/* What the pipeline says of a call. */
static int take_event(struct sink *sink, const struct event *event, const struct change *change)
{
	struct recorder *recorder = (struct recorder *)sink;

	if (!event->call)
		return 0;
	if (is_out_of_memory(event->call))
		recorder->triggers[RECORDER_ON_OOM].pulled = true;
	if (recorder->sums && sums_is_about(event) &&
	    sums_add(recorder->sums, event, change, event->header->ts_ns))
		add(recorder, event->header);
	return 0;
}

int recorder_feed(struct recorder *recorder, void *record, size_t length)
{
	struct event event;
	int err;

	if (!event_decode(record, length, &event)) {
		bool summed = recorder->sums && sums_is_about(&event);

		if (recorder->sums && !summed)
			sums_before(recorder->sums, &event, event.header->ts_ns);
		if (!summed)
			add(recorder, record);
	}
	err = pipeline_feed(recorder->pipeline, record, length);
	if (is_long_enough(recorder) && !must_wait(recorder))
		begin_segment(recorder, clock_monotonic_ns());
	return recorder->err ? recorder->err : err;
}

/* ---- what was lost --------------------------------------------------------------------------- */

static void add_account(struct recorder *recorder, uint64_t now_ns, uint32_t kind, uint64_t seen,
			uint64_t lost)
{
	struct ms_account account = {
		.event = { .ts_ns = now_ns, .type = MS_TYPE_ACCOUNT, .size = sizeof(account) },
		.op = kind < MS_OPS_COUNT        ? kind :
		      kind == MS_KIND_FREE_BEGIN ? MS_ACCOUNT_FREE_BEGIN :
						   MS_ACCOUNT_PROCESS,
		.seen = seen,
		.lost = lost,
	};

	add(recorder, &account);
	pipeline_feed(recorder->pipeline, &account, sizeof(account));
}

static void account_for(struct recorder *recorder, uint64_t now_ns)
{
	struct ms_counters now, *before = &recorder->accounted;
	uint32_t kind;

	if (recorder->options.counters(recorder->options.context, &now))
		return;
	for (kind = 0; kind < MS_KINDS_COUNT; kind++)
		if (now.seen[kind] != before->seen[kind] || now.lost[kind] != before->lost[kind])
			add_account(recorder, now_ns, kind, now.seen[kind] - before->seen[kind],
				    now.lost[kind] - before->lost[kind]);
	*before = now;
}

static void flush(struct recorder *recorder, uint64_t now_ns)
{
	account_for(recorder, now_ns);
	dump_writer_flush(recorder->writer, now_ns);
	if (recorder->broken && now_ns >= recorder->retry_ns)
		begin_segment(recorder, now_ns);
	recorder->dirty_ns = 0;
	recorder->added = false;
}

/* ---- bundles --------------------------------------------------------------------------------- */

static const char *const trigger_names[] = {
	[RECORDER_ON_OOM] = "oom",
	[RECORDER_ON_SIGNAL] = "signal",
	[RECORDER_ON_EXIT] = "exit",
};

/* What a bundle's end says; a ring's last one has that of the recording. */
static const char *const end_reasons[] = {
	[RECORDER_ON_OOM] = "oom",
	[RECORDER_ON_SIGNAL] = "asked-for",
};

static bool is_asked_for(const struct recorder *recorder, enum recorder_trigger which)
{
	return recorder->options.triggers >> which & 1;
}

static void note_written(struct recorder *recorder, enum recorder_trigger which,
			 struct string *name, uint64_t bytes, uint64_t now_ns)
{
	struct trigger *trigger = &recorder->triggers[which];
	char size[STRING_NUMBER_BYTES];

	trigger->written++;
	trigger->failures = 0;
	/* A program that tries again and again says the same each time. */
	trigger->not_before_ns = which == RECORDER_ON_OOM ? now_ns + OOM_PAUSE_NS : 0;
	string_fini(&recorder->bundle);
	recorder->bundle = *name;
	*name = (struct string){ 0 };
	if (recorder->options.triggers)
		log_info("%s: %s, written because of %s", recorder->bundle.bytes,
			 string_size(size, bytes), trigger_names[which]);
}

/* A large ring takes long to copy, to a full disk too. */
static void note_unwritten(struct trigger *trigger, uint64_t now_ns)
{
	trigger->not_before_ns = now_ns + ((uint64_t)SECOND_NS << trigger->failures);
	if (trigger->failures < RETRY_DOUBLINGS)
		trigger->failures++;
}

static int write_bundle(struct recorder *recorder, enum recorder_trigger which, uint64_t now_ns)
{
	const bool last = which == RECORDER_ON_EXIT;
	struct texts end = { 0 };
	struct string name = { 0 };
	struct bundle bundle = {
		.ring = &recorder->ring,
		.path = recorder->options.path,
		.suffix = recorder->options.triggers ? trigger_names[which] : NULL,
		.number = last ? 0 : recorder->triggers[which].written + 1,
		.writer = recorder->writer,
		.now_ns = now_ns,
	};
	uint64_t bytes = 0;
	int err;

	if (!last) {
		recorder->options.describe_end(recorder->options.context, end_reasons[which], &end);
		bundle.end = &end;
	}
	err = bundle_write(&bundle, &name, &bytes);
	texts_fini(&end);
	if (err)
		note_unwritten(&recorder->triggers[which], now_ns);
	else
		note_written(recorder, which, &name, bytes, now_ns);
	string_fini(&name);
	return err;
}

static bool is_too_many(struct recorder *recorder, enum recorder_trigger which)
{
	struct trigger *trigger = &recorder->triggers[which];

	if (trigger->written < BUNDLES_MAX)
		return false;
	if (!trigger->told)
		log_warning("%u bundles because of %s: no more are written", trigger->written,
			    trigger_names[which]);
	trigger->told = true;
	recorder->bundles_left_out++;
	return true;
}

static const enum recorder_trigger pulled_kinds[] = { RECORDER_ON_OOM, RECORDER_ON_SIGNAL };

#define PULLED_KINDS (sizeof(pulled_kinds) / sizeof(*pulled_kinds))

/* One that is too soon waits, if it is not now or never: the last one is that of the fatal failure. */
static void pull_triggers(struct recorder *recorder, uint64_t now_ns, bool now_or_never)
{
	size_t i;

	for (i = 0; i < PULLED_KINDS; i++) {
		struct trigger *trigger = &recorder->triggers[pulled_kinds[i]];

		if (!trigger->pulled || !is_asked_for(recorder, pulled_kinds[i]) ||
		    (now_ns < trigger->not_before_ns && !now_or_never))
			continue;
		trigger->pulled = false;
		if (is_too_many(recorder, pulled_kinds[i]))
			continue;
		flush_sums(recorder, now_ns);
		flush(recorder, now_ns);
		trigger->pulled = write_bundle(recorder, pulled_kinds[i], now_ns) != 0;
	}
}

static bool is_bundle_missing(const struct recorder *recorder)
{
	size_t i;

	for (i = 0; i < PULLED_KINDS; i++)
		if (recorder->triggers[pulled_kinds[i]].pulled &&
		    is_asked_for(recorder, pulled_kinds[i]))
			return true;
	return false;
}

void recorder_signal(struct recorder *recorder)
{
	struct trigger *trigger = &recorder->triggers[RECORDER_ON_SIGNAL];

	trigger->pulled = true;
	trigger->not_before_ns = 0; /* there may be room now */
}

/* ---- time passes ----------------------------------------------------------------------------- */

static void do_once_a_second(struct recorder *recorder, uint64_t now_ns)
{
	int err;

	recorder->second_ns = now_ns;
	flush_sums(recorder, now_ns);
	account_for(recorder, now_ns); /* it may be that all was lost */
	if (recorder->is_ring) {
		dump_ring_check(&recorder->ring);
		return;
	}
	err = dump_file_check(&recorder->file);
	if (err)
		end_by_reader(recorder);
}

int recorder_tick(struct recorder *recorder)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - recorder->second_ns >= SECOND_NS)
		do_once_a_second(recorder, now_ns);
	if (!recorder->dirty_ns && (recorder->added || recorder->broken))
		recorder->dirty_ns = now_ns;
	if (recorder->dirty_ns && now_ns - recorder->dirty_ns >= FLUSH_NS)
		flush(recorder, now_ns);
	pull_triggers(recorder, now_ns, false);
	return recorder->err;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* A dangling link is in the way, too. */
static int check_free(const char *path)
{
	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	log_error("%s: exists; remove it, or choose another name with -o", path);
	return -EEXIST;
}

/* What could not be written in the end; other bundles take the next number. */
static int check_names(const struct recorder *recorder)
{
	struct string name = { 0 };
	int err;

	if (!recorder->options.triggers)
		return check_free(recorder->options.path);
	if (!is_asked_for(recorder, RECORDER_ON_EXIT))
		return 0;
	dump_name_with(&name, recorder->options.path, trigger_names[RECORDER_ON_EXIT]);
	err = name.failed ? -ENOMEM : check_free(name.bytes);
	string_fini(&name);
	return err;
}

static int open_output(struct recorder *recorder)
{
	struct string directory = { 0 };
	const char *path = recorder->options.path;
	int err;

	if (!path)
		return dump_file_open_stdout(&recorder->file);
	if (!recorder->is_ring)
		return dump_file_open(&recorder->file, path,
				      "; remove it, or choose another name with -o");
	err = check_names(recorder);
	if (err)
		return err;
	string_append_text(&directory, path);
	string_append_text(&directory, ".ring");
	string_append_char(&directory, '\0');
	err = directory.failed ? -ENOMEM :
				 dump_ring_open(&recorder->ring, directory.bytes,
						recorder->options.ring_bytes);
	string_fini(&directory);
	return err;
}

static void describe(void *context, struct texts *texts)
{
	const struct recorder *recorder = context;

	recorder->options.describe(recorder->options.context, texts);
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
		recorder->sums = sums_new(take_sum, recorder);
	return !recorder->writer || (recorder->options.sum_copies && !recorder->sums) ? -ENOMEM : 0;
}

int recorder_open(struct recorder **result, struct pipeline *pipeline,
		  const struct recorder_options *options)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int err = recorder ? 0 : -ENOMEM;

	if (err)
		return err;
	*recorder = (struct recorder){ .sink.event = take_event,
				       .options = *options,
				       .pipeline = pipeline,
				       .is_ring = options->ring_bytes > 0,
				       .second_ns = clock_monotonic_ns(),
				       .file.fd = -1,
				       .ring.file.fd = -1 };
	err = open_output(recorder);
	if (!err)
		err = open_writer(recorder);
	if (err) {
		recorder_close(recorder);
		return err;
	}
	recorder->sinks[0] = &recorder->sink;
	pipeline->sinks = recorder->sinks;
	pipeline->sinks_count = 1;
	pipeline->filter.ops = UINT32_MAX;
	begin_segment(recorder, recorder->second_ns);
	*result = recorder;
	return 0;
}

static int end_dump(struct recorder *recorder, const char *reason, uint64_t now_ns)
{
	struct texts texts = { 0 };
	int err;

	flush_sums(recorder, now_ns);
	recorder->retry_ns = 0; /* now or never */
	flush(recorder, now_ns);
	recorder->options.describe_end(recorder->options.context, reason, &texts);
	err = dump_writer_end(recorder->writer, &texts, now_ns);
	texts_fini(&texts);
	return err;
}

/* What should have become a bundle, and has not, is nowhere but in the ring. */
static int end_ring(struct recorder *recorder, uint64_t now_ns)
{
	int err = 0;

	if (!recorder->options.triggers || is_asked_for(recorder, RECORDER_ON_EXIT))
		err = write_bundle(recorder, RECORDER_ON_EXIT, now_ns);
	if (!err && is_bundle_missing(recorder))
		err = -EIO;
	recorder->is_over = !err;
	if (err)
		log_warning("%s: the ring stays there", recorder->ring.directory);
	if (recorder->bundles_left_out)
		log_warning("%llu more bundles would have been written",
			    (unsigned long long)recorder->bundles_left_out);
	return err;
}

int recorder_end(struct recorder *recorder, const char *reason)
{
	uint64_t now_ns = clock_monotonic_ns();
	int err;

	if (recorder->is_ring)
		dump_ring_check(&recorder->ring);
	pull_triggers(recorder, now_ns, true);
	err = end_dump(recorder, reason, now_ns);
	if (recorder->is_ring)
		err = end_ring(recorder, now_ns);
	else if (dump_file_check(&recorder->file) == 0 && recorder->file.is_lost)
		err = -ENOENT;
	if (!err && dump_writer_counts(recorder->writer)->unwritten_records)
		err = -EIO;
	return recorder->err ? recorder->err : err;
}

void recorder_discard(struct recorder *recorder)
{
	recorder->is_over = true;
	if (!recorder->is_ring && !recorder->file.is_stream)
		unlink(recorder->file.path);
}

void recorder_close(struct recorder *recorder)
{
	if (!recorder)
		return;
	dump_ring_close(&recorder->ring, !recorder->is_over);
	dump_file_close(&recorder->file);
	dump_writer_free(recorder->writer);
	sums_free(recorder->sums);
	string_fini(&recorder->bundle);
	free(recorder);
}

struct recorder_counts recorder_counts(const struct recorder *recorder)
{
	const struct dump_writer_counts *counts = dump_writer_counts(recorder->writer);

	return (struct recorder_counts){
		.records = counts->records,
		.bytes = recorder->is_ring ? recorder->ring.bytes : recorder->file.bytes,
		.unwritten_blocks = counts->unwritten_blocks,
		.unwritten_records = counts->unwritten_records,
		.bundles = recorder->triggers[RECORDER_ON_OOM].written +
			   recorder->triggers[RECORDER_ON_SIGNAL].written +
			   recorder->triggers[RECORDER_ON_EXIT].written,
		.bundles_left_out = recorder->bundles_left_out,
	};
}

const char *recorder_result(const struct recorder *recorder)
{
	if (!recorder->is_ring)
		return recorder->file.path;
	return recorder->bundle.length ? recorder->bundle.bytes : NULL;
}

const char *recorder_ring(const struct recorder *recorder)
{
	return recorder->is_ring && !recorder->is_over ? recorder->ring.directory : NULL;
}
