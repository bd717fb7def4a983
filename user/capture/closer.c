// SPDX-License-Identifier: BSD-2-Clause
#include "capture/closer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/helper.h"

struct closer {
	struct helper helper;
};

/* A message is a byte, which says whether an answer is wanted. */
static void serve(int fd)
{
	int fds[HELPER_FDS];
	size_t count = HELPER_FDS;
	char wanted;

	for (; helper_receive(fd, &wanted, 1, fds, &count) > 0; count = HELPER_FDS) {
		while (count)
			close(fds[--count]);
		if (wanted)
			helper_send(fd, &wanted, 1, NULL, 0);
	}
}

int closer_open(struct closer **result)
{
	struct closer *closer = calloc(1, sizeof(*closer));
	int err;

	if (!closer)
		return -ENOMEM;
	err = helper_start(&closer->helper, "memscope-close", false, serve);
	if (err) {
		free(closer);
		return err;
	}
	*result = closer;
	return 0;
}

void closer_add(struct closer *closer, const int *fds, size_t count)
{
	const char wanted = 0;
	size_t i, part;

	for (; count; count -= part, fds += part) {
		part = count < HELPER_FDS ? count : HELPER_FDS;
		/* Should that fail, the last copy is closed here. */
		if (closer)
			helper_send(closer->helper.fd, &wanted, 1, fds, part);
		for (i = 0; i < part; i++)
			close(fds[i]);
	}
}

void closer_wait(struct closer *closer)
{
	char wanted = 1;
	size_t none = 0;

	if (closer && !helper_send(closer->helper.fd, &wanted, 1, NULL, 0))
		helper_receive(closer->helper.fd, &wanted, 1, NULL, &none);
}

void closer_close(struct closer *closer)
{
	if (!closer)
		return;
	helper_end(&closer->helper);
	free(closer);
}

uint64_t closer_cpu_ns(const struct closer *closer)
{
	return closer ? helper_cpu_ns(&closer->helper) : 0;
}
