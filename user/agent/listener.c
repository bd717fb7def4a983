// SPDX-License-Identifier: BSD-2-Clause
#include "agent/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/place.h"
#include "base/string.h"

#define BACKLOG 128
#define UNIX "unix:"

/* ---- addresses ------------------------------------------------------------------------------- */

static int parse_unix(struct listener_address *address, const char *path)
{
	struct sockaddr_un *local = (struct sockaddr_un *)&address->address;

	const size_t length = strlen(path);

	if (*path != '/' || length >= sizeof(local->sun_path))
		return -EINVAL;
	local->sun_family = AF_UNIX;
	memcpy(local->sun_path, path, length);
	address->is_unix = true;
	address->length = sizeof(*local);
	return 0;
}

static int parse_v6(struct listener_address *address, const char *host, uint16_t port)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address->address;

	if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
		return -EINVAL;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	address->length = sizeof(*v6);
	return 0;
}

static int parse_v4(struct listener_address *address, const char *host, uint16_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address->address;

	if (inet_pton(AF_INET, host, &v4->sin_addr) != 1)
		return -EINVAL;
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	address->length = sizeof(*v4);
	return 0;
}

int listener_parse(struct listener_address *address, const char *text)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	uint64_t port;
	size_t length;

	memset(address, 0, sizeof(*address));
	if (!strncmp(text, UNIX, sizeof(UNIX) - 1))
		return parse_unix(address, text + sizeof(UNIX) - 1);
	length = colon ? (size_t)(colon - text) : 0;
	if (!length || length >= sizeof(host) || string_parse_u64(colon + 1, 1, 65535, &port))
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = '\0';
	if (host[0] != '[')
		return parse_v4(address, host, (uint16_t)port);
	if (host[length - 1] != ']')
		return -EINVAL;
	host[length - 1] = '\0';
	return parse_v6(address, host + 1, (uint16_t)port);
}

/* ---- sockets --------------------------------------------------------------------------------- */

/* A socket on which no process listens is what one left that was killed. */
static void remove_left(const struct sockaddr_un *local, const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)local, sizeof(*local)) &&
	    errno == ECONNREFUSED)
		place_remove(path);
	if (fd >= 0)
		close(fd);
}

static int bind_here(int fd, const struct place *place, const char *path)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	struct stat status;
	mode_t mask;
	int err;

	/* bind(2) would follow links on the way there. */
	if (snprintf(local.sun_path, sizeof(local.sun_path), "/proc/self/fd/%d/%s",
		     place->directory, place->name) >= (int)sizeof(local.sun_path))
		return -ENAMETOOLONG;
	if (!place_stat(place, &status) && S_ISSOCK(status.st_mode))
		remove_left(&local, path);
	mask = umask(0111);
	err = bind(fd, (const struct sockaddr *)&local, sizeof(local)) ? -errno : 0;
	umask(mask);
	return err;
}

static int bind_to_path(int fd, const char *path)
{
	struct place place;
	int err = place_find_name(&place, path);

	if (!err)
		err = bind_here(fd, &place, path);
	place_close(&place);
	return err;
}

static int start(int fd, const struct listener_address *address)
{
	const struct sockaddr *to = (const struct sockaddr *)&address->address;
	const int one = 1;
	int err;

	if (address->is_unix) {
		err = bind_to_path(fd, ((const struct sockaddr_un *)to)->sun_path);
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		err = bind(fd, to, address->length) ? -errno : 0;
	}
	return !err && listen(fd, BACKLOG) ? -errno : err;
}

bool listener_lacks_directory(const struct listener_address *address)
{
	const char *path = ((const struct sockaddr_un *)&address->address)->sun_path;
	char directory[sizeof(((struct sockaddr_un *)NULL)->sun_path)];

	if (!address->is_unix)
		return false;
	snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(path, '/') - path + 1), path);
	return access(directory, F_OK);
}

int listener_open(const struct listener_address *address, const char *option, const char *text)
{
	int fd = socket(address->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err = fd < 0 ? -errno : start(fd, address);

	if (!err)
		return fd;
	log_error("--%s %s: %s%s", option, text, place_error(err),
		  listener_lacks_directory(address) ?
			  "; its directory does not exist: create that, or choose another path" :
		  err == -EADDRINUSE ? "; another program listens there: end it, or choose another"
				       " one" :
				       "");
	if (fd >= 0)
		close(fd);
	return err;
}

void listener_remove(const struct listener_address *address)
{
	if (address->is_unix)
		place_remove(((const struct sockaddr_un *)&address->address)->sun_path);
}
