/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A number that rules go by and that a person can set: its name, and where it is among others.
 */
#ifndef MEMSCOPE_ANALYSIS_THRESHOLD_H
#define MEMSCOPE_ANALYSIS_THRESHOLD_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/finding.h"

struct threshold {
	const char *name;
	enum finding_unit unit;
	uint64_t value; /* the default */
	const char *help;
	size_t offset; /* of the uint64_t in the options that it belongs to */
};

static inline uint64_t *threshold_in(const struct threshold *threshold, void *options)
{
	return (uint64_t *)((char *)options + threshold->offset);
}

static inline uint64_t threshold_of(const struct threshold *threshold, const void *options)
{
	return *(const uint64_t *)((const char *)options + threshold->offset);
}

#endif /* MEMSCOPE_ANALYSIS_THRESHOLD_H */
