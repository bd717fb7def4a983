// SPDX-License-Identifier: BSD-2-Clause
#include "commands/capture_options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "base/string.h"
#include "commands/live_choice.h"
#include "commands/requirements.h"

int capture_options_stacks(const struct option_row *row, const char *value, void *settings)
{
	static const uint32_t ops[] = { 0, 1u << MS_OP_ALLOC, CAPTURE_STACKS_OF_WAITS,
					CAPTURE_STACKS_OF_ALL };
	int which = option_which(row, value);

	if (which < 0)
		return which;
	*(uint32_t *)((char *)settings + row->offset) = ops[which];
	return 0;
}

int capture_options_depth(const struct option_row *row, const char *value, void *settings)
{
	return option_number(row, value, settings, 1, MS_STACK_MOST);
}

int capture_options_frames(const struct option_row *row, const char *value, void *settings)
{
	static const uint32_t kinds[] = { MS_FRAME_KINDS_ALL, 1u << MS_FRAME_PYTHON,
					  1u << MS_FRAME_NATIVE };
	int which = option_which(row, value);

	if (which < 0)
		return which;
	*(uint32_t *)((char *)settings + row->offset) = kinds[which];
	return 0;
}

int capture_options_gpu(const struct option_row *row, const char *value, void *settings)
{
	struct capture_options *capture =
		(struct capture_options *)((char *)settings + row->offset);
	struct option_row duration = *row;

	capture->gpu_times = true;
	duration.offset = offsetof(struct capture_options, gpu_times_ns);
	return value ? option_duration(&duration, value, capture) : 0;
}

int capture_options_check_gpu(const struct capture_options *capture)
{
	if (!capture->gpu_times || capture->selection.command)
		return EXIT_OK;
	log_error("--gpu-time needs a command to start (record --gpu-time -- COMMAND): CUPTI has to"
		  " be in a program from its beginning. For a running program, leave it out: calls,"
		  " and how long they wait for the GPU, are shown without it; the program's own"
		  " profiler, or nsys, can show more");
	return EXIT_USAGE;
}

int capture_options_markers(const struct option_row *row, const char *value, void *settings)
{
	const int which = option_which(row, value);

	if (which < 0)
		return which;
	*(enum capture_markers *)((char *)settings + row->offset) = (enum capture_markers)which;
	return 0;
}

int capture_options_marker(const struct option_row *row, const char *value, void *settings)
{
	struct capture_options *capture = (void *)((char *)settings + row->offset);
	int err;

	if (!strncmp(value, "py:", 3))
		err = python_functions_add(&capture->functions, value + 3);
	else if (!strncmp(value, "usdt:", 5))
		err = marker_rows_add_probe(&capture->markers, value);
	else
		err = marker_rows_add_function(&capture->markers, value);
	if (err == -EINVAL)
		log_error("--marker: \"%s\" is not LIBRARY:FUNCTION,"
			  " usdt:LIBRARY:PROVIDER:NAME[,END] or py:[FILE:]FUNCTION",
			  value);
	else if (err == -EEXIST)
		log_error("--marker %s: this CUDA function is traced anyway, and cannot also be a"
			  " marker; name the function that calls it",
			  value);
	else if (err == -ENOSPC)
		log_error("--marker: too many markers");
	return err;
}

/* Native frames would cost more, and say nothing of Python's functions. */
void capture_options_see_functions(struct capture_options *capture, uint32_t ops)
{
	if (!capture->functions.count || capture->stack_ops)
		return;
	capture->stack_ops = ops & CAPTURE_STACKS_OF_ALL;
	if (capture->stack_kinds == MS_FRAME_KINDS_ALL)
		capture->stack_kinds = 1u << MS_FRAME_PYTHON;
}

