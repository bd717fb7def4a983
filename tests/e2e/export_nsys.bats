# SPDX-License-Identifier: BSD-2-Clause
#
# Queries as people have them for `nsys export --type sqlite`, word for word on ours, and the views.

load helpers
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || exit 1
	"$WORKLOADS/hostile_dump" run.mscope > names
	"$MEMSCOPE" export -f sqlite -o run.sqlite run.mscope
	"$MEMSCOPE" report -f json -o report.json run.mscope
}

query() {
	sqlite3 -readonly run.sqlite "$1"
}

peaks() {
	jq -r --arg space "$1" '.recordings[].processes[] | .pid as $pid | .spaces[]
		| select(.space == $space) | "\($pid)|\(.peak_bytes)"' report.json
}

@test "peak by cumulative sum, of each process" {
	assert_equal "$(query "
		WITH ev AS (
			SELECT globalPid / 0x1000000 % 0x1000000 AS pid, start, rowid AS rid,
				CASE WHEN memoryOperationType = 0 THEN bytes ELSE -bytes END AS delta
			FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memKind = 2
		), run AS (
			SELECT pid, SUM(delta) OVER (PARTITION BY pid ORDER BY start, rid) AS live FROM ev
		)
		SELECT pid, MAX(live) FROM run GROUP BY pid ORDER BY pid")" "$(peaks device)"
}

@test "peak by cumulative sum in Python, strictly matched" {
	/usr/bin/python3 - <<'PYTHON'
import json, sqlite3

connection = sqlite3.connect("run.sqlite")
connection.row_factory = sqlite3.Row
live, total, peak = {}, {}, {}
for event in connection.execute("SELECT * FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memKind = 4 ORDER BY start"):
    pid = event["globalPid"] // 0x1000000 % 0x1000000
    key = event["globalPid"], event["contextId"], event["address"]
    if event["memoryOperationType"] == 0:
        assert key not in live, key
        live[key] = event["bytes"]
        total[pid] = total.get(pid, 0) + event["bytes"]
    else:
        assert live.pop(key) == event["bytes"]
        total[pid] -= event["bytes"]
    peak[pid] = max(peak.get(pid, 0), total[pid])
wanted = {
    process["pid"]: space["peak_bytes"]
    for recording in json.load(open("report.json"))["recordings"]
    for process in recording["processes"]
    for space in process["spaces"]
    if space["space"] == "managed"
}
assert peak == wanted and len(peak) == 20, peak
PYTHON
}

@test "allocations over a size that were never freed" {
	assert_equal "$(query "
		SELECT COUNT(*), SUM(a.bytes) FROM CUDA_GPU_MEMORY_USAGE_EVENTS a
		WHERE a.memoryOperationType = 0 AND a.bytes >= 1000000 AND NOT EXISTS (
			SELECT 1 FROM CUDA_GPU_MEMORY_USAGE_EVENTS f
			WHERE f.memoryOperationType = 1 AND f.globalPid = a.globalPid
				AND f.address = a.address AND f.start >= a.start)")" \
		"$(jq -r '[.recordings[].processes[].spaces[] | select(.space == "managed").live_bytes]
			| "\(length)|\(add)"' report.json)"
}

@test "API calls by time, with names from StringIds" {
	query "SELECT s.value, COUNT(*), SUM(r.end - r.start) AS total
		FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId
		GROUP BY s.value ORDER BY total DESC LIMIT 1" > top
	assert_equal "$(cat top)" "cuMemFree_v2|20|10000"
}

@test "allocations by kind, with the labels of the enumerations" {
	query "SELECT k.label, o.label, COUNT(*), SUM(e.bytes)
		FROM CUDA_GPU_MEMORY_USAGE_EVENTS e
		JOIN ENUM_CUDA_MEM_KIND k ON k.id = e.memKind
		JOIN ENUM_CUDA_DEV_MEM_EVENT_OPER o ON o.id = e.memoryOperationType
		GROUP BY 1, 2 ORDER BY 1, 2" > kinds
	diff kinds - <<- END
		Device|Allocation|20|860160
		Device|Deallocation|20|860160
		Managed|Allocation|20|20971520
	END
}

@test "which call an allocation came from, of which process and thread" {
	assert_equal "$(query "
		SELECT DISTINCT s.value, p.pid, r.globalTid % 0x1000000
		FROM CUDA_GPU_MEMORY_USAGE_EVENTS e
		JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = e.correlationId
		JOIN StringIds s ON s.id = r.nameId JOIN PROCESSES p ON p.globalPid = e.globalPid
		WHERE e.bytes = 1048576 AND p.pid = 1004 AND e.memoryOperationType = 0")" \
		"cudaMallocManaged|1004|1004"
	assert_equal "$(query "SELECT COUNT(*) FROM ThreadNames t JOIN StringIds s ON s.id = t.nameId")" \
		"$(query "SELECT COUNT(*) FROM PROCESSES")"
	assert_equal "$(query "SELECT utcTime FROM TARGET_INFO_SESSION_START_TIME")" \
		"$(jq -r '.recordings[0].begin' report.json)"
}

@test "the tables that scripts look for are tables, and the file is whole" {
	local table
	for table in StringIds PROCESSES ThreadNames TARGET_INFO_GPU TARGET_INFO_SESSION_START_TIME \
		META_DATA_EXPORT CUPTI_ACTIVITY_KIND_RUNTIME CUDA_GPU_MEMORY_USAGE_EVENTS \
		ENUM_CUDA_MEM_KIND ENUM_CUDA_DEV_MEM_EVENT_OPER; do
		assert_equal "$(query "SELECT type FROM sqlite_master WHERE name = '$table'")" table
	done
	assert_equal "$(query "PRAGMA integrity_check")" ok
	assert_equal "$(find . -name 'run.sqlite*' -o -name '.memscope*')" ./run.sqlite
}

@test "the views say what the report says, whatever names there are" {
	/usr/bin/python3 - <<'PYTHON'
import json, sqlite3

connection = sqlite3.connect("run.sqlite")
report = json.load(open("report.json"))["recordings"][0]
names = [name.decode(errors="replace") for name in open("names", "rb").read().split(b"\0")[:-1]]
kernels = {row[0] for row in connection.execute("SELECT kernel FROM memscope_events")}
assert set(names) - {""} | {"x" * 7999} <= kernels
comms = {pid: comm for pid, comm in connection.execute("SELECT pid, comm FROM memscope_events")}
for process in report["processes"]:
    assert comms[process["pid"]] == process["comm"], (comms[process["pid"]], process["comm"])
assert connection.execute("SELECT host FROM memscope_recordings").fetchall() == [(report["host"],)]
for view in "events", "live", "peak", "by_api", "counted_calls":
    assert connection.execute(f"SELECT count(*) FROM memscope_{view}").fetchone()[0] >= 20, view
rules = [row[0] for row in connection.execute("SELECT rule FROM memscope_findings ORDER BY id")]
assert rules == [finding["rule"] for finding in report["findings"]]
PYTHON
}

@test "it writes files, and nothing else" {
	run -2 --separate-stderr "$MEMSCOPE" export -f sqlite run.mscope
	[[ $stderr == *"needs a file"* ]]
	run -2 --separate-stderr "$MEMSCOPE" export -f sqlite -o /dev/null run.mscope
	[[ $stderr == *"can only write to a regular file"* ]]
}
