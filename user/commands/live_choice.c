// SPDX-License-Identifier: BSD-2-Clause
#include "commands/live_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/string.h"
#include "capture/records/identity_record.h"
#include "commands/command.h"
#include "commands/process_names.h"
#include "event/identity.h"
#include "host/proc.h"
#include "host/users.h"
#include "render/field.h"

#define NAMED 8        /* of what there is, so many are listed */
#define NAME_BYTES 128 /* of each */
#define SHORT_ID 12    /* of a container's id, as its engine shows it */
#define ID_LENGTH 64
#define CUDA_PROCESSES "; CUDA processes here: "

/* What is asked for, and what of that kind there is. */
struct choice {
	const char *option;
	struct process_selection asked; /* that alone */
	enum identity_item item;        /* IDENTITY_ITEMS: its name, of which too many are there */
	bool found;
	char values[NAMED][NAME_BYTES]; /* those that fit, or if none does, all; cut */
	size_t count;                   /* of values that differ, also those that are not kept */
};

struct look {
	struct choice *choice;
	struct identity_maker maker;
};

static bool is_known(const struct choice *choice, const char *value)
{
	size_t i;

	for (i = 0; i < choice->count && i < NAMED; i++)
		if (!strncmp(choice->values[i], value, NAME_BYTES - 1))
			return true;
	return false;
}

static void note(struct choice *choice, const char *value)
{
	if (!value || !*value || is_known(choice, value))
		return;
	if (choice->count < NAMED)
		snprintf(choice->values[choice->count], NAME_BYTES, "%s", value);
	choice->count++;
}

/* Also of a user whose number has no name. */
static const char *value_of(const struct choice *choice, const struct identity *identity)
{
	if (choice->item == IDENTITY_ITEMS)
		return NULL;
	if (choice->item == IDENTITY_USER && !identity->items[IDENTITY_USER])
		return identity->items[IDENTITY_UID];
	return identity->items[choice->item];
}

static int look_at(pid_t pid, void *context)
{
	struct look *look = context;
	struct choice *choice = look->choice;
	const struct ms_identity *record;
	struct ms_event event = { .pid = (uint32_t)pid, .ts_ns = clock_monotonic_ns() };
	struct identity identity;
	struct proc_info info;
	bool fits;

	if (proc_read(pid, &info))
		return 0;
	event.start_ns = info.start_ns;
	record = identity_record_make(&look->maker, &event);
	if (!record || identity_parse(record->texts, record->length, &identity))
		return 0;
	fits = process_selection_fits(&choice->asked, &identity, info.comm, info.comm);
	if (fits && !choice->found)
		choice->count = 0;
	choice->found |= fits;
	if (fits || !choice->found)
		note(choice, value_of(choice, &identity));
	return 0;
}

static int look_at_all(struct choice *choice, struct name_sources *sources)
{
	struct look *look = calloc(1, sizeof(*look));
	int err;

	if (!look)
		return -ENOMEM;
	look->choice = choice;
	look->maker.names = sources;
	err = proc_each(look_at, look);
	identity_record_fini(&look->maker);
	free(look);
	return err;
}

/* "; there are alice and bob", of containers the beginnings of their ids. */
static void append_values(struct string *out, const struct choice *choice)
{
	size_t i;

	for (i = 0; i < choice->count && i < NAMED; i++) {
		const char *value = choice->values[i];
		size_t length = strlen(value);

		if (choice->item == IDENTITY_CONTAINER && length == ID_LENGTH)
			length = SHORT_ID;
		string_append_text(out, i ? ", " : "");
		field_append_safe(out, value, length);
	}
	string_append_text(out, choice->count > NAMED ? " and others" : "");
}

/* Whether several containers have ids that begin so, and none has that name. */
static bool is_ambiguous(const struct choice *choice)
{
	const char *asked = choice->asked.container;
	size_t i;

	if (!asked || !choice->found || choice->count < 2)
		return false;
	for (i = 0; i < choice->count && i < NAMED; i++)
		if (strncmp(choice->values[i], asked, strlen(asked)) != 0)
			return false;
	return true;
}

