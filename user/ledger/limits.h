/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program can make any number of, and what is kept of it: so the work and the memory that a
 * process causes are bounded, whatever it does. What finds no place is counted, and every output
 * says so. The bounds are several times what the largest programs need.
 */
#ifndef MEMSCOPE_LEDGER_LIMITS_H
#define MEMSCOPE_LEDGER_LIMITS_H

/* What a process can have of each; the others are counted (process_counters.def). */
#define LIMIT_FAILURES 1024u /* pairs of function and result of failed calls */
#define LIMIT_KERNELS 65536u /* with launches */
#define LIMIT_NAMES 131072u  /* of kernels, and as many handles that are others' */
#define LIMIT_CONTEXTS 4096u
#define LIMIT_DEVICES 256u /* numbers that it calls devices by */
#define LIMIT_VIEWS 1024u  /* devices and pools that it asked about */
#define LIMIT_GRAPHS 65536u
#define LIMIT_OBJECTS 262144u    /* live, of all kinds */
#define LIMIT_OBJECT_TOTALS 256u /* kinds and devices that they are counted by */
#define LIMIT_EXPORTS 4096u      /* of all processes; twice as many, the newest, are remembered */
#define LIMIT_FREES 65536u       /* in progress */
#define LIMIT_DRIVER_OBJECTS 1048576u /* of NVIDIA's kernel driver */
#define LIMIT_MANAGED_RANGES 262144u  /* addresses of managed memory, as the driver is told */
#define LIMIT_DRIVER_CLIENTS 65536u   /* of all processes */
#define LIMIT_PASSED_FILES 4096u      /* by which objects go to other processes: the newest */
#define LIMIT_DRIVER_GROUPS 256u      /* of objects, by their parents */
#define LIMIT_NVML_DEVICES 256u       /* with MIG instances */
#define LIMIT_ALLOCATIONS 4194304u
#define LIMIT_TENSORS 2097152u       /* live blocks of a framework's allocator */
#define LIMIT_TENSOR_DEVICES 64u     /* that it has them on */
#define LIMIT_COMMUNICATORS 255u     /* of NCCL, that a process makes: a number of 8 bits */
#define LIMIT_TENSOR_ALLOCATORS 64u  /* of a process, that do not say of what memory they are */
#define LIMIT_GPU_THREADS 4096u      /* that call what a GPU does */
#define LIMIT_GPU_CALLS 65536u       /* of each, that CUPTI has not spoken of yet */
#define LIMIT_GPU_HOST_CALLS 262144u /* while it is not known yet when its GPUs had work */
#define LIMIT_GPU_LINKS 524288u      /* numbers of CUPTI's, of calls and of what they did */

/* For all processes: stacks, their frames one by one, different frames, bytes of their texts. */
#define LIMIT_STACKS 65536u
#define LIMIT_STACK_FRAMES 4194304u
#define LIMIT_FRAMES 262144u
#define LIMIT_FRAME_BYTES (64ul << 20)
#define LIMIT_STACK_ALIASES 131072u /* of stacks, and of frames, as many twice: further ids */

/* Bytes of kernels' names: of those that a process is the first to have; of all processes. */
#define LIMIT_NAME_BYTES (8ul << 20)
#define LIMIT_ALL_NAMES_BYTES (64ul << 20)

/* Stands for kernels that found no place; a row like any other. */
extern const char limit_other_kernels[];

#endif /* MEMSCOPE_LEDGER_LIMITS_H */
