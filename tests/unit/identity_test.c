// SPDX-License-Identifier: BSD-2-Clause
#include "records.h"

#include <errno.h>
#include <stdlib.h>

#include "scenario.h"
#include "ledger/checkpoint.h"

/* Parsed in memory that ends where the texts do. */
static int parse(const char *texts, size_t bytes)
{
	char *copy = malloc(bytes ? bytes : 1);
	struct identity identity;
	int err;

	assert_non_null(copy);
	memcpy(copy, texts, bytes);
	err = identity_parse(copy, bytes, &identity);
	free(copy);
	return err;
}

#define PARSE(texts) parse(texts, sizeof(texts) - 1)

static void test_texts_are_pairs(void **state)
{
	(void)state;
	assert_int_equal(PARSE(""), 0);
	assert_int_equal(PARSE("exe\0/a\0"), 0);
	assert_int_equal(PARSE("exe\0\0"), 0);
	assert_int_equal(PARSE("new\0thing\0exe\0/a\0"), 0);
	assert_int_equal(PARSE("exe\0"), -EINVAL);
	assert_int_equal(PARSE("exe\0/a"), -EINVAL);
	assert_int_equal(PARSE("exe"), -EINVAL);
	assert_int_equal(PARSE("exe\0/a\0exe\0/b\0"), -EINVAL);
	assert_int_equal(PARSE("uid\0"
			       "4294967295\0"),
			 0);
	assert_int_equal(PARSE("uid\0"
			       "4294967296\0"),
			 -EINVAL);
	assert_int_equal(PARSE("uid\0-1\0"), -EINVAL);
	assert_int_equal(PARSE("parent\0\0"), -EINVAL);
}

static void test_too_long(void **state)
{
	char *texts = calloc(1, MS_IDENTITY_MAX + 1);

	(void)state;
	assert_non_null(texts);
	memset(texts, 'x', MS_IDENTITY_MAX);
	memcpy(texts, "exe", 4);
	assert_int_equal(parse(texts, MS_IDENTITY_MAX + 1), -EINVAL);
	texts[MS_IDENTITY_MAX - 1] = '\0';
	assert_int_equal(parse(texts, MS_IDENTITY_MAX), 0);
	free(texts);
}

static void expect_name(const char *exe, const char *script, const char *comm, const char *expected)
{
	const struct identity identity = {
		.items = { [IDENTITY_EXE] = exe, [IDENTITY_SCRIPT] = script }
	};
	char own[MS_COMM_BYTES] = { 0 }, name[IDENTITY_NAME_BYTES];

	memcpy(own, comm, strlen(comm));
	identity_name(&identity, own, name);
	assert_string_equal(name, expected);
}

