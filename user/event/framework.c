// SPDX-License-Identifier: BSD-2-Clause
#include "event/framework.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
#define X(framework, name) name,
	MS_FRAMEWORKS(X)
#undef X
};

static const char *const symbols[] = {
#define MS_FRAMEWORK(framework, action, symbol, ...) #symbol,
#include "frameworks.def"
#undef MS_FRAMEWORK
};

/* What all of them begin with: of hundreds of thousands of names, few do. */
#define PREFIX "_ZN3c1027report"

int framework_find(const char *symbol)
{
	int row;

	if (strncmp(symbol, PREFIX, strlen(PREFIX)) != 0)
		return -1;
	for (row = 0; row < FRAMEWORK_ROWS_COUNT; row++)
		if (!strcmp(symbols[row], symbol))
			return row;
	return -1;
}

const char *framework_symbol(uint32_t row)
{
	return symbols[row];
}

const char *framework_name(uint32_t framework)
{
	return framework < MS_FRAMEWORKS_COUNT ? names[framework] : NULL;
}
