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
	map_fini(&set->by_number);
	*set = (struct dump_set){ 0 };
}

/* ---- which files ----------------------------------------------------------------------------- */

static struct dump_set_recording *recording_of(struct dump_set *set, uint64_t number)
{
	const uint64_t *place = map_get(&set->by_number, number);

	if (place)
		return &set->recordings[*place];
	if (memory_grow(&set->recordings, &set->capacity, set->count + 1,
			sizeof(*set->recordings)) ||
	    map_set(&set->by_number, number, set->count))
		return NULL;
	set->recordings[set->count] = (struct dump_set_recording){ .recording = number };
	return &set->recordings[set->count++];
}

static int file_add(struct dump_set_recording *recording, const struct dump_set_file *file)
{
	size_t place = recording->count;
	char *copy;

	if (memory_grow(&recording->files, &recording->capacity, recording->count + 1,
			sizeof(*recording->files)))
		return -ENOMEM;
	copy = strdup(file->path);
	if (!copy)
		return -ENOMEM;
	for (; place && recording->files[place - 1].first_sequence > file->first_sequence; place--)
		recording->files[place] = recording->files[place - 1];
	recording->files[place] = *file;
	recording->files[place].path = copy;
	recording->count++;
	return 0;
}

static int block_add(struct dump_set *set, const char *path, const struct block_header *header)
{
	struct dump_set_recording *recording = recording_of(set, header->recording);
	const struct dump_set_file file = { .path = (char *)path,
					    .number = set->files,
					    .first_sequence = header->sequence };

	return recording ? file_add(recording, &file) : -ENOMEM;
}

static int refuse(struct dump_set *set, const struct dump_item *last,
		  const struct dump_reader *reader)
{
	const char *path = dump_reader_name(reader);

	set->refused++;
	if (set->quiet)
		return 0;
	if (last->kind == DUMP_TOO_NEW)
		log_error(
			"%s: its format is version %u, and this program reads version %u: use a newer one",
			path, last->header.major, BLOCK_MAJOR);
	else if (!dump_reader_size(reader))
		log_error("%s: empty: nothing was recorded, or nothing was written yet", path);
	else
		log_error("%s: not a recording of memscope-bpf, or nothing in it is whole", path);
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
						refuse(set, &item, reader);
	set->files += !err;
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

/* Another recording in the same file. */
struct other {
	uint64_t recording;
	struct dump_set_file file; /* the path is the source's */
};

struct source {
	struct dump_reader *reader;
	const char *path; /* the set's */
	size_t number;    /* and these: as in struct dump_set_file */
	uint64_t begin, end;
	struct dump_item item; /* the next one; a block of the recording, or the end */

	struct other *others;
	size_t count, capacity;
	struct map by_number; /* of the recording -> place in the array */
	uint64_t spread;      /* bytes from the first to the last block of each, added up */
	bool told;            /* that there are too many */
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

/* What lies between the blocks of each is read for each: of real ones that is nothing. */
#define SPREAD_MAX 4 /* times the length of the file */

static void tell_many(struct source *source)
{
	if (!source->told)
		log_warning("%s: has more than %u recordings, or their blocks are mixed; the others"
			    " are left out",
			    source->path, DUMP_SET_OTHERS);
	source->told = true;
}

static int other_add(struct source *source, const struct dump_item *item)
{
	struct other other = {
		.recording = item->header.recording,
		.file = { .path = (char *)source->path,
			  .number = source->number,
			  .first_sequence = item->header.sequence,
			  .begin = item->offset,
			  .end = item->offset + item->bytes },
	};

	if (source->count == DUMP_SET_OTHERS) {
		tell_many(source);
		return 0;
	}
	source->spread += item->bytes;
	if (memory_grow(&source->others, &source->capacity, source->count + 1,
			sizeof(*source->others)) ||
	    map_set(&source->by_number, other.recording, source->count))
		return -ENOMEM;
	source->others[source->count++] = other;
	return 0;
}

/* Blocks of other recordings are for later: where the first and the last one of each are. */
static int note_other(struct source *source, const struct dump_item *item)
{
	const uint64_t *place, end = item->offset + item->bytes;
	struct dump_set_file *file;

	/* They were noted when the recording was read that the file begins with. */
	if (source->end)
		return 0;
	place = map_get(&source->by_number, item->header.recording);
	if (!place)
		return other_add(source, item);
	file = &source->others[*place].file;
	if (source->spread + (end - file->end) > SPREAD_MAX * dump_reader_size(source->reader)) {
		tell_many(source);
		return 0;
	}
	source->spread += end - file->end;
	file->end = end;
	return 0;
}

static int others_add(struct dump_set *set, const struct source *source)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && !set->peeks && i < source->count; i++) {
		struct dump_set_recording *other = recording_of(set, source->others[i].recording);

		if (!other)
			return -ENOMEM;
		if (other->read)
			log_warning("%s: its part of a recording that begins in other files is left"
				    " out",
				    source->path);
		else
			err = file_add(other, &source->others[i].file);
	}
	return err;
}

