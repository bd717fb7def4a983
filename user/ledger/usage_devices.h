/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices of all processes, and what lies on each: a part of usage.h.
 */
#ifndef MEMSCOPE_LEDGER_USAGE_DEVICES_H
#define MEMSCOPE_LEDGER_USAGE_DEVICES_H

#include "ledger/usage.h"

/* For spaces that are memory of a device. ts_ns 0: it was there before, and makes no new peak. */
void usage_device_add(struct usage *usage, const struct allocation *allocation, uint64_t ts_ns);
void usage_device_remove(struct usage *usage, uint8_t space, int32_t ordinal, uint64_t bytes);

#endif /* MEMSCOPE_LEDGER_USAGE_DEVICES_H */
