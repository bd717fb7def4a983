# SPDX-License-Identifier: BSD-2-Clause
#
# Times of kernels and copies, by a simulated CUPTI: what it did is in its log. Whatever goes wrong
# there, the program's output and exit code are those of an untraced run.

load reading

eval "without_cupti_$(declare -f setup)"
setup() {
	without_cupti_setup
	export LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simcupti SIMCUPTI_LOG=$PWD/cupti.log PROBED=1
}

# Records the program with arguments $@, and makes report.json; what it wrote has to be as without.
measured() {
	local code=0 untraced=0

	LD_LIBRARY_PATH=$LD_LIBRARY_PATH "$WORKLOADS/gpu_work" "$@" > untraced 2> untraced.err || untraced=$?
	rm -f run.mscope cupti.log
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK ${OPTIONS:---gpu-time} -o run.mscope -- "$WORKLOADS/gpu_work" "$@" > traced 2> messages || code=$?
	assert_equal "$code" "$untraced"
	diff untraced traced
	"$MEMSCOPE" report -f json run.mscope > report.json
	valid report report.json
}

# gpu EXPRESSION: of the one process whose GPU is known of
gpu() {
	jq -c "[.recordings[0].processes[] | select(.gpu)][0].gpu | $1" report.json
}

# bottlenecks EXPRESSION: of what holds the program up. That it waits for a CPU, too, is true on a busy
# machine.
bottlenecks() {
	jq -c "[.recordings[0].findings[] | select(.topic == \"bottleneck\" and .rule != \"cpu-contention\") | $1]" report.json
}

# Count and nanoseconds in all, by kernel, of the log.
logged_kernels() {
	awk '$1 == "kernel" { split($3, b, "="); split($4, e, "="); n[$2]++; t[$2] += e[2] - b[2] }
		END { for (k in n) print k, n[k], t[k] }' cupti.log | sort
}

# When anything ran, overlaps counted once.
logged_busy() {
	sed 's/.*begin=\([0-9]*\) end=\([0-9]*\).*/\1 \2/' cupti.log | sort -n |
		awk '$1 > to { busy += to - from; from = $1; to = $1 } $2 > to { to = $2 } END { print busy + to - from }'
}

@test "kernels, copies and memsets have the times that CUPTI gave them, and all are joined" {
	measured 4 300 5
	assert_equal "$(gpu .state)" '"ended"'
	diff <(logged_kernels) <(gpu '.kernels[] | [.name, .count, .total_ns] | join(" ")' | jq -r . | sort)
	assert_equal "$(gpu '.devices[0].busy_ns')" "$(logged_busy)"
	assert_equal "$(gpu '.copies | map([.direction, .count, .bytes])')" '[["HtoD",1200,39321600],["DtoH",1200,78643200]]'
	assert_equal "$(gpu '.memsets | [.count, .bytes]')" '[1200,78643200]'
	assert_equal "$(gpu .in_graphs)" 240
	assert_equal "$(gpu '.joins | [.activities, .with_call, .with_probed_call, .outside_of_call, .before_call, .after_wait]')" \
		"[$(wc -l < cupti.log),$(wc -l < cupti.log),$(wc -l < cupti.log),0,0,0]"
	assert_equal "$(gpu '[.dropped, .untimed, .no_buffer, .clock_is_converted]')" '[0,0,0,false]'
	assert_equal "$(gpu '.joins.gpu_error_ns < 10000000 and .joins.call_error_ns < 10000000')" true
	"$MEMSCOPE" report run.mscope > report.md
	grep -q '^### GPU time' report.md
	grep -q '^| work_0 | ' report.md
	"$MEMSCOPE" export -j run.mscope > run.ndjson
	"$MEMSCOPE" verify -q run.mscope
}

