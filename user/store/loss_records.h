/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel side counted, as records: a recording has no other way to know what it lacks, and
 * since when.
 */
#ifndef MEMSCOPE_STORE_LOSS_RECORDS_H
#define MEMSCOPE_STORE_LOSS_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"

/* Feeds what `now` says more than `*before`, at that time; `*before` is `now` afterwards. */
void loss_records_feed(struct ms_counters *before, const struct ms_counters *now, uint64_t now_ns,
		       int (*feed)(void *context, void *record, size_t length), void *context);

#endif /* MEMSCOPE_STORE_LOSS_RECORDS_H */
