// SPDX-License-Identifier: BSD-2-Clause
#include "host/container.h"

#include <stdio.h>
#include <string.h>

#define HEX "0123456789abcdef"
#define NAME HEX "ghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-"
#define ID_LENGTH 64 /* of a container that its engine has given a random id */

/* How a part of the path is named. */
struct pattern {
	const char *prefix;
	const char *runtime;
	const char *suffix; /* which may be missing where the cgroup was not made by systemd */
	bool is_named;      /* what stands in between is a name, not an id */
};

/* clang-format off */
static const struct pattern patterns[] = {
	{ "docker-", "docker", ".scope", false },
	{ "cri-containerd-", "containerd", ".scope", false },
	{ "cri-containerd:", "containerd", "", false },
	{ "nerdctl-", "containerd", ".scope", false },
	{ "crio-", "cri-o", ".scope", false },
	{ "libpod-", "podman", ".scope", false },
	{ "lxc.payload.", "lxc", "", true },
	{ "systemd-nspawn@", "systemd-nspawn", ".service", true },
	{ "machine-", "systemd-nspawn", ".scope", true },
};

/* Parents whose children are containers, named by their ids or names. */
static const struct pattern parents[] = {
	{ "docker", "docker", NULL, false },
	{ "lxc", "lxc", NULL, true },
	{ "lxc.payload", "lxc", NULL, true },
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct part {
	const char *text;
	size_t length;
};

static bool begins(const struct part *part, const char *prefix)
{
	size_t length = strlen(prefix);

	return part->length >= length && !memcmp(part->text, prefix, length);
}

static bool is(const struct part *part, const char *text)
{
	return part->length == strlen(text) && begins(part, text);
}

static bool consists_of(const struct part *part, const char *characters)
{
	size_t i;

	for (i = 0; i < part->length; i++)
		if (!part->text[i] || !strchr(characters, part->text[i]))
			return false;
	return part->length;
}

static bool is_id(const struct part *part)
{
	return part->length == ID_LENGTH && consists_of(part, HEX);
}

static void copy(char *out, size_t bytes, const struct part *part)
{
	snprintf(out, bytes, "%.*s", (int)part->length, part->text);
}

/* systemd writes "\x2d" where a name has a "-": systemd.unit(5). */
static struct part unescape(const struct part *name, char bytes[CONTAINER_ID_BYTES])
{
	size_t length = 0, i;

	for (i = 0; i < name->length && length < CONTAINER_ID_BYTES - 1; i++) {
		const struct part rest = { name->text + i, name->length - i };

		bytes[length++] = begins(&rest, "\\x2d") ? '-' : name->text[i];
		i += begins(&rest, "\\x2d") ? 3 : 0;
	}
	return (struct part){ bytes, i == name->length ? length : 0 };
}

static bool set(struct container *container, const struct pattern *pattern, struct part id)
{
	char bytes[CONTAINER_ID_BYTES];

	if (pattern->is_named)
		id = unescape(&id, bytes);
	if (pattern->is_named ? id.length >= CONTAINER_ID_BYTES || !consists_of(&id, NAME) :
				!is_id(&id))
		return false;
	copy(container->id, sizeof(container->id), &id);
	snprintf(container->runtime, sizeof(container->runtime), "%s", pattern->runtime);
	return true;
}

static bool matches(struct container *container, const struct pattern *pattern,
		    const struct part *part)
{
	struct part id;
	size_t suffix;

	if (!begins(part, pattern->prefix))
		return false;
	id = (struct part){ part->text + strlen(pattern->prefix),
			    part->length - strlen(pattern->prefix) };
	suffix = strlen(pattern->suffix);
	if (id.length > suffix && !memcmp(id.text + id.length - suffix, pattern->suffix, suffix))
		id.length -= suffix;
	else if (pattern->is_named)
		return false;
	/* Virtual machines are machines of systemd, too. */
	if (begins(&id, "qemu\\x2d"))
		return false;
	return set(container, pattern, id);
}

static bool find_in(struct container *container, const struct part *parent, struct part part)
{
	const char *colon = memchr(part.text, ':', part.length);
	size_t i;

	/* SLICE:PREFIX:NAME, of which systemd would have made a scope. */
	if (colon) {
		part.length -= (size_t)(colon + 1 - part.text);
		part.text = colon + 1;
	}
	for (i = 0; i < COUNT(patterns); i++)
		if (matches(container, &patterns[i], &part))
			return true;
	for (i = 0; i < COUNT(parents); i++)
		if (is(parent, parents[i].prefix) && set(container, &parents[i], part))
			return true;
	if (!is_id(&part))
		return false;
	copy(container->id, sizeof(container->id), &part);
	return true;
}

/* "pod1234-..." and "kubepods-burstable-pod1234_....slice". */
static void find_pod(struct container *container, struct part part)
{
	static const char slice[] = ".slice";
	const size_t end = sizeof(slice) - 1;
	const char *colon = memchr(part.text, ':', part.length);
	size_t i, start = 0;

	if (colon)
		part.length = (size_t)(colon - part.text);
	if (part.length > end && !memcmp(part.text + part.length - end, slice, end))
		part.length -= end;
	for (i = 0; begins(&part, "kubepods") && i + 4 < part.length; i++)
		if (!memcmp(part.text + i, "-pod", 4))
			start = i + 1;
	part.text += start;
	part.length -= start;
	if (!begins(&part, "pod"))
		return;
	part.text += 3;
	part.length -= 3;
	if (part.length >= CONTAINER_POD_BYTES || part.length < 32 || !consists_of(&part, HEX "-_"))
		return;
	copy(container->pod_uid, sizeof(container->pod_uid), &part);
	for (i = 0; container->pod_uid[i]; i++)
		if (container->pod_uid[i] == '_')
			container->pod_uid[i] = '-';
}

struct container container_of_cgroup(const char *path)
{
	struct container container = { 0 };
	struct part part = { "", 0 }, parent;
	bool in_kubernetes = false;

	/* In a container, paths begin at its own cgroup: "kubepods" may be what ".." stands for. */
	while (*(path = path + strspn(path, "/")) && !container.id[0]) {
		parent = part;
		part = (struct part){ path, strcspn(path, "/") };
		path += part.length;
		in_kubernetes |= begins(&part, "kubepods") || is(&part, "..");
		if (in_kubernetes && !container.pod_uid[0])
			find_pod(&container, part);
		find_in(&container, &parent, part);
	}
	return container;
}
