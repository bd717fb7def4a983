// SPDX-License-Identifier: BSD-2-Clause
#include "history/faults.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "history/schema.h"

/* In a file of SQLite's (its file format, 1.3), big-endian. */
#define HEADER_BYTES 100
#define USER_VERSION 60
#define APPLICATION 68

int history_faults_bound_journal(struct sqlite3 *handle, const char *path, uint64_t most_bytes)
{
	char journal[4104];
	struct stat status;

	snprintf(journal, sizeof(journal), "%s-wal", path);
	if (stat(journal, &status) || (uint64_t)status.st_size <= most_bytes)
		return SQLITE_OK;
	return sqlite3_wal_checkpoint_v2(handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
			       SQLITE_BUSY ?
		       SQLITE_BUSY :
		       SQLITE_OK;
}

const char *history_faults_words(int code)
{
	if ((code & 0xff) == SQLITE_BUSY)
		return "a process that reads it has not gone on for long, or one has locked it"
		       " (\"fuser -v\" on the file shows which): end it";
	return sqlite3_errstr(code);
}

static uint32_t number_at(const unsigned char *header, unsigned int place)
{
	return (uint32_t)header[place] << 24 | (uint32_t)header[place + 1] << 16 |
	       (uint32_t)header[place + 2] << 8 | header[place + 3];
}

const char *history_faults_of_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	unsigned char header[HEADER_BYTES] = { 0 };
	const bool read_all = fd >= 0 && read(fd, header, sizeof(header)) == sizeof(header);

	if (fd >= 0)
		close(fd);
	if (!read_all || number_at(header, APPLICATION) != HISTORY_APPLICATION)
		return "not a history of this version";
	if (number_at(header, USER_VERSION) > HISTORY_VERSION)
		return "written by a newer version of memscope-bpf, which can go on with it if you"
		       " move it back there while no agent runs";
	return "written by another version of memscope-bpf";
}
