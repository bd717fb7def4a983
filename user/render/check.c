// SPDX-License-Identifier: BSD-2-Clause
#include "render/check.h"

#include <stdio.h>
#include <string.h>

#include "render/check_probes.h"
#include "render/field.h"
#include "render/json_writer.h"
#include "elf/elf_code.h"

#define WIDTH 96

/* ---- text ------------------------------------------------------------------------------------ */

/* Words, broken before WIDTH, each line indented by `column`. */
static void append_words(struct string *out, const char *text, size_t column, size_t at)
{
	while (*text) {
		size_t length = strcspn(text, " ");

		if (at > column && at + 1 + length > WIDTH) {
			string_append_char(out, '\n');
			string_pad(out, out->length + column);
			at = column;
		} else if (at > column) {
			string_append_char(out, ' ');
			at++;
		}
		field_append_safe(out, text, length);
		at += length;
		text += length;
		text += *text == ' ';
	}
	string_append_char(out, '\n');
}

const char *check_problem(const struct check_item *item)
{
	return item->untried ? "It cannot be tried without the privileges that are missing" :
			       strerror(-item->err);
}

static void append_item(struct string *out, const struct check_item *item)
{
	const size_t column = 30;
	char problem[512];

	string_append_format(out, "  %-7s %-19s ",
			     !item->err     ? "ok" :
			     item->untried  ? "untried" :
			     item->required ? "MISSING" :
					      "missing",
			     item->name);
	append_words(out, item->what, column, column);
	if (!item->err)
		return;
	string_pad(out, out->length + column);
	snprintf(problem, sizeof(problem), "%s. Without it: %s", check_problem(item),
		 item->without);
	append_words(out, problem, column, column);
}

static void append_items(struct string *out, const char *title, const struct check_item *items,
			 size_t count)
{
	size_t i;

	string_append_text(out, title);
	string_append_char(out, '\n');
	for (i = 0; i < count; i++)
		append_item(out, &items[i]);
	string_append_char(out, '\n');
}

static size_t layer_total(unsigned int layer)
{
	size_t total = 0;
	uint32_t row;

	for (row = 0; row < probe_count(); row++)
		total += probe_at(row)->layer == layer;
	return total;
}

static void append_missing(struct string *out, const struct check_library *library)
{
	const char *before = "      not in it: ";
	size_t at = strlen(before);
	uint32_t row;

	for (row = 0; row < probe_count(); row++) {
		const struct probe *probe = probe_at(row);

		if (!library->functions[probe->layer] || library->rows[row].found)
			continue;
		if (at + strlen(probe->symbol) > WIDTH) {
			before = "\n                 ";
			at = strlen(before);
		}
		string_append_text(out, before);
		string_append_text(out, probe->symbol);
		at += strlen(probe->symbol) + 1;
		before = " ";
	}
	if (*before != ' ' || before[1] == '\0')
		string_append_char(out, '\n');
}

/* The library is newer than this program. */
static void append_new(struct string *out, const struct check_library *library)
{
	size_t i, before = out->length;

	if (!library->new_count)
		return;
	string_append_format(
		out, "      exported, but not known to this version (%zu, %zu about memory):",
		library->new_count, library->new_memory);
	for (i = 0; i < library->new_named; i++) {
		if (out->length - before > WIDTH) {
			string_append_text(out, "\n                 ");
			before = out->length;
		}
		string_append_char(out, ' ');
		field_append_safe(out, library->new_names[i], strlen(library->new_names[i]));
	}
	string_append_text(out, library->new_named < library->new_count ? " ...\n" : "\n");
}

static void append_library(struct string *out, const struct check_library *library, bool verbose)
{
	const char *before = ": ";
	unsigned int layer;

	string_append_text(out, "  ");
	field_append_safe(out, library->path, strlen(library->path));
	if (!library->mapped)
		string_append_text(out, " (not mapped yet)");
	for (layer = 0; layer < MS_LAYERS_COUNT; layer++) {
		if (!library->functions[layer])
			continue;
		string_append_format(out, "%s%zu of %zu %s functions", before,
				     library->found[layer], layer_total(layer),
				     probe_layer_name(layer));
		before = ", ";
	}
	string_append_char(out, '\n');
	append_missing(out, library);
	append_new(out, library);
	check_probes_append_text(out, library, verbose);
}

