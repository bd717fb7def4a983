// SPDX-License-Identifier: BSD-2-Clause
#include "agent/self.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

uint64_t self_resident_bytes(void)
{
	unsigned long long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	fclose(file);
	return resident * (uint64_t)getpagesize();
}

uint64_t self_descriptors(void)
{
	DIR *stream = opendir("/proc/self/fd");
	uint64_t count = 0;

	while (stream && readdir(stream))
		count++;
	if (stream)
		closedir(stream);
	return count > 3 ? count - 3 : 0; /* without ".", ".." and that of the look */
}
