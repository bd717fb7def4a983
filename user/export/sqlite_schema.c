// SPDX-License-Identifier: BSD-2-Clause
/*
 * The tables of the SQLite export, the statements that fill them, and views for people.
 *
 * Names, columns and numbers of nsys' tables are those of `nsys export --type sqlite` (2021 to
 * 2026): memory kinds, operations and event classes are as its ENUM_ tables have them, not as
 * CUPTI's header.
 */
#include "export/sqlite.h"

#include <errno.h>

static const char tables[] =
	"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
	"CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT,"
	" nameEnum INTEGER, value TEXT);"
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT,"
	" localTime TEXT);"
	"CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT,"
	" totalMemory INTEGER, uuid TEXT);"
	"CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
	"CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,"
	" eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER PRIMARY KEY,"
	" nameId INTEGER NOT NULL, returnValue INTEGER, callchainId INTEGER);"
	"CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER,"
	" unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL,"
	" PRIMARY KEY (id, stackDepth));"
	"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER,"
	" deviceId INTEGER, contextId INTEGER, address INTEGER, pc INTEGER, bytes INTEGER,"
	" memKind INTEGER, memoryOperationType INTEGER, name TEXT, correlationId INTEGER,"
	" streamId INTEGER, localMemoryPoolAddress INTEGER,"
	" localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER,"
	" localMemoryPoolUtilizedSize INTEGER, importedMemoryPoolAddress INTEGER,"
	" importedMemoryPoolProcessId INTEGER);"
	"CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_CUDA_MEM_KIND VALUES"
	" (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'),"
	" (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'),"
	" (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device'),"
	" (3, 'CUDA_MEMOPR_MEMORY_KIND_ARRAY', 'Array'),"
	" (4, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED', 'Managed'),"
	" (5, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC', 'Device Static'),"
	" (6, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC', 'Managed Static'),"
	" (7, 'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN', 'Unknown');"
	"CREATE TABLE ENUM_CUDA_DEV_MEM_EVENT_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_CUDA_DEV_MEM_EVENT_OPER VALUES"
	" (0, 'CUDA_DEV_MEM_EVENT_OPR_ALLOCATION', 'Allocation'),"
	" (1, 'CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION', 'Deallocation');"
	"CREATE TABLE ENUM_NSYS_EVENT_CLASS (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_NSYS_EVENT_CLASS VALUES"
	" (0, 'TRACE_PROCESS_EVENT_CUDA_RUNTIME', 'CUDA Runtime'),"
	" (1, 'TRACE_PROCESS_EVENT_CUDA_DRIVER', 'CUDA Driver');"

	"CREATE TABLE memscope_stacks (id INTEGER PRIMARY KEY, recording INTEGER,"
	" stack_id INTEGER, owner TEXT);"
	"CREATE TABLE memscope_frames (id INTEGER NOT NULL, stackDepth INTEGER NOT NULL,"
	" kind TEXT, source INTEGER, line INTEGER, build_id INTEGER,"
	" PRIMARY KEY (id, stackDepth));"

	"CREATE TABLE memscope_recordings (id INTEGER PRIMARY KEY, recording TEXT, host TEXT,"
	" kernel TEXT, machine TEXT, version TEXT, targets TEXT, offset_ns INTEGER,"
	" start INTEGER, end INTEGER, lost INTEGER, is_whole INTEGER, is_exact INTEGER,"
	" missed_processes INTEGER, untraced_descendants INTEGER);"
	"CREATE TABLE memscope_processes (id INTEGER PRIMARY KEY, recording INTEGER, pid INTEGER,"
	" start_ns INTEGER, name TEXT, globalPid INTEGER, exited INTEGER, exit_status INTEGER,"
	" is_exact INTEGER);"
	"CREATE TABLE memscope_identities (process INTEGER, item TEXT, value TEXT);"
	"CREATE TABLE memscope_counted (process INTEGER, start INTEGER, count INTEGER,"
	" op INTEGER, api INTEGER, result INTEGER, size_bytes INTEGER, duration_ns INTEGER,"
	" direction INTEGER, kernel INTEGER, part INTEGER);"
	"CREATE TABLE memscope_allocations (id INTEGER PRIMARY KEY, process INTEGER,"
	" address INTEGER, bytes INTEGER, space INTEGER, device INTEGER, context INTEGER,"
	" tid INTEGER, api INTEGER, start INTEGER, end INTEGER, ended_by TEXT);"
	"CREATE INDEX memscope_live_allocations ON memscope_allocations (process, address)"
	" WHERE end IS NULL;"
	"CREATE TABLE memscope_marks (recording INTEGER, process INTEGER, start INTEGER,"
	" type TEXT, count INTEGER);"
	"CREATE TABLE memscope_spaces (process INTEGER, space INTEGER, live_bytes INTEGER,"
	" live_allocations INTEGER, peak_bytes INTEGER, peak_start INTEGER, allocs INTEGER,"
	" alloc_bytes INTEGER, frees INTEGER, free_bytes INTEGER, implicit_frees INTEGER,"
	" implicit_free_bytes INTEGER);"
	"CREATE TABLE memscope_owners (process INTEGER, api INTEGER, space INTEGER,"
	" device INTEGER, live_bytes INTEGER, live_allocations INTEGER, peak_bytes INTEGER,"
	" peak_allocations INTEGER, allocs INTEGER, alloc_bytes INTEGER, frees INTEGER,"
	" free_bytes INTEGER);"
	"CREATE TABLE memscope_devices (recording INTEGER, device INTEGER, live_bytes INTEGER,"
	" peak_bytes INTEGER, peak_start INTEGER, total_bytes INTEGER, free_bytes INTEGER,"
	" uuid TEXT, pci_bus_id TEXT, name TEXT, first_pid INTEGER);"
	"CREATE TABLE memscope_finding_rows (id INTEGER PRIMARY KEY, recording INTEGER, rule TEXT,"
	" topic TEXT, confidence TEXT, lowered_by TEXT, pid INTEGER, name TEXT, device INTEGER,"
	" space TEXT, api TEXT, bytes INTEGER, start INTEGER, end INTEGER);"
	"CREATE TABLE memscope_evidence (id INTEGER PRIMARY KEY, finding INTEGER, what TEXT,"
	" name TEXT, unit TEXT, value INTEGER);";

