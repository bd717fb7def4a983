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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "base/log.h"
#include "capture/file_cache.h"
#include "symbols/file_reader.h"

struct order {
	uint32_t number;
	int fd; /* negative: the table is to go */
};

struct table_store {
	int tables_fd;
	uint64_t most_bytes;
	struct file_reader *reader; /* the maker's, as the next one */
	struct file_cache cache;
	pthread_t maker, publisher;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct order filled[MS_UNWIND_TABLES]; /* tables that the kernel side cannot find yet */
	size_t filled_count;
	bool publishing;                       /* more of them may come */
	struct order orders[MS_UNWIND_TABLES]; /* since all were done; each number comes once */
	size_t taken, given, done;
	uint64_t bytes[MS_UNWIND_TABLES]; /* of the tables, by number */
	uint32_t free[MS_UNWIND_TABLES];  /* numbers whose tables have gone */
	size_t free_count;
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

/* Returns the descriptor of the map, or -errno. */
static int map_of(const struct unwind_table *table)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	int err, fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ms_rows", sizeof(uint32_t),
				     sizeof(struct ms_unwind_row), table->count + 1, &options);

	if (fd < 0)
		return -errno;
	err = fill(fd, table);
	if (err)
		close(fd);
	return err ? err : fd;
}

/*
 * Puts tables where the kernel side finds them. The kernel then waits until no program can be using
 * what was there before, some ten milliseconds: for all together, if it can (Linux 5.19).
 */
static void publish(int tables_fd, const struct order *filled, size_t count)
{
	LIBBPF_OPTS(bpf_map_batch_opts, options);
	uint32_t numbers[MS_UNWIND_TABLES], entries = (uint32_t)count;
	int fds[MS_UNWIND_TABLES];
	size_t i;

	for (i = 0; i < count; i++) {
		numbers[i] = filled[i].number;
		fds[i] = filled[i].fd;
	}
	i = bpf_map_update_batch(tables_fd, numbers, fds, &entries, &options) ? 0 : count;
	for (; i < count; i++)
		if (bpf_map_update_elem(tables_fd, &numbers[i], &fds[i], BPF_ANY))
			log_debug("file %u has no table: %s", numbers[i], strerror(errno));
	for (i = 0; i < count; i++)
		close(fds[i]);
}

/* Does both; what is to go is put behind what comes. Returns how many come. */
static size_t publish_all(int tables_fd, struct order *filled, size_t count)
{
	size_t come = 0, i;

	for (i = 0; i < count; i++) {
		const struct order order = filled[i];

		if (order.fd < 0)
			continue;
		filled[i] = filled[come];
		filled[come++] = order;
	}
	if (come)
		publish(tables_fd, filled, come);
	for (i = come; i < count; i++)
		bpf_map_delete_elem(tables_fd, &filled[i].number);
	return come;
}

/* ---- the threads ----------------------------------------------------------------------------- */

/* The lock is held. */
static void say_done(struct table_store *store, size_t count)
{
	store->done += count;
	pthread_cond_broadcast(&store->changed);
	if (store->done == store->given)
		log_debug("tables of all files are made: %zu, of %llu rows; %zu files have none;"
			  " %zu were kept",
			  store->account.made, (unsigned long long)store->account.rows,
			  store->account.without + store->account.refused, store->account.kept);
}

/* `fd`: of the map, or -errno. */
static void account_for(struct table_store *store, const struct order *order,
			const struct unwind_table *table, bool kept, int fd)
{
	pthread_mutex_lock(&store->lock);
	if (fd >= 0) {
		store->filled[store->filled_count++] =
			(struct order){ .number = order->number, .fd = fd };
		pthread_cond_broadcast(&store->changed);
		store->account.made++;
		store->account.kept += kept;
		store->account.rows += table->count;
		store->bytes[order->number] = table->count * sizeof(*table->rows);
		store->account.bytes += store->bytes[order->number];
	} else if (fd == -ENOMEM) {
		store->account.refused++;
	} else {
		store->account.without++;
	}
	if (fd < 0)
		say_done(store, 1);
	pthread_mutex_unlock(&store->lock);
}

static const struct file_cache_kind tables = { .suffix = "",
					       .version = UNWIND_TABLE_VERSION,
					       .item_bytes = sizeof(struct ms_unwind_row),
					       .most_items = MS_UNWIND_ROWS_MOST };

static int get_kept(const struct table_store *store, const struct file_cache_file *file,
		    struct unwind_table *table)
{
	void *rows;
	size_t count;
	const int err = file_cache_get(&store->cache, &tables, file, &rows, &count);

	*table = (struct unwind_table){ .rows = rows, .count = count, .capacity = count };
	return err;
}

/*
 * Returns 0 or -errno. `*kept`: it was there from a trace before. The process that reads a file
 * whose table will be kept has read no other one: what a hostile file has made of the process would
 * otherwise outlive it.
 */
