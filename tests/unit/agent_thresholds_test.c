// SPDX-License-Identifier: BSD-2-Clause
/*
 * Amounts of memory at which a bundle is written: what is said of devices, and of rules.
 */
#include "unit.h"

#include <string.h>

#include "agent/thresholds.h"

#define GIB (1ull << 30)
#define MINUTE_NS 60000000000ull

static void rules_are_parsed(void **unused)
{
	static const char *const wrong[] = {
		"",       "used",      "used=",     "used=95",   "used=0%",    "used=101%",
		"free=",  "free=0",    "free=-1G",  "x=1G",      "free=1G,",   "free=1G,free=2G",
		"used=%", "process=a", "growth=1%", "used=9 5%", "process=40", "free=1023K"
	};
	struct thresholds_options options;
	size_t i;

	(void)unused;
	assert_null(thresholds_parse(&options, "used=95%, free=2G,process=40G,growth=1.5G"));
	assert_int_equal(options.at[THRESHOLD_USED], 95);
	assert_int_equal(options.at[THRESHOLD_FREE], 2 * GIB);
	assert_int_equal(options.at[THRESHOLD_GROWTH], GIB + GIB / 2);
	assert_int_equal(options.at[THRESHOLD_UNEXPLAINED], 0);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (!thresholds_parse(&options, wrong[i]))
			fail_msg("taken: %s", wrong[i]);
}

/* A device of 100 GiB, of which so many are free. */
static bool look_at_device(struct thresholds *thresholds, uint64_t free_gib, struct string *why)
{
	struct nvml_device_account device = {
		.last = { .known = MS_DEVICE_MEMORY,
			  .total_bytes = 100 * GIB,
			  .free_bytes = free_gib * GIB,
			  .uuid = "GPU-a" },
	};
	struct state state = { .nvml_devices = { .devices = &device, .count = 1 } };

	string_fini(why);
	return thresholds_look(thresholds, &state, MINUTE_NS, why);
}

static void devices_are_said_once(void **unused)
{
	static const struct {
		uint64_t free_gib;
		bool said;
	} looks[] = {
		{ 50, false }, { 11, false }, { 10, true }, { 5, false },
		{ 10, false }, { 11, false }, { 9, false }, /* it has not been left by a tenth */
		{ 12, false }, { 10, true },
	};
	struct thresholds thresholds = { .options.at = { [THRESHOLD_FREE] = 10 * GIB } };
	struct string why = { 0 };
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		if (look_at_device(&thresholds, looks[i].free_gib, &why) != looks[i].said)
			fail_msg("look %zu", i);
		if (looks[i].said)
			assert_string_equal((string_append_char(&why, '\0'), why.bytes),
					    "device GPU-a has 10 GiB free");
	}
	thresholds.options = (struct thresholds_options){ .at = { [THRESHOLD_USED] = 95 } };
	assert_false(look_at_device(&thresholds, 6, &why));
	assert_true(look_at_device(&thresholds, 5, &why));
	assert_false(look_at_device(&thresholds, 5, &why));
	assert_false(look_at_device(&thresholds, 14, &why));
	assert_false(look_at_device(&thresholds, 5, &why));
	assert_false(look_at_device(&thresholds, 16, &why));
	assert_true(look_at_device(&thresholds, 0, &why));
	thresholds_fini(&thresholds);
	string_fini(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_parsed),
		cmocka_unit_test(devices_are_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
