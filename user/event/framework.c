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

static const struct ms_framework_row rows[] = {
#define MS_FRAMEWORK(of, what, symbol, ...) { MS_FRAMEWORK_##of, MS_TENSOR_##what, __VA_ARGS__ },
#include "frameworks.def"
#undef MS_FRAMEWORK
};

/* What all of them begin with: of hundreds of thousands of names, few do. */
static bool may_be_one(const char *symbol)
{
	static const char reports[] = "_ZN3c1027report", bfc[] = "_ZN3tsl12BFCAllocator";
	static const char nccl[] = "nccl";

	return !strncmp(symbol, reports, sizeof(reports) - 1) ||
	       !strncmp(symbol, bfc, sizeof(bfc) - 1) || !strncmp(symbol, nccl, sizeof(nccl) - 1);
}

int framework_find(const char *symbol, bool is_exported)
{
	int row;

	if (!may_be_one(symbol))
		return -1;
	for (row = 0; row < FRAMEWORK_ROWS_COUNT; row++)
		if (!strcmp(symbols[row], symbol))
			return is_exported || rows[row].is_untold ? row : -1;
	return -1;
}

bool framework_row_returns(uint32_t row)
{
	return rows[row].action == MS_TENSOR_GIVE || rows[row].framework == MS_FRAMEWORK_NCCL;
}

const char *framework_symbol(uint32_t row)
{
	return symbols[row];
}

const char *framework_name(uint32_t framework)
{
	return framework < MS_FRAMEWORKS_COUNT ? names[framework] : NULL;
}
