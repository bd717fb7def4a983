/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals that end a command which has to clean up first.
 */
#ifndef MEMSCOPE_COMMANDS_INTERRUPT_H
#define MEMSCOPE_COMMANDS_INTERRUPT_H

#include <stdbool.h>

/*
 * From now on SIGINT, SIGTERM and SIGHUP are held back. A second one of the same kind ends the
 * program at once.
 */
void interrupt_hold(void);

/* Whether one has come. */
bool interrupt_came(void);

/* The program ends by the signal that has come, as it would have; if none has, nothing happens. */
void interrupt_let(void);

/*
 * SIGINT and SIGTERM wait until a capture reads them, or until they do again what they do to any
 * program: for what leaves something behind before it captures.
 */
void interrupt_block(bool blocked);

/* Whether one of them waits. */
bool interrupt_waits(void);

#endif /* MEMSCOPE_COMMANDS_INTERRUPT_H */
