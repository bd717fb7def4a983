// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/limits.h"

const char limit_other_kernels[] = "(other kernels)";

static const struct {
	const char *name;
	size_t most;
	bool memory;
	const char *one, *many;
} limits[] = {
#define X(limit, name, most, memory, one, many) { name, most, memory, one, many },
	LIMITS(X)
#undef X
};

size_t limit_most(enum limit limit)
{
	return limits[limit].most;
}

const char *limit_name(enum limit limit)
{
	return limits[limit].name;
}

const char *limit_words(enum limit limit, uint64_t count)
{
	return count == 1 ? limits[limit].one : limits[limit].many;
}

bool limits_concern_memory(const uint64_t others[LIMITS_COUNT])
{
	enum limit limit;

	for (limit = 0; limit < LIMITS_COUNT; limit++)
		if (limits[limit].memory && others[limit])
			return true;
	return false;
}
