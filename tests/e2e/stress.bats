# SPDX-License-Identifier: BSD-2-Clause
#
# What a busy machine does to a tracer: kills, many processes, process ids used again, floods,
# stops. `make stress` runs it with the counts of the long form, `make check` with those of the
# short one.

load helpers

# Nobody reads the simulator's log here.
eval "with_log_$(declare -f setup)"
setup() {
	with_log_setup
	unset SIMCUDA_LOG
}

# A line for people, also when the test passes.
report() {
	[ -z "${STRESS:-}" ] || echo "# $*" >&3
}

# Median, 90th and 99th percentile and maximum of the numbers on standard input.
distribution() {
	sort -n | awk '{ v[NR] = $1 } END {
		printf "p50 %s, p90 %s, p99 %s, max %s (of %d)", v[int((NR + 1) / 2)],
			v[int(NR * 0.9 + 0.999)], v[int(NR * 0.99 + 0.999)], v[NR], NR }'
}

# ---- what the tool and its helpers hold

tool_and_helpers() {
	echo "$TRACE_PID"
	pgrep -P "$TRACE_PID"
}

open_files() {
	local pid

	for pid in $(tool_and_helpers); do
		find "/proc/$pid/fd" -mindepth 1
	done | wc -l
}

# Memory of their own, KiB; the ring buffers are not.
own_memory() {
	local pid

	for pid in $(tool_and_helpers); do
		cat "/proc/$pid/smaps_rollup"
	done | awk '/^Pss_Anon:/ { sum += $2 } END { print sum }'
}

# Of all hash maps of theirs, but for that of contexts: it has a fixed size, and the oldest go.
map_entries() {
	local id

	for id in $(sed -n 's/^map_id:[[:space:]]*//p' "/proc/$TRACE_PID"/fdinfo/* | sort -u); do
		bpftool -j map show id "$id" | grep -v '"name":"ms_context_devi"' |
			grep -qE '"type":"((lru_)?percpu_|lru_)?hash"' &&
			bpftool -j map dump id "$id" | jq length
	done | awk '{ sum += $1 } END { print sum }'
}

# That of contexts, as it is said above.
contexts_are_bounded() {
	local id

	for id in $(sed -n 's/^map_id:[[:space:]]*//p' "/proc/$TRACE_PID"/fdinfo/* | sort -u); do
		bpftool -j map show id "$id" | jq -e 'select(.name == "ms_context_devi") |
			.type == "lru_hash" and .max_entries == 4096' && return
	done
	return 1
}

# Kills the tool in a moment of this kind, and waits until nothing is left of it.
kill_tool() {
	local when=$1 residue=("$WORKLOADS/residue" "$FLOOD_PID" "$BUILT/simcuda/libcuda.so.1")

	case $when in
	any)
		sleep "0.$(printf %03d $((RANDOM % 900)))"
		kill -9 "$TRACE_PID"
		"${residue[@]}"
		;;
	detaching)
		wait_for 'grep -qs "debug: tracing" trace.err' || fail "did not start: $(cat trace.err)"
		"${residue[@]}" "$when" "$TRACE_PID"
		;;
	attaching)
		"${residue[@]}" "$when" "$TRACE_PID"
		;;
	esac >> "gone-$when"
}

# Whether the kill came in such a moment indeed; $2: the tool's exit code.
was_in_the_middle() {
	[ "$2" -eq 137 ] || return 1
	[ "$1" != attaching ] || ! grep -qs "debug: tracing" trace.err
}

@test "SIGKILL of the tool while it attaches or detaches, or at any time: nothing is left" {
	local modes=("-c" "--json" "-f -c" "-c --without=uprobe_session")
	local moments=(attaching detaching attaching any) i moment code

	needs_links
	: > hits
	for ((i = 0; i < $(times 100 8); i++)); do
		# Each mode gets each moment.
		moment=${moments[(i + i / 4) % 4]}
		flood_start 4
		# shellcheck disable=SC2086 # several words
		in_background TRACE_PID trace.err "$MEMSCOPE" trace $MASK -v ${modes[i % 4]} -o out -p "$FLOOD_PID"
		kill_tool "$moment"
		code=0
		wait "$TRACE_PID" || code=$?
		TRACE_PID=
		was_in_the_middle "$moment" "$code" && echo "$moment" >> hits
		flood_end
	done
	for moment in attaching detaching any; do
		report "gone after a kill ($moment), ms: $(distribution < "gone-$moment")"
	done
	report "killed $(sort hits | uniq -c | xargs)"
}

