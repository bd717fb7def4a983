// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of pods from kubelet's directories of logs.
 */
#include "folder.h"

#include <limits.h>
#include <time.h>

#include "host/name_sources.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "feedfeedfeed0000000000000000000000000000000000000000000000000000"
#define POD_UID "6e1f3a52-9c0b-4d4e-8a51-0123456789ab"
#define STATIC_UID "0123456789abcdef0123456789abcdef"
#define NO_UID "00000000-0000-0000-0000-000000000000"

static struct pod_logs logs;
static char pods_path[64];

static int enter(void **state)
{
	int err = folder_enter(state);

	logs = (struct pod_logs){ 0 };
	snprintf(pods_path, sizeof(pods_path), "%s/pods", folder);
	logs.path = pods_path;
	return err || chmod(".", 0755) || mkdir("pods", 0755) || mkdir("containers", 0755);
}

static int leave(void **state)
{
	pod_logs_close(&logs);
	return folder_leave(state);
}

#define logs_test(function) cmocka_unit_test_setup_teardown(function, enter, leave)

static void make_pod(const char *name)
{
	assert_int_equal(mkdirat(AT_FDCWD, name, 0755), 0);
}

/* Where it leads to is not there: nobody goes there. */
static void make_link(const char *name)
{
	assert_int_equal(symlink("/nonexistent/0.log", name), 0);
}

