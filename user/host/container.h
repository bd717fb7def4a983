/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which container a cgroup belongs to, by its path: the ways in which container engines name the
 * cgroups that they make.
 *
 * Sources: opencontainers/runc, libcontainer/cgroups (systemd: SLICE:PREFIX:NAME is the scope
 * PREFIX-NAME.scope); kubernetes, pkg/kubelet/cm/cgroup_manager_linux.go (kubepods); containers/
 * podman, libpod/oci_conmon_linux.go (libpod-ID.scope); cri-o, internal/config/cgmgr (crio-ID.
 * scope); systemd, systemd-nspawn(1), org.freedesktop.machine1(5); lxc, doc/lxc.container.conf.
 */
#ifndef MEMSCOPE_HOST_CONTAINER_H
#define MEMSCOPE_HOST_CONTAINER_H

#include <stdbool.h>

#define CONTAINER_ID_BYTES 128
#define CONTAINER_RUNTIME_BYTES 16
#define CONTAINER_POD_BYTES 40

struct container {
	/* The outermost one of several: inside of a container, anyone can make cgroups. */
	char id[CONTAINER_ID_BYTES];           /* or its name; "": it is none that is known */
	char runtime[CONTAINER_RUNTIME_BYTES]; /* "docker" ...; "": not known */
	char pod_uid[CONTAINER_POD_BYTES];     /* of Kubernetes; "": none */
};

/*
 * From the path of a cgroup in its hierarchy. Only letters, digits, "_", "." and "-" are taken from
 * it.
 */
struct container container_of_cgroup(const char *path);

#endif /* MEMSCOPE_HOST_CONTAINER_H */
