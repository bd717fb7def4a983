// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/marker_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/probe.h"

/* ---- NVTX ------------------------------------------------------------------------------------ */

#define NAME_AT(where, argument) .name = MS_MARKER_NAME_##where, .name_arg = (argument)
#define IN_DOMAIN(argument) .domain_arg = (argument)
#define ENDS(argument) .id = MS_MARKER_ID_ARGUMENT, .id_arg = (argument)

/*
 * As nvToolsExt.h declares them, of versions 2 and 3. A range's number is what its start returns;
 * the name has to be read before that, so each start has two rows.
 */
static const struct {
	const char *function;
	struct ms_marker_row row;
} nvtx[] = {
#define NVTX(symbol, is, ...) \
	{ \
		symbol, \
		{ \
			.action = MS_MARKER_##is, __VA_ARGS__ \
		} \
	}
#define OUTSIDE .domain_arg = MS_PLACE_NONE
	NVTX("nvtxRangePushA", PUSH, OUTSIDE, NAME_AT(STRING, 0)),
	NVTX("nvtxRangePushW", PUSH, OUTSIDE, NAME_AT(WIDE, 0)),
	NVTX("nvtxRangePushEx", PUSH, OUTSIDE, NAME_AT(ATTRIBUTES, 0)),
	NVTX("nvtxDomainRangePushEx", PUSH, IN_DOMAIN(0), NAME_AT(ATTRIBUTES, 1)),
	NVTX("nvtxRangePop", POP, OUTSIDE),
	NVTX("nvtxDomainRangePop", POP, IN_DOMAIN(0)),
	NVTX("nvtxRangeStartA", START, OUTSIDE, NAME_AT(STRING, 0)),
	NVTX("nvtxRangeStartW", START, OUTSIDE, NAME_AT(WIDE, 0)),
	NVTX("nvtxRangeStartEx", START, OUTSIDE, NAME_AT(ATTRIBUTES, 0)),
	NVTX("nvtxDomainRangeStartEx", START, IN_DOMAIN(0), NAME_AT(ATTRIBUTES, 1)),
	NVTX("nvtxRangeStartA", STARTED, OUTSIDE, .id = MS_MARKER_ID_RESULT),
	NVTX("nvtxRangeStartW", STARTED, OUTSIDE, .id = MS_MARKER_ID_RESULT),
	NVTX("nvtxRangeStartEx", STARTED, OUTSIDE, .id = MS_MARKER_ID_RESULT),
	NVTX("nvtxDomainRangeStartEx", STARTED, OUTSIDE, .id = MS_MARKER_ID_RESULT),
	NVTX("nvtxRangeEnd", END, OUTSIDE, ENDS(0)),
	NVTX("nvtxDomainRangeEnd", END, IN_DOMAIN(0), ENDS(1)),
	NVTX("nvtxMarkA", INSTANT, OUTSIDE, NAME_AT(STRING, 0)),
	NVTX("nvtxMarkW", INSTANT, OUTSIDE, NAME_AT(WIDE, 0)),
	NVTX("nvtxMarkEx", INSTANT, OUTSIDE, NAME_AT(ATTRIBUTES, 0)),
	NVTX("nvtxDomainMarkEx", INSTANT, IN_DOMAIN(0), NAME_AT(ATTRIBUTES, 1)),
#undef OUTSIDE
#undef NVTX
};

#define NVTX_COUNT (sizeof(nvtx) / sizeof(*nvtx))

_Static_assert(NVTX_COUNT < MS_MARKER_ROWS / 2, "there is room for the user's");

int marker_rows_add_nvtx(struct marker_rows *rows, bool injected)
{
	size_t i;

	if (rows->nvtx)
		return 0;
	if (rows->count + NVTX_COUNT + 1 > MS_MARKER_ROW_COMMAND)
		return -ENOSPC;
	rows->nvtx = true;
	for (i = 0; i < NVTX_COUNT; i++) {
		struct marker_row *row = &rows->rows[rows->count++];

		*row = (struct marker_row){
			.kernel = nvtx[i].row,
			.library = injected ? strdup("libnvToolsExt") : NULL,
			.function = nvtx[i].function,
			.on_return = nvtx[i].row.action == MS_MARKER_STARTED,
		};
		if (injected && !row->library)
			return -ENOMEM;
	}
	if (injected)
		rows->rows[rows->count++] = (struct marker_row){
			.kernel = { .source = MS_MARKER_BY_INJECTED,
				    NAME_AT(STRING, 2),
				    IN_DOMAIN(1),
				    ENDS(3) },
		};
	return 0;
}

int marker_rows_injected(const struct marker_rows *rows)
{
	size_t i;

	for (i = 0; i < rows->count; i++)
		if (rows->rows[i].kernel.source == MS_MARKER_BY_INJECTED)
			return (int)i;
	return -1;
}

const struct ms_marker_row marker_row_command = { .source = MS_MARKER_BY_COMMAND,
						  NAME_AT(STRING, 2),
						  IN_DOMAIN(1) };

/* ---- the user's ------------------------------------------------------------------------------ */

