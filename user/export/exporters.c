// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "export/export.h"

const struct exporter *const exporters[] = {
	/* clang-format off */
	&export_ndjson,
	&export_csv,
	&export_perfetto,
	&export_chrome,
	&export_pprof,
	&export_folded,
	&export_memory_viz,
	&export_sqlite,
	&export_openmetrics,
	NULL,
	/* clang-format on */
};

const struct exporter *exporter_find(const char *name)
{
	const struct exporter *const *exporter;

	for (exporter = exporters; *exporter; exporter++)
		if (!strcmp((*exporter)->name, name))
			return *exporter;
	return NULL;
}
