// SPDX-License-Identifier: BSD-2-Clause
/*
 * What `top` makes of an agent's answers about one process.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event/probe.h"
#include "render/document_text.h"
#include "top/top_detail.h"
#include "top/top_remote_sites.h"
#include "unit.h"

#define WHO \
	"{\"schema\":\"memscope-bpf/agent-who/1\",\"ts_ns\":1000,\"processes\":[{\"pid\":7,\"start_ns\":5}]}"

#define PLACE "\"api\":\"cuMemAlloc_v2\",\"space\":\"device\",\"device\":0,"

static const char answer[] =
	"{\"schema\":\"memscope-bpf/agent-process/1\",\"start_ns\":5,\"by_api\":["
	"{" PLACE "\"live_bytes\":300,\"live_allocations\":3,\"bytes_in_peak\":400,\"allocs\":9,"
	"\"alloc_bytes\":900,\"frees\":6,\"free_bytes\":600},"
	"{\"api\":\"cuOfNewerVersions\",\"space\":\"device\",\"device\":0}],\"more_by_api\":3,"
	"\"sites\":{\"largest\":["
	"{\"stack_id\":12,\"owner\":\"a.so\",\"end\":\"complete\",\"frames\":["
	"{\"kind\":\"native\",\"function\":\"cuMemAlloc_v2\",\"offset\":4,\"module\":\"/l/libcuda.so.1\","
	"\"build_id\":null,\"address\":\"0x7f\",\"by_pointer\":false,\"inlined\":false,"
	"\"source\":null,\"line\":null},"
	"{\"kind\":\"native\",\"function\":\"fill\",\"offset\":4,\"module\":\"/l/a.so\","
	"\"build_id\":\"ab\",\"address\":\"0x1f\",\"by_pointer\":false,\"inlined\":true,"
	"\"source\":\"/src/fill.c\",\"line\":12},"
	"{\"kind\":\"native\",\"function\":null,\"offset\":0,\"module\":null,"
	"\"build_id\":null,\"address\":\"0xc0\",\"by_pointer\":true,\"inlined\":false,"
	"\"source\":null,\"line\":null}],"
	"\"frames_left_out\":9,\"frames_left_out_after\":2," PLACE
	"\"live_bytes\":200,\"live_allocations\":2,\"bytes_in_peak\":250,"
	"\"allocations_in_peak\":3,\"allocs\":8,\"alloc_bytes\":800},"
	"{\"stack_id\":13,\"owner\":null,\"end\":\"complete\",\"frames\":["
	"{\"kind\":\"python\",\"function\":\"train\",\"inferred\":false,\"source\":\"/src/t.py\","
	"\"line\":22}],\"frames_left_out\":0,\"frames_left_out_after\":null," PLACE
	"\"live_bytes\":100,\"live_allocations\":1,\"bytes_in_peak\":50,"
	"\"allocations_in_peak\":null,\"allocs\":1,\"alloc_bytes\":100}"
	"],\"more\":4}}";

struct fixture {
	struct top_remote remote;
	struct top_status status;
	const struct process *process;
};

static void begin(struct fixture *fixture)
{
	char who[] = WHO;

	*fixture = (struct fixture){ .status.remote = true };
	assert_int_equal(top_remote_take(&fixture->remote, who, sizeof(who) - 1, &fixture->status),
			 0);
	fixture->process = fixture->remote.state.processes[0];
}

static int take(struct fixture *fixture, const char *text)
{
	char copy[sizeof(answer)];

	memcpy(copy, text, strlen(text));
	return top_remote_sites_take(&fixture->remote, fixture->process, copy, strlen(text),
				     &fixture->status);
}

static void end(struct fixture *fixture)
{
	top_remote_fini(&fixture->remote);
}

/* What the page shows, with single spaces. */
static void page(struct fixture *fixture, char *words, size_t bytes)
{
	const struct document_text_options options = { .width = 200 };
	struct document_text text;
	struct string out = { 0 };
	size_t i, length = 0;

	document_text_init(&text, &out, 100, &options);
	top_detail_append(&text.document, TOP_TAB_SITES, &fixture->remote.state, fixture->process,
			  &fixture->status);
	document_text_fini(&text);
	for (i = 0; i < out.length && length < bytes - 1; i++)
		if (out.bytes[i] != ' ' || !length || words[length - 1] != ' ')
			words[length++] = out.bytes[i];
	words[length] = '\0';
	string_fini(&out);
}

