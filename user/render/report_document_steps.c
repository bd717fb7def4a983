// SPDX-License-Identifier: BSD-2-Clause
/*
 * Steps of programs that have set no markers, as launches that recur show them.
 */
#include "render/gpu_words.h"
#include "render/report_document.h"
#include "render/report_words.h"

bool report_document_has_steps(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->steps.count; i++)
		if (recording->steps.threads[i].step)
			return true;
	return false;
}

static void put_steps(struct document *document, const struct report_recording *recording,
		      const struct steps_thread *thread)
{
	const struct step_series *step = thread->step;

	report_document_process(document, recording, thread->pid, thread->start_ns, thread->comm);
	document_cell_count(document, true, thread->tid);
	document_cell_count(document, true, step->equal);
	document_cell_count(document, true, step->count - step->equal);
	document_cell_count(document, true, step->equal_launches / step->equal);
	document_cell_duration(document, true, step->time.total / step->equal);
	document_cell_duration(document, true, step->time.p95);
	document_cell_duration(document, true, step->time.max);
	report_document_change(document, step->held.total);
	report_document_change(document, step->held.total / (int64_t)step->equal);
	report_document_change(document, step->held.p95);
	gpu_words_kernel(&document->text, step->kernel);
	document_cell(document);
	document_row_end(document);
}

void report_document_steps(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "Process", DOCUMENT_TEXT },
		{ "Thread", DOCUMENT_NUMBER },
		{ "Steps", DOCUMENT_NUMBER },
		{ "Irregular", DOCUMENT_NUMBER },
		{ "Launches in each", DOCUMENT_NUMBER },
		{ "Mean time", DOCUMENT_NUMBER },
		{ "95 % of times", DOCUMENT_NUMBER },
		{ "Longest", DOCUMENT_NUMBER },
		{ "Memory in all", DOCUMENT_NUMBER },
		{ "Mean memory", DOCUMENT_NUMBER },
		{ "95 % of memory", DOCUMENT_NUMBER },
		{ "Begins with", DOCUMENT_TEXT },
		{ 0 },
	};
	const struct steps *steps = &recording->steps;
	size_t i;

	document_say(document,
		     "These programs have set no markers. Their steps were found by launches that"
		     " recur: a step goes from one launch of the kernel to its next one, with the"
		     " same launches in between. Times and memory are those of steps with the usual"
		     " launches; memory is by how much more the process held at the end.");
	document_table_top(document, "steps", "Steps that were found", columns);
	for (i = 0; i < steps->count; i++)
		if (steps->threads[i].step && document_row(document))
			put_steps(document, recording, &steps->threads[i]);
	document_table_end(document);
}
