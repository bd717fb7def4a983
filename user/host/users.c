// SPDX-License-Identifier: BSD-2-Clause
#include "host/users.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

const char *users_name(struct users *users, uint32_t uid)
{
	const size_t count = users->count < USERS_MAX ? users->count : USERS_MAX;
	struct passwd entry, *found = NULL;
	char bytes[4096];
	struct user *user;
	size_t i;

	for (i = 0; i < count; i++)
		if (users->known[i].uid == uid)
			return users->known[i].name;
	user = &users->known[users->count++ % USERS_MAX];
	user->uid = uid;
	user->name[0] = '\0';
	if (!getpwuid_r(uid, &entry, bytes, sizeof(bytes), &found) && found)
		snprintf(user->name, sizeof(user->name), "%s", found->pw_name);
	return user->name;
}

bool users_exists(const char *name)
{
	struct passwd entry, *found = NULL;
	char bytes[4096];

	if (!name[strspn(name, "0123456789")])
		return *name;
	return !getpwnam_r(name, &entry, bytes, sizeof(bytes), &found) && found;
}
