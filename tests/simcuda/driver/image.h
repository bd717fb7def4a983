/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device code as a program hands it over. PTX is text, so its kernels and variables are known.
 * Everything else (cubins, fat binaries, which may be compressed) is opaque: any kernel name is
 * taken to be in it, and every variable to be IMAGE_OPAQUE_BYTES long.
 */
#ifndef SIMCUDA_IMAGE_H
#define SIMCUDA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#define IMAGE_OPAQUE_BYTES 65536

struct image {
	char *text; /* NULL: opaque */
};

/* data: PTX, or anything else, or nvcc's wrapper around either. image_fini frees. */
bool image_init(struct image *image, const void *data);
bool image_init_file(struct image *image, const char *path); /* false: cannot be read */
void image_fini(struct image *image);

bool image_has_kernel(const struct image *image, const char *name);

/* 0: no such variable. */
size_t image_variable_bytes(const struct image *image, const char *name);

/* The kernels that are known one after another, from NULL to NULL; a name ends at *length. */
const char *image_next_kernel(const struct image *image, const char *name, size_t *length);
unsigned int image_kernel_count(const struct image *image);

#endif
