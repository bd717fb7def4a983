// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes what documents the program and is made from its tables: man pages and what the shell
 * completes from the option rows, the JSON Schema of events from the output fields.
 *
 * usage: mkdocs man [COMMAND] | completion | schema
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "capture/attach/features.h"
#include "commands/command.h"
#include "commands/options.h"
#include "ledger/objects.h"
#include "ledger/process_counters.h"
#include "render/field.h"
#include "render/json.h"
#include "render/record_field.h"

/* ---- man pages ------------------------------------------------------------------------------- */

/* Text as roff wants it: hyphens that stay hyphens, no accidental requests. */
static void put_roff(const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			printf("\\&");
		if (*text == '-')
			printf("\\-");
		else if (*text == '\\')
			printf("\\e");
		else
			putchar(*text);
		line_start = *text == '\n';
	}
}

static void put_paragraphs(const char *text)
{
	const char *first = text;

	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t length = end ? (size_t)(end - text) : strlen(text);
		char paragraph[4096];

		snprintf(paragraph, sizeof(paragraph), "%.*s", (int)length, text);
		if (text != first)
			printf(".PP\n");
		put_roff(paragraph);
		putchar('\n');
		text += length;
		text += strspn(text, "\n");
	}
}

static void put_option(const struct option_row *row)
{
	printf(".TP\n.B ");
	if (row->letter)
		printf("\\-%c, ", row->letter);
	printf("\\-\\-");
	put_roff(row->name);
	if (row->argument) {
		printf("=\\fI");
		put_roff(row->argument);
		printf("\\fP");
	}
	putchar('\n');
	put_roff(row->help);
	putchar('\n');
}

/* Lines of a shell, comments as text between them. */
static void put_examples(const char *lines)
{
	while (*lines) {
		int length = strcspn(lines, "\n");
		char line[512];

		snprintf(line, sizeof(line), "%.*s", length, lines);
		if (line[0] == '#') {
			printf(".TP\n");
			line[2] = toupper((unsigned char)line[2]);
			put_roff(line + 2);
			printf(":\n");
		} else {
			/* As text: a macro would take the quotes. */
			printf(".nf\n\\fB");
			put_roff(line);
			printf("\\fR\n.fi\n");
		}
		lines += length;
		lines += *lines == '\n';
	}
}

static void put_choice(const struct command_choice *choice)
{
	const char *name, *meaning;
	size_t i;

	printf(".SH ");
	for (i = 0; choice->heading[i]; i++)
		putchar(toupper((unsigned char)choice->heading[i]));
	putchar('\n');
	for (i = 0; (name = choice->name(i, &meaning)); i++) {
		printf(".TP\n.B ");
		put_roff(name);
		putchar('\n');
		put_roff(meaning);
		putchar('\n');
	}
}

static void put_exit_status(void)
{
	const struct exit_meaning *meaning;

	printf(".SH EXIT STATUS\n");
	for (meaning = exit_meanings; meaning->meaning; meaning++) {
		printf(".TP\n.B %d\n", meaning->code);
		put_roff(meaning->meaning);
		putchar('\n');
	}
}

static void put_title(const char *name)
{
	char upper[64];
	size_t i;

	for (i = 0; name[i] && i < sizeof(upper) - 1; i++)
		upper[i] = toupper((unsigned char)name[i]);
	upper[i] = '\0';
	printf(".TH ");
	put_roff(upper);
	printf(" 1 \"%s\" \"memscope\\-bpf %s\" \"User Commands\"\n", MEMSCOPE_DATE,
	       MEMSCOPE_VERSION);
}

static void put_synopsis(const struct command *command)
{
	const char *ways = command->synopsis;

	printf("\n.SH SYNOPSIS\n");
	while (*ways) {
		int length = strcspn(ways, "\n");
		char way[128];

		snprintf(way, sizeof(way), "%.*s", length, ways);
		printf(".B memscope\\-bpf %s\n", command->name);
		put_roff(way);
		ways += length;
		ways += *ways == '\n';
		printf(*ways ? "\n.br\n" : "\n");
	}
}

