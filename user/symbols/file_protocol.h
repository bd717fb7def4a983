/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What file_reader.c, in the process with privileges, and file_service.c, in the one without, say
 * to each other over a pair of sockets: questions, with the descriptor of a file, and answers.
 */
#ifndef MEMSCOPE_SYMBOLS_FILE_PROTOCOL_H
#define MEMSCOPE_SYMBOLS_FILE_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

enum file_question_kind {
	FILE_FUNCTIONS,
	FILE_FUNCTIONS_BY_ADDRESS,
	FILE_EMBEDDED, /* .gnu_debugdata, unpacked */
	FILE_UNWIND,
	FILE_PREPARE_LINES,
	FILE_LINES,
	FILE_FORGET_LINES, /* has no answer */
};

struct file_question {
	uint32_t kind;   /* enum file_question_kind */
	uint32_t number; /* of the file, for lines */
	uint64_t ticket;
	uint64_t address;
};

/* What follows it: entries, rows or lines. */
struct file_answer {
	uint64_t ticket;
	int32_t err;
	uint32_t count;
};

/* Returns 0 or -EPIPE. */
int file_protocol_send(int fd, const void *bytes, size_t length);
/* Returns 0, -EPIPE at the end, or -ETIMEDOUT. */
int file_protocol_receive(int fd, void *bytes, size_t length, uint64_t until_ns);

/* `file`: negative if there is none. Does not wait: returns 0, -EAGAIN or -EPIPE. */
int file_protocol_ask(int fd, const struct file_question *question, int file);
/* Waits. `*file` is -1 if there is none. Returns 0 or -EPIPE. */
int file_protocol_take(int fd, struct file_question *question, int *file);

#endif /* MEMSCOPE_SYMBOLS_FILE_PROTOCOL_H */
