// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/process_identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/state.h"

/* The kernel's name of it has the method that was running, and is cut. */
static void name_by_title(struct process *process)
{
	const char *title = process->identity.known.items[IDENTITY_TITLE];

	if (!title || !*title)
		return;
	memset(process->comm, 0, sizeof(process->comm));
	memcpy(process->comm, title, strnlen(title, sizeof(process->comm) - 1));
}

void process_identity_rename(struct process *process)
{
	name_by_title(process);
	identity_name(&process->identity.known, process->comm, process->name);
}

/* What belongs to the program, and not to the process. */
static void forget_program(struct identity *known)
{
	enum identity_item item;

	known->items[IDENTITY_EXE] = NULL;
	known->items[IDENTITY_SCRIPT] = NULL;
	known->items[IDENTITY_TITLE] = NULL;
	known->items[IDENTITY_CMDLINE] = NULL;
	for (item = 0; item < IDENTITY_ITEMS; item++)
		if (identity_rows[item].kind == IDENTITY_VARIABLE)
			known->items[item] = NULL;
}

static bool is_elsewhere(const struct identity *before, const struct identity *now)
{
	static const enum identity_item places[] = { IDENTITY_CGROUP, IDENTITY_CONTAINER };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const char *was = before->items[places[i]], *is = now->items[places[i]];

		if (was && is && strcmp(was, is) != 0)
			return true;
	}
	return false;
}

static void forget(struct process_identity *identity)
{
	struct process_identity *earlier = identity->earlier;

	if (earlier)
		forget(earlier);
	free(earlier);
	free(identity->texts);
	*identity = (struct process_identity){ 0 };
}

/* Only the newest ones are kept. */
static void cut(struct process_identity *identity, size_t kept)
{
	for (; identity->earlier && kept; kept--)
		identity = identity->earlier;
	if (!identity->earlier)
		return;
	forget(identity->earlier);
	free(identity->earlier);
	identity->earlier = NULL;
}

/* The process was somewhere else until now. Without memory, that is forgotten. */
static struct process_identity *keep(struct process_identity *before)
{
	struct process_identity *kept = malloc(sizeof(*kept));

	if (!kept)
		return NULL;
	*kept = *before;
	*before = (struct process_identity){ 0 };
	cut(kept, PROCESS_IDENTITY_EARLIER - 1);
	return kept;
}

static int replace(struct process_identity *identity, const char *texts, size_t bytes)
{
	struct process_identity next = { .bytes = bytes };
	char *copy = malloc(bytes);
	int err = copy ? 0 : -ENOMEM;

	if (!err) {
		memcpy(copy, texts, bytes);
		err = identity_parse(copy, bytes, &next.known);
	}
	if (err) {
		free(copy);
		forget(identity);
		return err;
	}
	next.texts = copy;
	if (is_elsewhere(&identity->known, &next.known)) {
		next.earlier = keep(identity);
	} else {
		next.earlier = identity->earlier;
		identity->earlier = NULL;
	}
	forget(identity);
	*identity = next;
	return 0;
}

int process_identity_set(struct process *process, const char *texts, size_t bytes)
{
	int err = 0;

	if (bytes)
		err = replace(&process->identity, texts, bytes);
	else
		forget_program(&process->identity.known);
	process_identity_rename(process);
	return err;
}

size_t process_identity_bytes(const struct process_identity *identity)
{
	size_t bytes = 0;

	for (; identity; identity = identity->earlier)
		bytes += identity->bytes;
	return bytes;
}

void process_identity_fini(struct process *process)
{
	forget(&process->identity);
}
