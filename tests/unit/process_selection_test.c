// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/process_selection.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "01234567-89ab-cdef-0123-456789abcdef"
#define OTHER_UID "11234567-89ab-cdef-0123-456789abcdef"

static const struct process known = {
	.comm = "python3",
	.name = "python3 train.py",
	.identity.known.items = { [IDENTITY_EXE] = "/usr/bin/python3.11",
				  [IDENTITY_SCRIPT] = "/work/train.py",
				  [IDENTITY_UID] = "1000",
				  [IDENTITY_USER] = "bob",
				  [IDENTITY_CGROUP] = "/docker/" ID,
				  [IDENTITY_CONTAINER] = ID },
};

/* Nothing but the name. */
static const struct process unknown = { .comm = "server", .name = "server" };

#define HAS(process, ...) \
	process_selection_has(&(struct process_selection){ __VA_ARGS__ }, (process))

static void test_all(void **state)
{
	const struct process_selection all = { 0 };

	(void)state;
	assert_false(process_selection_is_some(&all));
	assert_true(process_selection_has(&all, &known));
	assert_true(process_selection_has(&all, &unknown));
}

static void test_users(void **state)
{
	(void)state;
	assert_true(HAS(&known, .user = "bob"));
	assert_true(HAS(&known, .user = "1000"));
	assert_false(HAS(&known, .user = "bo"));
	assert_false(HAS(&known, .user = "100"));
	assert_false(HAS(&unknown, .user = "bob"));
}

#define MAY_HAVE(process, ...) \
	process_selection_may_have(&(struct process_selection){ __VA_ARGS__ }, (process))

/* Only what is not known is in doubt. */
static void test_processes_that_are_left_out_because_they_are_unknown(void **state)
{
	const struct process loose = { .comm = "a",
				       .identity.known.items = {
					       [IDENTITY_EXE] = "/a", [IDENTITY_CGROUP] = "/" } };

	(void)state;
	assert_true(MAY_HAVE(&unknown, .user = "bob"));
	assert_true(MAY_HAVE(&unknown, .container = ID));
	assert_true(MAY_HAVE(&unknown, .comm = "train.py"));
	assert_true(MAY_HAVE(&unknown, .comm = "server", .pod = "web"));
	assert_false(MAY_HAVE(&unknown, .comm = "server"));
	assert_false(MAY_HAVE(&known, .user = "alice"));
	assert_false(MAY_HAVE(&known, .user = "bob"));
	assert_false(MAY_HAVE(&known, .comm = "other"));
	/* It is in no container, whoever it belongs to. */
	assert_false(MAY_HAVE(&loose, .container = ID));
	assert_false(MAY_HAVE(&loose, .container = ID, .user = "bob"));
	assert_true(MAY_HAVE(&loose, .user = "bob"));
	assert_false(MAY_HAVE(&unknown, .comm = NULL));
}

/* The cgroup says that it is in one, and the name is in the environment, or in a map. */
static void test_containers_and_pods_whose_names_are_unknown(void **state)
{
	const struct process pod = { .identity.known.items = { [IDENTITY_CGROUP] = "/kubepods/x",
							       [IDENTITY_CONTAINER] = ID,
							       [IDENTITY_POD_UID] = UID } };
	struct process named = pod;

	(void)state;
	named.identity.known.items[IDENTITY_POD] = "train-0";
	named.identity.known.items[IDENTITY_CONTAINER_NAME] = "main";
	assert_true(MAY_HAVE(&pod, .container = "main"));
	assert_true(MAY_HAVE(&pod, .pod = "train-0"));
	assert_true(MAY_HAVE(&pod, .pod = "ml/train-0"));
	assert_false(MAY_HAVE(&pod, .pod = UID));
	assert_false(MAY_HAVE(&pod, .pod = OTHER_UID));
	assert_false(MAY_HAVE(&pod, .container = "abcdef012345"));
	assert_false(MAY_HAVE(&named, .container = "other"));
	assert_false(MAY_HAVE(&named, .pod = "other"));
	assert_false(MAY_HAVE(&named, .pod = "ml/other"));
	assert_true(MAY_HAVE(&named, .pod = "ml/train-0"));
	assert_false(MAY_HAVE(&known, .pod = "train-0"));
	assert_true(MAY_HAVE(&pod, .namespace = "ml"));
	assert_false(MAY_HAVE(&known, .namespace = "ml"));
}

