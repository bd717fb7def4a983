// SPDX-License-Identifier: BSD-2-Clause
#include "host/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#define NO_USER 65534
#define MEMORY_BYTES (512ull << 20)          /* of addresses */
#define MAPPED_BYTES (16ull << 30)           /* the same, of who maps large files */
#define MAPPING_MEMORY_BYTES (1024ull << 20) /* that it takes besides what it has */
#define DESCRIPTORS 512

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* ---- privileges ------------------------------------------------------------------------------ */

static int drop_user(void)
{
	if (geteuid())
		return 0;
	return setgroups(0, NULL) || setresgid(NO_USER, NO_USER, NO_USER) ||
			       setresuid(NO_USER, NO_USER, NO_USER) ?
		       -errno :
		       0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { 0 };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

/* Where there is less already, it stays. */
static void bound(int resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}

/* ---- system calls ---------------------------------------------------------------------------- */

/* What serving takes: on descriptors that are open, and of memory. */
static const int allowed[] = {
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_sendfile,
	SYS_lseek,
	SYS_fstat,
	SYS_close,
	SYS_fcntl,
	SYS_accept,
	SYS_accept4,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_shutdown,
	SYS_getsockopt,
	SYS_setsockopt,
	SYS_getsockname,
	SYS_getpeername,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_ppoll,
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	SYS_futex,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_gettimeofday,
	SYS_timerfd_settime,
	SYS_getrandom,
	SYS_getpid,
	SYS_gettid,
	SYS_getrusage,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_tgkill,
	SYS_exit,
	SYS_exit_group,
	SYS_restart_syscall,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
	SYS_poll,
#endif
};

#define ALLOWED (sizeof(allowed) / sizeof(*allowed))

/* What a database takes besides. */
static const int allowed_files[] = {
	SYS_openat,    SYS_newfstatat, SYS_pwrite64,  SYS_ftruncate, SYS_fallocate,  SYS_fsync,
	SYS_fdatasync, SYS_unlinkat,   SYS_renameat2, SYS_faccessat, SYS_faccessat2, SYS_readlinkat,
	SYS_getcwd,    SYS_geteuid,    SYS_fchmod,    SYS_fchown,    SYS_getppid,
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef SYS_open
	SYS_open,      SYS_stat,       SYS_lstat,     SYS_unlink,    SYS_rename,     SYS_access,
	SYS_readlink,
#endif
};

#define ALLOWED_FILES (sizeof(allowed_files) / sizeof(*allowed_files))

/*
 * What connecting takes besides; for names, also a thread, and files. The last two are for the file
 * in which it keeps what it is to send: it can open none to be written.
 */
static const int allowed_network[] = {
	SYS_socket,     SYS_connect,
	SYS_bind,       SYS_socketpair,
	SYS_pipe2,      SYS_eventfd2,
	SYS_sendmmsg,   SYS_recvmmsg,
	SYS_ioctl,      SYS_uname,
	SYS_openat,     SYS_newfstatat,
	SYS_faccessat,  SYS_faccessat2,
	SYS_readlinkat, SYS_getcwd,
	SYS_getuid,     SYS_geteuid,
	SYS_getgid,     SYS_getegid,
	SYS_getppid,    SYS_set_robust_list,
	SYS_rseq,       SYS_sched_yield,
	SYS_getdents64, SYS_sched_getaffinity,
	SYS_sysinfo,    SYS_memfd_create,
#ifdef SYS_open
	SYS_open,       SYS_stat,
	SYS_lstat,      SYS_access,
	SYS_readlink,   SYS_pipe,
	SYS_select,
#endif
	SYS_pselect6,   SYS_pwrite64,
	SYS_fallocate,
};

#define ALLOWED_NETWORK (sizeof(allowed_network) / sizeof(*allowed_network))

/* How the C library asks for the size of an open file. */
static const int allowed_reading[] = { SYS_newfstatat };

enum purpose {
	SERVE,
	WRITE_FILES,
	CONNECT,
	READ_GIVEN_FILES,
};

#ifdef ARCHITECTURE
static const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
static const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

/* Memory that may be executed cannot be made either. */
static size_t put_protection(struct sock_filter *filter, unsigned int number)
{
	const struct sock_filter check[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4 /* PROT_EXEC */, 0, 1),
		refuse,
		allow,
	};

	memcpy(filter, check, sizeof(check));
	return sizeof(check) / sizeof(*check);
}

static size_t put_allowed(struct sock_filter *filter, const int *calls, size_t calls_count)
{
	size_t count = 0, i;

	for (i = 0; i < calls_count; i++) {
		filter[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							       (unsigned int)calls[i], 0, 1);
		filter[count++] = allow;
	}
	return count;
}

/* Threads, but no processes. What else clone3() would do, clone() is asked for instead. */
static size_t put_threads(struct sock_filter *filter)
{
	const struct sock_filter check[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
		allow,
		refuse,
	};

	memcpy(filter, check, sizeof(check));
	return sizeof(check) / sizeof(*check);
}

/* Its own limits, but not those of another process of the same user. */
static size_t put_own_limits(struct sock_filter *filter)
{
	const struct sock_filter check[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		allow,
		refuse,
	};

	memcpy(filter, check, sizeof(check));
	return sizeof(check) / sizeof(*check);
}

