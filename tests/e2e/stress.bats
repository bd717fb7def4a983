# SPDX-License-Identifier: BSD-2-Clause
#
# What a busy machine does to a tracer: kills, many processes, process ids used again, floods, stops.
# `make stress` runs it with the counts of the long form, `make check` with those of the short one.

load helpers

# How often: in the long form, in the short one.
times() {
	if [ -n "${STRESS:-}" ]; then echo "$1"; else echo "$2"; fi
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

# A program that calls in 4 threads until its standard input, descriptor 7, ends.
flood_start() {
	rm -f flood.in
	mkfifo flood.in
	"$WORKLOADS/flood" 4 < flood.in > flood.out 2> flood.calls 3>&- 7>&- &
	FLOOD_PID=$!
	exec 7> flood.in
	wait_for 'grep -q libcuda "/proc/$FLOOD_PID/maps"'
}

# Ends it: it must have done what it does when nobody watches.
flood_end() {
	local code=0

	exec 7>&-
	wait "$FLOOD_PID" || code=$?
	FLOOD_PID=
	assert_equal "$code" 42
	assert_equal "$(cat flood.out)" intact
}

teardown() {
	[ -z "${FLOOD_PID:-}" ] || kill -9 "$FLOOD_PID" 2> /dev/null || true
	[ -z "${TRACE_PID:-}" ] || kill -9 "$TRACE_PID" 2> /dev/null || true
}

@test "SIGKILL of the tool at random moments: the target goes on, nothing is left" {
	local modes=("-c" "--json" "-f -c" "-c --without=uprobe_session") i

	case $MASK in
	*uprobe_multi*) skip "single uprobes take seconds to go" ;;
	esac
	for ((i = 0; i < $(times 100 5); i++)); do
		flood_start
		# shellcheck disable=SC2086 # several words
		"$MEMSCOPE" trace $MASK -q ${modes[i % 4]} -o out -p "$FLOOD_PID" 3>&- 7>&- &
		TRACE_PID=$!
		sleep "0.$(printf %03d $((RANDOM % 900)))"
		kill -9 "$TRACE_PID"
		"$WORKLOADS/residue" "$TRACE_PID" "$FLOOD_PID" "$BUILT/simcuda/libcuda.so.1" >> gone
		wait "$TRACE_PID" || true
		TRACE_PID=
		flood_end
	done
	report "gone after the kill, ms: $(distribution < gone)"
}
