// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "host/script.h"

/* Looked at in memory that ends where the arguments do. `arguments`: with spaces between them. */
static void find(const char *program, const char *arguments, char *script, size_t script_bytes)
{
	const size_t bytes = strlen(arguments) + (*arguments != '\0');
	char *copy = malloc(bytes ? bytes : 1);
	size_t i;

	assert_non_null(copy);
	for (i = 0; i < bytes; i++)
		copy[i] = arguments[i] == ' ' ? '\0' : arguments[i];
	assert_int_equal(script_find(program, copy, bytes, script, script_bytes),
			 script[0] != '\0');
	free(copy);
}

static void expect(const char *program, const char *arguments, const char *expected)
{
	char script[64];

	find(program, arguments, script, sizeof(script));
	assert_string_equal(script, expected);
}

static void test_python(void **state)
{
	(void)state;
	expect("/usr/bin/python3.11", "python3 train.py --lr 1", "train.py");
	expect("/usr/bin/python3.13t", "python3 -u -X dev /a/train.py", "/a/train.py");
	expect("/usr/bin/python3", "python3 -Xdev -Wignore -uB train.py", "train.py");
	expect("/usr/bin/python3", "python3 -W ignore train.py", "train.py");
	expect("/usr/bin/python3", "python3 -m vllm.entrypoints.openai.api_server --port 1",
	       "-m vllm.entrypoints.openai.api_server");
	expect("/usr/bin/python3", "python3 -um torch.distributed.run train.py",
	       "-m torch.distributed.run");
	expect("/usr/bin/python3", "python3 -mpdb", "-m pdb");
	expect("/usr/bin/python3", "python3 -c password='secret' x", "-c");
	expect("/usr/bin/python3", "python3 -Ecpassword", "-c");
	expect("/usr/bin/python3", "python3 --check-hash-based-pycs always a.py", "a.py");
	expect("/usr/bin/python3", "python3 /usr/local/bin/torchrun --nproc-per-node 2 train.py",
	       "/usr/local/bin/torchrun");
	expect("/usr/bin/python3", "python3 - x", "-");
	expect("/usr/bin/python3", "python3 -- -odd.py", "-odd.py");
	expect("/usr/bin/pypy3", "pypy3 a.py", "a.py");
	expect("/usr/bin/python3.11 (deleted)", "python3 a.py", "a.py");
}

static void test_others(void **state)
{
	(void)state;
	expect("/usr/bin/node", "node --max-old-space-size=4096 server.js", "server.js");
	expect("/usr/bin/node", "node -r ./hook.js --import x server.js", "server.js");
	expect("/usr/bin/node", "node -e secret()", "-e");
	expect("/usr/bin/node", "node --eval=secret()", "--eval");
	expect("/usr/bin/perl5.36.0", "perl -w -I lib -Mstrict run.pl", "run.pl");
	expect("/usr/bin/perl", "perl -lne print", "-e");
	expect("/usr/bin/ruby3.1", "ruby -W0 -I lib -rjson app.rb", "app.rb");
	expect("/usr/bin/ruby", "ruby -e puts", "-e");
	expect("/usr/bin/bash", "bash -euo pipefail ./job.sh x", "./job.sh");
	expect("/usr/bin/bash", "-bash", "");
	expect("/usr/bin/bash", "bash --norc --rcfile x ./job.sh", "./job.sh");
	expect("/usr/bin/dash", "sh -c secret", "-c");
	expect("/usr/bin/bash", "bash -ec secret", "-c");
	expect("/opt/jdk/bin/java", "java -Xmx4g -cp a.jar:b.jar -Dx=y com.example.Main a",
	       "com.example.Main");
	expect("/opt/jdk/bin/java", "java -Dx=y -jar app.jar x", "app.jar");
	expect("/opt/jdk/bin/java", "java --module-path=mods -m app/com.example.Main",
	       "-m app/com.example.Main");
	expect("/opt/jdk/bin/java", "java --module=app/com.example.Main",
	       "-m app/com.example.Main");
}

static void test_what_is_no_interpreter(void **state)
{
	(void)state;
	expect("/usr/bin/ffmpeg", "ffmpeg -i a.mp4", "");
	expect("/usr/bin/python3-config", "python3-config --ldflags", "");
	expect("/usr/bin/pythonista", "pythonista a.py", "");
	expect("/usr/bin/javac", "javac Main.java", "");
	expect("", "", "");
	expect("python3", "", "");
}

static void test_what_breaks_off(void **state)
{
	(void)state;
	expect("python3", "python3", "");
	expect("python3", "python3 -m", "");
	expect("python3", "python3 -X", "");
	expect("python3", "python3 --", "");
	expect("java", "java -cp", "");
	expect("java", "java -jar", "");
	/* A process that has changed its title. */
	expect("python3", "ray::IDLE", "");
}

static void test_the_end_of_a_long_path_is_kept(void **state)
{
	char arguments[600] = "python3 ", script[16];

	(void)state;
	memset(arguments + strlen(arguments), 'a', 500);
	strcat(arguments, "/train.py");
	find("python3", arguments, script, sizeof(script));
	assert_string_equal(script, "aaaaaa/train.py");
	strcpy(arguments, "python3 -m very.long.module.name");
	find("python3", arguments, script, sizeof(script));
	assert_string_equal(script, "-m .module.name");
}

static void expect_worker(const char *arguments, size_t bytes, bool expected)
{
	char *copy = malloc(bytes ? bytes : 1);

	assert_non_null(copy);
	memcpy(copy, arguments, bytes);
	assert_int_equal(script_is_worker(copy, bytes), expected);
	free(copy);
}

#define EXPECT_WORKER(arguments, expected) expect_worker(arguments, sizeof(arguments) - 1, expected)

static void test_workers_of_multiprocessing(void **state)
{
	(void)state;
	EXPECT_WORKER("python3\0-c\0from multiprocessing.spawn import spawn_main;"
		      " spawn_main(tracker_fd=5, pipe_handle=7)\0--multiprocessing-fork",
		      true);
	EXPECT_WORKER("python3\0-X\0dev\0-c\0from multiprocessing.forkserver import main; main(7)",
		      true);
	EXPECT_WORKER("python3\0-c\0from multiprocessing.resource_tracker import main;main(4)",
		      false);
	EXPECT_WORKER("python3\0from multiprocessing.spawn import spawn_main; x", false);
	EXPECT_WORKER("python3\0-c\0from multiprocessing.spawn", false);
	EXPECT_WORKER("python3\0-c", false);
	EXPECT_WORKER("", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_what_is_no_interpreter),
		cmocka_unit_test(test_what_breaks_off),
		cmocka_unit_test(test_the_end_of_a_long_path_is_kept),
		cmocka_unit_test(test_workers_of_multiprocessing),
	};

	return unit_run("script", tests);
}
