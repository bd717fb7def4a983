/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The oracle: what really happened, one line per API call, written without any help from the tool
 * under test. Set SIMCUDA_LOG=FILE to have it; README.md describes the lines.
 *
 * Lines are collected per thread and written whole, with O_APPEND, when the buffer is full, when
 * the thread ends and when the process exits.
 */
#ifndef SIMCUDA_ORACLE_H
#define SIMCUDA_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

struct oracle_line;

/* Opens SIMCUDA_LOG; returns whether there is one. Before the first call only. */
bool oracle_open(void);

uint64_t oracle_now_ns(void);

/*
 * Begins the line of a call that is about to return; NULL without a log. Takes a lock of the
 * calling thread, so oracle_end must follow. via: the runtime function around it, or NULL.
 */
struct oracle_line *oracle_begin(const char *name, uint64_t start_ns, const char *via, int result);
void oracle_end(struct oracle_line *line);

/* key is " name=" as it appears in the line. */
void oracle_hex(struct oracle_line *line, const char *key, uint64_t value);
void oracle_dec(struct oracle_line *line, const char *key, int64_t value);
void oracle_str(struct oracle_line *line, const char *key, const char *value);
void oracle_xyz(struct oracle_line *line, const char *key, uint64_t x, uint64_t y, uint64_t z);

/*
 * For the notes of an entry in api.h, where `line` and `result` are in scope. OUT_*: what the call
 * stored through the pointer, if it succeeded.
 */
#define NO_NOTES ((void)0)
#define HEX(key, value) oracle_hex(line, " " #key "=", (uint64_t)(uintptr_t)(value))
#define DEC(key, value) oracle_dec(line, " " #key "=", (int64_t)(value))
#define STR(key, value) oracle_str(line, " " #key "=", value)
#define XYZ(key, x, y, z) oracle_xyz(line, " " #key "=", x, y, z)
#define OUT_HEX(key, pointer) (result == 0 && (pointer) ? HEX(key, *(pointer)) : (void)0)
#define OUT_DEC(key, pointer) (result == 0 && (pointer) ? DEC(key, *(pointer)) : (void)0)
#define OUT_STR(key, pointer) (result == 0 && (pointer) ? STR(key, *(pointer)) : (void)0)

#endif
