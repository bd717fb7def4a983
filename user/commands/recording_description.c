// SPDX-License-Identifier: BSD-2-Clause
#include "commands/recording_description.h"

#include "base/clock.h"
#include "base/string.h"
#include "event/probe.h"

static void append_word(struct string *text, const char *word)
{
	if (text->length)
		string_append_char(text, ',');
	string_append_text(text, word);
}

static void put_string(struct texts *texts, const char *name, struct string *value)
{
	string_append_char(value, '\0');
	if (!value->failed)
		texts_put(texts, name, value->bytes);
	string_fini(value);
}

static void put_captured(struct texts *texts, const struct selection *selection)
{
	uint32_t captured = selection_captured_ops(selection), i;
	uint32_t layer_set = selection_layers(selection, false);
	struct string ops = { 0 }, layers = { 0 };

	for (i = 0; i < MS_OPS_COUNT; i++)
		if (i != MS_OP_NAME && captured >> i & 1)
			append_word(&ops, probe_op_name(i));
	for (i = 0; i < MS_LAYERS_COUNT; i++)
		if (layer_set >> i & 1)
			append_word(&layers, probe_layer_name(i));
	put_string(texts, "ops", &ops);
	put_string(texts, "layers", &layers);
}

static void put_targets(struct texts *texts, const struct selection *selection)
{
	struct string text = { 0 };
	size_t i;

	if (selection->all)
		string_append_text(&text, "all");
	if (selection->cgroup)
		string_append_format(&text, "cgroup %s", selection->cgroup);
	for (i = 0; i < selection->pids_count; i++)
		string_append_format(&text, "%s%d", i ? "," : "pid ", (int)selection->pids[i]);
	if (selection->command)
		string_append_text(&text, "command");
	for (i = 0; selection->command && selection->command[i] && text.length < 4096; i++)
		string_append_format(&text, " %s", selection->command[i]);
	put_string(texts, "targets", &text);
}

void recording_description_put(struct texts *texts, const struct recording_settings *settings,
			       const struct machine *machine, uint64_t start_ns)
{
	static const char *const details[] = {
		[RECORDING_SUMMARY] = "summary",
		[RECORDING_ALL] = "all",
		[RECORDING_OFF] = "off",
	};

	texts_put(texts, "tool", "memscope-bpf");
	texts_put(texts, "version", MEMSCOPE_VERSION);
	texts_put(texts, "host", machine->host);
	texts_put(texts, "kernel", machine->kernel);
	texts_put(texts, "machine", machine->hardware);
	texts_put(texts, "boot_id", machine->boot_id);
	texts_put_u64(texts, "monotonic_ns", clock_monotonic_ns());
	texts_put_u64(texts, "realtime_offset_ns", clock_realtime_offset_ns());
	texts_put_u64(texts, "boottime_offset_ns", clock_boottime_offset_ns());
	texts_put_u64(texts, "start_ns", start_ns);
	put_captured(texts, &settings->capturing.selection);
	texts_put(texts, "launches", details[settings->launches]);
	texts_put(texts, "graph_launches", details[RECORDING_ALL]);
	texts_put(texts, "copies", details[settings->copies]);
	texts_put_u64(texts, "ring_bytes", settings->ring_bytes);
	texts_put_u64(texts, "follow", settings->capturing.selection.follow);
	put_targets(texts, &settings->capturing.selection);
}
