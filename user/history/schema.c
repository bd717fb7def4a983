// SPDX-License-Identifier: BSD-2-Clause
#include "history/schema.h"

#define HOUR 3600u
#define DAY (24 * HOUR)

const struct history_step history_steps[HISTORY_LEVELS] = {
	[HISTORY_10S] = { 10, 6 * HOUR, 2 * HOUR },
	[HISTORY_5MIN] = { 300, 14 * DAY, DAY },
	[HISTORY_1H] = { 3600, 0, DAY },
};

/*
 * All rollups are in one table each, by `level` (enum history_level) and then by time: so those of
 * a time range lie side by side, and the oldest are deleted without a look at others. `start` is in
 * seconds since 1970, UTC. A device or space 0 is one that is not known.
 */
const char history_schema[] =
	"CREATE TABLE boot(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
	"CREATE TABLE device(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT,"
	" total_bytes INTEGER);"
	"CREATE TABLE space(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
	" on_device INTEGER NOT NULL);"
	"CREATE TABLE process(id INTEGER PRIMARY KEY, boot INTEGER NOT NULL, pid INTEGER NOT NULL,"
	" start_ns INTEGER NOT NULL, last INTEGER NOT NULL, inexact INTEGER NOT NULL,"
	" name TEXT, user TEXT, container TEXT, pod TEXT, namespace TEXT, job TEXT,"
	" UNIQUE(boot, pid, start_ns));"
	"CREATE TABLE span(level INTEGER NOT NULL, start INTEGER NOT NULL, ms INTEGER NOT NULL,"
	" PRIMARY KEY(level, start)) WITHOUT ROWID;"
	"CREATE TABLE memory(level INTEGER NOT NULL, start INTEGER NOT NULL,"
	" process INTEGER NOT NULL, device INTEGER NOT NULL, space INTEGER NOT NULL,"
	" ms INTEGER NOT NULL, min_bytes INTEGER NOT NULL, max_bytes INTEGER NOT NULL,"
	" byte_ms INTEGER NOT NULL, idle_byte_ms INTEGER NOT NULL,"
	" unknown_byte_ms INTEGER NOT NULL, allocs INTEGER NOT NULL,"
	" alloc_bytes INTEGER NOT NULL, frees INTEGER NOT NULL, free_bytes INTEGER NOT NULL,"
	" PRIMARY KEY(level, start, process, device, space)) WITHOUT ROWID;"
	"CREATE TABLE activity(level INTEGER NOT NULL, start INTEGER NOT NULL,"
	" process INTEGER NOT NULL, launches INTEGER NOT NULL, graph_launches INTEGER NOT NULL,"
	" untraced_ms INTEGER NOT NULL, PRIMARY KEY(level, start, process)) WITHOUT ROWID;"
	"CREATE TABLE device_memory(level INTEGER NOT NULL, start INTEGER NOT NULL,"
	" device INTEGER NOT NULL, ms INTEGER NOT NULL, min_bytes INTEGER NOT NULL,"
	" max_bytes INTEGER NOT NULL, byte_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL,"
	" used_min_bytes INTEGER, used_max_bytes INTEGER, used_byte_ms INTEGER NOT NULL,"
	" PRIMARY KEY(level, start, device)) WITHOUT ROWID;"
	"CREATE TABLE event(id INTEGER PRIMARY KEY, ts_ms INTEGER NOT NULL,"
	" count INTEGER NOT NULL, process INTEGER NOT NULL, device INTEGER NOT NULL,"
	" kind TEXT NOT NULL, what TEXT,"
	" bytes INTEGER);"
	"CREATE INDEX event_ts ON event(ts_ms);";
