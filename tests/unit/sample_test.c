// SPDX-License-Identifier: BSD-2-Clause
/*
 * A kind of record with the shape SAMPLE is in every output once it has its rows: two made-up kinds
 * have them here, and are built into the two objects that read the tables.
 */
#define MS_MORE_RECORDS "sample.def"
#define MS_MORE_RECORD_FIELDS "sample.def"

#include "event/event.c"         /* NOLINT(bugprone-suspicious-include): with more rows */
#include "render/record_field.c" /* NOLINT(bugprone-suspicious-include) */

#include "report_dump.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "export/export.h"
#include "golden.h"
#include "pipeline.h"
#include "render/json.h"
#include "render/text.h"

#define SECOND 1000000000ull
#define OTHER_PID (RECORD_PID + 1)

/* ---- records --------------------------------------------------------------------------------- */

static union record sample(enum ms_type type, uint64_t ts_ns, uint16_t op, uint64_t lost)
{
	union record record = record_event(type, sizeof(struct ms_loss));

	record.loss.op = op;
	record.loss.lost = lost;
	return record_at(ts_ns, record);
}

static union record clock_sample(void)
{
	return record_of(0, 0, sample(MS_TYPE_CLOCK, 2 * SECOND, 1, 1410000000));
}

static union record heat_sample(void)
{
	return sample(MS_TYPE_HEAT, 3 * SECOND, 0, (uint64_t)-4);
}

static union record other_sample(void)
{
	return record_of(OTHER_PID, RECORD_START_NS, sample(MS_TYPE_HEAT, 4 * SECOND, 0, 5));
}

static union record attach(void)
{
	return record_at(SECOND, record_attach_running());
}

/* ---- live ------------------------------------------------------------------------------------ */

static void feed(struct pipeline *pipeline, union record record)
{
	assert_int_equal(pipeline_feed(pipeline, &record, record.event.size), 0);
}

/* What a sink writes of the attach and the samples; frees nothing of it. */
static void run_through(struct sink *sink, const struct writer *writer, struct text *out)
{
	struct pipeline pipeline = { .filter.ops = ~0u };

	assert_non_null(sink);
	pipeline_add_sink(&pipeline, sink);
	feed(&pipeline, attach());
	feed(&pipeline, clock_sample());
	feed(&pipeline, heat_sample());
	assert_int_equal(pipeline.refused, 0);
	/* A record of the machine makes no process. */
	assert_int_equal(pipeline.state.processes_count, 1);
	assert_int_equal(pipeline_flush(&pipeline), 0);
	read_all(writer->fd, out);
	state_fini(&pipeline.state);
}

static void assert_has(const struct text *text, const char *part)
{
	if (!strstr(text->bytes, part))
		fail_msg("no \"%s\" in:\n%s", part, text->bytes);
}

static void assert_lacks(const struct text *text, const char *part)
{
	if (strstr(text->bytes, part))
		fail_msg("\"%s\" in:\n%s", part, text->bytes);
}

static void test_text(void **state)
{
	const struct text_options options = { .lines = true };
	struct writer writer = { .fd = memfd_create("sample_test", 0) };
	struct sink *sink = text_sink_new(&writer, &options);
	static struct text out;

	(void)state;
	run_through(sink, &writer, &out);
	assert_has(&out, "00:00:02.000000 +++ clock: device 1, hertz 1410000000\n");
	assert_has(&out, "00:00:03.000000 +++ 100 (program) heat: change -4\n");
	text_sink_free(sink);
	assert_int_equal(writer_close(&writer), 0);
}

static void test_json(void **state)
{
	struct writer writer = { .fd = memfd_create("sample_test", 0) };
	struct sink *sink = json_sink_new(&writer, true);
	static struct text out;

	(void)state;
	run_through(sink, &writer, &out);
	assert_has(&out, "\"type\":\"clock\",\"ts_ns\":2000000000,\"wall_ns\":null,\"device\":1,"
			 "\"hertz\":1410000000}\n");
	assert_has(&out, "\"type\":\"heat\",\"ts_ns\":3000000000,\"wall_ns\":null,\"pid\":100,"
			 "\"comm\":\"program\",\"change\":-4}\n");
	json_sink_free(sink);
	assert_int_equal(writer_close(&writer), 0);
}

