// SPDX-License-Identifier: BSD-2-Clause
#include "commands/verify_output.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "render/field.h"
#include "render/losses_words.h"

/* Counts of a dump's account that are only of interest if there are any. */
static const struct {
	const char *name; /* in JSON */
	size_t offset;
	const char *text; /* what is counted */
} oddities[] = {
#define AT(member) offsetof(struct recording_account, member)
	{ "repeated_blocks", AT(repeated_blocks),
	  "blocks that come a second time, or after later ones, and are left out" },
	{ "uncertain_events", AT(uncertain),
	  "events between a gap and the next segment, where it is uncertain what is live" },
	{ "unanchored_events", AT(unanchored),
	  "events before the first segment that is whole, which cannot be used" },
	{ "refused_records", AT(refused),
	  "blocks and segments that hold what no version writes, though their checksums are right" },
	{ "unknown_blocks", AT(unknown_blocks),
	  "blocks of a kind that only newer versions of memscope-bpf know, left out" },
	{ "unknown_records", AT(unknown_records),
	  "records of a kind that only newer versions of memscope-bpf know, left out" },
	{ "unknown_calls", AT(unknown_calls),
	  "records of functions that only newer versions of memscope-bpf know, left out" },
#undef AT
};

#define ODDITIES (sizeof(oddities) / sizeof(*oddities))

#define EMPTY \
	" (it is empty: nothing was recorded, or the recorder was stopped before it wrote anything)"

static uint64_t oddity_count(const struct verification *verification, size_t i)
{
	const char *account = (const char *)replay_account(verification->replay);

	return *(const uint64_t *)(account + oddities[i].offset);
}

static struct recording_account account_of(const struct verification *verification)
{
	return *replay_account(verification->replay);
}

static struct losses losses_in(const struct verification *verification)
{
	return losses_of(&verification->pipeline.recorded);
}

static uint64_t bytes_of(const struct verification *verification)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < verification->files_count; i++)
		bytes += verification->files[i].bytes;
	return bytes;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void append_label(struct string *out, const char *label)
{
	string_append_format(out, "  %-12s", label);
}

static void append_text(struct string *out, const char *text)
{
	field_append_safe(out, text ? text : "?", text ? strlen(text) : 1);
}

static void append_time(struct string *out, uint64_t time_ns, bool is_wall)
{
	char text[CLOCK_TEXT_BYTES];

	if (is_wall)
		string_append_text(out, clock_utc_text(text, time_ns));
	else
		string_append_format(out, "%" PRIu64 ".%03u s after boot", time_ns / 1000000000,
				     (unsigned int)(time_ns % 1000000000 / 1000000));
}

static void append_span(struct string *out, const struct verification_span *span)
{
	char duration[STRING_NUMBER_BYTES];

	append_time(out, span->first_ns, span->is_wall);
	string_append_text(out, " to ");
	append_time(out, span->last_ns, span->is_wall);
	string_append_format(out, " (%s)\n",
			     string_duration(duration, span->last_ns > span->first_ns ?
							       span->last_ns - span->first_ns :
							       0));
}

static void append_what(struct string *out, const struct verification *verification)
{
	const struct recording_account account = account_of(verification);
	const struct replay *replay = verification->replay;

	append_label(out, "recording");
	string_append_format(out, "%016" PRIx64 " of host ", account.recording);
	append_text(out, replay_text(replay, "host"));
	string_append_text(out, ", kernel ");
	append_text(out, replay_text(replay, "kernel"));
	string_append_text(out, ", by memscope-bpf ");
	append_text(out, replay_text(replay, "version"));
	string_append_char(out, '\n');
	if (account.recordings > 1) {
		append_label(out, "");
		string_append_format(out, "(the last of %" PRIu64 ", one after the other)\n",
				     account.recordings);
	}
	append_label(out, "covers");
	append_span(out, &verification->span);
}

/* "1 block", "2 blocks" */
static void append_amount(struct string *out, uint64_t segments, uint64_t blocks, uint64_t events,
			  uint64_t bytes)
{
	char size[STRING_NUMBER_BYTES];

	string_append_count(out, segments, "segment", "segments");
	string_append_text(out, ", ");
	string_append_count(out, blocks, "block", "blocks");
	string_append_text(out, ", ");
	string_append_count(out, events, "event", "events");
	string_append_format(out, ", %s", string_size(size, bytes));
	if (events)
		string_append_format(out, ": %.1f bytes an event", (double)bytes / (double)events);
	string_append_char(out, '\n');
}

