// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is read of who a process is. The first byte of the input says what the rest is: what a file
 * of /proc/PID has, which processes and those who start them choose, or the texts of a record.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/identity.h"
#include "host/process_facts.h"
#include "host/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

static const char *const programs[] = {
	"/usr/bin/python3.11",       "perl", "ruby3.1", "bash", "node", "java",
	"/usr/bin/python3 (deleted)"
};

#define PROGRAMS (sizeof(programs) / sizeof(*programs))

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_script(const char *arguments, size_t size)
{
	char script[32];
	size_t i;

	for (i = 0; i < PROGRAMS; i++) {
		bool found = script_find(programs[i], arguments, size, script, sizeof(script));

		check(strnlen(script, sizeof(script)) < sizeof(script));
		check(found || !script[0]);
	}
	if (size && memchr(arguments, '\0', size))
		script_find(arguments, arguments, size, script, sizeof(script));
}

static void check_word(const char *text, size_t bytes)
{
	check(strnlen(text, bytes) < bytes);
	check(strspn(text, NAME_CHARACTERS) == strlen(text));
}

static void check_cgroup(char *text)
{
	const struct process_facts_wish wish = { .cgroup = "/a" };
	static struct process_facts facts;

	memset(&facts, 0, sizeof(facts));
	process_facts_cgroup(text, &wish, &facts);
	check(strnlen(facts.cgroup, sizeof(facts.cgroup)) < sizeof(facts.cgroup));
	check_word(facts.container.id, sizeof(facts.container.id));
	check_word(facts.container.runtime, sizeof(facts.container.runtime));
	check_word(facts.container.pod_uid, sizeof(facts.container.pod_uid));
}

static void check_environment(const char *text, size_t size)
{
	static const char *const names[] = { "A", "AB", "RANK" };
	const struct process_facts_wish wish = { .variables = names, .variables_count = 3 };
	static struct process_facts facts;
	size_t i;

	memset(&facts, 0, sizeof(facts));
	process_facts_environment(text, size, &wish, &facts);
	for (i = 0; i < 3; i++) {
		check(facts.has_variable[i] || !facts.variables[i][0]);
		check(strnlen(facts.variables[i], sizeof(facts.variables[i])) <
		      sizeof(facts.variables[i]));
	}
}

static void check_texts(const char *texts, size_t size)
{
	char comm[MS_COMM_BYTES] = "python3", name[IDENTITY_NAME_BYTES];
	struct identity identity;
	int item;

	if (identity_parse(texts, size, &identity))
		return;
	for (item = 0; item < IDENTITY_ITEMS; item++) {
		const char *value = identity.items[item];
		uint32_t number;

		if (!value)
			continue;
		check(value > texts && value < texts + size);
		check(identity_rows[item].kind != IDENTITY_NUMBER ||
		      identity_number(&identity, item, &number));
	}
	identity_name(&identity, comm, name);
	check(strnlen(name, sizeof(name)) < sizeof(name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct process_facts facts;
	char *text;

	if (!size)
		return 0;
	/* As it is, where it ends is known; terminated, where it is read as text. */
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 5) {
	case 0:
		check_script((const char *)data + 1, size - 1);
		break;
	case 1:
		check_cgroup(text);
		break;
	case 2:
		process_facts_status(text, &facts);
		break;
	case 3:
		check_environment((const char *)data + 1, size - 1);
		break;
	case 4:
		check_texts((const char *)data + 1, size - 1);
		break;
	}
	free(text);
	return 0;
}
