// SPDX-License-Identifier: BSD-2-Clause
#include "host/name_sources.h"

const struct container_names *name_sources_find(struct name_sources *sources,
						const struct container *container)
{
	const struct container_names *names =
		container->id[0] ? container_map_find(&sources->map, container->id) : NULL;

	return names ? names : pod_logs_find(&sources->logs, container);
}

void name_sources_close(struct name_sources *sources)
{
	container_map_close(&sources->map);
	pod_logs_close(&sources->logs);
}
