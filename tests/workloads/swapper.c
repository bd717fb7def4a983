// SPDX-License-Identifier: BSD-2-Clause
/*
 * swapper DIRECTORY NAME VICTIM: as the user 65534, in that directory, swaps a file of its own by
 * that name for a symbolic link to the victim and back, until it is killed.
 */
#include "swap.h"

int main(int argc, char **argv)
{
	uint64_t swaps = 0;

	if (argc != 4 || chdir(argv[1])) {
		fprintf(stderr, "usage: swapper DIRECTORY NAME VICTIM\n");
		return 2;
	}
	swap_for_ever(argv[2], argv[3], &swaps);
}
