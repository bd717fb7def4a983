// SPDX-License-Identifier: BSD-2-Clause
#include "event/python_phases.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/string.h"
#include "event/event.h"

#define MOST_FRAMES 262144 /* of Python */
#define MOST_STACKS 65536  /* as many as the kernel side gives ids to */
#define MOST_THREADS 65536 /* whose last call is not the oldest */

/* Of a stack, or a call: it is in a function. */
struct place {
	uint64_t outer; /* hash of the Python frames that it was called through */
	uint32_t line;  /* that the function is at; 0: not known */
	uint8_t function;
};

/* The functions of a stack are places[first] and so on, the outermost first. */
struct known_stack {
	uint32_t first;
	uint8_t count;
	bool is_cut; /* there may be more: `outer` says nothing then */
};

struct open_function {
	struct place place;  /* line: of the latest call */
	uint32_t first_line; /* of the first one */
	bool is_cut;         /* so were all stacks that have had it */
};

struct thread {
	uint64_t process; /* event_process_key() */
	struct ms_event header;
	struct open_function open[PYTHON_FUNCTIONS]; /* the outermost first */
	size_t count;
	uint64_t end_ns;              /* of its latest call whose stack is known */
	struct thread *older, *newer; /* by their latest calls */
};

struct python_phases {
	const struct python_functions *functions;
	int (*feed)(void *context, void *record, size_t length);
	void *context;
	struct map frames; /* id of a Python frame -> its line << 8 | place of its function + 1 */
	struct map stacks; /* id -> place in `known` */
	struct known_stack *known;
	size_t known_count, known_capacity;
	struct place *places;
	size_t places_count, places_capacity;
	struct map threads; /* hash of process and tid -> struct thread */
	struct thread *oldest, *newest;
	bool seen[PYTHON_FUNCTIONS];
};

/* ---- functions ------------------------------------------------------------------------------- */

int python_functions_add(struct python_functions *functions, const char *text)
{
	const char *colon = strrchr(text, ':');
	struct python_function *function;
	char *copy;

	if (colon == text || !*text || (colon && !colon[1]))
		return -EINVAL;
	if (functions->count >= PYTHON_FUNCTIONS)
		return -ENOSPC;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	function = &functions->list[functions->count++];
	function->file = copy;
	function->name = copy;
	if (!colon)
		return 0;
	copy[colon - text] = '\0';
	function->name = copy + (colon - text) + 1;
	return 0;
}

void python_functions_fini(struct python_functions *functions)
{
	while (functions->count)
		free(functions->list[--functions->count].file);
}

static bool ends_with(const char *text, const char *end, char before)
{
	const size_t length = strlen(text), wanted = strlen(end);

	return length >= wanted && !strcmp(text + length - wanted, end) &&
	       (length == wanted || text[length - wanted - 1] == before);
}

/* Without a file, both are one text. */
static bool is_of(const struct python_function *function, const char *name, const char *file)
{
	return ends_with(name, function->name, '.') &&
	       (function->file == function->name || ends_with(file, function->file, '/'));
}

/* ---- frames and stacks ----------------------------------------------------------------------- */

static int note_frame(struct python_phases *phases, const struct ms_frame_record *frame)
{
	const char *texts[MS_FRAME_TEXTS_COUNT], *text = frame->texts;
	uint64_t value = (uint64_t)frame->line << 8;
	size_t i;

	if (frame->kind != MS_FRAME_PYTHON || frame->flags & MS_FRAME_INFERRED ||
	    phases->frames.count >= MOST_FRAMES)
		return 0;
	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++) {
		texts[i] = text;
		text += strlen(text) + 1;
	}
	for (i = 0; i < phases->functions->count; i++)
		if (is_of(&phases->functions->list[i], texts[MS_FRAME_FUNCTION],
			  texts[MS_FRAME_SOURCE]))
			break;
	if (i < phases->functions->count)
		value |= i + 1;
	return map_set(&phases->frames, frame->id, value);
}

static bool has(const struct place *places, size_t count, uint8_t function)
{
	while (count)
		if (places[--count].function == function)
			return true;
	return false;
}

/* Native code between Python's frames is left out: how much of it is found can differ. */
static size_t places_of(const struct python_phases *phases, const struct ms_stack *stack,
			struct place places[PYTHON_FUNCTIONS], bool *is_python)
{
	uint64_t outer = 0;
	size_t count = 0, i;
	uint32_t id;

	for (i = stack->count; i--;) {
		const uint64_t *frame;
		uint8_t function;

		memcpy(&id, stack->frames + i * sizeof(id), sizeof(id));
		frame = map_get(&phases->frames, id);
		if (!frame)
			continue;
		*is_python = true;
		function = *frame & 0xff;
		if (function && !has(places, count, function - 1))
			places[count++] =
				(struct place){ outer, (uint32_t)(*frame >> 8), function - 1 };
		outer = map_hash(map_secret(), outer ^ id);
	}
	return count;
}

