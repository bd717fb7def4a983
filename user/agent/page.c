// SPDX-License-Identifier: BSD-2-Clause
#include "agent/page.h"

#include "agent/request.h"

const char *page_text(uint32_t document)
{
	(void)document;
	return "<!DOCTYPE html>\n"
	       "<html lang=\"en\"><meta charset=\"utf-8\"><title>memscope-bpf</title>\n"
	       "<h1>memscope-bpf agent</h1>\n"
	       "<ul><li><a href=\"/api/v1/who\">who holds GPU memory</a>\n"
	       "<li><a href=\"/metrics\">metrics</a>\n"
	       "<li><a href=\"/debug/pprof/gpu_heap\">heap profile</a>\n"
	       "<li><a href=\"/health\">health</a>, <a href=\"/ready\">ready</a></ul>\n";
}
