/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a simulated CUPTI (tests/simcupti) is told: which function of the driver is entered and
 * left, and what it makes the GPU do. It gets in by cuGetExportTable() with a number of our own.
 */
#ifndef SIMCUDA_OBSERVER_H
#define SIMCUDA_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

/* The UUID, 16 bytes, and the table behind it. */
#define OBSERVER_ID "simcuda-observer"

enum observer_kind { OBSERVER_KERNEL, OBSERVER_COPY, OBSERVER_MEMSET };

struct observer_work {
	enum observer_kind kind;
	const char *name; /* of a kernel */
	unsigned int grid[3], block[3];
	unsigned int shared_bytes; /* dynamic */
	uint64_t bytes;            /* of a copy or memset */
	char from, to;             /* of a copy, H(ost), D(evice), M(anaged); memset: `to` */
	bool waited_for;           /* by the call: of a function that takes no stream */
	uint64_t stream;           /* handle */
	unsigned int context;      /* number */
	int device;
	unsigned int graph; /* 0: of none */
};

struct observer {
	void (*enter)(const char *function);
	void (*leave)(const char *function);
	void (*work)(const struct observer_work *work);
};

struct observer_table {
	void (*set)(const struct observer *observer); /* NULL: none any more */
};

#endif
