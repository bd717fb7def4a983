// SPDX-License-Identifier: BSD-2-Clause
#include "simnv.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct simnv simnv;

/* The value of NAME=VALUE in a line; false: it has none. */
static bool find(const char *line, const char *name, char *value, size_t bytes)
{
	const size_t length = strlen(name);
	const char *place = line;
	size_t i;

	while ((place = strchr(place, ' '))) {
		place++;
		if (strncmp(place, name, length) != 0 || place[length] != '=')
			continue;
		snprintf(value, bytes, "%.*s", (int)strcspn(place + length + 1, " \n"),
			 place + length + 1);
		for (i = 0; value[i]; i++)
			if (value[i] == '_')
				value[i] = ' ';
		return true;
	}
	return false;
}

/* "615M", "-": all bits. */
static uint64_t number(const char *line, const char *name, uint64_t otherwise)
{
	char text[64], *end;
	uint64_t value;

	if (!find(line, name, text, sizeof(text)))
		return otherwise;
	if (!strcmp(text, "-"))
		return UINT64_MAX;
	value = strtoull(text, &end, 0);
	switch (*end) {
	case 'G':
		return value << 30;
	case 'M':
		return value << 20;
	case 'K':
		return value << 10;
	default:
		return value;
	}
}

static void read_device(const char *line, bool instance)
{
	struct simnv_device *device = &simnv.devices[simnv.devices_count];
	char pci[64];

	if (simnv.devices_count == SIMNV_DEVICES)
		return;
	*device = (struct simnv_device){
		.parent = instance ? (int)number(line, "device", 0) : -1,
		.minor = number(line, "minor", simnv.devices_count),
		.gi = number(line, "gi", UINT32_MAX),
		.ci = number(line, "ci", UINT32_MAX),
		.gpu_percent = number(line, "gpu", 0),
		.memory_percent = number(line, "memory", 0),
		.total = number(line, "total", 0),
		.used = number(line, "used", 0),
		.reserved = number(line, "reserved", 0),
	};
	find(line, "uuid", device->uuid, sizeof(device->uuid));
	find(line, "name", device->name, sizeof(device->name));
	if (find(line, "pci", pci, sizeof(pci)))
		sscanf(pci, "%x:%x:%x", &device->domain, &device->bus, &device->slot);
	simnv.devices_count++;
}

static void read_process(const char *line)
{
	struct simnv_process *process = &simnv.processes[simnv.processes_count];
	char kind[8] = "C";

	if (simnv.processes_count == SIMNV_PROCESSES)
		return;
	find(line, "kind", kind, sizeof(kind));
	*process = (struct simnv_process){
		.device = (int)number(line, "device", 0),
		.pid = number(line, "pid", 0),
		.gi = number(line, "gi", UINT32_MAX),
		.ci = number(line, "ci", UINT32_MAX),
		.used = number(line, "used", 0),
		.kind = kind[0],
	};
	simnv.processes_count++;
}

static void read_limit(const char *line)
{
	struct simnv_limit *limit = &simnv.limits[simnv.limits_count];

	if (simnv.limits_count == SIMNV_LIMITS)
		return;
	*limit = (struct simnv_limit){
		.device = (int)number(line, "device", 0),
		.soft = number(line, "soft", 0),
		.hard = number(line, "hard", UINT64_MAX),
		.used = number(line, "used", 0),
	};
	find(line, "cgroup", limit->cgroup, sizeof(limit->cgroup));
	simnv.limits_count++;
}

static void read_rule(const char *line)
{
	struct simnv_rule *rule = &simnv.rules[simnv.rules_count];

	if (simnv.rules_count == SIMNV_RULES)
		return;
	rule->value = 0;
	if (sscanf(line, "%7s %63s %d", rule->what, rule->call, &rule->value) < 2)
		return;
	rule->device = (int)(int64_t)number(line, "device", UINT64_MAX);
	simnv.rules_count++;
}

/* What the simulated CUDA driver says of a process: tests/simcuda/driver/kernel.c. */
static void read_held(const char *directory, const char *name)
{
	const unsigned int pid = (unsigned int)strtoul(name, NULL, 10);
	uint64_t bytes[16] = { 0 };
	char path[512];
	FILE *file;
	int i;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = pid && !kill((pid_t)pid, 0) ? fopen(path, "re") : NULL;
	if (!file)
		return;
	if (fread(bytes, 1, sizeof(bytes), file) != sizeof(bytes))
		memset(bytes, 0, sizeof(bytes));
	fclose(file);
	for (i = 0; i < 16 && i < simnv.devices_count; i++) {
		if (!bytes[i] || simnv.processes_count == SIMNV_PROCESSES)
			continue;
		simnv.processes[simnv.processes_count++] = (struct simnv_process){ .device = i,
										   .pid = pid,
										   .gi = UINT32_MAX,
										   .ci = UINT32_MAX,
										   .used = bytes[i],
										   .kind = 'C' };
		simnv.devices[i].used += bytes[i];
	}
}

static void read_all_held(void)
{
	const char *path = getenv("SIMCUDA_HELD");
	DIR *directory = path ? opendir(path) : NULL;
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		read_held(path, entry->d_name);
	if (directory)
		closedir(directory);
}

void simnv_read(void)
{
	const char *path = getenv("SIMNV");
	FILE *file = path ? fopen(path, "re") : NULL;
	char line[1024];

	memset(&simnv, 0, sizeof(simnv));
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "driver ", 7))
			sscanf(line, "driver %63s", simnv.driver);
		else if (!strncmp(line, "device ", 7))
			read_device(line, false);
		else if (!strncmp(line, "instance ", 9))
			read_device(line, true);
		else if (!strncmp(line, "process ", 8))
			read_process(line);
		else if (!strncmp(line, "limit ", 6))
			read_limit(line);
		else
			read_rule(line);
	}
	if (file)
		fclose(file);
	read_all_held();
}
