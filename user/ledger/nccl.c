// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/nccl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event/nccl.h"
#include "ledger/effort.h"
#include "ledger/limits.h"
#include "ledger/state.h"
#include "ledger/usage.h"

/* ---- communicators --------------------------------------------------------------------------- */

/* The last one that had the handle: another one may have it once it has ended. */
static struct nccl_communicator *find(struct nccl *nccl, uint64_t handle)
{
	size_t i;

	for (i = nccl->count; i-- > 0;)
		if (nccl->list[i].handle == handle)
			return nccl->list[i].ended_ns ? NULL : &nccl->list[i];
	return NULL;
}

static int add(struct nccl *nccl, uint64_t handle, struct nccl_communicator **added)
{
	*added = NULL;
	if (nccl->count == LIMIT_COMMUNICATORS) {
		nccl->others++;
		return 0;
	}
	if (memory_grow(&nccl->list, &nccl->capacity, nccl->count + 1, sizeof(*nccl->list)))
		return -ENOMEM;
	*added = &nccl->list[nccl->count++];
	memset(*added, 0, sizeof(**added));
	(*added)->handle = handle;
	(*added)->rank = UINT32_MAX;
	return 0;
}

/* The only one that there is; NULL: there is none, or more than one. */
static struct nccl_communicator *only_one(struct nccl *nccl)
{
	struct nccl_communicator *only = NULL;
	size_t i;

	for (i = 0; i < nccl->count; i++) {
		if (!nccl->list[i].handle || nccl->list[i].ended_ns)
			continue;
		if (only)
			return NULL;
		only = &nccl->list[i];
	}
	return only;
}

static bool succeeded(const struct ms_nccl *record)
{
	return record->result == MS_NCCL_SUCCESS || record->result == MS_NCCL_IN_PROGRESS;
}

static void count_call(struct nccl_communicator *communicator, const struct ms_nccl *record)
{
	struct nccl_calls *calls = &communicator->calls[record->function];
	uint64_t bytes = 0;

	calls->count++;
	calls->failed += !succeeded(record);
	calls->duration_ns += record->duration_ns;
	if (succeeded(record) && nccl_record_bytes(record, &bytes) &&
	    __builtin_add_overflow(calls->bytes, bytes, &calls->bytes))
		calls->bytes = UINT64_MAX;
}

static void note_life(struct nccl_communicator *communicator, const struct ms_nccl *record)
{
	const enum nccl_about about = nccl_function_about(record->function);

	/* Of none: one that is split off without this rank, or NULL that is destroyed. */
	if (!communicator->handle)
		return;
	if (about == NCCL_MAKES && succeeded(record)) {
		communicator->made_ns = record->event.ts_ns;
		communicator->ranks = record->count;
		if (nccl_record_has_rank(record))
			communicator->rank = record->detail;
	}
	if (about == NCCL_ENDS && succeeded(record))
		communicator->ended_ns = record->event.ts_ns;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* NULL: it is neither memory of a device nor page-locked, as addresses are. */
static struct nccl_memory *memory_of(struct nccl_communicator *communicator,
				     const struct allocation *allocation)
{
	if (usage_is_on_device(allocation->space))
		return &communicator->device;
	return allocation->space == MS_SPACE_PINNED ? &communicator->host : NULL;
}

static void memory_add(struct nccl_communicator *communicator, const struct allocation *allocation)
{
	struct nccl_memory *memory = memory_of(communicator, allocation);

	if (!memory)
		return;
	memory->blocks++;
	memory->bytes += allocation->size_bytes;
	if (memory->bytes > memory->peak_bytes)
		memory->peak_bytes = memory->bytes;
}

static uint64_t began_at(const struct ms_nccl *record)
{
	return record->event.ts_ns > record->duration_ns ?
		       record->event.ts_ns - record->duration_ns :
		       0;
}

/* NCCL connects ranks in threads of its own, for which the call waits. */
static bool is_made_in(const struct stacks *stacks, const struct allocation *allocation,
		       const struct ms_nccl *record)
{
	const struct stack *stack;

	if (allocation->communicator || allocation->ts_ns < began_at(record) ||
	    allocation->ts_ns > record->event.ts_ns)
		return false;
	if (allocation->tid == record->event.tid)
		return true;
	stack = allocation->stack ? stacks_find(stacks, allocation->stack) : NULL;
	return stack && stack->owner && !strncmp(stack->owner, "libnccl", 7);
}

/* What the call has allocated is the communicator's. */
static void take_memory(struct process *process, const struct stacks *stacks,
			const struct ms_nccl *record, struct nccl_communicator *communicator)
{
	static const enum ms_key keys[] = { MS_KEY_POINTER, MS_KEY_HANDLE };
	const uint8_t number = communicator - process->nccl.list + 1;
	size_t i, j;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const struct ledger *ledger = &process->ledgers[keys[i]];

		if (!effort_pay(process, ledger->count)) {
			process->nccl.unlooked++;
			return;
		}
		for (j = 0; j < ledger->count; j++) {
			struct allocation *allocation = &ledger->entries[j];

			if (!is_made_in(stacks, allocation, record))
				continue;
			allocation->communicator = number;
			memory_add(communicator, allocation);
		}
	}
}