int capture_options_check_markers(const struct capture_options *capture)
{
	const uint32_t python = 1u << MS_FRAME_PYTHON;

	if (capture->functions.count && !capture->stack_ops) {
		log_error("--marker py: finds functions in the stacks of calls: leave --stacks=off"
			  " out");
		return EXIT_USAGE;
	}
	if (capture->functions.count && !(capture->stack_kinds & python)) {
		log_error("--marker py: needs Python's frames: leave --stack-frames=native out");
		return EXIT_USAGE;
	}
	if (capture->nvtx != CAPTURE_MARKERS_INJECT || capture->selection.command)
		return EXIT_OK;
	log_error("--markers=inject needs a command to start (-- COMMAND): NVTX 3 looks for a tool"
		  " only once, at its first call. For a running program, use --markers=nvtx");
	return EXIT_USAGE;
}

int capture_options_check_choice(struct capture_options *capture)
{
	return live_choice_check(&capture->selection.who, &capture->names);
}

void capture_options_fini(struct capture_options *capture)
{
	name_sources_close(&capture->names);
	marker_rows_fini(&capture->markers);
	python_functions_fini(&capture->functions);
	selection_fini(&capture->selection);
}

struct live_options capture_options_live(struct capture_options *capture, bool entries_only)
{
	const struct selection *selection = &capture->selection;
	const bool chooses = process_selection_is_some(&selection->who);

	if (capture->nvtx != CAPTURE_MARKERS_OFF &&
	    marker_rows_add_nvtx(&capture->markers, capture->nvtx == CAPTURE_MARKERS_INJECT))
		log_warning("too many markers: those of NVTX are left out");
	return (struct live_options){
		.features = &capture->features,
		.pids = selection->pids,
		.pids_count = selection->pids_count,
		.scope = { .all = !selection->cgroup.path && (selection->all || chooses),
			   .selection = chooses ? &selection->who : NULL,
			   .cgroup = selection->cgroup.path,
			   .hierarchy = selection->cgroup.hierarchy },
		.command = selection->command,
		.output_is_taken = capture->output_is_taken,
		.terminal_is_taken = capture->terminal_is_taken,
		.follow = selection->follow,
		.in_processes = selection->in_processes,
		.beside = "--attach=process avoids this",
		.command_lines = selection->command_lines,
		.names = &capture->names,
		.ops = selection_captured_ops(selection),
		.layers = selection_layers(selection, entries_only),
		.spared = selection_spared(selection),
		.entries_only = entries_only,
		.duration_ns = capture->duration_ns,
		.ring_bytes = capture->buffer_bytes,
		.stack_ops = capture->stack_ops,
		.stack_depth = capture->stack_depth,
		.stack_kinds = capture->stack_kinds,
		.table_bytes = capture->table_bytes,
		.table_cache = capture->table_cache && strcmp(capture->table_cache, "off") != 0 ?
				       capture->table_cache :
				       NULL,
		.gpu_times = capture->gpu_times,
		.gpu_times_ns = capture->gpu_times_ns,
		.marks = true,
		.markers = capture->markers.count ? &capture->markers : NULL,
		.python_functions = capture->functions.count ? &capture->functions : NULL,
	};
}

/* What is misspelt looks like a function that is never called. */
static void tell_markers(const struct marker_rows *markers, const struct live *live)
{
	size_t i;

	for (i = 0; i < markers->count; i++) {
		const struct marker_row *row = &markers->rows[i];

		if (live_saw_marker(live, i))
			continue;
		if (row->kernel.source == MS_MARKER_BY_USDT)
			log_warning("--marker usdt:%s:%s:%s: no traced process has this probe",
				    row->library, row->provider, row->function);
		else if (row->kernel.source == MS_MARKER_BY_FUNCTION && !row->on_return)
			log_warning("--marker %s:%s: no traced process has this function",
				    row->library, row->function);
	}
}

static void tell_functions(const struct python_functions *functions, const struct live *live)
{
	size_t i;

	for (i = 0; i < functions->count; i++) {
		const struct python_function *function = &functions->list[i];
		const bool has_file = function->file != function->name;

		if (!live_saw_python(live, i))
			log_warning("--marker py:%s%s%s: no traced CUDA call was made in this"
				    " function",
				    has_file ? function->file : "", has_file ? ":" : "",
				    function->name);
	}
}