/* Goes on to the file's next block of this recording. */
static int advance(struct merge *merge, struct source *source)
{
	for (;;) {
		const uint64_t number = merge->set->recordings[merge->recording].recording;
		int err = dump_reader_next(source->reader, &source->item);

		source->item.file = source->number;
		if (!err && source->end && source->item.offset >= source->end)
			source->item.kind = DUMP_END;
		if (err || source->item.kind == DUMP_END)
			return err;
		if (source->item.kind != DUMP_BLOCK) {
			err = merge->take(merge->context, &source->item);
			if (source->item.kind == DUMP_TOO_NEW) {
				log_warning("%s: the rest of it has a newer format version; read it"
					    " with a newer memscope-bpf",
					    source->path);
				source->item.kind = DUMP_END;
				return err;
			}
		} else if (source->item.header.recording != number) {
			err = note_other(source, &source->item);
		} else {
			return 0;
		}
		if (err)
			return err;
	}
}

static int open_next(struct merge *merge)
{
	const struct dump_set_file *file =
		&merge->set->recordings[merge->recording].files[merge->opened];
	struct source source = {
		.path = file->path, .number = file->number, .begin = file->begin, .end = file->end
	};
	int err;

	if (memory_grow(&merge->sources, &merge->capacity, merge->count + 1,
			sizeof(*merge->sources)))
		return -ENOMEM;
	err = dump_reader_open(&source.reader, source.path);
	merge->opened++;
	if (err)
		return err == -ENOENT ? 0 : err;
	dump_reader_go_to(source.reader, source.begin);
	merge->sources[merge->count++] = source;
	return advance(merge, &merge->sources[merge->count - 1]);
}

static void source_close(struct source *source)
{
	dump_reader_close(source->reader);
	free(source->others);
	map_fini(&source->by_number);
}

static int close_ended(struct merge *merge)
{
	size_t i = 0;
	int err = 0;

	while (!err && i < merge->count) {
		if (merge->sources[i].item.kind != DUMP_END) {
			i++;
			continue;
		}
		err = others_add(merge->set, &merge->sources[i]);
		source_close(&merge->sources[i]);
		merge->sources[i] = merge->sources[--merge->count];
	}
	return err;
}

/* If two have the same number, what only closes a file comes last. */
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
	merge->next_closing = header->sequence + (header->sequence != UINT64_MAX);
	if (!closing)
		merge->next_sequence = merge->next_closing;
	return true;
}

static int take_next(struct merge *merge)
{
	struct source *next = lowest(merge);
	int err = 0;

	if (take_number(merge, &next->item.header) || merge->set->repeats)
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

	set->recordings[recording].read = !set->peeks;
	do {
		while (!err && is_another_due(&merge))
			err = open_next(&merge);
		if (!err)
			err = close_ended(&merge);
		if (!err && merge.count)
			err = take_next(&merge);
		if (!err)
			err = close_ended(&merge);
	} while (!err && (merge.count || is_another_due(&merge)));
	while (merge.count)
		source_close(&merge.sources[--merge.count]);
	free(merge.sources);
	return err;
}

/* ---- its end --------------------------------------------------------------------------------- */

static int note_last(const struct dump_set_recording *recording, const struct dump_set_file *file,
		     uint64_t *last_ts_ns)
{
	struct dump_reader *reader;
	struct dump_item item;
	int err = dump_reader_open(&reader, file->path);

	if (err)
		return err == -ENOENT ? 0 : err;
	dump_reader_go_to(reader, file->begin);
	do {
		err = dump_reader_next(reader, &item);
		if (!err && item.kind == DUMP_BLOCK &&
		    item.header.recording == recording->recording &&
		    item.header.last_ts_ns > *last_ts_ns)
			*last_ts_ns = item.header.last_ts_ns;
	} while (!err && item.kind != DUMP_END && item.kind != DUMP_TOO_NEW);
	dump_reader_close(reader);
	return err;
}

int dump_set_last(const struct dump_set_recording *recording, uint64_t *last_ts_ns)
{
	size_t i;
	int err = 0;

	*last_ts_ns = 0;
	for (i = 0; !err && i < recording->count; i++)
		err = note_last(recording, &recording->files[i], last_ts_ns);
	return err;
}
