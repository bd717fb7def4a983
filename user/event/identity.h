/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who a process is: what a record of it (struct ms_identity) says, item by item.
 */
#ifndef MEMSCOPE_EVENT_IDENTITY_H
#define MEMSCOPE_EVENT_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

enum identity_item {
#define IDENTITY(item, name, kind, description) IDENTITY_##item,
#include "event/identity.def"
#undef IDENTITY
	IDENTITY_ITEMS,
};

enum identity_kind {
	IDENTITY_TEXT,
	IDENTITY_NUMBER,
	IDENTITY_VARIABLE,
};

extern const struct identity_row {
	const char *name;
	enum identity_kind kind;
	const char *description;
} identity_rows[IDENTITY_ITEMS];

/* NULL: not known. A variable that is set to nothing is "". */
struct identity {
	const char *items[IDENTITY_ITEMS];
};

/*
 * Finds the items in the texts of a record, which they point into. Items that this version does not
 * know are left out. Returns 0, or -EINVAL: it is not what a recorder could have written.
 */
int identity_parse(const char *texts, size_t bytes, struct identity *identity);

/* Whether it has any item. */
bool identity_is_known(const struct identity *identity);

/* An item whose kind is NUMBER. Returns whether it is known. */
bool identity_number(const struct identity *identity, enum identity_item item, uint32_t *number);

/* The last part of the script's path, or what the interpreter was told to run; NULL: not known. */
const char *identity_script(const struct identity *identity);

/* What people call its container, or the container's id; NULL: it is in none that is known. */
const char *identity_container(const struct identity *identity);

/*
 * What to call a process: "python3 train.py" where `comm` alone would be "python3", "server" or
 * "pt_main_thread"; or by the title that it has given itself. What does not fit is left out. Bytes
 * are as the process has chosen them.
 */
#define IDENTITY_NAME_BYTES 64
void identity_name(const struct identity *identity, const char comm[MS_COMM_BYTES],
		   char name[IDENTITY_NAME_BYTES]);

#endif /* MEMSCOPE_EVENT_IDENTITY_H */
