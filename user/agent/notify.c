// SPDX-License-Identifier: BSD-2-Clause
#include "agent/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/string.h"

#define MOST 1024 /* bytes of a message */

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t length = strlen(path);
	int fd;

	if ((*path != '/' && *path != '@') || length >= sizeof(address.sun_path))
		return -EINVAL;
	memcpy(address.sun_path, path, length);
	if (*path == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length))) {
		close(fd);
		return -errno;
	}
	return fd < 0 ? -errno : fd;
}

static uint64_t read_watchdog(void)
{
	const char *pid = getenv("WATCHDOG_PID"), *period = getenv("WATCHDOG_USEC");
	uint64_t number, us;

	if (!period || string_parse_u64(period, 1, UINT64_MAX / 1000, &us))
		return 0;
	if (pid && (string_parse_u64(pid, 1, INT32_MAX, &number) || (pid_t)number != getpid()))
		return 0;
	return us * 1000;
}

void notify_open(struct notify *notify)
{
	const char *path = getenv("NOTIFY_SOCKET");

	*notify = (struct notify){ .fd = -1, .watchdog_ns = read_watchdog() };
	if (path)
		notify->fd = connect_to(path);
	if (path && notify->fd < 0)
		log_warning("NOTIFY_SOCKET: %s: %s", path, strerror(-notify->fd));
	if (notify->fd < 0)
		*notify = (struct notify){ .fd = -1 };
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
}

void notify_say(const struct notify *notify, const char *format, ...)
{
	char text[MOST];
	va_list arguments;
	int length;

	if (notify->fd < 0)
		return;
	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length > 0 && send(notify->fd, text,
			       (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1,
			       MSG_NOSIGNAL) < 0)
		log_debug("cannot notify the service manager: %s", strerror(errno));
}

void notify_close(struct notify *notify)
{
	if (notify->fd >= 0)
		close(notify->fd);
	notify->fd = -1;
}
