// SPDX-License-Identifier: BSD-2-Clause
/* A name that is looked for is never passed over; hardly any other one is looked at. */
#include <stdio.h>

#include "capture/attach/wanted_names.h"
#include "event/ask.h"
#include "event/framework.h"
#include "event/probe.h"
#include "unit.h"

static void test_every_name_of_the_tables_is_wanted(void **state)
{
	struct marker_rows rows = { 0 };
	struct wanted_names names;
	uint32_t i;

	(void)state;
	assert_int_equal(marker_rows_add_nvtx(&rows, false), 0);
	assert_int_equal(marker_rows_add_function(&rows, "libtrain:_ZN5train4stepEv"), 0);
	assert_int_equal(marker_rows_add_probe(&rows, "usdt:libtrain:train:step"), 0);
	wanted_names_init(&names, &rows);
	for (i = 0; i < probe_count(); i++)
		assert_true(wanted_names_may_have(&names, probe_at(i)->symbol));
	for (i = 0; i < FRAMEWORK_ROWS_COUNT; i++)
		assert_true(wanted_names_may_have(&names, framework_symbol(i)));
	for (i = 0; i < MS_ASK_ROWS; i++)
		assert_true(wanted_names_may_have(&names, ask_symbol(i)));
	assert_true(wanted_names_may_have(&names, "ioctl"));
	assert_true(wanted_names_may_have(&names, "nvtxRangePop"));
	assert_true(wanted_names_may_have(&names, "nvtxDomainMarkEx"));
	assert_true(wanted_names_may_have(&names, "_ZN5train4stepEv"));
	marker_rows_fini(&rows);
}

static void test_few_others_are(void **state)
{
	struct wanted_names names;
	char name[32];
	int i, passed = 0;

	(void)state;
	wanted_names_init(&names, NULL);
	for (i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "_ZN%d4kernelEv", i);
		passed += wanted_names_may_have(&names, name);
	}
	assert_true(passed < 5000);
	/* Also of those that stand in thousands of names in PyTorch's libraries. */
	assert_false(wanted_names_may_have(&names, "_ZN2at6native10gpu_kernelEv"));
	assert_false(wanted_names_may_have(&names, "_ZNSt6vectorIfE"));
	assert_false(wanted_names_may_have(&names, ""));
}

static void test_the_digest_is_of_all_names(void **state)
{
	struct marker_rows rows = { 0 };
	struct wanted_names none, again, nvtx, one, other;

	(void)state;
	wanted_names_init(&none, NULL);
	wanted_names_init(&again, &rows);
	assert_true(none.digest == again.digest);
	assert_false(again.by_file);
	assert_int_equal(marker_rows_add_nvtx(&rows, false), 0);
	wanted_names_init(&nvtx, &rows);
	assert_true(nvtx.digest != none.digest);
	assert_false(nvtx.by_file);
	marker_rows_fini(&rows);
	assert_int_equal(marker_rows_add_function(&rows, "libtrain:step"), 0);
	wanted_names_init(&one, &rows);
	marker_rows_fini(&rows);
	assert_int_equal(marker_rows_add_function(&rows, "libtrain:stop"), 0);
	wanted_names_init(&other, &rows);
	marker_rows_fini(&rows);
	assert_true(one.digest != none.digest && one.digest != other.digest);
	assert_true(one.by_file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_name_of_the_tables_is_wanted),
		cmocka_unit_test(test_few_others_are),
		cmocka_unit_test(test_the_digest_is_of_all_names),
	};

	return unit_run("wanted_names", tests);
}
