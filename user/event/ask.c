// SPDX-License-Identifier: BSD-2-Clause
#include "event/ask.h"

#include <string.h>

static const char *const symbols[] = {
#define MS_ASK(answer, symbol) #symbol,
#include "asks.def"
#undef MS_ASK
};

int ask_find(const char *symbol)
{
	int row;

	if (symbol[0] != 'c' || symbol[1] != 'u')
		return -1;
	for (row = 0; row < MS_ASK_ROWS; row++)
		if (!strcmp(symbols[row], symbol))
			return row;
	return -1;
}

const char *ask_symbol(uint32_t row)
{
	return symbols[row];
}
