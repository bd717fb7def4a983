// SPDX-License-Identifier: BSD-2-Clause
#include "render/check_probes.h"

#include <stdio.h>

/*
 * In hundredths of REF, an empty program on an emulated instruction: what a call took longer with
 * this program attached, from the lowest to the highest over hosts (docs/cost-and-safety.md). Of an
 * optimised nop, an empty program's cost and what this program adds on other instructions.
 * Single-stepping costs most in a nested virtual machine, and least on bare metal, by the kernel's
 * selftests.
 */
static const struct {
	struct {
		unsigned int low, high;
	} entry, with_result;
} prices[PROLOGUE_PRICES_COUNT] = {
	[PROLOGUE_OPTIMISED] = { { 80, 110 }, { 150, 220 } },
	[PROLOGUE_EMULATED] = { { 110, 140 }, { 180, 250 } },
	[PROLOGUE_STEPPED] = { { 200, 1800 }, { 260, 1900 } },
};

/* The two ways to probe a function. */
struct use {
	const char *name;
	bool with_result;
};

static const struct use uses[] = { { "with_result", true }, { "entry_alone", false } };

static const struct prologue_point *point_of(const struct check_function *function,
					     const struct use *use)
{
	return use->with_result ? &function->prologue.result : &function->prologue.entry;
}

static bool is_changed(const struct check_function *function, const struct use *use)
{
	return use->with_result ? function->result_changed : function->entry_changed;
}

static void price_of(const struct prologue_point *point, const struct use *use, unsigned int *low,
		     unsigned int *high)
{
	*low = use->with_result ? prices[point->price].with_result.low :
				  prices[point->price].entry.low;
	*high = use->with_result ? prices[point->price].with_result.high :
				   prices[point->price].entry.high;
}

/* ---- what there is of each kind -------------------------------------------------------------- */

struct counts {
	size_t first, later, stepped, changed;
};

static struct counts count(const struct check_library *library, const struct use *use)
{
	struct counts counts = { 0 };
	uint32_t row;

	for (row = 0; row < probe_count(); row++) {
		const struct check_function *function = &library->rows[row];
		const struct prologue_point *point = point_of(function, use);

		if (!function->found)
			continue;
		if (is_changed(function, use)) {
			counts.changed++;
			continue;
		}
		counts.later += point->offset > 0;
		counts.first += point->offset == 0 && point->price != PROLOGUE_STEPPED;
		counts.stepped += point->price == PROLOGUE_STEPPED;
	}
	return counts;
}

/* ---- text ------------------------------------------------------------------------------------ */

#define NAME_WIDTH 41

void check_probes_append_legend(struct string *out)
{
	string_append_text(
		out,
		"  Where the probes go, with results and (--no-return) at entries alone, and what a call\n"
		"  then takes more. 1 REF is a trap with an empty program. Single-stepped instructions\n"
		"  take 2 to 3 REF on bare metal, in a nested virtual machine 18.\n");
}

static void append_counts(struct string *out, const struct check_library *library,
			  const struct use *use)
{
	struct counts counts = count(library, use);

	string_append_format(out,
			     "      %s: %zu at the first instruction, %zu at a later one, %zu"
			     " single-stepped",
			     use->with_result ? "with results" : "entries alone", counts.first,
			     counts.later, counts.stepped);
	if (counts.changed)
		string_append_format(out, ", %zu changed by the process and not probed",
				     counts.changed);
	string_append_char(out, '\n');
}

static void append_point(struct string *out, const struct check_function *function,
			 const struct use *use)
{
	const struct prologue_point *point = point_of(function, use);
	char place[32], price[32] = "?";
	unsigned int low, high;

	if (is_changed(function, use)) {
		string_append_text(out, "  changed: not probed   ");
		return;
	}
	price_of(point, use, &low, &high);
	snprintf(place, sizeof(place), "+%u %s", point->offset, prologue_form_name(point->form));
	if (low)
		snprintf(price, sizeof(price), "%.1f-%.*f REF", low / 100.0, high < 1000,
			 high / 100.0);
	string_append_format(out, "  %-10s %-11s", place, price);
}

static void append_function(struct string *out, const struct check_function *function,
			    const char *name)
{
	size_t i;

	string_append_format(out, "      %-*s %#10llx  %-8s", NAME_WIDTH, name,
			     (unsigned long long)function->file_offset,
			     prologue_form_name(function->prologue.first.form));
	for (i = 0; i < sizeof(uses) / sizeof(*uses); i++)
		append_point(out, function, &uses[i]);
	while (out->length && out->bytes[out->length - 1] == ' ')
		out->length--;
	string_append_char(out, '\n');
}

void check_probes_append_text(struct string *out, const struct check_library *library, bool verbose)
{
	uint32_t row;
	size_t i;

	for (i = 0; i < sizeof(uses) / sizeof(*uses); i++)
		append_counts(out, library, &uses[i]);
	if (!verbose)
		return;
	string_append_format(out, "      %-*s %10s  %-8s  %-22s  %s\n", NAME_WIDTH, "FUNCTION",
			     "OFFSET", "BEGINS", "WITH RESULT", "ENTRY ALONE");
	for (row = 0; row < probe_count(); row++)
		if (library->rows[row].found)
			append_function(out, &library->rows[row], probe_at(row)->symbol);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_counts(struct json *json, const struct check_library *library,
		       const struct use *use)
{
	struct counts counts = count(library, use);

	json_name(json, use->name);
	json_open(json, '{');
	json_put_u64(json, "first", counts.first);
	json_put_u64(json, "later", counts.later);
	json_put_u64(json, "single_stepped", counts.stepped);
	json_put_u64(json, "changed", counts.changed);
	json_close(json, '}');
}

static void put_point(struct json *json, const struct check_function *function,
		      const struct use *use)
{
	const struct prologue_point *point = point_of(function, use);
	unsigned int low, high;

	price_of(point, use, &low, &high);
	json_name(json, use->name);
	json_open(json, '{');
	json_put_bool(json, "changed", is_changed(function, use));
	json_put_u64(json, "at", point->offset);
	json_put_text(json, "instruction", prologue_form_name(point->form));
	json_put_text(json, "handling", prologue_price_name(point->price));
	json_put_if(json, "low_ref_percent", low, low);
	json_put_if(json, "high_ref_percent", high, high);
	json_close(json, '}');
}

static void put_function(struct json *json, const struct check_function *function, const char *name)
{
	size_t i;

	json_open(json, '{');
	json_put_text(json, "function", name);
	json_put_u64(json, "file_offset", function->file_offset);
	json_put_text(json, "begins", prologue_form_name(function->prologue.first.form));
	for (i = 0; i < sizeof(uses) / sizeof(*uses); i++)
		put_point(json, function, &uses[i]);
	json_close(json, '}');
}

void check_probes_put_json(struct json *json, const struct check_library *library)
{
	uint32_t row;
	size_t i;

	json_name(json, "places");
	json_open(json, '{');
	for (i = 0; i < sizeof(uses) / sizeof(*uses); i++)
		put_counts(json, library, &uses[i]);
	json_close(json, '}');
	json_name(json, "probes");
	json_open(json, '[');
	for (row = 0; row < probe_count(); row++)
		if (library->rows[row].found)
			put_function(json, &library->rows[row], probe_at(row)->symbol);
	json_close(json, ']');
}
