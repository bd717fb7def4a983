// SPDX-License-Identifier: BSD-2-Clause
#include "store/verification.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/place.h"

const char *verification_name(enum verification_status status)
{
	static const char *const names[] = {
		[VERIFICATION_WHOLE] = "whole",           [VERIFICATION_CUT_SHORT] = "cut short",
		[VERIFICATION_INCOMPLETE] = "incomplete", [VERIFICATION_DAMAGED] = "damaged",
		[VERIFICATION_UNUSABLE] = "unusable",     [VERIFICATION_TOO_NEW] = "too new",
		[VERIFICATION_NO_DUMP] = "not a dump",
	};

	return names[status];
}

int verification_init(struct verification *verification)
{
	*verification = (struct verification){ .copy.fd = -1 };
	verification->replay = replay_new(&verification->pipeline);
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
	dump_index_fini(&verification->index);
	replay_free(verification->replay);
	state_fini(&verification->pipeline.state);
	*verification = (struct verification){ .copy.fd = -1 };
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static int note_damage(struct verification *verification, const struct dump_item *item)
{
	int err;

	if (verification->damages_count == VERIFICATION_LISTED)
		return 0;
	err = memory_grow(&verification->damages, &verification->damages_capacity,
			  verification->damages_count + 1, sizeof(*verification->damages));
	if (!err)
		verification->damages[verification->damages_count++] =
			(struct verification_damage){ .file = verification->files_count - 1,
						      .offset = item->offset,
						      .bytes = item->bytes,
						      .at_end = item->kind == DUMP_CUT_SHORT };
	return err;
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
			.first_ts_ns = last_ts_ns,
			.last_ts_ns =
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

/* Blocks that come again are not copied, and neither are indexes, which would be wrong. */
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
		dump_index_add(&verification->index, verification->copy.bytes, &item->header);
	return copy_write(verification, &item->header, item->stored);
}

static void count_block(struct verification_file *file, const struct block_header *header)
{
	if (!file->blocks)
		file->first_ts_ns = header->first_ts_ns;
	file->blocks++;
	file->segments += header->type == BLOCK_SEGMENT;
	if (header->last_ts_ns > file->last_ts_ns)
		file->last_ts_ns = header->last_ts_ns;
}

static int take_block(struct verification *verification, const struct dump_item *item)
{
	const struct recording_account *account = replay_account(verification->replay);
	const struct block_header *header = &item->header;
	const struct recording_account before = *account;
	int err = replay_item(verification->replay, item);

	count_block(&verification->files[verification->files_count - 1], header);
	if (err || account->repeated_blocks > before.repeated_blocks)
		return err;
	err = note_gap(verification, &before, header);
	if (header->type != BLOCK_INDEX)
		verification->last = *header;
	return err ? err : copy_block(verification, item);
}

static int take_item(struct verification *verification, const struct dump_item *item)
{
	int err = 0;

	if (item->kind == DUMP_BLOCK)
		return take_block(verification, item);
	if (item->kind == DUMP_DAMAGE || item->kind == DUMP_CUT_SHORT)
		err = note_damage(verification, item);
	else if (item->kind == DUMP_TOO_NEW)
		verification->major = item->header.major;
	return err ? err : replay_item(verification->replay, item);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int read_all(struct verification *verification, struct dump_reader *reader, const char *path)
{
	const struct recording_account *account = replay_account(verification->replay);
	struct verification_file *file = &verification->files[verification->files_count - 1];
	const uint64_t events = account->calls;
	struct dump_item item;
	int err;

	do {
		err = dump_reader_next(reader, &item);
		if (!err)
			err = take_item(verification, &item);
	} while (!err && item.kind != DUMP_END);
	file->bytes = dump_reader_size(reader);
	file->events = account->calls - events;
	if (err == -E2BIG)
		log_error("%s: what it says is alive takes more memory than a recording of its"
			  " length can need; it was made up",
			  path);
	return err;
}

int verification_add(struct verification *verification, const char *path)
{
	struct dump_reader *reader;
	int err = dump_reader_open(&reader, path);

	if (err)
		return err;
	err = memory_grow(&verification->files, &verification->files_capacity,
			  verification->files_count + 1, sizeof(*verification->files));
	if (!err) {
		verification->files[verification->files_count++] =
			(struct verification_file){ .path = strdup(path) };
		err = verification->files[verification->files_count - 1].path ? 0 : -ENOMEM;
	}
	verification->cut_within |= replay_account(verification->replay)->cut_short;
	if (!err)
		err = read_all(verification, reader, path);
	dump_reader_close(reader);
	return err;
}

static int copy_index(struct verification *verification)
{
	struct block_header header = verification->last;
	struct block_coder *coder;
	const void *raw, *stored;
	size_t bytes;
	int err;

	if (!verification->index.count)
		return 0;
	coder = block_coder_new();
	if (!coder)
		return -ENOMEM;
	raw = dump_index_payload(&verification->index, verification->copy.bytes, &header);
	header.sequence++;
	header.first_ts_ns = header.last_ts_ns;
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
	err = copy_index(verification);
	if (err)
		return err;
	err = dump_file_close(&verification->copy);
	if (err)
		place_remove(verification->copy_path);
	return err;
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
	return account->has_end && !account->cut_short ? VERIFICATION_WHOLE :
							 VERIFICATION_CUT_SHORT;
}
