// SPDX-License-Identifier: BSD-2-Clause
#include "agent/http_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/log.h"

/* Its interface has not changed since version 0.9.70 (2020). */
#define NAME "libmicrohttpd.so.12"

int http_library_load(struct http_library *library)
{
	static const struct {
		const char *name;
		size_t place;
	} functions[] = {
#define F(member) { "MHD_" #member, offsetof(struct http_library, member) }
		F(start_daemon),
		F(get_daemon_info),
		F(get_connection_info),
		F(run),
		F(get_timeout),
		F(suspend_connection),
		F(resume_connection),
		F(lookup_connection_value),
		F(get_connection_values),
		F(create_response_from_buffer),
		F(create_response_from_fd),
		F(add_response_header),
		F(queue_response),
		F(destroy_response),
#undef F
	};
	void *handle = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
	size_t i;

	if (!handle) {
		log_error(
			"cannot load %s: %s; install libmicrohttpd12 (Debian, Ubuntu), or use --listen off",
			NAME, dlerror());
		return -ENOENT;
	}
	for (i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(handle, functions[i].name);

		if (!function) {
			log_error("%s lacks %s, which the agent needs", NAME, functions[i].name);
			return -ENOENT;
		}
		*(void **)((char *)library + functions[i].place) = function;
	}
	return 0;
}
