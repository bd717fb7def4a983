// SPDX-License-Identifier: BSD-2-Clause
#include "host/privilege.h"

#include <linux/capability.h>
#include <stdint.h>

#include "host/proc.h"

static const char nothing[] = "nothing can be traced";

const struct privilege privileges[] = {
	{ .name = "CAP_BPF",
	  .what = "loading BPF programs",
	  .without = nothing,
	  .required = true,
	  .capability = CAP_BPF,
	  .stands_in = CAP_SYS_ADMIN },
	{ .name = "CAP_PERFMON",
	  .what = "attaching them to other processes",
	  .without = nothing,
	  .required = true,
	  .capability = CAP_PERFMON,
	  .stands_in = CAP_SYS_ADMIN },
	{ .name = "CAP_SYS_PTRACE",
	  .what = "reading what other users' processes have mapped",
	  .without = nothing,
	  .required = true,
	  .capability = CAP_SYS_PTRACE,
	  .stands_in = CAP_SYS_PTRACE },
	{ .name = "CAP_DAC_READ_SEARCH",
	  .what = "opening the libraries of other users' processes",
	  .without = nothing,
	  .required = true,
	  .capability = CAP_DAC_READ_SEARCH,
	  .stands_in = CAP_DAC_OVERRIDE },
	/* fcntl(2), F_SETLEASE: of one's own files, a lease takes no capability. */
	{ .name = "CAP_LEASE",
	  .what = "noticing that a program wants to write to a library with probes (agent, -a, -f, "
		  "--cgroup), if the library is another user's",
	  .without = "probes are put into each process, a moment after it has begun to use the "
		     "library, and not into the library: its first calls can be missed, and then "
		     "its account is not exact",
	  .capability = CAP_LEASE,
	  .stands_in = CAP_LEASE },
};

const size_t privileges_count = sizeof(privileges) / sizeof(*privileges);

bool privilege_held(const struct privilege *privilege)
{
	uint64_t held = proc_capabilities();

	return held >> privilege->capability & 1 || held >> privilege->stands_in & 1;
}
