/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the driver reported about the memory of devices and pools. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_VIEWS_H
#define MEMSCOPE_LEDGER_VIEWS_H

#include "ledger/state.h"

/* A call with MS_ACTION_DEVICE_INFO or MS_ACTION_POOL_INFO. Each returns 0 or -ENOMEM. */
int views_device_info(struct process *process, const struct event *event);
int views_pool_info(struct process *process, const struct event *event);

/* For checkpoints: what the driver reported last. Returns 0 or -ENOMEM. */
int views_load(struct process *process, const struct view *view);

/* NULL: it has not asked. */
const struct view *views_of_device(const struct process *process, int32_t device);

#endif /* MEMSCOPE_LEDGER_VIEWS_H */
