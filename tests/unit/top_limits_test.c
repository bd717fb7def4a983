// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the page of a process in `top` says of the limits of its cgroup: from records, and from an
 * agent's answer.
 */
#include "topped.h"

#include <errno.h>
#include <string.h>

#include "render/document_text.h"
#include "top/top_detail.h"
#include "top/top_remote.h"

#define REGION "drm/0000:65:00.0/vram"
#define MIB (1ull << 20)

/* The page, with single spaces. */
static void page(const struct state *state, const struct process *process, char *words,
		 size_t bytes)
{
	const struct document_text_options options = { .width = 200 };
	const struct top_status status = { 0 };
	struct document_text text;
	struct string out = { 0 };
	size_t i, length = 0;

	document_text_init(&text, &out, 100, &options);
	top_detail_append(&text.document, TOP_TAB_SPACES, state, process, &status);
	document_text_fini(&text);
	for (i = 0; i < out.length && length < bytes - 1; i++)
		if (out.bytes[i] != ' ' || !length || words[length - 1] != ' ')
			words[length++] = out.bytes[i];
	words[length] = '\0';
	string_fini(&out);
}

static void assert_shows(const char *words, const char *row)
{
	if (!strstr(words, row))
		fail_msg("no \"%s\" in\n%s", row, words);
}

static void test_records(void **state)
{
	const struct state *seen;
	struct topped topped;
	char words[4096];

	(void)state;
	topped_open(&topped);
	topped_feed(&topped, topped_of(5, record_limit(REGION, 800 * MIB, 1000 * MIB)));
	topped_feed(&topped, topped_of(5, record_limit("drm/0000:66:00.0/vram", 600 * MIB, 0)));
	seen = &topped.pipeline.state;
	page(seen, seen->processes[0], words, sizeof(words));
	assert_shows(words, "/pods/one " REGION " 400 MiB 1000 MiB 200 MiB /pods");
	assert_shows(words, "/pods/one drm/0000:66:00.0/vram 300 MiB");
	topped_close(&topped);
}

static int take(struct top_remote *remote, const char *limits)
{
	struct top_status status = { 0 };
	char text[2048];
	const int length = snprintf(text, sizeof(text),
				    "{\"schema\":\"memscope-bpf/agent-who/1\",\"ts_ns\":1000,"
				    "\"processes\":[{\"pid\":7,\"start_ns\":5,\"limits\":[%s]}]}",
				    limits);

	return top_remote_take(remote, text, (size_t)length, &status);
}

static void test_answers(void **state)
{
	struct top_remote remote = { 0 };
	char words[4096];

	(void)state;
	assert_int_equal(take(&remote, "{\"region\":\"" REGION "\",\"cgroup\":\"/pods/one\","
				       "\"ts_ns\":900,\"used_bytes\":419430400,"
				       "\"limit_bytes\":1048576000,\"limit_cgroup\":\"/pods\","
				       "\"limit_used_bytes\":838860800}"),
			 0);
	page(&remote.state, remote.state.processes[0], words, sizeof(words));
	assert_shows(words, "/pods/one " REGION " 400 MiB 1000 MiB 200 MiB /pods");
	/* Not limited; whose limit it is cannot be; nothing; an answer of no agent. */
	assert_int_equal(take(&remote, "{\"region\":\"r\",\"cgroup\":\"/a\",\"used_bytes\":1024,"
				       "\"limit_bytes\":null,\"limit_cgroup\":null}"),
			 0);
	page(&remote.state, remote.state.processes[0], words, sizeof(words));
	assert_shows(words, "/a r 1 KiB");
	assert_int_equal(take(&remote, "{\"region\":\"r\",\"cgroup\":\"/a\",\"used_bytes\":1024,"
				       "\"limit_bytes\":1,\"limit_used_bytes\":1,"
				       "\"limit_cgroup\":\"/a/longer\"}"),
			 0);
	assert_int_equal(remote.state.processes[0]->limits.list[0].limit_path_bytes, 0);
	assert_int_equal(take(&remote, ""), 0);
	assert_int_equal(remote.state.processes[0]->limits.count, 0);
	assert_int_equal(take(&remote, "{\"region\":\"r\"}"), 0);
	assert_int_equal(remote.state.processes[0]->limits.count, 0);
	top_remote_fini(&remote);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_answers),
	};

	return unit_run("top: limits", tests);
}
