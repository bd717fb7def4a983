// SPDX-License-Identifier: BSD-2-Clause
/*
 * The tables of the SQLite export for what GPUs did: kernels, copies and memsets, as nsys has them.
 * They are there only if the recordings have something of that kind, as with nsys.
 *
 * `correlationId` leads to the call. CUPTI's own number of it does not: calls have the numbers of
 * our own rows. CUPTI says of a call and of what it did in any order, so rows wait for the call.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/demangle.h"
#include "base/memory.h"
#include "export/sqlite.h"

/* Rows that wait. With more, the older half goes in as it is known by then. */
#define WAITING_MAX 32768
/* Calls that are remembered: that many at least, twice as many at most. */
#define CALLS_MAX 524288

/* A kernel's three names are cells: StringIds has them already. */
struct sqlite_activity {
	struct ms_activity record;
	struct cell mangled, demangled, short_name;
};

/* Columns that no recording has a value for stay NULL. */
static const char tables[] =
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"
	" deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER,"
	" correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,"
	" mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER,"
	" gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,"
	" blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER,"
	" localMemoryPerThread INTEGER, localMemoryTotal INTEGER, gridId INTEGER,"
	" sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,"
	" deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER,"
	" correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,"
	" copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER,"
	" srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER,"
	" migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL,"
	" deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER,"
	" correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER NOT NULL,"
	" graphNodeId INTEGER, memKind INTEGER);"
	"CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES"
	" (0, 'CUDA_MEMCPY_KIND_UNKNOWN', 'Unknown'),"
	" (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'),"
	" (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'),"
	" (3, 'CUDA_MEMCPY_KIND_HTOA', 'Host-to-Array'),"
	" (4, 'CUDA_MEMCPY_KIND_ATOH', 'Array-to-Host'),"
	" (5, 'CUDA_MEMCPY_KIND_ATOA', 'Array-to-Array'),"
	" (6, 'CUDA_MEMCPY_KIND_ATOD', 'Array-to-Device'),"
	" (7, 'CUDA_MEMCPY_KIND_DTOA', 'Device-to-Array'),"
	" (8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'),"
	" (9, 'CUDA_MEMCPY_KIND_HTOH', 'Host-to-Host'),"
	" (10, 'CUDA_MEMCPY_KIND_PTOP', 'Peer-to-Peer');";

static const struct {
	enum sqlite_statement statement;
	const char *sql;
} statements[] = {
	{ SQLITE_KERNEL,
	  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId,"
	  " correlationId, globalPid, demangledName, shortName, mangledName, registersPerThread,"
	  " gridX, gridY, gridZ, blockX, blockY, blockZ)"
	  " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ SQLITE_MEMCPY,
	  "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId,"
	  " correlationId, globalPid, bytes, copyKind, srcKind, dstKind)"
	  " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ SQLITE_MEMSET,
	  "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId,"
	  " correlationId, globalPid, bytes, memKind) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)" },
};

