/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the processes in a scope may be traced: rules by their name, user, cgroup, container and
 * namespace. Pure, but for policy_ask(), which looks at a process.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_POLICY_H
#define MEMSCOPE_CAPTURE_TARGETS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/string.h"
#include "capture/records/whos.h"
#include "host/name_sources.h"
#include "host/users.h"

#define POLICY_RULES 64
#define POLICY_TEXT_BYTES 4096

/* A rule is a key and a pattern of fnmatch(3), in which "*" stands for "/", too. */
struct policy_rules {
	char text[POLICY_TEXT_BYTES];
	struct policy_rule {
		size_t key;
		const char *pattern; /* in the text */
	} rules[POLICY_RULES];
	size_t count; /* 0: there are none */
};

/*
 * "comm=python*,user=alice". Returns NULL, or what is wrong, for people. The rules point into
 * themselves: policy_rules_copy() copies them.
 */
const char *policy_parse(struct policy_rules *rules, const char *text);

/*
 * Appends the users whom rules name and this machine does not know: "\"alice\", \"bob\"". Returns
 * how many they are; one that several rules name counts once.
 */
size_t policy_append_unknown_users(const struct policy_rules *rules, struct string *out);

void policy_rules_copy(struct policy_rules *to, const struct policy_rules *from);

/* A process that one of `deny` is about is denied; with `allow`, so is one that none of it is. */
struct policy {
	struct policy_rules allow, deny;
};

static inline bool policy_is_set(const struct policy *policy)
{
	return policy->allow.count || policy->deny.count;
}

/* What is traced with it, for people: "all processes that use CUDA". */
const char *policy_traced(const struct policy *policy);

/* Whether both have the same rules, in the same order. */
bool policy_is_same(const struct policy *a, const struct policy *b);

/* Whether a rule is about what changes when a process is moved to another cgroup. */
bool policy_is_about_places(const struct policy *policy);

/* What is not known is "", which no pattern is about. */
struct policy_subject {
	const char *comm, *title, *user, *uid, *cgroup, *container, *container_name, *namespace;
};

bool policy_denies(const struct policy *policy, const struct policy_subject *subject);

/* Whether it denies each process of that name, whatever else there is to know of it. */
bool policy_denies_name(const struct policy *policy, const char *comm);

struct policy_asked {
	pid_t pid;
	uint64_t start_ns; /* as proc_read() has it */
	const struct whos *whos;
	struct users *users;
	struct name_sources *names; /* of containers and namespaces; NULL: none has one */
};

/*
 * The same for a process, by what /proc says of it now or, if it is ending, what the kernel side
 * has said of it. Returns -ESRCH if neither does: it has ended, or another one has its pid by now.
 */
int policy_ask(const struct policy *policy, const struct policy_asked *asked, bool *denied);

#endif /* MEMSCOPE_CAPTURE_TARGETS_POLICY_H */
