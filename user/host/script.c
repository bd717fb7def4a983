// SPDX-License-Identifier: BSD-2-Clause
#include "host/script.h"

#include <stdio.h>
#include <string.h>

/*
 * How an interpreter reads its options. Letters stand for single options behind one "-", several of
 * which can stand together; words are whole arguments.
 */
struct interpreter {
	const char *names;    /* of executable files; a version number may follow each */
	const char *code;     /* letters: code follows, or is the next argument */
	const char *module;   /* letters: a module's name follows, or is the next argument */
	const char *values;   /* letters: a value follows, or is the next argument */
	const char *attached; /* letters: the rest of the argument, if any, is their value */
	const char *words;    /* which have the next argument for their value */
	const char *code_words;
	const char *module_words; /* the next argument is what is interpreted, or a module */
	bool whole;               /* all options are words, also behind one "-" */
};

#define SHELL_WORDS " --rcfile --init-file "
#define NODE_WORDS \
	" -r --require --import --loader --experimental-loader -C --conditions --env-file" \
	" --input-type --inspect-port --title --icu-data-dir --openssl-config "
#define JAVA_WORDS \
	" -cp -classpath --class-path -p --module-path --upgrade-module-path --add-modules" \
	" --enable-native-access --add-reads --add-exports --add-opens --limit-modules" \
	" --patch-module --source -d --describe-module "

/* clang-format off */
static const struct interpreter interpreters[] = {
	{ .names = " python pypy ", .code = "c", .module = "m", .values = "WX",
	  .words = " --check-hash-based-pycs ", .code_words = "", .module_words = "" },
	{ .names = " perl ", .code = "eE", .module = "", .values = "I", .attached = "MmFxDCiV",
	  .words = "", .code_words = "", .module_words = "" },
	{ .names = " ruby ", .code = "e", .module = "", .values = "IrCE", .attached = "FiKx",
	  .words = " --encoding --external-encoding --internal-encoding ", .code_words = "",
	  .module_words = "" },
	{ .names = " bash sh dash ash zsh ksh ", .code = "c", .module = "", .values = "oO",
	  .words = SHELL_WORDS, .code_words = "", .module_words = "" },
	{ .names = " node nodejs ", .whole = true, .words = NODE_WORDS,
	  .code_words = " -e --eval -p --print -pe ", .module_words = "" },
	{ .names = " java ", .whole = true, .words = JAVA_WORDS, .code_words = "",
	  .module_words = " -jar -m --module " },
};
/* clang-format on */

#define INTERPRETERS (sizeof(interpreters) / sizeof(*interpreters))

/* Whether `list`, words with a space before and after each, has the word. */
static bool has_word(const char *list, const char *word, size_t length)
{
	const char *found = list;

	if (!length)
		return false;
	while (*(found = found + strspn(found, " "))) {
		size_t word_length = strcspn(found, " ");

		if (word_length == length && !memcmp(found, word, length))
			return true;
		found += word_length;
	}
	return false;
}

/* Without what says that the file has been deleted meanwhile: proc_pid_exe(5). */
static size_t path_length(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), end = sizeof(deleted) - 1;

	return length > end && !strcmp(path + length - end, deleted) ? length - end : length;
}

/* "python3.13t" is a python: what may follow the name are versions and kinds of builds. */
static const struct interpreter *find(const char *program)
{
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
	size_t length = path_length(name), letters, i;

	for (letters = 0; letters < length && name[letters] >= 'a' && name[letters] <= 'z';)
		letters++;
	if (strspn(name + letters, "0123456789.tdm") < length - letters)
		return NULL;
	for (i = 0; i < INTERPRETERS; i++)
		if (has_word(interpreters[i].names, name, letters))
			return &interpreters[i];
	return NULL;
}

/* ---- arguments ------------------------------------------------------------------------------- */

struct arguments {
	const char *next, *end;
};

/* Returns the length of the next one, or -1. */
static ptrdiff_t take(struct arguments *arguments, const char **argument)
{
	size_t rest = (size_t)(arguments->end - arguments->next), length;

	if (!rest)
		return -1;
	*argument = arguments->next;
	length = strnlen(arguments->next, rest);
	arguments->next += length < rest ? length + 1 : length;
	return (ptrdiff_t)length;
}

/* `before` is what stands in front of the text; of a long one, the end is kept. */
static bool set(char *script, size_t bytes, const char *before, const char *text, size_t length)
{
	size_t room = bytes - 1 - strlen(before);

	if (length > room) {
		text += length - room;
		length = room;
	}
	snprintf(script, bytes, "%s%.*s", before, (int)length, text);
	return true;
}

