// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/attach/link.h"
#include "capture/attach/open_files.h"
#include "capture/targets/mappings.h"
#include "host/proc.h"

#define UPROBE_SYSCALL 336 /* __NR_uprobe, arch/x86/entry/syscalls/syscall_64.tbl */

/* ---- a function of our own to put probes on -------------------------------------------------- */

static __attribute__((noinline, noclone)) void *probed_function(void *unused)
{
	asm volatile("");
	return unused;
}

struct own_code {
	uint64_t address, start, end, file_offset;
};

static int find_own_code(const struct proc_mapping *mapping, void *context)
{
	struct own_code *own = context;

	if (own->address < mapping->start || own->address >= mapping->end)
		return 0;
	own->start = mapping->start;
	own->end = mapping->end;
	own->file_offset = own->address - mapping->start + mapping->offset;
	return 1;
}

static int own_function(struct own_code *own)
{
	if (!own->address)
		own->address = (uintptr_t)probed_function;
	return proc_each_mapping(getpid(), find_own_code, own) == 1 ? 0 : -ENOENT;
}

/* ---- a program that counts its runs ---------------------------------------------------------- */

static int load_counter(int map_fd, enum bpf_attach_type attach_type)
{
	const struct bpf_insn program[] = {
		/* r1 = &map[0] */
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = map_fd },
		{ 0 },
		/* lock *(u64 *)r1 += 1 */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_2,
		  .imm = BPF_ADD },
		/* return 0 */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "ms_probe", "GPL", program,
			     sizeof(program) / sizeof(*program), &options);
}

/* Calls the probed function from another thread: uprobe_multi of Linux 6.6 to 6.9 misses those. */
static int count_hits(int map_fd)
{
	uint32_t key = 0;
	uint64_t hits = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, probed_function, NULL))
		return -EAGAIN;
	pthread_join(thread, NULL);
	if (bpf_map_lookup_elem(map_fd, &key, &hits))
		return -errno;
	return hits ? 0 : -ENODATA;
}

static int try_uprobe(uint32_t attach_type)
{
	const uint64_t cookie = 0;
	struct link_site site = {
		.path = "/proc/self/exe", .cookies = &cookie, .count = 1, .pid = getpid()
	};
	int map_fd, program_fd = -1, link_fd = -1, err;
	struct own_code own = { 0 };

	err = own_function(&own);
	if (err)
		return err;
	site.offsets = &own.file_offset;
	map_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ms_probe", 4, 8, 1, NULL);
	if (map_fd < 0)
		return -errno;
	program_fd = load_counter(map_fd, attach_type);
	if (program_fd < 0) {
		err = -errno;
		goto out;
	}
	link_fd = attach_type ? link_create_multi(program_fd, attach_type, &site, false) :
				link_create_single(program_fd, &site, false);
	err = link_fd < 0 ? link_fd : count_hits(map_fd);
out:
	if (link_fd >= 0)
		close(link_fd);
	if (program_fd >= 0)
		close(program_fd);
	close(map_fd);
	return err;
}

/* ---- what a trap takes ----------------------------------------------------------------------- */

#define TRAP_ROUNDS 9
#define TRAP_CALLS 200 /* of a round */

extern const char features_trap[];

/* A nop, which the kernel emulates, as it does what NVIDIA's functions begin with. */
static __attribute__((noinline, noclone)) void trapped_function(void)
{
	asm volatile(".globl features_trap\n"
		     "features_trap: nop");
}

static int load_empty(enum bpf_attach_type attach_type)
{
	const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "ms_trap", "GPL", program,
			     sizeof(program) / sizeof(*program), &options);
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* CPU time, which is not that of other programs. */
static uint64_t time_traps(void)
{
	uint64_t rounds[TRAP_ROUNDS];
	size_t round, call;

	for (round = 0; round < TRAP_ROUNDS; round++) {
		const uint64_t start_ns = clock_cpu_ns();

		for (call = 0; call < TRAP_CALLS; call++)
			trapped_function();
		rounds[round] = (clock_cpu_ns() - start_ns) / TRAP_CALLS;
	}
	qsort(rounds, TRAP_ROUNDS, sizeof(*rounds), compare_u64);
	return rounds[TRAP_ROUNDS / 2];
}