static int create_tables(struct sqlite_export *export)
{
	struct database *database = &export->database;
	size_t i;
	int err = 0;

	if (export->has_gpu_tables)
		return 0;
	export->has_gpu_tables = true;
	err = database_run(database, tables);
	for (i = 0; !err && i < sizeof(statements) / sizeof(*statements); i++)
		err = database_prepare(database, statements[i].statement, statements[i].sql);
	return err;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Two calls of one process do not begin in the same nanosecond, but for different threads. */
static uint64_t call_hash(uint32_t pid, uint64_t start_ns, uint64_t begin_ns)
{
	return begin_ns ^ event_process_key(pid, start_ns) * 0x9e3779b97f4a7c15ull;
}

int sqlite_gpu_call(struct sqlite_export *export, const struct event *event,
		    const struct change *change)
{
	if (!change->process->gpu || !gpu_joins_wants(event))
		return 0;
	if (export->gpu_calls.count >= CALLS_MAX) {
		map_fini(&export->older_gpu_calls);
		export->older_gpu_calls = export->gpu_calls;
		export->gpu_calls = (struct map){ 0 };
	}
	return map_set(&export->gpu_calls,
		       call_hash(event->header->pid, event->header->start_ns,
				 event_begin_ns(event)),
		       export->calls);
}

/* NULL: it is not known, or not among the rows. */
static struct cell correlation_cell(const struct sqlite_export *export,
				    const struct ms_activity *record)
{
	const struct ms_event *header = &record->event;
	const struct process *process =
		state_find(export->recording->state, header->pid, header->start_ns);
	const struct gpu_link *link =
		process && process->gpu ?
			gpu_joins_find(&process->gpu->joins, record->is.correlation) :
			NULL;
	const uint64_t *id;
	uint64_t hash;

	if (!link || !link->end_ns)
		return cell_null();
	hash = call_hash(header->pid, header->start_ns, link->begin_ns);
	id = map_get(&export->gpu_calls, hash);
	if (!id)
		id = map_get(&export->older_gpu_calls, hash);
	return id ? cell_number(*id) : cell_null();
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* As ENUM_CUDA_MEM_KIND has them. */
static struct cell memory_cell(uint8_t memory)
{
	static const uint8_t kinds[MS_GPU_MEMORIES_COUNT] = {
		[MS_GPU_MEMORY_UNKNOWN] = 7,       [MS_GPU_MEMORY_PAGEABLE] = 0,
		[MS_GPU_MEMORY_PINNED] = 1,        [MS_GPU_MEMORY_DEVICE] = 2,
		[MS_GPU_MEMORY_ARRAY] = 3,         [MS_GPU_MEMORY_MANAGED] = 4,
		[MS_GPU_MEMORY_DEVICE_STATIC] = 5, [MS_GPU_MEMORY_MANAGED_STATIC] = 6,
	};

	return cell_number(kinds[memory < MS_GPU_MEMORIES_COUNT ? memory : 0]);
}

/* As ENUM_CUDA_MEMCPY_OPER has it. */
static struct cell direction_cell(uint16_t direction)
{
	static const uint8_t kinds[MS_DIRECTIONS_COUNT] = {
		[MS_DIRECTION_HTOD] = 1,  [MS_DIRECTION_DTOH] = 2, [MS_DIRECTION_HTOA] = 3,
		[MS_DIRECTION_ATOH] = 4,  [MS_DIRECTION_ATOA] = 5, [MS_DIRECTION_ATOD] = 6,
		[MS_DIRECTION_DTOA] = 7,  [MS_DIRECTION_DTOD] = 8, [MS_DIRECTION_HTOH] = 9,
		[MS_DIRECTION_PTOP] = 10,
	};

	return cell_number(direction < MS_DIRECTIONS_COUNT ? kinds[direction] : 0);
}

static int put_row(struct sqlite_export *export, const struct sqlite_activity *activity)
{
	const struct ms_activity_body *is = &activity->record.is;
	const struct cell start = sqlite_time(export, is->begin_ns);
	const struct cell end = sqlite_time(export, is->end_ns);
	const struct cell device = cell_if(is->device >= 0, (uint64_t)is->device);
	const struct cell context = cell_number(is->context), stream = cell_number(is->stream);
	const struct cell correlation = correlation_cell(export, &activity->record);
	const struct cell pid = cell_number(sqlite_global_pid(export, activity->record.event.pid));

	switch (is->kind) {
	case MS_ACTIVITY_KERNEL:
		return DATABASE_PUT(&export->database, SQLITE_KERNEL, start, end, device, context,
				    stream, correlation, pid, activity->demangled,
				    activity->short_name, activity->mangled,
				    cell_number(is->registers), cell_number(is->grid[0]),
				    cell_number(is->grid[1]), cell_number(is->grid[2]),
				    cell_number(is->block[0]), cell_number(is->block[1]),
				    cell_number(is->block[2]));
	case MS_ACTIVITY_COPY:
		return DATABASE_PUT(&export->database, SQLITE_MEMCPY, start, end, device, context,
				    stream, correlation, pid, cell_number(is->size),
				    direction_cell(is->what), memory_cell(is->from),
				    memory_cell(is->to));
	default:
		return DATABASE_PUT(&export->database, SQLITE_MEMSET, start, end, device, context,
				    stream, correlation, pid, cell_number(is->size),
				    memory_cell(is->to));
	}
}

/* The oldest, as many as that. */
static int put_rows(struct sqlite_export *export, size_t count)
{
	struct sqlite_activity *activities = export->activities;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < count; i++)
		err = put_row(export, &activities[i]);
	if (count < export->activities_count)
		memmove(activities, activities + count,
			(export->activities_count - count) * sizeof(*activities));
	export->activities_count -= count;
	return err;
}

/* ---- what comes ------------------------------------------------------------------------------ */

static void name_kernel(struct sqlite_export *export, struct sqlite_activity *activity,
			const char *name)
{
	struct string *text = &export->scratch;
	const char *base;
	size_t length;

	activity->mangled = sqlite_name(export, name);
	if (!name)
		return;
	string_clear(text);
	demangle_append(text, name);
	if (text->failed)
		export->database.err = -ENOMEM;
	activity->demangled = database_name(&export->database, text->bytes, text->length);
	base = demangle_base(text->bytes, text->length, &length);
	activity->short_name = database_name(&export->database, base, length);
}

int sqlite_gpu_take(struct sqlite_export *export, const struct event *event,
		    const struct change *change)
{
	const struct ms_activity *record = (const void *)event->sample;
	const struct ms_activity_body *is = &record->is;
	struct sqlite_activity *activity;
	int err;

	if (!gpu_times_is_work(is))
		return 0;
	err = create_tables(export);
	if (!err && export->activities_count >= WAITING_MAX)
		err = put_rows(export, export->activities_count / 2);
	if (!err)
		err = memory_grow(&export->activities, &export->activities_capacity,
				  export->activities_count + 1, sizeof(*export->activities));
	if (err)
		return err;
	activity = &export->activities[export->activities_count++];
	*activity = (struct sqlite_activity){ .record = *record };
	if (is->kind == MS_ACTIVITY_KERNEL)
		name_kernel(export, activity, gpu_times_kernel(change->process, is->name));
	return export->database.err;
}

int sqlite_gpu_end(struct sqlite_export *export)
{
	const int err = put_rows(export, export->activities_count);

	map_fini(&export->gpu_calls);
	map_fini(&export->older_gpu_calls);
	return err;
}

void sqlite_gpu_free(struct sqlite_export *export)
{
	free(export->activities);
	map_fini(&export->gpu_calls);
	map_fini(&export->older_gpu_calls);
}