@test "timelines draw what ran on each stream, with an arrow from its call" {
	local format

	SIMCUPTI=shuffle=1 measured 4 300 5
	"$MEMSCOPE" export -j -o run.ndjson run.mscope
	for format in perfetto chrome; do
		"$MEMSCOPE" export -f $format -o run.$format run.mscope
		run -0 "$ROOT/tests/e2e/export_reader.py" $format run.$format report.json run.ndjson
		assert_equal "${lines[0]}" "$(wc -l < cupti.log) activities $(wc -l < cupti.log) arrows"
	done
}

# Of the database, as people query those of nsys.
query() {
	sqlite3 -readonly run.sqlite "$1"
}

@test "the database has nsys' tables of what ran, each row with its call" {
	SIMCUPTI=shuffle=1 measured 4 300 5
	"$MEMSCOPE" export -f sqlite -o run.sqlite run.mscope
	diff <(logged_kernels) <(query "SELECT s.value || ' ' || COUNT(*) || ' ' || SUM(k.end - k.start)
		FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName
		JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId
		WHERE k.start >= r.start GROUP BY s.value ORDER BY s.value")
	assert_equal "$(query "SELECT o.label, s.label, d.label, COUNT(*), SUM(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY m
		JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = m.copyKind JOIN ENUM_CUDA_MEM_KIND s ON s.id = m.srcKind
		JOIN ENUM_CUDA_MEM_KIND d ON d.id = m.dstKind JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)
		GROUP BY o.label ORDER BY o.label")" $'Device-to-Host|Device|Pageable|1200|78643200\nHost-to-Device|Pageable|Device|1200|39321600'
	assert_equal "$(query "SELECT COUNT(*), SUM(bytes), MIN(e.label) FROM CUPTI_ACTIVITY_KIND_MEMSET m
		JOIN ENUM_CUDA_MEM_KIND e ON e.id = m.memKind JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)")" \
		"1200|78643200|Device"
	# Where nothing is known of it, the tables are not there, as with nsys.
	"$MEMSCOPE" record -q -o plain.mscope -- "$WORKLOADS/gpu_work" 1 5 > traced
	"$MEMSCOPE" export -f sqlite -o run.sqlite plain.mscope
	assert_equal "$(query "SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'CUPTI_ACTIVITY_KIND_%'")" 1
}

@test "every version's records, in any order, with little room for them" {
	local version

	for version in 18 24 28 130000 130500; do
		SIMCUPTI=version=$version,shuffle=1,keep=100 measured 3 60
		assert_equal "$(gpu .cupti_version)" "$version"
		diff <(logged_kernels) <(gpu '.kernels[] | [.name, .count, .total_ns] | join(" ")' | jq -r . | sort)
		assert_equal "$(gpu '.joins | [.with_call, .with_probed_call]')" "[$(wc -l < cupti.log),$(wc -l < cupti.log)]"
		assert_equal "$(gpu '.devices[0].busy_ns')" "$(logged_busy)"
	done
}

@test "what CUPTI drops, or has no or impossible times for, is counted" {
	SIMCUPTI=drop=10,untimed=7,inverted=11 measured 2 100
	assert_equal "$(gpu .dropped)" $(($(wc -l < cupti.log) / 10))
	assert_equal "$(gpu '.joins.activities')" $(($(wc -l < cupti.log) - $(wc -l < cupti.log) / 10))
	assert_equal "$(gpu '(.untimed > 0) and (([.kernels[].untimed, .copies[].untimed, .memsets.untimed] | add) == .untimed)')" true
	"$MEMSCOPE" report run.mscope | grep -q "^Missing: .* records that CUPTI had no room for; .* activities for which CUPTI has no times"
}

