/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words of a command line that are not (or no longer) ours, and what they stand for here: those of
 * earlier versions, and those that the fingers of people who use strace, perf, memray, nsys or
 * kubectl type.
 */
#ifndef MEMSCOPE_COMMANDS_SPELLINGS_H
#define MEMSCOPE_COMMANDS_SPELLINGS_H

#include <stdbool.h>

enum spelling_meaning {
	SPELLING_OPTION,   /* it stands for an option */
	SPELLING_REPLACED, /* the same, and its own value means nothing here */
	SPELLING_OPERAND,  /* its value is an operand */
	SPELLING_NOTHING,  /* it asks for what is so anyway: it is taken, and that is said */
	SPELLING_ADVICE,   /* it cannot be done; what to type is said */
};

struct spelling {
	const char *commands; /* their names, with spaces between; NULL: all */
	const char *word;     /* "-x" or "--name"; of a command, its name */
	enum spelling_meaning means;
	const char *option; /* its name */
	const char *value;  /* that it always has; NULL: its own, or none; of NOTHING: what it is */
	const char *text;   /* of a message, after "WORD: " */
};

/* NULL: there is none. */
const struct spelling *spelling_find(const char *command, const char *word);

/* The spelling of a command; what it says to type. NULL: there is none. */
const char *spelling_of_command(const char *word);

/* A value of an option that has a list of values. */
struct spelling_of_value {
	const char *option, *values; /* what is typed: words with spaces between */
	const char *needs;           /* only where the option has this value */
	const char *text;            /* of a message */
	bool is_same;                /* it stands for the value that it needs */
};

/* `words`: the values that the option has ("text|json"). NULL: there is none. */
const struct spelling_of_value *spelling_of_value(const char *option, const char *value,
						  const char *words);

/* Whether it is one of the words, which have spaces between. */
bool spelling_has_word(const char *words, const char *word);

#endif /* MEMSCOPE_COMMANDS_SPELLINGS_H */
