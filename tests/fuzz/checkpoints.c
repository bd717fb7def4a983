// SPDX-License-Identifier: BSD-2-Clause
#include "checkpoints.h"

#include <string.h>

#include "fuzz.h"
#include "invariants.h"

/* The order and meaning of these are what the committed inputs are made of. */
struct step {
	uint8_t type;
	uint8_t who;    /* process; how much too long or short the record is */
	uint8_t row[2]; /* where there is one */
	uint8_t values[20];
};

_Static_assert(sizeof(struct step) == CHECKPOINTS_STEP_BYTES, "without holes");

static size_t size_of(uint16_t type)
{
	switch (type) {
	case MS_CHECKPOINT_STATE:
		return sizeof(struct ms_checkpoint_state);
	case MS_CHECKPOINT_PROCESS:
		return sizeof(struct ms_checkpoint_process);
	case MS_CHECKPOINT_CALLS:
		return sizeof(struct ms_checkpoint_calls);
	case MS_CHECKPOINT_SPACE:
		return sizeof(struct ms_checkpoint_space);
	case MS_CHECKPOINT_TOTAL:
		return sizeof(struct ms_checkpoint_total);
	case MS_CHECKPOINT_NAME:
		return sizeof(struct ms_checkpoint_name) + 8;
	case MS_CHECKPOINT_KERNEL:
		return sizeof(struct ms_checkpoint_kernel) + 8;
	case MS_CHECKPOINT_FAILURE:
		return sizeof(struct ms_checkpoint_failure);
	case MS_CHECKPOINT_CONTEXT:
		return sizeof(struct ms_checkpoint_context);
	case MS_CHECKPOINT_VIEW:
		return sizeof(struct ms_checkpoint_view);
	case MS_CHECKPOINT_GRAPH:
		return sizeof(struct ms_checkpoint_graph);
	case MS_CHECKPOINT_NODE:
		return sizeof(struct ms_checkpoint_node);
	case MS_CHECKPOINT_ALLOCATION:
		return sizeof(struct ms_checkpoint_allocation);
	}
	return sizeof(struct ms_event);
}

/* Small numbers, addresses, and those at the end. */
static uint64_t value_of(uint8_t byte)
{
	if (byte < 0x60)
		return byte;
	if (byte < 0xf0)
		return (byte - 0x60) * 0x100ull;
	return UINT64_MAX - (byte - 0xf0) * 0x100ull;
}

static void make_allocation(const struct step *step, union checkpoints_record *record)
{
	record->allocation.row =
		(uint16_t)((step->row[0] | step->row[1] << 8) % (probe_count() + 1));
	record->allocation.driver_row = MS_NO_ROW;
	record->allocation.space = step->values[6] % (MS_SPACES_COUNT + 1);
	record->allocation.size_known = step->values[7] & 1;
	record->allocation.role = (step->values[7] >> 1) % (MS_CHECKPOINT_ROLES + 1);
	record->allocation.key = step->values[8] % (MS_KEYS_COUNT + 1);
	record->allocation.owner = step->values[9] | (uint64_t)(step->values[10] & 3) << 32;
}

void checkpoints_make(const uint8_t bytes[CHECKPOINTS_STEP_BYTES], union checkpoints_record *record)
{
	struct step step;
	size_t i;

	memcpy(&step, bytes, sizeof(step));
	memset(record, 0, sizeof(*record));
	for (i = sizeof(record->event) / 8; i < sizeof(*record) / 8; i++)
		record->words[i] = value_of(step.values[i % sizeof(step.values)]);
	record->event.type =
		MS_CHECKPOINT_STATE + step.type % (MS_CHECKPOINT_END - MS_CHECKPOINT_STATE + 2);
	record->event.pid = 1 + (step.who & 3);
	record->event.tid = 1 + (step.who >> 2 & 1);
	record->event.start_ns = (step.who >> 3 & 1) * MS_START_NS;
	record->event.size = size_of(record->event.type);
	if (step.who >> 4 == 15)
		record->event.size += 8;
	if (step.who >> 4 == 14)
		record->event.size -= record->event.size > sizeof(record->event) ? 8 : 0;
	if (record->event.type == MS_CHECKPOINT_PROCESS)
		memcpy(record->process.comm, "process", sizeof("process"));
	if (record->event.type == MS_CHECKPOINT_FAILURE)
		record->failure.row = step.row[0];
	if (record->event.type == MS_CHECKPOINT_ALLOCATION)
		make_allocation(&step, record);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Who a record is about is in it; in which order they come is not. */
static int add_hash(void *context, const void *record, size_t length)
{
	const uint8_t *bytes = record;
	uint64_t hash = 14695981039346656037u;
	size_t i;

	for (i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 1099511628211u;
	*(uint64_t *)context += hash;
	return 0;
}

uint64_t checkpoints_hash(const struct state *state)
{
	uint64_t hash = 0;

	fuzz_check(!checkpoint_save(state, 0, add_hash, &hash));
	return hash;
}

static int load(void *context, const void *record, size_t length)
{
	fuzz_check(!checkpoint_load(context, record, length));
	return 0;
}

void checkpoints_check(const struct state *state)
{
	struct state loaded = { 0 };
	struct checkpoint anchor;

	checkpoint_init(&anchor, &loaded);
	fuzz_check(!checkpoint_save(state, 0, load, &anchor));
	fuzz_check(anchor.complete);
	invariants_check(&loaded);
	fuzz_check(checkpoints_hash(&loaded) == checkpoints_hash(state));
	state_fini(&loaded);
}