/* ---- recorded and exported ------------------------------------------------------------------- */

static void export_as(const char *name, uint32_t pid, struct text *out)
{
	const struct exporter *exporter = exporter_find(name);
	struct writer writer = { .fd = memfd_create("sample_test", 0) };
	const struct export_options options = { .writer = &writer };
	struct report_reader reader = report_dump_reader();
	static struct report_dump dump;

	report_dump_init(&dump, 7, "host");
	report_dump_segment(&dump, SECOND);
	report_dump_add(&dump, attach());
	report_dump_add(&dump, clock_sample());
	report_dump_add(&dump, heat_sample());
	report_dump_add(&dump, other_sample());
	report_dump_end(&dump, 5 * SECOND);
	reader.report.options.pids[0] = pid;
	reader.report.options.pids_count = pid != 0;
	reader.sink = exporter->begin(&options);
	assert_non_null(reader.sink);
	report_dump_read(&dump, &reader);
	assert_int_equal(exporter->finish(reader.sink, &reader.report), 0);
	assert_int_equal(writer_flush(&writer), 0);
	read_all(writer.fd, out);
	exporter->free(reader.sink);
	report_reader_fini(&reader);
	report_dump_fini(&dump);
	assert_int_equal(writer_close(&writer), 0);
}

static size_t cells_of(const char *line)
{
	const size_t length = strcspn(line, "\r");
	size_t cells = 1, i;

	for (i = 0; i < length; i++)
		cells += line[i] == ',';
	return cells;
}

static void test_csv(void **state)
{
	static struct text out;
	const char *attach;

	(void)state;
	export_as("csv", 0, &out);
	assert_has(&out, ",was_running,");
	assert_has(&out, ",clock_device,clock_hertz,heat_change\r\n");
	assert_has(&out, ",,1,1410000000,\r\n");
	assert_has(&out, ",,,,,,-4\r\n");
	/* What is no sample has empty cells in their columns. */
	attach = strstr(out.bytes, ",true,");
	assert_non_null(attach);
	assert_int_equal(strcspn(attach + strlen(",true"), "\r"),
			 strspn(attach + strlen(",true"), ","));
	assert_int_equal(cells_of(attach), cells_of(strstr(out.bytes, ",was_running,")));
}

static void test_ndjson(void **state)
{
	static struct text out;

	(void)state;
	export_as("ndjson", 0, &out);
	assert_has(&out, "\"hertz\":1410000000}\n");
	assert_has(&out, "\"change\":-4}\n");
	assert_has(&out, "\"change\":5}\n");
}

static void test_chrome(void **state)
{
	static struct text out;

	(void)state;
	export_as("chrome", 0, &out);
	assert_has(&out, "\"name\":\"clock\",\"ts\":2000000.000,\"args\":{\"device\":1}");
	assert_has(&out, "\"pid\":100,\"tid\":0,\"s\":\"p\",\"name\":\"heat\"");
}

/* What is asked for one process has its samples and those of the machine. */
static void test_samples_of_a_process(void **state)
{
	static struct text out;

	(void)state;
	export_as("ndjson", OTHER_PID, &out);
	assert_has(&out, "\"hertz\":1410000000}\n");
	assert_lacks(&out, "\"change\":-4}\n");
	assert_has(&out, "\"change\":5}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),   cmocka_unit_test(test_json),
		cmocka_unit_test(test_csv),    cmocka_unit_test(test_ndjson),
		cmocka_unit_test(test_chrome), cmocka_unit_test(test_samples_of_a_process),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return unit_run("samples", tests);
}
