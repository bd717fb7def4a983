// SPDX-License-Identifier: BSD-2-Clause
#include "host/mount.h"

#include <stdlib.h>
#include <string.h>

/* Blanks and backslashes in a place are three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
			const char digits[] = { text[1], text[2], text[3], '\0' };

			*to++ = (char)strtol(digits, NULL, 8);
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

bool mount_read(FILE *mounts, struct mount *mount)
{
	char *type, *field;
	int i;

	while (getline(&mount->line, &mount->line_bytes, mounts) > 0) {
		type = strstr(mount->line, " - ");
		field = mount->line;
		for (i = 0; field && i < 4; i++)
			field = strchr(field + !!i, ' ');
		if (!type || !field || field > type)
			continue;
		mount->number = atoi(mount->line);
		mount->place = field + 1;
		mount->place[strcspn(mount->place, " ")] = '\0';
		unescape(mount->place);
		mount->type = type + 3;
		mount->type[strcspn(mount->type, " \n")] = '\0';
		return true;
	}
	return false;
}

bool mount_is_local(const struct mount *mount)
{
	static const char *const types[] = { "tmpfs", "ext4",  "ext3", "ext2",
					     "xfs",   "btrfs", "zfs",  "f2fs" };
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(mount->type, types[i]))
			return true;
	return false;
}