/* As if nothing had happened there for a while, or as it was then. */
static void set_time(const char *path, time_t seconds)
{
	const struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const struct container_names *look(const char *pod_uid, const char *id)
{
	struct container container = { 0 };

	snprintf(container.pod_uid, sizeof(container.pod_uid), "%s", pod_uid);
	snprintf(container.id, sizeof(container.id), "%s", id);
	return pod_logs_find(&logs, &container);
}

static void assert_names(const char *pod_uid, const char *id, const char *namespace,
			 const char *pod, const char *name)
{
	const struct container_names *names = look(pod_uid, id);

	assert_non_null(names);
	assert_string_equal(names->namespace, namespace);
	assert_string_equal(names->pod, pod);
	assert_string_equal(names->name, name);
}

static void test_names(void **state)
{
	(void)state;
	assert_null(look(POD_UID, ID));
	make_pod("pods/research_train-0.part_" POD_UID);
	make_pod("pods/kube-system_etcd-node7_" STATIC_UID);
	make_pod("pods/kube-system_etcd-node7_" STATIC_UID "/etcd");
	make_link("containers/train-0.part_research_cuda-main-" ID ".log");
	set_time("pods", 1000);
	set_time("containers", 1000);
	assert_names(POD_UID, ID, "research", "train-0.part", "cuda-main");
	/* A process that is in no container of it, and one whose link there is not yet. */
	assert_names(POD_UID, "", "research", "train-0.part", "");
	assert_names(POD_UID, OTHER, "research", "train-0.part", "");
	/* A pod with one container, of which no link says anything. */
	assert_names(STATIC_UID, OTHER, "kube-system", "etcd-node7", "etcd");
	make_pod("pods/kube-system_etcd-node7_" STATIC_UID "/init");
	assert_names(STATIC_UID, OTHER, "kube-system", "etcd-node7", "");
	/* What a link says is known, even if the pod's own directory is gone. */
	assert_names(NO_UID, ID, "research", "train-0.part", "cuda-main");
	/* Without a pod, it is none of kubelet's. */
	assert_null(look("", ID));
	assert_null(look(NO_UID, OTHER));
	logs.path = NULL;
	assert_null(look(POD_UID, ID));
}

/* kubelet cuts what is longer than a file's name can be. */
static void test_links_that_are_cut(void **state)
{
	char link[300], pod[300], name[201];

	(void)state;
	memset(name, 'p', 200);
	name[200] = '\0';
	snprintf(pod, sizeof(pod), "pods/ml_%.200s_" POD_UID, name);
	make_pod(pod);
	snprintf(link, sizeof(link), "containers/%s_ml_%s-%s", name, "main", ID);
	assert_true(strlen(link) > 11 + 251);
	strcpy(link + 11 + 251, ".log");
	make_link(link);
	assert_names(POD_UID, ID, "ml", name, "main");
	/* Another container, which began alike, would be another pod's: it says nothing of that. */
	assert_null(look(NO_UID, ID));
}

static void assert_left_out(const char *name)
{
	(void)name;
	set_time("pods", 1000 + (time_t)strlen(name));
	assert_null(look(POD_UID, ""));
}

static void test_what_is_not_kubelets(void **state)
{
	static const char *const names[] = {
		"pods/_train_" POD_UID,
		"pods/ml__" POD_UID,
		"pods/ml_train_0_" POD_UID,
		"pods/ml_train-" POD_UID,
		"pods/ML_train_" POD_UID,
		"pods/ml_tr\nain_" POD_UID,
		"pods/ml_\033[2J_" POD_UID,
		"pods/ml_tr\xff_" POD_UID,
		"pods/ml_<b>_" POD_UID,
		"pods/m.l_train_" POD_UID,
		"pods/ml_train_" POD_UID "_x",
		"pods/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_x_" POD_UID,
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		make_pod(names[i]);
		assert_left_out(names[i]);
		rmdir(names[i]);
	}
	assert_int_equal(mkfifo("pods/ml_fifo_" POD_UID, 0644), 0);
	assert_left_out("a FIFO");
	assert_int_equal(unlink("pods/ml_fifo_" POD_UID), 0);
	folder_put("pods/ml_file_" POD_UID, "");
	assert_left_out("a file");
	assert_int_equal(unlink("pods/ml_file_" POD_UID), 0);
	assert_int_equal(symlink("/", "pods/ml_link_" POD_UID), 0);
	assert_left_out("a link to somewhere");
}

static void test_containers_that_are_not_kubelets(void **state)
{
	(void)state;
	make_pod("pods/ml_train_" POD_UID);
	folder_put("containers/train_ml_file-" ID ".log", "");
	assert_int_equal(mkfifo("containers/train_ml_fifo-" ID ".log", 0644), 0);
	make_link("containers/train_ml_a-" ID);
	make_link("containers/train_ml_a_b-" ID ".log");
	make_link("containers/train_ml_-" ID ".log");
	make_link("containers/train_ml_\x1b-" ID ".log");
	make_link("containers/train_ml_short-0123456789ab.log");
	assert_names(POD_UID, ID, "ml", "train", "");
	/* Links in a pod's directory lead out of it, or to what is no container. */
	assert_int_equal(symlink("/", "pods/ml_train_" POD_UID "/out"), 0);
	assert_int_equal(mkfifo("pods/ml_train_" POD_UID "/fifo", 0644), 0);
	make_pod("pods/ml_train_" POD_UID "/Not A Name");
	assert_names(POD_UID, ID, "ml", "train", "");
	/* The container of another pod. */
	make_link("containers/other_ml_wrong-" ID ".log");
	set_time("containers", 2000);
	assert_names(POD_UID, ID, "ml", "train", "");
	make_pod("pods/ml_train_" POD_UID "/main");
	assert_names(POD_UID, ID, "ml", "train", "main");
}

static void test_two_that_claim_to_be_the_same(void **state)
{
	(void)state;
	make_pod("pods/ml_train_" POD_UID);
	make_pod("pods/ml_twin_" POD_UID);
	make_pod("pods/ml_web_" STATIC_UID);
	assert_null(look(POD_UID, ""));
	assert_names(STATIC_UID, "", "ml", "web", "");
	assert_int_equal(logs.pods.count, 1);
}

/* It is not read for each question: only for an id that is new, and if it has changed. */
static void test_when_it_is_read_again(void **state)
{
	(void)state;
	make_pod("pods/ml_first_" STATIC_UID);
	set_time("pods", 1000);
	assert_names(STATIC_UID, "", "ml", "first", "");
	make_pod("pods/ml_second_" POD_UID);
	set_time("pods", 1000);
	assert_null(look(POD_UID, ""));
	assert_int_equal(logs.pods.count, 1);
	set_time("pods", 1001);
	assert_names(STATIC_UID, "", "ml", "first", "");
	assert_int_equal(logs.pods.count, 1);
	assert_names(POD_UID, "", "ml", "second", "");
	assert_int_equal(logs.pods.count, 2);
}

/* Until then it may have got another name in the same tick of the file system's clock. */
static void test_a_directory_that_has_just_changed(void **state)
{
	const time_t now = time(NULL) + 3600;

	(void)state;
	set_time("pods", now);
	assert_null(look(POD_UID, ""));
	make_pod("pods/ml_train_" POD_UID);
	set_time("pods", now);
	usleep(110000);
	assert_names(POD_UID, "", "ml", "train", "");
}

static void test_directories_that_go(void **state)
{
	(void)state;
	make_pod("pods/ml_train_" POD_UID);
	make_pod("pods/ml_train_" POD_UID "/main");
	assert_names(POD_UID, ID, "ml", "train", "main");
	assert_int_equal(rmdir("pods/ml_train_" POD_UID "/main"), 0);
	assert_int_equal(rmdir("pods/ml_train_" POD_UID), 0);
	assert_names(POD_UID, ID, "ml", "train", "");
	assert_int_equal(rmdir("pods"), 0);
	assert_int_equal(rmdir("containers"), 0);
	assert_null(look(STATIC_UID, ID));
	assert_names(POD_UID, ID, "ml", "train", "");
}

static void test_directories_of_others(void **state)
{
	int saved;

	(void)state;
	make_pod("pods/ml_train_" POD_UID);
	assert_int_equal(chmod("pods", 0777), 0);
	saved = folder_hush();
	assert_null(look(POD_UID, ""));
	folder_speak(saved);
	assert_true(logs.pods.is_refused);
	assert_int_equal(chmod("pods", 0755), 0);
	assert_names(POD_UID, "", "ml", "train", "");
}

static void test_bounds(void **state)
{
	char name[NAME_MAX];
	unsigned int i;
	int saved;

	(void)state;
	for (i = 0; i < POD_LOGS_MAX + 100; i++) {
		snprintf(name, sizeof(name), "pods/ml_train-%u_%032x", i, i);
		make_pod(name);
	}
	saved = folder_hush();
	assert_null(look(POD_UID, ID));
	folder_speak(saved);
	assert_int_equal(logs.pods.count, POD_LOGS_MAX);
	assert_true(logs.pods.is_full);
	for (i = 0; i < POD_LOGS_MAX; i++) {
		const struct pod_logs_entry *entry = &logs.pods.entries[i];

		snprintf(name, sizeof(name), "train-%lu", strtoul(entry->names.id, NULL, 16));
		assert_string_equal(entry->names.pod, name);
	}
}

static void test_the_users_file_comes_first(void **state)
{
	const struct container unmapped = { .pod_uid = POD_UID, .id = OTHER };
	const struct container mapped = { .pod_uid = POD_UID, .id = ID };
	struct name_sources sources = { .logs.path = logs.path };

	(void)state;
	make_pod("pods/ml_train_" POD_UID);
	folder_put("map", ID " mine own-name -\n");
	assert_int_equal(container_map_open(&sources.map, "map"), 0);
	assert_string_equal(name_sources_find(&sources, &mapped)->pod, "own-name");
	assert_string_equal(name_sources_find(&sources, &unmapped)->pod, "train");
	name_sources_close(&sources);
	assert_null(name_sources_find(&sources, &mapped));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		logs_test(test_names),
		logs_test(test_links_that_are_cut),
		logs_test(test_what_is_not_kubelets),
		logs_test(test_containers_that_are_not_kubelets),
		logs_test(test_two_that_claim_to_be_the_same),
		logs_test(test_when_it_is_read_again),
		logs_test(test_a_directory_that_has_just_changed),
		logs_test(test_directories_that_go),
		logs_test(test_directories_of_others),
		logs_test(test_bounds),
		logs_test(test_the_users_file_comes_first),
	};

	return unit_run("pod_logs", tests);
}
