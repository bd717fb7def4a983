/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strings: a growing buffer, interned names, and numbers as people read them.
 */
#ifndef MEMSCOPE_BASE_STRING_H
#define MEMSCOPE_BASE_STRING_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- buffer ---------------------------------------------------------------------------------- */

/* A zeroed struct string is empty and ready. When memory runs out, it stops growing and says so. */
struct string {
	char *bytes; /* not terminated */
	size_t length;
	size_t capacity;
	bool failed; /* something is missing */
};

void string_fini(struct string *string);
void string_clear(struct string *string);

/*
 * The same for a text that is put together time and again: if something of it was missing, `*err`
 * is -ENOMEM from now on.
 */
void string_restart(struct string *string, int *err);

/* Where to write `length` bytes that the text now ends with, or NULL. */
char *string_extend(struct string *string, size_t length);
void string_append(struct string *string, const char *bytes, size_t length);
void string_append_text(struct string *string, const char *text);
void string_append_char(struct string *string, char c);
void string_append_u64(struct string *string, uint64_t value);
void string_append_i64(struct string *string, int64_t value);
void string_append_hex(struct string *string, uint64_t value); /* with 0x */
void string_append_format(struct string *string, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The bytes as one word for a shell (sh, bash, zsh), made of text that can be shown and copied,
 * whatever they are. They must not end with a newline.
 */
void string_append_shell_word(struct string *string, const char *bytes);

/* Fills up with spaces to `length` characters; no effect if it is already that long. */
void string_pad(struct string *string, size_t length);

/* How long the well-formed UTF-8 sequence is that the bytes begin with; 0: it is not one. */
size_t string_utf8_length(const void *bytes, size_t length);

/* ---- interned names -------------------------------------------------------------------------- */

/* For texts that may be chosen to have the same: no such choice is good for another secret. */
uint64_t string_hash(uint64_t secret, const void *bytes, size_t length);

struct string_table {
	struct string_node **buckets;
	size_t capacity;
	size_t count;
	size_t bytes; /* of all of it */
	uint64_t secret;
};

/*
 * Returns the table's one copy of `text` (so that equal names are equal pointers), or NULL without
 * memory. It lives until string_table_fini().
 */
const char *string_intern(struct string_table *table, const char *text, size_t length);

/* The same, but also NULL if the text is not there yet and longer than `room`: then *refused. */
const char *string_intern_within(struct string_table *table, const char *text, size_t length,
				 size_t room, bool *refused);

/* The same, but NULL if it is not there yet. */
const char *string_find(const struct string_table *table, const char *text, size_t length);
void string_table_fini(struct string_table *table);

/* ---- numbers for people ---------------------------------------------------------------------- */

#define STRING_NUMBER_BYTES 32

/* "450 KiB", "1.50 GiB", "17 B"; returns `out`. */
const char *string_size(char out[STRING_NUMBER_BYTES], uint64_t size_bytes);

/* "950 ns", "12.3 us", "4.56 ms", "1.23 s", "2m03s", "5h07m". */
const char *string_duration(char out[STRING_NUMBER_BYTES], uint64_t duration_ns);

/* "1,234,567" */
const char *string_count(char out[STRING_NUMBER_BYTES], uint64_t count);

/* "1 process", "1,234 processes" */
void string_append_count(struct string *string, uint64_t count, const char *one, const char *many);

/* Parses "64K", "1.5G", "4096", "10MiB"; 0, or -EINVAL, or -ERANGE. */
int string_parse_size(const char *text, uint64_t *size_bytes);

/* Parses a decimal number between the bounds; 0, -EINVAL or -ERANGE. */
int string_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* A number from 1 to `max` that a text begins with, which is moved behind it. */
bool string_take_count(const char **text, uint64_t max, uint64_t *value);

#endif /* MEMSCOPE_BASE_STRING_H */
