// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests of remote write: their series, marks of series that have ended, and the compression.
 * tests/e2e/agent_remote_write.bats has a real Prometheus read them.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/push_body.h"
#include "export/remote_write.h"
#include "export/snappy.h"

/* ---- compression ----------------------------------------------------------------------------- */

/* What the format says, and nothing of ours: returns the length, or SIZE_MAX. */
static size_t uncompress(const unsigned char *in, size_t length, unsigned char *out, size_t room)
{
	size_t at = 0, made = 0, want = 0, part, distance, shift = 0;

	do {
		want |= (size_t)(in[at] & 0x7f) << shift;
		shift += 7;
	} while (in[at++] & 0x80);
	assert_true(want <= room);
	while (at < length) {
		const unsigned char tag = in[at++];

		if ((tag & 3) == 2) {
			part = (tag >> 2) + 1;
			distance = in[at] | (size_t)in[at + 1] << 8;
			at += 2;
			if (!distance || distance > made || made + part > want)
				return SIZE_MAX;
			for (; part; part--, made++)
				out[made] = out[made - distance];
			continue;
		}
		assert_int_equal(tag & 3, 0);
		part = (tag >> 2) + 1;
		if (part == 62) {
			part = (in[at] | (size_t)in[at + 1] << 8) + 1;
			at += 2;
		}
		assert_true(part <= 65536 && at + part <= length && made + part <= want);
		memcpy(out + made, in + at, part);
		at += part;
		made += part;
	}
	return made == want ? made : SIZE_MAX;
}

static size_t check_block(const char *bytes, size_t length)
{
	unsigned char *back = malloc(length + 1);
	struct string out = { 0 };
	size_t compressed;

	snappy_compress(&out, bytes, length);
	assert_false(out.failed);
	compressed = out.length;
	assert_int_equal(uncompress((const unsigned char *)out.bytes, out.length, back, length),
			 length);
	assert_memory_equal(back, bytes, length);
	string_fini(&out);
	free(back);
	return compressed;
}

static void blocks_are_what_they_were(void **unused)
{
	static char bytes[200000];
	uint32_t random = 1, i, length;

	(void)unused;
	assert_int_equal(check_block("", 0), 1);
	for (length = 1; length < 300; length++) {
		memset(bytes, 'a', length);
		check_block(bytes, length);
		for (i = 0; i < length; i++)
			bytes[i] = (char)i;
		check_block(bytes, length);
	}
	/* Nothing is alike; few different bytes; texts like those of metrics. */
	for (i = 0; i < sizeof(bytes); i++) {
		random = random * 1103515245 + 12345;
		bytes[i] = (char)(random >> 16);
	}
	assert_true(check_block(bytes, sizeof(bytes)) < sizeof(bytes) + 64);
	for (length = 65530; length < 65545; length++)
		check_block(bytes, length);
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] &= 1;
	assert_true(check_block(bytes, sizeof(bytes)) < sizeof(bytes) * 3 / 4);
	for (i = 0; i + 20 < sizeof(bytes); i += 20)
		snprintf(bytes + i, 21, "hostname=\"n%u\",x%06u", i % 7, i);
	assert_true(check_block(bytes, sizeof(bytes)) < sizeof(bytes) * 2 / 3);
	memset(bytes, 0, sizeof(bytes));
	assert_true(check_block(bytes, sizeof(bytes)) < sizeof(bytes) / 20);
}

/* ---- series ---------------------------------------------------------------------------------- */

static const uint64_t bounds[] = { 1023 };

