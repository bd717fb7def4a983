/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings of several kinds, whole as they were written, and everything that can happen to their
 * files. What is damaged is decided by a seed.
 */
#ifndef MEMSCOPE_TESTS_DAMAGED_H
#define MEMSCOPE_TESTS_DAMAGED_H

#include "report_dump.h"

#define FILES_MAX 24
#define BLOCKS_MAX 200

static uint64_t seed;

static inline uint64_t below(uint64_t bound)
{
	seed = unit_random(seed);
	return (seed >> 20) % bound;
}

/* ---- recordings ------------------------------------------------------------------------------ */

/* The files of a recording, in the order of their names. */
struct files {
	struct string bytes[FILES_MAX];
	size_t count;
};

struct writing {
	struct files *files;
	bool is_ring; /* each segment has a file of its own */
};

static inline int write_block(void *context, const struct block_header *header, const void *stored)
{
	struct writing *writing = context;
	struct files *files = writing->files;
	struct string *bytes;

	if (!files->count || (writing->is_ring && header->type == BLOCK_SEGMENT))
		assert_true(files->count++ < FILES_MAX);
	bytes = &files->bytes[files->count - 1];
	string_append(bytes, (const char *)header, sizeof(*header));
	string_append(bytes, stored, header->stored_bytes);
	return 0;
}

static inline void describe(void *context, struct properties *properties)
{
	(void)context;
	properties_put(properties, "host", "example");
	properties_put(properties, "ops", "alloc,free,copy,memset,launch,sync,memory,context");
}

struct sample {
	uint64_t recording;
	bool is_ring;
	bool is_killed;  /* there is no end */
	bool has_bundle; /* of what there was in the middle, in a file of its own */
};

#define STEPS 360
#define PER_SEGMENT 60
#define PER_BLOCK 12

/* Allocations of three processes, each of which frees what it has allocated but for the last. */
static inline union record record_of_step(uint64_t step)
{
	const uint32_t pid = 100 + step / 3 % 3;
	const uint64_t addr = 0x7000000000 + (step - step % 3) * 4096;
	union record record;

	if (step < 9)
		record = record_process(MS_TYPE_ATTACH, "train", 0);
	else if (step % 3 == 0)
		record = record_on(0, record_alloc("cuMemAlloc_v2", addr, 4096 * (1 + step)));
	else if (step % 3 == 1)
		record = record_free_begin(addr - 27 * 4096);
	else
		record = record_free("cuMemFree_v2", addr - 27 * 4096);
	if (step >= 9 && step < 36 && step % 3)
		record = record_call("cuCtxSynchronize");
	return record_at(1000000000 + step * 1000000, record_of(pid, MS_START_NS, record));
}

static inline void add_bundle(struct dump_writer *writer, struct files *files, uint64_t now_ns)
{
	struct writing bundle = { .files = files };
	struct properties end = { 0 };
	struct string all = { 0 };
	size_t i;

	for (i = 0; i < files->count; i++)
		string_append(&all, files->bytes[i].bytes, files->bytes[i].length);
	files->bytes[files->count++] = all;
	properties_put(&end, "reason", "asked-for");
	assert_int_equal(dump_writer_end_copy(writer, &end, now_ns, write_block, &bundle), 0);
	properties_fini(&end);
}

static inline void write_sample(const struct sample *sample, struct files *files)
{
	struct writing writing = { .files = files, .is_ring = sample->is_ring };
	const struct dump_writer_options options = { .recording = sample->recording,
						     .write = write_block,
						     .describe = describe,
						     .context = &writing };
	struct dump_writer *writer = dump_writer_new(&options);
	struct pipeline live = { 0 };
	struct properties end = { 0 };
	uint64_t step, now_ns = 0;

	for (step = 0; step < STEPS; step++) {
		union record record = record_of_step(step);

		now_ns = record.event.ts_ns;
		if (sample->has_bundle && step == STEPS / 2)
			add_bundle(writer, files, now_ns);
		if (step % PER_SEGMENT == 0)
			assert_int_equal(dump_writer_segment(writer, &live.state, now_ns), 0);
		else if (step % PER_BLOCK == 0)
			assert_int_equal(dump_writer_flush(writer, now_ns), 0);
		assert_int_equal(dump_writer_add(writer, &record), 0);
		assert_int_equal(pipeline_feed(&live, &record, record.event.size), 0);
	}
	assert_int_equal(dump_writer_flush(writer, now_ns), 0);
	properties_put(&end, "reason", "exit");
	if (!sample->is_killed)
		assert_int_equal(dump_writer_end(writer, &end, now_ns), 0);
	properties_fini(&end);
	dump_writer_free(writer);
	state_fini(&live.state);
}

static inline void files_fini(struct files *files)
{
	while (files->count)
		string_fini(&files->bytes[--files->count]);
}

#define SAMPLES 6

static inline void make_sample(size_t which, struct files *files)
{
	static const struct sample samples[SAMPLES + 1] = {
		{ 1, false, false, false }, { 2, false, true, false }, { 3, true, false, false },
		{ 4, true, true, false },   { 5, true, false, true },  { 6, false, true, false },
		{ 7, false, false, false },
	};

	*files = (struct files){ 0 };
	write_sample(&samples[which], files);
	/* The last one has two recordings in one file. */
	if (which == SAMPLES - 1)
		write_sample(&samples[SAMPLES], files);
}

/* ---- damages --------------------------------------------------------------------------------- */

struct place {
	size_t begin, end;
};

