# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent` and programs that call as fast as they can.

load agent

@test "a flood fills the ring with segments of their size, and no event is lost because of it" {
	RING=--ring=16M agent_start
	flood_start 2
	wait_for '[ "$(find state/ring -name "*.mscope" | wc -l)" -ge 3 ]'
	flood_end
	fresh
	# As many as fit into it, each a sixteenth; one begins with each event if a segment's age is wrong.
	[ "$(find state/ring -name '*.mscope' | wc -l)" -le 40 ] || fail "$(ls -l state/ring | head -50)"
	agent_stop
	"$MEMSCOPE" report -f json -o report.json state/ring
	[ "$(jq '[.recordings[].segments] | max' report.json)" -ge 2 ]
}

# The value of one of the agent's own series, with this label.
own() {
	ask /metrics | awk -v name="memscope_agent_$1" -v label="$2" 'index($1, name) == 1 && index($1, label) { print $2 }'
}

# What the capture holds open, without the probes and the files of what other tests run beside this one.
held() {
	find "/proc/$OTHER_PID/fd" -type l -printf '%l\n' |
		awk -v mine="$WORKLOADS/calls" '!/bpf_link/ && (!/^\// || index($0, mine) == 1)' | wc -l
}

@test "memory and descriptors stay within bounds while processes come and go, and when one floods" {
	local i before

	agent_start
	for i in $(seq 1 "$(times 1000 100)"); do
		"$WORKLOADS/calls" > /dev/null 2>&1 || true
		[ "$i" -ne 20 ] || before=$(held)
	done
	flood_start 2
	sleep 2
	flood_end
	# One for five of the processes that have gone, as many as there may be for what other tests run at the moment.
	wait_for '[ "$(held)" -le $((before + 16)) ]' || fail "descriptors: $before, then $(held)"
	fresh
	[ "$(own open_descriptors "")" -ge "$before" ]
	# Without the kernel's buffers (2 x 8 MiB), which are mapped, and counted, twice as they are used.
	i=$(awk '/^[0-9a-f]+-/ { buffer = /bpf-map/ } /^Rss:/ && !buffer { sum += $2 } END { print sum * 1024 }' \
		"/proc/$OTHER_PID/smaps")
	[ "$i" -le $((32 << 20)) ] || fail "the capture takes $i bytes"
	[ "$i" -gt $((1 << 20)) ]
	[ "$(own resident_memory_bytes capture)" -ge "$i" ]
	i=$(own resident_memory_bytes http)
	[ "$i" -le $((16 << 20)) ] || fail "the process for clients takes $i bytes"
	agent_stop
}
