// SPDX-License-Identifier: BSD-2-Clause
#include "render/process_cells.h"

#include "render/identity_words.h"

struct string *process_cells_next_remark(struct string *out)
{
	string_append_text(out, out->length ? ", " : "");
	return out;
}

void process_cells_remark(struct string *out, bool applies, const char *text)
{
	if (applies)
		string_append_text(process_cells_next_remark(out), text);
}

static void add_part(struct string *out,
		     void (*append)(struct string *out, const struct identity *identity),
		     const struct identity *identity)
{
	struct string part = { 0 };

	append(&part, identity);
	if (part.length)
		string_append(process_cells_next_remark(out), part.bytes, part.length);
	out->failed |= part.failed;
	string_fini(&part);
}

void process_cells_identity(struct string *out, uint32_t pid, const struct identity *identity)
{
	uint32_t ns_pid;

	add_part(out, identity_words_container, identity);
	if (identity_number(identity, IDENTITY_NS_PID, &ns_pid) && ns_pid && ns_pid != pid)
		string_append_format(process_cells_next_remark(out), "pid %u in its namespace",
				     ns_pid);
	add_part(out, identity_words_pod, identity);
	add_part(out, identity_words_variables, identity);
}