static bool set_next(struct arguments *arguments, char *script, size_t bytes, const char *before)
{
	const char *argument;
	ptrdiff_t length = take(arguments, &argument);

	return length >= 0 && set(script, bytes, before, argument, (size_t)length);
}

enum option { OPTION_OVER, OPTION_FOUND, OPTION_NEXT };

/* Letters behind one "-". */
static enum option read_letters(const struct interpreter *interpreter, const char *letters,
				size_t count, struct arguments *arguments, char *script,
				size_t bytes)
{
	const char *attached = interpreter->attached ? interpreter->attached : "", *skipped;
	char option[4] = "-";
	size_t i;

	for (i = 0; i < count; i++) {
		const char letter = letters[i];
		const bool last = i + 1 == count;

		if (strchr(interpreter->code, letter)) {
			option[1] = letter;
			return set(script, bytes, option, "", 0) ? OPTION_FOUND : OPTION_OVER;
		}
		if (strchr(interpreter->module, letter)) {
			snprintf(option, sizeof(option), "-%c ", letter);
			if (!last)
				set(script, bytes, option, letters + i + 1, count - i - 1);
			else if (!set_next(arguments, script, bytes, option))
				return OPTION_OVER;
			return OPTION_FOUND;
		}
		if (strchr(interpreter->values, letter)) {
			if (last && take(arguments, &skipped) < 0)
				return OPTION_OVER;
			return OPTION_NEXT;
		}
		if (strchr(attached, letter))
			return OPTION_NEXT;
	}
	return OPTION_NEXT;
}

/* An option that is a word. */
static enum option read_word(const struct interpreter *interpreter, const char *word, size_t length,
			     struct arguments *arguments, char *script, size_t bytes)
{
	const char *skipped, *equals = memchr(word, '=', length);
	const size_t name = equals ? (size_t)(equals - word) : length;

	if (has_word(interpreter->code_words, word, name)) {
		set(script, bytes, "", word, name);
		return OPTION_FOUND;
	}
	if (has_word(interpreter->module_words, word, name)) {
		const bool is_module = length < 4 || memcmp(word, "-jar", 4) != 0;
		const char *before = is_module ? "-m " : "";

		if (equals)
			set(script, bytes, before, equals + 1, length - name - 1);
		else if (!set_next(arguments, script, bytes, before))
			return OPTION_OVER;
		return OPTION_FOUND;
	}
	if (!equals && has_word(interpreter->words, word, length) && take(arguments, &skipped) < 0)
		return OPTION_OVER;
	return OPTION_NEXT;
}

bool script_find(const char *program, const char *arguments, size_t bytes, char *script,
		 size_t script_bytes)
{
	struct arguments rest = { arguments, arguments + bytes };
	const struct interpreter *interpreter = find(program);
	enum option option = OPTION_NEXT;
	const char *argument;
	ptrdiff_t length;

	script[0] = '\0';
	if (!interpreter || take(&rest, &argument) < 0)
		return false;
	while (option == OPTION_NEXT && (length = take(&rest, &argument)) > 0) {
		const size_t count = (size_t)length;

		if (argument[0] != '-' || count == 1)
			return set(script, script_bytes, "", argument, count);
		if (count == 2 && argument[1] == '-')
			return set_next(&rest, script, script_bytes, "");
		if (argument[1] == '-' || interpreter->whole)
			option = read_word(interpreter, argument, count, &rest, script,
					   script_bytes);
		else
			option = read_letters(interpreter, argument + 1, count - 1, &rest, script,
					      script_bytes);
	}
	return option == OPTION_FOUND;
}

bool script_is_worker(const char *arguments, size_t bytes)
{
	static const char *const codes[] = { "from multiprocessing.spawn import spawn_main;",
					     "from multiprocessing.forkserver import main;" };
	struct arguments rest = { arguments, arguments + bytes };
	const char *argument;
	bool is_code = false;
	ptrdiff_t length;
	size_t i;

	while ((length = take(&rest, &argument)) >= 0) {
		for (i = 0; is_code && i < sizeof(codes) / sizeof(*codes); i++)
			if ((size_t)length > strlen(codes[i]) &&
			    !memcmp(argument, codes[i], strlen(codes[i])))
				return true;
		is_code = length == 2 && !memcmp(argument, "-c", 2);
	}
	return false;
}
