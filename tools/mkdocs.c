// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes what documents the program and is made from its tables: man pages and what the shell
 * completes from the option rows, the JSON Schema of events from the output fields.
 *
 * usage: mkdocs man [COMMAND] | completion | schema
 */
#include "mkdocs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "capture/attach/features.h"
#include "commands/command.h"
#include "commands/options.h"

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
		printf(option_may_lack_value(row) ? "\\fI" : "=\\fI");
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
			if (!row->argument || option_may_lack_value(row))
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
		mkdocs_put_schema();
	else
		return fprintf(stderr, "usage: mkdocs man [COMMAND] | completion | schema\n"), 2;
	return 0;
}
