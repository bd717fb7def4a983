// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a collector answers, from any bytes; and that a request has what series have.
 * tests/e2e/agent_push.bats decodes whole requests.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "export/otlp.h"

static void response_says_what_was_rejected(void **unused)
{
	static const unsigned char bytes[] = { 0x12, 0x01, 'x',  /* a field of later versions */
					       0x0a, 0x0a,       /* partial_success */
					       0x08, 0xac, 0x02, /* 300 */
					       0x12, 0x05, 'w',  'h', 'y', '\n', 0xff };
	struct otlp_response response;
	size_t length;

	(void)unused;
	otlp_read_response(&response, bytes, sizeof(bytes));
	assert_int_equal(response.rejected, 300);
	assert_string_equal(response.message, "why??");
	/* A part of it says less, and is read no further than it goes. */
	for (length = 0; length < sizeof(bytes); length++) {
		unsigned char *copy = malloc(length + !length);

		memcpy(copy, bytes, length);
		otlp_read_response(&response, copy, length);
		assert_int_equal(response.rejected, 0);
		free(copy);
	}
}

static void response_may_be_anything(void **unused)
{
	unsigned char bytes[64];
	struct otlp_response response;
	uint32_t i, j, random = 1;

	(void)unused;
	otlp_read_response(&response, NULL, 0);
	assert_string_equal(response.message, "");
	for (i = 0; i < 100000; i++) {
		for (j = 0; j < sizeof(bytes); j++) {
			random = random * 1103515245 + 12345;
			bytes[j] = (unsigned char)(random >> 16) & (i & 1 ? 0x1f : 0xff);
		}
		otlp_read_response(&response, bytes, i % sizeof(bytes));
		assert_true(memchr(response.message, 0, sizeof(response.message)));
	}
}

static void long_messages_are_cut(void **unused)
{
	unsigned char bytes[1000];
	struct otlp_response response;

	(void)unused;
	memset(bytes, 'a', sizeof(bytes));
	memcpy(bytes, "\x0a\xe5\x07\x12\xe2\x07", 6); /* 997 and 994 bytes */
	otlp_read_response(&response, bytes, sizeof(bytes));
	assert_int_equal(strlen(response.message), OTLP_MESSAGE_BYTES - 1);
}

static const uint64_t bounds[] = { 1023 };

static const struct metrics_family families[] = {
	{ .name = "memscope_gpu_nvml_used_bytes", .type = "gauge", .unit = "bytes", .help = "" },
	{ .name = "memscope_gpu_memory_used_bytes", .type = "gauge", .unit = "bytes", .help = "" },
	{ .name = "memscope_x", .type = "counter", .unit = "", .help = "" },
	{ .name = "memscope_y_seconds",
	  .type = "histogram",
	  .unit = "seconds",
	  .help = "",
	  .bounds = bounds,
	  .bounds_count = 1 },
};

static bool has(const struct string *text, const char *bytes, size_t length)
{
	return memmem(text->bytes, text->length, bytes, length);
}

static void request_of(struct string *out, struct metrics *metrics)
{
	const struct otlp_origin origin = { "h", "1.0", 1, 2 };
	struct otlp otlp;

	string_clear(out);
	otlp_begin(&otlp, out, &origin);
	otlp_put(&otlp, metrics);
	otlp_end(&otlp);
	assert_false(out->failed);
}

#define HAS(text) has(&out, text, sizeof(text) - 1)

static void names_are_those_of_the_conventions(void **unused)
{
	struct metrics *metrics = metrics_new(families, 4, 0);
	const uint64_t counts[] = { 1, 2 };
	struct string out = { 0 };

	(void)unused;
	metrics_label(metrics, "hostname", "secret");
	metrics_label_number(metrics, "gpu", 3);
	metrics_add(metrics, 1, 4096);
	request_of(&out, metrics);
	assert_true(HAS("hw.gpu.memory.usage"));
	assert_true(HAS("\x0a\x05hw.id\x12\x03\x0a\x01\x33"));
	assert_false(HAS("secret"));
	assert_false(HAS("memscope_gpu"));
	/* NVML's is preferred; the driver's then has its own name. */
	metrics_label(metrics, "gpu", "3");
	metrics_label(metrics, "UUID", "GPU-a");
	metrics_add(metrics, 0, 4096);
	metrics_label(metrics, "comm", "a\"\\n\nb");
	metrics_add(metrics, 2, 1);
	metrics_add_histogram(metrics, 3, counts, 1500000000);
	request_of(&out, metrics);
	assert_true(HAS("hw.gpu.memory.usage"));
	assert_true(HAS("memscope_gpu_memory_used_bytes"));
	assert_true(HAS("\x0a\x05hw.id\x12\x07\x0a\x05GPU-a"));
	assert_true(HAS("process.executable.name\x12\x08\x0a\x06"
			"a\"\\n\nb"));
	assert_true(HAS("\x29\0\0\0\0\0\0\xf8\x3f")); /* sum: 1.5 */
	assert_true(HAS("\x32\x10\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"));
	string_fini(&out);
	metrics_free(metrics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(response_says_what_was_rejected),
		cmocka_unit_test(response_may_be_anything),
		cmocka_unit_test(long_messages_are_cut),
		cmocka_unit_test(names_are_those_of_the_conventions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
