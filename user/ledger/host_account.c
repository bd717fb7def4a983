// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/host_account.h"

#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "ledger/devices.h"

/* By how much a number that the kernel only counts up has grown; samples may say anything. */
static uint64_t growth(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* ---- a process ------------------------------------------------------------------------------- */

uint64_t host_account_resident(const struct ms_load *load)
{
	return load->anon_bytes + load->shmem_bytes;
}

void host_account_load(struct host_loads *loads, const struct ms_load *load)
{
	if (!loads->count++)
		loads->first = *load;
	else if (loads->last.known & load->known & MS_LOAD_QUEUE)
		loads->queue_ns += growth(loads->last.queue_ns, load->queue_ns);
	loads->last = *load;
	if (host_account_resident(load) > loads->peak_bytes)
		loads->peak_bytes = host_account_resident(load);
}

void host_account_load_restart(struct host_loads *loads)
{
	loads->count = loads->count != 0;
	loads->first = loads->last;
	loads->queue_ns = 0;
	loads->peak_bytes = host_account_resident(&loads->last);
}

/* ---- where its memory lies ------------------------------------------------------------------- */

static const uint8_t placed_spaces[HOST_PLACED_SPACES] = { [HOST_PINNED] = MS_SPACE_PINNED,
							   [HOST_REGISTERED] = MS_SPACE_REGISTERED,
							   [HOST_MANAGED] = MS_SPACE_MANAGED };

uint8_t host_account_space(enum host_placed_space space)
{
	return placed_spaces[space];
}

uint64_t host_account_bytes(const struct host_placed *placed, uint64_t pages)
{
	return placed->asked ?
		       (uint64_t)((unsigned __int128)placed->bytes * pages / placed->asked) :
		       0;
}

static void place(struct host_placed *placed, const struct ms_placement *record)
{
	if (placed->ts_ns != record->event.ts_ns)
		*placed = (struct host_placed){ .ts_ns = record->event.ts_ns,
						.blocks = record->blocks,
						.bytes = record->bytes,
						.asked = record->asked };
	if (record->node < 0 || placed->nodes_count == HOST_PLACED_NODES) {
		placed->unknown += record->pages;
		return;
	}
	placed->nodes[placed->nodes_count].node = (uint32_t)record->node;
	placed->nodes[placed->nodes_count++].pages = record->pages;
}

void host_account_place(struct host_loads *loads, const struct ms_placement *record)
{
	size_t i;

	for (i = 0; i < HOST_PLACED_SPACES; i++)
		if (placed_spaces[i] == record->space)
			place(&loads->placed[i], record);
}

/* Reads an address as the kernel writes it: "0000:81:00.0". */
static bool is_at(const struct ms_gpu *gpu, const struct device_pci *pci)
{
	const unsigned long parts[] = { pci->domain, pci->bus, pci->device, pci->function };
	char bdf[MS_BDF_BYTES + 1] = "", *at = bdf;
	size_t i;

	memcpy(bdf, gpu->bdf, MS_BDF_BYTES);
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (strtoul(at, &at, 16) != parts[i] || !*at != (i == 3))
			return false;
		at++;
	}
	return true;
}

/* -1: not known. */
static int64_t node_at(const struct host_account *account, const struct device_pci *pci)
{
	size_t i;

	for (i = 0; i < account->gpus_count; i++)
		if (account->gpus[i].last.known & MS_GPU_NODE && is_at(&account->gpus[i].last, pci))
			return account->gpus[i].last.node;
	return -1;
}

/* -1: not known, -2: several. */
static int64_t node_of_process(const struct host_account *account,
			       const struct process_devices *devices)
{
	int64_t node = -1;
	size_t i;

	for (i = 0; i < devices->count; i++) {
		const struct device_pci *pci = &devices->devices[i].identity.pci;
		const int64_t other = pci->known ? node_at(account, pci) : -1;

		if (other >= 0 && node >= 0 && other != node)
			return -2;
		node = other >= 0 ? other : node;
	}
	return node;
}

bool host_account_gpu_node(const struct host_account *account,
			   const struct process_devices *devices, uint32_t *node)
{
	const int64_t known = node_of_process(account, devices);
	size_t i;

	*node = known >= 0 ? (uint32_t)known : 0;
	if (known != -1)
		return known >= 0;
	for (i = 0; i < account->gpus_count; i++) {
		const struct ms_gpu *gpu = &account->gpus[i].last;

		if (!(gpu->known & MS_GPU_NODE) || (i && gpu->node != *node))
			return false;
		*node = gpu->node;
	}
	return account->gpus_count;
}

