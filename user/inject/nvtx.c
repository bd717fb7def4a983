// SPDX-License-Identifier: BSD-2-Clause
/*
 * libmemscope-nvtx.so, which NVTX loads into a command that is started with --markers=inject. It
 * passes each marker of the program to one function, which does nothing and has a probe. There is
 * no output, no lock and no thread; a push takes a call or two. After a fork, the child's copy
 * works in the same way.
 *
 * NVTX finds it by the variable NVTX_INJECTION64_PATH, at the first call of each module that has a
 * copy of NVTX 3, and asks it to fill in that module's table of functions. The layouts are those of
 * NVTX 3, which keeps them: written from its documentation, with nothing of its headers.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

#include "abi.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- NVTX's side ----------------------------------------------------------------------------- */

typedef void function(void);

enum { TABLE_CALLBACKS = 1, TABLE_VERSION = 3 };
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };

struct callbacks {
	size_t size;
	/* Places of pointers to functions, by number; 0 if there is no such module. */
	int (*module_table)(uint32_t module, function ***table[], unsigned int *count);
};

struct version {
	size_t size;
	uint32_t version, reserved;
	void (*set)(uint32_t version);
};

struct attributes {
	uint16_t version, size;
	uint32_t category, color_type, color;
	uint64_t payload_type, payload;
	uint32_t message_type;
	const void *message;
};

_Static_assert(offsetof(struct attributes, message_type) == 32, "layout of NVTX");
_Static_assert(offsetof(struct attributes, message) == 40, "layout of NVTX");

/* ---- what is read by the probe --------------------------------------------------------------- */

/*
 * Its code is neither empty nor equal to another function's, so no call of it is optimised away. A
 * nop is what a probe is cheapest at: the kernel emulates it.
 */
EXPORT __attribute__((noinline)) void memscope_nvtx_marker(uint64_t action, uint64_t domain,
							   const char *name, uint64_t id);

EXPORT void memscope_nvtx_marker(uint64_t action, uint64_t domain, const char *name, uint64_t id)
{
	__asm__ volatile("nop" ::"r"(action), "r"(domain), "r"(name), "r"(id) : "memory");
}

/* ---- texts that are kept --------------------------------------------------------------------- */

#define KEPT_BYTES (1u << 20) /* for names of domains and registered strings; more have none */

static char *kept;
static uint64_t kept_bytes;

/*
 * Nothing is allocated as the program allocates: it may call from within. NULL: there is no room.
 */
