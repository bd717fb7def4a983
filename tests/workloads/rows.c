// SPDX-License-Identifier: BSD-2-Clause
#include "rows.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probed.h"

#define TEXTS 40
#define TEXT_BYTES 48

static struct {
	char context[TEXT_BYTES];
	char device[TEXT_BYTES];
} here = { UNKNOWN, UNKNOWN };

_Noreturn void rows_die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

void rows_wait_for_tracer(void)
{
	const char *messages = getenv("PROBED"), *wait_ms = getenv("ROWS_WAIT_MS");

	if (messages) {
		probed_wait_said(messages, 0);
		return;
	}
	usleep(1000 * (wait_ms ? atoi(wait_ms) : 1000));
}

void rows_check(const char *api, int wanted, int result)
{
	char why[64];

	snprintf(why, sizeof(why), "returned %d instead of %d", result, wanted);
	if (result != wanted)
		rows_die(api, why);
}

/* What is too many for the function is the caller's to clean up. */
void rows_call(const char *api, void *function, int wanted, const uint64_t *a)
{
	typedef int call_fn(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			    uint64_t, uint64_t, uint64_t, uint64_t);

	rows_check(api, wanted,
		   ((call_fn *)function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9],
					 a[10]));
}

const char *rows_text(const char *format, ...)
{
	static char texts[TEXTS][TEXT_BYTES];
	static unsigned int next;
	char *text = texts[next++ % TEXTS];
	va_list args;

	va_start(args, format);
	vsnprintf(text, TEXT_BYTES, format, args);
	va_end(args);
	return text;
}

const char *rows_handle_hash(const void *handle)
{
	uint64_t words[8], hash = 0xcbf29ce484222325;

	memcpy(words, handle, sizeof(words));
	for (size_t i = 0; i < MANY(words); i++)
		hash = (hash ^ words[i]) * 0x100000001b3;
	return HEX(hash);
}

void rows_at(const void *context, int device)
{
	snprintf(here.context, TEXT_BYTES, "%s", context ? HEX(context) : UNKNOWN);
	snprintf(here.device, TEXT_BYTES, "%s", context ? DEC(device) : UNKNOWN);
}

static void put(const char *value, const char *otherwise)
{
	printf(" %s", value ? value : otherwise);
}

/* A name, percent-encoded, as jq's @uri does it (versions differ in what they do to !~*'()). */
static void put_name(const char *name)
{
	putchar(' ');
	if (!name)
		putchar('-');
	for (; name && *name; name++) {
		unsigned char c = *name;

		if (isalnum(c) || strchr("-_.", c))
			putchar(c);
		else
			printf("%%%02X", c);
	}
}

static const char *freed(const struct row *row)
{
	if (strcmp(row->op, "free") || row->result)
		return UNKNOWN;
	return strcmp(row->addr, "0x0") ? "known" : "null";
}

void rows_expect(const struct row *row)
{
	bool is_driver = isupper((unsigned char)row->api[2]);

	printf("%s %s", row->op, row->api);
	put(row->driver_api, is_driver ? row->api : UNKNOWN);
	put(DEC(row->result), NULL);
	put(row->device, here.device);
	put(row->context, here.context);
	put(row->addr, UNKNOWN);
	put(row->size, UNKNOWN);
	put(row->src, UNKNOWN);
	put(row->stream, UNKNOWN);
	put(row->direction, UNKNOWN);
	put(row->space, UNKNOWN);
	put_name(row->kernel);
	put(row->grid, UNKNOWN);
	put(row->block, UNKNOWN);
	put(row->shared, UNKNOWN);
	put(row->nested ? "true" : "false", NULL);
	put(row->live, UNKNOWN);
	put(row->backing, UNKNOWN);
	put(row->freed, freed(row));
	put(row->captured ? "captured" : UNKNOWN, NULL);
	put(row->graph, UNKNOWN);
	put(row->free_bytes, UNKNOWN);
	put_name(row->identity);
	put(row->attribute, UNKNOWN);
	put(row->made, UNKNOWN);
	put(row->ended, UNKNOWN);
	putchar('\n');
}

char *rows_long_name(size_t length)
{
	char *name = malloc(length + 1);
	size_t i;

	if (!name)
		rows_die("malloc", "out of memory");
	for (i = 0; i < length; i++)
		name[i] = i % 10 ? '0' + i % 10 : 'a' + i / 10 % 26;
	name[length] = '\0';
	return name;
}
