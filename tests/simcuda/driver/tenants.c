// SPDX-License-Identifier: BSD-2-Clause
/*
 * The file has a row of numbers for each process. A process locks the byte with its row's number,
 * and the kernel unlocks it when the process ends, however it ends: rows without a lock are free.
 */
#define _GNU_SOURCE
#include "tenants.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/env.h"

#define TENANTS 64

struct tenant {
	uint64_t bytes[TENANT_DEVICES];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct tenant *tenants; /* NULL: there is no file */
static int file, own;

static struct flock lock_of(int i)
{
	return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1 };
}

static void join(void)
{
	const char *path = getenv("SIMCUDA_TENANTS");
	void *rows;

	if (!path || !*path)
		return;
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, TENANTS * sizeof(*tenants)))
		env_fatal("SIMCUDA_TENANTS", path, "cannot be opened");
	rows = mmap(NULL, TENANTS * sizeof(*tenants), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (rows == MAP_FAILED)
		env_fatal("SIMCUDA_TENANTS", path, "cannot be mapped");
	for (own = 0; own < TENANTS; own++) {
		struct flock lock = lock_of(own);

		if (!fcntl(file, F_OFD_SETLK, &lock))
			break;
	}
	if (own == TENANTS)
		env_fatal("SIMCUDA_TENANTS", path, "has too many processes");
	tenants = rows;
	tenants[own] = (struct tenant){ { 0 } };
}

void tenants_publish(int physical, uint64_t bytes)
{
	pthread_once(&once, join);
	if (tenants)
		__atomic_store_n(&tenants[own].bytes[physical], bytes, __ATOMIC_RELAXED);
}

static int is_alive(int i)
{
	struct flock lock = lock_of(i);

	return !fcntl(file, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

uint64_t tenants_elsewhere(int physical)
{
	uint64_t bytes, sum = 0;
	int i;

	pthread_once(&once, join);
	for (i = 0; tenants && i < TENANTS; i++) {
		bytes = __atomic_load_n(&tenants[i].bytes[physical], __ATOMIC_RELAXED);
		if (i != own && bytes && is_alive(i))
			sum += bytes;
	}
	return sum;
}
