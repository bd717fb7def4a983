/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GNU libmicrohttpd, loaded when it is needed: all other commands run without it.
 */
#ifndef MEMSCOPE_AGENT_HTTP_LIBRARY_H
#define MEMSCOPE_AGENT_HTTP_LIBRARY_H

#include <microhttpd.h>

struct http_library {
	struct MHD_Daemon *(*start_daemon)(unsigned int flags, uint16_t port,
					   MHD_AcceptPolicyCallback apc, void *apc_cls,
					   MHD_AccessHandlerCallback dh, void *dh_cls, ...);
	const union MHD_DaemonInfo *(*get_daemon_info)(struct MHD_Daemon *daemon,
						       enum MHD_DaemonInfoType type, ...);
	const union MHD_ConnectionInfo *(*get_connection_info)(struct MHD_Connection *connection,
							       enum MHD_ConnectionInfoType type,
							       ...);
	enum MHD_Result (*run)(struct MHD_Daemon *daemon);
	enum MHD_Result (*get_timeout)(struct MHD_Daemon *daemon, MHD_UNSIGNED_LONG_LONG *ms);
	void (*suspend_connection)(struct MHD_Connection *connection);
	void (*resume_connection)(struct MHD_Connection *connection);
	const char *(*lookup_connection_value)(struct MHD_Connection *connection,
					       enum MHD_ValueKind kind, const char *key);
	int (*get_connection_values)(struct MHD_Connection *connection, enum MHD_ValueKind kind,
				     MHD_KeyValueIterator iterator, void *context);
	struct MHD_Response *(*create_response_from_buffer)(size_t size, void *buffer,
							    enum MHD_ResponseMemoryMode mode);
	struct MHD_Response *(*create_response_from_fd)(size_t size, int fd);
	enum MHD_Result (*add_response_header)(struct MHD_Response *response, const char *name,
					       const char *value);
	enum MHD_Result (*queue_response)(struct MHD_Connection *connection, unsigned int status,
					  struct MHD_Response *response);
	void (*destroy_response)(struct MHD_Response *response);
};

/* Loads the library, which stays loaded. Returns 0 or -ENOENT, logged. */
int http_library_load(struct http_library *library);

#endif /* MEMSCOPE_AGENT_HTTP_LIBRARY_H */
