// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/process_identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/state.h"

void process_identity_rename(struct process *process)
{
	identity_name(&process->identity.known, process->comm, process->name);
}

/* What belongs to the program, and not to the process. */
static void forget_program(struct identity *known)
{
	enum identity_item item;

	known->items[IDENTITY_EXE] = NULL;
	known->items[IDENTITY_SCRIPT] = NULL;
	known->items[IDENTITY_CMDLINE] = NULL;
	for (item = 0; item < IDENTITY_ITEMS; item++)
		if (identity_rows[item].kind == IDENTITY_VARIABLE)
			known->items[item] = NULL;
}

int process_identity_set(struct process *process, const char *texts, size_t bytes)
{
	struct process_identity *identity = &process->identity;
	int err = 0;

	if (bytes) {
		process_identity_fini(process);
		identity->texts = malloc(bytes);
		err = identity->texts ? 0 : -ENOMEM;
	} else {
		forget_program(&identity->known);
	}
	if (!err && bytes) {
		memcpy(identity->texts, texts, bytes);
		identity->bytes = bytes;
		err = identity_parse(identity->texts, bytes, &identity->known);
	}
	process_identity_rename(process);
	return err;
}

void process_identity_fini(struct process *process)
{
	free(process->identity.texts);
	process->identity = (struct process_identity){ 0 };
}
