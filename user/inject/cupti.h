/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of CUPTI that the library uses, in our own words. Functions are found by name at run
 * time. Numbers and offsets are facts of NVIDIA's headers of 11.8 to 13.0 (cupti_activity.h,
 * cupti_result.h); `make check-headers` compares them with these headers. New versions of a record
 * append members, so that the members that are read here keep their offsets.
 */
#ifndef MEMSCOPE_INJECT_CUPTI_H
#define MEMSCOPE_INJECT_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#define CUPTI_OLDEST 18              /* CUDA 11.8, as cuptiGetVersion() numbers it */
#define CUPTI_DEVICE_LAUNCHED 130000 /* kernels say so themselves from here on */

/* CUptiResult */
#define CUPTI_OK 0
#define CUPTI_END_OF_BUFFER 12
#define CUPTI_ANOTHER_SUBSCRIBER 39

/* CUpti_ActivityKind */
enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_KERNEL = 3,
	CUPTI_DRIVER = 4,
	CUPTI_RUNTIME = 5,
	CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_OVERHEAD = 17,
	CUPTI_PEER_MEMCPY = 22,
};

#define CUPTI_FLUSH_FORCED 1
#define CUPTI_THREAD_ID_SYSTEM 1
#define CUPTI_ATTRIBUTE_ZEROED 5 /* uint8_t: buffers are handed out zeroed */

/* Offsets in CUpti_ActivityKernel8 and later */
#define KERNEL_REGISTERS 6 /* uint16_t */
#define KERNEL_START 16
#define KERNEL_END 24
#define KERNEL_DEVICE 40
#define KERNEL_CONTEXT 44
#define KERNEL_STREAM 48
#define KERNEL_GRID 52
#define KERNEL_BLOCK 64
#define KERNEL_STATIC_SHARED 76
#define KERNEL_DYNAMIC_SHARED 80
#define KERNEL_CORRELATION 92
#define KERNEL_NAME 104
#define KERNEL_GRAPH 156
#define KERNEL_CHANNEL 168
#define KERNEL_DEVICE_LAUNCHED 208 /* uint8_t, from CUPTI_DEVICE_LAUNCHED on */

/* In CUpti_ActivityMemcpy5 and later */
#define MEMCPY_KIND 4 /* uint8_t, as are the next three */
#define MEMCPY_SOURCE 5
#define MEMCPY_DESTINATION 6
#define MEMCPY_FLAGS 7
#define MEMCPY_BYTES 8
#define MEMCPY_START 16
#define MEMCPY_END 24
#define MEMCPY_DEVICE 32
#define MEMCPY_CONTEXT 36
#define MEMCPY_STREAM 40
#define MEMCPY_CORRELATION 44
#define MEMCPY_GRAPH 72
#define MEMCPY_CHANNEL 76

/* In CUpti_ActivityMemcpyPtoP4: the same up to the stream */
#define PEER_CORRELATION 60
#define PEER_GRAPH 80
#define PEER_CHANNEL 84

/* In CUpti_ActivityMemset4 and later */
#define MEMSET_BYTES 8
#define MEMSET_START 16
#define MEMSET_END 24
#define MEMSET_DEVICE 32
#define MEMSET_CONTEXT 36
#define MEMSET_STREAM 40
#define MEMSET_CORRELATION 44
#define MEMSET_FLAGS 48  /* uint16_t */
#define MEMSET_MEMORY 50 /* uint16_t */
#define MEMSET_GRAPH 72
#define MEMSET_CHANNEL 76

/* In CUpti_ActivityAPI */
#define API_CBID 4
#define API_START 8
#define API_END 16
#define API_THREAD 28
#define API_CORRELATION 32

/* In CUpti_ActivityOverhead and later */
#define OVERHEAD_KIND 4
#define OVERHEAD_START 24
#define OVERHEAD_END 32

#define MEMCPY_ASYNC 1 /* CUpti_ActivityFlag, of a copy and of a memset */

typedef void cupti_request(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			    size_t valid);
typedef uint64_t cupti_clock(void);
typedef void cupti_callback(void *user, int domain, uint32_t cbid, const void *data);

/* CUpti_SubscriberParams, of 13.0 */
struct cupti_subscriber {
	size_t size;
	const char *name;
	char *other;
	size_t other_size;
};

/* clang-format off */
/* X(name, needed, parameters) */
#define CUPTI_FUNCTIONS(X) \
	X(GetVersion,                        1, (uint32_t *version)) \
	X(GetTimestamp,                      1, (uint64_t *ns)) \
	X(Subscribe,                         1, (void **subscriber, cupti_callback *fn, void *user)) \
	X(Subscribe_v2,                      0, (void **subscriber, cupti_callback *fn, void *user, struct cupti_subscriber *parameters)) \
	X(Unsubscribe,                       1, (void *subscriber)) \
	X(SetThreadIdType,                   0, (int type)) \
	X(ActivityRegisterTimestampCallback, 0, (cupti_clock *clock)) \
	X(ActivitySetAttribute,              0, (int attribute, size_t *size, void *value)) \
	X(ActivityRegisterCallbacks,         1, (cupti_request *request, cupti_complete *complete)) \
	X(ActivityEnable,                    1, (int kind)) \
	X(ActivityDisable,                   1, (int kind)) \
	X(ActivityEnableDriverApi,           0, (uint32_t cbid, uint8_t enable)) \
	X(ActivityGetNextRecord,             1, (uint8_t *buffer, size_t valid, void **record)) \
	X(ActivityGetNumDroppedRecords,      1, (void *context, uint32_t stream, size_t *dropped)) \
	X(ActivityFlushAll,                  1, (uint32_t flags))
/* clang-format on */

struct cupti {
	void *library;
#define X(name, needed, parameters) int(*name) parameters;
	CUPTI_FUNCTIONS(X)
#undef X
	uint32_t version;
};

#endif /* MEMSCOPE_INJECT_CUPTI_H */
