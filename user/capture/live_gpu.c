// SPDX-License-Identifier: BSD-2-Clause
/*
 * Times of kernels and copies, if they are wanted: the command that is started loads our library
 * (user/inject), since two variables in its environment say so, and that hands over what CUPTI
 * says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/injected.h"
#include "capture/live_internal.h"

#define INJECTION "CUDA_INJECTION64_PATH"
#define SETTINGS "MEMSCOPE_GPU_TIME"

int live_gpu_open(struct live *live)
{
	const struct injected_library library = { .option = "--gpu-time",
						  .name = "libmemscope-cupti.so",
						  .function = MS_HAND_SYMBOL,
						  .program = PROGRAM_HAND };

	if (!live->options.gpu_times)
		return 0;
	live->gpu_fd = injected_attach(live->programs, &library, live->gpu_library);
	return live->gpu_fd < 0 ? live->gpu_fd : 0;
}

void live_gpu_close(struct live *live)
{
	if (live->gpu_fd >= 0)
		close(live->gpu_fd);
	live->gpu_fd = -1;
}

/* There can be only one such library, and whoever set the variable was first. */
static bool is_taken(void)
{
	const char *other = getenv(INJECTION);

	if (!other || !*other || !strcmp(other, "none"))
		return false;
	log_warning(INJECTION " is already set, to %s: another tool measures there, and --gpu-time"
			      " does nothing. Unset it first",
		    other);
	return true;
}

/* When the library is to end; it cannot know that nothing reads what it says any more. */
static uint64_t stop_ns(const struct live_options *options)
{
	const uint64_t duration_ns = options->duration_ns, gpu_ns = options->gpu_times_ns;
	const uint64_t least_ns =
		!gpu_ns || (duration_ns && duration_ns < gpu_ns) ? duration_ns : gpu_ns;

	return least_ns ? clock_monotonic_ns() + least_ns : 0;
}

void live_gpu_begin_environment(struct live *live)
{
	char settings[80];

	if (live->gpu_fd < 0 || is_taken())
		return;
	snprintf(settings, sizeof(settings), "%d:%d:%llu", getpid(), !live_follows(live),
		 (unsigned long long)stop_ns(&live->options));
	setenv(INJECTION, live->gpu_library, true);
	setenv(SETTINGS, settings, true);
	live->gpu_environment = true;
}

void live_gpu_end_environment(struct live *live)
{
	if (!live->gpu_environment)
		return;
	unsetenv(INJECTION);
	unsetenv(SETTINGS);
}
