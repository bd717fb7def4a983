// SPDX-License-Identifier: BSD-2-Clause
#include "capture/closer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

struct closer {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int *fds;
	size_t count, capacity;
	bool ending;
};

static void *run(void *context)
{
	struct closer *closer = context;
	int fd;

	pthread_mutex_lock(&closer->mutex);
	while (closer->count || !closer->ending) {
		if (!closer->count) {
			pthread_cond_wait(&closer->changed, &closer->mutex);
			continue;
		}
		fd = closer->fds[--closer->count];
		pthread_mutex_unlock(&closer->mutex);
		close(fd);
		pthread_mutex_lock(&closer->mutex);
	}
	pthread_mutex_unlock(&closer->mutex);
	return NULL;
}

int closer_open(struct closer **result)
{
	struct closer *closer = calloc(1, sizeof(*closer));
	sigset_t all, before;
	int err;

	if (!closer)
		return -ENOMEM;
	pthread_mutex_init(&closer->mutex, NULL);
	pthread_cond_init(&closer->changed, NULL);
	/* Signals are for the thread that captures. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&closer->thread, NULL, run, closer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		free(closer);
		return -err;
	}
	*result = closer;
	return 0;
}

void closer_add(struct closer *closer, const int *fds, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		int err = -ENOMEM;

		if (closer) {
			pthread_mutex_lock(&closer->mutex);
			err = memory_grow(&closer->fds, &closer->capacity, closer->count + 1,
					  sizeof(*closer->fds));
			if (!err)
				closer->fds[closer->count++] = fds[i];
			pthread_cond_signal(&closer->changed);
			pthread_mutex_unlock(&closer->mutex);
		}
		if (err)
			close(fds[i]);
	}
}

void closer_close(struct closer *closer)
{
	if (!closer)
		return;
	pthread_mutex_lock(&closer->mutex);
	closer->ending = true;
	pthread_cond_signal(&closer->changed);
	pthread_mutex_unlock(&closer->mutex);
	pthread_join(closer->thread, NULL);
	pthread_cond_destroy(&closer->changed);
	pthread_mutex_destroy(&closer->mutex);
	free(closer->fds);
	free(closer);
}
