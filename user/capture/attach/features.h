/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this kernel can do, found by trying and not by version; each feature once, when somebody
 * asks. --without=NAME makes the program do as if one were missing.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_FEATURES_H
#define MEMSCOPE_CAPTURE_ATTACH_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

enum feature {
	FEATURE_PID_NAMESPACE,
	FEATURE_BTF,
	FEATURE_RING_BUFFER,
	FEATURE_TASK_STORAGE,
	FEATURE_ATTACH_COOKIE,
	FEATURE_UPROBE_SESSION,
	FEATURE_UPROBE_MULTI,
	FEATURE_UPROBE_SINGLE,
	FEATURE_UPROBE_NOPS,
	FEATURE_MAP_FILES,
	FEATURE_MMAP_EVENTS,
	FEATURE_OPEN_FILES,
	FEATURES_COUNT,
};

struct feature_info {
	const char *name;    /* for --without and check */
	const char *what;    /* it is, and since which kernel */
	const char *without; /* what is lost if it is missing */
	bool required;
	int (*probe)(void); /* 0: works; -errno: why not */
};

extern const struct feature_info feature_infos[FEATURES_COUNT];

struct features {
	uint32_t masked; /* bit set of enum feature */
	uint32_t probed;
	int results[FEATURES_COUNT]; /* of those probed: 0 or -errno */
};

/* The feature of that name, or -1. */
int feature_find(const char *name);

static inline bool feature_is_masked(const struct features *features, enum feature feature)
{
	return features->masked >> feature & 1;
}

/* Returns 0 if the feature works here, -ENOTSUP if it is masked, or -errno: why it does not. */
int feature_test(struct features *features, enum feature feature);

/*
 * The same, but where the kernel says whether it has the feature without being made to use it, that
 * is taken for an answer, which comes a few hundredths of a second earlier.
 */
int feature_ask(struct features *features, enum feature feature);

/*
 * What a uprobe with an empty program takes here, in nanoseconds of CPU time: the median of some on
 * a function of our own, in a few milliseconds. Returns 0 or -errno.
 */
int features_measure_trap(struct features *features, uint64_t *ns);

/* The version of libbpf: "v1.1". */
const char *features_libbpf_version(void);

#endif /* MEMSCOPE_CAPTURE_ATTACH_FEATURES_H */