/* Each with its time, unless that is all of the time. */
static void append_files(struct string *out, const struct verification *verification)
{
	const struct verification_span *all = &verification->span;
	size_t i;

	for (i = 0; verification->files_count > 1 && i < verification->files_count; i++) {
		const struct verification_file *file = &verification->files[i];

		string_append_text(out, "    ");
		append_text(out, file->path);
		string_append_text(out, ": ");
		append_amount(out, file->segments, file->blocks, file->events, file->bytes);
		if (file->span.last_ns &&
		    (file->span.first_ns != all->first_ns || file->span.last_ns != all->last_ns)) {
			string_append_text(out, "      ");
			append_span(out, &file->span);
		}
	}
}

/* The recording's end says so; blocks that are missing may also have been taken out since. */
static void append_unwritten(struct string *out, const struct verification *verification)
{
	const uint64_t blocks = replay_end_number(verification->replay, "unwritten_blocks", 0);

	if (!blocks)
		return;
	append_label(out, "");
	string_append_count(out, blocks, "block", "blocks");
	string_append_text(out, " that could not be written, with ");
	string_append_count(out, replay_end_number(verification->replay, "unwritten_records", 0),
			    "record", "records");
	string_append_char(out, '\n');
}

static void append_end(struct string *out, const struct verification *verification)
{
	const char *reason = replay_end_text(verification->replay, "reason");
	const uint64_t endless = account_of(verification).endless;

	append_label(out, "end");
	if (!account_of(verification).has_end) {
		string_append_text(out, "none: the recorder was killed, or is still recording; what"
					" it had not written yet is missing\n");
		return;
	}
	append_text(out, reason ? reason : "as it should");
	if (endless)
		string_append_format(out,
				     "; %llu recording%s before it %s none: %s killed, and what was"
				     " not written yet is missing",
				     (unsigned long long)endless, endless == 1 ? "" : "s",
				     endless == 1 ? "has" : "have",
				     endless == 1 ? "its recorder was" : "their recorders were");
	string_append_char(out, '\n');
}

static void append_damages(struct string *out, const struct verification *verification)
{
	const uint64_t all =
		account_of(verification).damaged_places + account_of(verification).cut_short;
	size_t i;

	for (i = 0; i < verification->damages_count; i++) {
		const struct verification_damage *damage = &verification->damages[i];

		append_label(out, "damage");
		append_text(out, verification->files[damage->file].path);
		string_append_text(out, ": ");
		string_append_count(out, damage->bytes, "byte", "bytes");
		string_append_format(out, " at byte %" PRIu64 " %s %s\n", damage->offset,
				     damage->bytes == 1 ? "is" : "are",
				     damage->at_end ?
					     "the beginning of a block, and nothing follows" :
					     "no whole block");
	}
	if (all > verification->damages_count)
		string_append_format(out, "  %-12sand %" PRIu64 " more\n", "",
				     all - verification->damages_count);
}

static void append_gaps(struct string *out, const struct verification *verification)
{
	size_t i;

	for (i = 0; i < verification->gaps_count; i++) {
		const struct verification_gap *gap = &verification->gaps[i];

		append_label(out, "missing");
		string_append_count(out, gap->blocks, "block", "blocks");
		string_append_format(out, ", from number %" PRIu64 " on: ", gap->first_sequence);
		append_span(out, &gap->span);
	}
}

static void append_oddities(struct string *out, const struct verification *verification)
{
	char count[STRING_NUMBER_BYTES];
	size_t i;

	for (i = 0; i < ODDITIES; i++) {
		if (!oddity_count(verification, i))
			continue;
		append_label(out, "note");
		string_append_format(out, "%s: %s\n", oddities[i].text,
				     string_count(count, oddity_count(verification, i)));
	}
}

void verify_output_text(struct string *out, const char *path,
			const struct verification *verification)
{
	const struct recording_account account = account_of(verification);
	const struct losses losses = losses_in(verification);
	const enum verification_status status = verification_status(verification);

	append_text(out, path);
	string_append_format(out, ": %s%s\n", verification_name(status),
			     bytes_of(verification) ? "" : EMPTY);
	if (status == VERIFICATION_TOO_NEW)
		string_append_format(
			out,
			"  It needs a memscope-bpf that reads version %u of the format; this"
			" one reads version %u.\n",
			verification->major, BLOCK_MAJOR);
	if (!account.blocks)
		return;
	append_what(out, verification);
	append_label(out, "holds");
	append_amount(out, account.segments, account.blocks, account.calls, bytes_of(verification));
	append_files(out, verification);
	append_label(out, "lost");
	losses_append_amount(out, &losses);
	string_append_text(out, " while recording");
	if (losses_count(&losses))
		string_append_text(out, ": ");
	losses_append_reasons(out, &losses, NULL);
	if (account.missing_blocks)
		string_append_text(out, "; and what the missing blocks had");
	string_append_char(out, '\n');
	append_unwritten(out, verification);
	append_end(out, verification);
	append_damages(out, verification);
	append_gaps(out, verification);
	append_oddities(out, verification);
}

/* ---- several --------------------------------------------------------------------------------- */

