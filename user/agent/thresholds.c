// SPDX-License-Identifier: BSD-2-Clause
#include "agent/thresholds.h"

#include <string.h>

#include "ledger/nvml_account.h"
#include "ledger/process.h"

/* Less is a number without its unit. */
#define LEAST_BYTES (1ull << 20)

#define HALF_GROWTH_NS 300000000000ull

static const char *const names[THRESHOLDS_COUNT] = { "used", "free", "process", "growth",
						     "unexplained" };

/* ---- what is asked for ----------------------------------------------------------------------- */

static const char *parse_one(struct thresholds_options *options, const char *text, size_t length)
{
	char copy[64], *value, *end;
	enum threshold_kind which = 0;

	if (length >= sizeof(copy))
		return "a rule is too long";
	memcpy(copy, text, length);
	copy[length] = '\0';
	value = strchr(copy, '=');
	if (!value)
		return "a rule is like used=95% or process=40G";
	*value++ = '\0';
	while (which < THRESHOLDS_COUNT && strcmp(copy, names[which]) != 0)
		which++;
	if (which == THRESHOLDS_COUNT)
		return "a rule begins with used, free, process, growth or unexplained";
	if (options->at[which])
		return "there is one rule of a kind at most";
	end = value + strlen(value);
	if (which != THRESHOLD_USED)
		return string_parse_size(value, &options->at[which]) ||
				       options->at[which] < LEAST_BYTES ?
			       "a size is like 40G, and at least 1M" :
			       NULL;
	if (end == value || end[-1] != '%')
		return "used is in percent, like used=95%";
	end[-1] = '\0';
	return string_parse_u64(value, 1, 100, &options->at[which]) ? "used is from 1% to 100%" :
								      NULL;
}

const char *thresholds_parse(struct thresholds_options *options, const char *text)
{
	const char *wrong = NULL;

	*options = (struct thresholds_options){ 0 };
	while (!wrong) {
		const size_t length = strcspn(text, ",");

		wrong = parse_one(options, text, length);
		if (!text[length])
			break;
		text += length + 1;
		text += strspn(text, " ");
	}
	return wrong;
}

/* ---- what is there --------------------------------------------------------------------------- */

struct look {
	struct thresholds *thresholds;
	struct map reached; /* by now */
	struct string *why;
	bool any; /* that had not been reached before */
};

static uint64_t key_of(enum threshold_kind which, uint64_t subject)
{
	return subject * THRESHOLDS_COUNT + which;
}

/* Returns whether it has been reached just now. */
static bool compare(struct look *look, enum threshold_kind which, uint64_t subject, uint64_t value)
{
	const uint64_t at = look->thresholds->options.at[which], key = key_of(which, subject);
	const bool before = map_get(&look->thresholds->reached, key);
	const bool below = which == THRESHOLD_FREE;
	const uint64_t left = below ? at + at / 10 : at - at / 10;

	if (!at || (below ? value > (before ? left : at) : value < (before ? left : at)))
		return false;
	map_set(&look->reached, key, 1);
	look->any |= !before;
	return !before;
}

static void begin_words(struct look *look)
{
	if (look->why->length)
		string_append_text(look->why, "; ");
}

static void look_at_device(struct look *look, size_t place, const struct ms_device *device)
{
	const uint64_t total = device->total_bytes;
	const uint64_t free = device->free_bytes < total ? device->free_bytes : total;
	char text[STRING_NUMBER_BYTES];
	bool reached;

	if (!(device->known & MS_DEVICE_MEMORY) || !total)
		return;
	reached = compare(look, THRESHOLD_USED, place,
			  (uint64_t)((double)(total - free) / (double)total * 100));
	reached |= compare(look, THRESHOLD_FREE, place, free);
	if (!reached)
		return;
	begin_words(look);
	string_append_format(look->why, "device %.*s has %s free", MS_UUID_BYTES, device->uuid,
			     string_size(text, free));
}

/* The least that it held within the last five to ten minutes. */
static uint64_t least_of(struct thresholds *thresholds, uint64_t number, uint64_t live_bytes)
{
	const uint64_t *now = map_get(&thresholds->least, number);
	const uint64_t *earlier = map_get(&thresholds->earlier, number);
	uint64_t least = now && *now < live_bytes ? *now : live_bytes;

	if (!now || least < *now)
		map_set(&thresholds->least, number, least);
	return earlier && *earlier < least ? *earlier : least;
}

static void look_at_process(struct look *look, const struct process *process)
{
	struct thresholds *thresholds = look->thresholds;
	const uint64_t live_bytes = process_on_devices_bytes(process), number = process->number;
	char text[STRING_NUMBER_BYTES];
	struct nvml_parts parts;
	bool reached = compare(look, THRESHOLD_PROCESS, number, live_bytes);

	if (thresholds->options.at[THRESHOLD_GROWTH])
		reached |= compare(look, THRESHOLD_GROWTH, number,
				   live_bytes - least_of(thresholds, number, live_bytes));
	if (thresholds->options.at[THRESHOLD_UNEXPLAINED] && nvml_account_parts(process, &parts) &&
	    parts.unexplained_bytes > 0)
		reached |= compare(look, THRESHOLD_UNEXPLAINED, number,
				   (uint64_t)parts.unexplained_bytes);
	if (!reached)
		return;
	begin_words(look);
	string_append_format(look->why, "process %u has %s", process->pid,
			     string_size(text, live_bytes));
}

bool thresholds_look(struct thresholds *thresholds, const struct state *state, uint64_t now_ns,
		     struct string *why)
{
	struct look look = { .thresholds = thresholds, .why = why };
	size_t i;

	if (now_ns - thresholds->renewed_ns > HALF_GROWTH_NS) {
		map_fini(&thresholds->earlier);
		thresholds->earlier = thresholds->least;
		thresholds->least = (struct map){ 0 };
		thresholds->renewed_ns = now_ns;
	}
	for (i = 0; i < state->nvml_devices.count; i++)
		look_at_device(&look, i, &state->nvml_devices.devices[i].last);
	for (i = 0; i < state->processes_count; i++)
		if (!state->processes[i]->exited)
			look_at_process(&look, state->processes[i]);
	map_fini(&thresholds->reached);
	thresholds->reached = look.reached;
	return look.any;
}

void thresholds_fini(struct thresholds *thresholds)
{
	map_fini(&thresholds->reached);
	map_fini(&thresholds->least);
	map_fini(&thresholds->earlier);
}
