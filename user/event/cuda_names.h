/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions of CUDA's libraries this version knows of: the names in cuda_names.def. What a
 * newer library exports besides is not in the probe table, and its calls are not seen.
 */
#ifndef MEMSCOPE_EVENT_CUDA_NAMES_H
#define MEMSCOPE_EVENT_CUDA_NAMES_H

#include <stdbool.h>

#include "abi.h"

/*
 * Whether the name is one that NVIDIA gives to functions of the layer ("cu" or "cuda", then a
 * capital letter), and is not among those that are known.
 */
bool cuda_name_is_new(const char *name, enum ms_layer layer);

/* Whether a function of such a name may allocate, free, map or copy memory. */
bool cuda_name_is_about_memory(const char *name);

/* Whether a file of that path is called as NVIDIA's driver or runtime is. */
bool cuda_name_is_library(const char *path);

#endif /* MEMSCOPE_EVENT_CUDA_NAMES_H */
