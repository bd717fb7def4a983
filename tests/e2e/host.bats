# SPDX-License-Identifier: BSD-2-Clause
#
# What is recorded of the host (--host): that it is what the kernel says, and that it is left alone if it
# is not wanted.

load helpers

bats_require_minimum_version 1.5.0

teardown() {
	[ -z "${HOGS:-}" ] || kill $HOGS 2> /dev/null || true
	remove_group
}

# Records ffmpeg, run by $@, until it has long enough been short of CPU time; what was found of it.
starve_ffmpeg() {
	rm -f a.mscope
	# shellcheck disable=SC2046,SC2086 # words
	"$MEMSCOPE" record -q -f $MASK -o a.mscope --host=500ms --launches=all -- "$@" $(ffmpeg_command 400)
	"$MEMSCOPE" report -f json -o report.json a.mscope
	jq -c '.recordings[0].processes[] | select(.comm == "ffmpeg") | .pid' report.json > pid
	jq -c --slurpfile pid pid '[.recordings[0].findings[] | select(.rule == "cpu-contention" and .pid == $pid[0])] | length' report.json
}

# Two seconds of CPU time, beside a rival on the same CPU, looked at each second at most.
record_waits() {
	# shellcheck disable=SC2086 # may be empty
	SIMCUDA_SPIN=cuCtxSynchronize=100ms "$MEMSCOPE" record -q $MASK -o a.mscope "$@" -- \
		"$WORKLOADS/waits" 20 1 > account
	"$MEMSCOPE" report -f json -o report.json a.mscope
	valid report report.json
}

of_process() {
	jq ".recordings[0].processes[0].host$1" report.json
}

verdicts() {
	jq -r '.recordings[0].findings[] | select(.topic == "bottleneck") | .rule' report.json
}

@test "a recording has what the kernel says of the host and of each process" {
	local nodes=(/sys/devices/system/node/node[0-9]*) total wall ran waited

	record_waits --host=1s
	read -r wall ran waited < account
	# Two looks at least, and no more than happened.
	[ "$(of_process .samples)" -ge 2 ]
	verdicts | grep -qx cpu-contention
	[ "$(of_process .cpu_ns)" -gt 0 ]
	[ "$(of_process .cpu_ns)" -le $((ran + 100000000)) ]
	[ "$(of_process .queue_ns)" -gt 0 ]
	[ "$(of_process .queue_ns)" -le $((waited + 100000000)) ]
	[ "$(of_process .observed_ns)" -le $((wall + 1000000000)) ]
	assert_equal "$(of_process .threads)" 1
	total=$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) * 1024))
	assert_equal "$(jq '.recordings[0].host_samples.total_bytes' report.json)" "$total"
	assert_equal "$(jq '.recordings[0].numa_nodes | length' report.json)" "${#nodes[@]}"
	assert_equal "$(jq -c '.recordings[0].processes[0].placement[] | [.space, .blocks, .bytes,
		([.nodes[] | select(.node != null) | .bytes] | add)]' report.json)" \
		'["pinned",1,4194304,4194304]'
	"$MEMSCOPE" report -f md a.mscope > report.md
	[ "${#nodes[@]}" -gt 1 ] ||
		grep -qE '^\| waits \([0-9]+\) \| pinned \| 1 \| 4 MiB \| [0-9]+ \| 4 MiB \| single node \|$' report.md
	[ -e /proc/pressure/cpu ] || return 0
	[ "$(jq '.recordings[0].host_samples.cpu_some_ns' report.json)" -gt 0 ]
	grep -q "^| a CPU | " report.md
	grep -q "^| Host, observed for | CPU time | " report.md
}

@test "a cgroup that is throttled is said to be" {
	throttled_group 10000 50000
	# shellcheck disable=SC2086 # may be empty
	SIMCUDA_SPIN=cuCtxSynchronize=100ms "$MEMSCOPE" record -q $MASK -o a.mscope --host=1s -- \
		"${IN_GROUP[@]}" "$WORKLOADS/waits" 8 > account
	"$MEMSCOPE" report -f json -o report.json a.mscope
	[ "$(of_process .throttled)" -gt 0 ]
	verdicts | grep -qx cpu-contention
	[ "$(of_process .throttled_ns)" -gt 0 ]
}

@test "ffmpeg, with others on its CPU or throttled, is said to have too little CPU time" {
	local i

	for ((i = 0; i < 3; i++)); do
		taskset -c 0 sh -c 'while :; do :; done' 3>&- 6>&- &
		HOGS="${HOGS:-} $!"
	done
	assert_equal "$(starve_ffmpeg taskset -c 0)" 1
	# shellcheck disable=SC2086 # several
	kill $HOGS
	HOGS=
	"$MEMSCOPE" report -f md a.mscope > report.md
	grep -q '^\*\*F[0-9]* cpu-contention\*\*: ffmpeg' report.md
	throttled_group 10000 50000
	assert_equal "$(starve_ffmpeg "${IN_GROUP[@]}")" 1
	jq -e --slurpfile pid pid '.recordings[0].processes[] | select(.pid == $pid[0]) | .host.throttled > 0' report.json
}

@test "a program that sleeps in its waits has no contention" {
	# shellcheck disable=SC2086 # may be empty
	SIMCUDA_DELAY=cuCtxSynchronize=100ms "$MEMSCOPE" record -q $MASK -o a.mscope --host=1s -- \
		"$WORKLOADS/waits" 20
	"$MEMSCOPE" report -f json -o report.json a.mscope
	run ! grep -q cpu-contention <(verdicts)
	assert_equal "$(jq -r '.recordings[0].findings[] | select(.rule == "sync-bound") | .evidence[] |
		select(.what == "share that threads were blocked") | .value > 50' report.json)" true
}

@test "without it, nothing is said" {
	record_waits --host=off
	assert_equal "$(of_process '')" null
	assert_equal "$(jq -c '.recordings[0] | [.host_samples, .numa_nodes, .gpu_links]' report.json)" "[null,[],[]]"
	run ! grep -q "Host, observed for" <("$MEMSCOPE" report -f md a.mscope)
}
