// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "host/proc.h"
#include "host/process_facts.h"
#include "host/users.h"

enum key {
	COMM,
	USER,
	CGROUP,
	CONTAINER,
	NAMESPACE,
	KEYS,
};

static const char *const keys[KEYS] = { "comm", "user", "cgroup", "container", "namespace" };

/* ---- rules ----------------------------------------------------------------------------------- */

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t");
	for (length = strlen(text); length && strchr(" \t", text[length - 1]);)
		text[--length] = '\0';
	return text;
}

/* "alice user=bob" */
static bool has_other_rule(const char *pattern)
{
	const char *word = pattern;
	size_t i;

	while ((word = strchr(word, ' '))) {
		word += strspn(word, " ");
		for (i = 0; i < KEYS; i++)
			if (!strncmp(word, keys[i], strlen(keys[i])) &&
			    word[strlen(keys[i])] == '=')
				return true;
	}
	return false;
}

static const char *parse_rule(struct policy_rules *rules, char *text)
{
	char *equals = strchr(text, '=');
	struct policy_rule *rule = &rules->rules[rules->count];

	if (!equals)
		return "a rule is KEY=PATTERN, as in user=alice";
	if (rules->count == POLICY_RULES)
		return "there are more than 64 rules";
	*equals = '\0';
	rule->pattern = trim(equals + 1);
	for (rule->key = 0; rule->key < KEYS; rule->key++)
		if (!strcmp(trim(text), keys[rule->key]))
			break;
	if (rule->key == KEYS)
		return "a key is comm, user, cgroup, container or namespace";
	if (!*rule->pattern)
		return "a pattern is empty";
	if (has_other_rule(rule->pattern))
		return "rules are separated by commas, as in user=alice,user=bob";
	rules->count++;
	return NULL;
}

const char *policy_parse(struct policy_rules *rules, const char *text)
{
	const char *wrong = NULL;
	char *at = rules->text, *next;

	*rules = (struct policy_rules){ 0 };
	if (strlen(text) >= sizeof(rules->text))
		return "it is longer than 4095 bytes";
	snprintf(rules->text, sizeof(rules->text), "%s", text);
	for (; !wrong && at; at = next) {
		next = strchr(at, ',');
		if (next)
			*next++ = '\0';
		wrong = parse_rule(rules, at);
	}
	return wrong;
}

static bool is_unknown_user(const struct policy_rule *rule)
{
	return rule->key == USER && !strpbrk(rule->pattern, "*?[\\") &&
	       rule->pattern[strspn(rule->pattern, "0123456789")] && !users_exists(rule->pattern);
}

static bool is_named_before(const struct policy_rules *rules, size_t place)
{
	size_t i;

	for (i = 0; i < place; i++)
		if (rules->rules[i].key == USER &&
		    !strcmp(rules->rules[i].pattern, rules->rules[place].pattern))
			return true;
	return false;
}

size_t policy_append_unknown_users(const struct policy_rules *rules, struct string *out)
{
	size_t count = 0, i;

	for (i = 0; i < rules->count; i++) {
		if (!is_unknown_user(&rules->rules[i]) || is_named_before(rules, i))
			continue;
		string_append_format(out, "%s\"%s\"", count++ ? ", " : "", rules->rules[i].pattern);
	}
	return count;
}

void policy_rules_copy(struct policy_rules *to, const struct policy_rules *from)
{
	size_t i;

	*to = *from;
	for (i = 0; i < to->count; i++)
		to->rules[i].pattern = to->text + (from->rules[i].pattern - from->text);
}

static bool has_same_rules(const struct policy_rules *a, const struct policy_rules *b)
{
	size_t i;

	for (i = 0; i < a->count && i < b->count; i++)
		if (a->rules[i].key != b->rules[i].key ||
		    strcmp(a->rules[i].pattern, b->rules[i].pattern) != 0)
			return false;
	return a->count == b->count;
}

const char *policy_traced(const struct policy *policy)
{
	if (policy->allow.count)
		return policy->deny.count ?
			       "processes that use CUDA and match --allow, but not --deny" :
			       "processes that use CUDA and match --allow";
	return policy->deny.count ? "all processes that use CUDA, but for those that match --deny" :
				    "all processes that use CUDA";
}

bool policy_is_same(const struct policy *a, const struct policy *b)
{
	return has_same_rules(&a->allow, &b->allow) && has_same_rules(&a->deny, &b->deny);
}

static bool are_about_places(const struct policy_rules *rules)
{
	size_t i;

	for (i = 0; i < rules->count; i++)
		if (rules->rules[i].key == CGROUP || rules->rules[i].key == CONTAINER ||
		    rules->rules[i].key == NAMESPACE)
			return true;
	return false;
}