/* Where the blocks are that are whole. */
static inline size_t find_blocks(const struct string *file, struct place places[BLOCKS_MAX])
{
	struct dump_reader *reader = dump_reader_of(file->bytes, file->length);
	struct dump_item item;
	size_t count = 0;

	while (!dump_reader_next(reader, &item) && item.kind != DUMP_END)
		if (item.kind == DUMP_BLOCK && count < BLOCKS_MAX)
			places[count++] = (struct place){ item.offset, item.offset + item.bytes };
	dump_reader_close(reader);
	return count;
}

static inline void put_part(struct string *out, const struct string *file, size_t begin, size_t end)
{
	string_append(out, file->bytes + begin, end - begin);
}

static inline void replace(struct string *file, struct string *by)
{
	string_fini(file);
	*file = *by;
}

static inline void flip(struct string *file, size_t at)
{
	file->bytes[at] = (char)(file->bytes[at] ^ 1 << below(8));
}

static inline void flip_any(struct string *file)
{
	flip(file, below(file->length));
}

/* Where the end is, and the index. */
static inline void flip_last(struct string *file)
{
	const size_t last = file->length < 400 ? file->length : 400;

	flip(file, file->length - 1 - below(last));
}

static inline void cut_any(struct string *file)
{
	file->length = below(file->length);
}

static inline void overwrite(struct string *file)
{
	size_t at = below(file->length), end = at + 1 + below(3000);

	for (; at < end && at < file->length; at++)
		file->bytes[at] = (char)below(256);
}

static inline void insert_noise(struct string *file)
{
	const size_t at = below(file->length);
	struct string out = { 0 };
	size_t i;

	put_part(&out, file, 0, at);
	for (i = below(200); i > 0; i--)
		string_append_char(&out, (char)below(256));
	put_part(&out, file, at, file->length);
	replace(file, &out);
}

/* Between two blocks, so that each of them stays whole. */
static inline void insert_between(struct string *file)
{
	struct place places[BLOCKS_MAX];
	const size_t count = find_blocks(file, places);
	struct string out = { 0 };
	size_t at;

	if (!count)
		return;
	at = places[below(count)].begin;
	put_part(&out, file, 0, at);
	string_append_text(&out, "MSCP?");
	put_part(&out, file, at, file->length);
	replace(file, &out);
}

static inline void cut_blocks(struct string *file)
{
	struct place places[BLOCKS_MAX];
	const size_t count = find_blocks(file, places);

	if (count)
		file->length = places[below(count)].begin;
}

/* Some in a row, of which the last one is often the last one of the file but for the index. */
static inline void remove_blocks(struct string *file)
{
	struct place places[BLOCKS_MAX];
	const size_t count = find_blocks(file, places);
	struct string out = { 0 };
	size_t first, last;

	if (count < 2)
		return;
	first = below(count - 1);
	last = below(2) ? count - 2 : first + below(count - 1 - first);
	put_part(&out, file, 0, places[first].begin);
	put_part(&out, file, places[last].end, file->length);
	replace(file, &out);
}

static inline void repeat_block(struct string *file)
{
	struct place places[BLOCKS_MAX];
	const size_t count = find_blocks(file, places);
	struct string out = { 0 };
	size_t which, at;

	if (!count)
		return;
	which = below(count);
	at = places[below(count)].begin;
	put_part(&out, file, 0, at);
	put_part(&out, file, places[which].begin, places[which].end);
	put_part(&out, file, at, file->length);
	replace(file, &out);
}

static inline void swap_blocks(struct string *file)
{
	struct place places[BLOCKS_MAX];
	const size_t count = find_blocks(file, places);
	struct string out = { 0 };
	size_t a, b;

	if (count < 2)
		return;
	a = below(2) ? count - 2 : below(count - 1);
	b = a + 1 + below(count - a - 1);
	put_part(&out, file, 0, places[a].begin);
	put_part(&out, file, places[b].begin, places[b].end);
	put_part(&out, file, places[a].end, places[b].begin);
	put_part(&out, file, places[a].begin, places[a].end);
	put_part(&out, file, places[b].end, file->length);
	replace(file, &out);
}

static void (*const damages_of_files[])(struct string *file) = {
	flip_any,       flip_last,  cut_any,       overwrite,    insert_noise,
	insert_between, cut_blocks, remove_blocks, repeat_block, swap_blocks,
};

static inline void swap_names(struct files *files)
{
	const size_t a = below(files->count), b = below(files->count);
	const struct string file = files->bytes[a];

	files->bytes[a] = files->bytes[b];
	files->bytes[b] = file;
}

static inline void remove_file(struct files *files)
{
	const size_t which = below(files->count);

	string_fini(&files->bytes[which]);
	files->count--;
	memmove(files->bytes + which, files->bytes + which + 1,
		(files->count - which) * sizeof(*files->bytes));
}

static inline void empty_file(struct files *files)
{
	files->bytes[below(files->count)].length = 0;
}

static inline void repeat_file(struct files *files)
{
	const struct string *file = &files->bytes[below(files->count)];
	struct string copy = { 0 };

	if (files->count == FILES_MAX)
		return;
	put_part(&copy, file, 0, file->length);
	files->bytes[files->count++] = copy;
	swap_names(files);
}

static void (*const damages_of_rings[])(struct files *files) = { swap_names, remove_file,
								 empty_file, repeat_file };

/* Returns whether anything is left. */
static inline bool damage_once(struct files *files)
{
	const size_t of_files = sizeof(damages_of_files) / sizeof(*damages_of_files);
	const size_t of_rings = sizeof(damages_of_rings) / sizeof(*damages_of_rings);
	size_t which = below(of_files + (files->count > 1 ? of_rings : 0));
	struct string *file = &files->bytes[below(files->count)];

	if (which >= of_files)
		damages_of_rings[which - of_files](files);
	else if (file->length)
		damages_of_files[which](file);
	return files->count > 0;
}

#endif /* MEMSCOPE_TESTS_DAMAGED_H */
