/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates BPF links on uprobes: the three kinds of attach strategy. uprobe_multi links have no call
 * in libbpf 1.1, so bpf(2) is called here, and only here.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_LINK_H
#define MEMSCOPE_CAPTURE_ATTACH_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* enum bpf_attach_type, include/uapi/linux/bpf.h; newer than the headers of Debian 12 */
#define LINK_UPROBE_MULTI 48   /* Linux 6.6 */
#define LINK_UPROBE_SESSION 57 /* Linux 6.13 */

struct link_site {
	const char *path;        /* of the file; may be a /proc/PID/map_files link */
	const uint64_t *offsets; /* in the file */
	const uint64_t *cookies;
	/* Of counters in the file that say to the program that it is looked at; NULL: none. */
	const uint64_t *counters;
	uint32_t count;
	pid_t pid; /* this process only; 0: every process */
};

/*
 * One link over all offsets. `attach_type` is the one that the program was loaded with. Returns a
 * descriptor whose closing detaches, or -errno; nothing is logged.
 */
int link_create_multi(int program_fd, uint32_t attach_type, const struct link_site *site,
		      bool on_return);

/*
 * One perf-event uprobe at the first offset of `site`. Returns the descriptor of its link, whose
 * closing detaches (which takes the kernel about 0.1 s), or -errno.
 */
int link_create_single(int program_fd, const struct link_site *site, bool on_return);

#endif /* MEMSCOPE_CAPTURE_ATTACH_LINK_H */
