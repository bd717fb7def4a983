// SPDX-License-Identifier: BSD-2-Clause
#include "render/gpu_words.h"

#include <string.h>

#include "base/demangle.h"
#include "render/field.h"

typedef unsigned long long ull;

static const char *const states[] = {
#define X(kind, name) name,
	MS_GPU_STATES(X)
#undef X
};

static const char *const reasons[] = {
#define X(kind, name) name,
	MS_GPU_REASONS(X)
#undef X
};

const char *gpu_words_state_name(uint32_t state)
{
	return state < MS_GPU_STATES_COUNT ? states[state] : "?";
}

const char *gpu_words_reason_name(uint32_t reason)
{
	return reason < MS_GPU_REASONS_COUNT ? reasons[reason] : "?";
}

void gpu_words_kernel(struct string *out, const char *name)
{
	struct string text = { 0 };

	if (name)
		demangle_append(&text, name);
	else
		string_append_char(&text, '?');
	if (text.length)
		field_append_safe(out, text.bytes, text.length);
	out->failed |= text.failed;
	string_fini(&text);
}

static void append_who(struct string *out, const struct ms_gpu_status_body *status,
		       const char *otherwise)
{
	if (*status->who)
		field_append_safe(out, status->who, strnlen(status->who, sizeof(status->who)));
	else
		string_append_text(out, otherwise);
}

/* 18 to 28 are 11.8 to 12.9; from 13.0 on it is written out: 130001. */
static void append_version(struct string *out, uint32_t version)
{
	if (version >= 100000)
		string_append_format(out, "CUPTI %u.%u", version / 10000, version / 100 % 100);
	else if (version)
		string_append_format(out, "CUPTI with API version %u", version);
	else
		string_append_text(out, "CUPTI");
}

static void append_off(struct string *out, const struct ms_gpu_status_body *status)
{
	switch ((enum ms_gpu_reason)status->reason) {
	case MS_GPU_REASON_NO_LIBRARY:
		string_append_text(out, "no libcupti was found in the program");
		break;
	case MS_GPU_REASON_OLD_LIBRARY:
		append_who(out, status, "libcupti");
		string_append_text(out, " is older than that of CUDA 11.8");
		break;
	case MS_GPU_REASON_NO_FUNCTION:
		string_append_text(out, "libcupti has no function ");
		append_who(out, status, "?");
		break;
	case MS_GPU_REASON_SUBSCRIBER:
		string_append_text(out, "another tool already uses CUPTI in the program (");
		append_who(out, status, "name unknown");
		string_append_text(out, ")");
		break;
	case MS_GPU_REASON_REFUSED:
		append_who(out, status, "a function of CUPTI");
		string_append_format(out, " failed with %d", status->result);
		break;
	case MS_GPU_REASON_CLOCK:
		string_append_text(out, "CUPTI's clock cannot be read");
		break;
	case MS_GPU_REASON_CRASHED:
		string_append_text(out, "CUPTI crashed during its setup; the program went on");
		break;
	default:
		string_append_format(out, "reason: %s", gpu_words_reason_name(status->reason));
		break;
	}
}

void gpu_words_state(struct string *out, const struct gpu_times *times)
{
	const struct ms_gpu_status_body *status = &times->status;
	char took[STRING_NUMBER_BYTES];

	if (!times->statuses) {
		string_append_text(out, "No message of the library in the program has arrived:"
					" some were lost.");
		return;
	}
	if (status->state == MS_GPU_OFF) {
		string_append_text(out, "Nothing was measured: ");
		append_off(out, status);
		string_append_text(out, ". The program was not disturbed.");
		return;
	}
	string_append_text(out, "Measured by ");
	append_version(out, status->version);
	string_append_format(out, ", whose setting up took the program %s",
			     string_duration(took, status->took));
	if (status->state == MS_GPU_STOPPED && status->reason == MS_GPU_REASON_TIME)
		string_append_text(out, ", until the requested time was over");
	else if (status->state == MS_GPU_STOPPED)
		string_append_text(out, ", until memscope-bpf ended");
	else if (status->state == MS_GPU_ON)
		string_append_text(out, "; its last message is missing, because the program was"
					" killed or still running: up to 0.2 s can be missing");
	string_append_char(out, '.');
}

static void append_share(struct string *out, uint64_t part, uint64_t whole)
{
	string_append_format(out, "%llu of %llu (%.2f %%)", (ull)part, (ull)whole,
			     100.0 * (double)part / (double)whole);
}

static void append_clocks(struct string *out, const struct gpu_joins *joins,
			  const struct ms_gpu_status_body *status)
{
	char text[STRING_NUMBER_BYTES];
	const ull outside = joins->entry.outside + joins->leave.outside;
	uint64_t ns;

	if (gpu_joins_call_error(joins, status->clock_error, &ns))
		string_append_format(out,
				     " CUPTI's times of calls are right to within %s (%llu of %llu"
				     " lie outside of their calls).",
				     string_duration(text, ns), outside, (ull)joins->entry.count);
	if (gpu_joins_gpu_error(joins, status->clock_error, &ns))
		string_append_format(out, " Those of the GPU are right to within %s.",
				     string_duration(text, ns));
	else if (joins->start.count)
		string_append_format(
			out,
			" Those of the GPU begin %s or more after their calls do; what"
			" would bound them from the other side, a synchronous copy or a"
			" wait for all of the only context, was not there.",
			joins->start.least_ns < 0 ?
				"before, and not" :
				string_duration(text, (uint64_t)joins->start.least_ns));
	if (status->converted)
		string_append_format(out,
				     " CUPTI's clock was converted, which may make %s of that.",
				     string_duration(text, status->clock_error));
}

void gpu_words_joins(struct string *out, const struct gpu_times *times)
{
	const struct gpu_joins *joins = &times->joins;
	char delay[STRING_NUMBER_BYTES];

	if (joins->activities) {
		string_append_text(out, "Joined with their calls: by CUPTI's number ");
		append_share(out, joins->with_call, joins->activities);
		if (joins->probed) {
			string_append_text(out, ", and with a call that a probe saw ");
			append_share(out, joins->with_probed, joins->activities);
		} else {
			string_append_text(
				out, "; probes only counted calls, so none was joined with one");
		}
		string_append_char(out, '.');
	}
	if (joins->started)
		string_append_format(out, " They began %s after their call did, on average.",
				     string_duration(delay, joins->delay_ns / joins->started));
	append_clocks(out, joins, &times->status);
}

static void append_loss(struct string *out, uint64_t count, const char *what, bool *any)
{
	if (!count)
		return;
	string_append_format(out, "%s%llu %s", *any ? "; " : "", (ull)count, what);
	*any = true;
}

bool gpu_words_losses(struct string *out, const struct gpu_times *times)
{
	const struct ms_gpu_status_body *status = &times->status;
	const uint64_t handed = status->handed;
	uint64_t late = 0;
	bool any = false;
	size_t i;

	for (i = 0; i < times->devices_count; i++)
		late += times->devices[i].busy.late;
	append_loss(out, status->dropped, "records that CUPTI had no room for", &any);
	append_loss(out, status->no_buffer, "buffers that CUPTI requested and did not get", &any);
	append_loss(out, status->untimed, "activities for which CUPTI has no times", &any);
	append_loss(out, status->no_name,
		    "kernels whose names were not kept, because there are too many", &any);
	append_loss(out, handed > times->total ? handed - times->total : 0,
		    "activities that CUPTI delivered and that did not arrive", &any);
	append_loss(out, late, "activities that came so late that busy times may lack them", &any);
	return any;
}
