/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuGetProcAddress: from a base name, the CUDA version the caller was written for and the default
 * stream it wants, to one of the exported functions (its very address: probes on exported symbols
 * see these callers too).
 */
#include <string.h>

#include "driver.h"
#include "proc.h"

#define KNOWN_FLAGS \
	(CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* Whether a row is a better answer than the best so far: newer, or per thread where asked for. */
static bool better(const struct proc *row, const struct proc *best)
{
	if (!best || row->version != best->version)
		return !best || row->version > best->version;
	return row->per_thread;
}

static CUdriverProcAddressQueryResult find(const char *symbol, int cuda_version, bool per_thread,
					   const struct proc **best)
{
	bool known = false;

	*best = NULL;
	for (unsigned int i = 0; i < proc_count; i++) {
		const struct proc *row = &proc_table[i];

		if (strcmp(row->base, symbol))
			continue;
		known = true;
		if (row->version > cuda_version || (row->per_thread && !per_thread))
			continue;
		if (better(row, *best))
			*best = row;
	}
	if (*best)
		return CU_GET_PROC_ADDRESS_SUCCESS;
	return known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT :
		       CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

static CUresult lookup(const char *symbol, void **function, int cuda_version, uint64_t flags,
		       CUdriverProcAddressQueryResult *status)
{
	const struct proc *row;

	if (!symbol || !function || cuda_version > CUDA_VERSION || flags & ~(uint64_t)KNOWN_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	/* Between our runtime and us; see api.h. */
	if (!strcmp(symbol, "simcuda_thread")) {
		*function = (void *)driver_thread;
		*status = CU_GET_PROC_ADDRESS_SUCCESS;
		return CUDA_SUCCESS;
	}
	*status = find(symbol, cuda_version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
		       &row);
	*function = row ? (void *)row->address : NULL;
	return CUDA_SUCCESS;
}

CU_DEFINE(NOTHING, cuGetProcAddress_v2,
	  (const char *symbol, void **function, int cuda_version, uint64_t flags,
	   CUdriverProcAddressQueryResult *status),
	  (symbol, function, cuda_version, flags, status), STR(name, symbol),
	  DEC(version, cuda_version), DEC(flags, flags), OUT_HEX(addr, function))
{
	CUdriverProcAddressQueryResult ignored;

	return lookup(symbol, function, cuda_version, flags, status ? status : &ignored);
}

/* The first version had no status to say it with. */
CU_DEFINE(NOTHING, cuGetProcAddress,
	  (const char *symbol, void **function, int cuda_version, uint64_t flags),
	  (symbol, function, cuda_version, flags), STR(name, symbol), DEC(version, cuda_version),
	  DEC(flags, flags), OUT_HEX(addr, function))
{
	CUdriverProcAddressQueryResult status;
	CUresult result = lookup(symbol, function, cuda_version, flags, &status);

	if (result == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS)
		return CUDA_ERROR_NOT_FOUND;
	return result;
}
