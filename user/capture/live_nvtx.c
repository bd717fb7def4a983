// SPDX-License-Identifier: BSD-2-Clause
/*
 * Markers of NVTX 3, if they are wanted: the command that is started loads our library
 * (user/inject/nvtx.c), since a variable in its environment says so. The first marker comes as soon
 * as that is loaded. Only those of targets are recorded.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/injected.h"
#include "capture/live_internal.h"

#define INJECTION "NVTX_INJECTION64_PATH"

int live_nvtx_open(struct live *live)
{
	const int row = live->options.markers ? marker_rows_injected(live->options.markers) : -1;
	const struct injected_library library = { .option = "--markers=inject",
						  .name = "libmemscope-nvtx.so",
						  .function = MARKER_ROWS_INJECTED,
						  .program = PROGRAM_MARKER,
						  .cookie = row < 0 ? 0 : MS_COOKIE(row, 0) };

	if (row < 0)
		return 0;
	live->nvtx_fd = injected_attach(live->programs, &library, live->nvtx_library);
	return live->nvtx_fd < 0 ? live->nvtx_fd : 0;
}

void live_nvtx_close(struct live *live)
{
	if (live->nvtx_fd >= 0)
		close(live->nvtx_fd);
	live->nvtx_fd = -1;
}

/* There can be only one such library, and what has set the variable was first. */
void live_nvtx_begin_environment(struct live *live)
{
	const char *other = getenv(INJECTION);

	if (live->nvtx_fd < 0)
		return;
	if (other && *other) {
		log_warning(INJECTION " is already set, to %s: another tool reads the markers, and"
				      " --markers=inject does nothing. Unset it first",
			    other);
		return;
	}
	setenv(INJECTION, live->nvtx_library, true);
	live->nvtx_environment = true;
}

void live_nvtx_end_environment(struct live *live)
{
	if (live->nvtx_environment)
		unsetenv(INJECTION);
}

bool live_saw_marker(const struct live *live, size_t row)
{
	return live->targets.markers_found[row];
}