@test "without CUPTI, with an old one, with another tool, with errors: the program does not notice" {
	local function

	LD_LIBRARY_PATH=$BUILT/simcuda measured 1 20 7
	assert_equal "$(gpu '[.state, .why, .activities]')" '["off","no_library",0]'
	"$MEMSCOPE" report run.mscope | grep -q 'no libcupti was found'
	SIMCUPTI=version=17 measured 1 20 7
	assert_equal "$(gpu '[.state, .why]')" '["off","old_library"]'
	SIMCUPTI="subscriber=Nsight Systems" measured 1 20 7
	assert_equal "$(gpu '[.state, .why, .who]')" '["off","subscriber","Nsight Systems"]'
	"$MEMSCOPE" report run.mscope | grep -q 'another tool already uses CUPTI in the program (Nsight Systems)'
	for function in GetVersion Subscribe_v2 ActivityRegisterCallbacks ActivityEnable; do
		SIMCUPTI=fail=$function:999 measured 1 20 7
		assert_equal "$(gpu '[.state, .why]')" '["off","refused"]'
		"$MEMSCOPE" report run.mscope | grep -q "Nothing was measured: cupti$function failed with 999"
	done
	for function in SetThreadIdType ActivityRegisterTimestampCallback ActivityFlushAll ActivityGetNumDroppedRecords; do
		SIMCUPTI=fail=$function:999 measured 1 20 7
		assert_equal "$(gpu .state)" '"ended"'
	done
}

@test "CUPTI crashes while it is set up: the program goes on" {
	local function

	for function in GetVersion Subscribe_v2 ActivityRegisterCallbacks GetTimestamp ActivityEnable; do
		SIMCUPTI=fail=$function:crash measured 2 20 7
		grep -q "^kernels .* handled 0$" traced
		assert_equal "$(gpu '[.state, .why, .activities]')" '["off","crashed",0]'
	done
	"$MEMSCOPE" report run.mscope | grep -q 'CUPTI crashed during its setup; the program went on'
}

@test "a program ends even if CUPTI hands nothing over at its end" {
	SIMCUPTI=hangs=1 timeout 60 "$MEMSCOPE" record --gpu-time -q -o run.mscope -- "$WORKLOADS/gpu_work" 1 20 > traced
	"$MEMSCOPE" report -f json run.mscope > report.json
	assert_equal "$(gpu .state)" '"on"'
}

@test "of several libcupti in a directory, the newest is taken, and no file that only begins like one" {
	mkdir -p toolkit/lib64
	cp "$BUILT/simcupti/libcupti.so.13" toolkit/lib64/libcupti.so.9.2
	cp "$BUILT/simcupti/libcupti.so.13" toolkit/lib64/libcupti.so.13
	echo nothing > toolkit/lib64/libcupti.so.13.bak
	CUDA_HOME=$PWD/toolkit LD_LIBRARY_PATH=$BUILT/simcuda measured 1 20
	assert_equal "$(gpu .state)" '"ended"'
	assert_equal "$(gpu .who)" "\"$PWD/toolkit/lib64/libcupti.so.13\""
}

# The largest error of when anything of a single stream began.
worst_error() {
	paste <(sed 's/.*begin=\([0-9]*\) .*/\1/' cupti.log | sort -n) <("$MEMSCOPE" export -q -j -o - run.mscope |
		jq -r 'select(.type == "activity" and .activity != "call") | .begin_ns' | sort -n) |
		awk '{ e = $2 > $1 ? $2 - $1 : $1 - $2; if (e > worst) worst = e } END { print worst + 0 }'
}

@test "another clock than ours is converted, and the error that is stated holds" {
	local clock seed

	for clock in offset=3s realtime=1 offset=3s,drift_ppm=50 offset=-5s,noise=5us; do
		SIMCUPTI=refuses_clock=1,$clock measured 2 100
		assert_equal "$(gpu '[.state, .clock_is_converted]')" '["ended",true]'
		assert_equal "$(gpu '[.joins.call_error_ns, .joins.gpu_error_ns] | map(. != null and . <= 10000)')" '[true,true]'
		[[ $clock == *noise* ]] || assert_equal "$(gpu '.joins.activities == .joins.with_probed_call')" true
	done
	SIMCUPTI=ignores_clock=1,offset=1s measured 2 100
	assert_equal "$(gpu .clock_is_converted)" true
	# Full buffers are handed over before there is another comparison. tools/bench/gpu_times has more runs.
	for seed in 1 2 3; do
		SIMCUPTI=refuses_clock=1,offset=3s,drift_ppm=50,noise=5us,keep=100,seed=$seed measured 1 2000
		[ "$(gpu .joins.gpu_error_ns)" -ge "$(worst_error)" ]
		[ "$(gpu .joins.gpu_error_ns)" -ge "$(gpu .clock_error_ns)" ]
	done
}

