// SPDX-License-Identifier: BSD-2-Clause
/*
 * The mounts of a process, as the kernel writes them.
 */
#include <stdlib.h>
#include <string.h>

#include "host/mount.h"
#include "unit.h"

static void each_has_its_place_and_type(void **unused)
{
	char text[] =
		"27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
		"not one\n"
		"28 27 0:25 /a /with\\040blank\\134\\011 ro master:2 shared:3 - nfs4 server:/a rw\n"
		"29 27 0:26 / /home/user/x ro - fuse.sshfs user@host: rw\n"
		"30 27 0:27 / /\\04 rw - overlay\n";
	FILE *mounts = fmemopen(text, strlen(text), "r");
	struct mount mount = { 0 };

	(void)unused;
	assert_non_null(mounts);
	assert_true(mount_read(mounts, &mount));
	assert_int_equal(mount.number, 27);
	assert_string_equal(mount.place, "/");
	assert_string_equal(mount.type, "ext4");
	assert_true(mount_is_local(&mount));
	assert_true(mount_read(mounts, &mount));
	assert_int_equal(mount.number, 28);
	assert_string_equal(mount.place, "/with blank\\\t");
	assert_string_equal(mount.type, "nfs4");
	assert_false(mount_is_local(&mount));
	assert_true(mount_read(mounts, &mount));
	assert_string_equal(mount.place, "/home/user/x");
	assert_string_equal(mount.type, "fuse.sshfs");
	assert_false(mount_is_local(&mount));
	assert_true(mount_read(mounts, &mount));
	assert_string_equal(mount.place, "/\\04");
	assert_string_equal(mount.type, "overlay");
	assert_false(mount_is_local(&mount));
	assert_false(mount_read(mounts, &mount));
	free(mount.line);
	fclose(mounts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_its_place_and_type),
	};

	return unit_run("mount", tests);
}
