// SPDX-License-Identifier: BSD-2-Clause
#include "agent/curl_library.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/log.h"

/* Distributions build it with one TLS library or another. */
static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

static void *open_library(void)
{
	void *handle = NULL;
	size_t i;

	for (i = 0; !handle && i < sizeof(names) / sizeof(*names); i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return handle;
}

int curl_library_load(struct curl_library *library)
{
	static const struct {
		const char *name;
		size_t place;
	} functions[] = {
#define F(member) { "curl_" #member, offsetof(struct curl_library, member) }
		F(global_init),         F(easy_init),     F(easy_setopt), F(easy_getinfo),
		F(easy_strerror),       F(slist_append),  F(multi_init),  F(multi_add_handle),
		F(multi_remove_handle), F(multi_perform), F(multi_poll),  F(multi_info_read),
#undef F
	};
	void *handle = open_library();
	size_t i;

	if (!handle) {
		log_error("cannot load libcurl.so.4: %s; install libcurl4 (Debian, Ubuntu), which"
			  " --otlp and --remote-write need",
			  dlerror());
		return -ENOENT;
	}
	for (i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(handle, functions[i].name);

		if (!function) {
			log_error("libcurl lacks %s: pushing metrics needs version 7.66 or later",
				  functions[i].name);
			return -ENOENT;
		}
		*(void **)((char *)library + functions[i].place) = function;
	}
	return library->global_init(CURL_LIBRARY_GLOBAL_ALL) ? -EIO : 0;
}