static void *keep(size_t bytes)
{
	char *pages = __atomic_load_n(&kept, __ATOMIC_ACQUIRE), *none = NULL;
	uint64_t place;

	if (!pages) {
		pages = mmap(NULL, KEPT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
		if (pages == MAP_FAILED)
			return NULL;
		if (!__atomic_compare_exchange_n(&kept, &none, pages, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			munmap(pages, KEPT_BYTES);
			pages = none;
		}
	}
	bytes = (bytes + 15) & ~(size_t)15;
	place = __atomic_load_n(&kept_bytes, __ATOMIC_RELAXED);
	do {
		if (place + bytes > KEPT_BYTES)
			return NULL;
	} while (!__atomic_compare_exchange_n(&kept_bytes, &place, place + bytes, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return pages + place;
}

static bool is_kept(const void *text)
{
	const char *pages = __atomic_load_n(&kept, __ATOMIC_ACQUIRE);

	return pages && (const char *)text >= pages && (const char *)text < pages + KEPT_BYTES;
}

static const char *keep_text(const char *text)
{
	const size_t length = text ? strnlen(text, MS_MARKER_NAME_BYTES - 1) : 0;
	char *copy = keep(length + 1);

	if (copy) {
		memcpy(copy, text ? text : "", length);
		copy[length] = '\0';
	}
	return copy;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct name {
	char bytes[MS_MARKER_NAME_BYTES +
		   8]; /* one more letter: it is cut where the probe cuts it */
	size_t length;
};

static void add_text(struct name *name, const char *text)
{
	const size_t room = sizeof(name->bytes) - 1 - name->length;
	const size_t length = text ? strnlen(text, room) : 0;

	memcpy(name->bytes + name->length, text ? text : "", length);
	name->length += length;
	name->bytes[name->length] = '\0';
}

/* In UTF-8. */
static void add_letter(struct name *name, uint32_t letter)
{
	char bytes[5] = { 0 };

	if (letter < 0x80) {
		bytes[0] = (char)letter;
	} else if (letter < 0x800) {
		bytes[0] = (char)(0xc0 | letter >> 6);
		bytes[1] = (char)(0x80 | (letter & 0x3f));
	} else if (letter < 0x10000) {
		bytes[0] = (char)(0xe0 | letter >> 12);
		bytes[1] = (char)(0x80 | (letter >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (letter & 0x3f));
	} else {
		bytes[0] = (char)(0xf0 | (letter >> 18 & 7));
		bytes[1] = (char)(0x80 | (letter >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (letter >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (letter & 0x3f));
	}
	add_text(name, bytes);
}

static void add_wide(struct name *name, const wchar_t *text)
{
	while (text && *text && name->length + 4 < sizeof(name->bytes))
		add_letter(name, (uint32_t)*text++);
}

/* A domain is a text that was kept: its name comes first, as "domain/name". */
static void begin_name(struct name *name, const void *domain)
{
	name->length = 0;
	name->bytes[0] = '\0';
	if (!is_kept(domain))
		return;
	add_text(name, domain);
	add_text(name, "/");
}

static void mark(enum ms_marker_action action, const void *domain, const char *text, uint64_t id)
{
	struct name name;

	if (text && is_kept(domain)) {
		begin_name(&name, domain);
		add_text(&name, text);
		text = name.bytes;
	}
	memscope_nvtx_marker(action, (uintptr_t)domain, text, id);
}

static void mark_wide(enum ms_marker_action action, const void *domain, const wchar_t *text,
		      uint64_t id)
{
	struct name name;

	begin_name(&name, domain);
	add_wide(&name, text);
	memscope_nvtx_marker(action, (uintptr_t)domain, name.bytes, id);
}

static void mark_attributes(enum ms_marker_action action, const void *domain,
			    const struct attributes *attributes, uint64_t id)
{
	const bool has_message =
		attributes && attributes->size >= offsetof(struct attributes, message) +
							  sizeof(attributes->message);
	const void *message = has_message ? attributes->message : NULL;

	if (message && attributes->message_type == MESSAGE_WIDE)
		mark_wide(action, domain, message, id);
	else if (message && (attributes->message_type == MESSAGE_ASCII ||
			     (attributes->message_type == MESSAGE_REGISTERED && is_kept(message))))
		mark(action, domain, message, id);
	else
		mark(action, domain, NULL, id);
}

static uint64_t next_range(void)
{
	static uint64_t last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* ---- levels ---------------------------------------------------------------------------------- */

/*
 * A push returns the level that it begins, from 0, and a pop the one that it ends: each domain has
 * levels of its own in each thread. Below 0: NVTX's number for a level that is not known, since the
 * thread is in too many domains at a time, or in none that could end.
 */
#define LEVEL_UNKNOWN (-2)
#define DOMAINS 8 /* that a thread is in at a time */

struct level {
	const void *domain;
	int count; /* 0: the place is free */
};

/* In the room that each thread has from its beginning: nothing is allocated for it later. */
static __thread struct level levels[DOMAINS] __attribute__((tls_model("initial-exec")));

static struct level *level_of(const void *domain)
{
	struct level *found = NULL;
	size_t i;

	for (i = 0; i < DOMAINS; i++)
		if (levels[i].count && levels[i].domain == domain)
			return &levels[i];
		else if (!levels[i].count && !found)
			found = &levels[i];
	if (found)
		found->domain = domain;
	return found;
}

static int enter(const void *domain)
{
	struct level *level = level_of(domain);

	return level ? level->count++ : LEVEL_UNKNOWN;
}

static int leave(const void *domain)
{
	struct level *level = level_of(domain);

	return level && level->count ? --level->count : LEVEL_UNKNOWN;
}

/* ---- the functions that NVTX calls ----------------------------------------------------------- */

static void mark_ex(const struct attributes *attributes)
{
	mark_attributes(MS_MARKER_INSTANT, NULL, attributes, 0);
}

static void mark_a(const char *text)
{
	mark(MS_MARKER_INSTANT, NULL, text, 0);
}

static void mark_w(const wchar_t *text)
{
	mark_wide(MS_MARKER_INSTANT, NULL, text, 0);
}

static uint64_t range_start_ex(const struct attributes *attributes)
{
	const uint64_t id = next_range();

	mark_attributes(MS_MARKER_START, NULL, attributes, id);
	return id;
}

static uint64_t range_start_a(const char *text)
{
	const uint64_t id = next_range();

	mark(MS_MARKER_START, NULL, text, id);
	return id;
}

static uint64_t range_start_w(const wchar_t *text)
{
	const uint64_t id = next_range();

	mark_wide(MS_MARKER_START, NULL, text, id);
	return id;
}

static void range_end(uint64_t id)
{
	mark(MS_MARKER_END, NULL, NULL, id);
}

static int range_push_ex(const struct attributes *attributes)
{
	mark_attributes(MS_MARKER_PUSH, NULL, attributes, 0);
	return enter(NULL);
}

static int range_push_a(const char *text)
{
	mark(MS_MARKER_PUSH, NULL, text, 0);
	return enter(NULL);
}

static int range_push_w(const wchar_t *text)
{
	mark_wide(MS_MARKER_PUSH, NULL, text, 0);
	return enter(NULL);
}

static int range_pop(void)
{
	mark(MS_MARKER_POP, NULL, NULL, 0);
	return leave(NULL);
}

static void domain_mark_ex(const void *domain, const struct attributes *attributes)
{
	mark_attributes(MS_MARKER_INSTANT, domain, attributes, 0);
}

static uint64_t domain_range_start_ex(const void *domain, const struct attributes *attributes)
{
	const uint64_t id = next_range();

	mark_attributes(MS_MARKER_START, domain, attributes, id);
	return id;
}

static void domain_range_end(const void *domain, uint64_t id)
{
	mark(MS_MARKER_END, domain, NULL, id);
}

static int domain_range_push_ex(const void *domain, const struct attributes *attributes)
{
	mark_attributes(MS_MARKER_PUSH, domain, attributes, 0);
	return enter(domain);
}

static int domain_range_pop(const void *domain)
{
	mark(MS_MARKER_POP, domain, NULL, 0);
	return leave(domain);
}

static const void *register_string_a(const void *domain, const char *text)
{
	(void)domain;
	return keep_text(text);
}

static const void *register_string_w(const void *domain, const wchar_t *text)
{
	struct name name;

	begin_name(&name, NULL);
	add_wide(&name, text);
	return register_string_a(domain, name.bytes);
}

static const void *domain_create_a(const char *text)
{
	return keep_text(text);
}

static const void *domain_create_w(const wchar_t *text)
{
	return register_string_w(NULL, text);
}

/* ---- NVTX's way in --------------------------------------------------------------------------- */

struct entry {
	uint32_t module, number;
	function *function;
};

#define AT(module, number, name) \
	{ \
		MODULE_##module, number, (function *)(uintptr_t)(name) \
	}

/* By the numbers that NVTX gives its functions. */
static const struct entry entries[] = {
	AT(CORE, 1, mark_ex),
	AT(CORE, 2, mark_a),
	AT(CORE, 3, mark_w),
	AT(CORE, 4, range_start_ex),
	AT(CORE, 5, range_start_a),
	AT(CORE, 6, range_start_w),
	AT(CORE, 7, range_end),
	AT(CORE, 8, range_push_ex),
	AT(CORE, 9, range_push_a),
	AT(CORE, 10, range_push_w),
	AT(CORE, 11, range_pop),
	AT(CORE2, 1, domain_mark_ex),
	AT(CORE2, 2, domain_range_start_ex),
	AT(CORE2, 3, domain_range_end),
	AT(CORE2, 4, domain_range_push_ex),
	AT(CORE2, 5, domain_range_pop),
	AT(CORE2, 10, register_string_a),
	AT(CORE2, 11, register_string_w),
	AT(CORE2, 12, domain_create_a),
	AT(CORE2, 13, domain_create_w),
};

static void fill(const struct callbacks *callbacks, uint32_t module)
{
	function ***table = NULL;
	unsigned int count = 0;
	size_t i;

	if (!callbacks->module_table(module, &table, &count) || !table)
		return;
	for (i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		if (entries[i].module == module && entries[i].number < count &&
		    table[entries[i].number])
			*table[entries[i].number] = entries[i].function;
}

EXPORT int InitializeInjectionNvtx2(const void *(*get)(uint32_t number));

/* Once for each module that has a copy of NVTX. What it returns is whether the tool is there. */
EXPORT int InitializeInjectionNvtx2(const void *(*get)(uint32_t number))
{
	const struct callbacks *callbacks = get(TABLE_CALLBACKS);
	const struct version *version = get(TABLE_VERSION);

	if (version && version->size >= sizeof(*version) && version->set)
		version->set(3);
	if (!callbacks || callbacks->size < sizeof(*callbacks))
		return 1;
	fill(callbacks, MODULE_CORE);
	fill(callbacks, MODULE_CORE2);
	return 1;
}
