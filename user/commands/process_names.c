// SPDX-License-Identifier: BSD-2-Clause
#include "commands/process_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/clock.h"
#include "capture/records/identity_record.h"
#include "event/identity.h"
#include "host/proc.h"
#include "render/field.h"

void process_names_note(struct process_names *names, const char *name)
{
	size_t i;

	if (!*name)
		return;
	for (i = 0; i < names->count; i++)
		if (!strncmp(names->names[i], name, PROCESS_NAMES_BYTES - 1))
			break;
	if (i == PROCESS_NAMES_MOST) {
		names->others++;
		return;
	}
	if (i == names->count)
		snprintf(names->names[names->count++], PROCESS_NAMES_BYTES, "%s", name);
	names->counts[i]++;
}

void process_names_append(struct string *out, const struct process_names *names, const char *before)
{
	size_t i;

	for (i = 0; i < names->count; i++) {
		string_append_text(out, i ? ", " : before);
		field_append_safe(out, names->names[i], strlen(names->names[i]));
		if (names->counts[i] > 1)
			string_append_format(out, " (%zu)", names->counts[i]);
	}
	if (names->others)
		string_append_format(out, " and %zu more", names->others);
}

/* ---- those that use CUDA --------------------------------------------------------------------- */

struct look {
	struct process_names *names;
	const struct process_selection *selection;
	struct identity_maker maker;
	bool found;
};

/* Of a program that only reads the file, as this one, the mapping is not to be executed. */
static int is_of_cuda(const struct proc_mapping *mapping, void *context)
{
	const char *name = strrchr(mapping->path, '/');

	(void)context;
	return mapping->executable && name &&
	       (!strncmp(name, "/libcuda.so", 11) || !strncmp(name, "/libcudart", 10));
}

static int look_at(pid_t pid, void *context)
{
	struct look *look = context;
	struct ms_event event = { .pid = (uint32_t)pid, .ts_ns = clock_monotonic_ns() };
	const struct ms_identity *record;
	struct identity identity = { 0 };
	char name[IDENTITY_NAME_BYTES], comm[MS_COMM_BYTES] = "";
	struct proc_info info;

	if (proc_each_mapping(pid, is_of_cuda, NULL) != 1 || proc_read(pid, &info))
		return 0;
	event.start_ns = info.start_ns;
	record = identity_record_make(&look->maker, &event);
	if (record && identity_parse(record->texts, record->length, &identity))
		memset(&identity, 0, sizeof(identity));
	snprintf(comm, sizeof(comm), "%s", info.comm);
	identity_name(&identity, comm, name);
	process_names_note(look->names, name);
	look->found |= process_selection_fits(look->selection, &identity, info.comm, name);
	return 0;
}

bool process_names_of_cuda(struct process_names *names, const struct process_selection *selection,
			   struct name_sources *sources)
{
	struct look *look = calloc(1, sizeof(*look)); /* large */
	bool found;

	if (!look)
		return false;
	look->names = names;
	look->selection = selection;
	look->maker.names = sources;
	proc_each(look_at, look);
	found = look->found;
	identity_record_fini(&look->maker);
	free(look);
	return found;
}
