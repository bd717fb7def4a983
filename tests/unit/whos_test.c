// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the kernel side says of processes, by records that are made here.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/records/identity_record.h"
#include "event/identity.h"
#include "host/proc.h"

#define START_NS 70000000ull
#define GONE (1 << 22) /* no process has that pid */

static const char *const names[] = { "RANK", "POD_NAME" };
static const struct process_facts_wish wish = { .variables = names,
						.variables_count = 2,
						.line = true };

struct made {
	struct ms_who *who;
	size_t used; /* of its texts */
};

static void add(struct made *made, enum ms_who_text text, uint32_t known, const char *bytes,
		size_t count)
{
	memcpy(made->who->texts + made->used, bytes, count);
	made->used += count;
	made->who->bytes[text] = (uint16_t)count;
	made->who->known |= known;
}

#define ADD(made, text, known, bytes) add(made, text, known, bytes, sizeof(bytes) - 1)

static struct made *python(pid_t pid, uint64_t start_ns)
{
	static uint64_t room[2048];
	static struct made made;

	memset(room, 0, sizeof(room));
	made = (struct made){ .who = (struct ms_who *)room };
	*made.who = (struct ms_who){
		.event = { .pid = (uint32_t)pid, .start_ns = start_ns, .type = MS_TYPE_WHO },
		.uid = 1000,
		.gid = 1001,
		.parent = 77,
		.ns_pid = 5,
		.known = MS_WHO_USER | MS_WHO_PARENT | MS_WHO_NS_PID,
		.comm = "python3",
	};
	ADD(&made, MS_WHO_TEXT_GROUP, MS_WHO_GROUP, "session-3.scope\0user.slice\0");
	ADD(&made, MS_WHO_TEXT_OLD_GROUP, 0, "");
	ADD(&made, MS_WHO_TEXT_EXE, MS_WHO_EXE, "python3.11\0bin\0usr\0");
	ADD(&made, MS_WHO_TEXT_ARGUMENTS, MS_WHO_ARGUMENTS, "python3\0train.py\0--lr=1\0");
	ADD(&made, MS_WHO_TEXT_ENVIRONMENT, MS_WHO_ENVIRONMENT, "PASSWORD=x\0RANK=3\0POD_NAME=abc");
	return &made;
}

static void keep(struct whos *whos, const struct made *made)
{
	whos_keep(whos, made->who, sizeof(*made->who) + made->used);
}

static void facts_of(const struct made *made, struct process_facts *facts)
{
	static struct whos whos;

	keep(&whos, made);
	who_facts(whos_find(&whos, (pid_t)made->who->event.pid, made->who->event.start_ns), &wish,
		  facts);
	whos_fini(&whos);
}

static void test_facts(void **state)
{
	static struct process_facts facts;

	(void)state;
	facts_of(python(GONE, START_NS), &facts);
	assert_true(facts.has_status);
	assert_int_equal(facts.uid, 1000);
	assert_int_equal(facts.gid, 1001);
	assert_int_equal(facts.parent, 77);
	assert_int_equal(facts.ns_pid, 5);
	assert_string_equal(facts.exe, "/usr/bin/python3.11");
	assert_string_equal(facts.script, "train.py");
	assert_string_equal(facts.line, "python3 train.py --lr=1");
	assert_string_equal(facts.cgroup, "/user.slice/session-3.scope");
	assert_string_equal(facts.variables[0], "3");
	assert_string_equal(facts.variables[1], "abc");
}

/* Half a text says what is not so. */
static void test_what_is_cut(void **state)
{
	static struct process_facts facts;
	struct made *made = python(GONE, START_NS);

	(void)state;
	made->who->known |= MS_WHO_CUT_ENVIRONMENT;
	facts_of(made, &facts);
	assert_true(facts.has_variable[0]);
	assert_false(facts.has_variable[1]);
	made->who->known &= ~(MS_WHO_USER | MS_WHO_EXE | MS_WHO_GROUP | MS_WHO_ENVIRONMENT);
	facts_of(made, &facts);
	assert_false(facts.has_status);
	assert_string_equal(facts.exe, "");
	assert_string_equal(facts.cgroup, "");
	assert_false(facts.has_variable[0]);
	/* What interprets is then known by its own name for itself. */
	assert_string_equal(facts.script, "train.py");
}

/* A container is told by a cgroup of either version. */
static void test_groups_of_both_versions(void **state)
{
	static struct process_facts facts;
	struct made *made = python(GONE, START_NS);

	(void)state;
	made->used = 0;
	ADD(made, MS_WHO_TEXT_GROUP, MS_WHO_GROUP, "containerd.service\0system.slice\0");
	ADD(made, MS_WHO_TEXT_OLD_GROUP, MS_WHO_OLD_GROUP,
	    "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789\0docker\0");
	ADD(made, MS_WHO_TEXT_EXE, MS_WHO_EXE, "a\0");
	ADD(made, MS_WHO_TEXT_ARGUMENTS, MS_WHO_ARGUMENTS, "");
	ADD(made, MS_WHO_TEXT_ENVIRONMENT, MS_WHO_ENVIRONMENT, "");
	facts_of(made, &facts);
	assert_string_equal(facts.container.runtime, "docker");
	assert_string_equal(facts.exe, "/a");
	made->who->known &= ~MS_WHO_OLD_GROUP;
	facts_of(made, &facts);
	assert_string_equal(facts.container.runtime, "");
	assert_string_equal(facts.cgroup, "/system.slice/containerd.service");
}

