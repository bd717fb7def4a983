/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Medians and their like: what a benchmark may say of a machine that others use too.
 */
#ifndef MEMSCOPE_BENCH_QUANTILE_H
#define MEMSCOPE_BENCH_QUANTILE_H

#include <stdio.h>
#include <stdlib.h>

static inline int quantile_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the values; there must be one at least. */
static inline double quantile(double *values, int count, double at)
{
	qsort(values, count, sizeof(*values), quantile_compare);
	return values[(int)(at * (count - 1) + 0.5)];
}

/* "median [p10, p90]". Sorts the values. */
static inline void quantile_print(double *values, int count, int decimals)
{
	printf("%.*f [%.*f, %.*f]", decimals, quantile(values, count, 0.5), decimals,
	       quantile(values, count, 0.1), decimals, quantile(values, count, 0.9));
}

#endif /* MEMSCOPE_BENCH_QUANTILE_H */