static void test_pods(void **state)
{
	const struct process pod = { .identity.known.items = { [IDENTITY_POD] = "web-1",
							       [IDENTITY_NAMESPACE] = "shop",
							       [IDENTITY_POD_UID] = "7-8" } };

	(void)state;
	assert_true(HAS(&pod, .pod = "web-1"));
	assert_true(HAS(&pod, .pod = "shop/web-1"));
	assert_true(HAS(&pod, .pod = "7-8"));
	assert_false(HAS(&pod, .pod = "sho/web-1"));
	assert_false(HAS(&pod, .pod = "shop"));
	assert_false(HAS(&pod, .pod = "web"));
	assert_false(HAS(&known, .pod = "web-1"));
	assert_false(HAS(&unknown, .pod = "shop/web-1"));
	assert_true(HAS(&pod, .namespace = "shop"));
	assert_true(HAS(&pod, .namespace = "shop", .pod = "web-1"));
	assert_false(HAS(&pod, .namespace = "sho"));
	assert_false(HAS(&known, .namespace = "shop"));
}

static void test_cgroups(void **state)
{
	(void)state;
	assert_true(HAS(&known, .cgroup = "/docker/" ID));
	assert_true(HAS(&known, .cgroup = "/docker"));
	assert_true(HAS(&known, .cgroup = "/docker/"));
	assert_true(HAS(&known, .cgroup = "/"));
	assert_true(HAS(&known, .cgroup = "/sys/fs/cgroup/docker"));
	assert_true(HAS(&known, .cgroup = "/sys/fs/cgroup/pids/docker/"));
	assert_false(HAS(&known, .cgroup = "/sys/fs/cgroup/a/b/docker"));
	assert_false(HAS(&known, .cgroup = "/dock"));
	assert_true(HAS(&known, .cgroup = "docker/" ID));
	assert_true(HAS(&known, .cgroup = "docker/"));
	assert_false(HAS(&known, .cgroup = "dock"));
	assert_false(HAS(&known, .cgroup = ID));
	assert_false(HAS(&known, .cgroup = "/docker/" ID "/x"));
	assert_false(HAS(&unknown, .cgroup = "/"));
}

/* Beside version 1, in several hierarchies. */
static void test_other_cgroups(void **state)
{
	const struct process old = { .identity.known.items = { [IDENTITY_CGROUP] = "/docker",
							       [IDENTITY_OTHER_CGROUPS] =
								       "/a/b\n/c" } };

	(void)state;
	assert_true(HAS(&old, .cgroup = "/a"));
	assert_true(HAS(&old, .cgroup = "/a/b"));
	assert_true(HAS(&old, .cgroup = "c/"));
	assert_true(HAS(&old, .cgroup = "/docker"));
	assert_false(HAS(&old, .cgroup = "/b"));
	assert_false(HAS(&old, .cgroup = "/a/b/c"));
}

static void test_containers(void **state)
{
	const struct process named = { .identity.known.items = { [IDENTITY_CONTAINER] = "web" } };

	(void)state;
	assert_true(HAS(&known, .container = ID));
	assert_true(HAS(&known, .container = "0123"));
	assert_false(HAS(&known, .container = "123"));
	assert_false(HAS(&known, .container = ID "0"));
	assert_true(HAS(&named, .container = "web"));
	/* Of a name, the beginning is another name. */
	assert_false(HAS(&named, .container = "we"));
	assert_false(HAS(&unknown, .container = "0"));
}

static void test_names(void **state)
{
	const struct process module = {
		.comm = "python3", .identity.known.items = { [IDENTITY_SCRIPT] = "-m vllm.api" }
	};

	(void)state;
	assert_true(HAS(&known, .comm = "python3"));
	assert_true(HAS(&known, .comm = "python*"));
	assert_true(HAS(&known, .comm = "python3.11"));
	assert_true(HAS(&known, .comm = "train.py"));
	assert_true(HAS(&known, .comm = "/work/train.py"));
	assert_true(HAS(&known, .comm = "python3 train.py"));
	assert_false(HAS(&known, .comm = "train"));
	assert_false(HAS(&known, .comm = "python"));
	assert_true(HAS(&unknown, .comm = "server"));
	assert_true(HAS(&module, .comm = "vllm.api"));
	assert_true(HAS(&module, .comm = "-m vllm.api"));
}

static void test_several(void **state)
{
	struct string text = { 0 };

	(void)state;
	assert_true(HAS(&known, .user = "bob", .comm = "train.py", .container = "01"));
	assert_false(HAS(&known, .user = "bob", .comm = "other.py"));
	assert_false(HAS(&known, .user = "alice", .comm = "train.py"));
	process_selection_append(&text, &(struct process_selection){ .user = "bob", .comm = "x" });
	string_append_char(&text, '\0');
	assert_string_equal(text.bytes, "user bob, name x");
	string_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_processes_that_are_left_out_because_they_are_unknown),
		cmocka_unit_test(test_containers_and_pods_whose_names_are_unknown),
		cmocka_unit_test(test_pods),
		cmocka_unit_test(test_cgroups),
		cmocka_unit_test(test_other_cgroups),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_several),
	};

	return unit_run("process_selection", tests);
}
