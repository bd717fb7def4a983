// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "store/dump_directory.h"

void dump_set_fini(struct dump_set *set)
{
	while (set->count) {
		struct dump_set_recording *recording = &set->recordings[--set->count];

		while (recording->count)
			free(recording->files[--recording->count].path);
		free(recording->files);
	}
	free(set->recordings);
	*set = (struct dump_set){ 0 };
}

/* ---- which files ----------------------------------------------------------------------------- */

static struct dump_set_recording *recording_of(struct dump_set *set, uint64_t number)
{
	size_t i;

	for (i = 0; i < set->count; i++)
		if (set->recordings[i].recording == number)
			return &set->recordings[i];
	if (memory_grow(&set->recordings, &set->capacity, set->count + 1, sizeof(*set->recordings)))
		return NULL;
	set->recordings[set->count] = (struct dump_set_recording){ .recording = number };
	return &set->recordings[set->count++];
}

static int file_add(struct dump_set_recording *recording, const char *path, uint64_t sequence)
{
	size_t place = recording->count;
	char *copy;

	if (memory_grow(&recording->files, &recording->capacity, recording->count + 1,
			sizeof(*recording->files)))
		return -ENOMEM;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	for (; place && recording->files[place - 1].first_sequence > sequence; place--)
		recording->files[place] = recording->files[place - 1];
	recording->files[place] =
		(struct dump_set_file){ .path = copy, .first_sequence = sequence };
	recording->count++;
	return 0;
}

static int block_add(struct dump_set *set, const char *path, const struct block_header *header)
{
	struct dump_set_recording *recording = recording_of(set, header->recording);

	return recording ? file_add(recording, path, header->sequence) : -ENOMEM;
}

static int refuse(struct dump_set *set, const char *path, const struct dump_item *last,
		  const struct dump_reader *reader)
{
	set->refused++;
	set->too_new += last->kind == DUMP_TOO_NEW;
	if (last->kind == DUMP_TOO_NEW)
		log_error(
			"%s: of format version %u; this program reads version %u: use a newer one",
			path, last->header.major, BLOCK_MAJOR);
	else if (!dump_reader_size(reader))
		log_error("%s: empty: nothing was recorded, or nothing was written yet", path);
	else
		log_error("%s: no dump of memscope-bpf, or nothing in it is whole", path);
	return 0;
}

static int add_file(struct dump_set *set, const char *path)
{
	struct dump_reader *reader;
	struct dump_item item;
	int err = dump_reader_open(&reader, path);

	if (err)
		return err;
	do
		err = dump_reader_next(reader, &item);
	while (!err && (item.kind == DUMP_DAMAGE || item.kind == DUMP_CUT_SHORT));
	if (!err)
		err = item.kind == DUMP_BLOCK ? block_add(set, path, &item.header) :
						refuse(set, path, &item, reader);
	dump_reader_close(reader);
	return err;
}

static int add_entry(void *context, const char *path)
{
	return add_file(context, path);
}

int dump_set_add(struct dump_set *set, const char *path)
{
	int count = dump_directory_each(path, add_entry, set);

	if (count == -ENOTDIR)
		return add_file(set, path);
	return count < 0 ? count : 0;
}

/* ---- their blocks ---------------------------------------------------------------------------- */

struct source {
	struct dump_reader *reader;
	const char *path;      /* the set's */
	struct dump_item item; /* the next one; a block of the recording, or the end */
};

struct merge {
	struct dump_set *set;
	size_t recording;
	int (*take)(void *context, const struct dump_item *item);
	void *context;

	struct source *sources; /* open files */
	size_t count, capacity;
	size_t opened;          /* how many of the recording's files have been */
	uint64_t next_sequence; /* of what the recording is made of */
	uint64_t next_closing;  /* of what only closes a file: those have such numbers too */
};

/* Blocks of other recordings are for later; the first of each says where. */
static int other_recording(struct merge *merge, const char *path, const struct dump_item *item)
{
	struct dump_set_recording *other = recording_of(merge->set, item->header.recording);
	size_t i;

	if (!other)
		return -ENOMEM;
	for (i = 0; i < other->count; i++)
		if (!strcmp(other->files[i].path, path))
			return 0;
	if (other->read)
		log_warning("%s: what it has of a recording that other files begin is left out",
			    path);
	return file_add(other, path, item->header.sequence);
}

