// SPDX-License-Identifier: BSD-2-Clause
#include "host/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH "/dev/kmsg"
#define RECORD_BYTES 8192 /* as long as the kernel makes them (CONSOLE_EXT_LOG_MAX) */
#define PREFIX "NVRM: Xid ("

int kernel_log_open(void)
{
	const int fd = open(PATH, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	if (lseek(fd, 0, SEEK_END) >= 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static bool skip(const char **text, const char *prefix)
{
	const size_t length = strlen(prefix);

	if (strncmp(*text, prefix, length) != 0)
		return false;
	*text += length;
	return true;
}

/* "pid=1234, name=python3, " or "pid='<unknown>', name=<unknown>, ", which older drivers lack. */
static __u32 take_process(const char **text)
{
	const char *rest = *text, *end;
	unsigned long pid;

	if (!skip(&rest, "pid="))
		return 0;
	pid = strtoul(rest + (*rest == '\''), NULL, 10);
	end = strstr(rest, ", name=");
	end = end ? strstr(end + 1, ", ") : NULL;
	if (end)
		*text = end + 2;
	return pid <= INT32_MAX ? (__u32)pid : 0;
}

/* "(PCI:0000:65:00)" leaves out that a GPU is function 0, which the address has elsewhere. */
static bool take_address(const char **text, char bdf[MS_BDF_BYTES])
{
	const char *end;
	size_t length;

	skip(text, "PCI:");
	end = strchr(*text, ')');
	length = end ? (size_t)(end - *text) : 0;
	if (!length || length + sizeof(".0") > MS_BDF_BYTES)
		return false;
	memset(bdf, 0, MS_BDF_BYTES);
	memcpy(bdf, *text, length);
	if (!memchr(bdf, '.', length))
		memcpy(bdf + length, ".0", sizeof(".0"));
	*text = end + 1;
	return skip(text, ": ");
}

bool kernel_log_parse(const char *record, size_t length, struct ms_xid *xid)
{
	char line[RECORD_BYTES + 1];
	const char *text;
	char *end;

	if (length > RECORD_BYTES)
		return false;
	memcpy(line, record, length);
	line[length] = '\0';
	/* The text ends with its line; what follows are names and values. */
	line[strcspn(line, "\n")] = '\0';
	text = strchr(line, ';');
	if (!text)
		return false;
	text++;
	if (!skip(&text, PREFIX) || !take_address(&text, xid->bdf))
		return false;
	xid->xid = (__u32)strtoul(text, &end, 10);
	if (end == text)
		return false;
	text = end;
	skip(&text, ", ");
	xid->process = take_process(&text);
	strncpy(xid->text, text, sizeof(xid->text));
	xid->text[sizeof(xid->text) - 1] = '\0';
	return true;
}

bool kernel_log_next(int fd, struct ms_xid *xid)
{
	char record[RECORD_BYTES];
	ssize_t length;

	for (;;) {
		length = read(fd, record, sizeof(record));
		/* EPIPE: it has overwritten what would have come next. */
		if (length < 0 && errno != EPIPE && errno != EINTR && errno != EINVAL)
			return false;
		if (!length)
			return false;
		if (length > 0 && kernel_log_parse(record, (size_t)length, xid))
			return true;
	}
}