bool host_account_used(const struct host_loads *loads, struct host_used *used)
{
	const struct ms_load *first = &loads->first, *last = &loads->last;
	const uint32_t known = first->known & last->known;

	*used = (struct host_used){ .ns = growth(first->event.ts_ns, last->event.ts_ns) };
	if (loads->count < 2 || !used->ns)
		return false;
	used->has_cpu = known & MS_LOAD_CPU;
	used->has_queue = known & MS_LOAD_QUEUE;
	used->has_throttled = known & MS_LOAD_THROTTLED;
	used->has_stall = known & MS_LOAD_CGROUP_PRESSURE;
	used->cpu_ns = growth(first->cpu_ns, last->cpu_ns);
	used->queue_ns = loads->queue_ns;
	used->major_faults = growth(first->major_faults, last->major_faults);
	used->throttled_ns = growth(first->throttled_ns, last->throttled_ns);
	used->throttled = growth(first->throttled, last->throttled);
	used->stall_ns = growth(first->cgroup_stall_us, last->cgroup_stall_us) * 1000;
	return true;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void see_host(struct host_account *account, const struct ms_host *host)
{
	if (!account->count++)
		account->first = *host;
	account->last = *host;
	if (host->known & MS_HOST_MEMORY &&
	    (!account->least_available_bytes ||
	     host->available_bytes < account->least_available_bytes))
		account->least_available_bytes = host->available_bytes;
}

static void see_node(struct host_account *account, const struct ms_node *node)
{
	struct host_node *kept = account->nodes;
	size_t i;

	for (i = 0; i < account->nodes_count && kept[i].last.node != node->node; i++)
		;
	if (i == HOST_NODES)
		return;
	if (i == account->nodes_count) {
		account->nodes_count++;
		kept[i].least_free_bytes = node->free_bytes;
	}
	kept[i].last = *node;
	if (node->free_bytes < kept[i].least_free_bytes)
		kept[i].least_free_bytes = node->free_bytes;
}

static void see_gpu(struct host_account *account, const struct ms_gpu *gpu)
{
	struct host_gpu *kept = account->gpus;
	size_t i;

	for (i = 0; i < account->gpus_count; i++)
		if (!memcmp(kept[i].last.bdf, gpu->bdf, MS_BDF_BYTES))
			break;
	if (i == HOST_GPUS)
		return;
	if (i == account->gpus_count)
		kept[account->gpus_count++] = (struct host_gpu){ 0 };
	kept[i].last = *gpu;
	if (gpu->speed > kept[i].most_speed)
		kept[i].most_speed = gpu->speed;
	if (gpu->width > kept[i].most_width)
		kept[i].most_width = gpu->width;
}

static void see_xid(struct host_account *account, const struct ms_xid *xid)
{
	if (account->xids_count < HOST_XIDS)
		account->xids[account->xids_count] = *xid;
	account->xids_count++;
}

void host_account_apply(struct host_account *account, const struct event *event)
{
	if (event->header->type == MS_TYPE_HOST)
		see_host(account, (const struct ms_host *)event->sample);
	else if (event->header->type == MS_TYPE_NODE)
		see_node(account, (const struct ms_node *)event->sample);
	else if (event->header->type == MS_TYPE_GPU)
		see_gpu(account, (const struct ms_gpu *)event->sample);
	else if (event->header->type == MS_TYPE_XID)
		see_xid(account, (const struct ms_xid *)event->sample);
}

void host_account_restart(struct host_account *account)
{
	size_t i;

	account->count = account->count != 0;
	account->first = account->last;
	account->least_available_bytes = account->last.available_bytes;
	account->xids_count = 0;
	for (i = 0; i < account->nodes_count; i++)
		account->nodes[i].least_free_bytes = account->nodes[i].last.free_bytes;
	for (i = 0; i < account->gpus_count; i++) {
		account->gpus[i].most_speed = account->gpus[i].last.speed;
		account->gpus[i].most_width = account->gpus[i].last.width;
	}
}

bool host_account_pressure(const struct host_account *account, struct host_pressure *pressure)
{
	const struct ms_host *first = &account->first, *last = &account->last;
	const uint32_t known = first->known & last->known;

	*pressure = (struct host_pressure){ .ns = growth(first->event.ts_ns, last->event.ts_ns) };
	if (account->count < 2 || !pressure->ns)
		return false;
	pressure->has_cpu = known & MS_HOST_CPU_PRESSURE;
	pressure->has_memory = known & MS_HOST_MEMORY_PRESSURE;
	pressure->has_io = known & MS_HOST_IO_PRESSURE;
	pressure->cpu_some_ns = growth(first->cpu_some_us, last->cpu_some_us) * 1000;
	pressure->memory_some_ns = growth(first->memory_some_us, last->memory_some_us) * 1000;
	pressure->memory_full_ns = growth(first->memory_full_us, last->memory_full_us) * 1000;
	pressure->io_some_ns = growth(first->io_some_us, last->io_some_us) * 1000;
	pressure->io_full_ns = growth(first->io_full_us, last->io_full_us) * 1000;
	return pressure->has_cpu || pressure->has_memory || pressure->has_io;
}
