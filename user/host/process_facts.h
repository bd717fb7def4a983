/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who a process is, as /proc says: its program, its user, its parent, its container, and some
 * variables of its environment. Everything is bounded, whatever the process does, and nothing of it
 * is trusted: outputs escape it.
 */
#ifndef MEMSCOPE_HOST_PROCESS_FACTS_H
#define MEMSCOPE_HOST_PROCESS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/container.h"
#include "host/title.h"

#define PROCESS_FACTS_TEXT_BYTES 1024
#define PROCESS_FACTS_LINE_BYTES 4096
#define PROCESS_FACTS_VARIABLES 32

/* Texts that are not known are "". */
struct process_facts {
	bool is_whole;   /* the process was still running when all had been read */
	bool has_status; /* the next four are known */
	uint32_t uid;    /* effective, in the user namespace of this program */
	uint32_t gid;
	uint32_t parent; /* 0: it is in another PID namespace */
	uint32_t
		ns_pid; /* the process's pid in its own PID namespace; 0: the kernel does not say */
	char exe[PROCESS_FACTS_TEXT_BYTES];    /* of a long path, its end */
	char script[PROCESS_FACTS_TEXT_BYTES]; /* host/script.h; of a worker, its parent's */
	bool is_worker;                        /* script_is_worker() */
	char title[TITLE_BYTES];               /* host/title.h */
	char cgroup[PROCESS_FACTS_TEXT_BYTES]; /* in its hierarchy; of a long one, its beginning */
	/* In other hierarchies, without roots and that one: one a line; no path has a newline. */
	char other_cgroups[PROCESS_FACTS_TEXT_BYTES];
	struct container container;
	bool has_variable[PROCESS_FACTS_VARIABLES];
	char variables[PROCESS_FACTS_VARIABLES][PROCESS_FACTS_TEXT_BYTES];
	char line[PROCESS_FACTS_LINE_BYTES]; /* command line, with spaces; "" unless asked for */
};

/* What is asked for besides. */
struct process_facts_wish {
	const char *const *variables; /* names; at most PROCESS_FACTS_VARIABLES */
	size_t variables_count;
	bool line;
	const char *cgroup; /* if the process is in this one or below it: its path there; or NULL */
};

/*
 * What cannot be read is not known: of a process that is ending, or has ended and is waited for,
 * the executable, the arguments and the environment, and its cgroup is the root. Returns 0, or
 * -ESRCH: the process has ended, or another one has its pid by now (`start_ns` is as proc_read()
 * has it).
 */
int process_facts_read(pid_t pid, uint64_t start_ns, const struct process_facts_wish *wish,
		       struct process_facts *facts);

/*
 * The cgroup and the container from what /proc/PID/cgroup says, which this changes. Of several
 * hierarchies, the one that is wished for counts, else the first that is of a container, else that
 * of version 2, as systemd shows it, else the first in which it is not at the root.
 */
void process_facts_cgroup(char *text, const struct process_facts_wish *wish,
			  struct process_facts *facts);

/* What /proc/PID/status says of users, parent and PID namespaces. */
void process_facts_status(const char *text, struct process_facts *facts);

/*
 * What an interpreter interprets, a title, and the command line if it is wished for, from what
 * /proc/PID/cmdline says. The executable is known before.
 */
void process_facts_arguments(const char *text, size_t bytes, const struct process_facts_wish *wish,
			     struct process_facts *facts);

/* The variables that are wished for, from what /proc/PID/environ says. */
void process_facts_environment(const char *text, size_t bytes,
			       const struct process_facts_wish *wish, struct process_facts *facts);

#endif /* MEMSCOPE_HOST_PROCESS_FACTS_H */
