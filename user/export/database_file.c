// SPDX-License-Identifier: BSD-2-Clause
#include "export/database_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VFS_NAME "memscope-descriptor"
#define SECTOR_BYTES 4096

struct descriptor_file {
	sqlite3_file base; /* first: SQLite knows no more of it */
	int fd;
};

static int fd_of(const sqlite3_file *file)
{
	return ((const struct descriptor_file *)file)->fd;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static int close_file(sqlite3_file *file)
{
	return close(fd_of(file)) ? SQLITE_IOERR_CLOSE : SQLITE_OK;
}

static int read_file(sqlite3_file *file, void *to, int bytes, sqlite3_int64 offset)
{
	char *next = to;

	while (bytes) {
		ssize_t length = pread(fd_of(file), next, (size_t)bytes, offset);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return SQLITE_IOERR_READ;
		if (!length) {
			memset(next, 0, (size_t)bytes);
			return SQLITE_IOERR_SHORT_READ;
		}
		next += length;
		bytes -= (int)length;
		offset += length;
	}
	return SQLITE_OK;
}

static bool is_full(int err)
{
	return err == ENOSPC || err == EDQUOT || err == EFBIG;
}

static int write_file(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 offset)
{
	const char *next = from;

	while (bytes) {
		ssize_t length = pwrite(fd_of(file), next, (size_t)bytes, offset);

		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			return length && !is_full(errno) ? SQLITE_IOERR_WRITE : SQLITE_FULL;
		next += length;
		bytes -= (int)length;
		offset += length;
	}
	return SQLITE_OK;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 bytes)
{
	return ftruncate(fd_of(file), bytes) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int size_file(sqlite3_file *file, sqlite3_int64 *bytes)
{
	struct stat status;

	if (fstat(fd_of(file), &status))
		return SQLITE_IOERR_FSTAT;
	*bytes = status.st_size;
	return SQLITE_OK;
}

static int sync_file(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	return SQLITE_OK;
}

static int lock_file(sqlite3_file *file, int how)
{
	(void)file;
	(void)how;
	return SQLITE_OK;
}

static int check_lock(sqlite3_file *file, int *locked)
{
	(void)file;
	*locked = 0;
	return SQLITE_OK;
}

static int control_file(sqlite3_file *file, int what, void *value)
{
	(void)file;
	(void)what;
	(void)value;
	return SQLITE_NOTFOUND;
}

static int sector_bytes(sqlite3_file *file)
{
	(void)file;
	return SECTOR_BYTES;
}

static int characteristics(sqlite3_file *file)
{
	(void)file;
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = close_file,
	.xRead = read_file,
	.xWrite = write_file,
	.xTruncate = truncate_file,
	.xSync = sync_file,
	.xFileSize = size_file,
	.xLock = lock_file,
	.xUnlock = lock_file,
	.xCheckReservedLock = check_lock,
	.xFileControl = control_file,
	.xSectorSize = sector_bytes,
	.xDeviceCharacteristics = characteristics,
};

/* ---- what SQLite opens ----------------------------------------------------------------------- */

static sqlite3_vfs *usual(const sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

/* What it sorts in is in files of its own, which have no names either. */
static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		     int *out_flags)
{
	struct descriptor_file *descriptor = (struct descriptor_file *)file;

	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return usual(vfs)->xOpen(usual(vfs), name, file, flags, out_flags);
	*descriptor = (struct descriptor_file){ .fd = fcntl((int)strtol(name, NULL, 10),
							    F_DUPFD_CLOEXEC, STDERR_FILENO + 1) };
	if (descriptor->fd < 0)
		return SQLITE_CANTOPEN;
	descriptor->base.pMethods = &methods;
	if (out_flags)
		*out_flags = flags;
	return SQLITE_OK;
}

/* There is nothing but the file itself: no journal that was left behind. */
static int find_file(sqlite3_vfs *vfs, const char *name, int flags, int *found)
{
	(void)vfs;
	(void)name;
	(void)flags;
	*found = 0;
	return SQLITE_OK;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync_directory)
{
	(void)vfs;
	(void)name;
	(void)sync_directory;
	return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int bytes, char *full)
{
	(void)vfs;
	return snprintf(full, (size_t)bytes, "%s", name) < bytes ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* Clocks and the like are the usual ones. */
static int make_vfs(sqlite3_vfs *vfs)
{
	sqlite3_vfs *before = sqlite3_vfs_find(NULL);

	if (!before)
		return SQLITE_NOMEM;
	*vfs = *before;
	vfs->pNext = NULL;
	vfs->zName = VFS_NAME;
	vfs->pAppData = before;
	if (vfs->szOsFile < (int)sizeof(struct descriptor_file))
		vfs->szOsFile = (int)sizeof(struct descriptor_file);
	vfs->xOpen = open_file;
	vfs->xDelete = delete_file;
	vfs->xAccess = find_file;
	vfs->xFullPathname = full_name;
	return sqlite3_vfs_register(vfs, 0);
}

const char *database_file_name(char name[DATABASE_FILE_NAME_BYTES], int fd)
{
	static sqlite3_vfs vfs; /* SQLite keeps it */

	snprintf(name, DATABASE_FILE_NAME_BYTES, "%d", fd);
	if (sqlite3_vfs_find(VFS_NAME))
		return VFS_NAME;
	return make_vfs(&vfs) ? NULL : VFS_NAME;
}
