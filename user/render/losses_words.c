// SPDX-License-Identifier: BSD-2-Clause
#include "render/losses_words.h"

void losses_append_amount(struct string *out, const struct losses *losses)
{
	string_append_count(out, losses->calls, "event", "events");
	if (!losses->others)
		return;
	string_append_text(out, " and ");
	string_append_count(out, losses->others, "other record", "other records");
}

static void append_overrun(struct string *out, const struct losses *losses, const char *fewer)
{
	string_append_text(out, "a ring buffer was full; a larger --buffer");
	if (fewer && losses->bulk > losses->untracked)
		string_append_format(out, ", or %s,", fewer);
	string_append_text(out, " would help");
}

void losses_append_reasons(struct string *out, const struct losses *losses, const char *fewer)
{
	const bool overran = losses_count(losses) > losses->untracked;
	char number[STRING_NUMBER_BYTES];

	if (overran)
		append_overrun(out, losses, fewer);
	if (losses->untracked)
		string_append_format(
			out,
			"%s%s of the lost events %s not tracked: more than %d traced calls inside"
			" one another, or no kernel memory for the thread",
			overran ? "; " : "", string_count(number, losses->untracked),
			losses->untracked == 1 ? "was" : "were", MS_DEPTH);
}