static int note_stack(struct python_phases *phases, const struct ms_stack *stack)
{
	struct place places[PYTHON_FUNCTIONS];
	struct known_stack known = { .first = (uint32_t)phases->places_count };
	bool is_python = false;

	if (stack->form != MS_STACK_FRAMES || phases->known_count >= MOST_STACKS ||
	    map_get(&phases->stacks, stack->id))
		return 0;
	known.count = (uint8_t)places_of(phases, stack, places, &is_python);
	known.is_cut = stack->end == MS_STACK_END_DEPTH ||
		       (!is_python && stack->end != MS_STACK_END_COMPLETE);
	if (memory_grow(&phases->places, &phases->places_capacity,
			phases->places_count + known.count, sizeof(*places)) ||
	    memory_grow(&phases->known, &phases->known_capacity, phases->known_count + 1,
			sizeof(known)) ||
	    map_set(&phases->stacks, stack->id, phases->known_count))
		return -ENOMEM;
	if (known.count)
		memcpy(&phases->places[known.first], places, known.count * sizeof(*places));
	phases->places_count += known.count;
	phases->known[phases->known_count++] = known;
	return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static uint64_t key_of(const struct ms_event *event)
{
	return map_hash(map_secret(), event_process_key(event->pid, event->start_ns)) ^ event->tid;
}

static struct thread *find(const struct python_phases *phases, const struct ms_event *event)
{
	const uint64_t *found = map_get(&phases->threads, key_of(event));

	return found ? (struct thread *)(uintptr_t)*found : NULL;
}

static void unlink_thread(struct python_phases *phases, struct thread *thread)
{
	*(thread->older ? &thread->older->newer : &phases->oldest) = thread->newer;
	*(thread->newer ? &thread->newer->older : &phases->newest) = thread->older;
}

static void link_newest(struct python_phases *phases, struct thread *thread)
{
	thread->older = phases->newest;
	thread->newer = NULL;
	*(thread->older ? &thread->older->newer : &phases->oldest) = thread;
	phases->newest = thread;
}

static void forget(struct python_phases *phases, struct thread *thread)
{
	map_remove(&phases->threads, key_of(&thread->header));
	unlink_thread(phases, thread);
	free(thread);
}

static int feed_marker(struct python_phases *phases, const struct thread *thread,
		       enum ms_marker_action action, uint8_t function, uint64_t ts_ns)
{
	union {
		struct ms_marker marker;
		char bytes[sizeof(struct ms_marker) + MS_MARKER_NAME_BYTES];
	} record = { .bytes = { 0 } };
	const char *name = phases->functions->list[function].name;
	size_t length = strlen(name);

	record.marker.event = thread->header;
	record.marker.action = action;
	record.marker.source = MS_MARKER_BY_PYTHON;
	record.marker.event.type = MS_TYPE_MARKER;
	record.marker.event.stack = 0;
	record.marker.event.ts_ns = ts_ns;
	if (action == MS_MARKER_PUSH) {
		if (length >= MS_MARKER_NAME_BYTES) {
			length = MS_MARKER_NAME_BYTES - 1;
			record.marker.flags = MS_MARKER_CUT;
		}
		memcpy(record.marker.name, name, length);
		record.marker.length = (uint32_t)length + 1;
	}
	record.marker.event.size = sizeof(record.marker) + record.marker.length;
	return phases->feed(phases->context, &record, record.marker.event.size);
}

static int leave(struct python_phases *phases, struct thread *thread, size_t kept)
{
	int err = 0;

	while (!err && thread->count > kept)
		err = feed_marker(phases, thread, MS_MARKER_POP,
				  thread->open[--thread->count].place.function, thread->end_ns);
	return err;
}

/*
 * Nothing says when a thread ends before its process. So where there are very many, the one whose
 * last call is the oldest gives its place to a new one. NULL: `*err`.
 */
static struct thread *add(struct python_phases *phases, const struct ms_event *event, int *err)
{
	struct thread *thread = phases->oldest;

	if (phases->threads.count >= MOST_THREADS) {
		*err = leave(phases, thread, 0);
		forget(phases, thread);
		if (*err)
			return NULL;
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread || map_set(&phases->threads, key_of(event), (uintptr_t)thread)) {
		free(thread);
		*err = -ENOMEM;
		return NULL;
	}
	thread->process = event_process_key(event->pid, event->start_ns);
	thread->header = *event;
	link_newest(phases, thread);
	return thread;
}

/* Where it stands among those that the thread is in; their number: it is not in it. */
static size_t position_of(const struct thread *thread, uint8_t function)
{
	size_t i;

	for (i = 0; i < thread->count; i++)
		if (thread->open[i].place.function == function)
			break;
	return i;
}

static bool goes_on(const struct open_function *open, const struct place *place, bool is_cut)
{
	return open->place.function == place->function &&
	       (is_cut || open->is_cut || open->place.outer == place->outer) &&
	       (!place->line || place->line != open->first_line ||
		open->place.line == open->first_line);
}

static void go_on(struct open_function *open, const struct place *place, bool is_cut)
{
	open->place.line = place->line;
	if (is_cut)
		return;
	open->place.outer = place->outer;
	open->is_cut = false;
}

static int enter(struct python_phases *phases, struct thread *thread, const struct place *place,
		 bool is_cut, uint64_t ts_ns)
{
	thread->open[thread->count++] = (struct open_function){ .place = *place,
								.first_line = place->line,
								.is_cut = is_cut };
	phases->seen[place->function] = true;
	return feed_marker(phases, thread, MS_MARKER_PUSH, place->function, ts_ns);
}

/* Around those of a stack that is cut, the thread is in all functions that it was in before. */
static int take_stack(struct python_phases *phases, struct thread *thread,
		      const struct known_stack *stack, uint64_t ts_ns)
{
	const struct place *places = phases->places + stack->first;
	const size_t around = stack->is_cut ? position_of(thread, places[0].function) : 0;
	size_t i;
	int err;

	for (i = 0; around + i < thread->count && i < stack->count; i++) {
		struct open_function *open = &thread->open[around + i];

		if (!goes_on(open, &places[i], stack->is_cut))
			break;
		go_on(open, &places[i], stack->is_cut);
	}
	err = leave(phases, thread, around + i);
	for (; !err && i < stack->count; i++)
		if (position_of(thread, places[i].function) == thread->count)
			err = enter(phases, thread, &places[i], stack->is_cut, ts_ns);
	return err;
}

static int take_call(struct python_phases *phases, const struct event *event)
{
	const uint64_t *known = map_get(&phases->stacks, event_stack_id(event->call));
	const struct known_stack *stack = known ? &phases->known[*known] : NULL;
	struct thread *thread = find(phases, event->header);
	int err = 0;

	if (!stack || (stack->is_cut && !stack->count) || (!thread && !stack->count))
		return 0;
	if (!thread)
		thread = add(phases, event->header, &err);
	if (!thread)
		return err;
	unlink_thread(phases, thread);
	link_newest(phases, thread);
	err = take_stack(phases, thread, stack, event_begin_ns(event));
	if (event_end_ns(event) > thread->end_ns)
		thread->end_ns = event_end_ns(event);
	return err;
}

/* A process has ended, or executes another program: so have its functions. */
static int end_process(struct python_phases *phases, const struct ms_event *event)
{
	const uint64_t process = event_process_key(event->pid, event->start_ns);
	struct thread *thread, *next;
	int err = 0;

	for (thread = phases->oldest; thread; thread = next) {
		next = thread->newer;
		if (thread->process != process)
			continue;
		if (!err)
			err = leave(phases, thread, 0);
		forget(phases, thread);
	}
	return err;
}

int python_phases_end(struct python_phases *phases)
{
	struct thread *thread;
	int err = 0;

	for (thread = phases->oldest; thread && !err; thread = thread->newer)
		err = leave(phases, thread, 0);
	return err;
}

/* ---- records --------------------------------------------------------------------------------- */

int python_phases_take(struct python_phases *phases, const void *record, size_t length)
{
	struct event event;

	if (event_decode(record, length, &event))
		return 0;
	if (event.frame)
		return note_frame(phases, event.frame);
	if (event.stack)
		return note_stack(phases, event.stack);
	if (event.call && event_stack_id(event.call))
		return take_call(phases, &event);
	if (event.header->type == MS_TYPE_EXIT || event.header->type == MS_TYPE_EXEC)
		return end_process(phases, event.header);
	return 0;
}

bool python_phases_saw(const struct python_phases *phases, size_t place)
{
	return phases && phases->seen[place];
}

struct python_phases *python_phases_new(const struct python_functions *functions,
					int (*feed)(void *context, void *record, size_t length),
					void *context)
{
	struct python_phases *phases = calloc(1, sizeof(*phases));

	if (!phases)
		return NULL;
	phases->functions = functions;
	phases->feed = feed;
	phases->context = context;
	return phases;
}

void python_phases_free(struct python_phases *phases)
{
	if (!phases)
		return;
	while (phases->oldest)
		forget(phases, phases->oldest);
	map_fini(&phases->threads);
	map_fini(&phases->frames);
	map_fini(&phases->stacks);
	free(phases->known);
	free(phases->places);
	free(phases);
}
