// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rule crash-loop: a program fails, is started again, and fails again.
 */
#include "report/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/failed_calls.h"
#include "analysis/oom.h"
#include "base/memory.h"

/*
 * A program's runs that failed, in the order of time: none began before the one before it had
 * ended. Those that succeed end it.
 */
struct crashes {
	const struct process **runs;
	size_t count, capacity;
	bool over;
};

/* Ended by itself or by what it did; not because it was asked to end. */
static bool has_failed(const struct process *process)
{
	const uint32_t status = process->exit_status;

	if (!process->exited || status == MS_EXIT_UNKNOWN)
		return false;
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status) != 0;
	switch (WTERMSIG(status)) {
	case SIGHUP:
	case SIGINT:
	case SIGTERM:
		return false;
	}
	return true;
}

/* Of shells, and what they run, a nonzero exit code is an answer. */
static bool has_called(const struct process *process)
{
	size_t op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		if (process->calls[op])
			return true;
	return false;
}

static bool calls_cuda(const struct crashes *crashes)
{
	size_t i = 0;

	while (i < crashes->count && !has_called(crashes->runs[i]))
		i++;
	return i < crashes->count;
}

static bool had(const struct process *process, const struct failure *failure)
{
	size_t i;

	for (i = 0; i < process->failures_count; i++)
		if (process->failures[i].row == failure->row &&
		    process->failures[i].result == failure->result)
			return true;
	return false;
}

static bool all_had(const struct crashes *crashes, const struct failure *failure)
{
	size_t i;

	for (i = 0; i < crashes->count; i++)
		if (!had(crashes->runs[i], failure))
			return false;
	return true;
}

/* A call that failed in each run in the same way: memory ran out, or the error stays, if there is
 * one like that. NULL: there is none. */
static const struct failure *common_failure(const struct crashes *crashes)
{
	const struct process *last = crashes->runs[crashes->count - 1];
	const struct failure *found = NULL;
	size_t i;

	for (i = 0; i < last->failures_count; i++) {
		const struct failure *failure = &last->failures[i];
		const bool grave =
			failure->result == OOM_RESULT || failed_calls_stays(failure->result);

		if ((found && !grave) || !all_had(crashes, failure))
			continue;
		if (grave)
			return failure;
		found = failure;
	}
	return found;
}

static bool ended_alike(const struct crashes *crashes)
{
	size_t i;

	for (i = 1; i < crashes->count; i++)
		if (crashes->runs[i]->exit_status != crashes->runs[0]->exit_status)
			return false;
	return true;
}

static void say_times(struct finding *finding, const struct crashes *crashes)
{
	uint64_t shortest = UINT64_MAX, longest = 0;
	size_t i;

	for (i = 0; i < crashes->count; i++) {
		const struct process *process = crashes->runs[i];
		const uint64_t length = process->exit_ts_ns > process->first_ts_ns ?
						process->exit_ts_ns - process->first_ts_ns :
						0;

		shortest = length < shortest ? length : shortest;
		longest = length > longest ? length : longest;
	}
	finding_say(finding, "shortest time from its first call to its end", FINDING_NS, shortest);
	finding_say(finding, "longest", FINDING_NS, longest);
}

static void say_end(struct finding *finding, const struct crashes *crashes)
{
	const uint32_t status = crashes->runs[0]->exit_status;

	if (!ended_alike(crashes))
		return;
	if (WIFSIGNALED(status))
		finding_say(finding, "signal that killed each", FINDING_COUNT,
			    (uint64_t)WTERMSIG(status));
	else
		finding_say(finding, "exit code of each", FINDING_COUNT,
			    (uint64_t)WEXITSTATUS(status));
}

/* About the last run, which is the one that an engineer still has to do with. */
static struct finding finding_of(const struct crashes *crashes)
{
	const struct process *last = crashes->runs[crashes->count - 1];
	const struct failure *failure = common_failure(crashes);
	struct finding finding = {
		.rule = FINDING_CRASH_LOOP,
		.confidence = FINDING_HIGH,
		.pid = last->pid,
		.start_ns = last->start_ns,
		.device = -1,
		.space = MS_SPACE_NONE,
		.row = failure ? failure->row : MS_NO_ROW,
		.first_ts_ns = crashes->runs[0]->first_ts_ns,
		.last_ts_ns = last->exit_ts_ns,
		.says = failure ?
				"is the last of %0 runs that failed, one after the other, each with %1" :
				NULL,
	};

	memcpy(finding.comm, last->comm, sizeof(finding.comm));
	finding_say(&finding, "runs that failed, one after the other", FINDING_COUNT,
		    crashes->count);
	if (failure)
		finding_say(&finding, "result of a call that failed in each",
			    probe_at(failure->row)->layer == MS_LAYER_DRIVER ? FINDING_CURESULT :
									       FINDING_CUDAERROR,
			    (uint32_t)failure->result);
	else
		finding_lower(&finding, FINDING_MEDIUM,
			      "no CUDA call failed in each of them: why they ended is not known");
	say_times(&finding, crashes);
	say_end(&finding, crashes);
	return finding;
}

/* ---- which runs belong together -------------------------------------------------------------- */

struct loops {
	struct crashes *list;
	size_t count, capacity;
};

static void loops_fini(struct loops *loops)
{
	while (loops->count)
		free(loops->list[--loops->count].runs);
	free(loops->list);
}

/* The loop that the process goes on, or ends. NULL: there is none. */
static struct crashes *loop_of(struct loops *loops, const struct process *process)
{
	size_t i;

	for (i = 0; i < loops->count; i++) {
		struct crashes *crashes = &loops->list[i];
		const struct process *last = crashes->runs[crashes->count - 1];

		if (!crashes->over && !strcmp(last->name, process->name) &&
		    process->first_ts_ns >= last->exit_ts_ns)
			return crashes;
	}
	return NULL;
}

static int add_run(struct loops *loops, const struct process *process)
{
	struct crashes *crashes = loop_of(loops, process);

	if (!has_failed(process)) {
		if (crashes)
			crashes->over = true;
		return 0;
	}
	if (!crashes) {
		if (memory_grow(&loops->list, &loops->capacity, loops->count + 1,
				sizeof(*loops->list)))
			return -ENOMEM;
		crashes = &loops->list[loops->count];
		*crashes = (struct crashes){ 0 };
	}
	if (memory_grow(&crashes->runs, &crashes->capacity, crashes->count + 1,
			sizeof(*crashes->runs)))
		return -ENOMEM;
	if (!crashes->count)
		loops->count++;
	crashes->runs[crashes->count++] = process;
	return 0;
}

/* Only so many of those that have ended are listed (ledger/ended.h), so it is no long work. */
int report_crashes_find(struct report_recording *recording)
{
	const struct state *state = recording->state;
	struct loops loops = { 0 };
	int err = 0;
	size_t i;

	for (i = 0; !err && i < state->processes_count; i++)
		if (state->processes[i]->exited &&
		    report_wants(&recording->options, state->processes[i]))
			err = add_run(&loops, state->processes[i]);
	for (i = 0; !err && i < loops.count; i++) {
		struct finding finding = finding_of(&loops.list[i]);

		if (loops.list[i].count >= recording->thresholds.crash_count &&
		    calls_cuda(&loops.list[i]))
			err = analysis_add(recording->analysis, &finding);
	}
	loops_fini(&loops);
	return err;
}
