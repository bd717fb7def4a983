// SPDX-License-Identifier: BSD-2-Clause
#include "output/losses_words.h"

static void append_count(struct string *out, uint64_t count, const char *what)
{
	char number[STRING_NUMBER_BYTES];

	string_append_format(out, "%s %s%s", string_count(number, count), what,
			     count == 1 ? "" : "s");
}

void losses_append_amount(struct string *out, const struct losses *losses)
{
	append_count(out, losses->calls, "event");
	if (!losses->others)
		return;
	string_append_text(out, " and ");
	append_count(out, losses->others, "other record");
}

void losses_append_untracked(struct string *out, uint64_t untracked)
{
	char number[STRING_NUMBER_BYTES];

	string_append_format(
		out,
		"%s of them %s not followed: more than %d traced calls inside one another, or no"
		" kernel memory for the thread; a larger --buffer does not help",
		string_count(number, untracked), untracked == 1 ? "was" : "were", MS_DEPTH);
}
