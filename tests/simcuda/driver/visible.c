/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the machine's devices the program sees, and in which order: CUDA_VISIBLE_DEVICES, as the
 * CUDA programming guide has it. Numbers and beginnings of UUIDs; what comes behind the first one
 * that means no device does not count; one that is named twice leaves none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

void device_uuid(unsigned int physical, CUuuid *uuid)
{
	memcpy(uuid->bytes, "simulated GPU \0", sizeof(uuid->bytes));
	uuid->bytes[15] = (char)physical;
}

static void format_uuid(unsigned int physical, char text[48])
{
	CUuuid uuid;
	size_t length = 0;

	device_uuid(physical, &uuid);
	length += (size_t)sprintf(text, "GPU");
	for (int i = 0; i < 16; i++)
		length += (size_t)sprintf(text + length, "%s%02x",
					  !i || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					  (unsigned char)uuid.bytes[i]);
}

/* Of the only device whose UUID begins so; -1: none, or several. */
static int by_uuid(const char *text, unsigned int machine)
{
	int found = -1;

	for (unsigned int i = 0; i < machine; i++) {
		char uuid[48];

		format_uuid(i, uuid);
		if (strncmp(uuid, text, strlen(text)))
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

static int physical_of(const char *text, unsigned int machine)
{
	char *end;
	long number;

	while (*text == ' ')
		text++;
	if (!strncmp(text, "GPU-", 4))
		return by_uuid(text, machine);
	number = strtol(text, &end, 10);
	return end != text && number >= 0 && number < (long)machine ? (int)number : -1;
}

unsigned int device_visible(unsigned int machine, unsigned int physical[DEVICE_MAX])
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	char copy[1024], *rest = copy, *item;
	unsigned int count = 0;

	if (!list) {
		for (count = 0; count < machine; count++)
			physical[count] = count;
		return machine;
	}
	snprintf(copy, sizeof(copy), "%s", list);
	while (count < DEVICE_MAX && (item = strsep(&rest, ","))) {
		int found = physical_of(item, machine);

		if (found < 0)
			break;
		for (unsigned int i = 0; i < count; i++)
			if (physical[i] == (unsigned int)found)
				return 0;
		physical[count++] = (unsigned int)found;
	}
	return count;
}
