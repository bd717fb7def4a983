// SPDX-License-Identifier: BSD-2-Clause
/*
 * What `who` says of processes that are none of those asked for: how many, how much they hold, and
 * never which.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "render/document_text.h"
#include "render/who.h"

#define MIB (1ull << 20)
#define MOST 4

/* NVML lists the first and the third. The third has ended; the second and fourth have it open. */
enum { LISTED, OPENER, GONE, OTHER_OPENER };

#define PID(holder) (4711u + 1000u * (holder))

struct made {
	struct holders holders;
	struct who_process processes[MOST];
};

static void begin(struct made *made, uint64_t used_bytes)
{
	struct holders *holders = &made->holders;
	struct nvml_snapshot *nvml;
	size_t i;

	memset(made, 0, sizeof(*made));
	nvml = holders->nvml = calloc(1, sizeof(*nvml));
	holders->holders = calloc(MOST, sizeof(*holders->holders));
	assert_non_null(nvml);
	assert_non_null(holders->holders);
	nvml->state = NVML_READY;
	nvml->devices_count = 1;
	nvml->devices[0] = (struct nvml_device){ .parent = -1,
						 .has_minor = true,
						 .has_memory = true,
						 .total_bytes = 8192 * MIB,
						 .used_bytes = used_bytes,
						 .whole = true };
	nvml->processes_count = 1;
	nvml->processes[0] = (struct nvml_process){ .pid = PID(LISTED),
						    .has_used = true,
						    .used_bytes = 100 * MIB };
	holders->all_pids = true;
	holders->holders_count = holders->holders_capacity = MOST;
	for (i = 0; i < MOST; i++)
		holders->holders[i] = (struct holder){
			.pid = PID(i),
			.present = i != GONE,
			.files_err = i == GONE ? -ESRCH : 0,
			.files = { .minors = { i == OPENER || i == OTHER_OPENER } }
		};
}

static void end(struct made *made)
{
	holders_fini(&made->holders);
}

static void list(struct made *made, uint32_t holder)
{
	struct nvml_snapshot *nvml = made->holders.nvml;

	nvml->processes[nvml->processes_count++] = (struct nvml_process){ .pid = PID(holder),
									  .has_used = true,
									  .used_bytes = 100 * MIB };
}

/* All runs of blanks and ends of lines are one blank. */
static void join_lines(struct string *text)
{
	size_t from, to = 0;

	for (from = 0; from < text->length; from++) {
		const bool blank = text->bytes[from] == ' ' || text->bytes[from] == '\n';

		if (!blank || !to || text->bytes[to - 1] != ' ')
			text->bytes[to++] = blank ? ' ' : text->bytes[from];
	}
	text->length = to;
}

static void show(struct made *made, struct string *text, struct string *json)
{
	const struct document_text_options options = { .width = 100 };
	struct who who = { .holders = &made->holders, .processes = made->processes };
	struct document_text document;
	size_t i;

	for (i = 0; i < MOST; i++)
		who.left_out += made->processes[i].left_out;
	string_clear(text);
	string_clear(json);
	document_text_init(&document, text, SIZE_MAX, &options);
	who_append_text(&document.document, &who);
	document_text_fini(&document);
	join_lines(text);
	who_append_json(json, &who);
	string_append_char(text, '\0');
	string_append_char(json, '\0');
}

static void assert_said(const struct string *text, const struct string *json, const char *words)
{
	if (!strstr(text->bytes, words) || !strstr(json->bytes, words))
		fail_msg("no \"%s\" in\n%s%s", words, text->bytes, json->bytes);
}

static void assert_not_said(const struct string *text, const struct string *json, const char *words)
{
	if (strstr(text->bytes, words) || strstr(json->bytes, words))
		fail_msg("\"%s\" in\n%s%s", words, text->bytes, json->bytes);
}

static void test_who_has_the_device_open(void **state)
{
	static const struct {
		bool first, second; /* are left out */
		const char *words;
	} cases[] = {
		{ false, false, "a process above that has the device open holds it" },
		{ true, false,
		  "a process that has the device open holds it, one above or one left out" },
		{ false, true,
		  "a process that has the device open holds it, one above or one left out" },
		{ true, true, "a process that has the device open and is left out here holds it" },
	};
	struct string text = { 0 }, json = { 0 };
	struct made made;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(&made, 5000 * MIB);
		made.processes[OPENER].left_out = cases[i].first;
		made.processes[OTHER_OPENER].left_out = cases[i].second;
		assert_int_equal(holders_join(&made.holders), 0);
		show(&made, &text, &json);
		assert_said(&text, &json, cases[i].words);
		end(&made);
	}
	string_fini(&text);
	string_fini(&json);
}

/* Of the first three, one has no descriptor, one is not listed, and one is gone. */
static void test_no_pid_of_who_is_left_out(void **state)
{
	struct string text = { 0 }, json = { 0 };
	struct made made;

	(void)state;
	begin(&made, 200 * MIB);
	list(&made, GONE);
	assert_int_equal(holders_join(&made.holders), 0);
	show(&made, &text, &json);
	assert_said(&text, &json, "Process 4711 has no descriptor of the driver's");
	assert_said(&text, &json,
		    "NVML lists process 6711, which is not in /proc; process 5711 has");
	made.processes[OPENER].left_out = true;
	show(&made, &text, &json);
	assert_said(&text, &json, "not in /proc; process 7711 has the device open");
	assert_not_said(&text, &json, "5711");
	made.processes[OTHER_OPENER].left_out = true;
	show(&made, &text, &json);
	assert_said(&text, &json,
		    "not in /proc; a process that is left out here has the device open and is not"
		    " listed");
	assert_not_said(&text, &json, "7711");
	made.processes[LISTED].left_out = made.processes[GONE].left_out = true;
	show(&made, &text, &json);
	assert_not_said(&text, &json, "711");
	end(&made);
	string_fini(&text);
	string_fini(&json);
}

/* A sum of which a part is not known is none. */
static void test_how_much_they_hold(void **state)
{
	struct string text = { 0 }, json = { 0 };
	struct made made;

	(void)state;
	begin(&made, 200 * MIB);
	list(&made, GONE);
	made.processes[LISTED].left_out = made.processes[GONE].left_out = true;
	assert_int_equal(holders_join(&made.holders), 0);
	show(&made, &text, &json);
	assert_non_null(strstr(text.bytes, " 200 MiB (2 processes left out) "));
	made.processes[OPENER].left_out = true;
	show(&made, &text, &json);
	assert_non_null(strstr(text.bytes, " ? (3 processes left out) "));
	end(&made);
	string_fini(&text);
	string_fini(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_has_the_device_open),
		cmocka_unit_test(test_no_pid_of_who_is_left_out),
		cmocka_unit_test(test_how_much_they_hold),
	};

	return unit_run("who: processes left out", tests);
}
