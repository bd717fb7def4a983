// SPDX-License-Identifier: BSD-2-Clause
/*
 * The numbers and offsets of user/inject/cupti.h, compiled with CUPTI's headers of several versions
 * (make check-headers). A version of CUPTI fills the newest structure that its header has.
 */
#include <cupti.h>
#include <stddef.h>

#include "inject/cupti.h"

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel;
#elif CUPTI_API_VERSION >= 19
typedef CUpti_ActivityKernel9 kernel;
#else
typedef CUpti_ActivityKernel8 kernel;
#endif
#if CUPTI_API_VERSION >= 26
typedef CUpti_ActivityMemcpy6 copy;
#else
typedef CUpti_ActivityMemcpy5 copy;
#endif

#define IS(name, value) _Static_assert((name) == (value), #name)
#define AT(type, member, offset) \
	_Static_assert(offsetof(type, member) == (offset), #type "." #member)

IS(CUPTI_OK, CUPTI_SUCCESS);
IS(CUPTI_END_OF_BUFFER, CUPTI_ERROR_MAX_LIMIT_REACHED);
IS(CUPTI_ANOTHER_SUBSCRIBER, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
IS(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
IS(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
IS(CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
IS(CUPTI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
IS(CUPTI_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
IS(CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
IS(CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
IS(CUPTI_PEER_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2);
IS(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
IS(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
IS(CUPTI_ATTRIBUTE_ZEROED, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
IS(MEMCPY_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
IS(MEMCPY_ASYNC, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);

AT(kernel, registersPerThread, KERNEL_REGISTERS);
AT(kernel, start, KERNEL_START);
AT(kernel, end, KERNEL_END);
AT(kernel, deviceId, KERNEL_DEVICE);
AT(kernel, contextId, KERNEL_CONTEXT);
AT(kernel, streamId, KERNEL_STREAM);
AT(kernel, gridX, KERNEL_GRID);
AT(kernel, blockX, KERNEL_BLOCK);
AT(kernel, staticSharedMemory, KERNEL_STATIC_SHARED);
AT(kernel, dynamicSharedMemory, KERNEL_DYNAMIC_SHARED);
AT(kernel, correlationId, KERNEL_CORRELATION);
AT(kernel, name, KERNEL_NAME);
AT(kernel, graphId, KERNEL_GRAPH);
AT(kernel, channelID, KERNEL_CHANNEL);
#if CUPTI_API_VERSION >= CUPTI_DEVICE_LAUNCHED
AT(kernel, isDeviceLaunched, KERNEL_DEVICE_LAUNCHED);
#endif

AT(copy, copyKind, MEMCPY_KIND);
AT(copy, srcKind, MEMCPY_SOURCE);
AT(copy, dstKind, MEMCPY_DESTINATION);
AT(copy, flags, MEMCPY_FLAGS);
AT(copy, bytes, MEMCPY_BYTES);
AT(copy, start, MEMCPY_START);
AT(copy, end, MEMCPY_END);
AT(copy, deviceId, MEMCPY_DEVICE);
AT(copy, contextId, MEMCPY_CONTEXT);
AT(copy, streamId, MEMCPY_STREAM);
AT(copy, correlationId, MEMCPY_CORRELATION);
AT(copy, graphId, MEMCPY_GRAPH);
AT(copy, channelID, MEMCPY_CHANNEL);

AT(CUpti_ActivityMemcpyPtoP4, bytes, MEMCPY_BYTES);
AT(CUpti_ActivityMemcpyPtoP4, start, MEMCPY_START);
AT(CUpti_ActivityMemcpyPtoP4, streamId, MEMCPY_STREAM);
AT(CUpti_ActivityMemcpyPtoP4, correlationId, PEER_CORRELATION);
AT(CUpti_ActivityMemcpyPtoP4, graphId, PEER_GRAPH);
AT(CUpti_ActivityMemcpyPtoP4, channelID, PEER_CHANNEL);

AT(CUpti_ActivityMemset4, bytes, MEMSET_BYTES);
AT(CUpti_ActivityMemset4, start, MEMSET_START);
AT(CUpti_ActivityMemset4, end, MEMSET_END);
AT(CUpti_ActivityMemset4, deviceId, MEMSET_DEVICE);
AT(CUpti_ActivityMemset4, contextId, MEMSET_CONTEXT);
AT(CUpti_ActivityMemset4, streamId, MEMSET_STREAM);
AT(CUpti_ActivityMemset4, correlationId, MEMSET_CORRELATION);
AT(CUpti_ActivityMemset4, flags, MEMSET_FLAGS);
AT(CUpti_ActivityMemset4, memoryKind, MEMSET_MEMORY);
AT(CUpti_ActivityMemset4, graphId, MEMSET_GRAPH);
AT(CUpti_ActivityMemset4, channelID, MEMSET_CHANNEL);

AT(CUpti_ActivityAPI, cbid, API_CBID);
AT(CUpti_ActivityAPI, start, API_START);
AT(CUpti_ActivityAPI, end, API_END);
AT(CUpti_ActivityAPI, threadId, API_THREAD);
AT(CUpti_ActivityAPI, correlationId, API_CORRELATION);

AT(CUpti_ActivityOverhead, overheadKind, OVERHEAD_KIND);
AT(CUpti_ActivityOverhead, start, OVERHEAD_START);
AT(CUpti_ActivityOverhead, end, OVERHEAD_END);

#if CUPTI_API_VERSION >= 130000
AT(CUpti_SubscriberParams, structSize, offsetof(struct cupti_subscriber, size));
AT(CUpti_SubscriberParams, subscriberName, offsetof(struct cupti_subscriber, name));
AT(CUpti_SubscriberParams, oldSubscriberName, offsetof(struct cupti_subscriber, other));
AT(CUpti_SubscriberParams, oldSubscriberSize, offsetof(struct cupti_subscriber, other_size));
#endif