# Processes that have the driver mapped, each a copy of its own, and do nothing. (The kernel looks at
# all processes that have a file when it removes probes from it, and what is left in one that it has
# been to before goes then.)
idle_start() {
	local i fd

	OTHER_PID=
	for ((i = 0; i < $1; i++)); do
		mkdir "lib.$i"
		cp -L "$BUILT/simcuda/libcuda.so.1" "lib.$i/"
		mkfifo "idle.$i"
		exec {fd}<> "idle.$i"
		echo load >&"$fd"
		LD_LIBRARY_PATH="$PWD/lib.$i:$LD_LIBRARY_PATH" "$WORKLOADS/puppet" <&"$fd" > "idle.out.$i" 3>&- &
		OTHER_PID+=" $!"
		exec {fd}>&-
	done
	for ((i = 0; i < $1; i++)); do
		wait_for "grep -q ok idle.out.$i"
	done
}

# Traces those processes, is killed, and so are that many seconds later its helper with the links
# and the processes that are to end with them; who goes first: the helper, who starts these, or they
# do. Says how long (ms) something was left in the first.
kill_among() {
	local pid helper starter ending i=0 processes=() residue=("$WORKLOADS/residue")

	for pid in $OTHER_PID; do
		processes+=(-p "$pid")
	done
	tool_start trace TRACE_PID -c -o out "${processes[@]}" || return 1
	wait_for 'helper=$(pgrep -P "$TRACE_PID" memscope-detach)' || return 1
	wait_for 'starter=$(pgrep -P "$helper" memscope-end)' || return 1
	# It has all links: of each library one that goes last, and one or two more.
	wait_for '[ "$(cat "/proc/$helper/fdinfo"/* | grep -c ^link_id)" -ge "${#processes[@]}" ]' || return 1
	kill -9 "$TRACE_PID"
	if [ "$1" != never ]; then
		sleep "$1"
		ending=$(cat "/proc/$starter/task/$starter/children" 2> kill.err || true)
		case $2 in
		helper) kill -9 "$helper" "$starter" $ending ;;
		starter) kill -9 "$starter" $ending "$helper" ;;
		others) kill -9 $ending "$starter" "$helper" ;;
		esac 2> kill.err || true
	fi
	for pid in $OTHER_PID; do
		"${residue[@]}" "$pid" "$PWD/lib.$((i++))/libcuda.so.1" || return 1
	done > gone
	wait "$TRACE_PID" || true
	TRACE_PID=
	head -n 1 gone
}

@test "SIGKILL of the tool while it traces many processes, and of its helpers: nothing is left" {
	local count after order turn=0

	needs_links
	count=$(times 50 8)
	idle_start "$count"
	kill_among never > gone.after || fail "the tool killed alone"
	report "gone after a kill (of $count processes), ms: $(< gone.after)"
	for after in 0 0.001 0.003 0.005 0.008 0.012 0.02 0.05; do
		for order in helper starter others; do
			[ $((turn++ % $(stride 5))) -eq 0 ] || continue
			kill_among "$after" "$order" > gone.after ||
				fail "helpers killed $after s after the tool, $order first"
		done
	done
}

# ---- many

# A shell that starts programs as often as it is told; descriptors 8 and 9 lead to it and back.
shell_start() {
	mkfifo shell.in shell.out
	sh -c "while read -r count; do
		while [ \$count -gt 0 ]; do '$WORKLOADS/calls' 3; count=\$((count - 1)); done; echo ok
		done" < shell.in > shell.out 3>&- 8>&- 9<&- &
	OTHER_PID=$!
	exec 8> shell.in 9< shell.out
}