static void test_names(void **state)
{
	char script[2000] = "";

	(void)state;
	expect_name(NULL, NULL, "", "");
	expect_name("/usr/bin/server", NULL, "worker-1", "worker-1");
	expect_name("/usr/bin/python3.11", "/work/train.py", "python3", "python3 train.py");
	expect_name("/usr/bin/python3.11", "-m vllm.api", "python3", "python3 -m vllm.api");
	/* Threads rename themselves; a script that is executed gives its name. */
	expect_name("/usr/bin/python3.11", "train.py", "pt_main_thread", "python3.11 train.py");
	expect_name("/usr/bin/python3.11", "./train.py", "train.py", "python3.11 train.py");
	expect_name(NULL, "train.py", "python3", "python3 train.py");
	expect_name("/usr/bin/python3.11", "dir/", "python3", "python3 dir/");
	memset(script, 'x', sizeof(script) - 1);
	expect_name("/usr/bin/python3", script, "python3",
		    "python3 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}

/* ---- in the ledger --------------------------------------------------------------------------- */

static const char *item(const struct scenario *scenario, enum identity_item which)
{
	return scenario->state.processes[0]->identity.known.items[which];
}

static void test_a_program_that_ended_first_keeps_what_belongs_to_the_process(void **state)
{
	struct scenario scenario = { 0 };

	(void)state;
	apply(&scenario, record_identity("exe\0/bin/sh\0script\0a.sh\0user\0bob\0RANK\0"
					 "1"));
	apply(&scenario, record_process(MS_TYPE_ATTACH, "sh", 0));
	assert_string_equal(scenario.state.processes[0]->name, "sh a.sh");
	apply(&scenario, record_identity_of("", 0));
	apply(&scenario, record_process(MS_TYPE_EXEC, "next", 0));
	assert_string_equal(scenario.state.processes[0]->name, "next");
	assert_null(item(&scenario, IDENTITY_EXE));
	assert_null(item(&scenario, IDENTITY_SCRIPT));
	assert_null(item(&scenario, IDENTITY_RANK));
	assert_string_equal(item(&scenario, IDENTITY_USER), "bob");
	apply(&scenario, record_identity("exe\0/bin/true"));
	assert_string_equal(item(&scenario, IDENTITY_EXE), "/bin/true");
	assert_null(item(&scenario, IDENTITY_USER));
	state_fini(&scenario.state);
}

static int load(void *context, const void *record, size_t length)
{
	return checkpoint_load(context, record, length);
}

/* It is chosen by these, too; the title is the program's, and only the last one is its name. */
static void test_a_checkpoint_has_earlier_places(void **state)
{
	struct scenario scenario = { 0 };
	struct state restored = { 0 };
	const struct process_identity *identity;
	struct checkpoint anchor;

	(void)state;
	apply(&scenario, record_identity("cgroup\0/a\0title\0ray::Old"));
	apply(&scenario, record_process(MS_TYPE_ATTACH, "sh", 0));
	apply(&scenario, record_identity("cgroup\0/b"));
	apply(&scenario, record_identity("cgroup\0/c\0user\0bob"));
	apply(&scenario, record_process(MS_TYPE_ATTACH, "sh", 0));
	checkpoint_init(&anchor, &restored);
	assert_int_equal(checkpoint_save(&scenario.state, 1, load, &anchor), 0);
	identity = &restored.processes[0]->identity;
	assert_string_equal(identity->known.items[IDENTITY_CGROUP], "/c");
	assert_string_equal(identity->known.items[IDENTITY_USER], "bob");
	assert_string_equal(restored.processes[0]->comm, "sh");
	assert_non_null(identity->earlier);
	assert_string_equal(identity->earlier->known.items[IDENTITY_CGROUP], "/b");
	assert_non_null(identity->earlier->earlier);
	assert_string_equal(identity->earlier->earlier->known.items[IDENTITY_CGROUP], "/a");
	assert_null(identity->earlier->earlier->earlier);
	state_fini(&restored);
	state_fini(&scenario.state);
}

static void test_a_checkpoint_has_it(void **state)
{
	struct scenario scenario = { 0 };
	struct state restored = { 0 };
	struct checkpoint anchor;
	enum identity_item i;

	(void)state;
	apply(&scenario, record_identity("exe\0/bin/sh\0script\0a.sh\0user\0bob\0RANK\0\0uid\0"
					 "7"));
	apply(&scenario, record_process(MS_TYPE_ATTACH, "sh", 0));
	checkpoint_init(&anchor, &restored);
	assert_int_equal(checkpoint_save(&scenario.state, 1, load, &anchor), 0);
	assert_string_equal(restored.processes[0]->name, "sh a.sh");
	for (i = 0; i < IDENTITY_ITEMS; i++) {
		const char *saved = restored.processes[0]->identity.known.items[i];

		if (item(&scenario, i))
			assert_string_equal(saved, item(&scenario, i));
		else
			assert_null(saved);
	}
	assert_string_equal(restored.processes[0]->identity.known.items[IDENTITY_RANK], "");
	state_fini(&restored);
	state_fini(&scenario.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_are_pairs),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_a_program_that_ended_first_keeps_what_belongs_to_the_process),
		cmocka_unit_test(test_a_checkpoint_has_earlier_places),
		cmocka_unit_test(test_a_checkpoint_has_it),
	};

	return unit_run("identity", tests);
}
