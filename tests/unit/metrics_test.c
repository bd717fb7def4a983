// SPDX-License-Identifier: BSD-2-Clause
/*
 * Series of metrics: what is added up, what is escaped, what is limited, and both texts.
 */
#include "unit.h"

#include <string.h>

#include "export/metrics.h"

static const uint64_t bounds[] = { 1023, 2000000000 };

static const struct metrics_family families[] = {
	{ .name = "x_calls", .type = "counter", .unit = "", .help = "Calls" },
	{ .name = "x_live_bytes", .type = "gauge", .unit = "bytes", .help = "Held" },
	{ .name = "x_cpu_seconds", .type = "counter", .unit = "seconds", .help = "Time" },
	{ .name = "x_busy_ratio", .type = "gauge", .unit = "ratio", .help = "Share" },
	{ .name = "x_wait_seconds",
	  .type = "histogram",
	  .unit = "seconds",
	  .help = "Waits",
	  .bounds = bounds,
	  .bounds_count = 2 },
};

enum { CALLS, LIVE, CPU, BUSY, WAIT, FAMILIES };

static struct writer writer;

static const char *text_of(struct metrics *metrics, enum metrics_form form)
{
	writer = (struct writer){ .fd = -1 };
	assert_int_equal(metrics_write(metrics, &writer, form), 0);
	assert_int_equal(metrics_write_end(&writer, form), 0);
	string_append_char(&writer.text, '\0');
	assert_false(writer.text.failed);
	return writer.text.bytes;
}

static struct metrics *begin(size_t most)
{
	struct metrics *metrics = metrics_new(families, FAMILIES, most);

	assert_non_null(metrics);
	return metrics;
}

static void end(struct metrics *metrics)
{
	string_fini(&writer.text);
	metrics_free(metrics);
}

static void add(struct metrics *metrics, size_t family, const char *comm, uint64_t value)
{
	metrics_label(metrics, "comm", comm);
	metrics_add(metrics, family, value);
}

static void same_labels_share_a_series(void **unused)
{
	struct metrics *metrics = begin(0);

	(void)unused;
	metrics_label(metrics, "hostname", "h");
	metrics_keep(metrics);
	add(metrics, CALLS, "a", 1);
	add(metrics, CALLS, "b", 2);
	add(metrics, CALLS, "a", 3);
	metrics_add(metrics, CPU, 1500000000);
	assert_string_equal(text_of(metrics, METRICS_OPENMETRICS),
			    "# TYPE x_calls counter\n"
			    "# HELP x_calls Calls.\n"
			    "x_calls_total{hostname=\"h\",comm=\"a\"} 4\n"
			    "x_calls_total{hostname=\"h\",comm=\"b\"} 2\n"
			    "# TYPE x_cpu_seconds counter\n"
			    "# UNIT x_cpu_seconds seconds\n"
			    "# HELP x_cpu_seconds Time.\n"
			    "x_cpu_seconds_total{hostname=\"h\"} 1.500000000\n"
			    "# EOF\n");
	end(metrics);
}

static void older_format_has_other_names(void **unused)
{
	struct metrics *metrics = begin(0);

	(void)unused;
	metrics_of(metrics, "now", 1500000000);
	add(metrics, CALLS, NULL, 7);
	assert_string_equal(text_of(metrics, METRICS_PROMETHEUS), "# TYPE x_calls_total counter\n"
								  "# HELP x_calls_total Calls.\n"
								  "x_calls_total 7 1500\n");
	string_fini(&writer.text);
	assert_non_null(strstr(text_of(metrics, METRICS_OPENMETRICS), "x_calls_total 7 2\n"));
	end(metrics);
}

static void ratios_are_billionths(void **unused)
{
	struct metrics *metrics = begin(0);

	(void)unused;
	metrics_add(metrics, BUSY, 5000000);
	assert_non_null(strstr(text_of(metrics, METRICS_PROMETHEUS), "x_busy_ratio 0.005000000\n"));
	end(metrics);
}

static void labels_cannot_break_out(void **unused)
{
	struct metrics *metrics = begin(0);

	(void)unused;
	add(metrics, LIVE, "a\"} 1\nevil 2\\\x01\xff\xc3\xa4\x7f", 1);
	assert_non_null(
		strstr(text_of(metrics, METRICS_PROMETHEUS),
		       "x_live_bytes{comm=\"a\\\"} 1\\nevil 2\\\\\\\\x01\xef\xbf\xbd\xc3\xa4"
		       "\\\\x7f\"} 1\n"));
	end(metrics);
}

static void gauges_are_of_the_last_source(void **unused)
{
	struct metrics *metrics = begin(0);
	const int first = 1, second = 2;

	(void)unused;
	metrics_of(metrics, &first, 2000000000);
	add(metrics, LIVE, "a", 5);
	add(metrics, LIVE, "a", 6);
	metrics_of(metrics, &second, 3000000000);
	add(metrics, LIVE, "a", 1);
	metrics_of(metrics, &first, 1000000000);
	add(metrics, LIVE, "a", 100); /* it is older */
	assert_non_null(
		strstr(text_of(metrics, METRICS_OPENMETRICS), "x_live_bytes{comm=\"a\"} 1 3\n"));
	end(metrics);
}

