// SPDX-License-Identifier: BSD-2-Clause
#include "commands/output_format.h"

#include <string.h>

#include "base/log.h"

bool output_format_ends_in(const char *output, const char *endings)
{
	const size_t length = output ? strlen(output) : 0;

	for (; endings && *endings; endings += strspn(endings, " ")) {
		const size_t ending = strcspn(endings, " ");

		if (length > ending && !strncmp(output + length - ending, endings, ending))
			return true;
		endings += ending;
	}
	return false;
}

bool output_format_refuse_kubectl(const char *output)
{
	static const char *const formats[] = { "yaml", "wide", "name", "custom-columns" };
	size_t i;

	for (i = 0; output && i < sizeof(formats) / sizeof(*formats); i++) {
		if (strcmp(output, formats[i]) != 0)
			continue;
		log_error("-o names a file, and there is no format %s: write --format json, and"
			  " choose with jq; for a file of that name, -o ./%s",
			  output, output);
		return true;
	}
	return false;
}

bool output_format_refuse_name(const char *output, const char *format)
{
	if (!output || strcmp(output, format) != 0)
		return false;
	log_error("-o names a file: for the format write --format %s; for a file of that name,"
		  " -o ./%s",
		  format, format);
	return true;
}

void output_format_say_markdown(const char *output)
{
	const char *slash = output ? strrchr(output, '/') : NULL;
	const char *dot = output ? strrchr(slash ? slash + 1 : output, '.') : NULL;

	if (dot && dot[1] && !output_format_ends_in(output, ".out .log .tmp"))
		log_info("%s: written as Markdown; --format chooses another format", output);
}

void output_format_say_recording(const char *output)
{
	static const struct {
		const char *endings, *command;
	} makers[] = {
		{ ".json", "report -f json" },
		{ ".html .htm", "report -f html" },
		{ ".md .txt", "report" },
		{ ".csv", "export -f csv" },
		{ ".ndjson .jsonl", "export -f ndjson" },
		{ ".sqlite .db", "export -f sqlite" },
	};
	size_t i;

	for (i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (output_format_ends_in(output, makers[i].endings))
			log_info("%s will be a recording, whatever its name says: `memscope-bpf %s"
				 " %s` writes what the name says",
				 output, makers[i].command, output);
}
