// SPDX-License-Identifier: BSD-2-Clause
#include "invariants.h"

#include <string.h>

#include "fuzz.h"
#include "json_check.h"

struct ledger_sums {
	uint64_t count[MS_SPACES_COUNT], bytes[MS_SPACES_COUNT];
	uint64_t unknown_sizes;
};

static void add_up(const struct ledger *ledger, struct ledger_sums *sums)
{
	size_t i;

	for (i = 0; i < ledger->count; i++) {
		const struct allocation *entry = &ledger->entries[i];

		fuzz_check(ledger_find(ledger, entry->addr) == entry);
		fuzz_check(entry->space < MS_SPACES_COUNT);
		sums->count[entry->space]++;
		sums->bytes[entry->space] += entry->size_bytes;
		sums->unknown_sizes += !entry->size_known;
	}
}

/*
 * The totals are those of what is in the ledgers. (Not the peaks: sums of impossible sizes wrap
 * around, and back.)
 */
static void check_totals(const struct process *process)
{
	struct ledger_sums sums = { 0 };
	size_t i;

	for (i = 0; i < LEDGERS_COUNT; i++)
		add_up(&process->ledgers[i], &sums);
	for (i = 0; i < MS_SPACES_COUNT; i++) {
		const struct space_total *space = &process->spaces[i];

		fuzz_check(space->live_count == sums.count[i]);
		fuzz_check(space->live_bytes == sums.bytes[i]);
	}
	/* Of what was live at its exit, an exited process keeps the numbers alone. */
	fuzz_check(process->exited ||
		   process->counters[COUNTER_UNKNOWN_SIZES] == sums.unknown_sizes);
}

struct search {
	uint64_t id;
	uint64_t mappings, releases;
};

static void look(void *context, const struct pending_free *freed)
{
	struct search *search = context;

	search->mappings += freed->key == MS_KEY_MAPPING && freed->allocation.owner == search->id;
	search->releases += freed->key == MS_KEY_HANDLE && freed->allocation.id == search->id;
}

/* How often the memory with that id is mapped: now, or in an unmapping that is not over. */
static uint64_t mappings_of(const struct process *process, uint64_t id)
{
	const struct ledger *mappings = &process->ledgers[MS_KEY_MAPPING];
	struct search search = { .id = id };
	size_t i;

	for (i = 0; i < mappings->count; i++)
		search.mappings += mappings->entries[i].owner == id;
	pending_visit(&process->pending, look, &search);
	return search.mappings;
}

static bool is_pending(const struct process *process, uint64_t id)
{
	struct search search = { .id = id };

	pending_visit(&process->pending, look, &search);
	return search.releases;
}

/* Memory with a handle is found by its id; what has none is there because something needs it. */
static void check_physical(const struct process *process)
{
	const struct ledger *named = &process->ledgers[MS_KEY_HANDLE];
	const struct ledger *nameless = &process->ledgers[LEDGER_RELEASED];
	size_t i;

	fuzz_check(process->handles.count == named->count);
	for (i = 0; i < named->count; i++) {
		const struct allocation *entry = &named->entries[i];
		const uint64_t *handle = map_get(&process->handles, entry->id);

		fuzz_check(handle && *handle == entry->addr);
		fuzz_check(entry->references > 0);
		fuzz_check(entry->mappings == mappings_of(process, entry->id));
	}
	for (i = 0; i < nameless->count; i++) {
		const struct allocation *entry = &nameless->entries[i];

		fuzz_check(entry->addr == entry->id);
		fuzz_check(entry->references || entry->mappings || is_pending(process, entry->id));
		fuzz_check(entry->mappings == mappings_of(process, entry->id));
	}
}

void invariants_check(const struct state *state)
{
	size_t i;

	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];

		check_totals(process);
		check_physical(process);
	}
}

/* ---- outputs --------------------------------------------------------------------------------- */

void invariants_check_text(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		fuzz_check(text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~'));
}

void invariants_check_json(const char *lines, size_t length)
{
	const char *line = lines, *end;

	for (; length && line < lines + length; line = end + 1) {
		end = memchr(line, '\n', lines + length - line);
		fuzz_check(end && json_check(line, end - line));
	}
}
