// SPDX-License-Identifier: BSD-2-Clause
/*
 * `memscope-bpf verify`: whether recordings are whole, and what of them can be used.
 */
#include <errno.h>
#include <signal.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/requirements.h"
#include "commands/standard_input.h"
#include "commands/verify_output.h"
#include "base/writer.h"
#include "store/verification.h"

struct settings {
	const char *repair;
	bool json;
	bool quiet;
};

#define AT(member) offsetof(struct settings, member)

static const struct option_row rows[] = {
	{ 'j', "json", NULL, "Write one JSON object (docs/verify.schema.json).", option_flag,
	  AT(json) },
	{ 'f', "format", "text|json", "text (default), or what --json writes.", option_text_or_json,
	  AT(json) },
	{ 0, "repair", "OUT",
	  "Copy every undamaged block of the recording to OUT, which must not exist yet. Missing"
	  " parts stay missing, and are reported for OUT, too. If OUT was written, the exit code is"
	  " 0; if it cannot be written, it is removed.",
	  option_file, AT(repair) },
	OPTION_SILENT_ROW(" unless --json asks for it", AT(quiet)),
	OPTION_VERBOSE_ROW,
	{ 0 },
};

/* ---- running --------------------------------------------------------------------------------- */

struct run {
	struct settings settings;
	struct writer writer;
	struct json json;
	struct verify_total total;
	int code; /* the worst so far */
};

static void note_code(struct run *run, int code)
{
	/* What could not be read at all is worse than what is damaged. */
	if (run->code == EXIT_OK || code != EXIT_CORRUPT)
		run->code = code;
}

static int code_of(int err)
{
	return err == -E2BIG || err == -ENODATA ? EXIT_CORRUPT : exit_code_of(err);
}

static void tell(struct run *run, const char *path, const struct verification *verification)
{
	const enum verification_status status = verification_status(verification);

	if (run->settings.json)
		verify_output_json(&run->json, path, verification);
	else if (!run->settings.quiet)
		verify_output_text(&run->writer.text, path, verification);
	verify_total_add(&run->total, verification);
	if (status == VERIFICATION_CUT_SHORT)
		log_warning("%s: cut short (no end): all that was written before it is there",
			    path);
	if (status == VERIFICATION_INCOMPLETE)
		log_warning("%s: parts of the recording are missing", path);
	if (status == VERIFICATION_UNUSABLE)
		log_error("%s: %s", path, replay_unusable(verification->replay));
	if (status >= VERIFICATION_DAMAGED && !run->settings.repair)
		note_code(run, EXIT_CORRUPT);
}

static int repair(struct verification *verification)
{
	int err = verification_finish(verification);

	if (!err)
		log_info("%s: written, with %" PRIu64 " blocks", verification->copy_path,
			 verification->copied);
	return err;
}

static void verify_one(struct run *run, const char *path)
{
	struct verification verification;
	int err = verification_init(&verification);

	run->total.count++;
	verification.copy_path = run->settings.repair;
	if (!err)
		err = verification_add(&verification, path);
	if (!err)
		err = verification_read(&verification);
	if (!err)
		tell(run, path, &verification);
	if (!err && run->settings.repair)
		err = repair(&verification);
	if (err == -ENOMEM)
		log_error("%s: not enough memory", path);
	if (err)
		note_code(run, code_of(err));
	verification_fini(&verification);
}

static void verify_all(struct run *run, char **paths)
{
	int err;

	writer_init_stdout(&run->writer);
	run->json.out = &run->writer.text;
	if (run->settings.json) {
		json_open(&run->json, '{');
		json_put_text(&run->json, "schema", "memscope-bpf/verify/1");
		json_name(&run->json, "dumps");
		json_open(&run->json, '[');
	}
	for (; *paths; paths++)
		verify_one(run, *paths);
	if (run->settings.json) {
		json_close(&run->json, ']');
		json_close(&run->json, '}');
		string_append_char(&run->writer.text, '\n');
	} else if (run->total.count > 1 && !run->settings.quiet) {
		verify_total_text(&run->writer.text, &run->total);
	}
	err = writer_close(&run->writer);
	if (err && err != -EPIPE)
		run->code = EXIT_FAILED;
}

static int verify(int argc, char **argv)
{
	struct run run = { .writer.fd = -1 };
	int first = options_parse(&verify_command, argc, argv, &run.settings, &run.code);

	if (first < 0)
		return run.code;
	signal(SIGPIPE, SIG_IGN); /* who reads a part of it wants the verdict too */
	if (first == argc || (run.settings.repair && argc - first > 1)) {
		log_error(first < argc        ? "--repair takes one recording at a time" :
			  run.settings.repair ? "--repair takes two files, the one to write and the"
						" damaged one: verify --repair GOOD FILE" :
						"which recording? `memscope-bpf verify FILE`");
		return EXIT_USAGE;
	}
	if (standard_input_prepare(argv + first))
		return EXIT_FAILED;
	verify_all(&run, argv + first);
	return run.code;
}

const struct command verify_command = {
	.name = "verify",
	.summary = "Check whether a recording is whole, and which parts can be used",
	.synopsis = "[OPTIONS] FILE...",
	.description =
		"Reads recordings from beginning to end and says for each its host and time, how"
		" much is in it, and whether it is whole. A directory is one recording, as a flight"
		" recorder leaves it: its *.mscope files, in the order of the blocks in them,"
		" whatever their names. Where a directory or a file has several recordings, \"covers\" is"
		" from the earliest beginning to the latest end of all. `verify` needs no privileges, no GPU and no BPF, and runs"
		" on any machine.\n"
		"\n"
		"The result is one of these. whole. cut short: the recording has no end, because"
		" the recorder was killed or is still recording; everything except perhaps the last"
		" block is whole. incomplete: blocks are missing between others, because they could"
		" not be written or were removed. damaged. unusable: some blocks are whole, but"
		" none of those at the beginning of a segment, which the others depend on. too new:"
		" for this program. not a recording: nothing in it is one, or none of it is whole. The exit code is 0 for the"
		" first three, with a warning for the second and third, and 7 for the others,"
		" unless --repair could write the whole blocks.\n"
		"\n"
		"Damage destroys only the blocks in which it lies, each of 250 ms or less. Events"
		" before and after it are exact. The live memory is exact again from the next"
		" segment on, because each segment begins with a list of the live memory.",
	.examples = "# is it whole?\n"
		    "memscope-bpf verify run.mscope\n"
		    "# for a script\n"
		    "memscope-bpf verify --json run.mscope | jq -r '.dumps[].status'\n"
		    "# keep what is whole of it\n"
		    "memscope-bpf verify --repair good.mscope damaged.mscope\n",
	.options = rows,
	.run = verify,
};
