/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As much of NVTX as programs here need, written from its documentation: the functions that version
 * 2's library exports.
 */
#ifndef TESTS_NVTX_H
#define TESTS_NVTX_H

#include <stdint.h>
#include <wchar.h>

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomain *nvtxDomainHandle_t;

#define NVTX_MESSAGE_ASCII 1
#define NVTX_MESSAGE_WIDE 2
#define NVTX_MESSAGE_REGISTERED 3

typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	uint64_t payload;
	int32_t messageType;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered;
	} message;
} nvtxEventAttributes_t;

int nvtxRangePushA(const char *name);
int nvtxRangePushW(const wchar_t *name);
int nvtxRangePushEx(const nvtxEventAttributes_t *attributes);
int nvtxRangePop(void);
nvtxRangeId_t nvtxRangeStartA(const char *name);
nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *attributes);
void nvtxRangeEnd(nvtxRangeId_t id);
void nvtxMarkA(const char *name);
nvtxDomainHandle_t nvtxDomainCreateA(const char *name);
const void *nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *name);
int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes);
int nvtxDomainRangePop(nvtxDomainHandle_t domain);

#endif /* TESTS_NVTX_H */