/* `*waits`: none has it, but one may come. */
static int tell(const struct choice *choice, const char *asked, struct name_sources *sources,
		bool *waits)
{
	const bool is_user = choice->item == IDENTITY_USER;
	struct process_names names = { 0 };
	struct string values = { 0 };
	int code = EXIT_OK;

	append_values(&values, choice);
	if (!choice->found && !(is_user && users_exists(asked))) {
		process_names_of_cuda(&names, &choice->asked, sources);
		process_names_append(&values, &names, CUDA_PROCESSES);
	}
	string_append_char(&values, '\0');
	if (is_ambiguous(choice)) {
		log_error("--%s: several ids begin with \"%s\": %s; write more of it",
			  choice->option, asked, values.bytes);
		code = EXIT_USAGE;
	} else if (choice->found || (is_user && users_exists(asked))) {
		code = EXIT_OK;
	} else if (is_user || choice->item == IDENTITY_CONTAINER) {
		log_error(
			"--%s: there is no %s \"%s\" here; %s%s", choice->option, choice->option,
			asked,
			choice->count ?
				"of those that run now, there are " :
				"`memscope-bpf who` lists processes and their containers; names that"
				" only the engine knows: --container-map FILE",
			values.bytes);
		code = EXIT_NO_TARGET;
	} else {
		log_info("--%s: no process of \"%s\" runs yet: waiting for one (Ctrl-C ends)%s%s",
			 choice->option, asked, choice->count ? "; there are " : "", values.bytes);
		*waits = true;
	}
	string_fini(&values);
	return code;
}

static int check(struct choice choice, const char *asked, struct name_sources *sources, bool *waits)
{
	if (!asked || look_at_all(&choice, sources))
		return EXIT_OK;
	return tell(&choice, asked, sources, waits);
}

/* Processes that use CUDA run, and each of them is left out. */
static void tell_left_out(const struct process_selection *selection, struct name_sources *sources)
{
	struct process_names names = { 0 };
	struct string text = { 0 };

	if (process_names_of_cuda(&names, selection, sources) || !names.count)
		return;
	process_selection_append(&text, selection);
	process_names_append(&text, &names, CUDA_PROCESSES);
	log_info("no CUDA process that runs now fits: %.*s", text.length ? (int)text.length : 0,
		 text.length ? text.bytes : "");
	string_fini(&text);
}

static int check_all(const struct process_selection *selection, struct name_sources *sources,
		     bool *waits)
{
	const struct choice choices[] = {
		{ .option = "user", .asked.user = selection->user, .item = IDENTITY_USER },
		{ .option = "container",
		  .asked.container = selection->container,
		  .item = IDENTITY_CONTAINER },
		{ .option = "pod", .asked.pod = selection->pod, .item = IDENTITY_POD },
		{ .option = "namespace",
		  .asked.namespace = selection->namespace,
		  .item = IDENTITY_NAMESPACE },
		{ .option = "comm", .asked.comm = selection->comm, .item = IDENTITY_ITEMS },
	};
	const char *const asked[] = { selection->user, selection->container, selection->pod,
				      selection->namespace, selection->comm };
	int code = EXIT_OK;
	size_t i;

	for (i = 0; code == EXIT_OK && i < sizeof(choices) / sizeof(*choices); i++)
		code = check(choices[i], asked[i], sources, waits);
	return code;
}

int live_choice_check_names(const struct process_selection *selection, struct name_sources *sources)
{
	bool waits = false;

	return check_all(selection, sources, &waits);
}

int live_choice_check(const struct process_selection *selection, struct name_sources *sources)
{
	bool waits = false;
	const int code = check_all(selection, sources, &waits);

	if (code == EXIT_OK && !waits && process_selection_is_some(selection))
		tell_left_out(selection, sources);
	return code;
}
