// SPDX-License-Identifier: BSD-2-Clause
#include "commands/requirements.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "commands/command.h"
#include "host/privilege.h"

static int require_privileges(const char *otherwise)
{
	char missing[256] = "";
	size_t i, length = 0;

	for (i = 0; i < privileges_count; i++)
		if (privileges[i].required && !privilege_held(&privileges[i]))
			length += snprintf(missing + length, sizeof(missing) - length, "%s%s",
					   length ? ", " : "", privileges[i].name);
	if (!length)
		return EXIT_OK;
	log_error("missing %s: run with sudo, or give the program these capabilities (setcap)%s",
		  missing, otherwise);
	return EXIT_PERMISSION;
}

int require_tracing(struct features *features, const char *otherwise)
{
	int code = require_privileges(otherwise), i;

	for (i = 0; code == EXIT_OK && i < FEATURES_COUNT; i++) {
		int err = feature_infos[i].required ? feature_test(features, i) : 0;

		if (!err)
			continue;
		log_error("missing: %s: %s; %s", feature_infos[i].what, strerror(-err),
			  feature_infos[i].without);
		code = EXIT_UNSUPPORTED;
	}
	return code;
}

int exit_code_of(int err)
{
	switch (err) {
	case 0:
	case -EPIPE: /* the reader has had enough */
		return EXIT_OK;
	case -ESRCH:
		return EXIT_NO_TARGET;
	case -EPERM:
	case -EACCES:
		return EXIT_PERMISSION;
	case -ENOTSUP:
		return EXIT_UNSUPPORTED;
	}
	return EXIT_FAILED;
}
