/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tells this machine, and its time since it was started, from others.
 */
#ifndef MEMSCOPE_HOST_MACHINE_H
#define MEMSCOPE_HOST_MACHINE_H

struct machine {
	char host[65];
	char kernel[65];
	char hardware[65];
	char boot_id[40]; /* a UUID; "" if /proc does not tell */
};

void machine_read(struct machine *machine);

#endif /* MEMSCOPE_HOST_MACHINE_H */