/* What ids stand for. */
static const char views[] =
	"CREATE VIEW memscope_live AS SELECT p.recording, r.host,"
	" p.id AS process_id, p.pid, p.name AS process, s.value AS space, a.device,"
	" a.bytes, printf('0x%x', a.address) AS address, f.value AS api, a.tid,"
	" a.start, coalesce(a.end, r.end) - a.start AS age_ns, a.id AS alloc_id"
	" FROM memscope_allocations a JOIN memscope_processes p ON p.id = a.process"
	" JOIN memscope_recordings r ON r.id = p.recording"
	" LEFT JOIN StringIds s ON s.id = a.space LEFT JOIN StringIds f ON f.id = a.api"
	" WHERE CASE p.exited WHEN 1 THEN a.ended_by = 'exit' ELSE a.end IS NULL END;"
	"CREATE VIEW memscope_peak AS SELECT p.recording, r.host,"
	" p.id AS process_id, p.pid, p.name AS process, s.value AS space,"
	" t.peak_bytes, t.peak_start, t.live_bytes, t.live_allocations, t.allocs, t.alloc_bytes,"
	" t.frees, t.free_bytes, t.implicit_frees, t.implicit_free_bytes, p.is_exact"
	" FROM memscope_spaces t JOIN memscope_processes p ON p.id = t.process"
	" JOIN memscope_recordings r ON r.id = p.recording"
	" JOIN StringIds s ON s.id = t.space;"
	"CREATE VIEW memscope_by_api AS SELECT p.recording, r.host,"
	" p.id AS process_id, p.pid, p.name AS process, f.value AS api,"
	" s.value AS space, o.device, o.live_bytes, o.live_allocations, o.peak_bytes,"
	" o.peak_allocations, o.allocs, o.alloc_bytes, o.frees, o.free_bytes"
	" FROM memscope_owners o JOIN memscope_processes p ON p.id = o.process"
	" JOIN memscope_recordings r ON r.id = p.recording"
	" JOIN StringIds s ON s.id = o.space JOIN StringIds f ON f.id = o.api;"
	"CREATE VIEW memscope_findings AS SELECT f.*, (SELECT group_concat(e.what ||"
	" coalesce(' ' || e.name, '') || ': ' || e.value ||"
	" CASE e.unit WHEN 'count' THEN '' ELSE ' ' || e.unit END, '; ')"
	" FROM memscope_evidence e WHERE e.finding = f.id) AS evidence FROM memscope_finding_rows f;"
	"CREATE VIEW memscope_counted_calls AS SELECT c.start, p.recording,"
	" r.host, p.id AS process_id, p.pid, p.name AS comm, c.count,"
	" o.value AS op, f.value AS api, c.result, c.size_bytes, c.duration_ns,"
	" d.value AS direction, k.value AS kernel, c.part FROM memscope_counted c"
	" JOIN memscope_processes p ON p.id = c.process"
	" JOIN memscope_recordings r ON r.id = p.recording LEFT JOIN StringIds o ON o.id = c.op"
	" LEFT JOIN StringIds f ON f.id = c.api LEFT JOIN StringIds d ON d.id = c.direction"
	" LEFT JOIN StringIds k ON k.id = c.kernel;";

