// SPDX-License-Identifier: BSD-2-Clause
/*
 * A dump as `memscope-bpf trace --json` would have shown it: the same events, then the summary, and
 * a last line that says what the dump is and what is wrong with it. Sums are lines of type "sum".
 *
 * usage: dumpcat [-s] FILE...    one after the other, as if they were one; -s: without calls, which
 *                                may be many
 */
#include <stdio.h>
#include <string.h>

#include "render/json.h"
#include "base/writer.h"
#include "store/replay.h"

struct cat {
	struct sink sink; /* first */
	struct sink *json;
	struct writer writer;
	bool without_calls;
};

static int show_sum(struct writer *writer, const struct event *event)
{
	const struct ms_call *call = event->call;

	string_append_format(
		&writer->text,
		"{\"type\":\"sum\",\"op\":\"%s\",\"api\":\"%s\",\"pid\":%u,"
		"\"ts_ns\":%llu,\"count\":%llu,\"size_bytes\":%llu,\"addr\":\"0x%llx\","
		"\"src\":\"0x%llx\",\"direction\":\"%s\",\"result\":%d}",
		probe_op_name(event->probe->spec.op), event->probe->symbol, event->header->pid,
		(unsigned long long)event->header->ts_ns, (unsigned long long)event->count,
		(unsigned long long)call->size, (unsigned long long)call->addr,
		(unsigned long long)call->src, probe_direction_name(call->direction), call->result);
	return writer_end_line(writer);
}

static int show(struct sink *sink, const struct event *event, const struct change *change)
{
	struct cat *cat = (struct cat *)sink;

	if (event->header->type == MS_TYPE_CALLS)
		return show_sum(&cat->writer, event);
	if (cat->without_calls && event->call)
		return 0;
	return event->call ? cat->json->call(cat->json, event, change) :
			     cat->json->process(cat->json, event, change);
}

static int finish(struct sink *sink, const struct summary *summary)
{
	struct cat *cat = (struct cat *)sink;

	return cat->json->end(cat->json, summary);
}

static int read_file(struct replay *replay, const char *path)
{
	struct dump_reader *reader;
	struct dump_item item = { 0 };
	int err = dump_reader_open(&reader, path);

	if (err)
		return err;
	do {
		err = dump_reader_next(reader, &item);
		if (!err)
			err = replay_item(replay, &item);
	} while (!err && item.kind != DUMP_END);
	dump_reader_close(reader);
	return err;
}

static const char *text(const char *value)
{
	return value ? value : "";
}

static void print_account(const struct replay *replay)
{
	const struct recording_account *account = replay_account(replay);

	printf("{\"type\":\"dump\",\"blocks\":%llu,\"segments\":%llu,\"events\":%llu,"
	       "\"missing_blocks\":%llu,\"damaged_bytes\":%llu,\"refused\":%llu,\"unknown\":%llu,"
	       "\"anchors_used\":%llu,\"cut_short\":%s,\"has_end\":%s,\"first_ts_ns\":%llu,"
	       "\"last_ts_ns\":%llu,\"reason\":\"%s\",\"seen\":\"%s\",\"lost\":\"%s\","
	       "\"targets\":\"%s\",\"ops\":\"%s\"}\n",
	       (unsigned long long)account->blocks, (unsigned long long)account->segments,
	       (unsigned long long)account->events, (unsigned long long)account->missing_blocks,
	       (unsigned long long)account->damaged_bytes, (unsigned long long)account->refused,
	       (unsigned long long)(account->unknown_blocks + account->unknown_calls),
	       (unsigned long long)account->anchors_used, account->cut_short ? "true" : "false",
	       account->has_end ? "true" : "false", (unsigned long long)account->first_ts_ns,
	       (unsigned long long)account->last_ts_ns, text(replay_end_text(replay, "reason")),
	       text(replay_end_text(replay, "seen")), text(replay_end_text(replay, "lost")),
	       text(replay_text(replay, "targets")), text(replay_text(replay, "ops")));
}

int main(int argc, char **argv)
{
	struct cat cat = { .sink = { .call = show, .process = show, .end = finish } };
	struct pipeline pipeline = { .filter.ops = UINT32_MAX,
				     .sinks = { &cat.sink },
				     .sinks_count = 1,
				     .shows_sums = true };
	struct replay *replay = replay_new(&pipeline, NULL);
	struct summary summary = { .captured_ops = UINT32_MAX };
	int i, err = 0;

	cat.without_calls = argc > 1 && !strcmp(argv[1], "-s");
	if (argc < 2 + cat.without_calls || !replay)
		return 2;
	writer_init_stdout(&cat.writer);
	cat.json = json_sink_new(&cat.writer, true);
	for (i = 1 + cat.without_calls; !err && i < argc; i++)
		err = read_file(replay, argv[i]);
	summary.counters = pipeline.recorded;
	if (!err)
		err = pipeline_finish(&pipeline, &summary);
	writer_flush(&cat.writer);
	print_account(replay);
	json_sink_free(cat.json);
	writer_close(&cat.writer);
	replay_free(replay);
	state_fini(&pipeline.state);
	return err ? 1 : 0;
}
