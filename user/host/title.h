/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Titles that programs give their processes instead of a command line, as Ray ("ray::Actor.method")
 * and vLLM ("VLLM::EngineCore") do with setproctitle. Other titles are taken for command lines, in
 * which there may be secrets.
 */
#ifndef MEMSCOPE_HOST_TITLE_H
#define MEMSCOPE_HOST_TITLE_H

#include <stdbool.h>
#include <stddef.h>

#define TITLE_BYTES 64 /* NUL included; of a longer one, the beginning */
#define TITLE_CHANGES 8

/*
 * From what /proc/PID/cmdline says. Ray's have no method, which changes with each call. Returns
 * whether there is such a title; else it is "".
 */
bool title_find(const char *arguments, size_t bytes, char title[TITLE_BYTES]);

/* What a process is called over time. A zeroed one is ready. */
struct title {
	char text[TITLE_BYTES]; /* "": none so far */
	unsigned int changes;   /* from one to another */
};

/*
 * It has that title ("": none) now. One that has had work keeps the name of that while it waits for
 * more ("ray::IDLE"): the memory that it holds is from then. One that changes more often than
 * TITLE_CHANGES times is called "ray::(various)" from then on, so that no series of metrics is made
 * for each task.
 */
void title_follow(struct title *title, const char *now);

#endif /* MEMSCOPE_HOST_TITLE_H */
