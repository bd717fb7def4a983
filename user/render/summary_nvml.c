// SPDX-License-Identifier: BSD-2-Clause
/*
 * What NVML says of processes and devices, in the summary of a trace. The numbers are taken apart
 * as in a report (render/report_nvml.c).
 */
#include "render/summary_nvml.h"

#include <stdio.h>
#include <string.h>

#include "render/field.h"
#include "render/report_nvml.h"

static const char *size_text(const struct text_options *options, char out[STRING_NUMBER_BYTES],
			     uint64_t bytes)
{
	if (!options->exact)
		return string_size(out, bytes);
	snprintf(out, STRING_NUMBER_BYTES, "%llu", (unsigned long long)bytes);
	return out;
}

static void append_parts(struct string *out, const struct report_nvml_part *parts, size_t count,
			 const struct text_options *options)
{
	char size[STRING_NUMBER_BYTES];
	size_t i;

	for (i = 0; i < count; i++)
		string_append_format(out, "  %-10s %15s  %s\n", "",
				     size_text(options, size, parts[i].bytes), parts[i].what);
}

void summary_nvml_append(struct string *out, const struct process *process,
			 const struct text_options *options)
{
	struct report_nvml_part parts[REPORT_NVML_PARTS_MAX];
	const size_t count = report_nvml_parts(process, parts);
	const size_t devices = nvml_account_devices(process);
	struct nvml_on_device device;
	size_t i;

	if (!count)
		return;
	string_append_format(out, "\n  %-10s %15s\n", "NVML",
			     process->exited ? "LAST NUMBER" : "NUMBER NOW");
	append_parts(out, parts, count, options);
	for (i = 0; devices > 1 && i < devices; i++) {
		nvml_account_device(process, i, &device);
		string_append_format(out, "  %-10s %15s  ", "", "of it, on");
		field_append_safe(out, device.uuid, strnlen(device.uuid, MS_UUID_BYTES));
		if (device.device >= 0)
			string_append_format(out, ", device %d of the process", device.device);
		string_append_char(out, '\n');
		append_parts(out, parts, report_nvml_parts_on(process, &device, parts), options);
	}
}

/* ---- devices --------------------------------------------------------------------------------- */

static void append_device(struct string *out, const struct nvml_device_account *device,
			  const struct text_options *options)
{
	const struct ms_device *last = &device->last;
	struct report_nvml_share shares[REPORT_NVML_SHARES];
	char size[STRING_NUMBER_BYTES];
	size_t i;

	report_nvml_shares(device, shares);
	string_append_char(out, ' ');
	for (i = 0; i < REPORT_NVML_SHARES; i++)
		string_append_format(out, " %12s",
				     shares[i].known ? size_text(options, size, shares[i].bytes) :
						       "?");
	string_append_text(out, "  ");
	field_append_safe(out, last->uuid, strnlen(last->uuid, sizeof(last->uuid)));
	string_append_char(out, '\n');
}

void summary_nvml_append_devices(struct string *out, const struct state *state,
				 const struct text_options *options)
{
	const struct nvml_devices *devices = &state->nvml_devices;
	size_t i;

	if (!devices->count)
		return;
	string_append_format(out, "\nDevices, by NVML\n  %12s %12s %12s %12s %12s %12s  %s\n",
			     "MEMORY", "IN USE", "TRACED", "OTHERS", "NO PROCESS", "RESERVED",
			     "DEVICE");
	for (i = 0; i < devices->count; i++)
		append_device(out, &devices->devices[i], options);
}
