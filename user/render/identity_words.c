// SPDX-License-Identifier: BSD-2-Clause
#include "render/identity_words.h"

#include <string.h>

#include "render/field.h"

#define PATH_SHOWN 200 /* bytes; of longer ones, the end */
#define WORD_SHOWN 80  /* bytes; of longer ones, the beginning */
#define LINE_SHOWN 1000
#define ID_BYTES 64 /* of a container: random, and known by the first few */
#define ID_SHOWN 12

static void append_beginning(struct string *out, const char *text, size_t most)
{
	const size_t length = strlen(text);

	field_append_safe(out, text, length < most ? length : most);
	if (length > most)
		string_append_text(out, "...");
}

static void append_end_of(struct string *out, const char *text, size_t length, size_t most)
{
	if (length > most)
		string_append_text(out, "...");
	field_append_safe(out, length > most ? text + length - most : text,
			  length > most ? most : length);
}

static void append_end(struct string *out, const char *text, size_t most)
{
	append_end_of(out, text, strlen(text), most);
}

/* ---- names ----------------------------------------------------------------------------------- */

void identity_words_name(struct string *out, const struct process *process)
{
	if (process->name[0])
		field_append_safe(out, process->name, strlen(process->name));
	else
		string_append_text(out, "process");
}

void identity_words_process(struct string *out, const struct process *process)
{
	identity_words_name(out, process);
	string_append_format(out, " (%u)", process->pid);
}

/* ---- items ----------------------------------------------------------------------------------- */

void identity_words_program(struct string *out, const struct identity *identity)
{
	const char *exe = identity->items[IDENTITY_EXE], *script = identity->items[IDENTITY_SCRIPT];

	if (identity->items[IDENTITY_CMDLINE]) {
		append_beginning(out, identity->items[IDENTITY_CMDLINE], LINE_SHOWN);
		return;
	}
	if (exe)
		append_end(out, exe, PATH_SHOWN);
	if (exe && script)
		string_append_char(out, ' ');
	if (script)
		append_end(out, script, PATH_SHOWN);
}

void identity_words_user(struct string *out, const struct identity *identity)
{
	const char *user = identity->items[IDENTITY_USER], *uid = identity->items[IDENTITY_UID];

	if (user)
		append_beginning(out, user, WORD_SHOWN);
	else if (uid)
		append_beginning(out, uid, WORD_SHOWN);
}

void identity_words_container(struct string *out, const struct identity *identity)
{
	const char *runtime = identity->items[IDENTITY_RUNTIME];
	const char *name = identity->items[IDENTITY_CONTAINER_NAME];
	const char *id = identity->items[IDENTITY_CONTAINER];

	if (!id)
		return;
	if (runtime) {
		append_beginning(out, runtime, WORD_SHOWN);
		string_append_char(out, ' ');
	}
	if (name) {
		append_beginning(out, name, WORD_SHOWN);
		string_append_char(out, ' ');
	}
	if (strlen(id) == ID_BYTES)
		field_append_safe(out, id, ID_SHOWN);
	else
		append_beginning(out, id, WORD_SHOWN);
}

/* A service or a job has no other name there. */
static void append_cgroup(struct string *out, const struct identity *identity)
{
	const char *cgroup = identity->items[IDENTITY_CGROUP];

	if (cgroup && strcmp(cgroup, "/") != 0 && !identity->items[IDENTITY_CONTAINER])
		append_end(out, cgroup, PATH_SHOWN);
}

/* Any of them can be asked for as well. */
static void append_other_cgroups(struct string *out, const struct identity *identity)
{
	const char *paths = identity->items[IDENTITY_CONTAINER] ?
				    NULL :
				    identity->items[IDENTITY_OTHER_CGROUPS];
	const size_t begin = out->length;
	size_t length;

	for (; paths && *paths; paths += length + (paths[length] == '\n')) {
		length = strcspn(paths, "\n");
		string_append_text(out, out->length > begin ? ", " : "");
		append_end_of(out, paths, length, PATH_SHOWN);
	}
}

