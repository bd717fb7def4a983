// SPDX-License-Identifier: BSD-2-Clause
#include "commands/report_format.h"

#include <stddef.h>

#include "commands/output_format.h"
#include "commands/terminal.h"

static const struct {
	const char *name, *endings;
} formats[REPORT_FORMATS_END] = {
#define X(format, name, endings) [REPORT_FORMAT_##format] = { name, endings },
	REPORT_FORMATS(X, )
#undef X
};

static int set(const struct option_row *row, void *settings, enum report_format format)
{
	*(enum report_format *)((char *)settings + row->offset) = format;
	return 0;
}

int report_format_parse(const struct option_row *row, const char *value, void *settings)
{
	int which = option_which(row, value);

	if (which < 0)
		return which;
	return set(row, settings, (enum report_format)(REPORT_FORMAT_BY_OUTPUT + 1 + which));
}

int report_format_parse_json(const struct option_row *row, const char *value, void *settings)
{
	(void)value;
	return set(row, settings, REPORT_FORMAT_JSON);
}

enum report_format report_format_choose(enum report_format asked, const char *output)
{
	enum report_format format;

	if (output_format_refuse_kubectl(output))
		return REPORT_FORMAT_BY_OUTPUT;
	for (format = REPORT_FORMAT_BY_OUTPUT + 1; format < REPORT_FORMATS_END; format++)
		if (output_format_refuse_name(output, formats[format].name))
			return REPORT_FORMAT_BY_OUTPUT;
	if (asked != REPORT_FORMAT_BY_OUTPUT)
		return asked;
	for (format = REPORT_FORMAT_BY_OUTPUT + 1; format < REPORT_FORMATS_END; format++)
		if (output_format_ends_in(output, formats[format].endings))
			return format;
	if (terminal_is_output(output))
		return REPORT_FORMAT_TEXT;
	output_format_say_markdown(output);
	return REPORT_FORMAT_MD;
}
