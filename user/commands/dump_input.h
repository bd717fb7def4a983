/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all commands that make something of recordings do alike.
 */
#ifndef MEMSCOPE_COMMANDS_DUMP_INPUT_H
#define MEMSCOPE_COMMANDS_DUMP_INPUT_H

#include <stddef.h>

#include "commands/command.h"
#include "base/writer.h"
#include "report/gate.h"
#include "symbols/symbol_files.h"
#include "store/dump_set.h"
#include "store/report_reader.h"

/* clang-format off */
#define DUMP_INPUT_SYMBOL_ROWS(at) \
	{ 0, "symbols", "DIRECTORY", \
	  "Give native frames the functions and lines that were not known when the recording was made," \
	  " from the files in DIRECTORY and below: the traced program and its libraries, or debug" \
	  " information that was split off. A file is used if its build ID is that of the traced one.", \
	  option_text, (at) + offsetof(struct symbol_files_options, directory) }, \
	{ 0, "debuginfod", NULL, \
	  "The same from the debuginfod servers in the environment variable DEBUGINFOD_URLS. They" \
	  " learn the build IDs of what was traced.", \
	  option_flag, (at) + offsetof(struct symbol_files_options, debuginfod) }
/* clang-format on */

/* Parsers for rows whose place in the settings has the type: */
/* struct report_options */
int dump_input_pids(const struct option_row *row, const char *value, void *settings);
int dump_input_device(const struct option_row *row, const char *value,
		      void *settings); /* int32_t */
/* struct report_time */
int dump_input_time(const struct option_row *row, const char *value, void *settings);

/*
 * The same, or "oom", "oom:N", "peak", or "mark:NAME": the first one of that name for --from, the
 * last for other options.
 */
int dump_input_time_or_mark(const struct option_row *row, const char *value, void *settings);

/*
 * Adds the conditions of a list to the gate; `kinds` is the set of kinds that the command knows.
 * Returns 0 or -errno, logged.
 */
int dump_input_gate(const struct option_row *row, const char *value, struct gate *gate,
		    uint32_t kinds);

/*
 * What to do about a condition that could not be checked, behind the reason, as text.
 * `has_thresholds`: the command has the options --threshold and --warmup.
 */
const char *dump_input_gate_hint(const struct gate *gate, const struct gate_result *result,
				 bool has_thresholds);

/*
 * The exit code of all conditions together; says what was checked if none holds, and if some could
 * not be: those of `unknown`, a bit set of their places in the list.
 */
int dump_input_gate_code(const struct gate *gate, const struct report *report, bool found,
			 uint64_t unknown);

/* The same into `*time`. */
int dump_input_moment(const struct option_row *row, const char *value, struct report_time *time);

/* Calls `take` for each part between commas, until it fails. Returns that error, -ENOMEM or 0. */
int dump_input_list(const struct option_row *row, const char *value, void *settings,
		    int (*take)(const struct option_row *row, char *part, size_t place,
				void *settings));

/*
 * Writes what `put` says to the file `output`, which is a whole one afterwards or what it was
 * before, or to standard output (NULL). Returns 0 or -errno, logged but for a closed pipe.
 */
int dump_input_write(const char *output, void (*put)(struct writer *writer, const void *context),
		     const void *context);

/*
 * Looks for the recordings in `files` (ends with NULL: dumps and directories). `output`, where the
 * command will write (NULL: standard output), must be neither one of them nor another recording.
 * Returns an exit code; unless it is EXIT_OK, the error has been logged, and there is no set to
 * free. From now on a closed pipe is an error of the program that writes to it, and does not end
 * the program.
 */
int dump_input_find(struct dump_set *set, char **files, const char *output);

/*
 * Reads them, until a signal comes (commands/interrupt.h). What the reader's options ask for must
 * be in there. `symbols`: where names of frames are looked for; NULL: nowhere. As above. Frees the
 * set. Shows its progress unless somebody else is told of it.
 */
int dump_input_read(struct report_reader *reader, struct dump_set *set,
		    const struct symbol_files_options *symbols);

#endif /* MEMSCOPE_COMMANDS_DUMP_INPUT_H */
