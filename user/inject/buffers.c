// SPDX-License-Identifier: BSD-2-Clause
/*
 * The buffers that CUPTI writes records into, and what becomes of these when it gives one back: on
 * a thread of CUPTI's own, as a rule, and on any of the program's, too.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "inject/inject.h"

#define BUFFER_BYTES (1u << 20)
#define BUFFERS_KEPT 8
#define BUFFERS_MOST 64 /* in CUPTI's hands: what comes then goes into one that is not read */
#define DISCARD_BYTES (64u << 10)
#define BATCH 256
#define NAMES 16384 /* that can be told apart, a power of two; three quarters are used */
#define RECENT 1024 /* pointers to names, of one buffer; a power of two */

/* Behind what CUPTI writes into: what it becomes. */
struct buffer {
	uint8_t bytes[BUFFER_BYTES]; /* first: CUPTI wants it aligned */
	struct ms_activity_body batch[BATCH];
	uint32_t count;
	/* A pointer means the same name while its buffer is read, and maybe another one after. */
	struct {
		const char *name;
		uint64_t id;
		uint64_t turn; /* in which it was found: of what is from before, nothing is known */
	} recent[RECENT];
	uint64_t turn; /* how often it has been read */
	struct buffer *next;
};

static const struct cupti *cupti;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *kept;
static unsigned int kept_count, given;
static uint64_t names[NAMES];
static unsigned int names_count;
static struct buffers_counts counts;
static uint8_t discarded[DISCARD_BYTES] __attribute__((aligned(8)));

void buffers_init(const struct cupti *of)
{
	cupti = of;
}

struct buffers_counts buffers_counts(void)
{
	struct buffers_counts now;

	pthread_mutex_lock(&lock);
	now = counts;
	pthread_mutex_unlock(&lock);
	return now;
}

static struct buffer *make(void)
{
	struct buffer *buffer = aligned_alloc(64, (sizeof(*buffer) + 63) / 64 * 64);

	if (buffer) {
		memset(buffer->recent, 0, sizeof(buffer->recent));
		buffer->turn = 0;
	}
	return buffer;
}

static struct buffer *take(void)
{
	struct buffer *buffer = NULL;
	bool may;

	pthread_mutex_lock(&lock);
	may = given < BUFFERS_MOST;
	if (may && kept) {
		buffer = kept;
		kept = buffer->next;
		kept_count--;
	}
	given += may;
	pthread_mutex_unlock(&lock);
	if (may && !buffer)
		buffer = make();
	if (may && buffer)
		return buffer;
	pthread_mutex_lock(&lock);
	given -= may;
	counts.no_buffer++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* NULL would say the same as the buffer that is not read, but makes CUPTI before 12.9 crash. */
void buffers_request(uint8_t **bytes, size_t *size, size_t *most_records)
{
	struct buffer *buffer = take();

	*bytes = buffer ? buffer->bytes : discarded;
	*size = buffer ? BUFFER_BYTES : DISCARD_BYTES;
	*most_records = 0;
}

static void give_back(struct buffer *buffer)
{
	pthread_mutex_lock(&lock);
	given--;
	if (kept_count < BUFFERS_KEPT) {
		buffer->next = kept;
		kept = buffer;
		kept_count++;
		buffer = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(buffer);
}

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t hash(const char *name)
{
	uint64_t value = 0xcbf29ce484222325;

	for (; *name; name++)
		value = (value ^ (uint8_t)*name) * 0x100000001b3;
	return value ? value : 1;
}

/* Returns whether the name has to be said: it is new, and there is room to remember that. */
static bool is_new(uint64_t id)
{
	size_t i = id & (NAMES - 1);
	bool new;

	pthread_mutex_lock(&lock);
	while (names[i] && names[i] != id)
		i = (i + 1) & (NAMES - 1);
	new = !names[i] && names_count < NAMES / 4 * 3;
	if (new) {
		names[i] = id;
		names_count++;
	} else if (!names[i]) {
		counts.no_name++;
	}
	pthread_mutex_unlock(&lock);
	return new;
}

static uint64_t id_of(struct buffer *buffer, const char *name)
{
	const size_t i = ((uintptr_t)name >> 4) & (RECENT - 1);

	if (buffer->recent[i].name == name && buffer->recent[i].turn == buffer->turn)
		return buffer->recent[i].id;
	buffer->recent[i].name = name;
	buffer->recent[i].turn = buffer->turn;
	buffer->recent[i].id = hash(name);
	if (is_new(buffer->recent[i].id))
		hand_name(buffer->recent[i].id, name);
	return buffer->recent[i].id;
}

/* ---- records --------------------------------------------------------------------------------- */

static void hand_over(struct buffer *buffer)
{
	hand_activities(buffer->batch, buffer->count);
	pthread_mutex_lock(&lock);
	counts.handed += buffer->count;
	pthread_mutex_unlock(&lock);
	buffer->count = 0;
}

static void read_record(struct buffer *buffer, const uint8_t *record)
{
	struct ms_activity_body *activity = &buffer->batch[buffer->count];
	const char *name;

	if (!record_convert(record, cupti->version, activity, &name))
		return;
	if (name)
		activity->name = id_of(buffer, name);
	if (activity->flags & MS_ACTIVITY_UNTIMED) {
		pthread_mutex_lock(&lock);
		counts.untimed++;
		pthread_mutex_unlock(&lock);
	}
	if (++buffer->count == BATCH)
		hand_over(buffer);
}

void buffers_complete(void *context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	struct buffer *buffer = (struct buffer *)bytes;
	void *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	if (!bytes || bytes == discarded)
		return;
	buffer->count = 0;
	buffer->turn++;
	while (valid && cupti->ActivityGetNextRecord(bytes, valid, &record) == CUPTI_OK)
		read_record(buffer, record);
	if (buffer->count)
		hand_over(buffer);
	give_back(buffer);
}