static void put_command_page(const struct command *command)
{
	const struct option_row *row;
	char name[64];

	snprintf(name, sizeof(name), "memscope-bpf-%s", command->name);
	put_title(name);
	printf(".SH NAME\n");
	put_roff(name);
	printf(" \\- ");
	put_roff(command->summary);
	put_synopsis(command);
	printf(".SH DESCRIPTION\n");
	put_paragraphs(command->description);
	printf(".SH OPTIONS\n");
	for (row = command->options; row->name; row++)
		put_option(row);
	printf(".TP\n.B \\-h, \\-\\-help\nShow a short help.\n");
	if (command->choice)
		put_choice(command->choice);
	printf(".SH EXAMPLES\n");
	put_examples(command->examples);
	put_exit_status();
	printf(".SH SEE ALSO\n.BR memscope\\-bpf (1)\n");
}

static void put_main_page(void)
{
	const struct command *const *command;

	put_title("memscope-bpf");
	printf(".SH NAME\nmemscope\\-bpf \\- see where GPU memory goes, in running and unmodified"
	       " programs\n.SH SYNOPSIS\n.B memscope\\-bpf\n");
	put_roff("COMMAND [OPTIONS]");
	printf("\n.SH DESCRIPTION\n");
	put_roff(
		"Attaches to running CUDA programs with eBPF and shows every GPU memory operation"
		" with an exact account of what is live. The programs are not modified: their files,"
		" environment, threads and results stay as they are; while it is attached, the kernel"
		" puts breakpoints into the traced functions.");
	printf("\n.SH COMMANDS\n");
	for (command = commands; *command; command++) {
		printf(".TP\n.BR memscope\\-bpf\\-%s (1)\n", (*command)->name);
		put_roff((*command)->summary);
		putchar('\n');
	}
	printf(".SH OUTPUT FILES\n");
	put_roff(
		"Files belong to the user who runs the program. What trace and record write has mode"
		" 0600, what report, diff and export write the umask's. What report, diff, export"
		" and bundles write gets its name once it is whole; if it takes the place of a file"
		" of the same user's, it has the mode and group of that. A symbolic link, as the file"
		" or in its path, is followed only if that user or root has made it, in a directory"
		" of theirs in which others can put none in its place. A pipe, or a file that would be"
		" written in place, is refused where others may have put it. /dev/stdout and"
		" /dev/fd/N are what is open.");
	printf("\n");
	put_exit_status();
	printf(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\n");
	put_roff("If set and not empty, nothing is coloured.");
	printf("\n");
}

/* ---- completion ------------------------------------------------------------------------------ */

/* "a|b|c" is all that there is; of "a,b=SIZE,..." what is not a placeholder, in capitals. */
static void put_words(const char *argument)
{
	bool all = strchr(argument, '|');
	const char *space = "";
	size_t length, name;

	for (; *argument; argument += length + (argument[length] != '\0')) {
		length = strcspn(argument, "|,");
		if (!all && !islower((unsigned char)*argument))
			continue;
		/* Of growth=SIZE, the value is the user's; unknown=pass is all there is. */
		name = strcspn(argument, "|,=");
		if (name < length && !islower((unsigned char)argument[name + 1]))
			length = name + 1;
		printf("%s%.*s", space, (int)length, argument);
		length = strcspn(argument, "|,");
		space = " ";
	}
}

static void put_values(const struct command *command, const struct option_row *row)
{
	const struct command_choice *choice = command->choice;
	const char *name, *meaning;
	size_t i;

	if (row->letter == 'p')
		printf("PID");
	else if (row->parse == option_without)
		for (i = 0; i < FEATURES_COUNT; i++)
			printf("%s%s", i ? " " : "", feature_infos[i].name);
	else if (choice && !strcmp(row->name, choice->option))
		for (i = 0; (name = choice->name(i, &meaning)); i++)
			printf("%s%s", i ? " " : "", name);
	else
		put_words(row->argument);
}

/* Tables of the shell, for tools/completion.bash. */
static void put_completion(void)
{
	const struct command *const *command;
	const struct option_row *row;

	printf("# bash completion of memscope-bpf, made by tools/mkdocs\n"
	       "declare -gA _memscope_bpf_options=(\n");
	for (command = commands; *command; command++) {
		printf("\t[%s]='--help", (*command)->name);
		for (row = (*command)->options; row->name; row++)
			printf(" --%s", row->name);
		printf("'\n");
	}
	printf(")\n# Of options with a value: PID, the words that it can be, or nothing.\n"
	       "declare -gA _memscope_bpf_values=(\n");
	for (command = commands; *command; command++) {
		for (row = (*command)->options; row->name; row++) {
			if (!row->argument)
				continue;
			printf("\t['%s --%s']='", (*command)->name, row->name);
			put_values(*command, row);
			printf("'\n");
			if (row->letter) {
				printf("\t['%s -%c']='", (*command)->name, row->letter);
				put_values(*command, row);
				printf("'\n");
			}
		}
	}
	printf(")\n# Those that start a command.\n_memscope_bpf_commands='");
	for (command = commands; *command; command++)
		if ((*command)->starts_command)
			printf("%s ", (*command)->name);
	printf("'\n\n");
}

/* ---- JSON Schema ----------------------------------------------------------------------------- */

/* `certain`: it is never unknown. */
static void put_type(struct json *json, enum field_kind kind, bool certain)
{
	static const char *const types[] = {
		[FIELD_TIME] = "integer",  [FIELD_COUNT] = "integer",    [FIELD_SIGNED] = "integer",
		[FIELD_SIZE] = "integer",  [FIELD_DURATION] = "integer", [FIELD_ADDRESS] = "string",
		[FIELD_TEXT] = "string",   [FIELD_FLAG] = "boolean",     [FIELD_DIMS] = "array",
		[FIELD_AMOUNTS] = "array",
	};

	if (kind == FIELD_AMOUNTS || kind == FIELD_IDENTITY) {
		json_put_text(json, "$ref",
			      kind == FIELD_AMOUNTS ? "#/$defs/live" : "#/$defs/identity");
		return;
	}
	if (certain) {
		json_put_text(json, "type", types[kind]);
	} else {
		json_name(json, "type");
		json_open(json, '[');
		json_text(json, types[kind], strlen(types[kind]));
		json_text(json, "null", 4);
		json_close(json, ']');
	}
	if (kind == FIELD_ADDRESS)
		json_put_text(json, "pattern", "^0x[0-9a-f]+$");
	if (kind == FIELD_DIMS) {
		json_name(json, "items");
		json_open(json, '{');
		json_put_text(json, "type", "integer");
		json_close(json, '}');
		json_put_u64(json, "minItems", 3);
		json_put_u64(json, "maxItems", 3);
	}
}

static void put_constant(struct json *json, const char *name, const char *value)
{
	json_name(json, name);
	json_open(json, '{');
	json_put_text(json, "const", value);
	json_close(json, '}');
}

static void put_count(struct json *json)
{
	json_name(json, "count");
	json_open(json, '{');
	json_put_text(
		json, "description",
		"so many calls, of which this is the sum: size_bytes and duration_ns are those of"
		" all, ts_ns is when they were counted, and what differs between them is null");
	json_put_text(json, "$ref", "#/$defs/count");
	json_close(json, '}');
}

/* The calls of one operation: exactly the fields that its events have. */
static void put_call(struct json *json, unsigned int op, bool counted)
{
	char title[64];
	size_t i;

	snprintf(title, sizeof(title), "%s%s", probe_op_name(op),
		 counted ? ", counted instead of recorded" : "");
	json_open(json, '{');
	json_put_text(json, "title", title);
	json_name(json, "properties");
	json_open(json, '{');
	put_constant(json, "schema", JSON_EVENT_SCHEMA);
	put_constant(json, "type", counted ? "calls" : "call");
	if (counted)
		put_count(json);
	for (i = 0; i < fields_count; i++) {
		if (!(fields[i].ops >> op & 1))
			continue;
		if (!strcmp(fields[i].name, "op")) {
			put_constant(json, "op", probe_op_name(op));
			continue;
		}
		json_name(json, fields[i].name);
		json_open(json, '{');
		json_put_text(json, "description", fields[i].description);
		put_type(json, fields[i].kind, false);
		json_close(json, '}');
	}
	json_close(json, '}');
	json_name(json, "required");
	json_open(json, '[');
	json_text(json, "schema", 6);
	json_text(json, "type", 4);
	if (counted)
		json_text(json, "count", 5);
	for (i = 0; i < fields_count; i++)
		if (fields[i].ops >> op & 1)
			json_text(json, fields[i].name, strlen(fields[i].name));
	json_close(json, ']');
	json_put_bool(json, "additionalProperties", false);
	json_close(json, '}');
}

/* What `record` may only count (abi.h, struct ms_calls). */
static bool is_counted(unsigned int op)
{
	return op == MS_OP_COPY || op == MS_OP_MEMSET || op == MS_OP_LAUNCH || op == MS_OP_SYNC;
}

static void put_plain(struct json *json, const char *name, const char *key, const char *value)
{
	json_name(json, name);
	json_open(json, '{');
	json_put_text(json, key, value);
	json_close(json, '}');
}

static void put_name(struct json *json, const char *name)
{
	json_text(json, name, strlen(name));
}

/* A kind of record that is no call: exactly the fields that it has. */
static void put_record(struct json *json, const struct record_title *record)
{
	const bool of_process = event_subject_of(record->type) == EVENT_OF_PROCESS;
	const char *name = event_type_name(record->type);
	char title[256];
	size_t i;

	snprintf(title, sizeof(title), "%s: %s", name, record->title);
	json_open(json, '{');
	json_put_text(json, "title", title);
	json_name(json, "properties");
	json_open(json, '{');
	put_constant(json, "schema", JSON_EVENT_SCHEMA);
	put_constant(json, "type", name);
	put_plain(json, "ts_ns", "$ref", "#/$defs/count");
	put_plain(json, "wall_ns", "$ref", "#/$defs/count_or_null");
	if (of_process) {
		put_plain(json, "pid", "$ref", "#/$defs/count");
		put_plain(json, "comm", "type", "string");
	}
	for (i = 0; i < record_fields_count; i++) {
		if (record_fields[i].type != record->type)
			continue;
		json_name(json, record_fields[i].name);
		json_open(json, '{');
		json_put_text(json, "description", record_fields[i].description);
		put_type(json, record_fields[i].kind, !record_fields[i].can_be_unknown);
		json_close(json, '}');
	}
	json_close(json, '}');
	json_name(json, "required");
	json_open(json, '[');
	put_name(json, "schema");
	put_name(json, "type");
	put_name(json, "ts_ns");
	put_name(json, "wall_ns");
	if (of_process) {
		put_name(json, "pid");
		put_name(json, "comm");
	}
	for (i = 0; i < record_fields_count; i++)
		if (record_fields[i].type == record->type)
			put_name(json, record_fields[i].name);
	json_close(json, ']');
	json_put_bool(json, "additionalProperties", false);
	json_close(json, '}');
}

/* A counter of a process that is in the object "others", or of those that are not. */
static void put_counters(struct json *json, bool of_others)
{
	unsigned int i;

	json_name(json, of_others ? "others" : "counters");
	json_open(json, '{');
	for (i = 0; i < COUNTERS_COUNT; i++) {
		if (process_counters[i].is_of_others != of_others)
			continue;
		json_name(json, process_counters[i].name);
		json_open(json, '{');
		json_put_text(json, "description", process_counters[i].many);
		json_put_text(json, "type", "integer");
		json_put_u64(json, "minimum", 0);
		json_close(json, '}');
	}
	json_close(json, '}');
}

/* Who a process is: items, and in an object of their own the variables of its environment. */
static void put_identity_items(struct json *json, bool variables)
{
	unsigned int item;

	json_open(json, '{');
	for (item = 0; item < IDENTITY_ITEMS; item++) {
		const struct identity_row *row = &identity_rows[item];

		if ((row->kind == IDENTITY_VARIABLE) != variables)
			continue;
		json_name(json, row->name);
		json_open(json, '{');
		if (row->description[0])
			json_put_text(json, "description", row->description);
		put_type(json, row->kind == IDENTITY_NUMBER ? FIELD_COUNT : FIELD_TEXT, false);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void put_identity(struct json *json)
{
	json_name(json, "identity");
	put_identity_items(json, false);
	json_name(json, "environment");
	put_identity_items(json, true);
}

static void put_oom_names(struct json *json)
{
	int i;

	json_name(json, "oom_causes");
	json_open(json, '[');
	for (i = 0; i < OOM_CAUSES_COUNT; i++)
		json_text(json, analysis_oom_cause_name(i), strlen(analysis_oom_cause_name(i)));
	json_close(json, ']');
	json_name(json, "oom_outcomes");
	json_open(json, '[');
	for (i = 0; i < OOM_OUTCOMES_COUNT; i++)
		json_text(json, oom_outcome_name(i), strlen(oom_outcome_name(i)));
	json_close(json, ']');
	json_name(json, "oom_remedies");
	json_open(json, '[');
	for (i = 0; i < OOM_REMEDIES_COUNT; i++)
		json_text(json, analysis_oom_remedy_name(i), strlen(analysis_oom_remedy_name(i)));
	json_close(json, ']');
}

/* What tables have: docs/NAME.schema.in.json has the rest, and the Makefile puts them together. */
static void put_schema(void)
{
	struct string out = { 0 };
	struct json json = { .out = &out };
	unsigned int op, space, object, rule;
	size_t record;

	json_open(&json, '{');
	json_name(&json, "calls");
	json_open(&json, '[');
	for (op = 0; op < MS_OPS_COUNT; op++)
		if (op != MS_OP_NAME)
			put_call(&json, op, false);
	for (op = 0; op < MS_OPS_COUNT; op++)
		if (is_counted(op))
			put_call(&json, op, true);
	json_close(&json, ']');
	json_name(&json, "records");
	json_open(&json, '[');
	for (record = 0; record < record_titles_count; record++)
		put_record(&json, &record_titles[record]);
	json_close(&json, ']');
	json_name(&json, "spaces");
	json_open(&json, '[');
	for (space = MS_SPACE_NONE + 1; space < MS_SPACES_COUNT; space++)
		json_text(&json, probe_space_name(space), strlen(probe_space_name(space)));
	json_close(&json, ']');
	json_name(&json, "objects");
	json_open(&json, '[');
	for (object = MS_OBJECT_NONE + 1; object < MS_OBJECTS_COUNT; object++)
		json_text(&json, objects_name(object), strlen(objects_name(object)));
	json_close(&json, ']');
	json_name(&json, "rules");
	json_open(&json, '[');
	for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
		json_text(&json, finding_rule_name(rule), strlen(finding_rule_name(rule)));
	json_close(&json, ']');
	put_oom_names(&json);
	put_identity(&json);
	put_counters(&json, false);
	put_counters(&json, true);
	json_close(&json, '}');
	printf("%.*s\n", (int)out.length, out.bytes);
	string_fini(&out);
}

/* ---------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const struct command *command = argc > 2 ? command_find(argv[2]) : NULL;

	if (!strcmp(what, "man") && argc == 2)
		put_main_page();
	else if (!strcmp(what, "man") && command)
		put_command_page(command);
	else if (!strcmp(what, "completion"))
		put_completion();
	else if (!strcmp(what, "schema"))
		put_schema();
	else
		return fprintf(stderr, "usage: mkdocs man [COMMAND] | completion | schema\n"), 2;
	return 0;
}
