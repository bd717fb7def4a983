// SPDX-License-Identifier: BSD-2-Clause
/*
 * Errors of devices that NVIDIA's driver reports in the kernel's log while it is captured.
 */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/live_internal.h"
#include "host/kernel_log.h"

int live_kernel_log_take(struct live *live)
{
	struct ms_xid xid = { .event = { .type = MS_TYPE_XID, .size = sizeof(xid) } };

	while (live->kernel_log_fd > 0 && !live->err &&
	       kernel_log_next(live->kernel_log_fd, &xid)) {
		live_drain(live); /* what came before it */
		xid.event.ts_ns = live_end_ns(live);
		if (!live->err)
			live_feed(live, &xid, sizeof(xid));
	}
	return live->err;
}

static int on_line(void *context, uint64_t data)
{
	(void)data;
	return live_kernel_log_take(context);
}

int live_kernel_log_open(struct live *live)
{
	live->kernel_log_fd = kernel_log_open();
	if (live->kernel_log_fd < 0) {
		log_debug("errors of devices (Xid) are not seen: /dev/kmsg: %s",
			  strerror(-live->kernel_log_fd));
		return 0;
	}
	return loop_add_fd(live->loop, live->kernel_log_fd, EPOLLIN, on_line, live, 0, NULL);
}

void live_kernel_log_close(struct live *live)
{
	if (live->kernel_log_fd > 0)
		close(live->kernel_log_fd);
	live->kernel_log_fd = 0;
}
