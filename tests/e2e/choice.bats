# SPDX-License-Identifier: BSD-2-Clause
#
# Processes that are traced because of who they are: of a container, a user, a name.

load helpers

bats_require_minimum_version 1.5.0

# A program that allocates, copies and frees N times, half a second after it has initialised.
SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms
export SIMCUDA_DELAY
ID=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abc

# Copies under names that nobody has who runs beside.
eval "helpers_$(declare -f setup)"
setup() {
	helpers_setup
	cp "$WORKLOADS/calls" chosen
	cp "$WORKLOADS/calls" others
	cp "$WORKLOADS/puppet" pupil
}

eval "helpers_$(declare -f teardown)"
teardown() {
	local group

	helpers_teardown
	for group in ${GROUPS_MADE:-}; do
		xargs -r -n 1 kill -9 < "$group/cgroup.procs" 2> /dev/null || true
		wait_for "rmdir $group 2> /dev/null" || true
	done
}

# Cgroups as docker has them, of two containers, each with a process: $FIRST and $SECOND.
containers_start() {
	local hierarchy=/sys/fs/cgroup/pids parent

	[ -d $hierarchy ] || hierarchy=/sys/fs/cgroup
	parent=$hierarchy/memscope-choice-$$
	FIRST=$parent/docker-${ID}101.scope SECOND=$parent/docker-${ID}102.scope
	mkdir -p "$FIRST" "$SECOND" || skip "cgroups cannot be made here"
	GROUPS_MADE="$FIRST $SECOND $parent"
	in_group "$FIRST" sleep 1000 3>&- 8>&- 9<&- &
	in_group "$SECOND" sleep 1000 3>&- 8>&- 9<&- &
	wait_for "grep -q . $FIRST/cgroup.procs && grep -q . $SECOND/cgroup.procs"
}

# Runs a command in a cgroup.
in_group() {
	sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$@"
}

# Which of the processes called, and how often each of them allocated.
called() {
	"$MEMSCOPE" report --json "${@:-a.mscope}" |
		jq -c '[.recordings[0].processes[] | select(.spaces != []) | [.comm, .spaces[0].allocs]] | sort'
}

# One of each.
run_all() {
	in_group "$FIRST" ./chosen 5
	in_group "$SECOND" ./chosen 6
	in_group "$SECOND" ./others 8
	./others 7
}

@test "record --container: those that run in it and those that start there later, and no others" {
	containers_start
	SIMCUDA_DELAY=cuInit=$(time_to_attach 2500)ms in_group "$FIRST" ./others 4 3>&- &
	OTHER_PID=$!
	record_start -o a.mscope --container "${ID}101"
	run_all
	wait "$OTHER_PID"
	OTHER_PID=
	record_stop
	assert_equal "$(called)" '[["chosen",5],["others",4]]'
	# What others called is not counted either.
	assert_equal "$(sed -n 's/.*a.mscope: \([0-9,]*\) events in .*/\1/p' record.err | tr -d ,)" \
		"$("$MEMSCOPE" verify -j a.mscope | jq '.dumps[0].events')"
	assert_equal "$("$MEMSCOPE" report --json a.mscope | jq -r '.recordings[0].targets')" \
		"container ${ID}101"
}

@test "record --container by its engine's name, and with a name of a program: both count" {
	containers_start
	printf '%s101 - - web\n%s102 - - web\n' "$ID" "$ID" > names
	record_start -o a.mscope --container-map names --container web --comm 'ch*n'
	run_all
	record_stop
	assert_equal "$(called)" '[["chosen",5],["chosen",6]]'
}

@test "trace --container: one that there is not, and the beginning of two ids" {
	containers_start
	run -5 "$MEMSCOPE" trace --container nosuch -d 0.1
	# Eight are named: if there are more, this may be none of these.
	[[ $output == *"there is no container \"nosuch\" here; of those that run now, there are "* ]]
	[[ $output == *"${ID:0:12}"* || $(tr -cd , <<< "$output" | wc -c) -ge 7 ]]
	run -2 "$MEMSCOPE" trace --container "${ID:0:12}" -d 0.1
	[[ $output == *"several ids begin with \"${ID:0:12}\": "*"write more of it" ]] || fail "$output"
	"$MEMSCOPE" trace --container "${ID}10" -d 0.1 > out.txt 2> err.txt && fail "it is of two"
	"$MEMSCOPE" trace --container "${ID}102" -d 0.1 > out.txt
	grep -q "events seen" out.txt
}

@test "trace --user: whoever runs it" {
	chmod 777 .
	unset SIMCUDA_LOG
	trace_start --user 23456
	./chosen 3
	setpriv --reuid=23456 --regid=23456 --clear-groups ./chosen 9
	sleep 0.3
	trace_stop
	assert_equal "$(summary '[.processes[] | select(.spaces != []) | [.comm, .spaces[0].allocs]]')" '[["chosen",9]]'
}

@test "trace --comm: what others called is left out, and the account adds up" {
	trace_start --comm pupil
	# Its driver has probes from then on, also in who is not asked for.
	printf 'load\ninit\n' | ./pupil > /dev/null
	# They end before the tracer can tell whose calls these are.
	kill -STOP "$TRACE_PID"
	"$WORKLOADS/calls" > /dev/null
	kill -CONT "$TRACE_PID"
	sleep 0.3
	trace_stop
	assert_equal "$(summary '.events | .seen == .shown + .filtered + .lost')" true
}

@test "record --comm: until it executes another program, and from when it is that; with -f, beyond" {
	local follow wanted

	for follow in "" -f; do
		rm -f a.mscope puppet.in puppet.out
		mkfifo puppet.in puppet.out
		./pupil < puppet.in > puppet.out 3>&- 8>&- 9<&- &
		PUPPET_PID=$!
		exec 8> puppet.in 9< puppet.out
		record_start -o a.mscope --comm pupil $follow
		puppet load
		puppet init
		puppet alloc 4096
		echo "exec $PWD/others" >&8
		wait "$PUPPET_PID" || true
		./chosen 2
		record_stop
		wanted='[[1]]'
		[ -z "$follow" ] || wanted='[[6]]'
		assert_equal "$follow $(called | jq -c 'map(.[1:])')" "$follow $wanted"
	done
}
