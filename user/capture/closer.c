// SPDX-License-Identifier: BSD-2-Clause
#include "capture/closer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "capture/helper.h"

#define NAME "memscope-close"

struct closer {
	struct helper helper;
	int *fds; /* not handed over yet */
	size_t count, capacity;
	bool owes; /* the message that the helper is the only one to have what it was given */
};

static int keep(struct closer *closer, const int *fds, size_t count)
{
	int err = memory_grow(&closer->fds, &closer->capacity, closer->count + count,
			      sizeof(*closer->fds));

	if (err)
		return err;
	memcpy(closer->fds + closer->count, fds, count * sizeof(*fds));
	closer->count += count;
	return 0;
}

static void close_all(const int *fds, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		close(fds[i]);
}

/*
 * A message brings descriptors, or says that nobody else has those any more that came before:
 * whoever closes the last copy is the one who waits. Its byte says whether an answer is wanted.
 */
static void serve(int fd)
{
	struct closer held = { 0 };
	int fds[HELPER_FDS];
	size_t count = HELPER_FDS;
	char wanted;

	for (; helper_receive(fd, &wanted, 1, fds, &count) > 0; count = HELPER_FDS) {
		if (count && !keep(&held, fds, count))
			continue;
		close_all(held.fds, held.count);
		held.count = 0;
		if (count) {
			close_all(fds, count);
			continue;
		}
		/* Who waits for an answer that cannot be sent must not wait for ever. */
		if (wanted && helper_send(fd, &wanted, 1, NULL, 0, true))
			return;
	}
	/* The kernel would close them in its own order. */
	close_all(held.fds, held.count);
}

struct closer *closer_open(void)
{
	struct closer *closer = calloc(1, sizeof(*closer));
	int err = closer ? helper_start(&closer->helper, NAME, false, serve) : -ENOMEM;

	if (!err)
		return closer;
	helper_warn_missing(NAME, err);
	free(closer);
	return NULL;
}

/* As many as there is room for, or all; in their order. */
static void hand_over(struct closer *closer, bool wait)
{
	const char wanted = 0;

	while (closer->count) {
		size_t part = closer->count < HELPER_FDS ? closer->count : HELPER_FDS;

		/* Should there be no helper any more, the last copy is closed here. */
		if (helper_send(closer->helper.fd, &wanted, 1, closer->fds, part, wait) == -EAGAIN)
			return;
		close_all(closer->fds, part);
		closer->count -= part;
		memmove(closer->fds, closer->fds + part, closer->count * sizeof(*closer->fds));
		closer->owes = true;
	}
	if (closer->owes)
		closer->owes = helper_send(closer->helper.fd, &wanted, 1, NULL, 0, wait) == -EAGAIN;
}

void closer_add(struct closer *closer, const int *fds, size_t count)
{
	if (!count)
		return;
	if (closer && !keep(closer, fds, count))
		hand_over(closer, false);
	else
		close_all(fds, count);
}

void closer_flush(struct closer *closer)
{
	if (closer)
		hand_over(closer, false);
}

void closer_wait(struct closer *closer)
{
	char wanted = 1;
	size_t none = 0;

	if (!closer)
		return;
	hand_over(closer, true);
	if (!helper_send(closer->helper.fd, &wanted, 1, NULL, 0, true))
		helper_receive(closer->helper.fd, &wanted, 1, NULL, &none);
}

void closer_close(struct closer *closer)
{
	if (!closer)
		return;
	hand_over(closer, true);
	helper_end(&closer->helper);
	free(closer->fds);
	free(closer);
}

uint64_t closer_cpu_ns(const struct closer *closer)
{
	return closer ? helper_cpu_ns(&closer->helper) : 0;
}