static const struct metrics_family families[] = {
	{ .name = "m_live_bytes", .type = "gauge", .unit = "bytes", .help = "" },
	{ .name = "m_calls", .type = "counter", .unit = "", .help = "" },
	{ .name = "m_time_seconds",
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

#define HAS(text) has(&out, text, sizeof(text) - 1)

static void series_have_sorted_labels_and_a_sample(void **unused)
{
	const uint64_t counts[] = { 1, 2 };
	struct metrics *metrics = metrics_new(families, 3, 0);
	struct string out = { 0 };

	(void)unused;
	metrics_label(metrics, "user", "bob\"\n");
	metrics_label(metrics, "UUID", "g");
	metrics_add(metrics, 0, 3);
	remote_write_put(&out, metrics, "n", 5000000);
	assert_int_equal(out.length, 2 + out.bytes[1]);
	assert_true(HAS("\x0a\x09\x0a\x04UUID\x12\x01g"
			"\x0a\x18\x0a\x08__name__\x12\x0cm_live_bytes"
			"\x0a\x0d\x0a\x08instance\x12\x01n"
			"\x0a\x13\x0a\x03job\x12\x0cmemscope-bpf"
			"\x0a\x0d\x0a\x04user\x12\x05"
			"bob\"\n"
			"\x12\x0b\x09\0\0\0\0\0\0\x08\x40\x10\x05"));
	metrics_label(metrics, "user", "eve");
	metrics_add(metrics, 1, 7);
	metrics_add_histogram(metrics, 2, counts, 1500000000);
	string_clear(&out);
	remote_write_put(&out, metrics, "n", 5000000);
	assert_false(out.failed);
	assert_true(HAS("m_calls_total"));
	assert_true(HAS("m_time_seconds_bucket"));
	assert_true(HAS("\x0a\x02le\x12\x0b"
			"0.000001023"));
	assert_true(HAS("\x0a\x02le\x12\x04+Inf"));
	assert_true(HAS("m_time_seconds_count"));
	assert_true(HAS("\x09\0\0\0\0\0\0\xf8\x3f")); /* the sum: 1.5 */
	string_fini(&out);
	metrics_free(metrics);
}

#define ENDED "\x12\x0b\x09\x02\0\0\0\0\0\xf0\x7f\x10\x09"

static void what_is_no_more_is_marked(void **unused)
{
	struct metrics *before = metrics_new(families, 3, 0), *now = metrics_new(families, 3, 0);
	struct string old = { 0 }, out = { 0 };
	size_t length, i;

	(void)unused;
	metrics_label(before, "user", "stays");
	metrics_add(before, 0, 1);
	metrics_label(now, "user", "stays");
	metrics_add(now, 0, 2);
	metrics_label(before, "user", "goes");
	metrics_add(before, 0, 1);
	remote_write_put(&old, before, "n", 5000000);
	remote_write_put(&out, now, "n", 9000000);
	length = out.length;
	assert_int_equal(remote_write_end_series(&out, NULL, 0, 9000000), 0);
	assert_int_equal(remote_write_end_series(&out, out.bytes, out.length, 9000000), 0);
	assert_int_equal(out.length, length);
	assert_int_equal(remote_write_end_series(&out, old.bytes, old.length, 9000000), 1);
	assert_true(has(&out, "goes" ENDED, sizeof("goes" ENDED) - 1));
	/* Whatever part of it there is, it is read no further than it goes. */
	for (i = 0; i < old.length; i++) {
		char *part = malloc(i + !i);

		memcpy(part, old.bytes, i);
		remote_write_end_series(&out, part, i, 9000000);
		free(part);
	}
	string_fini(&old);
	string_fini(&out);
	metrics_free(before);
	metrics_free(now);
}

/* ---- what is sent ---------------------------------------------------------------------------- */

/* Makes a batch with a series for each letter. */
static int make(struct push_body *body, const char *users, bool repeat, struct string *out)
{
	struct metrics *metrics = metrics_new(families, 3, 0);
	struct string batch = { 0 };
	unsigned char in[8192];
	uint64_t bytes;
	int fd = memfd_create("batch", MFD_CLOEXEC);
	size_t length;
	ssize_t got;

	for (; *users; users++) {
		const char user[] = { 'u', '=', *users, '\0' };

		metrics_label(metrics, "user", user);
		metrics_add(metrics, 0, 1);
	}
	remote_write_put(&batch, metrics, "n", 5000000);
	bytes = batch.length;
	assert_int_equal(write(fd, batch.bytes, bytes), bytes);
	fd = push_body_make(body, fd, &bytes, 9000000, repeat);
	assert_true(fd >= 0);
	got = pread(fd, in, sizeof(in), 0);
	assert_int_equal(got, bytes);
	string_clear(out);
	length = uncompress(in, bytes, (unsigned char *)string_extend(out, 8192), 8192);
	assert_true(length <= 8192);
	out->length = length;
	string_fini(&batch);
	metrics_free(metrics);
	return close(fd);
}

/* Of which series there are marks, one after another. */
static void check_marks(const struct string *out, const char *users)
{
	char user, mark[] = "u=?" ENDED;
	const char *at;

	for (user = 'a'; user <= 'e'; user++) {
		mark[2] = user;
		at = memmem(out->bytes, out->length, mark, sizeof(mark) - 1);
		assert_int_equal(at != NULL, strchr(users, user) != NULL);
		if (at) /* once */
			assert_null(memmem(at + 1, (size_t)(out->bytes + out->length - at - 1),
					   mark, sizeof(mark) - 1));
	}
}

static void marks_of_lost_batches_are_repeated(void **unused)
{
	struct push_body body = { 0 };
	struct string out = { 0 };

	(void)unused;
	make(&body, "abc", true, &out);
	check_marks(&out, "");
	make(&body, "bc", false, &out);
	check_marks(&out, "a");
	push_body_lost(&body);
	/* What waits in front is not there yet. */
	make(&body, "cd", false, &out);
	check_marks(&out, "b");
	push_body_all_sent(&body);
	make(&body, "ad", true, &out); /* a is there again */
	check_marks(&out, "bc");
	push_body_all_sent(&body);
	make(&body, "d", true, &out);
	check_marks(&out, "a");
	push_body_lost(&body);
	make(&body, "d", true, &out);
	check_marks(&out, "a");
	push_body_lost(&body);
	make(&body, "e", true, &out);
	check_marks(&out, "ad");
	push_body_all_sent(&body);
	push_body_lost(&body); /* one without marks */
	make(&body, "e", true, &out);
	check_marks(&out, "");
	string_fini(&out);
	push_body_fini(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_what_they_were),
		cmocka_unit_test(series_have_sorted_labels_and_a_sample),
		cmocka_unit_test(what_is_no_more_is_marked),
		cmocka_unit_test(marks_of_lost_batches_are_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
