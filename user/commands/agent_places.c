// SPDX-License-Identifier: BSD-2-Clause
#include "commands/agent_places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
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

/* What the files of a directory take; 0 if it cannot be read. */
static uint64_t taken_by(int parent, const char *name)
{
	const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat status;
	uint64_t bytes = 0;

	while (stream && (entry = readdir(stream)))
		if (!fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(status.st_mode))
			bytes += (uint64_t)status.st_blocks * 512;
	if (stream)
		closedir(stream);
	else if (fd >= 0)
		close(fd);
	return bytes;
}

/* A bundle is as large as the ring, and BUNDLES_KEPT of them stay. */
static void look_at_room(const struct agent_settings *settings)
{
	const uint64_t rings =
		settings->recording.ring_bytes < UINT64_MAX / 2 / (1 + BUNDLES_KEPT) ?
			settings->recording.ring_bytes * (1 + BUNDLES_KEPT) :
			UINT64_MAX / 2;
	const uint64_t most = rings + settings->history_bytes;
	const char *path = settings->state_directory;
	const int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char has[STRING_NUMBER_BYTES], needs[STRING_NUMBER_BYTES];
	struct statvfs disk;
	uint64_t room;

	if (fd < 0)
		return;
	if (!fstatvfs(fd, &disk)) {
		room = (uint64_t)disk.f_bavail * disk.f_frsize + taken_by(fd, ".") +
		       taken_by(fd, "ring");
		if (room < most)
			log_warning("--state-dir %s: there is room for %s on the disk, but the"
				    " ring, %d bundles of its size and the history can take %s:"
				    " on a full disk, bundles and events are lost; choose a"
				    " smaller --ring or --history, or a larger disk",
				    path, string_size(has, room), BUNDLES_KEPT,
				    string_size(needs, most));
	}
	close(fd);
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
	look_at_room(settings);
	look_at_cache(&settings->recording.capture);
	return 0;
}
