// SPDX-License-Identifier: BSD-2-Clause
#include "agent/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#define NO_USER 65534

static int drop_user(void)
{
	if (geteuid())
		return 0;
	return setgroups(0, NULL) || setresgid(NO_USER, NO_USER, NO_USER) ||
			       setresuid(NO_USER, NO_USER, NO_USER) ?
		       -errno :
		       0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { 0 };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

int sandbox_enter(void)
{
	int err = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;

	if (!err)
		err = drop_user();
	if (!err)
		err = drop_capabilities();
	/* A change of the user has made the kernel forget it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (err)
		log_error("cannot give up privileges for clients: %s", strerror(-err));
	return err;
}
