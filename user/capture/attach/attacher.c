// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/attacher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capture/attach/helper.h"
#include "event/probe.h"

#define NAME "memscope-attach"

struct attacher {
	struct helper helper;
	struct request *request; /* with room for a probe of every row */
};

/* The file comes along. */
struct request {
	int32_t program_fd;
	uint32_t attach_type; /* 0: single */
	int32_t pid;
	uint32_t on_return;
	uint32_t count;    /* 0: nothing but an answer is wanted */
	uint32_t reserved; /* 0 */
	uint64_t values[]; /* offsets, then cookies, then counters */
};

static size_t request_bytes(uint32_t count)
{
	return sizeof(struct request) + sizeof(uint64_t) * 3 * count;
}

static int create(int program_fd, uint32_t attach_type, const struct link_site *site,
		  bool on_return)
{
	if (attach_type)
		return link_create_multi(program_fd, attach_type, site, on_return);
	return link_create_single(program_fd, site, on_return);
}

/* ---- the helper's side ----------------------------------------------------------------------- */

static int create_as_asked(const struct request *request, int file)
{
	char path[64];
	const struct link_site site = { .path = path,
					.offsets = request->values,
					.cookies = request->values + request->count,
					.counters = request->values + 2 * (size_t)request->count,
					.count = request->count,
					.pid = request->pid };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return create(request->program_fd, request->attach_type, &site, request->on_return);
}

/* Returns 0 or -errno. A link that cannot be handed over is closed; the answer says why. */
static int answer_link(int fd, int32_t link)
{
	int32_t result = helper_send(fd, &link, sizeof(link), &link, 1, true);

	close(link);
	return result ? helper_send(fd, &result, sizeof(result), NULL, 0, true) : 0;
}

/* `file` is -1 if none has come, as when this process had no descriptor left for it. */
static int answer(int fd, const struct request *request, int file)
{
	int32_t result = 0;

	if (request->count)
		result = file < 0 ? -EMFILE : create_as_asked(request, file);
	if (request->count && result >= 0)
		return answer_link(fd, result);
	return helper_send(fd, &result, sizeof(result), NULL, 0, true);
}

static void serve(int fd)
{
	size_t room = request_bytes(probe_count()), count = 1;
	struct request *request = malloc(room);
	int file, err = 0;

	/* Little work, but calls are missed until it is done. */
	setpriority(PRIO_PROCESS, 0, -20);
	/* Who waits for an answer that cannot be sent sees this end closed, and does it itself. */
	for (; !err && request && helper_receive(fd, request, room, &file, &count) > 0; count = 1) {
		err = answer(fd, request, count ? file : -1);
		if (count)
			close(file);
	}
}

/* ---- this side ------------------------------------------------------------------------------- */

struct attacher *attacher_open(void)
{
	struct attacher *attacher = calloc(1, sizeof(*attacher));
	int err = -ENOMEM;

	if (attacher)
		attacher->request = calloc(1, request_bytes(probe_count()));
	if (attacher && attacher->request)
		err = helper_start(&attacher->helper, NAME, true, serve);
	if (!err)
		return attacher;
	helper_warn_missing(NAME, err);
	attacher_close(attacher);
	return NULL;
}

void attacher_close(struct attacher *attacher)
{
	if (!attacher)
		return;
	helper_end(&attacher->helper);
	free(attacher->request);
	free(attacher);
}

/* Returns the link or -errno; -EPIPE: the helper is gone. */
static int ask(struct attacher *attacher, int file)
{
	size_t bytes = request_bytes(attacher->request->count), count = 1;
	int32_t result;
	int link, err;

	err = helper_send(attacher->helper.fd, attacher->request, bytes, &file, file >= 0, true);
	if (err)
		return err;
	if (helper_receive(attacher->helper.fd, &result, sizeof(result), &link, &count) !=
	    sizeof(result))
		return -EPIPE;
	if (result >= 0 && attacher->request->count)
		return count ? link : -EMFILE;
	return result;
}

int attacher_create(struct attacher *attacher, int program_fd, uint32_t attach_type,
		    const struct link_site *site, bool on_return)
{
	size_t list_bytes = site->count * sizeof(uint64_t);
	struct request *request;
	int file, result;

	if (!attacher || site->count > probe_count())
		return create(program_fd, attach_type, site, on_return);
	request = attacher->request;
	*request = (struct request){ .program_fd = program_fd,
				     .attach_type = attach_type,
				     .pid = site->pid,
				     .on_return = on_return,
				     .count = site->count };
	memcpy(request->values, site->offsets, list_bytes);
	memcpy(request->values + site->count, site->cookies, list_bytes);
	if (site->counters)
		memcpy(request->values + 2 * (size_t)site->count, site->counters, list_bytes);
	else
		memset(request->values + 2 * (size_t)site->count, 0, list_bytes);
	file = open(site->path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	result = ask(attacher, file);
	close(file);
	return result == -EPIPE ? create(program_fd, attach_type, site, on_return) : result;
}

void attacher_wait(struct attacher *attacher)
{
	if (!attacher)
		return;
	*attacher->request = (struct request){ 0 };
	ask(attacher, -1);
}

uint64_t attacher_cpu_ns(const struct attacher *attacher)
{
	return attacher ? helper_cpu_ns(&attacher->helper) : 0;
}
