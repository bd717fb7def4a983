// SPDX-License-Identifier: BSD-2-Clause
#include "commands/recording_description.h"

#include <string.h>

#include "base/clock.h"
#include "base/string.h"
#include "event/probe.h"
#include "host/script.h"

static void append_word(struct string *text, const char *word)
{
	if (text->length)
		string_append_char(text, ',');
	string_append_text(text, word);
}

static void put_string(struct properties *properties, const char *name, struct string *value)
{
	string_append_char(value, '\0');
	if (!value->failed)
		properties_put(properties, name, value->bytes);
	string_fini(value);
}

static void put_captured(struct properties *properties, const struct selection *selection)
{
	uint32_t captured = selection_captured_ops(selection), i;
	uint32_t layer_set = selection_layers(selection, false);
	uint32_t spared = selection_spared(selection) & captured;
	struct string ops = { 0 }, layers = { 0 }, left = { 0 };

	for (i = 0; i < MS_OPS_COUNT; i++)
		if (i != MS_OP_NAME && captured >> i & 1)
			append_word(&ops, probe_op_name(i));
	for (i = 0; i < MS_OPS_COUNT; i++)
		if (spared >> i & 1)
			append_word(&left, probe_op_name(i));
	for (i = 0; i < MS_LAYERS_COUNT; i++)
		if (layer_set >> i & 1)
			append_word(&layers, probe_layer_name(i));
	put_string(properties, "ops", &ops);
	put_string(properties, "layers", &layers);
	put_string(properties, "left_to_driver", &left);
}

/* Arguments can hold secrets: without --cmdline, only what is executed is put down. */
static void append_command(struct string *text, const struct selection *selection)
{
	char *const *command = selection->command;
	struct string arguments = { 0 };
	char script[256];
	size_t i;

	string_append_text(text, "command");
	for (i = 0; command[i] && text->length < 4096 && (!i || selection->command_lines); i++)
		string_append_format(text, " %s", command[i]);
	for (i = 0; command[i] && arguments.length < 65536; i++)
		string_append(&arguments, command[i], strlen(command[i]) + 1);
	if (!selection->command_lines && !arguments.failed &&
	    script_find(command[0], arguments.bytes, arguments.length, script, sizeof(script)))
		string_append_format(text, " %s", script);
	string_fini(&arguments);
}

static void put_targets(struct properties *properties, const struct selection *selection)
{
	struct string text = { 0 };
	size_t i;

	if (selection->all && !selection->cgroup.path)
		string_append_text(&text, "all");
	if (selection->cgroup.path)
		string_append_format(&text, "cgroup %s", selection->cgroup.path);
	if (process_selection_is_some(&selection->who)) {
		string_append_text(&text, text.length ? ", " : "");
		process_selection_append(&text, &selection->who);
	}
	for (i = 0; i < selection->pids_count; i++)
		string_append_format(&text, "%s%d", i ? "," : "pid ", (int)selection->pids[i]);
	if (selection->command)
		append_command(&text, selection);
	put_string(properties, "targets", &text);
}

void recording_description_put(struct properties *properties,
			       const struct record_run_settings *settings,
			       const struct machine *machine, uint64_t start_ns)
{
	static const char *const details[] = {
		[RECORDING_SUMMARY] = "summary",
		[RECORDING_ALL] = "all",
		[RECORDING_OFF] = "off",
	};

	properties_put(properties, "tool", "memscope-bpf");
	properties_put(properties, "version", MEMSCOPE_VERSION);
	properties_put(properties, "host", machine->host);
	properties_put(properties, "kernel", machine->kernel);
	properties_put(properties, "machine", machine->hardware);
	properties_put(properties, "boot_id", machine->boot_id);
	properties_put_u64(properties, "monotonic_ns", clock_monotonic_ns());
	properties_put_u64(properties, "realtime_offset_ns", clock_realtime_offset_ns());
	properties_put_u64(properties, "boottime_offset_ns", clock_boottime_offset_ns());
	properties_put_u64(properties, "start_ns", start_ns);
	put_captured(properties, &settings->capture.selection);
	properties_put(properties, "launches", details[settings->launches]);
	properties_put(properties, "graph_launches", details[RECORDING_ALL]);
	properties_put(properties, "copies", details[settings->copies]);
	properties_put(properties, "stacks",
		       !settings->capture.stack_ops                     ? "off" :
		       settings->capture.stack_ops == 1u << MS_OP_ALLOC ? "alloc" :
		       settings->capture.stack_ops >> MS_OP_LAUNCH & 1  ? "all" :
									  "waits");
	properties_put_u64(properties, "launch_stacks_one_in", settings->launch_one_in);
	properties_put_u64(properties, "ring_bytes", settings->ring_bytes);
	properties_put_u64(properties, "follow", settings->capture.selection.follow);
	put_targets(properties, &settings->capture.selection);
}

static void put_forks(struct properties *properties, const struct untraced_forks *forks)
{
	struct string text = { 0 };

	untraced_forks_append(&text, forks);
	put_string(properties, "untraced_forks", &text);
}

static void put_leavers(struct properties *properties, const struct cgroup_leavers *leavers)
{
	struct string text = { 0 };

	if (!leavers)
		return;
	cgroup_leavers_append(&text, leavers);
	put_string(properties, "left_cgroup", &text);
}

void recording_description_put_end(struct properties *properties, const char *reason,
				   uint64_t end_ns, const struct losses *losses, struct live *live,
				   const struct recorder *recorder)
{
	const struct recorder_counts counts = recorder_counts(recorder);
	struct summary_cost cost;

	live_cost(live, &cost);
	properties_put(properties, "reason", reason);
	properties_put_u64(properties, "end_ns", end_ns ? end_ns : clock_monotonic_ns());
	properties_put_u64(properties, "seen", losses->seen);
	properties_put_u64(properties, "lost", losses->calls);
	properties_put_u64(properties, "lost_records", losses->others);
	properties_put_u64(properties, "missed_processes", live_missed(live));
	properties_put_u64(properties, "untraced_descendants", live_untraced(live));
	put_forks(properties, live_untraced_forks(live));
	put_leavers(properties, live_cgroup_leavers(live));
	properties_put_u64(properties, "unwritten_blocks", counts.unwritten_blocks);
	properties_put_u64(properties, "unwritten_records", counts.unwritten_records);
	properties_put_u64(properties, "cpu_ns", cost.cpu_ns);
}
