/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * On which devices the processes are that were chosen, and how much they hold there: what others
 * hold of a device is a question, and devices without any of them are none. Pure.
 */
#ifndef MEMSCOPE_TOP_TOP_CHOSEN_H
#define MEMSCOPE_TOP_TOP_CHOSEN_H

#include "top/top.h"
#include "top/top_devices.h"

/*
 * Whether it is known: some processes are chosen, and the state is not an agent's answer, which
 * does not say what each holds on which device.
 */
bool top_chosen_is_known(const struct top *top);

/*
 * Fills in what the chosen ones hold on each device, and removes those on which nothing of them was
 * seen. Returns how many are left, in the same order; `*others`: how many are not. Without
 * top_chosen_is_known(), all are left as they are.
 */
size_t top_chosen_devices(const struct top *top, struct top_device *devices, size_t count,
			  size_t *others);

#endif /* MEMSCOPE_TOP_TOP_CHOSEN_H */