void verify_total_add(struct verify_total *total, const struct verification *verification)
{
	const struct losses losses = losses_in(verification);

	total->by_status[verification_status(verification)]++;
	total->events += account_of(verification).calls;
	total->lost += losses_count(&losses);
	total->bytes += bytes_of(verification);
}

void verify_total_text(struct string *out, const struct verify_total *total)
{
	uint64_t read = 0;
	const char *before = ": ";
	char size[STRING_NUMBER_BYTES];
	size_t i;

	string_append_text(out, "total: ");
	string_append_count(out, total->count, "recording", "recordings");
	for (i = 0; i < sizeof(total->by_status) / sizeof(*total->by_status); i++) {
		if (!total->by_status[i])
			continue;
		string_append_format(out, "%s%" PRIu64 " %s", before, total->by_status[i],
				     verification_name(i));
		read += total->by_status[i];
		before = ", ";
	}
	if (read < total->count)
		string_append_format(out, "%s%" PRIu64 " not read", before, total->count - read);
	string_append_text(out, "; ");
	string_append_count(out, total->events, "event", "events");
	string_append_format(out, ", %s, ", string_size(size, total->bytes));
	string_append_count(out, total->lost, "event", "events");
	string_append_text(out, " lost while recording\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_span(struct json *json, const struct verification_span *span)
{
	json_put_if(json, "first_unix_ns", span->is_wall, span->first_ns);
	json_put_if(json, "last_unix_ns", span->is_wall, span->last_ns);
}

static void put_files(struct json *json, const struct verification *verification)
{
	size_t i;

	json_name(json, "files");
	json_open(json, '[');
	for (i = 0; i < verification->files_count; i++) {
		const struct verification_file *file = &verification->files[i];

		json_open(json, '{');
		json_put_text(json, "path", file->path);
		json_put_u64(json, "bytes", file->bytes);
		json_put_u64(json, "blocks", file->blocks);
		json_put_u64(json, "segments", file->segments);
		json_put_u64(json, "events", file->events);
		put_span(json, &file->span);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_damages(struct json *json, const struct verification *verification)
{
	size_t i;

	json_name(json, "damages");
	json_open(json, '[');
	for (i = 0; i < verification->damages_count; i++) {
		const struct verification_damage *damage = &verification->damages[i];

		json_open(json, '{');
		json_put_text(json, "path", verification->files[damage->file].path);
		json_put_u64(json, "offset", damage->offset);
		json_put_u64(json, "bytes", damage->bytes);
		json_put_bool(json, "at_end", damage->at_end);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_gaps(struct json *json, const struct verification *verification)
{
	size_t i;

	json_name(json, "gaps");
	json_open(json, '[');
	for (i = 0; i < verification->gaps_count; i++) {
		const struct verification_gap *gap = &verification->gaps[i];

		json_open(json, '{');
		json_put_u64(json, "first_block", gap->first_sequence);
		json_put_u64(json, "blocks", gap->blocks);
		put_span(json, &gap->span);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_what(struct json *json, const struct verification *verification)
{
	const struct recording_account account = account_of(verification);
	const struct replay *replay = verification->replay;

	json_name(json, "recording");
	json_hex(json, account.recording);
	json_put_u64(json, "recordings", account.recordings);
	json_put_text(json, "host", replay_text(replay, "host"));
	json_put_text(json, "kernel", replay_text(replay, "kernel"));
	json_put_text(json, "version", replay_text(replay, "version"));
	put_span(json, &verification->span);
}

void verify_output_json(struct json *json, const char *path,
			const struct verification *verification)
{
	const struct recording_account account = account_of(verification);
	const struct losses losses = losses_in(verification);
	size_t i;

	json_open(json, '{');
	json_put_text(json, "path", path);
	json_put_text(json, "status", verification_name(verification_status(verification)));
	put_what(json, verification);
	json_put_u64(json, "segments", account.segments);
	json_put_u64(json, "blocks", account.blocks);
	json_put_u64(json, "events", account.calls);
	json_put_u64(json, "bytes", bytes_of(verification));
	json_put_u64(json, "lost", losses_count(&losses));
	json_put_u64(json, "untracked", losses.untracked);
	json_put_u64(json, "unwritten_blocks",
		     replay_end_number(verification->replay, "unwritten_blocks", 0));
	json_put_bool(json, "ended", account.has_end);
	json_put_text(json, "end_reason", replay_end_text(verification->replay, "reason"));
	json_put_u64(json, "damaged_bytes", account.damaged_bytes);
	json_put_u64(json, "missing_blocks", account.missing_blocks);
	json_put_u64(json, "newer_blocks", account.newer_blocks);
	for (i = 0; i < ODDITIES; i++)
		json_put_u64(json, oddities[i].name, oddity_count(verification, i));
	put_files(json, verification);
	put_damages(json, verification);
	put_gaps(json, verification);
	json_close(json, '}');
}
