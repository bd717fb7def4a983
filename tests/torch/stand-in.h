/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the functions of the stand-in libraries do (stand-ins writes a row for each). Their
 * arguments do not matter.
 */
#ifndef TORCH_STAND_IN_H
#define TORCH_STAND_IN_H

/* Not zero: in each of those libraries that is an error. */
#define ERROR(name) \
	int name(void); \
	int name(void) \
	{ \
		return 1; \
	}

#define SUCCESS(name) \
	int name(void); \
	int name(void) \
	{ \
		return 0; \
	}

#define TEXT(name) \
	const char *name(void); \
	const char *name(void) \
	{ \
		return "not in this stand-in"; \
	}

#endif