bool policy_is_about_places(const struct policy *policy)
{
	return are_about_places(&policy->allow) || are_about_places(&policy->deny);
}

/* ---- what they are about --------------------------------------------------------------------- */

#define ID_LENGTH 64

/* Container engines show the first digits of an id alone. */
static bool is_beginning(const char *pattern, const char *id)
{
	const size_t length = strlen(pattern);

	return strlen(id) == ID_LENGTH && strspn(pattern, "0123456789abcdef") == length &&
	       !strncmp(id, pattern, length);
}

static bool is_about(const struct policy_rule *rule, const struct policy_subject *subject)
{
	const char *const values[KEYS] = { subject->comm, subject->user, subject->cgroup,
					   subject->container, subject->namespace };
	const char *value = values[rule->key];

	if (*value && !fnmatch(rule->pattern, value, 0))
		return true;
	if (rule->key == COMM && *subject->title && !fnmatch(rule->pattern, subject->title, 0))
		return true;
	if (rule->key == CONTAINER && is_beginning(rule->pattern, value))
		return true;
	if (rule->key == CONTAINER && *subject->container_name &&
	    !fnmatch(rule->pattern, subject->container_name, 0))
		return true;
	return rule->key == USER && *subject->uid && !fnmatch(rule->pattern, subject->uid, 0);
}

static bool any_is_about(const struct policy_rules *rules, const struct policy_subject *subject)
{
	size_t i;

	for (i = 0; i < rules->count; i++)
		if (is_about(&rules->rules[i], subject))
			return true;
	return false;
}

bool policy_denies(const struct policy *policy, const struct policy_subject *subject)
{
	if (any_is_about(&policy->deny, subject))
		return true;
	return policy->allow.count && !any_is_about(&policy->allow, subject);
}

static bool is_by_name_alone(const struct policy_rules *rules)
{
	size_t i;

	for (i = 0; i < rules->count; i++)
		if (rules->rules[i].key != COMM)
			return false;
	return true;
}

bool policy_denies_name(const struct policy *policy, const char *comm)
{
	const struct policy_subject subject = { .comm = comm,
						.title = "",
						.user = "",
						.uid = "",
						.cgroup = "",
						.container = "",
						.container_name = "",
						.namespace = "" };

	return any_is_about(&policy->deny, &subject) ||
	       (is_by_name_alone(&policy->allow) && policy_denies(policy, &subject));
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A rule that is to keep a process out may be about any of this. */
static bool is_enough(const struct ms_who *who)
{
	const uint32_t needed = MS_WHO_GROUP | MS_WHO_USER | MS_WHO_ENVIRONMENT;

	return (who->known & needed) == needed && !(who->known & MS_WHO_CUT_ENVIRONMENT);
}

/* What ends, or has ended, is known by what the kernel side has said of it. */
static int read_facts(const struct policy_asked *asked, const struct process_facts_wish *wish,
		      struct process_facts *facts, char comm[MS_COMM_BYTES])
{
	const struct ms_who *who = whos_find(asked->whos, asked->pid, asked->start_ns);
	struct proc_info info;
	int err = proc_read(asked->pid, &info);

	if (!err)
		err = process_facts_read(asked->pid, asked->start_ns, wish, facts);
	if (!err)
		memcpy(comm, info.comm, sizeof(info.comm));
	if (who && is_enough(who) && (err || !facts->is_whole)) {
		who_facts(who, wish, facts);
		snprintf(comm, MS_COMM_BYTES, "%.*s", MS_COMM_BYTES - 1, who->comm);
		err = 0;
	}
	return err;
}

int policy_ask(const struct policy *policy, const struct policy_asked *asked, bool *denied)
{
	static const char *const variables[] = { "POD_NAMESPACE" };
	const struct process_facts_wish wish = { .variables = variables, .variables_count = 1 };
	struct process_facts *facts = malloc(sizeof(*facts));
	char uid[STRING_NUMBER_BYTES] = "", comm[MS_COMM_BYTES];
	const struct container_names *names;
	struct policy_subject subject;
	int err = facts ? read_facts(asked, &wish, facts, comm) : -ENOMEM;

	if (!err) {
		names = asked->names ? name_sources_find(asked->names, &facts->container) : NULL;
		if (facts->has_status)
			snprintf(uid, sizeof(uid), "%u", facts->uid);
		subject = (struct policy_subject){
			.comm = comm,
			.title = facts->title,
			.user = facts->has_status ? users_name(asked->users, facts->uid) : "",
			.uid = uid,
			.cgroup = facts->cgroup,
			.container = facts->container.id,
			.container_name = names ? names->name : "",
			.namespace = names && names->namespace[0] ? names->namespace :
								    facts->variables[0],
		};
		*denied = policy_denies(policy, &subject);
	}
	free(facts);
	return err;
}
