// SPDX-License-Identifier: BSD-2-Clause
#include "event/nccl.h"

#include <stddef.h>

static const struct {
	const char *name;
	enum nccl_about about;
} functions[] = {
#define X(function, about) { #function, NCCL_##about },
	MS_NCCL_FUNCTIONS(X)
#undef X
};

static const struct {
	const char *name;
	uint32_t bytes;
} types[] = {
#define X(number, name, bytes) [number] = { name, bytes },
	MS_NCCL_TYPES(X)
#undef X
};

/* ncclResult_t (nccl.h). */
static const char *const results[] = {
	"success",          "unhandled CUDA error", "system error", "internal error",
	"invalid argument", "invalid usage",        "remote error", "in progress",
};

#define TYPES_COUNT (sizeof(types) / sizeof(*types))

const char *nccl_function_name(uint32_t function)
{
	return function < MS_NCCL_FUNCTIONS_COUNT ? functions[function].name : NULL;
}

enum nccl_about nccl_function_about(uint32_t function)
{
	return function < MS_NCCL_FUNCTIONS_COUNT ? functions[function].about : NCCL_OTHER;
}

const char *nccl_record_type(const struct ms_nccl *record)
{
	return nccl_function_about(record->function) == NCCL_MOVES && record->detail < TYPES_COUNT ?
		       types[record->detail].name :
		       NULL;
}

bool nccl_record_bytes(const struct ms_nccl *record, uint64_t *bytes)
{
	*bytes = record->count;
	if (record->function == MS_NCCL_ncclMemAlloc ||
	    record->function == MS_NCCL_ncclCommRegister)
		return true;
	return nccl_record_type(record) &&
	       !__builtin_mul_overflow(record->count, types[record->detail].bytes, bytes);
}

bool nccl_record_has_ranks(const struct ms_nccl *record)
{
	return nccl_function_about(record->function) == NCCL_MAKES && record->count;
}

bool nccl_record_has_rank(const struct ms_nccl *record)
{
	return nccl_record_has_ranks(record) && record->function != MS_NCCL_ncclCommInitAll;
}

const char *nccl_result_name(int32_t result)
{
	return result >= 0 && (size_t)result < sizeof(results) / sizeof(*results) ?
		       results[result] :
		       NULL;
}
