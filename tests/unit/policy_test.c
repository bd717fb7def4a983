// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which processes a policy denies, and which rules are none.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/targets/policy.h"
#include "host/proc.h"

static const struct policy_subject training = {
	.comm = "python3",
	.title = "ray::Trainer",
	.user = "alice",
	.uid = "1000",
	.cgroup = "/kubepods.slice/pod7/cri-containerd-abc.scope",
	.container = "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789",
	.container_name = "cuda",
	.namespace = "ml-training",
};

static const struct policy_subject unknown = { "x", "", "", "", "", "", "", "" };

static bool is_denied(const char *allow, const char *deny, const struct policy_subject *subject)
{
	static struct policy policy;

	policy = (struct policy){ 0 };
	if (allow)
		assert_null(policy_parse(&policy.allow, allow));
	if (deny)
		assert_null(policy_parse(&policy.deny, deny));
	assert_int_equal(policy_is_set(&policy), allow || deny);
	return policy_denies(&policy, subject);
}

static void rules_are_about_what_they_say(void **state)
{
	static const char *const yes[] = {
		"comm=python3",     "comm=py*",          "comm=ray::Tr*",
		"user=alice",       "user=1000",         "cgroup=/kubepods*",
		"cgroup=*/pod7/*",  "container=abcdef*", "container=abcdef012345",
		"container=c?da",   "namespace=ml-*",    "comm=other, user=alice",
		" comm = pytho?3 ",
	};
	static const char *const no[] = { "comm=python",
					  "comm=ray::Train",
					  "user=100",
					  "cgroup=pod7",
					  "container=b*",
					  "container=cud",
					  "container=bcdef0123456",
					  "container=abcdef0123457",
					  "namespace=train",
					  "user=bob,comm=perl" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		assert_true(is_denied(NULL, yes[i], &training));
		assert_false(is_denied(yes[i], NULL, &training));
	}
	for (i = 0; i < sizeof(no) / sizeof(*no); i++) {
		assert_false(is_denied(NULL, no[i], &training));
		assert_true(is_denied(no[i], NULL, &training));
	}
}

static bool is_about_places(const char *allow, const char *deny)
{
	static struct policy policy;

	policy = (struct policy){ 0 };
	assert_null(policy_parse(&policy.allow, allow));
	assert_null(policy_parse(&policy.deny, deny));
	return policy_is_about_places(&policy);
}

static void some_rules_are_about_places(void **state)
{
	(void)state;
	assert_false(is_about_places("comm=a,user=b", "user=c"));
	assert_true(is_about_places("comm=a,cgroup=b", "user=c"));
	assert_true(is_about_places("comm=a", "container=c"));
	assert_true(is_about_places("namespace=a", "user=c"));
}

static void a_denial_comes_first(void **state)
{
	(void)state;
	assert_true(is_denied("user=alice", "comm=python*", &training));
	assert_false(is_denied("user=alice", "comm=perl", &training));
	assert_false(is_denied(NULL, NULL, &training));
}

/* "*" is any container, and not none. */
static void what_is_not_known_is_in_no_rule(void **state)
{
	(void)state;
	assert_true(is_denied(NULL, "container=*", &training));
	assert_false(is_denied(NULL, "container=*,user=*,cgroup=*,namespace=*", &unknown));
	assert_true(is_denied("namespace=*", NULL, &unknown));
}