static void highest_is_kept(void **unused)
{
	struct metrics *metrics = begin(0);

	(void)unused;
	metrics_highest(metrics, LIVE, 5);
	metrics_highest(metrics, LIVE, 3);
	assert_non_null(strstr(text_of(metrics, METRICS_PROMETHEUS), "x_live_bytes 5\n"));
	end(metrics);
}

/* Sums stay right, and series that are there go on. */
static void too_many_share_one(void **unused)
{
	struct metrics *metrics = begin(2);
	const char *text;

	(void)unused;
	add(metrics, CALLS, "a", 1);
	add(metrics, CALLS, "b", 2);
	add(metrics, CALLS, "c", 4);
	add(metrics, CALLS, "d", 8);
	add(metrics, CALLS, "a", 16);
	add(metrics, LIVE, "a", 32);
	text = text_of(metrics, METRICS_PROMETHEUS);
	assert_non_null(strstr(text, "x_calls_total{comm=\"a\"} 17\n"));
	assert_non_null(strstr(text, "x_calls_total{series=\"(others)\"} 12\n"));
	assert_non_null(strstr(text, "x_live_bytes{series=\"(others)\"} 32\n"));
	assert_null(strstr(text, "comm=\"c\""));
	assert_int_equal(metrics_limited(metrics), 3);
	assert_int_equal(metrics_series(metrics), 4);
	assert_int_equal(metrics_error(metrics), 0);
	end(metrics);
}

static void histograms_add_up(void **unused)
{
	struct metrics *metrics = begin(0);
	const uint64_t first[] = { 1, 2, 0 }, second[] = { 4, 0, 8 };

	(void)unused;
	metrics_label(metrics, "comm", "a");
	metrics_add_histogram(metrics, WAIT, first, 1500000000);
	metrics_label(metrics, "comm", "a");
	metrics_add_histogram(metrics, WAIT, second, 1);
	metrics_add_histogram(metrics, WAIT, first, 7);
	assert_string_equal(text_of(metrics, METRICS_PROMETHEUS),
			    "# TYPE x_wait_seconds histogram\n"
			    "# HELP x_wait_seconds Waits.\n"
			    "x_wait_seconds_bucket{comm=\"a\",le=\"0.000001023\"} 5\n"
			    "x_wait_seconds_bucket{comm=\"a\",le=\"2.000000000\"} 7\n"
			    "x_wait_seconds_bucket{comm=\"a\",le=\"+Inf\"} 15\n"
			    "x_wait_seconds_sum{comm=\"a\"} 1.500000001\n"
			    "x_wait_seconds_count{comm=\"a\"} 15\n"
			    "x_wait_seconds_bucket{le=\"0.000001023\"} 1\n"
			    "x_wait_seconds_bucket{le=\"2.000000000\"} 3\n"
			    "x_wait_seconds_bucket{le=\"+Inf\"} 3\n"
			    "x_wait_seconds_sum 0.000000007\n"
			    "x_wait_seconds_count 3\n");
	assert_int_equal(metrics_series(metrics), 10);
	end(metrics);
}

/* Of eleven series, histograms take five, which is one of them. */
static void histograms_leave_room(void **unused)
{
	struct metrics *metrics = begin(11);
	const uint64_t counts[] = { 1, 2, 4 };
	const char *text;

	(void)unused;
	metrics_label(metrics, "comm", "a");
	metrics_add_histogram(metrics, WAIT, counts, 1);
	metrics_label(metrics, "comm", "b");
	metrics_add_histogram(metrics, WAIT, counts, 2);
	metrics_label(metrics, "comm", "c");
	metrics_add_histogram(metrics, WAIT, counts, 4);
	add(metrics, CALLS, "c", 8);
	text = text_of(metrics, METRICS_OPENMETRICS);
	assert_non_null(strstr(text, "# UNIT x_wait_seconds seconds\n"));
	assert_non_null(strstr(text, "x_wait_seconds_count{comm=\"a\"} 7\n"));
	assert_non_null(strstr(text, "x_wait_seconds_count{series=\"(others)\"} 14\n"));
	assert_non_null(strstr(text, "x_wait_seconds_sum{series=\"(others)\"} 0.000000006\n"));
	assert_non_null(strstr(text, "x_calls_total{comm=\"c\"} 8\n"));
	assert_int_equal(metrics_limited(metrics), 2);
	end(metrics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_labels_share_a_series),
		cmocka_unit_test(older_format_has_other_names),
		cmocka_unit_test(ratios_are_billionths),
		cmocka_unit_test(labels_cannot_break_out),
		cmocka_unit_test(gauges_are_of_the_last_source),
		cmocka_unit_test(highest_is_kept),
		cmocka_unit_test(too_many_share_one),
		cmocka_unit_test(histograms_add_up),
		cmocka_unit_test(histograms_leave_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