static void test_a_long_path_keeps_its_end(void **state)
{
	static struct process_facts facts;
	static char names_of[2000];
	struct made *made = python(GONE, START_NS);

	(void)state;
	memset(names_of, 'd', sizeof(names_of));
	memcpy(names_of, "program", 8);
	names_of[250] = names_of[500] = names_of[1999] = '\0';
	made->used = 0;
	made->who->bytes[MS_WHO_TEXT_GROUP] = 0;
	add(made, MS_WHO_TEXT_EXE, MS_WHO_EXE, names_of, sizeof(names_of));
	ADD(made, MS_WHO_TEXT_ARGUMENTS, 0, "");
	ADD(made, MS_WHO_TEXT_ENVIRONMENT, 0, "");
	facts_of(made, &facts);
	assert_int_equal(strlen(facts.exe), sizeof(facts.exe) - 1);
	assert_string_equal(strrchr(facts.exe, '/'), "/program");
	assert_string_equal(facts.cgroup, "/");
}

static void test_malformed_records_and_old_ones_are_not_kept(void **state)
{
	static struct whos whos;
	struct made *made = python(GONE, START_NS);
	pid_t pid;

	(void)state;
	whos_keep(&whos, made->who, sizeof(*made->who) - 1);
	whos_keep(&whos, made->who, sizeof(*made->who) + made->used - 1);
	assert_null(whos_find(&whos, GONE, START_NS));
	for (pid = 1; pid <= WHOS + 1; pid++)
		keep(&whos, python(pid, START_NS));
	assert_null(whos_find(&whos, 1, START_NS));
	assert_non_null(whos_find(&whos, 2, START_NS));
	assert_null(whos_find(&whos, 2, START_NS + 1));
	made = python(2, START_NS);
	made->who->uid = 5;
	keep(&whos, made);
	assert_int_equal(whos_find(&whos, 2, START_NS)->uid, 5);
	assert_non_null(whos_find(&whos, 3, START_NS));
	whos_fini(&whos);
	assert_null(whos_find(&whos, 3, START_NS));
}

/* ---- beside what /proc says ------------------------------------------------------------------ */

static const struct identity *identity_of(struct identity_maker *maker, pid_t pid,
					  uint64_t start_ns)
{
	const struct ms_event next = { .ts_ns = ~0ull, .start_ns = start_ns, .pid = (uint32_t)pid };
	const struct ms_identity *made = identity_record_make(maker, &next);
	static struct identity identity;

	assert_non_null(made);
	assert_int_equal(identity_parse(made->texts, made->length, &identity), 0);
	return &identity;
}

static void test_of_a_process_that_is_gone(void **state)
{
	static struct identity_maker maker;
	const struct identity *identity;

	(void)state;
	assert_null(identity_of(&maker, GONE, START_NS)->items[IDENTITY_EXE]);
	keep(&maker.whos, python(GONE, START_NS));
	identity = identity_of(&maker, GONE, START_NS);
	assert_string_equal(identity->items[IDENTITY_EXE], "/usr/bin/python3.11");
	assert_string_equal(identity->items[IDENTITY_SCRIPT], "train.py");
	assert_string_equal(identity->items[IDENTITY_UID], "1000");
	assert_string_equal(identity->items[IDENTITY_RANK], "3");
	assert_null(identity->items[IDENTITY_CMDLINE]);
	identity_record_fini(&maker);
}

/* It says more if it is of the same program, and of another one nothing. */
static void test_of_a_process_that_runs(void **state)
{
	static struct identity_maker maker;
	const struct identity *identity;
	char exe[256] = "";
	struct proc_info info;
	struct made *made;
	char names_of[256] = "";

	(void)state;
	assert_int_equal(proc_read(getpid(), &info), 0);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	made = python(getpid(), info.start_ns);
	keep(&maker.whos, made);
	identity = identity_of(&maker, getpid(), info.start_ns);
	assert_string_equal(identity->items[IDENTITY_EXE], "/usr/bin/python3.11");
	assert_string_equal(identity->items[IDENTITY_UID], "1000");
	made->used = 0;
	snprintf(names_of, sizeof(names_of), "%s", strrchr(exe, '/') + 1);
	made->who->bytes[MS_WHO_TEXT_GROUP] = made->who->bytes[MS_WHO_TEXT_OLD_GROUP] = 0;
	add(made, MS_WHO_TEXT_EXE, MS_WHO_EXE, names_of, strlen(names_of) + 1);
	made->who->bytes[MS_WHO_TEXT_ARGUMENTS] = made->who->bytes[MS_WHO_TEXT_ENVIRONMENT] = 0;
	keep(&maker.whos, made);
	identity = identity_of(&maker, getpid(), info.start_ns);
	assert_string_equal(identity->items[IDENTITY_EXE], exe);
	assert_int_equal(atoi(identity->items[IDENTITY_UID]), geteuid());
	identity_record_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_what_is_cut),
		cmocka_unit_test(test_groups_of_both_versions),
		cmocka_unit_test(test_a_long_path_keeps_its_end),
		cmocka_unit_test(test_malformed_records_and_old_ones_are_not_kept),
		cmocka_unit_test(test_of_a_process_that_is_gone),
		cmocka_unit_test(test_of_a_process_that_runs),
	};

	return cmocka_run_group_tests_name("who processes are", tests, NULL, NULL);
}
