// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the frames of running interpreters from outside, as the kernel side does, and compares them
 * with what the interpreters say of them themselves. Which interpreters: PYTHONS, paths separated
 * by spaces, or the distribution's.
 */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "host/proc.h"
#include "symbols/python_code.h"
#include "symbols/python_runtime.h"

#define MAX_FRAMES 64
#define MAX_THREADS 16

/* Says which frames a thread has, and waits in a call on the same line. */
static const char script[] =
	"import sys, os, threading\n"
	"def say(f):\n"
	"  out = ['thread %d %d' % (threading.get_ident(),"
	" threading.get_native_id())]\n"
	"  while f:\n"
	"    c = f.f_code\n"
	"    out.append('%s|%s|%d' % (c.co_filename, getattr(c, 'co_qualname', c.co_name),"
	" f.f_lineno))\n"
	"    f = f.f_back\n"
	"  os.write(1, ('\\n'.join(out) + '\\n.\\n').encode())\n"
	"class Outer:\n"
	"  class Inner:\n"
	"    def method(self, x):\n"
	"      list(map(lambda y: (say(sys._getframe()), os.read(0, 1)), [x]))\n"
	"def generator(n):\n"
	"  if n:\n"
	"    yield from generator(\n"
	"      n - 1)\n"
	"  exec('Outer.Inner().method(3)')\n"
	"  yield 1\n"
	"def stra\xc3\x9f"
	"e():\n"
	"  for _ in generator(5):\n"
	"    break\n"
	"t = threading.Thread(target=stra\xc3\x9f"
	"e); t.start(); t.join()\n"
	"stra\xc3\x9f"
	"e()\n";

struct interpreter {
	pid_t pid;
	int input; /* the other ends of its own */
	FILE *output;
};