shell_run() {
	local answer

	echo "$1" >&8
	read -r answer <&9
	assert_equal "$answer" ok
}

@test "short-lived processes: nothing grows with their number, and none is missing in the sum" {
	needs_links
	local count before_files before_memory before_entries growth ends seen warm=100

	count=$(times 10000 200)
	# AddressSanitizer keeps what is freed for a while: with SAN=1 that would be growth.
	export ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0
	SIMCUDA_DELAY=cuInit=20ms shell_start
	tool_start trace TRACE_PID -f --json -e alloc -o events.jsonl -p "$OTHER_PID"
	shell_run $warm
	sleep 1
	before_files=$(open_files)
	before_memory=$(own_memory)
	before_entries=$(map_entries)
	shell_run "$count"
	wait_for '[ $(open_files) -le '"$before_files"' ]' || fail "$before_files files, now $(open_files)"
	wait_for '[ $(map_entries) -le '"$before_entries"' ]' || fail "entries of maps: $(map_entries)"
	assert_equal "$before_entries" 1 # the shell
	contexts_are_bounded
	growth=$(($(own_memory) - before_memory))
	report "memory: $before_memory KiB, after $count processes $growth KiB more"
	# Less than a tenth of what a process took before it became a part of a sum.
	[ $growth -lt $((128 + count / 4)) ] || fail "$before_memory KiB grew by $growth KiB"
	ends=${EPOCHREALTIME/./}
	trace_stop
	report "the trace ended within $(((${EPOCHREALTIME/./} - ends) / 1000)) ms"
	leaves_nothing
	# How many of their allocations are seen depends on how fast this machine is.
	seen=$(events 'select(.op == "alloc") | .op' | wc -l)
	report "allocations seen: $seen of $((3 * (warm + count)))"
	assert_equal "$(summary '[.processes[], .more_processes] | map(.spaces[0].allocs // 0) | add')" "$seen"
	[ "$seen" -gt "$count" ]
	assert_equal "$(summary '(.processes | length) + .more_processes.count')" $((1 + warm + count))
	assert_equal "$(summary '.events.lost + .events.lost_process_records')" 0
	assert_equal "$(summary '.processes | length < 70')" true
	exec 8>&- 9<&-
	wait "$OTHER_PID"
	OTHER_PID=
}

@test "attached and detached again and again: the target and the kernel are as before" {
	needs_links
	local i maps

	flood_start 4
	# Until a call has needed the page that the kernel maps for returns, which stays.
	wait_for 'trace -q -c -o /dev/null -d 0.05 -p "$FLOOD_PID" 7>&-
		grep -qF "[uprobes]" "/proc/$FLOOD_PID/maps"'
	maps=$(wc -l < "/proc/$FLOOD_PID/maps")
	for ((i = 0; i < $(times 1000 7); i++)); do
		trace -q -c -o /dev/null -d 0.01 -p "$FLOOD_PID" 7>&-
	done
	"$WORKLOADS/residue" "$FLOOD_PID" "$BUILT/simcuda/libcuda.so.1"
	assert_equal "$(wc -l < "/proc/$FLOOD_PID/maps")" "$maps"
	leaves_nothing
	flood_end
}

# ---- process ids that are used again

# To the child, whose pid is always the same: as soon as its probes are there, and record.
attachments() {
	grep -c "process $(pgrep -P "$OTHER_PID"): its calls are recorded\$" trace.err
}

# Sees to it that the tool notices the end of a process, the birth of the next one with the same pid
# and what that one maps all at once.
reuse_while_stopped() {
	local i answer attached

	mkfifo reuse.in reuse.out
	"$WORKLOADS/reuse" < reuse.in > reuse.out 3>&- 8>&- 9<&- &
	OTHER_PID=$!
	exec 8> reuse.in 9< reuse.out
	if [ "$1" = -f ]; then
		trace_start -f --attach=process -p "$OTHER_PID"
	else
		trace_start --attach=process "$@"
	fi
	kill -STOP "$TRACE_PID"
	for i in 1 2 3 4; do
		echo start >&8
		read -r -t 20 answer <&9
		assert_equal "$answer" ready
		attached=$(attachments || true)
		kill -CONT "$TRACE_PID"
		wait_for '[ $(attachments) -gt '"$attached"' ]'
		kill -STOP "$TRACE_PID"
		echo go >&8
		read -r -t 20 answer <&9
		assert_equal "$answer" "done"
	done
	kill -CONT "$TRACE_PID"
	exec 8>&- 9<&-
	wait "$OTHER_PID"
	sleep 0.5
}

