# SPDX-License-Identifier: BSD-2-Clause
#
# The exports that are tables, opened by readers that have nothing to do with the program: their totals
# are the report's.

load reading

# Those with totals that export_check.py can add up.
FORMATS="ndjson csv sqlite openmetrics"

setup() {
	golden_setup
}

check() {
	/usr/bin/python3 "$ROOT/tests/e2e/export_check.py" "$@"
}

# DUMPS... [-- OPTIONS...]: exports and reports them alike, and compares all totals.
check_all() {
	local format label dumps=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		dumps+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	"$MEMSCOPE" report "$@" -f json -o report.json "${dumps[@]}"
	for format in $FORMATS; do
		label=
		[ "$format" != openmetrics ] || label="--label pid"
		# shellcheck disable=SC2086 # two words or none
		"$MEMSCOPE" export "$@" $label -f "$format" -o "out.$format" "${dumps[@]}"
		check "$format" "out.$format" report.json "$ROOT/docs/event.schema.json" $LOSSY ||
			fail "$format $*"
	done
}

record() {
	SIMCUDA_DEVICES=2 LD_LIBRARY_PATH=$BUILT/simcuda "$MEMSCOPE" record $MASK -o "$@" > /dev/null
}

@test "totals are the report's: the golden recording" {
	check_all golden.mscope
	check_all golden.mscope -- --pid 4242
	check_all golden.mscope -- --from 0.02s
	check_all golden.mscope -- --from 0.01s --to 0.05s
}

@test "totals are the report's: names that somebody chose to do harm" {
	"$WORKLOADS/hostile_dump" hostile.mscope > names
	check_all hostile.mscope
	jq -s -e 'any(.[]; .type == "calls" and .count == 500)' out.ndjson
	check_all hostile.mscope -- --pid 1003
}

@test "totals are the report's: programs that do everything" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	local workload
	for workload in rows_driver rows_runtime-shared "threads 2 100"; do
		# shellcheck disable=SC2086 # its arguments
		record run.mscope -- $WORKLOADS/$workload
		check_all run.mscope
		rm run.mscope
	done
}

@test "totals are the report's: several recordings at once" {
	"$WORKLOADS/hostile_dump" hostile.mscope > names
	"$BUILT/bench/dumps" 5000 bench.mscope > sizes
	check_all golden.mscope hostile.mscope bench.mscope
	assert_equal "$(jq -r 'select(.type == "recording" or .type == "summary").type' out.ndjson | xargs)" \
		"recording summary recording summary recording summary"
}

# Of what is missing the report knows the sums, from later anchors; nobody knows the events.
@test "damaged and cut-short files: what is there is exported, and that something is missing" {
	"$BUILT/bench/dumps" 100000 whole.mscope > sizes
	local size
	size=$(stat -c %s whole.mscope)
	head -c $((size * 2 / 3)) whole.mscope > cut.mscope
	check_all cut.mscope
	cp whole.mscope damaged.mscope
	head -c 100 /dev/urandom |
		dd of=damaged.mscope bs=1 seek=$((size / 2)) conv=notrunc status=none
	LOSSY=lossy check_all damaged.mscope
	"$MEMSCOPE" export -f ndjson damaged.mscope | tail -n 1 |
		jq -e '.type == "summary" and .coverage.lost.damaged_places > 0'
	head -c 100 whole.mscope > nothing.mscope
	for format in $FORMATS; do
		run -7 "$MEMSCOPE" export -f "$format" -o nothing nothing.mscope
		[ ! -e nothing ]
	done
}

@test "ndjson and csv: names come through" {
	"$WORKLOADS/hostile_dump" hostile.mscope > names
	"$MEMSCOPE" export -f ndjson -o out.jsonl hostile.mscope
	"$MEMSCOPE" export -f csv -o out.csv hostile.mscope
	/usr/bin/python3 - <<'PYTHON'
import csv, json, re

wanted = {name.decode(errors="replace") for name in open("names", "rb").read().split(b"\0")[:-1]} - {""}
assert len(wanted) == 18, wanted

found = {json.loads(line).get("kernel") for line in open("out.jsonl", encoding="utf-8")}
assert wanted | {"x" * 7999} <= found, wanted - found

found = set()
for row in csv.DictReader(open("out.csv", encoding="utf-8", newline=""), strict=True):
    for cell in row.values():
        assert not re.match(r"[=+@\t\r\n]|-(?![0-9])", cell), cell
        assert not re.search("[\x00-\x1f\x7f]", cell), cell
    # As docs/exports.md says how to get the text back.
    text = row["kernel"].removeprefix("'")
    found.add(re.sub(r"\\x(..)", lambda match: chr(int(match[1], 16)), text))
assert wanted | {"x" * 7999} <= found, wanted - found
PYTHON
	assert_equal "$(grep -c $'[^\r]$' out.csv || true)" 0
}

@test "openmetrics: what Prometheus makes of it" {
	"$WORKLOADS/hostile_dump" hostile.mscope > names
	"$MEMSCOPE" export -f openmetrics -o out.txt hostile.mscope
	assert_equal "$(tail -n 1 out.txt)" "# EOF"
	promtool tsdb create-blocks-from openmetrics out.txt blocks > /dev/null
	mkdir blocks/wal
	promtool tsdb dump blocks > dumped
	assert_equal "$(wc -l < dumped)" "$(grep -vc '^#' out.txt)"
	# Checks know the older text format only, in which metadata of counters has their whole name.
	awk '/^# TYPE/ && $4 == "counter" { counters[$3] } $3 in counters { $3 = $3 "_total" } { print }' \
		out.txt > older.txt
	promtool check metrics < older.txt
	# A series for each name, not for each process, unless asked for.
	grep -q 'pid="' out.txt && fail "there are PIDs"
	"$MEMSCOPE" export -f openmetrics --label pid hostile.mscope | grep -q ',pid="1003",.*,kind="managed"'
	run -2 "$MEMSCOPE" export -f openmetrics --label comm hostile.mscope
}

@test "openmetrics: processes of one name are one series: their sum, and the highest of their peaks" {
	"$WORKLOADS/hostile_dump" hostile.mscope > names
	"$MEMSCOPE" report -f json -o report.json hostile.mscope
	"$MEMSCOPE" export -f openmetrics hostile.mscope | grep 'comm="plain",.*,kind="device"} ' |
		sed -n 's/^memscope_\(allocated\|process_gpu_memory_peak\)_bytes.*} \([0-9]*\) .*/\1 \2/p' > found
	jq -r '[.recordings[].processes[] | select(.comm == "plain").spaces[] | select(.space == "device")]
		| "process_gpu_memory_peak \(map(.peak_bytes) | max)", "allocated \(map(.alloc_bytes) | add)"' \
		report.json > wanted
	diff <(sort found) <(sort wanted)
}
