/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thing that the analysis of a run has found, with the numbers that it rests on: what reports
 * show, and --fail-on asks for.
 */
#ifndef MEMSCOPE_ANALYSIS_FINDING_H
#define MEMSCOPE_ANALYSIS_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "analysis/stack_tally.h"
#include "event/identity.h"

enum finding_rule {
#define RULE(id, ...) FINDING_##id,
#include "analysis/rules.def"
#undef RULE
	FINDING_RULES_COUNT,
};

enum finding_topic {
	FINDING_TOPIC_LEAK,
	FINDING_TOPIC_KEPT, /* held to no purpose: pools, piles, calls that give nothing back */
	FINDING_TOPIC_OOM,
	FINDING_TOPIC_CHURN,
	FINDING_TOPIC_COPIES,
	FINDING_TOPIC_BOTTLENECK,
	FINDING_TOPIC_NOTE, /* nothing wrong, but good to know: it neither leads nor fails */
	FINDING_TOPICS_COUNT,
};

enum finding_confidence {
	FINDING_LOW,
	FINDING_MEDIUM,
	FINDING_HIGH,
};

enum finding_unit {
	FINDING_COUNT,
	FINDING_BYTES,
	FINDING_NS,
	FINDING_PERCENT,
	FINDING_BYTES_PER_SECOND,
	FINDING_PER_SECOND,
	FINDING_TIME, /* CLOCK_MONOTONIC, nanoseconds */
	FINDING_ADDRESS,
	FINDING_PID,
	FINDING_CURESULT,  /* of the driver */
	FINDING_CUDAERROR, /* of the runtime */
};

/* A number, and in words what it is: "allocations not freed". The words are constants. */
struct finding_evidence {
	const char *what;
	const char *name; /* what it is about, in the program: bytes of any kind; NULL: nothing */
	enum finding_unit unit;
	uint64_t value;
};

#define FINDING_EVIDENCE_MAX 16

struct finding {
	enum finding_rule rule;
	enum finding_confidence confidence;
	uint32_t pid;
	uint64_t start_ns; /* with the pid, the process */
	char comm[MS_COMM_BYTES];
	char name[IDENTITY_NAME_BYTES]; /* what to call it; set once all has been found */
	int32_t device;                 /* -1: none, or unknown */
	uint8_t space;                  /* enum ms_space; MS_SPACE_NONE: it is about none */
	uint16_t row;                   /* of the probe table; MS_NO_ROW: it is about no function */
	uint64_t first_ts_ns, last_ts_ns; /* what it covers, CLOCK_MONOTONIC */
	uint64_t bytes;       /* that it is about: what findings of a topic are sorted by, */
	uint64_t duration_ns; /* and of equal ones, by the time that it took */
	uint8_t object;       /* enum ms_object_kind: it is about `count` of those */
	uint64_t count;
	uint32_t oom;    /* of FINDING_OOM: position in analysis_ooms() */
	uint8_t outcome; /* of FINDING_OOM: enum oom_outcome */
	bool too_large;  /* of FINDING_OOM: more was asked for than there could ever be */
	struct finding_evidence evidence[FINDING_EVIDENCE_MAX];
	size_t evidence_count;
	const char *says;    /* what its rule says of others; NULL: what it says of all */
	const char *pattern; /* of growth, what its sizes or times are like; NULL: none */
	bool is_of_tensors;  /* of growth: of blocks that a framework's allocator gave */
	uint16_t framework;  /* enum ms_framework: of that, and of what its allocator cannot use */
	uint32_t stack;      /* id of where these were asked for; 0: not known */
	/* Where the calls that it is about were made: of copies by time, of leaks by the bytes that
	 * were live of that kind, of others by count. */
	struct stack_tally lines;
	bool freed;             /* of growth: in the end it was given back */
	const char *lowered_by; /* why the confidence is not higher; NULL: it is high */
};

/* What is more than a finding has room for is left out. */
void finding_say(struct finding *finding, const char *what, enum finding_unit unit, uint64_t value);

/* The same of something that has a name: findings_name(). */
void finding_say_of(struct finding *finding, const char *what, const char *name,
		    enum finding_unit unit, uint64_t value);

/* Lowers the confidence to `confidence` if it is higher, and says why. */
void finding_lower(struct finding *finding, enum finding_confidence confidence, const char *why);

/*
 * Whether memory ran out and the program had it in the end: so it is nothing that a report begins
 * with or fails for.
 */
bool finding_ended_well(const struct finding *finding);

/* So much in so long, per second; at most what fits, and 0 of no time. */
uint64_t finding_rate(uint64_t amount, uint64_t length_ns);

/* What a rule has to see, besides what it needs to have been captured. */
enum rule_blind {
	RULE_BLIND_NOTHING,
	RULE_BLIND_TO_ORDER,     /* which call came before which */
	RULE_BLIND_TO_PINNED,    /* which host memory is page-locked */
	RULE_BLIND_FOR_NOW,      /* more than a moment */
	RULE_BLIND_TO_LAUNCHES,  /* the same, and each launch */
	RULE_BLIND_TO_GROWTH,    /* time enough for growth */
	RULE_BLIND_TO_EXIT,      /* the end of a process */
	RULE_BLIND_TO_WINDOW,    /* the window that was asked for */
	RULE_BLIND_TO_WARMUP,    /* what came after the initialisation, if it was asked for */
	RULE_BLIND_TO_ROOM,      /* how much of a device is free */
	RULE_BLIND_TO_USE,       /* the same, or how much NVML says that a process holds */
	RULE_BLIND_TO_GPU_TIMES, /* when GPUs had work */
	RULE_BLIND_TO_WORK,      /* copies, memsets and launches that fail */
	RULE_BLIND_TO_TENSORS,   /* what a framework's allocator does */
};

/* As reports and options have them: "medium", "bottleneck". */
const char *finding_confidence_name(enum finding_confidence confidence);
const char *finding_topic_name(enum finding_topic topic);

/* The columns of analysis/rules.def. */
const char *finding_rule_name(enum finding_rule rule);
enum finding_topic finding_topic_of(enum finding_rule rule);
uint32_t finding_rule_needs(enum finding_rule rule); /* bit set of enum ms_op */
enum rule_blind finding_rule_blind(enum finding_rule rule);
/*
 * What is found of the process, for a sentence that begins with its name; %B and %0 to %9 as in
 * rules.def. NULL: it is about objects, and depends on their kind.
 */
const char *finding_says(const struct finding *finding);

const char *finding_rule_suggestion(enum finding_rule rule); /* NULL: it depends on the cause */

#endif /* MEMSCOPE_ANALYSIS_FINDING_H */
