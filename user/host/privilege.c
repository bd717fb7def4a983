// SPDX-License-Identifier: BSD-2-Clause
#include "host/privilege.h"

#include <linux/capability.h>
#include <stdint.h>

#include "host/proc.h"

const struct privilege privileges[] = {
	{ "CAP_BPF", "loading BPF programs", CAP_BPF, CAP_SYS_ADMIN },
	{ "CAP_PERFMON", "attaching them to other processes", CAP_PERFMON, CAP_SYS_ADMIN },
	{ "CAP_SYS_PTRACE", "reading what other users' processes have mapped", CAP_SYS_PTRACE,
	  CAP_SYS_PTRACE },
	{ "CAP_DAC_READ_SEARCH", "opening the libraries of other users' processes",
	  CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE },
};

const size_t privileges_count = sizeof(privileges) / sizeof(*privileges);

bool privilege_held(const struct privilege *privilege)
{
	uint64_t held = proc_capabilities();

	return held >> privilege->capability & 1 || held >> privilege->stands_in & 1;
}