/* Of a process that has ended before it was asked for, nothing else may be known. */
static void a_name_may_be_enough(void **state)
{
	static const struct {
		const char *allow, *deny;
		bool denies;
	} cases[] = {
		{ NULL, NULL, false },
		{ "comm=train*", NULL, false },
		{ "comm=serve,comm=other", NULL, true },
		{ "comm=serve,user=alice", NULL, false },
		{ NULL, "comm=train*", true },
		{ NULL, "user=alice,comm=other", false },
		{ "user=alice", "comm=train*", true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		static struct policy policy;

		policy.allow.count = policy.deny.count = 0;
		if (cases[i].allow)
			assert_null(policy_parse(&policy.allow, cases[i].allow));
		if (cases[i].deny)
			assert_null(policy_parse(&policy.deny, cases[i].deny));
		assert_int_equal(policy_denies_name(&policy, "trainer"), cases[i].denies);
	}
}

static void what_is_no_rule(void **state)
{
	static const char *const wrong[] = { "",       "alice",   "user=",   "users=alice",
					     "=alice", "user=a,", ",user=a", "user=a,,comm=b" };
	static struct policy_rules rules;
	char many[POLICY_TEXT_BYTES + 10] = "";
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_non_null(policy_parse(&rules, wrong[i]));
	for (i = 0; i < POLICY_RULES; i++)
		strcat(many, i ? ",user=a" : "user=a");
	assert_null(policy_parse(&rules, many));
	assert_int_equal(rules.count, POLICY_RULES);
	strcat(many, ",user=a");
	assert_non_null(policy_parse(&rules, many));
	memset(many, 'a', sizeof(many) - 1);
	assert_non_null(policy_parse(&rules, many));
}

static void this_process_is_asked_for(void **state)
{
	static struct policy policy;
	static struct users users;
	static struct whos whos;
	struct policy_asked asked = { .pid = getpid(), .whos = &whos, .users = &users };
	struct proc_info info;
	char rule[64];
	bool denied = false;

	(void)state;
	assert_int_equal(proc_read(getpid(), &info), 0);
	snprintf(rule, sizeof(rule), "user=%u", geteuid());
	assert_null(policy_parse(&policy.deny, rule));
	asked.start_ns = info.start_ns;
	assert_int_equal(policy_ask(&policy, &asked, &denied), 0);
	assert_true(denied);
	asked.start_ns++;
	assert_int_equal(policy_ask(&policy, &asked, &denied), -ESRCH);
}

static void copies_are_the_same_and_their_own(void **unused)
{
	static struct policy one, other;

	(void)unused;
	assert_null(policy_parse(&one.allow, "user=a*,comm=b"));
	assert_null(policy_parse(&one.deny, "cgroup=/x"));
	assert_false(policy_is_same(&one, &other));
	policy_rules_copy(&other.allow, &one.allow);
	policy_rules_copy(&other.deny, &one.deny);
	assert_true(policy_is_same(&one, &other));
	assert_null(policy_parse(&one.allow, "user=c*,comm=b"));
	assert_string_equal(other.allow.rules[0].pattern, "a*");
	assert_ptr_equal(other.allow.rules[0].pattern, other.allow.text + 5);
	assert_false(policy_is_same(&one, &other));
	assert_null(policy_parse(&one.allow, "user=a*"));
	assert_false(policy_is_same(&one, &other));
}

static void what_is_traced_is_said(void **unused)
{
	static struct policy policy;

	(void)unused;
	assert_string_equal(policy_traced(&policy), "all processes that use CUDA");
	assert_null(policy_parse(&policy.deny, "comm=a"));
	assert_string_equal(policy_traced(&policy),
			    "all processes that use CUDA, but for those that match --deny");
	assert_null(policy_parse(&policy.allow, "comm=b"));
	assert_string_equal(policy_traced(&policy),
			    "processes that use CUDA and match --allow, but not --deny");
	policy.deny.count = 0;
	assert_string_equal(policy_traced(&policy), "processes that use CUDA and match --allow");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_about_what_they_say),
		cmocka_unit_test(some_rules_are_about_places),
		cmocka_unit_test(a_denial_comes_first),
		cmocka_unit_test(what_is_traced_is_said),
		cmocka_unit_test(what_is_not_known_is_in_no_rule),
		cmocka_unit_test(a_name_may_be_enough),
		cmocka_unit_test(what_is_no_rule),
		cmocka_unit_test(this_process_is_asked_for),
		cmocka_unit_test(copies_are_the_same_and_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