/* A data loader's workers only have it; a server's may call it. */
static void tell_forks(const struct untraced_forks *forks)
{
	size_t i;

	for (i = 0; i < forks->count; i++) {
		const struct untraced_forks_parent *parent = &forks->parents[i];
		const bool one = parent->count == 1;
		struct string pids = { 0 };

		untraced_forks_append_pids(&pids, parent);
		log_warning("at least %llu child%s that process %u forked while it was traced had"
			    " the CUDA driver mapped and %s not traced (%.*s); whether %s CUDA is"
			    " not known: use -f to trace child processes, too",
			    (unsigned long long)parent->count, one ? "" : "ren", parent->pid,
			    one ? "was" : "were", pids.length ? (int)pids.length : 0,
			    pids.length ? pids.bytes : "", one ? "it called" : "they called");
		string_fini(&pids);
	}
}

static void tell_leavers(const struct cgroup_leavers *leavers, const char *where)
{
	const bool one = leavers && leavers->count == 1;
	struct string pids = { 0 };

	if (!leavers || !leavers->count)
		return;
	cgroup_leavers_append_pids(&pids, leavers);
	log_warning("%llu process%s left %s while %s traced, and %s traced on all the same (%.*s)",
		    (unsigned long long)leavers->count, one ? "" : "es", where,
		    one ? "it was" : "they were", one ? "was" : "were",
		    pids.length ? (int)pids.length : 0, pids.length ? pids.bytes : "");
	string_fini(&pids);
}

int capture_options_tell_blindness(const struct capture_options *capture, struct live *live,
				   const struct losses *losses)
{
	const struct selection *selection = &capture->selection;
	bool named = selection->pids_count || selection->command;
	size_t missed = live_missed(live);

	tell_markers(&capture->markers, live);
	tell_functions(&capture->functions, live);
	if (missed)
		log_warning("at least %zu process%s with a CUDA library ended, or executed another"
			    " program, before %s could be attached to, or meanwhile: calls may"
			    " be missing%s",
			    missed, missed == 1 ? "" : "es", missed == 1 ? "it" : "they",
			    selection->follow || selection->command ? live_late_cure(live) : "");
	tell_forks(live_untraced_forks(live));
	tell_leavers(live_cgroup_leavers(live),
		     process_selection_is_some(&selection->who) ? "what was chosen" : "the cgroup");
	/* Calls were seen of a program that was gone too soon for its mappings to be looked at. */
	if (live_saw_library(live) || losses->seen)
		return 0;
	if (live_unread(live))
		return named ? -EACCES : 0;
	log_warning("no traced process has mapped a CUDA library, so no call was seen%s",
		    named && !selection->follow ? "; use -f to trace child processes, too" : "");
	return 0;
}

/* A warning, which -q lets through: what was captured does not look any different. */
static void say_what_was_lost(const struct capture_options *capture, const struct losses *losses,
			      bool too_much)
{
	struct string message = { 0 };

	losses_append_amount(&message, losses);
	string_append_text(&message, too_much ? " lost, more than --max-loss: " : " lost: ");
	losses_append_reasons(&message, losses, capture->fewer);
	if (too_much)
		log_error("%.*s", (int)message.length, message.length ? message.bytes : "");
	else
		log_warning("%.*s", (int)message.length, message.length ? message.bytes : "");
	string_fini(&message);
}

int capture_options_exit_code(const struct capture_options *capture, int err,
			      const struct losses *losses, int command_code)
{
	int code = exit_code_of(err);
	const bool too_much = code == EXIT_OK && losses_count(losses) > capture->max_loss;

	if (losses_count(losses))
		say_what_was_lost(capture, losses, too_much);
	if (too_much)
		return EXIT_LOST;
	return command_code >= 0 && (code == EXIT_OK || err == -ECHILD) ? command_code : code;
}
