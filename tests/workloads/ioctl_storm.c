// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes many ioctls of NVIDIA's driver, in 32 threads, on the files that stand for its devices:
 * memory of the device and the host, that the driver refuses some of, other names of it, frees of
 * one object, of a device's and of a client's, and frees of what is not there. A round begins with
 * each line of standard input and ends with what is held then:
 * "DEVICE-BYTES DEVICE-OBJECTS HOST-BYTES IOCTLS".
 *
 * usage: ioctl_storm DIRECTORY IOCTLS    of each thread in a round
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "simcuda.h"

#define THREADS 32
#define OBJECTS 64
#define DEVICES 2
#define DEVICE_HANDLE 0x5c000000u
#define MEMORY_HANDLE 0x5c000100u

struct worker {
	pthread_t thread;
	uint32_t client, seed;
	int devices[OBJECTS]; /* 0: there is no such object; else on which one, + 1 */
	uint64_t bytes[OBJECTS];
	bool host[OBJECTS];
	uint64_t ioctls;
};

static struct worker workers[THREADS];
static pthread_barrier_t barrier;
static int control, each;
static bool done;

static void request(struct worker *worker, uint32_t number, void *argument)
{
	worker->ioctls++;
	if (ioctl(control, number, argument)) {
		perror("ioctl_storm");
		exit(1);
	}
}

static void make(struct worker *worker, uint32_t parent, uint32_t handle, uint32_t class,
		 uint64_t value, uint32_t status)
{
	unsigned char argument[0x30] = { 0 }, params[0x80] = { 0 };
	const void *place = params;

	memcpy(argument, &worker->client, 4);
	memcpy(argument + 4, &parent, 4);
	memcpy(argument + 8, &handle, 4);
	memcpy(argument + 12, &class, 4);
	memcpy(argument + 16, &place, sizeof(place));
	memcpy(argument + 0x28, &status, 4);
	memcpy(params + (class == 0x80 ? 0 : 0x40), &value, sizeof(value));
	request(worker, 0xc030462b, argument);
}

static void release(struct worker *worker, uint32_t handle)
{
	uint32_t argument[4] = { worker->client, 0, handle, 0 };

	request(worker, 0xc0104629, argument);
}

static void open_client(struct worker *worker)
{
	uint32_t i;

	make(worker, 0, worker->client, 0x41, 0, 0);
	for (i = 0; i < DEVICES; i++)
		make(worker, worker->client, DEVICE_HANDLE + i, 0x80, i, 0);
}

static uint32_t random_of(struct worker *worker, uint32_t most)
{
	worker->seed = worker->seed * 1664525 + 1013904223;
	return (worker->seed >> 8) % most;
}

static void allocate(struct worker *worker, uint32_t object)
{
	const uint32_t device = random_of(worker, DEVICES);
	const bool host = !random_of(worker, 4), refused = !random_of(worker, 10);
	const uint64_t bytes = (1 + random_of(worker, 1000)) * 4096ull;

	/* A handle that is in use is refused. */
	if (worker->devices[object])
		return;
	make(worker, DEVICE_HANDLE + device, MEMORY_HANDLE + object, host ? 0x3e : 0x40, bytes,
	     refused ? 0x51 : 0);
	if (refused)
		return;
	worker->devices[object] = (int)device + 1;
	worker->bytes[object] = bytes;
	worker->host[object] = host;
}

static void end_device(struct worker *worker, int device)
{
	int i;

	release(worker, DEVICE_HANDLE + (uint32_t)device);
	for (i = 0; i < OBJECTS; i++)
		if (worker->devices[i] == device + 1)
			worker->devices[i] = 0;
	make(worker, worker->client, DEVICE_HANDLE + (uint32_t)device, 0x80, (uint64_t)device, 0);
}

static void step(struct worker *worker)
{
	const uint32_t object = random_of(worker, OBJECTS), what = random_of(worker, 200);
	uint32_t another[7] = { worker->client, DEVICE_HANDLE, 0x5c000900, worker->client,
				MEMORY_HANDLE + object };

	if (what == 0) {
		release(worker, worker->client);
		memset(worker->devices, 0, sizeof(worker->devices));
		open_client(worker);
	} else if (what < 3) {
		end_device(worker, (int)what - 1);
	} else if (what < 20) {
		request(worker, 0xc01c4634, another);
	} else if (what < 110) {
		allocate(worker, object);
	} else {
		release(worker, MEMORY_HANDLE + object);
		worker->devices[object] = 0;
	}
}

static void *work(void *own)
{
	struct worker *worker = own;
	uint64_t until = 0;

	open_client(worker);
	for (;;) {
		pthread_barrier_wait(&barrier); /* a round begins */
		if (done)
			return NULL;
		for (until += (uint64_t)each; worker->ioctls < until;)
			step(worker);
		pthread_barrier_wait(&barrier);
	}
}

static void tell(void)
{
	uint64_t bytes = 0, objects = 0, host = 0, ioctls = 0;
	int i, j;

	for (i = 0; i < THREADS; i++) {
		ioctls += workers[i].ioctls;
		for (j = 0; j < OBJECTS; j++)
			if (workers[i].devices[j] && workers[i].host[j]) {
				host += workers[i].bytes[j];
			} else if (workers[i].devices[j]) {
				bytes += workers[i].bytes[j];
				objects++;
			}
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", bytes, objects, host, ioctls);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char path[512], line[64];
	uint32_t i;

	if (argc != 3 || cuInit(0))
		return 2;
	each = atoi(argv[2]);
	snprintf(path, sizeof(path), "%s/nvidiactl", argv[1]);
	control = open(path, O_RDWR | O_CLOEXEC);
	if (control < 0)
		return 1;
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++) {
		workers[i].client = 0xc1d00000u + i;
		workers[i].seed = i + 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		tell();
	}
	done = true;
	pthread_barrier_wait(&barrier);
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