void identity_words_pod(struct string *out, const struct identity *identity)
{
	const char *pod = identity->items[IDENTITY_POD];
	const char *namespace = identity->items[IDENTITY_NAMESPACE];

	if (!pod)
		pod = identity->items[IDENTITY_POD_UID];
	if (!pod)
		return;
	if (namespace) {
		append_beginning(out, namespace, WORD_SHOWN);
		string_append_char(out, '/');
	}
	append_beginning(out, pod, WORD_SHOWN);
}

/* A container's host name says no more than its id. */
void identity_words_variables(struct string *out, const struct identity *identity)
{
	const size_t start = out->length;
	enum identity_item item;

	for (item = 0; item < IDENTITY_ITEMS; item++) {
		if (identity_rows[item].kind != IDENTITY_VARIABLE || item == IDENTITY_HOSTNAME ||
		    !identity->items[item])
			continue;
		string_append_format(out, "%s%s=", out->length > start ? " " : "",
				     identity_rows[item].name);
		append_beginning(out, identity->items[item], WORD_SHOWN);
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

struct sentence {
	struct string *out;
	const char *before;
	bool begun;
};

static void add(struct sentence *sentence, const char *what,
		void (*append)(struct string *out, const struct identity *identity),
		const struct identity *identity)
{
	struct string part = { 0 };

	append(&part, identity);
	if (part.length) {
		string_append_text(sentence->out, sentence->begun ? ", " : sentence->before);
		string_append_text(sentence->out, what);
		string_append(sentence->out, part.bytes, part.length);
		sentence->begun = true;
	}
	sentence->out->failed |= part.failed;
	string_fini(&part);
}

static void append_parent(struct string *out, const struct identity *identity)
{
	uint32_t parent;

	if (identity_number(identity, IDENTITY_PARENT, &parent) && parent)
		string_append_u64(out, parent);
}

static void append_ns_pid(struct string *out, const struct identity *identity)
{
	uint32_t ns_pid;

	if (identity_number(identity, IDENTITY_NS_PID, &ns_pid))
		string_append_u64(out, ns_pid);
}

bool identity_words_append(struct string *out, const struct process *process, const char *before)
{
	const struct identity *identity = &process->identity.known;
	struct sentence sentence = { out, before, false };
	uint32_t ns_pid;

	add(&sentence, "", identity_words_program, identity);
	add(&sentence, identity->items[IDENTITY_USER] ? "user " : "uid ", identity_words_user,
	    identity);
	add(&sentence, "child of ", append_parent, identity);
	add(&sentence, "", identity_words_container, identity);
	add(&sentence, "cgroup ", append_cgroup, identity);
	add(&sentence, "in other hierarchies ", append_other_cgroups, identity);
	if (identity_number(identity, IDENTITY_NS_PID, &ns_pid) && ns_pid != process->pid)
		add(&sentence, "pid in its namespace ", append_ns_pid, identity);
	add(&sentence, "pod ", identity_words_pod, identity);
	add(&sentence, "", identity_words_variables, identity);
	return sentence.begun;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_items(struct json *json, const struct identity *identity, bool variables)
{
	enum identity_item item;

	for (item = 0; item < IDENTITY_ITEMS; item++) {
		uint32_t number = 0;
		bool known;

		if ((identity_rows[item].kind == IDENTITY_VARIABLE) != variables)
			continue;
		known = identity_rows[item].kind == IDENTITY_NUMBER &&
			identity_number(identity, item, &number);
		if (identity_rows[item].kind == IDENTITY_NUMBER)
			json_put_if(json, identity_rows[item].name, known, number);
		else
			json_put_text(json, identity_rows[item].name, identity->items[item]);
	}
}

void identity_words_json(struct json *json, const struct identity *identity)
{
	if (!identity_is_known(identity)) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	put_items(json, identity, false);
	json_name(json, "environment");
	json_open(json, '{');
	put_items(json, identity, true);
	json_close(json, '}');
	json_close(json, '}');
}
