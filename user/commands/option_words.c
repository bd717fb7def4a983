// SPDX-License-Identifier: BSD-2-Clause
/*
 * Options whose value is one of some words, and what is answered to another one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/string.h"
#include "commands/options.h"
#include "commands/spellings.h"

/* Whether the value is the word, or, if that is "name=SIZE", such an assignment. */
static bool is_word(const char *word, const char *value)
{
	const size_t length = strcspn(word, "|,=");

	return strcspn(value, "=") == length && !strncasecmp(word, value, length) &&
	       (word[length] == '=') == (value[length] == '=');
}

/* "pods" for pod; or a word that other programs have. Returns whether that is it, logged. */
static bool is_another_word(const struct option_row *row, const char *value)
{
	const struct spelling_of_value *other = spelling_of_value(row->name, value, row->argument);
	const char *word;
	const size_t length = strlen(value);

	if (other) {
		log_error("--%s: %s", row->name, other->text);
		return true;
	}
	for (word = row->argument; *word; word += word[strcspn(word, "|,")] != '\0') {
		const size_t own = strcspn(word, "|,=");

		if (length == own + 1 && value[own] == 's' && !strncmp(word, value, own)) {
			log_error("--%s: \"%s\": did you mean %.*s?", row->name, value, (int)own,
				  word);
			return true;
		}
		word += strcspn(word, "|,");
	}
	return false;
}

/* "user,container" */
static bool is_list_of_words(const struct option_row *row, const char *value)
{
	const size_t length = strcspn(value, ",");
	const char *word;

	for (word = row->argument; value[length] && *word;
	     word += word[strcspn(word, "|")] != '\0') {
		if (strcspn(word, "|") == length && !strncmp(word, value, length))
			return true;
		word += strcspn(word, "|");
	}
	return false;
}

#define KNOWN 16 /* words of an option; of more, the last ones may be meant */

int option_which(const struct option_row *row, const char *value)
{
	char known[KNOWN][32];
	struct nearest nearest = { .word = value };
	struct string words = { 0 };
	const char *word = row->argument, *rest;
	const struct spelling_of_value *other = spelling_of_value(row->name, value, word);
	int which;

	if (other && other->is_same) {
		log_info("--%s %s: %s", row->name, value, other->text);
		value = other->needs;
	}
	for (which = 0; *word; which++) {
		const size_t length = strcspn(word, "|,");

		if (is_word(word, value)) {
			string_fini(&words);
			return which;
		}
		string_append(&words, word, length);
		/* Words of options are short. */
		snprintf(known[which % KNOWN], sizeof(*known), "%.*s", (int)length, word);
		nearest_offer(&nearest, known[which % KNOWN]);
		word += length + (word[length] != '\0');
		rest = word + strcspn(word, "|,");
		string_append_text(&words, !*word ? "" : *rest ? ", " : " or ");
	}
	if (is_list_of_words(row, value))
		log_error("--%s: \"%s\": only one of them can be given", row->name, value);
	else if (!is_another_word(row, value))
		log_error("--%s: \"%s\" is not one of %.*s%s%s%s", row->name, value,
			  (int)words.length, words.length ? words.bytes : "",
			  nearest.found ? "; did you mean " : "",
			  nearest.found ? nearest.found : "", nearest.found ? "?" : "");
	string_fini(&words);
	return -EINVAL;
}
