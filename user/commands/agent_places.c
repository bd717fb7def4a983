// SPDX-License-Identifier: BSD-2-Clause
#include "commands/agent_places.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/bundles.h"
#include "base/log.h"
#include "base/place.h"
#include "capture/file_cache.h"

/* The unit's ProtectSystem=strict leaves only its own directories writable. */
static const char *state_advice(int err)
{
	return err == -EROFS ? "; under systemd, the unit needs ReadWritePaths= for it" :
			       place_advice(err);
}

/*
 * Until the process ends, however it does: a lock of fcntl() is no child's, so that one which
 * outlives the agent does not keep the next agent out.
 */
static int lock_state_directory(const char *directory, int *lock_fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct string path = { 0 };
	int err;

	string_append_format(&path, "%s/lock", directory);
	string_append_char(&path, '\0');
	*lock_fd = path.failed ? -ENOMEM : place_open(path.bytes);
	string_fini(&path);
	err = *lock_fd < 0 ? *lock_fd : 0;
	if (!err && fcntl(*lock_fd, F_SETLK, &lock))
		err = -errno;
	if (err == -EAGAIN || (err == -EACCES && *lock_fd >= 0))
		log_error("--state-dir %s: another agent uses it; choose another directory",
			  directory);
	else if (err)
		log_error("--state-dir %s: cannot lock: %s%s", directory, place_error(err),
			  state_advice(err));
	return err;
}

/* Without it, nothing is lost but time, each time that the agent starts. */
static void look_at_cache(const struct capture_options *capture)
{
	const char *path = capture->table_cache;
	struct file_cache cache;
	int err;

	if (!capture->stack_ops || !path || !strcmp(path, "off"))
		return;
	err = file_cache_open(&cache, path, FILE_CACHE_MOST_BYTES);
	if (!err && faccessat(cache.directory, ".", W_OK, AT_EACCESS))
		err = -errno;
	file_cache_close(&cache);
	if (err)
		log_warning("--stack-cache %s: %s: what is known of large libraries is not kept, so"
			    " that after each start of the agent, call stacks end early for a"
			    " while; name a directory that the agent's user alone can write in, or"
			    " off",
			    path,
			    err == -EPERM ? "is no directory of this user's alone" :
					    strerror(-err));
}

int agent_places_open(const struct agent_settings *settings, int *lock_fd)
{
	const char *path = settings->state_directory;
	int err = place_make_directory(path);

	if (err && err != -EEXIST) {
		log_error("--state-dir %s: cannot create: %s%s", path, place_error(err),
			  state_advice(err));
		return err;
	}
	err = lock_state_directory(path, lock_fd);
	if (err)
		return err;
	bundles_prune(path);
	look_at_cache(&settings->recording.capture);
	return 0;
}
