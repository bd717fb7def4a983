// SPDX-License-Identifier: BSD-2-Clause
#include "capture/stacks/stack_taker.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/demangle.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/string.h"
#include "capture/stacks/code_map.h"
#include "capture/stacks/frame_ids.h"
#include "capture/stacks/jit_names.h"
#include "capture/stacks/modules.h"
#include "capture/stacks/stack_ids.h"
#include "capture/targets/load_prediction.h"
#include "host/proc.h"
#include "symbols/python_stack.h"

#define MAX_FRAMES 262144 /* different ones: as many as the ledger keeps */

struct process {
	pid_t pid;
	uint64_t number; /* no other program has it, whatever its pid; from 1 on */
	bool is_stale;   /* it has mapped more since */
	struct code_map map;
	struct jit_names jit;
	struct stack_ids_shared shared;
};

struct stack_taker {
	struct stack_taker_options options;
	struct table_store *tables;
	struct modules modules;
	struct process **processes;
	size_t count, capacity;
	bool stale;        /* one of them is */
	struct map frames; /* frame_ids_key() or what a Python frame is -> FRAME_IDS_..., its id */
	uint32_t frame_ids, frame_ids_gone; /* given; of these, so many are not in use any more */
	struct stack_ids ids;               /* of stacks */
	uint64_t programs;                  /* there were */
	uint64_t jit_bytes;                 /* names of generated code take */
	struct string record, name;         /* scratch */
	struct source_line lines[SOURCE_LINES_MOST];
};

/* ---- processes ------------------------------------------------------------------------------- */

static struct process *find(const struct stack_taker *taker, pid_t pid)
{
	size_t i;

	for (i = 0; i < taker->count; i++)
		if (taker->processes[i]->pid == pid)
			return taker->processes[i];
	return NULL;
}

/* It has begun then (CLOCK_REALTIME; 0: not known). */
static void begin(struct stack_taker *taker, struct process *process, uint64_t since_ns)
{
	process->number = ++taker->programs;
	jit_names_begin(&process->jit, &taker->jit_bytes, since_ns);
}

static uint64_t start_of(pid_t pid)
{
	struct proc_info info;

	if (proc_read(pid, &info))
		return 0;
	return info.start_ns - clock_boottime_offset_ns() + clock_realtime_offset_ns();
}

static struct process *add(struct stack_taker *taker, pid_t pid)
{
	struct process *process = find(taker, pid);

	if (process)
		return process;
	if (memory_grow((void **)&taker->processes, &taker->capacity, taker->count + 1,
			sizeof(*taker->processes)))
		return NULL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	begin(taker, process, start_of(pid));
	taker->processes[taker->count++] = process;
	return process;
}

static void look(struct stack_taker *taker, struct process *process)
{
	int err;

	process->is_stale = false;
	if (!taker->options.native)
		return;
	jit_names_look(&process->jit, process->pid);
	err = code_map_read(&process->map, process->pid, &taker->modules);
	if (!err)
		err = code_map_publish(&process->map, taker->options.ranges_fd, process->pid);
	if (err && err != -ESRCH)
		log_debug("process %d: its mappings cannot be read (%s): its stacks end early",
			  process->pid, strerror(-err));
}

static int expect(int fd, const char *path, void *context)
{
	modules_expect(context, fd, path);
	return 0;
}

void stack_taker_expect(struct stack_taker *taker, pid_t pid, const char *program)
{
	if (taker && taker->options.native)
		load_prediction_each(pid, program, expect, &taker->modules);
}

void stack_taker_wait(struct stack_taker *taker, int ms)
{
	if (taker)
		table_store_wait(taker->tables, ms);
}

void stack_taker_look(struct stack_taker *taker, pid_t pid)
{
	struct process *process = taker ? add(taker, pid) : NULL;

	if (process)
		look(taker, process);
}

void stack_taker_executed(struct stack_taker *taker, pid_t pid, uint64_t ts_ns)
{
	struct process *process = taker ? add(taker, pid) : NULL;

	if (!process)
		return;
	begin(taker, process, ts_ns + clock_realtime_offset_ns());
	look(taker, process);
}

void stack_taker_mapped(struct stack_taker *taker, pid_t pid)
{
	struct process *process = taker ? find(taker, pid) : NULL;

	if (process)
		process->is_stale = taker->stale = true;
}

