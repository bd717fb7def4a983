/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVML, the driver's management library, says of devices and of the processes that hold their
 * memory. Calls of NVML are known to hang in the kernel for ever (open-gpu-kernel-modules, issue
 * 1333), so a child process makes them, which is left to itself if it does not answer: it never
 * holds up this one. When it has ended, another one can be asked. Nothing is set through NVML, only
 * read.
 *
 * The library is the machine's own and is loaded when it is there; nothing is linked with it.
 */
#ifndef MEMSCOPE_HOST_NVML_H
#define MEMSCOPE_HOST_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NVML_DEVICES_MAX 256 /* with MIG instances */
#define NVML_PROCESSES_MAX 4096
#define NVML_LIMITS_MAX 256
#define NVML_NAME_BYTES 96
#define NVML_PATH_BYTES 512
#define NVML_NO_INSTANCE UINT32_MAX

/* What kind of work a process does with a device; bits. */
enum nvml_process_kind {
	NVML_COMPUTE = 1,
	NVML_GRAPHICS = 2,
	NVML_MPS = 4, /* a client of NVIDIA's Multi-Process Service */
};

/*
 * Texts that are not known are "". What is true or false is a byte, and not 0 if it is true:
 * another process writes them.
 */
struct nvml_device {
	char uuid[NVML_NAME_BYTES]; /* "GPU-..." or "MIG-..." */
	char name[NVML_NAME_BYTES];
	char pci[NVML_NAME_BYTES]; /* "0000:65:00.0" as /sys has it; of an instance, its device's */
	uint32_t index;            /* NVML's; of a MIG instance, among those of its device */
	int32_t parent;            /* which device it is an instance of; -1: it is a device */
	uint32_t gpu_instance, compute_instance; /* NVML_NO_INSTANCE: none */
	uint8_t has_minor;
	uint32_t minor;     /* of /dev/nvidiaN */
	uint8_t mig;        /* it is divided into instances */
	uint8_t has_memory; /* the next three are known */
	uint8_t has_reserved;
	uint64_t total_bytes, free_bytes;
	uint64_t used_bytes;     /* without what is reserved, if that is known, else with it */
	uint64_t reserved_bytes; /* for the driver and the firmware */
	uint8_t has_utilisation;
	uint32_t gpu_percent, memory_percent; /* of the time of the last sample period */
	/* What NVML returned for each of them: nvml_result_words(); 0: it answered. */
	int32_t device_result, memory_result, processes_result;
	uint8_t whole;   /* all of it was asked for before the child stopped answering */
	uint32_t absurd; /* values that cannot be; they count as unknown */
};

struct nvml_process {
	uint32_t device; /* index into the snapshot's devices: the instance, if there is one */
	uint32_t pid;    /* as this PID namespace has it, or as the driver has it */
	uint32_t kinds;  /* bits of enum nvml_process_kind */
	uint32_t gpu_instance, compute_instance;
	uint8_t has_used;
	uint64_t used_bytes;
	uint32_t limit; /* of its cgroup: index into the snapshot's; one that is not there: none */
};

#define NVML_NOT_LIMITED UINT32_MAX

/* What NVML says of a cgroup and a device. */
struct nvml_limit {
	uint32_t device;
	uint8_t known;              /* it has a limit; else the rest says nothing */
	char path[NVML_PATH_BYTES]; /* of the cgroup of processes, in its hierarchy */
	uint64_t soft_bytes, hard_bytes, used_bytes;
};

enum nvml_state {
	NVML_UNASKED,
	NVML_ABSENT,  /* there is no such library */
	NVML_FAILING, /* it cannot be loaded or initialised: `problem` */
	NVML_READY,
};

struct nvml_snapshot {
	uint32_t state;    /* enum nvml_state */
	char problem[256]; /* why it is not ready, or what kept it from saying all; "": nothing */
	char driver[32];   /* "580.159.04" */
	uint32_t devices_max; /* so many devices there are, said NVML */
	uint32_t devices_count;
	uint32_t processes_count;
	uint32_t limits_count; /* of more cgroups it is not asked */
	uint8_t cut;           /* there were more devices or processes than there is room for */
	uint8_t hangs;         /* a call has not returned: the child is left to itself */
	uint64_t ns;           /* how long the child took */
	uint32_t step;         /* how many calls it has begun */
	char call[64];         /* the last of them */
	uint32_t call_device;
	struct nvml_device devices[NVML_DEVICES_MAX];
	struct nvml_process processes[NVML_PROCESSES_MAX];
	struct nvml_limit limits[NVML_LIMITS_MAX];
};

struct nvml;

/*
 * Starts a small process that starts the child when it is asked for something. To be called before
 * there are threads. Returns 0 or -errno, logged.
 */
int nvml_open(struct nvml **nvml);

/* Asks for a snapshot, unless the last one is still awaited. Returns 0 or -errno. */
int nvml_ask(struct nvml *nvml);

/* It can be read when an answer has come. */
int nvml_fd(const struct nvml *nvml);

/*
 * The child's pid, so that its own descriptors are not taken for another program's. 0: there is
 * none. It changes, until nvml_close().
 */
const pid_t *nvml_child(const struct nvml *nvml);

/*
 * Waits for what was asked for, as long as no call of NVML takes more than `call_ms`. `snapshot` is
 * checked, and whole unless it says otherwise: after -ETIMEDOUT (the child is left to itself) and
 * -EPIPE (it has died) it has what came before. Then nothing more can be asked until nvml_renew().
 * -EAGAIN, without `call_ms` alone: what nvml_fd() had is the answer to an earlier question.
 */
int nvml_take(struct nvml *nvml, int call_ms, struct nvml_snapshot *snapshot);

/* Ends the child, which will not be asked any more, without waiting for it to do so. */
void nvml_leave(struct nvml *nvml);

/*
 * After nvml_leave(), or nvml_take() that failed: from now on another child is asked, which loads
 * the library anew. Returns 0, or -EAGAIN: the one before has not ended, because a call of it has
 * not returned; to be tried again later.
 */
int nvml_renew(struct nvml *nvml);

/* Ends the child as nvml_leave() does. NULL does nothing. */
void nvml_close(struct nvml *nvml);

/* "no permission", of what an NVML call returned. */
const char *nvml_result_words(int32_t result);

/*
 * Makes a snapshot of any bytes safe to use: texts end, indices are of something, and of values
 * that cannot be none is known. Also what NVML says may be wrong.
 */
void nvml_snapshot_check(struct nvml_snapshot *snapshot);

#endif /* MEMSCOPE_HOST_NVML_H */
