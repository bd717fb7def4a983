// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_xids.h"

#include <string.h>

#include "render/field.h"
#include "render/report_words.h"

/*
 * What the numbers mean, in a few words: NVIDIA's "XID Errors", of GPU deployment and management.
 * Numbers that are not here are shown without.
 */
static const char *meaning_of(uint32_t xid)
{
	static const struct {
		uint32_t xid;
		const char *text;
	} meanings[] = {
		{ 13, "exception of the graphics engine" },
		{ 31, "page fault: a kernel or copy used a bad address" },
		{ 32, "invalid push buffer" },
		{ 43, "the GPU stopped processing a program's work" },
		{ 45, "a program's work was removed after an error" },
		{ 48, "double-bit ECC error" },
		{ 61, "warning of the internal controller" },
		{ 62, "the internal controller halted" },
		{ 63, "memory was remapped or retired after ECC errors" },
		{ 64, "remapping or retiring memory failed" },
		{ 68, "exception of the video decoder" },
		{ 69, "class error of the graphics engine" },
		{ 74, "NVLink error" },
		{ 79, "the GPU has fallen off the bus" },
		{ 92, "many single-bit ECC errors" },
		{ 94, "contained ECC error" },
		{ 95, "uncontained ECC error" },
		{ 109, "timeout of a context switch" },
		{ 119, "timeout of the GPU's system processor (GSP)" },
		{ 120, "error of the GPU's system processor (GSP)" },
		{ 140, "unrecovered ECC error" },
	};
	size_t i;

	for (i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
		if (meanings[i].xid == xid)
			return meanings[i].text;
	return NULL;
}

static size_t kept(const struct host_account *host)
{
	return host->xids_count < HOST_XIDS ? host->xids_count : HOST_XIDS;
}

static const char *name_of(const struct report_recording *recording, const struct ms_xid *xid)
{
	size_t i;

	for (i = 0; xid->process && i < recording->processes_count; i++)
		if (recording->processes[i].process->pid == xid->process)
			return recording->processes[i].process->name;
	return NULL;
}

static void list(struct document *document, const struct report_recording *recording,
		 const struct ms_xid *xid)
{
	const char *meaning = meaning_of(xid->xid), *name = name_of(recording, xid);

	if (!document_row(document))
		return;
	document_cell_time(document, recording, xid->event.ts_ns);
	field_append_safe(&document->text, xid->bdf, strlen(xid->bdf));
	document_cell(document);
	document_cell_count(document, true, xid->xid);
	document_cell_text(document, meaning ? meaning : "");
	if (name)
		report_append_process(&document->text, xid->process, name);
	else if (xid->process)
		string_append_format(&document->text, "%u", xid->process);
	document_cell(document);
	field_append_safe(&document->text, xid->text, strlen(xid->text));
	document_cell(document);
	document_row_end(document);
}

void report_xids(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "At", DOCUMENT_VALUE },
		{ "Device", DOCUMENT_TEXT },
		{ "Xid", DOCUMENT_NUMBER },
		{ "Meaning", DOCUMENT_TEXT },
		{ "Process", DOCUMENT_TEXT },
		{ "The driver's words", DOCUMENT_TEXT },
		{ 0 },
	};
	const struct host_account *host = &recording->state->host;
	size_t i;

	document_table(document, "xids", "Errors of devices that NVIDIA's driver reported (Xid)",
		       columns);
	for (i = 0; i < kept(host); i++)
		list(document, recording, &host->xids[i]);
	document_table_end(document);
	if (host->xids_count > HOST_XIDS) {
		string_append_format(&document->text, "%llu more were reported later.",
				     (unsigned long long)(host->xids_count - HOST_XIDS));
		document_paragraph(document);
	}
}

void report_xids_json(struct json *json, const struct report_recording *recording)
{
	const struct host_account *host = &recording->state->host;
	size_t i;

	json_put_u64(json, "xids_count", host->xids_count);
	json_name(json, "xids");
	json_open(json, '[');
	for (i = 0; i < kept(host); i++) {
		const struct ms_xid *xid = &host->xids[i];

		json_open(json, '{');
		json_put_u64(json, "ts_ns", xid->event.ts_ns);
		json_put_u64(json, "xid", xid->xid);
		json_put_text(json, "bdf", xid->bdf);
		json_put_text(json, "meaning", meaning_of(xid->xid));
		json_put_if(json, "pid", xid->process, xid->process);
		json_put_text(json, "text", xid->text);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void report_xids_append(struct string *out, const struct report_recording *recording)
{
	const struct host_account *host = &recording->state->host;
	const struct ms_xid *xid = host->xids;
	const char *meaning;

	if (!host->xids_count)
		return;
	meaning = meaning_of(xid->xid);
	string_append_format(out, "NVIDIA's driver reported Xid %u of the GPU at ", xid->xid);
	field_append_safe(out, xid->bdf, strlen(xid->bdf));
	if (meaning)
		string_append_format(out, " (%s)", meaning);
	string_append_text(out, " at ");
	report_append_time(out, recording, xid->event.ts_ns);
	if (host->xids_count > 1)
		string_append_format(out, ", and %llu more",
				     (unsigned long long)(host->xids_count - 1));
	string_append_text(out, ": see \"Errors of devices\".");
}