static void start(const char *program, const char *path, struct interpreter *interpreter)
{
	int input[2], output[2];

	assert_int_equal(pipe(input), 0);
	assert_int_equal(pipe(output), 0);
	interpreter->pid = fork();
	assert_true(interpreter->pid >= 0);
	if (!interpreter->pid) {
		dup2(input[0], 0);
		dup2(output[1], 1);
		close(input[1]);
		close(output[0]);
		execl(program, program, path, (char *)NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	interpreter->input = input[1];
	interpreter->output = fdopen(output[0], "r");
	assert_non_null(interpreter->output);
}

static void end(const struct interpreter *interpreter)
{
	close(interpreter->input);
	fclose(interpreter->output);
	kill(interpreter->pid, SIGKILL);
	waitpid(interpreter->pid, NULL, 0);
}

/* ---- what the kernel side does --------------------------------------------------------------- */

static uint64_t word_at(pid_t pid, uint64_t addr, size_t bytes)
{
	const struct proc_place place = { addr, bytes };
	uint64_t value = 0;

	assert_int_equal(proc_read_places(pid, &place, 1, &value), 0);
	return value;
}

/* Of all interpreters of the process. */
static uint64_t find_thread(pid_t pid, const struct ms_python *python, uint64_t id)
{
	uint64_t interpreter = word_at(pid, python->runtime + python->interpreters_head, 8);
	uint64_t thread = word_at(pid, interpreter + python->interpreter_threads, 8);
	int count;

	for (count = 0; thread && count < MAX_THREADS; count++) {
		if (word_at(pid, thread + python->thread_id, 8) == id)
			return thread;
		thread = word_at(pid, thread + python->thread_next, 8);
	}
	return 0;
}

static int64_t offset_of(pid_t pid, const struct ms_python *python, uint64_t frame, uint64_t code)
{
	const uint64_t instr = word_at(pid, frame + python->frame_instr, 8);

	if (python->flags & MS_PYTHON_INSTR_ADDRESS)
		return (int64_t)(instr - code - python->code_instructions);
	return python->flags & MS_PYTHON_INSTR_UNITS ? (int32_t)instr * 2 : (int32_t)instr;
}

static void append_frame(pid_t pid, const struct ms_python *python, uint64_t frame,
			 struct string *text)
{
	const uint64_t code_addr = word_at(pid, frame + python->frame_code, 8) & ~3ull;
	const uint64_t line = word_at(pid, code_addr + python->code_first_line, 4);
	struct python_code code;
	uint32_t check = ms_python_check(line, word_at(pid, code_addr + python->code_filename, 8),
					 word_at(pid, code_addr + python->code_name, 8),
					 word_at(pid, code_addr + python->code_lines, 8));

	assert_int_equal(python_code_read(&code, pid, python, code_addr, check), 0);
	string_append(text, code.filename.bytes, code.filename.length);
	string_append_char(text, '|');
	string_append(text, code.name.bytes, code.name.length);
	string_append_format(text, "|%u\n",
			     python_code_line(&code, offset_of(pid, python, frame, code_addr)));
	python_code_fini(&code);
}

static void append_frames(pid_t pid, const struct ms_python *python, uint64_t id,
			  struct string *text)
{
	uint64_t thread = find_thread(pid, python, id), frame;
	int count;

	assert_int_not_equal(thread, 0);
	frame = word_at(pid, thread + python->thread_frame, 8);
	if (python->cframe_frame != MS_PYTHON_NONE)
		frame = word_at(pid, frame + python->cframe_frame, 8);
	for (count = 0; frame && count < MAX_FRAMES; count++) {
		if (!python->shim_owner ||
		    word_at(pid, frame + python->frame_owner, 1) < python->shim_owner)
			append_frame(pid, python, frame, text);
		frame = word_at(pid, frame + python->frame_previous, 8);
	}
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* The thread has said what it had to, and is about to wait: in read(0, ...). */
static void wait_for_read(pid_t pid, int tid)
{
	char path[64], line[512];
	long number = -1, descriptor = -1;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, tid);
	while (number != SYS_read || descriptor != 0) {
		FILE *file = fopen(path, "r");

		assert_non_null(file);
		assert_non_null(fgets(line, sizeof(line), file));
		fclose(file);
		sscanf(line, "%ld 0x%lx", &number, (unsigned long *)&descriptor);
	}
}

/* What it says of one of its threads; returns that one's id. */
static uint64_t hear(const struct interpreter *interpreter, struct string *text)
{
	unsigned long long id = 0;
	char line[512];
	int tid;

	assert_non_null(fgets(line, sizeof(line), interpreter->output));
	assert_int_equal(sscanf(line, "thread %llu %d", &id, &tid), 2);
	while (fgets(line, sizeof(line), interpreter->output) && strcmp(line, ".\n") != 0)
		string_append_text(text, line);
	wait_for_read(interpreter->pid, tid);
	return id;
}

static void compare(const struct interpreter *interpreter, const struct ms_python *python)
{
	struct string expected = { 0 }, found = { 0 };
	uint64_t id = hear(interpreter, &expected);

	string_append_char(&expected, '\0');
	append_frames(interpreter->pid, python, id, &found);
	string_append_char(&found, '\0');
	assert_true(expected.length > 100);
	assert_string_equal(found.bytes, expected.bytes);
	string_fini(&expected);
	string_fini(&found);
}

static void compare_interpreter(const char *program, const char *path)
{
	struct python_files files = { 0 };
	struct interpreter interpreter;
	struct ms_python python;
	int round;

	print_message("# %s\n", program);
	start(program, path, &interpreter);
	/* The worker thread first, then the main thread. */
	for (round = 0; round < 2; round++) {
		int c = fgetc(interpreter.output);

		assert_int_not_equal(c, EOF);
		ungetc(c, interpreter.output);
		assert_int_equal(python_runtime_find(&files, interpreter.pid, &python), 0);
		assert_true(files.count <= 2); /* the program, and a library */
		compare(&interpreter, &python);
		assert_int_equal(write(interpreter.input, "x", 1), 1);
	}
	end(&interpreter);
	python_files_fini(&files);
}

static void test_frames_are_those_of_the_interpreter(void **state)
{
	const char *given = getenv("PYTHONS");
	char *programs = strdup(given ? given : "/usr/bin/python3"), *next = programs, *program;

	(void)state;
	assert_non_null(programs);
	folder_put("a b.py", script);
	while ((program = strsep(&next, " "))) {
		if (!*program)
			continue;
		if (access(program, X_OK))
			print_message("# skipped: there is no %s\n", program);
		else
			compare_interpreter(program, "a b.py");
	}
	free(programs);
}

static void test_a_process_without_python(void **state)
{
	struct python_files files = { 0 };
	struct ms_python python;

	(void)state;
	assert_int_equal(python_runtime_find(&files, getpid(), &python), -ENOENT);
	python_files_fini(&files);
}

static void test_names_of_files(void **state)
{
	(void)state;
	assert_true(python_runtime_is_candidate("/usr/bin/python3.11"));
	assert_true(python_runtime_is_candidate("/opt/conda/lib/libpython3.12.so.1.0"));
	assert_true(python_runtime_is_candidate("/usr/bin/python3 (deleted)"));
	assert_false(python_runtime_is_candidate("/x/_ctypes.cpython-311-x86_64-linux-gnu.so"));
	assert_false(python_runtime_is_candidate("/usr/lib/python3/libc.so.6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_frames_are_those_of_the_interpreter),
		cmocka_unit_test(test_a_process_without_python),
		cmocka_unit_test(test_names_of_files),
	};

	return unit_run("python_process", tests);
}