four_lives() {
	assert_equal "$(events 'select(.comm == "reuse" and .op == "alloc") | .size_bytes' | xargs)" \
		"1024 2048 3072 4096"
	assert_equal "$(events "select(.type == \"exit\" and .pid != $OTHER_PID and .comm == \"reuse\") | [.exit_code,
		(.live | map(.bytes) | add)] | @csv" | xargs)" "1,1024 2, 3,3072 4,"
	assert_equal "$(summary "[.processes[] | select(.pid != $OTHER_PID and .comm == \"reuse\") | [.was_running, .comm,
		.spaces[0].allocs, .spaces[0].frees, .unknown_frees, .pre_attach_frees]]")" \
		'[[true,"reuse",1,0,0,0],[true,"reuse",1,1,0,0],[true,"reuse",1,0,0,0],[true,"reuse",1,1,0,0]]'
}

# What is between two exits of that pid is about one process, which says by its exit code which.
check_lives() {
	jq -s -r '
		(map(select(.comm == "reuse" and .type == "exit")) | group_by(.pid) | max_by(length) |
			.[0].pid) as $pid |
		reduce (.[] | select(.pid == $pid)) as $event ({ exits: 0, wrong: 0, seen: 0, sizes: [] };
			if $event.type == "exit" then
				.exits += 1 | .seen += (.sizes | length) |
				((.sizes[0] // 0) / 1024) as $number |
				.wrong += ([(.sizes | length > 1),
					($number > 0 and $event.exit_code != null and
						$event.exit_code != $number % 200),
					($event.live[] | .bytes != $number * 1024 or $number % 2 == 0)] |
					map(select(.)) | length) |
				.sizes = []
			elif $event.op == "alloc" then .sizes += [$event.size_bytes]
			else . end) | [.exits, .wrong, .seen] | @csv' events.jsonl > lives
	report "$1: processes with the same pid, errors, allocations seen: $(cat lives)"
	assert_equal "$(cut -d, -f 2 lives)" 0
	# Three of four wait until they are traced, if that does not take too long.
	[ "$(cut -d, -f 3 lives)" -gt $(($(times 1000 40) / 2)) ] || fail "only $(cut -d, -f 3 lives) seen"
}

@test "a child with the pid of one that ended, noticed together" {
	needs_links
	reuse_while_stopped -f
	trace_wait
	four_lives
}

@test "a process with the pid of one that ended, noticed together" {
	needs_links
	reuse_while_stopped -a
	trace_stop
	four_lives
}

@test "one pid for many processes: nothing is said of the wrong one" {
	needs_links
	local mode

	for mode in -a -f; do
		rm -f events.jsonl
		if [ $mode = -f ]; then
			SIMCUDA_DELAY=cuInit=30ms trace -f --json -o events.jsonl \
				-- "$WORKLOADS/reuse" "$(times 1000 40)"
		else
			trace_start -a
			SIMCUDA_DELAY=cuInit=30ms "$WORKLOADS/reuse" "$(times 1000 40)"
			trace_stop
		fi
		check_lives $mode
	done
}

# ---- floods

# A program that calls in 4 threads for so many seconds; it does not begin before it is continued.
# Not one call can be missed: where its driver will be is known.
stopped_flood() {
	sh -c "kill -STOP \$\$; exec '$WORKLOADS/flood' 4 $1" > flood.out 2> flood.calls 3>&- &
	FLOOD_PID=$!
	wait_for 'grep -q "^State:.T" "/proc/$FLOOD_PID/status"'
}

# Starts the tool, with these arguments, on it.
trace_flood() {
	tool_start trace TRACE_PID -e all "$@" -p "$FLOOD_PID"
}

# What the summary in a file says: seen, shown, filtered, lost.
account_of() {
	if grep -q '"type": *"summary"' <(tail -n 1 "$1"); then
		tail -n 1 "$1" | jq -r '.events | [.seen, .shown, .filtered, .lost] | @tsv'
	else
		tail -n 1000 "$1" |
			sed -n 's/^\([0-9]*\) events seen = \([0-9]*\) [a-z]* + \([0-9]*\) filtered + \([0-9]*\) lost.*/\1\t\2\t\3\t\4/p'
	fi
}

# The account in file $1 adds up and is of as many calls as the program made; with lines for events,
# there are as many as are said to be shown.
check_account() {
	local seen shown filtered lost

	read -r seen shown filtered lost < <(account_of "$1")
	assert_equal "$seen" "$(cat flood.calls)"
	assert_equal "$((shown + filtered + lost))" "$seen"
	[ "$shown" -gt 0 ]
	report "$2: seen $seen, shown $shown, filtered $filtered, lost $lost"
	case $2 in
	text*) assert_equal "$(grep -cE "^[0-9:.]+ +$3(/[0-9]+)? +[^ ]+ +cu" "$1")" "$shown" ;;
	json*) assert_equal "$(grep -c '"type": *"call"' "$1")" "$shown" ;;
	esac
}

