/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the processes that a live capture is to choose by who they are can be there: a typo shall
 * not wait for ever.
 */
#ifndef MEMSCOPE_COMMANDS_LIVE_CHOICE_H
#define MEMSCOPE_COMMANDS_LIVE_CHOICE_H

#include "host/name_sources.h"
#include "ledger/process_selection.h"

/*
 * Looks at all processes that run now. Returns EXIT_OK, or an exit code after a message that names
 * what there is instead: there is no such user or container, or there are several whose ids begin
 * so. Pods, namespaces, cgroups and names may come later: of these it says that none is there.
 */
int live_choice_check_names(const struct process_selection *selection,
			    struct name_sources *sources);

/* The same; and if each process that uses CUDA now is left out, says so, with their names. */
int live_choice_check(const struct process_selection *selection, struct name_sources *sources);

#endif /* MEMSCOPE_COMMANDS_LIVE_CHOICE_H */