/* A name that is too long for the row is cut, and does not end in the middle of a letter. */
static void set_name(struct ms_marker_row *row, const char *name)
{
	size_t length = strnlen(name, sizeof(row->fixed) - 1);

	while (name[length] && length && (name[length] & 0xc0) == 0x80)
		length--;
	memcpy(row->fixed, name, length);
	row->fixed[length] = '\0';
	row->length = length + 1;
	row->name = MS_MARKER_NAME_FIXED;
}

/* `text` is "LIBRARY:FUNCTION", with its colon at `colon`. The row has a copy of it. */
static int add_row(struct marker_rows *rows, const struct ms_marker_row *kernel, const char *text,
		   size_t colon, bool on_return)
{
	struct marker_row *row = &rows->rows[rows->count];
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	copy[colon] = '\0';
	*row = (struct marker_row){ .kernel = *kernel,
				    .library = copy,
				    .function = copy + colon + 1,
				    .on_return = on_return };
	rows->count++;
	return 0;
}

int marker_rows_add_function(struct marker_rows *rows, const char *text)
{
	const size_t colon = strcspn(text, ":");
	struct ms_marker_row row = { .action = MS_MARKER_PUSH,
				     .source = MS_MARKER_BY_FUNCTION,
				     .domain_arg = MS_PLACE_NONE };
	int err;

	if (!colon || !text[colon] || !text[colon + 1])
		return -EINVAL;
	if (probe_find(text + colon + 1) >= 0)
		return -EEXIST;
	if (rows->count + 2 > MS_MARKER_ROW_COMMAND)
		return -ENOSPC;
	set_name(&row, text + colon + 1);
	err = add_row(rows, &row, text, colon, false);
	if (err)
		return err;
	row.action = MS_MARKER_POP;
	row.name = MS_MARKER_NAME_NONE;
	return add_row(rows, &row, text, colon, true);
}

/* One probe, `name` of so many bytes, of a text that begins with "LIBRARY:PROVIDER:". */
static int add_probe(struct marker_rows *rows, const struct ms_marker_row *kernel, const char *text,
		     const char *name, size_t length)
{
	const size_t library = strcspn(text, ":"), head = name - text;
	struct marker_row *row = &rows->rows[rows->count];
	char *copy = malloc(head + length + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, head);
	memcpy(copy + head, name, length);
	copy[head + length] = '\0';
	copy[library] = '\0';
	copy[library + 1 + strcspn(copy + library + 1, ":")] = '\0';
	*row = (struct marker_row){ .kernel = *kernel,
				    .library = copy,
				    .function = copy + head,
				    .provider = copy + library + 1 };
	rows->count++;
	return 0;
}

int marker_rows_add_probe(struct marker_rows *rows, const char *text)
{
	struct ms_marker_row row = { .action = MS_MARKER_INSTANT,
				     .source = MS_MARKER_BY_USDT,
				     .domain_arg = MS_PLACE_NONE };
	const char *library, *name = NULL, *comma;
	int err;

	if (strncmp(text, "usdt:", 5) != 0)
		return -EINVAL;
	library = text + 5;
	if (*library && *library != ':')
		name = strchr(library, ':');
	if (!name || name[1] == ':' || !strchr(name + 1, ':'))
		return -EINVAL;
	set_name(&row, name + 1); /* PROVIDER:NAME */
	name = strchr(name + 1, ':') + 1;
	comma = strchr(name, ',');
	if (!*name || comma == name || (comma && !comma[1]))
		return -EINVAL;
	if (rows->count + 2 > MS_MARKER_ROW_COMMAND)
		return -ENOSPC;
	if (!comma)
		return add_probe(rows, &row, library, name, strlen(name));
	row.action = MS_MARKER_PUSH;
	err = add_probe(rows, &row, library, name, comma - name);
	if (err)
		return err;
	row.action = MS_MARKER_POP;
	row.name = MS_MARKER_NAME_NONE;
	return add_probe(rows, &row, library, comma + 1, strlen(comma + 1));
}

void marker_rows_fini(struct marker_rows *rows)
{
	while (rows->count)
		free(rows->rows[--rows->count].library);
	rows->nvtx = false;
}

/* ---- which file ------------------------------------------------------------------------------ */

static bool is_library(const char *wanted, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t length = strlen(wanted);

	if (strchr(wanted, '/'))
		return !strcmp(wanted, path);
	return !strncmp(name, wanted, length) && (!name[length] || name[length] == '.');
}

bool marker_row_is_of(const struct marker_row *row, const char *path, const char *function)
{
	return row->function && !row->provider && !strcmp(row->function, function) &&
	       (!row->library || is_library(row->library, path));
}

bool marker_row_is_probe(const struct marker_row *row, const char *path, const char *provider,
			 const char *name)
{
	return row->provider && !strcmp(row->provider, provider) && !strcmp(row->function, name) &&
	       is_library(row->library, path);
}

bool marker_rows_have_probes(const struct marker_rows *rows, const char *path)
{
	size_t i;

	for (i = 0; i < rows->count; i++)
		if (rows->rows[i].provider && is_library(rows->rows[i].library, path))
			return true;
	return false;
}