static void test_page(void **state)
{
	struct fixture fixture;
	char words[4096];

	(void)state;
	begin(&fixture);
	assert_int_equal(take(&fixture, answer), 0);
	page(&fixture, words, sizeof(words));
	assert_non_null(strstr(words, "200 B 2 8 250 B cuMemAlloc_v2 device 0 fill (fill.c:12)"
				      " < ? < ?+0xc0\n"));
	assert_non_null(strstr(words, "100 B 1 1 50 B cuMemAlloc_v2 device 0 train (t.py:22)\n"));
	assert_non_null(strstr(words, "4 more are not shown."));
	end(&fixture);
}

static void test_without_stacks(void **state)
{
	struct fixture fixture;
	char words[4096];

	(void)state;
	begin(&fixture);
	assert_int_equal(take(&fixture, "{\"schema\":\"memscope-bpf/agent-process/1\","
					"\"start_ns\":5,\"by_api\":[{" PLACE
					"\"live_bytes\":300,\"live_allocations\":3,\"allocs\":9,"
					"\"frees\":6}],\"more_by_api\":3}"),
			 0);
	page(&fixture, words, sizeof(words));
	assert_non_null(strstr(words, "300 B 3 9 6 cuMemAlloc_v2 device 0\n"));
	assert_non_null(strstr(words, "3 more are not shown."));
	assert_non_null(strstr(words, "no call stack"));
	end(&fixture);
}

static void test_asked_once(void **state)
{
	struct fixture fixture;
	struct string path = { 0 };

	(void)state;
	begin(&fixture);
	top_remote_sites_path(&path, fixture.process);
	assert_string_equal(path.bytes, "/api/v1/processes/7");
	string_fini(&path);
	assert_false(top_remote_sites_are_known(&fixture.remote, fixture.process));
	top_remote_sites_asked(&fixture.remote, fixture.process);
	assert_true(top_remote_sites_are_known(&fixture.remote, fixture.process));
	end(&fixture);
	begin(&fixture);
	assert_false(top_remote_sites_are_known(&fixture.remote, fixture.process));
	end(&fixture);
}

static void test_other_answers(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture);
	assert_int_equal(take(&fixture, ""), -EINVAL);
	assert_int_equal(take(&fixture, "{\"schema\":\"memscope-bpf/agent-who/1\",\"start_ns\":5}"),
			 -EINVAL);
	/* Another process has the PID by now. */
	assert_int_equal(take(&fixture,
			      "{\"schema\":\"memscope-bpf/agent-process/1\",\"start_ns\":6}"),
			 -EINVAL);
	end(&fixture);
}

/* Whatever its bytes are. */
static void test_damaged(void **state)
{
	char words[4096];
	uint64_t random = 1;
	size_t i;

	(void)state;
	for (i = 0; i < 5000; i++) {
		const size_t length = sizeof(answer) - 1;
		struct fixture fixture;
		char text[sizeof(answer)];

		begin(&fixture);
		memcpy(text, answer, sizeof(answer));
		random = unit_random(random);
		text[random % length] = "0\"{}[]:,9n"[(random >> 20) % 10];
		text[(random >> 30) % length] = (char)(random >> 8);
		top_remote_sites_take(&fixture.remote, fixture.process, text, length,
				      &fixture.status);
		page(&fixture, words, sizeof(words));
		end(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page),       cmocka_unit_test(test_without_stacks),
		cmocka_unit_test(test_asked_once), cmocka_unit_test(test_other_answers),
		cmocka_unit_test(test_damaged),
	};

	return unit_run("top_remote_sites", tests);
}
