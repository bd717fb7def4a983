// SPDX-License-Identifier: BSD-2-Clause
#include "store/verification.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/place.h"
#include "store/dump_directory.h"

const char *verification_name(enum verification_status status)
{
	static const char *const names[] = {
		[VERIFICATION_WHOLE] = "whole",
		[VERIFICATION_CUT_SHORT] = "cut short",
		[VERIFICATION_INCOMPLETE] = "incomplete",
		[VERIFICATION_DAMAGED] = "damaged",
		[VERIFICATION_UNUSABLE] = "unusable",
		[VERIFICATION_TOO_NEW] = "too new",
		[VERIFICATION_NO_DUMP] = "not a recording",
	};

	return names[status];
}

int verification_init(struct verification *verification)
{
	*verification = (struct verification){
		.copy.fd = -1,
		.set = { .quiet = true, .repeats = true },
	};
	verification->replay = replay_new(&verification->pipeline, NULL);
	return verification->replay ? 0 : -ENOMEM;
}

static void copy_remove(struct verification *verification)
{
	if (verification->copy.fd < 0)
		return;
	place_remove(verification->copy_path);
	dump_file_close(&verification->copy);
}

void verification_fini(struct verification *verification)
{
	while (verification->files_count)
		free(verification->files[--verification->files_count].path);
	free(verification->files);
	free(verification->damages);
	free(verification->gaps);
	copy_remove(verification);
	dump_index_fini(&verification->recording.segments);
	dump_set_fini(&verification->set);
	replay_free(verification->replay);
	state_fini(&verification->pipeline.state);
	*verification = (struct verification){ .copy.fd = -1 };
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static int list_damage(struct verification *verification, const struct dump_item *item)
{
	int err;

	if (verification->damages_count == VERIFICATION_LISTED)
		return 0;
	err = memory_grow(&verification->damages, &verification->damages_capacity,
			  verification->damages_count + 1, sizeof(*verification->damages));
	if (!err)
		verification->damages[verification->damages_count++] =
			(struct verification_damage){ .file = item->file,
						      .offset = item->offset,
						      .bytes = item->bytes,
						      .at_end = item->kind == DUMP_CUT_SHORT };
	return err;
}

/* A file with several recordings comes once for each, and what is damaged in it each time. */
static int note_damage(struct verification *verification, const struct dump_item *item)
{
	struct verification_file *file = &verification->files[item->file];
	int err;

	verification->recording.damaged = true;
	if (item->offset < file->damage_seen)
		return 0;
	file->damage_seen = item->offset + item->bytes;
	file->is_cut |= item->kind == DUMP_CUT_SHORT;
	if (item->kind == DUMP_TOO_NEW)
		verification->major = item->header.major;
	err = item->kind == DUMP_TOO_NEW ? 0 : list_damage(verification, item);
	return err ? err : replay_item(verification->replay, item);
}

/* `before`: what was known before the block with this header. */
static int note_gap(struct verification *verification, const struct recording_account *before,
		    const struct block_header *header)
{
	const uint64_t blocks =
		replay_account(verification->replay)->missing_blocks - before->missing_blocks;
	const uint64_t last_ts_ns = before->last_ts_ns;
	int err;

	if (!blocks || verification->gaps_count == VERIFICATION_LISTED)
		return 0;
	err = memory_grow(&verification->gaps, &verification->gaps_capacity,
			  verification->gaps_count + 1, sizeof(*verification->gaps));
	if (!err)
		verification->gaps[verification->gaps_count++] = (struct verification_gap){
			.first_sequence = header->sequence - blocks,
			.blocks = blocks,
			.span.first_ns = last_ts_ns,
			.span.last_ns =
				header->first_ts_ns > last_ts_ns ? header->first_ts_ns : last_ts_ns,
		};
	return err;
}

static int copy_write(struct verification *verification, const struct block_header *header,
		      const void *stored)
{
	int err = dump_file_write(&verification->copy, header, stored);

	if (err)
		log_error("%s: cannot write: %s; removed", verification->copy_path, strerror(-err));
	verification->copied += !err;
	return err;
}

/* Indexes would be wrong there. */
static int copy_block(struct verification *verification, const struct dump_item *item)
{
	int err = 0;

	if (!verification->copy_path || item->header.type == BLOCK_INDEX)
		return 0;
	if (verification->copy.fd < 0)
		err = dump_file_open(&verification->copy, verification->copy_path,
				     "; remove it, or choose another name");
	if (err)
		return err;
	if (item->header.type == BLOCK_SEGMENT)
		dump_index_add(&verification->recording.segments, verification->copy.has.bytes,
			       &item->header);
	return copy_write(verification, &item->header, item->stored);
}

static void count_block(struct verification_file *file, const struct block_header *header,
			uint64_t events)
{
	if (!file->read.last_ns)
		file->read.first_ns = header->first_ts_ns;
	file->blocks++;
	file->segments += header->type == BLOCK_SEGMENT;
	file->events += events;
	if (header->last_ts_ns > file->read.last_ns)
		file->read.last_ns = header->last_ts_ns;
}

static int take_block(struct verification *verification, const struct dump_item *item)
{
	const struct recording_account *account = replay_account(verification->replay);
	const struct block_header *header = &item->header;
	const struct recording_account before = *account;
	int err = replay_item(verification->replay, item);

	/* What ends within a block is the end of its file. */
	verification->cut_within |= before.cut_short;
	count_block(&verification->files[item->file], header, account->calls - before.calls);
	if (err || account->repeated_blocks > before.repeated_blocks)
		return err;
	err = note_gap(verification, &before, header);
	if (header->type == BLOCK_INDEX)
		verification->recording.index = *header;
	else
		verification->recording.last = *header;
	return err ? err : copy_block(verification, item);
}

static int take_item(void *context, const struct dump_item *item)
{
	struct verification *verification = context;

	return item->kind == DUMP_BLOCK ? take_block(verification, item) :
					  note_damage(verification, item);
}

/* ---- the end of a copy ----------------------------------------------------------------------- */

/*
 * What the index of a copy has for a header. By its number a reader sees which blocks are missing
 * before it: those that were missing where an index was, and one if something could not be read and
 * no number tells of that.
 */
static struct block_header index_header(const struct verification *verification)
{
	const struct verification_recording *recording = &verification->recording;
	const struct recording_account *account = replay_account(verification->replay);
	struct block_header header = recording->last;

	header.sequence++;
	header.first_ts_ns = header.last_ts_ns;
	if (recording->index.type && recording->index.sequence >= header.sequence)
		header = recording->index;
	if (account->missing_blocks == recording->missing_before &&
	    (recording->damaged || verification->set.refused))
		header.sequence++;
	return header;
}

static int copy_index(struct verification *verification)
{
	struct block_header header = index_header(verification);
	struct block_coder *coder;
	const void *raw, *stored;
	size_t bytes;
	int err;

	if (!verification->recording.segments.count)
		return 0;
	coder = block_coder_new();
	if (!coder)
		return -ENOMEM;
	raw = dump_index_payload(&verification->recording.segments, verification->copy.has.bytes,
				 &header);
	bytes = header.raw_bytes;
	stored = block_encode(coder, &header, raw, &bytes, 1);
	err = copy_write(verification, &header, stored);
	block_coder_free(coder);
	return err;
}

int verification_finish(struct verification *verification)
{
	int err;

	if (replay_unusable(verification->replay)) {
		log_error("%s: not written: there is nothing that can be used",
			  verification->copy_path);
		copy_remove(verification);
		return -ENODATA;
	}
	err = dump_file_close(&verification->copy);
	if (err)
		place_remove(verification->copy_path);
	return err;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int add_file(void *context, const char *path)
{
	struct verification *verification = context;
	const size_t refused = verification->set.refused;
	struct verification_file *file;
	struct stat status;
	int err = memory_grow(&verification->files, &verification->files_capacity,
			      verification->files_count + 1, sizeof(*verification->files));

	if (!err)
		err = dump_set_add(&verification->set, path);
	if (err)
		return err;
	file = &verification->files[verification->files_count++];
	*file = (struct verification_file){ .path = strdup(path),
					    .refused = verification->set.refused > refused };
	if (!(strcmp(path, "-") ? stat(path, &status) : fstat(STDIN_FILENO, &status)))
		file->bytes = status.st_size;
	return file->path ? 0 : -ENOMEM;
}

int verification_add(struct verification *verification, const char *path)
{
	int count = dump_directory_each(path, add_file, verification);

	if (count == -ENOTDIR)
		return add_file(verification, path);
	return count ? (count < 0 ? count : 0) : -ENODATA;
}

/* Boots and hosts have clocks of their own: of two, one without a wall clock is left out. */
static void add_span(struct verification_span *sum, const struct verification_span *span)
{
	const bool is_first = !sum->first_ns && !sum->last_ns;

	if ((!span->first_ns && !span->last_ns) || (sum->is_wall && !span->is_wall))
		return;
	if (is_first || (span->is_wall && !sum->is_wall)) {
		*sum = *span;
		return;
	}
	if (span->first_ns < sum->first_ns)
		sum->first_ns = span->first_ns;
	if (span->last_ns > sum->last_ns)
		sum->last_ns = span->last_ns;
}

static void to_wall(struct verification_span *span, uint64_t offset_ns)
{
	if (!offset_ns)
		return;
	span->first_ns += offset_ns;
	span->last_ns += offset_ns;
	span->is_wall = true;
}

/* The recording has been read: its clock is known, and all gaps from number `gap` on are in it. */
static void note_times(struct verification *verification, size_t which, size_t gap)
{
	const struct dump_set_recording *recording = &verification->set.recordings[which];
	const struct recording_account *account = replay_account(verification->replay);
	const uint64_t offset_ns = replay_number(verification->replay, "realtime_offset_ns", 0);
	struct verification_span all = { .first_ns = account->first_ts_ns,
					 .last_ns = account->last_ts_ns };
	size_t i;

	for (; gap < verification->gaps_count; gap++)
		to_wall(&verification->gaps[gap].span, offset_ns);
	for (i = 0; i < recording->count; i++) {
		struct verification_file *file = &verification->files[recording->files[i].number];

		if (file->read.last_ns) {
			to_wall(&file->read, offset_ns);
			add_span(&file->span, &file->read);
		}
		file->read = (struct verification_span){ 0 };
	}
	to_wall(&all, offset_ns);
	add_span(&verification->span, &all);
}

static int read_recording(struct verification *verification, size_t which)
{
	const struct recording_account *account = replay_account(verification->replay);
	const size_t gap = verification->gaps_count;
	int err;

	dump_index_fini(&verification->recording.segments);
	verification->recording =
		(struct verification_recording){ .missing_before = account->missing_blocks };
	err = dump_set_read(&verification->set, which, take_item, verification);
	if (err == -E2BIG)
		log_error("%s: reading it would take more memory or work than any recording of its"
			  " length needs, so memscope-bpf did not write it",
			  verification->set.recordings[which].files[0].path);
	note_times(verification, which, gap);
	return err ? err : copy_index(verification);
}

/* In which there is nothing but damage, or blocks that are too new. */
static int read_refused(struct verification *verification, size_t number)
{
	struct dump_reader *reader;
	struct dump_item item;
	int err = dump_reader_open(&reader, verification->files[number].path);

	if (err)
		return err == -ENOENT ? 0 : err;
	do {
		err = dump_reader_next(reader, &item);
		item.file = number;
		if (!err && item.kind != DUMP_END && item.kind != DUMP_BLOCK)
			err = note_damage(verification, &item);
	} while (!err && item.kind != DUMP_END);
	dump_reader_close(reader);
	return err;
}

static int read_all_refused(struct verification *verification)
{
	bool cut = false;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < verification->files_count; i++) {
		const struct verification_file *file = &verification->files[i];

		if (file->refused)
			err = read_refused(verification, i);
		cut |= file->refused && file->is_cut;
		verification->cut_within |= cut && !file->refused;
	}
	return err;
}

int verification_read(struct verification *verification)
{
	size_t i;
	int err = 0;

	/* More recordings may be found while they are read. */
	for (i = 0; !err && i < verification->set.count; i++)
		err = read_recording(verification, i);
	return err ? err : read_all_refused(verification);
}

enum verification_status verification_status(const struct verification *verification)
{
	const struct recording_account *account = replay_account(verification->replay);

	if (account->newer_blocks)
		return VERIFICATION_TOO_NEW;
	if (!account->blocks)
		return VERIFICATION_NO_DUMP;
	if (replay_unusable(verification->replay))
		return VERIFICATION_UNUSABLE;
	if (account->damaged_places || verification->cut_within || account->late_blocks ||
	    account->refused || verification->pipeline.refused)
		return VERIFICATION_DAMAGED;
	if (account->missing_blocks || account->unanchored)
		return VERIFICATION_INCOMPLETE;
	return account->has_end && !account->cut_short && !account->endless ?
		       VERIFICATION_WHOLE :
		       VERIFICATION_CUT_SHORT;
}