void stack_taker_refresh(struct stack_taker *taker)
{
	size_t i;

	if (!taker || !taker->stale)
		return;
	taker->stale = false;
	for (i = 0; i < taker->count; i++)
		if (taker->processes[i]->is_stale)
			look(taker, taker->processes[i]);
}

static void process_free(struct stack_taker *taker, struct process *process)
{
	stack_ids_forget(&taker->ids, &process->shared);
	code_map_fini(&process->map);
	jit_names_fini(&process->jit);
	free(process);
}

void stack_taker_forget(struct stack_taker *taker, pid_t pid)
{
	const uint32_t key = pid;
	size_t i;

	for (i = 0; taker && i < taker->count; i++) {
		if (taker->processes[i]->pid != pid)
			continue;
		bpf_map_delete_elem(taker->options.ranges_fd, &key);
		process_free(taker, taker->processes[i]);
		taker->processes[i] = taker->processes[--taker->count];
		return;
	}
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void append_texts(struct stack_taker *taker, const char *const texts[MS_FRAME_TEXTS_COUNT])
{
	const size_t most = MS_FRAME_TEXTS_MAX / MS_FRAME_TEXTS_COUNT - 1;
	int i;

	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++) {
		string_append(&taker->record, texts[i], strnlen(texts[i], most));
		string_append_char(&taker->record, '\0');
	}
}

static int feed_frame(struct stack_taker *taker, struct ms_frame_record *frame,
		      const char *const texts[MS_FRAME_TEXTS_COUNT])
{
	string_clear(&taker->record);
	string_append(&taker->record, (const char *)frame, sizeof(*frame));
	append_texts(taker, texts);
	if (taker->record.failed)
		return 0;
	frame->length = taker->record.length - sizeof(*frame);
	frame->event.size = taker->record.length;
	memcpy(taker->record.bytes, frame, sizeof(*frame));
	return taker->options.feed(taker->options.context, taker->record.bytes,
				   taker->record.length);
}

/* What the debug information says of a frame; the texts are to live until the frame is fed. */
static void put_line(struct ms_frame_record *frame, const struct source_line *line,
		     const char *texts[MS_FRAME_TEXTS_COUNT])
{
	frame->line = line->line;
	texts[MS_FRAME_SOURCE] = line->file;
}

static int feed_inlined(struct stack_taker *taker, const struct ms_frame_record *outer, uint32_t id,
			const struct source_line *line,
			const char *const outer_texts[MS_FRAME_TEXTS_COUNT])
{
	struct ms_frame_record frame = *outer;
	const char *texts[MS_FRAME_TEXTS_COUNT];

	memcpy(texts, outer_texts, sizeof(texts));
	frame.id = id;
	frame.offset = 0;
	frame.flags |= MS_FRAME_INLINED;
	put_line(&frame, line, texts);
	string_clear(&taker->name);
	demangle_append(&taker->name, line->function);
	string_append_char(&taker->name, '\0');
	texts[MS_FRAME_FUNCTION] = taker->name.failed ? "" : taker->name.bytes;
	return feed_frame(taker, &frame, texts);
}

static void append_jit_name(struct stack_taker *taker, struct process *process, uint64_t address,
			    uint32_t back, uint32_t *offset)
{
	const char *name = jit_names_find(&process->jit, process->pid, address - back, offset);

	if (!name)
		return;
	demangle_append(&taker->name, name);
	*offset += back;
}

/*
 * Feeds what the code at an address is: functions that the compiler has put into one another, the
 * innermost first, and the one that has them all. `*count` is how many, with ids from frame->id on.
 */
static int name_native(struct stack_taker *taker, struct process *process,
		       const struct ms_stack_frame *from, const struct code_range *range,
		       struct ms_frame_record *frame, size_t *count)
{
	/* The call is what is looked for, not what follows it. */
	const uint32_t back = from->flags & MS_FRAME_EXACT ? 0 : 1, first = frame->id;
	struct module *module = code_range_file(range);
	const char *texts[MS_FRAME_TEXTS_COUNT] = { "", "", "", "" };
	uint64_t place, address = from->address;
	size_t lines = 0, i;
	int err = 0;

