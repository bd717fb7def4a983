// SPDX-License-Identifier: BSD-2-Clause
#include "commands/agent_push.h"

#include <errno.h>
#include <string.h>

#include "agent/push_client.h"
#include "agent/push_target.h"
#include "base/log.h"

#define MIN_NS 1000000000ull
#define MAX_NS (3600 * MIN_NS)

static enum push_protocol_id protocol_of(const struct option_row *row)
{
	const char *option = push_protocols[PUSH_OTLP].option;

	return strncmp(row->name, option, strlen(option)) != 0 ? PUSH_REMOTE_WRITE : PUSH_OTLP;
}

int agent_push_parse_url(const struct option_row *row, const char *value, void *settings)
{
	const char **text = (const char **)((char *)settings + row->offset);
	const enum push_protocol_id id = protocol_of(row);
	struct push_target target;
	const char *wrong;

	*text = strcmp(value, "off") != 0 ? value : NULL;
	wrong = *text ? push_target_parse(&target, id, value) : NULL;
	if (!wrong)
		return 0;
	log_error("--%s: \"%s\" is not the URL of %s: %s", row->name, target.shown,
		  push_protocols[id].of, wrong);
	return -EINVAL;
}

int agent_push_parse_interval(const struct option_row *row, const char *value, void *settings)
{
	const uint64_t *ns = (const uint64_t *)((char *)settings + row->offset);
	int err = option_duration(row, value, settings);

	if (err || (*ns >= MIN_NS && *ns <= MAX_NS))
		return err;
	log_error("--%s: %s is not between 1s and 1h", row->name, value);
	return -ERANGE;
}

/* The process that pushes reads it again, each time that it starts. */
int agent_push_parse_client(const struct option_row *row, const char *value, void *settings)
{
	int err = option_absolute_path(row, value, "none", settings);
	struct push_client client;

	if (err || *value != '/')
		return err;
	err = push_client_read(&client, value);
	push_client_fini(&client);
	return err;
}