/* Goes on to the file's next block of this recording. */
static int advance(struct merge *merge, struct source *source)
{
	for (;;) {
		const uint64_t number = merge->set->recordings[merge->recording].recording;
		int err = dump_reader_next(source->reader, &source->item);

		if (err || source->item.kind == DUMP_END)
			return err;
		if (source->item.kind != DUMP_BLOCK) {
			err = merge->take(merge->context, &source->item);
			if (source->item.kind == DUMP_TOO_NEW) {
				log_warning("%s: its rest is of a newer version", source->path);
				source->item.kind = DUMP_END;
				return err;
			}
		} else if (source->item.header.recording != number) {
			err = other_recording(merge, source->path, &source->item);
		} else {
			return 0;
		}
		if (err)
			return err;
	}
}

static const char *path_of(const struct merge *merge, size_t file)
{
	return merge->set->recordings[merge->recording].files[file].path;
}

static int open_next(struct merge *merge)
{
	const char *path = path_of(merge, merge->opened);
	struct source source = { .path = path };
	int err;

	if (memory_grow(&merge->sources, &merge->capacity, merge->count + 1,
			sizeof(*merge->sources)))
		return -ENOMEM;
	err = dump_reader_open(&source.reader, path);
	merge->opened++;
	if (err)
		return err == -ENOENT ? 0 : err;
	merge->sources[merge->count++] = source;
	return advance(merge, &merge->sources[merge->count - 1]);
}

static void close_ended(struct merge *merge)
{
	size_t i = 0;

	while (i < merge->count) {
		if (merge->sources[i].item.kind != DUMP_END) {
			i++;
			continue;
		}
		dump_reader_close(merge->sources[i].reader);
		merge->sources[i] = merge->sources[--merge->count];
	}
}

/* Of two that have the same number, what only closes a file comes last. */
static bool is_before(const struct source *a, const struct source *b)
{
	const struct block_header *x = &a->item.header, *y = &b->item.header;

	return x->sequence != y->sequence ? x->sequence < y->sequence :
					    block_is_closing(x) < block_is_closing(y);
}

static struct source *lowest(const struct merge *merge)
{
	struct source *found = NULL;
	size_t i;

	for (i = 0; i < merge->count; i++)
		if (!found || is_before(&merge->sources[i], found))
			found = &merge->sources[i];
	return found;
}

/* Files are opened when it is their turn: there may be many. */
static bool is_another_due(const struct merge *merge)
{
	const struct dump_set_recording *recording = &merge->set->recordings[merge->recording];
	const struct source *next = lowest(merge);

	return merge->opened < recording->count &&
	       (!next ||
		recording->files[merge->opened].first_sequence <= next->item.header.sequence);
}

/* Returns whether the block is one that comes next. */
static bool take_number(struct merge *merge, const struct block_header *header)
{
	const bool closing = block_is_closing(header);

	if (header->sequence < merge->next_sequence ||
	    (closing && header->sequence < merge->next_closing))
		return false;
	*(closing ? &merge->next_closing : &merge->next_sequence) =
		header->sequence + (header->sequence != UINT64_MAX);
	return true;
}

static int take_next(struct merge *merge)
{
	struct source *next = lowest(merge);
	int err = 0;

	if (take_number(merge, &next->item.header))
		err = merge->take(merge->context, &next->item);
	return err ? err : advance(merge, next);
}

int dump_set_read(struct dump_set *set, size_t recording,
		  int (*take)(void *context, const struct dump_item *item), void *context)
{
	struct merge merge = {
		.set = set, .recording = recording, .take = take, .context = context
	};
	int err = 0;

	set->recordings[recording].read = true;
	do {
		while (!err && is_another_due(&merge))
			err = open_next(&merge);
		close_ended(&merge);
		if (!err && merge.count)
			err = take_next(&merge);
		close_ended(&merge);
	} while (!err && (merge.count || is_another_due(&merge)));
	while (merge.count)
		dump_reader_close(merge.sources[--merge.count].reader);
	free(merge.sources);
	return err;
}
