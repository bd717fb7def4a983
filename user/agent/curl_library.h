/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libcurl, loaded when it is needed: all but the process that pushes metrics runs without it. Its
 * interface has been the same since version 7.66 (2019), and the numbers below (curl/curl.h) never
 * change.
 */
#ifndef MEMSCOPE_AGENT_CURL_LIBRARY_H
#define MEMSCOPE_AGENT_CURL_LIBRARY_H

#include <stddef.h>

struct curl_slist;

/* struct curl_waitfd; events: 1, it can be read */
struct curl_library_fd {
	int fd;
	short events, revents;
};

/* struct CURLMsg */
struct curl_library_message {
	int message;
	void *easy;
	union {
		void *other;
		int result;
	} data;
};

/* struct curl_blob; flags: 1, it is copied */
struct curl_library_blob {
	void *bytes;
	size_t length;
	unsigned int flags;
};

struct curl_library {
	int (*global_init)(long flags);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *easy, int option, ...);
	int (*easy_getinfo)(void *easy, int info, ...);
	const char *(*easy_strerror)(int result);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void *(*multi_init)(void);
	int (*multi_add_handle)(void *multi, void *easy);
	int (*multi_remove_handle)(void *multi, void *easy);
	int (*multi_perform)(void *multi, int *running);
	int (*multi_poll)(void *multi, struct curl_library_fd *fds, unsigned int count,
			  int timeout_ms, int *ready);
	struct curl_library_message *(*multi_info_read)(void *multi, int *left);
};

enum {
	CURL_LIBRARY_GLOBAL_ALL = 3,
	CURL_LIBRARY_WAIT_IN = 1,
	CURL_LIBRARY_MESSAGE_DONE = 1,
	CURL_LIBRARY_READ_ABORT = 0x10000000,
	CURL_LIBRARY_ONLY_HTTP = 3, /* and https */
	CURL_LIBRARY_HTTP_1_1 = 2,

	CURL_LIBRARY_POST = 47,
	CURL_LIBRARY_HTTP_VERSION = 84,
	CURL_LIBRARY_NOSIGNAL = 99,
	CURL_LIBRARY_TIMEOUT_MS = 155,
	CURL_LIBRARY_CONNECT_TIMEOUT_MS = 156,
	CURL_LIBRARY_PROTOCOLS = 181,
	CURL_LIBRARY_WRITE_DATA = 10001,
	CURL_LIBRARY_URL = 10002,
	CURL_LIBRARY_PROXY = 10004,
	CURL_LIBRARY_READ_DATA = 10009,
	CURL_LIBRARY_ERROR_BUFFER = 10010, /* of 256 bytes */
	CURL_LIBRARY_USER_AGENT = 10018,
	CURL_LIBRARY_HTTP_HEADER = 10023,
	CURL_LIBRARY_SEEK_DATA = 10168,
	CURL_LIBRARY_UNIX_SOCKET = 10231,
	CURL_LIBRARY_WRITE_FUNCTION = 20011,
	CURL_LIBRARY_READ_FUNCTION = 20012,
	CURL_LIBRARY_SEEK_FUNCTION = 20167,
	CURL_LIBRARY_BODY_BYTES = 30120, /* a long long */
	/* Blobs of PEM, since 7.71 and 7.77: */
	CURL_LIBRARY_CERTIFICATE = 40291,
	CURL_LIBRARY_KEY = 40292,
	CURL_LIBRARY_AUTHORITY = 40309,

	CURL_LIBRARY_INFO_STATUS = 0x200002,      /* a long */
	CURL_LIBRARY_INFO_RETRY_AFTER = 0x600039, /* a long long, in seconds */
};

/* Loads the library, which stays loaded. Returns 0 or -ENOENT, logged. */
int curl_library_load(struct curl_library *library);

#endif /* MEMSCOPE_AGENT_CURL_LIBRARY_H */
