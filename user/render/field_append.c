// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is put together of several values, or of text that is not trusted.
 */
#include "render/field.h"

void field_append_amounts(struct string *out, const struct amount amounts[MS_SPACES_COUNT],
			  const char *before, bool exact)
{
	char size[STRING_NUMBER_BYTES];
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++) {
		const struct amount *amount = &amounts[space];

		if (!amount->count)
			continue;
		string_append_format(out, "%s%llu %s (%s)", before,
				     (unsigned long long)amount->count, probe_space_name(space),
				     exact ? string_count(size, amount->bytes) :
					     string_size(size, amount->bytes));
		before = ", ";
	}
}

void field_append_safe(struct string *out, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		unsigned char c = text[i];

		if (c >= 0x20 && c < 0x7f && c != '\\')
			string_append_char(out, c);
		else
			string_append_format(out, "\\x%02x", c);
	}
}

void field_append_split(struct string *out, const struct ms_split_call *split)
{
	const uint64_t runnable_ns = split->runnable_ns, blocked_ns = split->blocked_ns;
	char ran[STRING_NUMBER_BYTES], runnable[STRING_NUMBER_BYTES], blocked[STRING_NUMBER_BYTES];

	string_append_format(out, "ran %s",
			     string_duration(ran,
					     split->call.duration_ns - runnable_ns - blocked_ns));
	if (runnable_ns)
		string_append_format(out, ", waited %s for a CPU",
				     string_duration(runnable, runnable_ns));
	if (blocked_ns)
		string_append_format(out, ", was blocked %s", string_duration(blocked, blocked_ns));
}