int features_measure_trap(struct features *features, uint64_t *ns)
{
	const uint32_t attach_type =
		feature_test(features, FEATURE_UPROBE_MULTI) ? 0 : LINK_UPROBE_MULTI;
	struct own_code own = { .address = (uintptr_t)features_trap };
	const uint64_t cookie = 0;
	struct link_site site = {
		.path = "/proc/self/exe", .cookies = &cookie, .count = 1, .pid = getpid()
	};
	int program_fd, link_fd, err = own_function(&own);

	if (err)
		return err;
	site.offsets = &own.file_offset;
	program_fd = load_empty(attach_type);
	if (program_fd < 0)
		return -errno;
	link_fd = attach_type ? link_create_multi(program_fd, attach_type, &site, false) :
				link_create_single(program_fd, &site, false);
	close(program_fd);
	if (link_fd < 0)
		return link_fd;
	*ns = time_traps();
	close(link_fd);
	return *ns ? 0 : -ENODATA;
}

/* ---- the features ---------------------------------------------------------------------------- */

/* The initial one has a fixed inode: PROC_PID_INIT_INO, include/linux/proc_ns.h. */
static int probe_pid_namespace(void)
{
	struct stat status;

	if (stat("/proc/self/ns/pid", &status))
		return -errno;
	return status.st_ino == 0xEFFFFFFC ? 0 : -EXDEV;
}

static int probe_btf(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) ? -errno : 0;
}

static int probe_map_type(enum bpf_map_type type)
{
	int supported = libbpf_probe_bpf_map_type(type, NULL);

	return supported < 0 ? supported : supported ? 0 : -EOPNOTSUPP;
}

static int probe_ring_buffer(void)
{
	return probe_map_type(BPF_MAP_TYPE_RINGBUF);
}

static int probe_task_storage(void)
{
	return probe_map_type(BPF_MAP_TYPE_TASK_STORAGE);
}

static int probe_attach_cookie(void)
{
	int supported =
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL);

	return supported < 0 ? supported : supported ? 0 : -EOPNOTSUPP;
}

static int probe_uprobe_session(void)
{
	return try_uprobe(LINK_UPROBE_SESSION);
}

/*
 * A kernel that has sessions looks for the file, and another one refuses before that. Nothing is
 * attached to, so that there is nothing to detach from, for which the kernel takes a grace period.
 */
static int ask_for_session(void)
{
	const uint64_t nothing = 0;
	const struct link_site site = {
		.path = "/proc/self/exe/none", .offsets = &nothing, .cookies = &nothing, .count = 1
	};
	int program_fd = load_empty(LINK_UPROBE_SESSION), err;

	if (program_fd < 0)
		return -errno;
	err = link_create_multi(program_fd, LINK_UPROBE_SESSION, &site, false);
	if (err >= 0)
		close(err);
	close(program_fd);
	return err == -ENOTDIR || err == -ENOENT ? 0 : -EOPNOTSUPP;
}

static int probe_uprobe_multi(void)
{
	return try_uprobe(LINK_UPROBE_MULTI);
}

static int probe_uprobe_single(void)
{
	return try_uprobe(0);
}

/*
 * The system call that a nop of five bytes becomes came together with the emulation of the others
 * (Linux 6.18). Called by anybody but the kernel's own trampoline, it says so: ENXIO, or, in later
 * kernels, EPROTO.
 */
static int probe_uprobe_nops(void)
{
#ifdef __x86_64__
	syscall(UPROBE_SYSCALL);
	return errno == ENXIO || errno == EPROTO ? 0 : -errno;
#else
	return -EOPNOTSUPP;
#endif
}

