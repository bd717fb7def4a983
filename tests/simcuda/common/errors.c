/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See errors.h; the table is errors.def.
 */
#include <stddef.h>

#include "errors.h"

static const struct error {
	int code;
	const char *driver;
	const char *runtime;
	const char *text;
} errors[] = {
	{ 0, "CUDA_SUCCESS", "cudaSuccess", "no error" },
#define ERROR(code, driver, runtime, text) \
	{ code, "CUDA_ERROR_" #driver, "cudaError" #runtime, text },
#define DRIVER_ERROR(code, driver, text) { code, "CUDA_ERROR_" #driver, NULL, text },
#define RUNTIME_ERROR(code, runtime, text) { code, NULL, "cudaError" #runtime, text },
#include "errors.def"
};

static const struct error *find(int code)
{
	static const struct error unknown;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].code == code)
			return &errors[i];
	return &unknown;
}

const char *errors_driver_name(int code)
{
	return find(code)->driver;
}

const char *errors_driver_text(int code)
{
	return errors_driver_name(code) ? find(code)->text : NULL;
}

const char *errors_runtime_name(int code)
{
	return find(code)->runtime;
}

const char *errors_runtime_text(int code)
{
	return errors_runtime_name(code) ? find(code)->text : NULL;
}
