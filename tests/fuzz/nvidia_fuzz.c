// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is said of NVIDIA devices by others: the driver's files in /proc, and what the child process
 * that asks NVML has written. The first byte of the input chooses; of a snapshot, the next ones say
 * how much of it there is, and the rest, over and over again, is what is in it. Few are written
 * out, which takes most of the time.
 */
#include "fuzz.h"

#include <string.h>

#include "host/holders.h"
#include "invariants.h"
#include "render/document_text.h"
#include "render/who.h"

#define DEVICES 8
#define PROCESSES 32
#define HOLDERS 8

/* ---- files ----------------------------------------------------------------------------------- */

static void read_files(const char *text)
{
	struct nvidia_gpu gpu = { 0 };
	char version[32];
	bool open;

	nvidia_majors_of(text);
	nvidia_gpu_parse(text, &gpu);
	fuzz_check(!gpu.has_minor || gpu.minor < NVIDIA_MINORS);
	fuzz_check(strlen(gpu.name) < sizeof(gpu.name) && strlen(gpu.pci) < sizeof(gpu.pci));
	nvidia_version_parse(text, version, sizeof(version), &open);
	fuzz_check(strspn(version, "0123456789.") == strlen(version));
}

/* ---- snapshots ------------------------------------------------------------------------------- */

struct input {
	const uint8_t *data;
	size_t size, place;
};

static void take(struct input *input, void *bytes, size_t count)
{
	uint8_t *to = bytes;

	while (count--) {
		*to++ = input->data[input->place];
		input->place = (input->place + 1) % input->size;
	}
}

static uint32_t number(struct input *input, uint32_t max)
{
	uint8_t byte;

	take(input, &byte, 1);
	return byte % (max + 1);
}

static void make(struct input *input, struct holders *holders)
{
	struct nvml_snapshot *nvml = holders->nvml;
	size_t i;

	nvml->state = number(input, 4);
	nvml->devices_count = number(input, DEVICES);
	nvml->processes_count = number(input, PROCESSES);
	holders->holders_count = number(input, HOLDERS);
	nvml->cut = (uint8_t)number(input, 1);
	take(input, nvml->problem, 16);
	take(input, nvml->devices, nvml->devices_count * sizeof(*nvml->devices));
	take(input, nvml->processes, nvml->processes_count * sizeof(*nvml->processes));
	for (i = 0; i < holders->holders_count; i++) {
		struct holder *holder = &holders->holders[i];

		holder->pid = (uint32_t)i + 1;
		holder->present = number(input, 1);
		take(input, holder->info.comm, sizeof(holder->info.comm) - 1);
		take(input, holder->files.minors, sizeof(holder->files.minors));
		/* A minor that no descriptor can have is none. */
		holder->files.minors[3] &= (1ull << (NVIDIA_MINORS - 192)) - 1;
	}
	for (i = 0; i < nvml->processes_count; i++)
		nvml->processes[i].pid %= HOLDERS * 2;
}

static void check_sums(const struct holders *holders)
{
	size_t i;

	for (i = 0; i < holders->devices_count; i++) {
		const struct holders_device *device = &holders->devices[i];
		const struct nvml_device *nvml = holders_nvml(holders, device);

		fuzz_check(device->parent < (int32_t)i);
		fuzz_check(!device->has_rest || device->rest_bytes <= nvml->used_bytes);
		fuzz_check(!nvml || !nvml->has_memory || nvml->used_bytes <= nvml->total_bytes);
		fuzz_check(device->listed <= device->count);
		fuzz_check(!device->count ||
			   device->first + device->count <= holders->holdings_count);
	}
}

static void write_all(const struct who *who)
{
	const struct document_text_options options = { .width = 80 };
	struct string out = { 0 };
	struct document_text text;

	document_text_init(&text, &out, SIZE_MAX, &options);
	who_append_text(&text.document, who);
	document_text_fini(&text);
	invariants_check_text(out.bytes, out.length);
	string_clear(&out);
	who_append_json(&out, who);
	invariants_check_json(out.bytes, out.length);
	string_fini(&out);
}

/* A new snapshot each time, of which most is empty, took most of the time. */
static void read_snapshot(struct input *input, bool writes)
{
	static struct who_process processes[HOLDERS];
	static struct nvml_snapshot snapshot;
	struct holders holders = { .nvml = &snapshot,
				   .holders = calloc(HOLDERS, sizeof(*holders.holders)),
				   .holders_capacity = HOLDERS };
	const struct who who = { .holders = &holders, .processes = processes };

	memset(&snapshot, 0, offsetof(struct nvml_snapshot, devices));
	memset(snapshot.devices, 0, DEVICES * sizeof(*snapshot.devices));
	memset(snapshot.processes, 0, PROCESSES * sizeof(*snapshot.processes));
	make(input, &holders);
	nvml_snapshot_check(holders.nvml);
	fuzz_check(!holders_join(&holders));
	check_sums(&holders);
	if (writes)
		write_all(&who);
	holders.nvml = NULL;
	holders_fini(&holders);
}

/* One in 32, such that what comes of an input by a mutation seldom is, too. */
static bool is_written(const uint8_t *data, size_t size)
{
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < size; i++)
		sum += data[i];
	return sum % 32 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data + 1, size - 1, 0 };
	char *text;

	if (size < 2)
		return 0;
	if (data[0] & 1) {
		read_snapshot(&input, is_written(data, size));
		return 0;
	}
	text = calloc(1, size);
	memcpy(text, data + 1, size - 1);
	read_files(text);
	free(text);
	return 0;
}
