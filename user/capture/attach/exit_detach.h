/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closes descriptors by ending. A process that is killed (SIGKILL) while it closes the last copy of
 * a link leaves breakpoints behind; what the kernel closes when a process ends cannot be cut short,
 * but it closes one after the other. So a process for each set of descriptors ends with it, or
 * even one for each descriptor.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_EXIT_DETACH_H
#define MEMSCOPE_CAPTURE_ATTACH_EXIT_DETACH_H

#include <stdbool.h>
#include <stddef.h>

#include "capture/attach/helper.h"

/*
 * The first descriptor is to be closed when all others are. When a process ends, the kernel closes
 * what it has from the highest number to the lowest, so they must be in ascending order. What is
 * still on its way to a process that is killed is closed message by message: `first_apart`, and
 * each in turn. (Perf events behind links are given up in the opposite order: not for those.) Then
 * the others are closed at the same time, too, if there are several and not very many sets.
 */
struct exit_detach_set {
	const int *fds;
	size_t count;
	bool first_apart;
};

/*
 * Gets ready, before the calling process, a helper, has any such descriptor: starts a process that
 * will start the others. (If there can be none, all sets will end with the calling process.) When
 * there is nothing to end with: helper_end().
 */
void exit_detach_open(struct helper *starter);

/*
 * Gives copies of each set to a process of its own. The calling process must end (helper_exit) as
 * soon as this returns; then they all end, at the same time. What there can be no process for ends
 * with the calling one. Whichever of them is killed meanwhile, nothing is left behind.
 */
void exit_detach_prepare(const struct helper *starter, const struct exit_detach_set *sets,
			 size_t count);

#endif /* MEMSCOPE_CAPTURE_ATTACH_EXIT_DETACH_H */
