/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See image.h. Reads just enough PTX for names and sizes: ".entry NAME" and, on a line with
 * ".global" or ".const", ".b8 NAME[64]".
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

/* What nvcc wraps around its fat binaries, and passes to __cudaRegisterFatBinary. */
struct wrapper {
	int magic;
	int version;
	const void *data;
	void *unused;
};

#define WRAPPER_MAGIC 0x466243b1

static bool is_text(const char *data)
{
	while (isspace((unsigned char)*data))
		data++;
	return *data == '.' || *data == '/'; /* a directive or a comment */
}

bool image_init(struct image *image, const void *data)
{
	struct wrapper wrapper;

	if (!is_text(data) && !memcmp(data, &(int){ WRAPPER_MAGIC }, sizeof(int))) {
		memcpy(&wrapper, data, sizeof(wrapper));
		data = wrapper.data;
	}
	image->text = is_text(data) ? strdup(data) : NULL;
	return image->text || !is_text(data);
}

bool image_init_file(struct image *image, const char *path)
{
	FILE *file = fopen(path, "re");
	char *data = NULL;
	size_t size = 0;

	image->text = NULL;
	if (!file)
		return false;
	if (getdelim(&data, &size, 0, file) > 0 && is_text(data))
		image->text = data;
	else
		free(data);
	fclose(file);
	return true;
}

void image_fini(struct image *image)
{
	free(image->text);
	image->text = NULL;
}

static size_t identifier_length(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '$' || at[n] == '%')
		n++;
	return n;
}

const char *image_next_kernel(const struct image *image, const char *name, size_t *length)
{
	const char *at = name ? name : image->text;

	at = at ? strstr(at, ".entry") : NULL;
	if (!at)
		return NULL;
	at += strlen(".entry");
	at += strspn(at, " \t\r\n");
	*length = identifier_length(at);
	return at;
}

unsigned int image_kernel_count(const struct image *image)
{
	const char *name = NULL;
	unsigned int n = 0;
	size_t length;

	while ((name = image_next_kernel(image, name, &length)))
		n++;
	return n;
}

static bool equal(const char *at, size_t length, const char *name)
{
	return strlen(name) == length && !strncmp(at, name, length);
}

bool image_has_kernel(const struct image *image, const char *name)
{
	const char *at = NULL;
	size_t length;

	if (!image->text)
		return true;
	while ((at = image_next_kernel(image, at, &length)))
		if (equal(at, length, name))
			return true;
	return false;
}

/* at: behind ".global" or ".const". The size if this line declares name, else 0. */
static size_t declared_bytes(const char *at, const char *name)
{
	size_t bits = 0, count = 1, length;

	for (;;) {
		at += strspn(at, " \t");
		if (*at != '.' && !isdigit((unsigned char)*at))
			break;
		sscanf(at, ".%*1[busf]%zu", &bits);
		at += strcspn(at, " \t\r\n");
	}
	length = identifier_length(at);
	if (!equal(at, length, name))
		return 0;
	sscanf(at + length, "[%zu]", &count);
	return bits / 8 * count;
}

size_t image_variable_bytes(const struct image *image, const char *name)
{
	static const char *const spaces[] = { ".global", ".const" };

	if (!image->text)
		return IMAGE_OPAQUE_BYTES;
	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
		const char *at = image->text;

		while ((at = strstr(at, spaces[i]))) {
			size_t bytes;

			at += strlen(spaces[i]);
			bytes = declared_bytes(at, name);
			if (bytes)
				return bytes;
		}
	}
	return 0;
}
