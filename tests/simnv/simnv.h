/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the simulated NVML answers: read from the file that SIMNV names.
 */
#ifndef SIMNV_H
#define SIMNV_H

#include <stdint.h>

#define SIMNV_DEVICES 64
#define SIMNV_PROCESSES 8192
#define SIMNV_RULES 64
#define SIMNV_LIMITS 16

struct simnv_device {
	int parent; /* -1: it is no instance */
	char uuid[96], name[96];
	unsigned int domain, bus, slot, minor, gi, ci;
	unsigned int gpu_percent, memory_percent;
	uint64_t total, used, reserved;
};

struct simnv_process {
	int device;
	unsigned int pid, gi, ci;
	uint64_t used;
	char kind;
};

struct simnv_limit {
	int device;
	char cgroup[256];
	uint64_t soft, hard, used;
};

struct simnv_rule {
	char what[8], call[64];
	int device; /* -1: all */
	int value;
};

struct simnv {
	char driver[64];
	struct simnv_device devices[SIMNV_DEVICES];
	struct simnv_process processes[SIMNV_PROCESSES];
	struct simnv_rule rules[SIMNV_RULES];
	struct simnv_limit limits[SIMNV_LIMITS];
	int devices_count, processes_count, rules_count, limits_count;
};

extern struct simnv simnv;

void simnv_read(void);

#endif /* SIMNV_H */
