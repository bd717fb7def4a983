// SPDX-License-Identifier: BSD-2-Clause
#include "agent/front.h"

#include <unistd.h>

void front_init(struct front *front)
{
	served_init(&front->served);
	front->served.task = "serves clients";
	front->served.gone = "clients get no more answers";
}

static pid_t start(void *context, int channel)
{
	struct front *front = context;

	front->server.channel = channel;
	return http_server_start(&front->server);
}

int front_open(struct front *front)
{
	int err;

	if (!front->server.listeners_count)
		return 0;
	err = served_open(&front->served, start, front);
	if (err)
		front_close(front);
	return err;
}

int front_start(struct front *front, struct loop *loop)
{
	return served_start(&front->served, loop);
}

void front_say(struct front *front, const struct channel_status *status)
{
	const struct channel_message message = { .type = CHANNEL_STATUS, .state = *status };

	if (front->served.broker.fd >= 0)
		channel_say(front->served.broker.fd, &message, -1);
}

void front_renew(struct front *front)
{
	const struct channel_message message = { .type = CHANNEL_RENEW };

	if (front->served.broker.fd >= 0 && front->server.web_config_path &&
	    !channel_say(front->served.broker.fd, &message, -1))
		front->served.broker.renewals++;
}

void front_close(struct front *front)
{
	size_t i;

	served_close(&front->served);
	for (i = 0; i < front->server.listeners_count; i++)
		close(front->server.listeners[i].fd);
	front->server.listeners_count = 0;
}
