/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of ioctl_storm.c share: a thread and what it holds.
 */
#ifndef IOCTL_STORM_H
#define IOCTL_STORM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define OBJECTS 64
#define DEVICES 2
#define MEMORY_HANDLE 0x5c000100u

struct worker {
	pthread_t thread;
	uint32_t client, seed;
	int devices[OBJECTS]; /* 0: there is no such object; else on which one, + 1 */
	uint64_t bytes[OBJECTS];
	bool host[OBJECTS];
	uint64_t ranges[OBJECTS], managed[OBJECTS]; /* bytes; 0: there is none */
	uint32_t mapped[OBJECTS];                   /* a bit for each device */
	uint64_t ioctls, records;
};

extern int uvm, layout; /* the file of /dev/nvidia-uvm; the driver's version */

uint32_t random_of(struct worker *worker, uint32_t most);

/* One more ioctl of /dev/nvidia-uvm: of the thread of that number, and the object. */
void step_of_ranges(struct worker *worker, uint32_t number, uint32_t object);

struct wanted {
	struct worker *worker;
	uint32_t parent, handle;
	bool host;
	uint64_t bytes;
	uint32_t status;
};

/* Calls CUDA on a device, and in that call does what is wanted. One thread at a time. */
bool prepare_calls(void);
void call_on_device(int device, void (*make)(struct wanted *), struct wanted *wanted);

/* Hands the file to the process at the other end of the socket; and takes one there, or -1. */
void send_file(int socket, int file);
int receive_file(int socket);

#endif /* IOCTL_STORM_H */