/* clang-format off */
static const struct {
	enum sqlite_statement statement;
	const char *sql;
} statements[] = {
	{ SQLITE_RECORDING, "INSERT INTO memscope_recordings (id, recording, host, kernel, machine,"
	  " version, targets, offset_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?)" },
	{ SQLITE_RECORDING_END, "UPDATE memscope_recordings SET start = ?2, end = ?3, lost = ?4,"
	  " is_whole = ?5, is_exact = ?6, missed_processes = ?7,"
	  " untraced_descendants = ?8 WHERE id = ?1" },
	{ SQLITE_PROCESS, "INSERT INTO memscope_processes (id, recording, pid, start_ns, name,"
	  " globalPid) VALUES (?, ?, ?, ?, ?, ?)" },
	{ SQLITE_PROCESS_END, "UPDATE memscope_processes SET name = ?2, exited = ?3,"
	  " exit_status = ?4, is_exact = ?5 WHERE id = ?1" },
	{ SQLITE_NSYS_PROCESS, "INSERT INTO PROCESSES VALUES (?, ?, ?)" },
	{ SQLITE_NSYS_THREAD, "INSERT INTO ThreadNames VALUES (?, 0, ?)" },
	{ SQLITE_RUNTIME, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, ?, ?, ?)" },
	{ SQLITE_CALLCHAIN, "INSERT INTO CUDA_CALLCHAINS VALUES (?, ?, ?, ?, ?, ?)" },
	{ SQLITE_FRAME, "INSERT INTO memscope_frames VALUES (?, ?, ?, ?, ?, ?)" },
	{ SQLITE_STACK, "INSERT INTO memscope_stacks VALUES (?, ?, ?, ?)" },
	{ SQLITE_COUNTED, "INSERT INTO memscope_counted VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ SQLITE_USAGE, "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId,"
	  " contextId, address, bytes, memKind, memoryOperationType, correlationId, streamId,"
	  " localMemoryPoolAddress) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ SQLITE_ALLOCATION, "INSERT INTO memscope_allocations (id, process, address, bytes,"
	  " space, device, context, tid, api, start) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	  " ON CONFLICT (id) DO UPDATE SET end = NULL, ended_by = NULL WHERE end IS NOT NULL"
	  " AND process = excluded.process AND (address = excluded.address OR ?11)" },
	{ SQLITE_ALLOCATION_GET, "SELECT process, address FROM memscope_allocations"
	  " WHERE id = ?" },
	{ SQLITE_ALLOCATION_END, "UPDATE memscope_allocations SET end = ?2, ended_by = ?3"
	  " WHERE id = ?1 AND end IS NULL" },
	{ SQLITE_LIVE_OF_PROCESS, "SELECT id, address, bytes, space,"
	  " ifnull(device, -1), context FROM memscope_allocations"
	  " WHERE process = ? AND end IS NULL" },
	{ SQLITE_LIVE_IN_RANGE, "SELECT id, address, bytes, space,"
	  " ifnull(device, -1), context FROM memscope_allocations"
	  " WHERE process = ? AND end IS NULL AND address >= ? AND address <= ?" },
	{ SQLITE_LIVE_BY_ID, "SELECT id, address, bytes, space,"
	  " ifnull(device, -1), context FROM memscope_allocations"
	  " WHERE id = ? AND end IS NULL AND process = ?" },
	{ SQLITE_EXIT, "UPDATE memscope_allocations SET end = ?2, ended_by = ?3"
	  " WHERE process = ?1 AND end IS NULL" },
	{ SQLITE_EVENT, "INSERT INTO memscope_marks VALUES (?, ?, ?, ?, ?)" },
	{ SQLITE_SPACE, "INSERT INTO memscope_spaces VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ SQLITE_BY_API, "INSERT INTO memscope_owners VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ SQLITE_FINDING, "INSERT INTO memscope_finding_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
	  " ?, ?)" },
	{ SQLITE_EVIDENCE, "INSERT INTO memscope_evidence VALUES (?, ?, ?, ?, ?, ?)" },
	{ SQLITE_DEVICE, "INSERT INTO memscope_devices VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ SQLITE_IDENTITY, "INSERT INTO memscope_identities VALUES (?, ?, ?)" },
	{ SQLITE_NSYS_GPU, "INSERT INTO TARGET_INFO_GPU (vmId, id, totalMemory, name, busLocation, uuid)"
	  " VALUES (?, ?, ?, ?, ?, ?)" },
	{ SQLITE_META, "INSERT INTO META_DATA_EXPORT VALUES (?, ?)" },
	{ SQLITE_SYSTEM, "INSERT INTO TARGET_INFO_SYSTEM_ENV (globalVid, name, value) VALUES (?, ?, ?)" },
};
/* clang-format on */

/* ---- calls: the columns are the fields ------------------------------------------------------- */

/* Those that CUPTI_ACTIVITY_KIND_RUNTIME or the process has, and one that is another's double. */
static const char *const elsewhere[] = { "ts_ns", "pid",    "tid",         "comm",
					 "api",   "result", "duration_ns", "dst" };

bool sqlite_schema_has(const struct field *field)
{
	size_t i;

	for (i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++)
		if (!strcmp(field->name, elsewhere[i]))
			return false;
	return field->ops;
}

static int create_calls(struct database *database, struct string *sql)
{
	size_t i;
	int err;

	string_append_text(sql,
			   "CREATE TABLE memscope_calls (id INTEGER PRIMARY KEY, process INTEGER");
	for (i = 0; i < fields_count; i++)
		if (sqlite_schema_has(&fields[i]))
			string_append_format(sql, ", %s %s", fields[i].name,
					     fields[i].kind == FIELD_DIMS ||
							     fields[i].kind == FIELD_AMOUNTS ?
						     "TEXT" :
						     "INTEGER");
	string_append(sql, ")", 2);
	err = sql->failed ? -ENOMEM : database_run(database, sql->bytes);
	string_clear(sql);
	string_append_text(sql, "INSERT INTO memscope_calls VALUES (?, ?");
	for (i = 0; i < fields_count; i++)
		if (sqlite_schema_has(&fields[i]))
			string_append_text(sql, ", ?");
	string_append(sql, ")", 2);
	if (!err)
		err = sql->failed ? -ENOMEM : database_prepare(database, SQLITE_CALL, sql->bytes);
	string_clear(sql);
	return err;
}

static void append_column(struct string *sql, const struct field *field)
{
	const char *name = field->name;

	if (!sqlite_schema_has(field))
		return;
	if (field->kind == FIELD_TEXT)
		string_append_format(sql, ", (SELECT value FROM StringIds WHERE id = c.%s) AS %s",
				     name, name);
	else if (field->kind == FIELD_ADDRESS)
		string_append_format(
			sql, ", CASE WHEN c.%s IS NOT NULL THEN printf('0x%%x', c.%s) END AS %s",
			name, name, name);
	else
		string_append_format(sql, ", c.%s", name);
}

static int create_events(struct database *database, struct string *sql)
{
	size_t i;
	int err;

	string_append_text(sql, "CREATE VIEW memscope_events AS SELECT c.id, r.start,"
				" p.recording, p.pid, r.globalTid % 0x1000000 AS tid,"
				" p.name AS comm,"
				" (SELECT value FROM StringIds WHERE id = r.nameId) AS api,"
				" r.returnValue AS result, r.end - r.start AS duration_ns");
	for (i = 0; i < fields_count; i++)
		append_column(sql, &fields[i]);
	string_append_text(sql, " FROM memscope_calls c"
				" JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = c.id"
				" JOIN memscope_processes p ON p.id = c.process");
	string_append_char(sql, '\0');
	err = sql->failed ? -ENOMEM : database_run(database, sql->bytes);
	string_clear(sql);
	return err;
}

int sqlite_schema_create(struct database *database)
{
	struct string sql = { 0 };
	size_t i;
	int err = database_run(database, tables);

	if (!err)
		err = create_calls(database, &sql);
	for (i = 0; !err && i < sizeof(statements) / sizeof(*statements); i++)
		err = database_prepare(database, statements[i].statement, statements[i].sql);
	string_fini(&sql);
	return err;
}

int sqlite_schema_finish(struct database *database)
{
	struct string sql = { 0 };
	int err = create_events(database, &sql);

	string_fini(&sql);
	return err ? err : database_run(database, views);
}