/* Why: elf/elf_code.h. */
static void append_go(struct string *out, const struct check_process *process)
{
	const char *text = process->go ? "a Go program: C libraries run on system stacks, where"
					 " probing returns does no harm; should it fail all the"
					 " same, use --no-return" :
					 NULL;
	size_t i;

	for (i = 0; i < process->libraries_count; i++)
		if (process->libraries[i].go)
			text = ELF_CODE_GO_WARNING;
	if (!text)
		return;
	string_append_text(out, "  ");
	append_words(out, text, 2, 2);
}

static void append_process(struct string *out, const struct check_process *process, bool verbose)
{
	size_t i;

	string_append_format(out, "\nProcess %u (", process->pid);
	field_append_safe(out, process->comm, strlen(process->comm));
	string_append_text(out, ")\n");
	append_go(out, process);
	if (process->unread) {
		string_append_text(out, "  ");
		field_append_safe(out, process->unread, strlen(process->unread));
		string_append_format(out,
				     ": mapped, and cannot be opened (%s)\n      If it is on a FUSE"
				     " file system, mount that with allow_root.\n",
				     strerror(process->unread_error));
	}
	if (!process->libraries_count && !process->unread)
		string_append_text(out, "  no CUDA library\n");
	else if (verbose)
		check_probes_append_legend(out);
	for (i = 0; i < process->libraries_count; i++)
		append_library(out, &process->libraries[i], verbose);
	string_append_text(out, "\n  What tracing it would not see:\n");
	for (i = 0; i < process->notes_count; i++) {
		string_append_text(out, "  - ");
		append_words(out, process->notes[i], 4, 4);
	}
}

static size_t descendants_named(const struct check_process *process)
{
	return process->descendants_count < CHECK_DESCENDANTS ? process->descendants_count :
								CHECK_DESCENDANTS;
}

/* With the -p that includes them. */
static void append_descendants(struct string *out, const struct check_process *process)
{
	const size_t named = descendants_named(process);
	struct string text = { 0 };
	size_t i;

	if (!named)
		return;
	string_append_format(
		&text,
		"%zu descendant%s of process %u use%s CUDA, and would not be traced with"
		" -p %u. With %s: -p %u",
		process->descendants_count, named == 1 ? "" : "s", process->pid,
		named == 1 ? "s" : "", process->pid, named == 1 ? "it" : "them", process->pid);
	for (i = 0; i < named; i++)
		string_append_format(&text, ",%d", (int)process->descendants[i]);
	string_append_text(&text, named < process->descendants_count ? ",..." : "");
	string_append_text(&text, "; with those that start later: -f as well.");
	string_append_char(&text, '\0');
	append_words(out, text.failed ? "" : text.bytes, 0, 0);
	out->failed |= text.failed;
	string_fini(&text);
}

static bool lacks_privileges(const struct check *check)
{
	size_t i;

	for (i = 0; i < check->privileges_count; i++)
		if (check->privileges[i].err && check->privileges[i].required)
			return true;
	return false;
}

static void append_verdict(struct string *out, const struct check *check)
{
	string_append_format(out, "Tracing %s here", check->able ? "works" : "does not work");
	if (check->able && check->process && check->process->unread)
		string_append_format(out, ", but not all of process %u", check->process->pid);
	if (check->able && check->failed_pid)
		string_append_format(out, ", but not of process %u", check->failed_pid);
	if (lacks_privileges(check))
		string_append_text(out, " without privileges: run it with sudo (sudo memscope-bpf"
					" check), or give the program these capabilities (setcap)");
	string_append_text(out, ".\n");
	if (check->process)
		append_descendants(out, check->process);
}

