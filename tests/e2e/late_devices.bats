# SPDX-License-Identifier: BSD-2-Clause
#
# A process that has chosen its devices before it is attached to says them again only when it asks for them
# (asking_threads): every allocation is on its device then, or on an unknown one, never on a wrong one.

load helpers

eval "one_device_$(declare -f setup)"
setup() {
	one_device_setup
	case $MASK in
	*uprobe_multi*) skip "single uprobes are too slow to detach for that" ;;
	esac
	export SIMCUDA_DEVICES=2
	mkfifo in out
	"$ROOT/tests/e2e/asking_threads" < in > out 3>&- 8>&- 9<&- &
	OTHER_PID=$! ASKED=$!
	exec 8> in 9< out
}

tell() {
	local answer

	echo "$*" >&8
	read -r -t 60 answer <&9 && [ "$answer" = ok ] || fail "$*: ${answer:-no answer}"
}

quit() {
	exec 8>&-
	wait "$OTHER_PID"
	OTHER_PID=
}

# What was allocated, and on which devices; null: unknown.
devices() {
	events 'select(.type == "call" and .op == "alloc") | "\(.size_bytes):\(.device)"' | xargs
}

no_longer_listening() {
	grep -q "no longer listening" "${1:-trace}.err"
}

# Until it has been listened to for long enough and nothing new was heard.
ask_until_known() {
	ASKER=$1
	wait_for 'tell "$ASKER" driver 300; no_longer_listening'
}

# How many links the trace has to the functions by which threads ask; other tests' tools have theirs.
ask_links() {
	local own programs

	own=$(sed -n 's/^prog_id:[[:space:]]*//p' "/proc/$TRACE_PID"/fdinfo/* | jq -s .)
	programs=$(bpftool -j prog | jq -c --argjson own "$own" \
		'[.[] | select((.name // "") | startswith("ms_ask_")) | .id | select(IN($own[]))]')
	bpftool -j link | jq --argjson programs "$programs" '[.[] | select(.prog_id as $id | $programs | index($id))] | length'
}

@test "each thread says where it is, whichever function it asks, and its first allocation has its device" {
	tell runs set 1
	tell drives set 1
	tell owns own 1
	tell newer own 1
	tell looks own 0
	tell first set 0
	trace_start -p "$OTHER_PID"
	tell runs runtime 1
	tell runs alloc 4096
	tell drives driver 1
	tell drives alloc 8192
	tell owns driver 1
	tell owns hold 12288
	tell newer of newer
	tell newer context 1
	tell newer hold 16384
	# The context alone says it, once its device is known.
	tell drives of looks
	tell looks context 1
	tell looks hold 20480
	# And so does that of a thread that takes another's.
	tell first current owns
	tell first hold 24576
	trace_stop
	quit
	assert_equal "$(devices)" "4096:1 8192:1 12288:1 16384:1 20480:0 24576:null"
}

@test "a context whose device was heard of is known to every thread, also after it has been changed" {
	tell a own 1
	tell b set 0
	trace_start -p "$OTHER_PID"
	tell a context 1
	tell a driver 1
	tell b current a
	tell b hold 4096
	tell b set 0
	tell b alloc 8192
	tell c current a
	tell c hold 12288
	trace_stop
	quit
	assert_equal "$(devices)" "4096:1 8192:0 12288:1"
}

@test "a thread that does not ask is on an unknown device, until it asks: then it is listened to again" {
	tell a set 1
	tell b set 1
	tell a alloc 4096
	tell b alloc 4096
	trace_start -p "$OTHER_PID"
	tell a runtime 1
	ask_until_known a
	wait_for '[ "$(ask_links)" -eq 0 ]'
	tell b alloc 8192
	wait_for '[ "$(grep -c "listening to where" trace.err)" -eq 2 ]'
	tell b runtime 1
	tell b alloc 12288
	trace_stop
	quit
	assert_equal "$(devices)" "8192:null 12288:1"
}

@test "when all is known, the probes are gone, and no question was a record" {
	tell a set 1
	tell a alloc 4096
	trace_start -p "$OTHER_PID"
	[ "$(ask_links)" -gt 0 ]
	ask_until_known a
	wait_for '[ "$(ask_links)" -eq 0 ]'
	tell a alloc 8192
	trace_stop
	quit
	assert_equal "$(devices)" 8192:1
	assert_equal "$(events 'select(.type == "call") | .api' | xargs)" cudaMalloc
}

@test "who asks nothing for long is looked at less often, and heard all the same" {
	tell a set 1
	tell a alloc 4096
	trace_start -p "$OTHER_PID"
	wait_for 'grep -q "looking less often" trace.err'
	tell a runtime 1
	ask_until_known a
	wait_for '[ "$(ask_links)" -eq 0 ]'
	tell a alloc 8192
	trace_stop
	quit
	assert_equal "$(devices)" 8192:1
}

@test "-a: processes that ran before are listened to one by one, and none that began later" {
	local later

	tell a set 1
	tell a alloc 4096
	trace_start -a
	tell a runtime 1
	tell a alloc 8192
	"$ROOT/tests/e2e/own_devices" 0 never 0 1 < /dev/null 3>&- 8>&- 9<&- &
	later=$!
	wait "$later"
	ask_until_known a
	trace_stop
	quit
	# Other tests' processes come and go beside these.
	assert_equal "$(events "select(.type == \"call\" and .op == \"alloc\" and (.pid | IN($ASKED, $later))) |
		\"\\(.size_bytes):\\(.device)\"" | xargs)" "8192:1 266240:0 270336:1"
	grep -q "process $ASKED: listening" trace.err
	# A busy machine may come to a process only when that has the driver: then it has to be listened to as well.
	[ "$(summary ".processes[] | select(.pid == $later).was_running")" = true ] ||
		[ "$(grep -c "process $later: listening" trace.err)" = 0 ]
}

@test "multi links do as sessions do" {
	tell a set 1
	MASK="$MASK --without=uprobe_session"
	trace_start -p "$OTHER_PID"
	tell a runtime 1
	tell a alloc 4096
	trace_stop
	quit
	assert_equal "$(devices)" 4096:1
}

@test "a runtime and the driver below it are one row from the first call on, with probes in files, too" {
	local scope

	quit
	/usr/bin/python3 -c 'if True:
		import ctypes
		runtime, block = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
		while True:
			if runtime.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(4096)) or runtime.cudaFree(block):
				break' 3>&- &
	OTHER_PID=$!
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
	for scope in -a "-f -p $OTHER_PID" "-p $OTHER_PID"; do
		# shellcheck disable=SC2086 # several words
		"$MEMSCOPE" trace $MASK --json -d 200ms -o events.jsonl $scope
		[ "$(events 'select(.api == "cudaMalloc").api' | wc -l)" -gt 10 ]
		# The call that was being made has the driver's half alone.
		[ "$(events 'select(.api == "cuMemAlloc_v2").api' | wc -l)" -le 1 ] ||
			fail "$scope: $(events 'select(.op == "alloc").api' | uniq -c | head -n 4)"
	done
	kill "$OTHER_PID"
	wait "$OTHER_PID" || true
	OTHER_PID=
}
