// SPDX-License-Identifier: BSD-2-Clause
#include "agent/answers.h"

#include <errno.h>

#include "agent/history_answer.h"
#include "agent/process_json.h"
#include "agent/who_json.h"
#include "base/clock.h"
#include "export/export.h"
#include "export/otlp.h"
#include "export/remote_write.h"

static int write_metrics(const struct answers_source *source, const struct request *request,
			 struct writer *writer)
{
	const enum metrics_form form =
		request->form == REQUEST_OPENMETRICS ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
	struct openmetrics *series = books_series(source->books);
	const struct metrics *ledger = openmetrics_metrics(series);
	int err;

	struct metrics *own;

	openmetrics_add(series, books_report(source->books));
	own = own_metrics_make(&source->own, source->host, ledger);
	err = own ? metrics_write(ledger, writer, form) : -ENOMEM;
	if (!err)
		err = metrics_write(own, writer, form);
	metrics_free(own);
	return err ? err : metrics_write_end(writer, form);
}

/* The same series, for a collector. */
static void put_otlp(const struct answers_source *source, struct string *out,
		     const struct metrics *ledger, const struct metrics *own, uint64_t ts_ns)
{
	const struct otlp_origin origin = {
		.host = source->host,
		.version = MEMSCOPE_VERSION,
		.start_ns = source->own.start_ns,
		.ts_ns = ts_ns,
	};
	struct otlp otlp;

	otlp_begin(&otlp, out, &origin);
	otlp_put(&otlp, ledger);
	otlp_put(&otlp, own);
	otlp_end(&otlp);
}

static int write_pushed(const struct answers_source *source, const struct request *request,
			struct writer *writer)
{
	const uint64_t ts_ns = clock_monotonic_ns() + clock_realtime_offset_ns();
	struct openmetrics *series = books_series(source->books);
	struct metrics *ledger = openmetrics_metrics(series), *own;
	int err;

	openmetrics_add(series, books_report(source->books));
	own = own_metrics_make(&source->own, source->host, ledger);
	err = own ? metrics_error(ledger) : -ENOMEM;
	if (!err)
		err = metrics_error(own);
	if (!err && request->document == REQUEST_OTLP) {
		put_otlp(source, &writer->text, ledger, own, ts_ns);
	} else if (!err) {
		remote_write_put(&writer->text, ledger, source->host, ts_ns);
		remote_write_put(&writer->text, own, source->host, ts_ns);
	}
	metrics_free(own);
	return err ? err : writer->text.failed ? -ENOMEM : 0;
}

static int write_who(const struct answers_source *source, const struct request *request,
		     struct writer *writer)
{
	(void)request;
	who_json_append(&writer->text, source);
	return writer_end_line(writer);
}

static int write_process(const struct answers_source *source, const struct request *request,
			 struct writer *writer)
{
	const int err = process_json_append(&writer->text, source, request->pid);

	return err ? err : writer_end_line(writer);
}

static int write_pprof(const struct answers_source *source, const struct request *request,
		       struct writer *writer)
{
	struct report_recording *recording = (struct report_recording *)books_report(source->books);
	struct report report = { .recordings = &recording, .count = 1 };
	const struct export_options options = { .writer = writer };
	struct sink *sink = export_pprof.begin(&options);
	int err = sink ? 0 : -ENOMEM;

	(void)request;
	if (!err)
		err = export_pprof.finish(sink, &report);
	if (sink)
		export_pprof.free(sink);
	return err;
}

static int write_history(const struct answers_source *source, const struct request *request,
			 struct writer *writer)
{
	return source->history_path ? history_answer_write(source->history_path, request, writer) :
				      -ENOENT;
}

static int (*const documents[REQUEST_DOCUMENTS])(const struct answers_source *,
						 const struct request *, struct writer *) = {
	[REQUEST_METRICS] = write_metrics,     [REQUEST_WHO] = write_who,
	[REQUEST_PROCESS] = write_process,     [REQUEST_PPROF] = write_pprof,
	[REQUEST_HISTORY] = write_history,     [REQUEST_OTLP] = write_pushed,
	[REQUEST_REMOTE_WRITE] = write_pushed,
};

int answers_write(const struct answers_source *source, const struct request *request, int fd)
{
	struct writer writer = { .fd = fd, .name = "an answer" };
	int err;

	if (!request_is_of_ledger(request))
		return 404;
	/* Sums of processes of all users. */
	if ((request->document == REQUEST_METRICS || request->document == REQUEST_HISTORY) &&
	    request->uid != REQUEST_EVERYBODY)
		return 403;
	err = request->document == REQUEST_HISTORY ? 0 : books_close(source->books, request->uid);
	if (!err)
		err = documents[request->document](source, request, &writer);
	if (!err)
		err = writer_flush(&writer);
	string_fini(&writer.text);
	switch (err) {
	case 0:
		return 200;
	case -ESRCH:
	case -ENOENT:
		return 404;
	case -EINVAL:
		return request->document == REQUEST_HISTORY ? 400 : err;
	}
	return err;
}
