/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an interpreter interprets: the script or the module that its arguments name. "python3" says
 * little of a process, "python3 train.py" says what it is. Code on the command line, as after -c,
 * may hold secrets and is not looked at.
 *
 * Sources: the manual pages python(1), node(1), perlrun(1), ruby(1), bash(1), dash(1), java(1).
 */
#ifndef MEMSCOPE_HOST_SCRIPT_H
#define MEMSCOPE_HOST_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `program`: the path of the executable file. `arguments`: as /proc/PID/cmdline has them, strings
 * that end with a zero byte (the last one perhaps without), the first of which is the program's
 * name. Copies what is interpreted to `script`, shortened at its beginning if need be: a path,
 * "-m MODULE", "-c" (or what the interpreter calls it) for code, "-" for standard input. Returns
 * whether there is anything: else `script` is "".
 */
bool script_find(const char *program, const char *arguments, size_t bytes, char *script,
		 size_t script_bytes);

/*
 * Whether the arguments are those by which Python's multiprocessing starts a worker, or the server
 * that forks workers: such a process has only code of Python's own on its command line, and runs
 * functions of its parent's script. Source: Lib/multiprocessing/spawn.py and forkserver.py.
 */
bool script_is_worker(const char *arguments, size_t bytes);

#endif /* MEMSCOPE_HOST_SCRIPT_H */