static int refuse_calls(enum purpose purpose)
{
	static struct sock_filter filter[2 * (ALLOWED + ALLOWED_FILES + ALLOWED_NETWORK) + 32];
	struct sock_fprog program = { .filter = filter };
	size_t count = 0;

	filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						       offsetof(struct seccomp_data, arch));
	filter[count++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						       offsetof(struct seccomp_data, nr));
	count += put_protection(filter + count, SYS_mmap);
	count += put_protection(filter + count, SYS_mprotect);
	count += put_allowed(filter + count, allowed, ALLOWED);
	if (purpose == WRITE_FILES)
		count += put_allowed(filter + count, allowed_files, ALLOWED_FILES);
	if (purpose == READ_GIVEN_FILES)
		count += put_allowed(filter + count, allowed_reading, 1);
	if (purpose == CONNECT) {
		count += put_allowed(filter + count, allowed_network, ALLOWED_NETWORK);
		count += put_own_limits(filter + count);
		count += put_threads(filter + count);
	}
	filter[count++] = refuse;
	program.len = (unsigned short)count;
	/* Where the kernel was built without, the rest has to do. */
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) && errno != EINVAL ? -errno : 0;
}
#else
static int refuse_calls(enum purpose purpose)
{
	(void)purpose;
	return 0;
}
#endif

/* ---- files ----------------------------------------------------------------------------------- */

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_REG)

/* `*ruleset` is -1 if the kernel cannot do that; `consequence` says what then is, for people. */
static int begin_rules(const char *consequence, int *ruleset)
{
	const struct landlock_ruleset_attr handled = {
		.handled_access_fs = READ | WRITE | LANDLOCK_ACCESS_FS_EXECUTE |
				     LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_CHAR |
				     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
				     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
				     LANDLOCK_ACCESS_FS_MAKE_SYM,
	};

	*ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	if (*ruleset >= 0)
		return 0;
	if (errno != ENOSYS && errno != EOPNOTSUPP && errno != EPERM)
		return -errno;
	log_info("the kernel has no Landlock (Linux 5.13), or it is off: %s", consequence);
	return 0;
}

static int allow_beneath(int ruleset, const char *directory, uint64_t access)
{
	struct landlock_path_beneath_attr beneath = {
		.allowed_access = access,
		.parent_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	int err = beneath.parent_fd < 0 ? -errno : 0;

	if (!err &&
	    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0))
		err = -errno;
	if (beneath.parent_fd >= 0)
		close(beneath.parent_fd);
	return err;
}

/* Files elsewhere cannot be opened any more. */
static int end_rules(int ruleset, int err)
{
	if (!err && syscall(SYS_landlock_restrict_self, ruleset, 0))
		err = -errno;
	close(ruleset);
	return err;
}

static int keep_to_directory(const char *directory)
{
	int ruleset,
		err = begin_rules("the process that writes the history may open other files of its"
				  " user, too",
				  &ruleset);

	if (err || ruleset < 0)
		return err;
	return end_rules(ruleset, allow_beneath(ruleset, directory, READ | WRITE));
}

/* Where names, certificates and libraries are. */
static int keep_to_reading(void)
{
	static const char *const directories[] = { "/etc", "/usr", "/lib", "/lib64",
						   "/run/systemd/resolve" };
	int ruleset, err = begin_rules("the process that pushes metrics may open other files, too",
				       &ruleset);
	size_t i;

	if (err || ruleset < 0)
		return err;
	for (i = 0; !err && i < sizeof(directories) / sizeof(*directories); i++) {
		err = allow_beneath(ruleset, directories[i], READ);
		if (err == -ENOENT || err == -ENOTDIR)
			err = 0;
	}
	return end_rules(ruleset, err);
}

/* ---------------------------------------------------------------------------------------------- */

/* Who opens no files may keep a user that it cannot give up, for want of CAP_SETUID. */
static int drop_user_if_possible(void)
{
	const int err = drop_user();

	return err == -EPERM || err == -EINVAL ? 0 : err;
}

static int limit_files(enum purpose purpose, const char *directory)
{
	int err = purpose == WRITE_FILES      ? keep_to_directory(directory) :
		  purpose == READ_GIVEN_FILES ? drop_user_if_possible() :
						drop_user();

	return err || purpose != CONNECT ? err : keep_to_reading();
}

/* What a process has that it may write to, as the limit counts it; at first it is its parent's. */
static rlim_t own_memory_bytes(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%*s %*s %*s %*s %*s %llu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void bound_memory(enum purpose purpose)
{
	/* AddressSanitizer has reserved more than that already. */
#ifndef SANITIZED
	bound(RLIMIT_AS, purpose == READ_GIVEN_FILES ? MAPPED_BYTES : MEMORY_BYTES);
	if (purpose == READ_GIVEN_FILES)
		bound(RLIMIT_DATA, own_memory_bytes() + MAPPING_MEMORY_BYTES);
#else
	(void)purpose, (void)own_memory_bytes;
#endif
}

static int enter(enum purpose purpose, const char *directory)
{
	int err = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;

	bound_memory(purpose);
	bound(RLIMIT_NOFILE, DESCRIPTORS);
	bound(RLIMIT_CORE, 0);
	if (!err)
		err = limit_files(purpose, directory);
	if (!err)
		err = drop_capabilities();
	/* A change of the user has made the kernel forget it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return err ? err : refuse_calls(purpose);
}

int sandbox_enter(void)
{
	int err = enter(SERVE, NULL);

	if (err)
		log_error("cannot give up privileges for clients: %s", strerror(-err));
	return err;
}

int sandbox_enter_directory(const char *directory)
{
	int err = enter(WRITE_FILES, directory);

	if (err)
		log_error("%s: cannot give up privileges for it: %s", directory, strerror(-err));
	return err;
}

int sandbox_enter_network(void)
{
	int err = enter(CONNECT, NULL);

	if (err)
		log_error("cannot give up privileges for a collector: %s", strerror(-err));
	return err;
}

int sandbox_enter_reading(void)
{
	int err = enter(READ_GIVEN_FILES, NULL);

	if (err)
		log_error("cannot give up privileges to read files: %s", strerror(-err));
	return err;
}