@test "the time is over, and what reads is gone: nothing is measured any more" {
	OPTIONS=--gpu-time=300ms SIMCUDA_DELAY=cuMemsetD8Async=20ms measured 1 60
	assert_equal "$(gpu '[.state, .why]')" '["stopped","time"]'
	assert_equal "$(gpu '.joins.activities > 0 and .joins.activities < 200')" true
}

@test "a GPU that has too little to do is named, with what the host did meanwhile" {
	SIMCUDA_DELAY=cuMemsetD8Async=20ms measured 1 60
	assert_equal "$(jq -c '[.recordings[0].findings[] | select(.rule == "gpu-idle") | [.device, .pattern[0:10]]]' report.json)" \
		'[[0,"copy-bound"]]'
	jq -e '[.recordings[0].findings[] | select(.rule == "gpu-idle") | .evidence[] | select(.what == "share in calls that copy or set memory")][0].value > 90' report.json
	run -8 "$MEMSCOPE" report --fail-on gpu-idle run.mscope
	# Not measured is not the same as fine.
	SIMCUDA_DELAY=cuMemsetD8Async=20ms "$MEMSCOPE" record -q -o unmeasured.mscope -- "$WORKLOADS/gpu_work" 1 60 > traced
	run ! "$MEMSCOPE" report --fail-on gpu-idle unmeasured.mscope
	[[ $output == *'record with --gpu-time'* ]]
}

@test "a GPU that is busy with one kernel is named with this kernel, and nothing else is" {
	SIMCUPTI=slow=work_1:60ms measured 1 60
	assert_equal "$(bottlenecks .rule)" '["kernel-bound"]'
	assert_equal "$(jq -c '[.recordings[0].findings[] | select(.rule == "kernel-bound") | .evidence[] | select(.name) | .name]' report.json)" \
		'["work_1"]'
	# The next two lines of the evidence: how often, and the median.
	jq -e '.recordings[0].findings[] | select(.rule == "kernel-bound") | .evidence
		| to_entries | map(select(.value.name))[0].key as $i | .[$i].value.value > 90 and .[$i + 1].value.value == 20
		and .[$i + 2].value.value >= 6e7 and .[$i + 2].value.value < 7e7' report.json
	run -8 "$MEMSCOPE" report --fail-on kernel-bound run.mscope
	[[ $output == *' in work_1 (kernel-bound, device 0; high confidence)'* ]]
	# As much work in three kernels of equal length.
	SIMCUPTI=kernel=20ms measured 1 60
	assert_equal "$(bottlenecks '.rule, [.evidence[] | .name // empty | .[0:5]]')" \
		'["kernel-bound",["work_","work_","work_"]]'
}

@test "a GPU that copies most of the time is named with the direction, nothing else is" {
	SIMCUPTI=copy=60ms measured 1 60
	assert_equal "$(bottlenecks .rule)" '["copy-bound"]'
	jq -e '.recordings[0].findings[] | select(.rule == "copy-bound") | .confidence == "high" and .evidence[0].value > 90
		and ([.evidence[] | select(.name) | .name] | . == ["HtoD"] or . == ["DtoH"])' report.json
	run -8 "$MEMSCOPE" report --fail-on copy-bound run.mscope
	[[ $output == *' lets its GPU copy, and nothing else, for '*' of the time (copy-bound, device 0; high confidence)'* ]]
}