	string_clear(&taker->name);
	if (module) {
		place = from->address - range->start + range->offset;
		texts[MS_FRAME_MODULE] = module->path;
		texts[MS_FRAME_BUILD_ID] = module->image.build_id;
		if (elf_image_address(&module->image, place, &address))
			lines = module_lines(&taker->modules, module, address - back, taker->lines,
					     SOURCE_LINES_MOST);
	}
	frame->address = address;
	for (i = 0; !err && i + 1 < lines; i++)
		err = feed_inlined(taker, frame, first + i, &taker->lines[i], texts);
	*count = i + 1;
	string_clear(&taker->name);
	if (module &&
	    module_function(&taker->modules, module, place - back, &taker->name, &frame->offset))
		frame->offset += back;
	else if (lines)
		demangle_append(&taker->name, taker->lines[lines - 1].function);
	else if (!module && process)
		append_jit_name(taker, process, from->address, back, &frame->offset);
	string_append_char(&taker->name, '\0');
	if (!taker->name.failed)
		texts[MS_FRAME_FUNCTION] = taker->name.bytes;
	if (lines)
		put_line(frame, &taker->lines[lines - 1], texts);
	frame->id = first + *count - 1;
	return err ? err : feed_frame(taker, frame, texts);
}

/* Ids that are not in use any more leave their room to others. */
static bool has_room(const struct stack_taker *taker)
{
	return taker->frame_ids - taker->frame_ids_gone < MAX_FRAMES;
}

#define PYTHON_KEY_BYTES 5 /* line and flags, in front of both names */

/* The id of a Python frame, which is fed if it is new; 0: there is no room for it. */
static uint32_t id_of_python(struct stack_taker *taker, const struct ms_event *event,
			     const struct ms_stack_frame *from, int *err)
{
	const struct python_code *code = pythons_code(taker->options.pythons, event, from);
	struct ms_frame_record frame = { .event = *event,
					 .kind = MS_FRAME_PYTHON,
					 .flags = from->flags & MS_FRAME_INFERRED,
					 .line = code ? python_code_line(code, from->detail) : 0 };
	const char *texts[MS_FRAME_TEXTS_COUNT] = { "", "", "", "" };
	const uint64_t *known;
	uint64_t key;

	/* What it is, and nothing else: processes that run one program share them. */
	string_clear(&taker->name);
	string_append(&taker->name, (const char *)&frame.line, sizeof(frame.line));
	string_append_char(&taker->name, (char)frame.flags);
	if (code)
		string_append(&taker->name, code->name.bytes, code->name.length);
	string_append_char(&taker->name, '\0');
	if (code)
		string_append(&taker->name, code->filename.bytes, code->filename.length);
	string_append_char(&taker->name, '\0');
	if (taker->name.failed)
		return 0;
	key = string_hash(map_secret(), taker->name.bytes, taker->name.length);
	known = map_get(&taker->frames, key);
	if (known)
		return (uint32_t)*known;
	if (!has_room(taker) ||
	    map_set(&taker->frames, key, (taker->frame_ids + 1) | 1ull << FRAME_IDS_SHIFT))
		return 0;
	frame.event.type = MS_TYPE_FRAME;
	frame.id = ++taker->frame_ids;
	texts[MS_FRAME_FUNCTION] = taker->name.bytes + PYTHON_KEY_BYTES;
	texts[MS_FRAME_SOURCE] = texts[MS_FRAME_FUNCTION] + strlen(texts[MS_FRAME_FUNCTION]) + 1;
	*err = feed_frame(taker, &frame, texts);
	return frame.id;
}

struct evaluation {
	struct stack_taker *taker;
	const struct process *process;
};

static enum python_stack_part part_of(const struct ms_stack_frame *frame, void *context)
{
	const struct evaluation *evaluation = context;
	struct stack_taker *taker = evaluation->taker;
	const struct code_range *range =
		evaluation->process ? code_map_find(&evaluation->process->map, frame->address - 1) :
				      NULL;
	uint32_t offset;

	if (!range || !range->module)
		return PYTHON_STACK_OTHER;
	string_clear(&taker->name);
	module_function(&taker->modules, range->module,
			frame->address - 1 - range->start + range->offset, &taker->name, &offset);
	string_append_char(&taker->name, '\0');
	return taker->name.failed ? PYTHON_STACK_OTHER :
				    python_stack_part_of(taker->name.bytes, range->module->path);
}

