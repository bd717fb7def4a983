// SPDX-License-Identifier: BSD-2-Clause
#include "host/topology.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/host_files.h"

#define NODES "/sys/devices/system/node"
#define DEVICES "/sys/bus/pci/devices"
#define NVIDIA 0x10de
#define CLASS_DISPLAY 0x03

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool read_node(const char *root, unsigned int number, struct ms_node *node)
{
	char path[128], text[HOST_FILES_BYTES], words[64];
	__u64 total, free_kb;

	snprintf(path, sizeof(path), NODES "/node%u/meminfo", number);
	if (host_files_read(root, path, text, sizeof(text)) <= 0)
		return false;
	snprintf(words, sizeof(words), "Node %u MemTotal:", number);
	if (!host_files_find(text, words, &total) || !total)
		return false;
	snprintf(words, sizeof(words), "Node %u MemFree:", number);
	if (!host_files_find(text, words, &free_kb))
		return false;
	*node = (struct ms_node){ .node = number,
				  .total_bytes = total << 10,
				  .free_bytes = free_kb << 10 };
	return true;
}

static int compare_nodes(const void *one, const void *other)
{
	const struct ms_node *a = one, *b = other;

	return (a->node > b->node) - (a->node < b->node);
}

size_t topology_nodes(const char *root, struct ms_node nodes[TOPOLOGY_NODES])
{
	char path[HOST_FILES_PATH_BYTES];
	struct dirent *entry;
	size_t count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "%s" NODES, root);
	directory = opendir(path);
	while (directory && (entry = readdir(directory)) && count < TOPOLOGY_NODES) {
		unsigned int number;

		if (sscanf(entry->d_name, "node%u", &number) == 1 &&
		    read_node(root, number, &nodes[count]))
			count++;
	}
	if (directory)
		closedir(directory);
	qsort(nodes, count, sizeof(*nodes), compare_nodes);
	return count;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* What a file of the device says, "" if nothing. `up`: of what it is plugged into. */
static void read_text(const char *root, const char *bdf, const char *up, const char *name,
		      char *text, size_t bytes)
{
	char path[160];

	snprintf(path, sizeof(path), DEVICES "/%.*s/%s%s", MS_BDF_BYTES - 1, bdf, up, name);
	if (host_files_read(root, path, text, bytes) < 0)
		*text = '\0';
}

static long read_number(const char *root, const char *bdf, const char *up, const char *name)
{
	char text[32];

	read_text(root, bdf, up, name, text, sizeof(text));
	return *text ? strtol(text, NULL, 0) : 0;
}

/* "2.5 GT/s PCIe" is 25; 0: not known. */
static __u32 read_speed(const char *root, const char *bdf, const char *up, const char *name)
{
	unsigned int whole = 0, tenths = 0;
	char text[32];

	read_text(root, bdf, up, name, text, sizeof(text));
	sscanf(text, "%u.%1u", &whole, &tenths);
	return whole < 100000 ? whole * 10 + tenths : 0;
}

/* A port above it that is slower is the limit. */
static __u32 lower(__u32 own, __u32 above)
{
	return above && above < own ? above : own;
}

static void read_link(const char *root, struct ms_gpu *gpu)
{
	const char *bdf = gpu->bdf;

	gpu->speed = read_speed(root, bdf, "", "current_link_speed");
	gpu->width = (__u32)read_number(root, bdf, "", "current_link_width");
	gpu->max_speed = lower(read_speed(root, bdf, "", "max_link_speed"),
			       read_speed(root, bdf, "../", "max_link_speed"));
	gpu->max_width = lower((__u32)read_number(root, bdf, "", "max_link_width"),
			       (__u32)read_number(root, bdf, "../", "max_link_width"));
	if (gpu->speed && gpu->width && gpu->max_speed && gpu->max_width)
		gpu->known |= MS_GPU_LINK;
	else
		gpu->speed = gpu->max_speed = gpu->width = gpu->max_width = 0;
}

static bool read_gpu(const char *root, const char *bdf, struct ms_gpu *gpu)
{
	char text[16];
	long node;

	*gpu = (struct ms_gpu){ .known = 0 };
	if (strlen(bdf) >= MS_BDF_BYTES || read_number(root, bdf, "", "vendor") != NVIDIA ||
	    read_number(root, bdf, "", "class") >> 16 != CLASS_DISPLAY)
		return false;
	memcpy(gpu->bdf, bdf, strlen(bdf));
	read_text(root, bdf, "", "numa_node", text, sizeof(text));
	node = *text ? strtol(text, NULL, 10) : -1;
	if (node >= 0) {
		gpu->known |= MS_GPU_NODE;
		gpu->node = (__u32)node;
	}
	read_link(root, gpu);
	return true;
}

static int compare_gpus(const void *one, const void *other)
{
	return strcmp(((const struct ms_gpu *)one)->bdf, ((const struct ms_gpu *)other)->bdf);
}

size_t topology_gpus(const char *root, struct ms_gpu gpus[TOPOLOGY_GPUS])
{
	char path[HOST_FILES_PATH_BYTES];
	struct dirent *entry;
	size_t count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "%s" DEVICES, root);
	directory = opendir(path);
	while (directory && (entry = readdir(directory)) && count < TOPOLOGY_GPUS)
		if (*entry->d_name != '.' && read_gpu(root, entry->d_name, &gpus[count]))
			count++;
	if (directory)
		closedir(directory);
	qsort(gpus, count, sizeof(*gpus), compare_gpus);
	return count;
}
