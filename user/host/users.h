/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of users, as this machine knows them. Each is asked for once: where they come over the
 * network, that can take a while.
 */
#ifndef MEMSCOPE_HOST_USERS_H
#define MEMSCOPE_HOST_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USERS_MAX 256 /* of more, the oldest is forgotten */
#define USERS_NAME_BYTES 64

struct users {
	struct user {
		uint32_t uid;
		char name[USERS_NAME_BYTES]; /* "": it has none */
	} known[USERS_MAX];
	size_t count; /* so many have been asked for */
};

/* A zeroed struct users is ready. Returns "" if there is no name; it lives until the next call. */
const char *users_name(struct users *users, uint32_t uid);

/* Whether there is a user of that name. A number stands for a user in any case. */
bool users_exists(const char *name);

#endif /* MEMSCOPE_HOST_USERS_H */
