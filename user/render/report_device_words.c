// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_device_words.h"

#include <string.h>

#include "render/field.h"
#include "render/identity_words.h"
#include "render/report_words.h"

#define USERS_MAX 8 /* processes that are named */

const char report_device_numbers[] =
	"Device numbers are each process's own: with CUDA_VISIBLE_DEVICES, two processes can mean"
	" two devices by one number. Processes that see the same devices, as far as their"
	" environment tells, are taken to mean the same; a call that asks for a device's UUID or"
	" PCI bus id settles it.";

static void separate(struct string *out, size_t start)
{
	if (out->length > start)
		string_append_text(out, ", ");
}

/* By which number which process calls it: of interest if that is not always the same one. */
static void append_users(struct string *out, const struct report_recording *recording,
			 const struct report_device *device)
{
	size_t count = 0, i;

	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;
		const int32_t ordinal = report_device_ordinal(recording, device, process);

		if (ordinal < 0 || count++ >= USERS_MAX)
			continue;
		string_append_text(out, count == 1 ? "Device " : ", ");
		string_append_i64(out, ordinal);
		string_append_text(out, " of ");
		identity_words_process(out, process);
	}
	if (count > USERS_MAX)
		string_append_format(out, " and %zu more", count - USERS_MAX);
	if (count)
		string_append_char(out, '.');
}

/* Whether its number alone says which it is, in all processes. */
static bool is_plain(const struct report_recording *recording, const struct report_device *device)
{
	size_t i;

	for (i = 0; i < recording->devices_count; i++)
		if (&recording->devices[i] != device &&
		    recording->devices[i].device == device->device)
			return false;
	for (i = 0; i < recording->processes_count; i++) {
		const int32_t ordinal =
			report_device_ordinal(recording, device, recording->processes[i].process);

		if (ordinal >= 0 && ordinal != device->device)
			return false;
	}
	return true;
}

void report_append_device_identity(struct string *out, const struct report_recording *recording,
				   const struct report_device *device)
{
	const struct device_identity *known = &report_device_row(recording, device)->identity;
	const size_t start = out->length;
	char size[STRING_NUMBER_BYTES];

	if (device->device < 0)
		return;
	if (known->has_uuid) {
		string_append_text(out, "UUID ");
		device_append_uuid(out, known);
	}
	if (known->pci.known) {
		separate(out, start);
		string_append_text(out, "PCI bus id ");
		device_append_pci(out, known);
	}
	if (*known->name) {
		separate(out, start);
		field_append_safe(out, known->name, strlen(known->name));
	}
	if (known->total_bytes) {
		separate(out, start);
		string_append_text(out, string_size(size, known->total_bytes));
	}
	if (out->length > start)
		string_append_char(out, '.');
	if (is_plain(recording, device))
		return;
	if (out->length > start)
		string_append_char(out, ' ');
	append_users(out, recording, device);
}
