// SPDX-License-Identifier: BSD-2-Clause
#include "host/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void read_boot_id(char *text, size_t bytes)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, bytes - 1);

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

void machine_read(struct machine *machine)
{
	struct utsname name;

	memset(machine, 0, sizeof(*machine));
	if (!uname(&name)) {
		snprintf(machine->host, sizeof(machine->host), "%s", name.nodename);
		snprintf(machine->kernel, sizeof(machine->kernel), "%s", name.release);
		snprintf(machine->hardware, sizeof(machine->hardware), "%s", name.machine);
	}
	read_boot_id(machine->boot_id, sizeof(machine->boot_id));
}