# $1: the mode's name, $2: for how many seconds the tool is stopped in the middle, then its options.
flood_in_mode() {
	local name=$1 stopped=$2 seconds pid

	shift 2
	seconds=$(times 30 2)
	stopped_flood "$seconds"
	pid=$FLOOD_PID
	trace_flood -o out "$@"
	kill -CONT "$FLOOD_PID"
	if [ "$stopped" -gt 0 ]; then
		sleep $((seconds / 3 + 1))
		kill -STOP "$TRACE_PID"
		sleep "$stopped"
		kill -CONT "$TRACE_PID"
	fi
	flood_wait
	trace_wait
	check_account out "$name, stopped for $stopped s" "$pid"
	rm out
}

@test "a flood in each mode, with the tool stopped in the middle: every call is accounted for" {
	local stopped

	for stopped in ${STRESS:+0} "$(times 10 1)"; do
		flood_in_mode text "$stopped"
		flood_in_mode json "$stopped" --json
		flood_in_mode summary "$stopped" -c --json
	done
}

@test "a flood of a program that is stopped and continued" {
	stopped_flood "$(times 10 3)" # longer than the loop, also on a busy machine
	trace_flood -o out -c --json
	for _ in $(seq "$(times 50 5)"); do
		kill -CONT "$FLOOD_PID"
		sleep 0.1
		kill -STOP "$FLOOD_PID"
		sleep 0.05
	done
	kill -CONT "$FLOOD_PID"
	flood_wait
	trace_wait
	check_account out summary
}

@test "a flood that two instances see: each has the whole account" {
	stopped_flood "$(times 10 1)"
	in_background_tracing OTHER_PID other.err "$MEMSCOPE" trace $MASK -v -c --json -e all -o other -p "$FLOOD_PID"
	trace_flood -o out -c
	kill -CONT "$FLOOD_PID"
	flood_wait
	trace_wait
	wait "$OTHER_PID"
	OTHER_PID=
	check_account out summary
	check_account other summary
}

# ---- libraries that are mapped later

@test "a library from an unforeseeable place: once a call was seen, none is missed" {
	needs_links
	local -a others=(0)

	[ -z "${STRESS:-}" ] || others=(0 10 50)
	"$ROOT/tools/bench/mapping" "$(times 200 20)" "${others[@]}" > table
	while read -r line; do report "$line"; done < table
	assert_equal "$(sed 1,2d table | wc -l)" ${#others[@]}
	assert_equal "$(sed 1,2d table | awk -F'|' '{ print $8 + 0 }' | sort -u)" 0
	# That any is seen, in the 150 ms that each run takes.
	[ "$(sed 1,2d table | awk -F'|' '$9 < $3 / 2' | wc -l)" -eq ${#others[@]} ]
}
