// SPDX-License-Identifier: BSD-2-Clause
#include "agent/page.h"

#include "agent/request.h"

/* user/agent/page/assets.S */
extern const char page_html[], page_style[], page_script[];

const char *page_text(uint32_t document)
{
	return document == REQUEST_STYLE  ? page_style :
	       document == REQUEST_SCRIPT ? page_script :
					    page_html;
}