void check_append_text(struct string *out, const struct check *check, bool verbose)
{
	char title[160];

	append_verdict(out, check);
	if (check->process)
		append_process(out, check->process, verbose);
	string_append_char(out, '\n');
	append_items(out, "Privileges", check->privileges, check->privileges_count);
	snprintf(title, sizeof(title), "Kernel %s", check->kernel);
	append_items(out, title, check->features, check->features_count);
	if (check->strategy)
		string_append_format(out, "Probes are attached by %s.\n", check->strategy);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_items(struct json *json, const char *name, const struct check_item *items,
		      size_t count)
{
	size_t i;

	json_name(json, name);
	json_open(json, '[');
	for (i = 0; i < count; i++) {
		json_open(json, '{');
		json_put_text(json, "name", items[i].name);
		json_put_text(json, "what", items[i].what);
		json_put_bool(json, "required", items[i].required);
		json_put_bool(json, "available", !items[i].err);
		json_put_text(json, "problem", items[i].err ? check_problem(&items[i]) : NULL);
		json_put_text(json, "without", items[i].without);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_functions(struct json *json, const char *name, const struct check_library *library,
			  bool found)
{
	uint32_t row;

	json_name(json, name);
	json_open(json, '[');
	for (row = 0; row < probe_count(); row++) {
		const struct probe *probe = probe_at(row);

		if (library->functions[probe->layer] && library->rows[row].found == found)
			json_text(json, probe->symbol, strlen(probe->symbol));
	}
	json_close(json, ']');
}

static void put_new(struct json *json, const struct check_library *library)
{
	size_t i;

	json_name(json, "new_functions");
	json_open(json, '{');
	json_put_u64(json, "count", library->new_count);
	json_put_u64(json, "memory", library->new_memory);
	json_name(json, "names");
	json_open(json, '[');
	for (i = 0; i < library->new_named; i++)
		json_text(json, library->new_names[i], strlen(library->new_names[i]));
	json_close(json, ']');
	json_close(json, '}');
}

static void put_library(struct json *json, const struct check_library *library)
{
	json_open(json, '{');
	json_put_text(json, "path", library->path);
	json_put_bool(json, "mapped", library->mapped);
	json_put_bool(json, "go", library->go);
	json_put_bool(json, "driver", library->functions[MS_LAYER_DRIVER]);
	json_put_bool(json, "runtime", library->functions[MS_LAYER_RUNTIME]);
	put_functions(json, "found", library, true);
	put_functions(json, "missing", library, false);
	put_new(json, library);
	check_probes_put_json(json, library);
	json_close(json, '}');
}

static void put_process(struct json *json, const struct check_process *process)
{
	size_t i;

	json_name(json, "process");
	if (!process) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "pid", process->pid);
	json_put_text(json, "comm", process->comm);
	json_put_bool(json, "go", process->go);
	json_put_text(json, "unread", process->unread);
	json_put_u64(json, "descendants_count", process->descendants_count);
	json_name(json, "descendants");
	json_open(json, '[');
	for (i = 0; i < descendants_named(process); i++)
		json_u64(json, (uint64_t)process->descendants[i]);
	json_close(json, ']');
	json_name(json, "libraries");
	json_open(json, '[');
	for (i = 0; i < process->libraries_count; i++)
		put_library(json, &process->libraries[i]);
	json_close(json, ']');
	json_name(json, "invisible");
	json_open(json, '[');
	for (i = 0; i < process->notes_count; i++)
		json_text(json, process->notes[i], strlen(process->notes[i]));
	json_close(json, ']');
	json_close(json, '}');
}

void check_append_json(struct string *out, const struct check *check)
{
	struct json json = { .out = out };

	json_open(&json, '{');
	json_put_text(&json, "schema", CHECK_SCHEMA);
	json_put_text(&json, "kernel", check->kernel);
	json_put_bool(&json, "able", check->able);
	json_put_text(&json, "strategy", check->strategy);
	put_items(&json, "privileges", check->privileges, check->privileges_count);
	put_items(&json, "features", check->features, check->features_count);
	put_process(&json, check->process);
	json_close(&json, '}');
	string_append_char(out, '\n');
}