/* Whether the program has said in the meantime what the code is. */
static bool has_name_now(struct process *process, const struct ms_stack_frame *from, uint64_t back)
{
	uint32_t offset;

	return process &&
	       jit_names_find(&process->jit, process->pid, from->address - back, &offset);
}

/*
 * Puts the ids of a frame, of which the new ones are fed, and of those that were put into its code:
 * at most `room`, which is not 0. Returns how many.
 */
static size_t put_ids(struct stack_taker *taker, const struct ms_event *event,
		      struct process *process, const struct ms_stack_frame *from, uint32_t *ids,
		      size_t room, int *err)
{
	const uint64_t back = from->flags & MS_FRAME_EXACT ? 0 : 1;
	const struct code_range *range =
		process ? code_map_find(&process->map, from->address - back) : NULL;
	const uint64_t key = frame_ids_key(event, from, range, code_range_file(range),
					   process ? process->number : 0),
		       *known = map_get(&taker->frames, key);
	struct ms_frame_record frame = { .event = *event,
					 .kind = from->kind,
					 .flags = from->flags };
	uint32_t first = taker->frame_ids + 1;
	uint64_t nameless;
	size_t count = 0;

	if (known && !(*known & FRAME_IDS_NAMELESS && has_room(taker) &&
		       has_name_now(process, from, back))) {
		first = (uint32_t)*known;
		count = (*known & ~FRAME_IDS_NAMELESS) >> FRAME_IDS_SHIFT;
	} else if (has_room(taker)) {
		frame.event.type = MS_TYPE_FRAME;
		frame.id = first;
		*err = name_native(taker, process, from, range, &frame, &count);
		taker->frame_ids += count;
		/* Its name, which was made last, is a zero byte. */
		nameless =
			!code_range_file(range) && taker->name.length <= 1 ? FRAME_IDS_NAMELESS : 0;
		if (map_set(&taker->frames, key,
			    first | (uint64_t)count << FRAME_IDS_SHIFT | nameless))
			count = 0;
	}
	if (!count)
		ids[0] = 0;
	return count ? frame_ids_fit(first, count, ids, room) : 1;
}

struct known {
	bool all, any,
		file_last; /* file_last: the frame behind which the walk has ended is of one */
};

/*
 * Which frames say where they are. Of a process that was gone before it was looked at, only
 * addresses are known.
 */
static struct known known_of(const struct process *process, const struct ms_stack *record)
{
	struct known known = { .all = true };
	const struct code_range *range;
	struct ms_stack_frame frame;
	size_t i;

	for (i = 0; i < record->count; i++) {
		memcpy(&frame, record->frames + i * sizeof(frame), sizeof(frame));
		range = process ? code_map_find(&process->map, frame.address - 1) : NULL;
		known.any |= frame.kind != MS_FRAME_NATIVE || range;
		known.all &= frame.kind != MS_FRAME_NATIVE || range;
		known.file_last = frame.kind == MS_FRAME_NATIVE && code_range_file(range);
	}
	return known;
}

static uint64_t hash_of(const struct ms_stack *stack, const uint32_t *ids, size_t count)
{
	return map_hash(map_secret(),
			string_hash(map_secret(), ids, count * sizeof(*ids)) + stack->end);
}

static int feed_stack(struct stack_taker *taker, struct process *process,
		      const struct ms_stack *from, const uint32_t *ids, size_t count)
{
	struct ms_stack stack = *from;

	if (process && stack_ids_add(&taker->ids, &process->shared, from->id,
				     hash_of(from, ids, count)) != from->id)
		return 0;

	stack.form = MS_STACK_FRAMES;
	stack.count = (uint16_t)count;
	stack.event.size = sizeof(stack) + count * sizeof(*ids);
	string_clear(&taker->record);
	string_append(&taker->record, (const char *)&stack, sizeof(stack));
	string_append(&taker->record, (const char *)ids, count * sizeof(*ids));
	return taker->record.failed ? 0 :
				      taker->options.feed(taker->options.context,
							  taker->record.bytes, stack.event.size);
}