static int probe_map_files(void)
{
	struct own_code own = { 0 };
	int err = own_function(&own), fd;

	if (err)
		return err;
	fd = proc_open_mapping(getpid(), own.start, own.end);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

const struct feature_info feature_infos[FEATURES_COUNT] = {
	[FEATURE_PID_NAMESPACE] = {
		.name = "pid_namespace",
		.what = "running in the initial PID namespace (in a container: with the host's)",
		.without = "process IDs here are not those of the kernel's records; run it on the"
			   " host, or in a container that shares its PID namespace",
		.required = true,
		.probe = probe_pid_namespace,
	},
	[FEATURE_BTF] = {
		.name = "btf",
		.what = "type information of the kernel (CONFIG_DEBUG_INFO_BTF)",
		.without = "nothing can be traced",
		.required = true,
		.probe = probe_btf,
	},
	[FEATURE_RING_BUFFER] = {
		.name = "ring_buffer",
		.what = "BPF ring buffer (Linux 5.8)",
		.without = "nothing can be traced",
		.required = true,
		.probe = probe_ring_buffer,
	},
	[FEATURE_TASK_STORAGE] = {
		.name = "task_storage",
		.what = "BPF storage per thread (Linux 5.11)",
		.without = "nothing can be traced",
		.required = true,
		.probe = probe_task_storage,
	},
	[FEATURE_ATTACH_COOKIE] = {
		.name = "attach_cookie",
		.what = "one BPF program for many functions (Linux 5.15)",
		.without = "nothing can be traced",
		.required = true,
		.probe = probe_attach_cookie,
	},
	[FEATURE_UPROBE_SESSION] = {
		.name = "uprobe_session",
		.what = "one probe for entry and return (Linux 6.13)",
		.without = "uprobe_multi is used: a few per cent more per call",
		.probe = probe_uprobe_session,
	},
	[FEATURE_UPROBE_MULTI] = {
		.name = "uprobe_multi",
		.what = "many functions in one link, all threads (Linux 6.10, or 6.6 with the fix)",
		.without = "uprobe_single is used: detaching takes about 0.2 s per function",
		.probe = probe_uprobe_multi,
	},
	[FEATURE_UPROBE_SINGLE] = {
		.name = "uprobe_single",
		.what = "links on perf-event uprobes (Linux 5.15)",
		.without = "no fallback for kernels without uprobe_multi",
		.probe = probe_uprobe_single,
	},
	[FEATURE_UPROBE_NOPS] = {
		.name = "uprobe_nops",
		.what = "uprobes on nops of several bytes that are not single-stepped (Linux 6.18)",
		.without = "functions that begin with one are probed at a later instruction, or cost"
			   " more",
		.probe = probe_uprobe_nops,
	},
	[FEATURE_MAP_FILES] = {
		.name = "map_files",
		.what = "opening mapped files by address (CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN)",
		.without = "libraries that were deleted or replaced on disk cannot be traced",
		.probe = probe_map_files,
	},
	[FEATURE_MMAP_EVENTS] = {
		.name = "mmap_events",
		.what = "notice of newly mapped libraries (perf events, CAP_PERFMON)",
		.without = "new libraries are looked for once a second: calls before that are missed",
		.probe = mappings_probe,
	},
	[FEATURE_OPEN_FILES] = {
		.name = "open_files",
		.what = "a BPF iterator over the open files of all processes (Linux 5.8)",
		.without = "what a process made by a file of NVIDIA's driver ends only when the"
			   " process has closed all of the driver's files",
		.probe = open_files_try,
	},
};

int feature_find(const char *name)
{
	int i;

	for (i = 0; i < FEATURES_COUNT; i++)
		if (!strcmp(feature_infos[i].name, name))
			return i;
	return -1;
}

int feature_test(struct features *features, enum feature feature)
{
	if (feature_is_masked(features, feature))
		return -ENOTSUP;
	if (!(features->probed >> feature & 1)) {
		features->results[feature] = feature_infos[feature].probe();
		features->probed |= 1u << feature;
	}
	return features->results[feature];
}

int feature_ask(struct features *features, enum feature feature)
{
	const bool tested = (features->masked | features->probed) >> feature & 1;

	if (!tested && feature == FEATURE_UPROBE_SESSION && !ask_for_session())
		return 0;
	return feature_test(features, feature);
}

const char *features_libbpf_version(void)
{
	return libbpf_version_string();
}
