# SPDX-License-Identifier: BSD-2-Clause
#
# A process whose every call has something new in it (a result, a context, a stream, a function, a
# kernel's name) costs the recorder about what plain allocations cost (measured: at most twice as much;
# three times may be noise), and no other process a call.

load recordings

COUNT=$(times 1000000 100000)

# Has two processes recorded: one that makes calls of the kind $1, and beside it one whose 8,000
# allocations and frees are all to be seen. Sets CPU to the recorder's processor time, in ticks, and
# MEMORY to the most memory it had, in kB.
record_beside() {
	local kind=$1 attacker victim high stat

	rm -f go.* a.mscope
	mkfifo go.attacker go.victim
	"$WORKLOADS/novel/novel" "$kind" "$COUNT" < go.attacker > attacker.out 3>&- &
	attacker=$!
	"$WORKLOADS/novel/novel" plain 8000 50 < go.victim > victim.out 3>&- &
	victim=$!
	exec 7> go.attacker 8> go.victim
	record_start -o a.mscope -p "$attacker" -p "$victim"
	echo >&7
	echo >&8
	exec 7>&- 8>&-
	wait "$attacker"
	wait "$victim"
	# The recorder ends by itself: with the last of its targets.
	CPU= MEMORY=
	while read -r -a stat 2> /dev/null < "/proc/$RECORD_PID/stat" && [ "${stat[2]}" != Z ]; do
		CPU=$((stat[13] + stat[14]))
		high=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$RECORD_PID/status" 2> /dev/null) || true
		MEMORY=${high:-$MEMORY}
		sleep 0.05
	done
	record_wait
	"$MEMSCOPE" report -q -f json a.mscope > report.json
	VICTIM=$victim
}

@test "calls that are all new cost about what plain ones cost, and no other process a call" {
	local kind ticks kilobytes

	for kind in plain results contexts streams handles names; do
		record_beside "$kind"
		echo "$kind: $CPU ticks, $MEMORY kB"
		if [ "$kind" = plain ]; then
			ticks=$((3 * CPU + $(getconf CLK_TCK)))
			kilobytes=$((MEMORY + 65536))
		fi
		[ "$CPU" -le "$ticks" ] || fail "$kind: $CPU ticks, not $ticks"
		[ "$MEMORY" -le "$kilobytes" ] || fail "$kind: $MEMORY kB, not $kilobytes"
		assert_equal "$(jq -c --argjson pid "$VICTIM" '.recordings[0].processes[]
			| select(.pid == $pid).spaces[0] | [.allocs, .frees]' report.json)" '[8000,8000]'
	done
}
