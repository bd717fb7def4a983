// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who holds memory, as HTML: processes, what allocated it, the largest blocks, devices, pools.
 */
#include "render/report_html.h"

#include "render/document_html.h"
#include "render/report_document.h"
#include "render/report_groups.h"
#include "render/report_notes.h"

static void append_ends(struct html *html)
{
	size_t i;

	string_append_text(html->out, "<ul class=\"ends\">\n");
	for (i = 0; i < html->recording->processes_count; i++) {
		const struct process *process = html->recording->processes[i].process;

		string_append_text(html->out, "<li>");
		html_process(html, process->pid, process->name);
		string_append_text(html->out, ": ");
		report_append_end(html->out, process);
		report_append_held_before(html->out, process);
		string_append_text(html->out, "</li>\n");
	}
	string_append_text(html->out, "</ul>\n");
}

void html_devices(struct html *html)
{
	struct document_html of;

	html_section(html, "devices", "Devices");
	document_html_init(&of, html, SIZE_MAX);
	string_append_text(html->out, "<div class=\"cards\">\n");
	report_document_devices(&of.document, html->recording);
	string_append_text(html->out, "</div>\n");
	if (!html->recording->devices_count) {
		string_append_text(html->out, "<p>");
		report_append_no_device_memory(html->out,
					       &html->report->recordings[html->number - 1], 1);
		string_append_text(html->out, "</p>\n");
	}
	report_document_all_devices(&of.document, html->recording);
	document_html_fini(&of);
	html_section_end(html);
}

void html_memory(struct html *html)
{
	struct document_html of;

	html_section(html, "memory", "Processes and allocations");
	document_html_init(&of, html, SIZE_MAX);
	report_groups_document(&of.document, html->recording);
	report_document_all_processes(&of.document, html->recording, REPORT_DOCUMENT_MEMORY);
	append_ends(html);
	html_segments(html);
	report_document_sites(&of.document, html->recording);
	report_document_largest(&of.document, html->recording);
	document_html_fini(&of);
	html_section_end(html);
}