@test "steps that nobody marked are found by launches that recur, and not where they do not" {
	measured 2 61 0 loops
	# Each of 3 rounds; the first two show what recurs, and the last one has no end.
	assert_equal "$(jq -c '.recordings[0].steps | map([.steps, .irregular, .launches])' report.json)" '[[18,0,3]]'
	jq -e '.recordings[0].steps[0] | .time_ns.p95 > 0 and (.begins_with | startswith("work_"))' report.json
	"$MEMSCOPE" report run.mscope | grep -q '^### Steps'
	measured 1 60
	assert_equal "$(jq -c '.recordings[0].steps' report.json)" '[]'
}

@test "a program that is killed, and one that forks" {
	measured 1 40 0 killed
	assert_equal "$(gpu .state)" '"on"'
	"$MEMSCOPE" report run.mscope | grep -q 'its last message is missing'
	measured 2 40 0 forks
	assert_equal "$(gpu '[.state, .joins.activities]')" "[\"ended\",$(wc -l < cupti.log)]"
}

@test "the variable that is there already is left alone, and that is said" {
	CUDA_INJECTION64_PATH=$BUILT/simcuda/libselftest-injection.so measured 1 5
	grep -q 'CUDA_INJECTION64_PATH is already set, to .*libselftest-injection.so' messages
	assert_equal "$(jq '[.recordings[0].processes[] | select(.gpu)] | length' report.json)" 0
}

@test "only the command has the library, and only if it was asked for" {
	# shellcheck disable=SC2016 # expanded there
	OPTIONS='--gpu-time' "$MEMSCOPE" record --gpu-time -q -o a.mscope -- \
		sh -c '"$1" 1 5 > /dev/null; echo "$CUDA_INJECTION64_PATH"' sh "$WORKLOADS/gpu_work" > inherited
	grep -q libmemscope-cupti.so inherited
	assert_equal "$("$MEMSCOPE" report -f json a.mscope | jq '[.recordings[0].processes[] | select(.gpu)] | length')" 0
	"$MEMSCOPE" record --gpu-time -f -q -o b.mscope -- sh -c '"$1" 1 5 > /dev/null; true' sh "$WORKLOADS/gpu_work"
	assert_equal "$("$MEMSCOPE" report -f json b.mscope | jq -c '[.recordings[0].processes[] | select(.gpu) | .gpu.state]')" '["ended"]'
	"$MEMSCOPE" record -q -o c.mscope -- sh -c 'env | grep -c -e INJECTION -e MEMSCOPE_GPU; true' > none
	assert_equal "$(cat none)" 0
}

@test "trace shows each, with its call; a running process cannot have it" {
	trace --gpu-time -- "$WORKLOADS/gpu_work" 1 10 2> /dev/null > lines || true
	grep -qE '\+\+\+ [0-9]+ \(gpu_work\) GPU time: measured from now on' lines
	assert_equal "$(grep -cE '\+\+\+ .* kernel work_[012]: 10 us on device 0, stream [0-9]+' lines)" 12
	grep -qE 'copy DtoH 64 KiB: .* on device 0, stream 7' lines
	grep -qE '^  GPU TIME: Measured by CUPTI 13.0' lines
	trace --gpu-time --json -o lines.jsonl -- "$WORKLOADS/gpu_work" 1 10 > /dev/null
	local what

	for what in '.activity == "kernel"' '.activity == "copy"' '.activity == "call"' '.type == "gpu_status"' '.type == "summary"'; do
		jq -c "select($what)" lines.jsonl | head -1 > event.json
		test -s event.json
		valid event event.json
	done
	assert_equal "$(jq -c 'select(.type == "activity" and .activity == "kernel") | .call_begin_ns' lines.jsonl | wc -l)" 12
	run "$MEMSCOPE" trace --gpu-time -p $$
	assert_equal "$status" 2
	[[ $output == *"needs a command to start"* ]]
}
