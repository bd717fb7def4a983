// SPDX-License-Identifier: BSD-2-Clause
#include "capture/stacks/table_store.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "base/log.h"
#include "symbols/file_reader.h"

struct order {
	uint32_t number;
	int fd;
};

struct table_store {
	int tables_fd;
	uint64_t most_bytes;
	struct file_reader *reader; /* the thread's */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct order orders[MS_UNWIND_TABLES]; /* each number comes once */
	size_t taken, given, done;
	bool closing;
	struct table_store_account account;
};

/* ---- a table in the kernel ------------------------------------------------------------------- */

/* The first row says how many follow. */
static int fill(int map_fd, const struct unwind_table *table)
{
	const size_t bytes = (table->count + 1) * sizeof(*table->rows);
	struct ms_unwind_row *rows =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);

	if (rows == MAP_FAILED)
		return -errno;
	memcpy(rows + 1, table->rows, table->count * sizeof(*table->rows));
	rows[0] = (struct ms_unwind_row){ .pc = (uint32_t)table->count };
	munmap(rows, bytes);
	return 0;
}

static int put(int tables_fd, uint32_t number, const struct unwind_table *table)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	int err, fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ms_rows", sizeof(uint32_t),
				     sizeof(struct ms_unwind_row), table->count + 1, &options);

	if (fd < 0)
		return -errno;
	err = fill(fd, table);
	if (!err && bpf_map_update_elem(tables_fd, &number, &fd, BPF_ANY))
		err = -errno;
	close(fd);
	return err;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void account_for(struct table_store *store, const struct unwind_table *table, int err)
{
	pthread_mutex_lock(&store->lock);
	if (!err) {
		store->account.made++;
		store->account.rows += table->count;
		store->account.bytes += table->count * sizeof(*table->rows);
	} else if (err == -ENOMEM) {
		store->account.refused++;
	} else {
		store->account.without++;
	}
	store->done++;
	pthread_cond_broadcast(&store->changed);
	if (store->taken == store->given)
		log_debug("tables of all files are made: %zu, of %llu rows; %zu files have none",
			  store->account.made, (unsigned long long)store->account.rows,
			  store->account.without + store->account.refused);
	pthread_mutex_unlock(&store->lock);
}

static void make(struct table_store *store, const struct order *order)
{
	struct unwind_table table;
	int err = file_reader_unwind(store->reader, order->fd, &table);

	/* Only this thread adds to the bytes. */
	if (!err && store->account.bytes + table.count * sizeof(*table.rows) > store->most_bytes)
		err = -ENOMEM;
	if (!err)
		err = put(store->tables_fd, order->number, &table);
	if (err)
		log_debug("file %u has no table: %s", order->number, strerror(-err));
	account_for(store, &table, err);
	unwind_table_fini(&table);
	close(order->fd);
}

/* Returns whether there is one; waits for it. */
static bool take(struct table_store *store, struct order *order)
{
	bool found;

	pthread_mutex_lock(&store->lock);
	while (store->taken == store->given && !store->closing)
		pthread_cond_wait(&store->changed, &store->lock);
	found = !store->closing;
	if (found)
		*order = store->orders[store->taken++];
	pthread_mutex_unlock(&store->lock);
	return found;
}

static void *run(void *context)
{
	struct table_store *store = context;
	struct order order;

	while (take(store, &order))
		make(store, &order);
	return NULL;
}

static int start(struct table_store *store)
{
	sigset_t all, before;
	int err;

	/* Signals are for the thread that waits for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&store->thread, NULL, run, store);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

int table_store_open(struct table_store **result, int tables_fd, uint64_t bytes)
{
	struct table_store *store = calloc(1, sizeof(*store));
	int err;

	if (!store)
		return -ENOMEM;
	store->tables_fd = tables_fd;
	store->most_bytes = bytes;
	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->changed, NULL);
	err = file_reader_open(&store->reader);
	if (!err)
		err = start(store);
	if (err) {
		file_reader_close(store->reader);
		free(store);
		return err;
	}
	*result = store;
	return 0;
}

void table_store_close(struct table_store *store)
{
	if (!store)
		return;
	pthread_mutex_lock(&store->lock);
	store->closing = true;
	pthread_cond_signal(&store->changed);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->thread, NULL);
	while (store->taken < store->given)
		close(store->orders[store->taken++].fd);
	file_reader_close(store->reader);
	pthread_cond_destroy(&store->changed);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

int table_store_add(struct table_store *store, uint32_t number, int fd)
{
	struct order order = { .number = number, .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0) };

	if (order.fd < 0)
		return -errno;
	pthread_mutex_lock(&store->lock);
	store->orders[store->given++] = order;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
	return 0;
}

void table_store_wait(struct table_store *store, int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms % 1000 * 1000000l;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&store->lock);
	while (store->done < store->given &&
	       pthread_cond_timedwait(&store->changed, &store->lock, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&store->lock);
}

void table_store_read(struct table_store *store, struct table_store_account *account)
{
	pthread_mutex_lock(&store->lock);
	*account = store->account;
	pthread_mutex_unlock(&store->lock);
}

uint64_t table_store_cpu_ns(const struct table_store *store)
{
	return file_reader_cpu_ns(store->reader);
}