static struct nccl_communicator *by_number(struct nccl *nccl, const struct allocation *allocation)
{
	return allocation->communicator && allocation->communicator <= nccl->count ?
		       &nccl->list[allocation->communicator - 1] :
		       NULL;
}

void nccl_memory_ends(struct nccl *nccl, const struct allocation *allocation)
{
	struct nccl_communicator *communicator = by_number(nccl, allocation);
	struct nccl_memory *memory = communicator ? memory_of(communicator, allocation) : NULL;

	if (!memory || !memory->blocks)
		return;
	memory->blocks--;
	memory->bytes -=
		allocation->size_bytes < memory->bytes ? allocation->size_bytes : memory->bytes;
}

void nccl_memory_stays(struct nccl *nccl, const struct allocation *allocation)
{
	struct nccl_communicator *communicator = by_number(nccl, allocation);

	if (communicator)
		memory_add(communicator, allocation);
}

/* ---- all of it ------------------------------------------------------------------------------- */

int nccl_apply(struct process *process, const struct stacks *stacks, const struct ms_nccl *record)
{
	struct nccl *nccl = &process->nccl;
	/* What fails to make one leaves none behind. */
	const bool is_failed_one =
		nccl_function_about(record->function) == NCCL_MAKES && !succeeded(record);
	const uint64_t handle = is_failed_one ? 0 : record->comm;
	struct nccl_communicator *communicator, *taker;
	int err;

	communicator = find(nccl, handle);
	/* Its end was missed. */
	if (communicator && handle && nccl_function_about(record->function) == NCCL_MAKES &&
	    communicator->made_ns) {
		communicator->ended_ns = began_at(record);
		communicator = NULL;
	}
	if (!communicator) {
		err = add(nccl, handle, &communicator);
		if (err || !communicator)
			return err;
	}
	count_call(communicator, record);
	note_life(communicator, record);
	if (nccl->newest_ns < began_at(record))
		return 0;
	/* Calls of before are carried out, of whichever communicator. */
	taker = record->function == MS_NCCL_ncclGroupEnd ? only_one(nccl) : NULL;
	take_memory(process, stacks, record, taker ? taker : communicator);
	return 0;
}

static void calls_add(struct nccl_calls *sum, const struct nccl_calls *calls)
{
	sum->count += calls->count;
	sum->failed += calls->failed;
	sum->duration_ns += calls->duration_ns;
	if (__builtin_add_overflow(sum->bytes, calls->bytes, &sum->bytes))
		sum->bytes = UINT64_MAX;
}

struct nccl_calls nccl_moves(const struct nccl_communicator *communicator)
{
	struct nccl_calls sum = { 0 };
	size_t i;

	for (i = 0; i < MS_NCCL_FUNCTIONS_COUNT; i++)
		if (nccl_function_about(i) == NCCL_MOVES)
			calls_add(&sum, &communicator->calls[i]);
	return sum;
}

struct nccl_calls nccl_all_calls(const struct nccl_communicator *communicator)
{
	struct nccl_calls sum = { 0 };
	size_t i;

	for (i = 0; i < MS_NCCL_FUNCTIONS_COUNT; i++)
		calls_add(&sum, &communicator->calls[i]);
	return sum;
}

static void note_peak(struct nccl_memory *sum, const struct nccl_memory *memory)
{
	if (memory->peak_bytes > sum->peak_bytes)
		sum->peak_bytes = memory->peak_bytes;
}

void nccl_add(struct nccl *sum, const struct nccl *nccl)
{
	struct nccl_communicator *to = nccl->count ? find(sum, 0) : NULL;
	size_t i, j;

	sum->others += nccl->others;
	sum->unlooked += nccl->unlooked;
	if (nccl->count && !to)
		add(sum, 0, &to);
	for (i = 0; i < nccl->count; i++) {
		const struct nccl_communicator *from = &nccl->list[i];

		if (!to) {
			sum->others += nccl_all_calls(from).count;
			continue;
		}
		for (j = 0; j < MS_NCCL_FUNCTIONS_COUNT; j++)
			calls_add(&to->calls[j], &from->calls[j]);
		note_peak(&to->device, &from->device);
		note_peak(&to->host, &from->host);
	}
}

void nccl_exec(struct nccl *nccl, uint64_t ts_ns)
{
	size_t i;

	for (i = 0; i < nccl->count; i++) {
		struct nccl_communicator *communicator = &nccl->list[i];

		if (communicator->handle && !communicator->ended_ns)
			communicator->ended_ns = ts_ns;
		communicator->device.blocks = communicator->device.bytes = 0;
		communicator->host.blocks = communicator->host.bytes = 0;
	}
}

void nccl_restart(struct nccl *nccl)
{
	size_t i;

	for (i = 0; i < nccl->count; i++) {
		struct nccl_communicator *communicator = &nccl->list[i];

		memset(communicator->calls, 0, sizeof(communicator->calls));
		communicator->device.peak_bytes = communicator->device.bytes;
		communicator->host.peak_bytes = communicator->host.bytes;
	}
	nccl->others = nccl->unlooked = 0;
}

size_t nccl_bytes(const struct nccl *nccl)
{
	return nccl->capacity * sizeof(*nccl->list);
}

void nccl_fini(struct nccl *nccl)
{
	free(nccl->list);
	*nccl = (struct nccl){ 0 };
}