static int read_table(struct table_store *store, int fd, struct unwind_table *table, bool *kept)
{
	struct file_cache_file before;
	const bool wanted = file_cache_may_keep(&store->cache, &before, fd);
	int err;

	*kept = wanted && !get_kept(store, &before, table);
	if (*kept)
		return 0;
	if (wanted)
		file_reader_renew(store->reader);
	err = file_reader_unwind(store->reader, fd, table);
	if (!err && wanted && file_cache_is_unchanged(&before, fd))
		file_cache_put(&store->cache, &tables, &before, table->rows, table->count);
	return err;
}

/* Only the thread that asks adds to them. */
static bool has_room(struct table_store *store, uint64_t bytes)
{
	bool found;

	pthread_mutex_lock(&store->lock);
	found = store->account.bytes + bytes <= store->most_bytes;
	pthread_mutex_unlock(&store->lock);
	return found;
}

static void make(struct table_store *store, const struct order *order)
{
	struct unwind_table table;
	bool kept;
	int err = read_table(store, order->fd, &table, &kept), fd;

	if (!err && !has_room(store, table.count * sizeof(*table.rows)))
		err = -ENOMEM;
	fd = err ? err : map_of(&table);
	if (fd < 0)
		log_debug("file %u has no table: %s", order->number, strerror(-fd));
	account_for(store, order, &table, kept, fd);
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

static void *run_maker(void *context)
{
	struct table_store *store = context;
	struct order order;

	while (take(store, &order))
		make(store, &order);
	return NULL;
}

/* Takes all that are filled; waits for one. Returns how many; 0: no more come. */
static size_t take_filled(struct table_store *store, struct order *filled)
{
	size_t count;

	pthread_mutex_lock(&store->lock);
	while (!store->filled_count && store->publishing)
		pthread_cond_wait(&store->changed, &store->lock);
	count = store->filled_count;
	memcpy(filled, store->filled, count * sizeof(*filled));
	store->filled_count = 0;
	pthread_mutex_unlock(&store->lock);
	return count;
}

static void *run_publisher(void *context)
{
	struct table_store *store = context;
	struct order filled[MS_UNWIND_TABLES];
	size_t count, come, i;

	while ((count = take_filled(store, filled))) {
		come = publish_all(store->tables_fd, filled, count);
		pthread_mutex_lock(&store->lock);
		if (come)
			say_done(store, come);
		for (i = come; i < count; i++)
			store->free[store->free_count++] = filled[i].number;
		pthread_mutex_unlock(&store->lock);
	}
	return NULL;
}

static void end_publisher(struct table_store *store)
{
	pthread_mutex_lock(&store->lock);
	store->publishing = false;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->publisher, NULL);
}

static int start(struct table_store *store)
{
	sigset_t all, before;
	int err;

	/* Signals are for the thread that waits for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	store->publishing = true;
	err = pthread_create(&store->publisher, NULL, run_publisher, store);
	if (!err) {
		err = pthread_create(&store->maker, NULL, run_maker, store);
		if (err)
			end_publisher(store);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

int table_store_open(struct table_store **result, int tables_fd, uint64_t bytes, const char *cache)
{
	struct table_store *store = calloc(1, sizeof(*store));
	int err;

	if (!store)
		return -ENOMEM;
	store->tables_fd = tables_fd;
	store->most_bytes = bytes;
	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->changed, NULL);
	file_cache_open(&store->cache, cache, FILE_CACHE_MOST_BYTES);
	err = file_reader_open(&store->reader, false);
	if (!err)
		err = start(store);
	if (err) {
		file_cache_close(&store->cache);
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
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->maker, NULL);
	end_publisher(store);
	while (store->taken < store->given)
		close(store->orders[store->taken++].fd);
	file_reader_close(store->reader);
	file_cache_close(&store->cache);
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
	if (store->done == store->given)
		store->taken = store->given = store->done = 0;
	store->orders[store->given++] = order;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
	return 0;
}

int table_store_remove(struct table_store *store, uint32_t number)
{
	int err = 0;

	pthread_mutex_lock(&store->lock);
	if (store->done < store->given) {
		err = -EAGAIN;
	} else {
		store->filled[store->filled_count++] = (struct order){ .number = number, .fd = -1 };
		store->account.bytes -= store->bytes[number];
		store->bytes[number] = 0;
		pthread_cond_broadcast(&store->changed);
	}
	pthread_mutex_unlock(&store->lock);
	return err;
}

uint32_t table_store_free_number(struct table_store *store)
{
	uint32_t number = 0;

	pthread_mutex_lock(&store->lock);
	if (store->free_count)
		number = store->free[--store->free_count];
	pthread_mutex_unlock(&store->lock);
	return number;
}

bool table_store_has_free_number(struct table_store *store)
{
	bool found;

	pthread_mutex_lock(&store->lock);
	found = store->free_count;
	pthread_mutex_unlock(&store->lock);
	return found;
}

bool table_store_is_nearly_full(struct table_store *store)
{
	bool full;

	pthread_mutex_lock(&store->lock);
	full = store->account.bytes > store->most_bytes / 4 * 3;
	pthread_mutex_unlock(&store->lock);
	return full;
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
