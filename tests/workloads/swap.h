/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker: in a directory in which everybody can put files, and nobody rename those of others,
 * a file of his own and a symbolic link to somebody else's take turns at a name, as fast as can be.
 */
#ifndef MEMSCOPE_TESTS_SWAP_H
#define MEMSCOPE_TESTS_SWAP_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SWAP_UID 65534
#define SWAP_OTHER ".other" /* what does not have the name just now */

static inline void swap_plant(const char *name, const char *victim)
{
	int fd;

	unlink(SWAP_OTHER);
	if (symlink(victim, SWAP_OTHER))
		perror(SWAP_OTHER);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
	if (fd >= 0)
		close(fd);
}

/* In the working directory, for ever. What others have put there must go before it goes on. */
static inline void swap_for_ever(const char *name, const char *victim, volatile uint64_t *swaps)
{
	if (setgroups(0, NULL) || setresgid(SWAP_UID, SWAP_UID, SWAP_UID) ||
	    setresuid(SWAP_UID, SWAP_UID, SWAP_UID)) {
		perror("cannot become another user");
		_exit(1);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (!renameat2(AT_FDCWD, name, AT_FDCWD, SWAP_OTHER, RENAME_EXCHANGE))
			++*swaps;
		else if (errno == ENOENT)
			swap_plant(name, victim);
		else
			sched_yield();
	}
}

#endif /* MEMSCOPE_TESTS_SWAP_H */
