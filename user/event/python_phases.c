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
#define MOST_THREADS 65536 /* that have been in one of the functions */

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
	bool is_cut; /* there may be more */
};

struct open_function {
	struct place place;  /* line: of the latest call */
	uint32_t first_line; /* of the first one */
};

struct thread {
	uint64_t process; /* event_process_key() */
	struct ms_event header;
	struct open_function open[PYTHON_FUNCTIONS]; /* the outermost first */
	size_t count;
	uint64_t end_ns; /* of its latest call whose stack is known */
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

/* NULL: there is no memory, or there are too many. */
static struct thread *add(struct python_phases *phases, const struct ms_event *event)
{
	struct thread *thread = NULL;

	if (phases->threads.count < MOST_THREADS)
		thread = calloc(1, sizeof(*thread));
	if (thread && map_set(&phases->threads, key_of(event), (uintptr_t)thread)) {
		free(thread);
		return NULL;
	}
	if (thread) {
		thread->process = event_process_key(event->pid, event->start_ns);
		thread->header = *event;
	}
	return thread;
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

static bool goes_on(const struct open_function *open, const struct place *place)
{
	return open->place.function == place->function && open->place.outer == place->outer &&
	       (!place->line || place->line != open->first_line ||
		open->place.line == open->first_line);
}

static int enter(struct python_phases *phases, struct thread *thread, const struct place *place,
		 uint64_t ts_ns)
{
	thread->open[thread->count++] =
		(struct open_function){ .place = *place, .first_line = place->line };
	phases->seen[place->function] = true;
	return feed_marker(phases, thread, MS_MARKER_PUSH, place->function, ts_ns);
}

static int take_call(struct python_phases *phases, const struct event *event)
{
	const uint64_t *known = map_get(&phases->stacks, event_stack_id(event->call));
	const struct known_stack *stack = known ? &phases->known[*known] : NULL;
	struct thread *thread = find(phases, event->header);
	const struct place *places;
	size_t i;
	int err;

	if (!stack || (stack->is_cut && !stack->count) || (!thread && !stack->count))
		return 0;
	if (!thread)
		thread = add(phases, event->header);
	if (!thread)
		return 0;
	places = phases->places + stack->first;
	for (i = 0; i < thread->count && i < stack->count; i++) {
		if (!goes_on(&thread->open[i], &places[i]))
			break;
		thread->open[i].place.line = places[i].line;
	}
	err = leave(phases, thread, i);
	for (; !err && i < stack->count; i++)
		err = enter(phases, thread, &places[i], event_begin_ns(event));
	if (event_end_ns(event) > thread->end_ns)
		thread->end_ns = event_end_ns(event);
	return err;
}

static void forget(struct python_phases *phases, struct thread *thread)
{
	map_remove(&phases->threads, key_of(&thread->header));
	free(thread);
}

/* A process has ended, or executes another program: so have its functions. */
static int end_process(struct python_phases *phases, const struct ms_event *event)
{
	const uint64_t process = event_process_key(event->pid, event->start_ns);
	struct map_pair *pairs = map_sorted(&phases->threads);
	const size_t count = pairs ? phases->threads.count : 0;
	int err = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		struct thread *thread = (struct thread *)(uintptr_t)pairs[i].value;

		if (thread->process != process)
			continue;
		if (!err)
			err = leave(phases, thread, 0);
		forget(phases, thread);
	}
	free(pairs);
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
	size_t i;

	if (!phases)
		return;
	for (i = 0; i < phases->threads.capacity; i++)
		if (map_is_used(&phases->threads, i))
			free((struct thread *)(uintptr_t)phases->threads.slots[i].value);
	map_fini(&phases->threads);
	map_fini(&phases->frames);
	map_fini(&phases->stacks);
	free(phases->known);
	free(phases->places);
	free(phases);
}
