# SPDX-License-Identifier: BSD-2-Clause
#
# Single uprobes, for kernels without links for many. They take a tenth of a second each to go, all
# of it waiting, so these tests run beside the others (tests/run). The driver is a copy: no probe of
# another test is in the same file.

load helpers

WITHOUT_LINKS=--without=uprobe_session,uprobe_multi

eval "with_common_driver_$(declare -f setup)"
setup() {
	with_common_driver_setup
	mkdir driver
	cp "$BUILT/simcuda/libcuda.so.1" driver
	LD_LIBRARY_PATH=$PWD/driver
}

@test "every call of ffmpeg is seen exactly once, by single uprobes" {
	trace $WITHOUT_LINKS --json -e all -o events.jsonl -- $(ffmpeg_command 3)
	"$COMPARE" events.jsonl oracle.log
}

@test "single uprobes attach, see the same, and leave nothing behind" {
	two_threads_of_a_puppet $WITHOUT_LINKS
}

# What the programs of the tool have counted.
counted() {
	local id

	for id in $(sed -n 's/^map_id:[[:space:]]*//p' "/proc/$TRACE_PID"/fdinfo/* | sort -u); do
		! bpftool -j map show id "$id" | grep -q '"name":"ms_counts"' ||
			bpftool -j map dump id "$id" | jq -c '[.[].formatted.values[].value.seen[]] | add'
	done
}

@test "the account is there before single uprobes are gone; who does not wait leaves them to the helper" {
	local answer counted

	MASK=$WITHOUT_LINKS
	SIMCUDA_DELAY=cuMemAlloc_v2=2000ms puppet_start
	puppet load
	puppet init
	trace_start -e alloc -p "$PUPPET_PID"
	puppet alloc 4096
	echo alloc 4096 >&8
	sleep 0.3
	kill -INT "$TRACE_PID"
	wait_for "[ -s events.jsonl ] && grep -q detaching trace.err"
	assert_equal "$(summary '[(.events | .seen == .shown + .filtered + .lost), .processes[0].spaces[0].allocs]')" '[true,1]'
	# A call that returns now has no part in it any more.
	counted=$(counted)
	[ "$counted" -gt 0 ]
	read -r -t 20 answer <&9
	assert_equal "$answer" ok
	assert_equal "$(counted)" "$counted"
	kill "$TRACE_PID"
	trace_wait 143
	[ -n "$(tool_processes)" ]
	leaves_nothing
}

@test "the last of hundreds of single uprobes to go is one that nobody calls" {
	last_probe_is_cold 2 $WITHOUT_LINKS
}

@test "the last of hundreds of single uprobes to go is one that nobody calls, also if the tool is killed" {
	last_probe_is_cold 9 $WITHOUT_LINKS
}
