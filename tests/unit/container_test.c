// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "host/container.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define POD_UID "6e1f3a52-9c0b-4d4e-8a51-0123456789ab"
#define POD_SLICE "kubepods-burstable-pod6e1f3a52_9c0b_4d4e_8a51_0123456789ab.slice"

static void expect(const char *path, const char *runtime, const char *id, const char *pod_uid)
{
	char *copy = strdup(path);
	struct container container;

	assert_non_null(copy);
	container = container_of_cgroup(copy);
	free(copy);
	assert_string_equal(container.runtime, runtime);
	assert_string_equal(container.id, id);
	assert_string_equal(container.pod_uid, pod_uid);
}

/* As each of them names its cgroups, with systemd and without, with Kubernetes and without. */
static void test_runtimes(void **state)
{
	(void)state;
	expect("/system.slice/docker-" ID ".scope", "docker", ID, "");
	expect("/docker/" ID, "docker", ID, "");
	expect("/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope",
	       "docker", ID, "");
	expect("/kubepods.slice/kubepods-burstable.slice/" POD_SLICE "/cri-containerd-" ID ".scope",
	       "containerd", ID, POD_UID);
	expect("/system.slice/containerd.service/" POD_SLICE ":cri-containerd:" ID, "containerd",
	       ID, POD_UID);
	expect("/kubepods/besteffort/pod" POD_UID "/" ID, "", ID, POD_UID);
	expect("/kubepods.slice/" POD_SLICE "/crio-" ID ".scope/container", "cri-o", ID, POD_UID);
	expect("/kubepods.slice/" POD_SLICE "/crio-conmon-" ID ".scope", "", "", POD_UID);
	expect("/machine.slice/libpod-" ID ".scope/container", "podman", ID, "");
	expect("/machine.slice/libpod-conmon-" ID ".scope", "", "", "");
	expect("/libpod_parent/libpod-" ID, "podman", ID, "");
	expect("/lxc.payload.web-1/init.scope", "lxc", "web-1", "");
	expect("/lxc/web/system.slice", "lxc", "web", "");
	expect("/lxc.monitor.web", "", "", "");
	expect("/machine.slice/machine-my\\x2dcontainer.scope/payload", "systemd-nspawn",
	       "my-container", "");
	expect("/machine.slice/systemd-nspawn@web.service/payload", "systemd-nspawn", "web", "");
	expect("/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "", "", "");
}

static void test_none(void **state)
{
	(void)state;
	expect("", "", "", "");
	expect("/", "", "", "");
	expect("/user.slice/user-0.slice/session-1.scope", "", "", "");
	expect("/system.slice/docker.service", "", "", "");
	/* A name is not an id, and what is no pod of Kubernetes is none. */
	expect("/docker/web", "", "", "");
	expect("/system.slice/docker-0123.scope", "", "", "");
	expect("/pod" POD_UID "/x", "", "", "");
}

/* As an agent in a pod sees them, whose own cgroup is the root of all paths. */
static void test_from_another_pod(void **state)
{
	(void)state;
	expect("/../../pod" POD_UID "/" ID, "", ID, POD_UID);
	expect("/../../" POD_SLICE "/cri-containerd-" ID ".scope", "containerd", ID, POD_UID);
	expect("/../../../besteffort/pod" POD_UID "/" ID, "", ID, POD_UID);
	expect("/../" ID, "", ID, "");
	expect("/..", "", "", "");
}

/* Inside of a container, anyone can make cgroups. */
static void test_the_outermost_counts(void **state)
{
	(void)state;
	expect("/docker/" ID "/docker/" OTHER, "docker", ID, "");
	expect("/system.slice/docker-" ID ".scope/libpod-" OTHER ".scope", "docker", ID, "");
	expect("/kubepods/pod" POD_UID "/" ID "/kubepods/pod00000000000000000000000000000000/x", "",
	       ID, POD_UID);
}

static void test_made_up_names(void **state)
{
	char path[5000] = "/lxc/";

	(void)state;
	expect("/lxc/a\nb", "", "", "");
	expect("/lxc/\033[2J", "", "", "");
	expect("/lxc/<b>x", "", "", "");
	expect("/lxc/\xff\xfe", "", "", "");
	expect("/lxc.payload.", "", "", "");
	expect("/machine.slice/machine-.scope", "", "", "");
	expect("/machine.slice/machine-a\\x0ab.scope", "", "", "");
	expect("/kubepods/pod../../../../../../etc/passwd", "", "", "");
	expect("/kubepods-pod", "", "", "");
	expect("////lxc//", "", "", "");
	memset(path + strlen(path), 'a', 4000);
	expect(path, "", "", "");
	expect("/docker/" ID "0", "", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runtimes),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_from_another_pod),
		cmocka_unit_test(test_the_outermost_counts),
		cmocka_unit_test(test_made_up_names),
	};

	return unit_run("container", tests);
}