int stack_taker_take(struct stack_taker *taker, const struct ms_stack *record)
{
	struct process *process = find(taker, (pid_t)record->event.pid);
	size_t count = record->count < MS_STACK_MOST ? record->count : MS_STACK_MOST;
	struct evaluation evaluation = { taker, process };
	struct ms_stack_frame frames[MS_STACK_MOST];
	uint32_t ids[MS_STACK_MOST];
	__u16 order[MS_STACK_MOST];
	struct ms_stack stack = *record;
	struct known known = known_of(process, record);
	size_t put = 0, i;
	int err = 0;

	if (process && !known.all) {
		look(taker, process);
		known = known_of(process, record);
	}
	if (!known.any)
		return 0;
	/* It was mapped just now, and the kernel side has yet to be told. */
	if (stack.end == MS_STACK_END_NO_MODULE && known.file_last)
		stack.end = MS_STACK_END_NO_TABLE;
	memcpy(frames, record->frames, count * sizeof(*frames));
	count = python_stack_order(frames, count, part_of, &evaluation, order);
	for (i = 0; !err && i < count; i++) {
		const struct ms_stack_frame *frame = &frames[order[i]];
		const size_t room = frame_ids_room(put, count - i - 1);

		if (pythons_hide(taker->options.pythons, &record->event, frame))
			continue;
		if (frame->kind == MS_FRAME_PYTHON)
			ids[put++] = id_of_python(taker, &record->event, frame, &err);
		else
			put += put_ids(taker, &record->event, process, frame, ids + put, room,
				       &err);
		/* That Python's callers are missing says more than why native ones are. */
		if (frame->flags & MS_FRAME_MORE)
			stack.end = MS_STACK_END_DEPTH;
	}
	return err ? err : feed_stack(taker, process, &stack, ids, put);
}

uint32_t stack_taker_id(const struct stack_taker *taker, uint32_t id)
{
	return stack_ids_find(&taker->ids, id);
}

/* From now on, the kernel side gives each stack that comes a new id. */
static void renew_ids(struct stack_taker *taker)
{
	size_t i;

	for (i = 0; i < taker->count; i++)
		stack_ids_forget(&taker->ids, &taker->processes[i]->shared);
	++*taker->options.generation;
}

void stack_taker_keep(struct stack_taker *taker, const struct stacks *stacks)
{
	renew_ids(taker);
	stack_ids_keep(&taker->ids, &stacks->stack_places);
	taker->frame_ids_gone =
		taker->frame_ids - frame_ids_keep(&taker->frames, &stacks->frame_places);
}

void stack_taker_rest(struct stack_taker *taker)
{
	modules_rest(&taker->modules, clock_monotonic_ns());
	if (taker->ids.others.count <= STACK_IDS_MOST)
		return;
	log_debug("%zu ids of stacks that had others before are given up", taker->ids.others.count);
	renew_ids(taker);
}

uint64_t stack_taker_cpu_ns(const struct stack_taker *taker)
{
	return taker ? modules_cpu_ns(&taker->modules) + table_store_cpu_ns(taker->tables) : 0;
}

/* ---- opening and closing --------------------------------------------------------------------- */

int stack_taker_open(struct stack_taker **result, const struct stack_taker_options *options)
{
	struct stack_taker *taker = calloc(1, sizeof(*taker));
	int err;

	if (!taker)
		return -ENOMEM;
	taker->options = *options;
	taker->modules.map_files = options->map_files;
	err = table_store_open(&taker->tables, options->tables_fd, options->table_bytes,
			       options->table_cache);
	if (!err)
		err = modules_open(&taker->modules, options->native);
	if (err) {
		table_store_close(taker->tables);
		modules_fini(&taker->modules);
		free(taker);
		return err;
	}
	taker->modules.tables = taker->tables;
	*result = taker;
	return 0;
}

void stack_taker_close(struct stack_taker *taker)
{
	if (!taker)
		return;
	table_store_close(taker->tables);
	while (taker->count)
		process_free(taker, taker->processes[--taker->count]);
	free(taker->processes);
	modules_fini(&taker->modules);
	map_fini(&taker->frames);
	stack_ids_fini(&taker->ids);
	string_fini(&taker->record);
	string_fini(&taker->name);
	free(taker);
}
