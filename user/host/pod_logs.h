/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of pods and their containers, from what kubelet keeps of their logs on its node:
 * directories PODS/NAMESPACE_POD_UID/CONTAINER, and beside PODS links containers/
 * POD_NAMESPACE_CONTAINER-ID.log. No log, and nothing that a link leads to, is opened: the names
 * alone say it.
 *
 * Sources: kubernetes, pkg/kubelet/kuberuntime/helpers.go (BuildPodLogsDirectory) and legacy.go
 * (the links, whose names are cut to what a file system takes). Only what Kubernetes allows in a
 * name is taken (RFC 1123, as validation.go has it); everything else there is not kubelet's.
 */
#ifndef MEMSCOPE_HOST_POD_LOGS_H
#define MEMSCOPE_HOST_POD_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "host/container.h"
#include "host/container_map.h"

#define POD_LOGS_DEFAULT "/var/log/pods"
#define POD_LOGS_MAX 8192 /* pods, and links, that are kept; the names of others are not known */
#define POD_LOGS_NAME_BYTES 64 /* of a container */

/* What one name says; `text` has all of it, in pieces. */
struct pod_logs_entry {
	char *text;
	struct container_names names; /* `id` is the pod's UID, or the container's id */
	bool is_cut;                  /* of a long name, the id's end is missing */
};

/* A directory as it was when it was read. */
struct pod_logs_table {
	struct pod_logs_entry *entries; /* by id */
	size_t count;
	struct stat status;
	uint64_t read_ns; /* CLOCK_MONOTONIC; 0: never */
	bool is_settled;  /* what has come since can be told by the directory's time */
	bool is_refused;  /* that was said */
	bool is_full;
};

/* A zeroed one knows no pod. */
struct pod_logs {
	const char *path; /* of PODS, which outlives this; NULL: nothing is looked at */
	struct pod_logs_table pods, links;
	struct container_names found;
	char name[POD_LOGS_NAME_BYTES];
};

/*
 * Of a container in a pod; NULL: not known. The directories are read when an id comes that they did
 * not have, and have changed since. The names live until the next call.
 */
const struct container_names *pod_logs_find(struct pod_logs *logs,
					    const struct container *container);

void pod_logs_close(struct pod_logs *logs);

#endif /* MEMSCOPE_HOST_POD_LOGS_H */
