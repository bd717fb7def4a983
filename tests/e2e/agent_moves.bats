# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent`: processes that are moved from one cgroup to another.

load agent
load cgroups

# The puppet, in a cgroup from before it has CUDA: $1 (none: where it is). Sets MOVED.
puppet_in() {
	puppet_start
	MOVED=$PUPPET_PID
	[ -z "${1:-}" ] || move "$MOVED" "$1"
	puppet load
	settled
	puppet init
}

denied() {
	ask /metrics > metrics.txt
	series memscope_agent_denied_processes ''
}

# How many have been moved: to $1.
moved() {
	ask /metrics > metrics.txt
	series memscope_agent_moved_processes_total "to=\"$1\""
}

of_moved() {
	ask /api/v1/who | jq -c ".processes[] | select(.pid == $MOVED) | $1"
}

@test "a denied process that is moved to where it is not is traced from then on, and not exact" {
	container_make || skip "cgroups cannot be made here"
	agent_start --deny "container=${ID:0:12}"
	puppet_in "$GROUP"
	puppet alloc 1000
	wait_for '[ "$(denied)" = 1 ]'
	move "$MOVED" "$OUTSIDE"
	wait_for 'grep -q "process $MOVED has been moved to where it is not denied: it is traced from now on" agent.err'
	grep "process $MOVED: its calls are recorded" agent.err
	puppet alloc 5000
	puppet free
	puppet alloc 7000
	fresh
	assert_equal "$(of_moved '[.device_bytes, .exact, .was_running, .spaces[0].allocs]')" '[7000,false,true,2]'
	assert_equal "$(moved traced) $(denied)" '1 0'
	promtool check metrics < metrics.txt
	ask /ready > ready.txt
	grep "may hold more than was seen" ready.txt
	puppet_end
	agent_stop
	"$MEMSCOPE" verify state/ring/*.mscope
}

@test "a traced process that is moved to where it is denied is traced no more, for good, and that is said" {
	container_make || skip "cgroups cannot be made here"
	agent_start --deny "container=${ID:0:12}"
	puppet_in
	puppet alloc 1000
	fresh
	assert_equal "$(of_moved .device_bytes)" 1000
	move "$MOVED" "$GROUP"
	wait_for 'grep -q "process $MOVED (puppet) has been moved to where it is denied: it is traced no more, and shown as ended" agent.err'
	puppet alloc 500
	puppet churn 20
	wait_for '[ "$(denied)" = 1 ]'
	assert_equal "$(moved denied)" 1
	wait_for '[ "$(of_moved .pid)" = "" ]'
	assert_equal "$(ask "/api/v1/processes/$MOVED" -o /dev/null -w '%{http_code}')" 404
	# It has been shown as ended, and is nobody else now.
	move "$MOVED" "$OUTSIDE"
	puppet alloc 500
	fresh
	assert_equal "$(of_moved .pid)$(denied)" 1
	puppet_end
	wait_for '[ "$(denied)" = 0 ]'
	agent_stop
	"$MEMSCOPE" report -q -f json -p "$MOVED" -o report.json state/ring
	assert_equal "$(jq -c ".recordings[0].processes[] | [.spaces[0].allocs, .exited]" report.json)" \
		'[1,true]'
	"$MEMSCOPE" verify state/ring/*.mscope
}

@test "--allow: moves count, however many there are at once, and after SIGHUP" {
	local i

	container_make || skip "cgroups cannot be made here"
	: > agent.conf
	agent_start --config agent.conf
	echo "allow = container=$ID" > agent.conf
	kill -HUP "$OTHER_PID"
	wait_for 'grep -q "configuration has been read again" agent.err'
	puppet_in
	puppet alloc 1000
	wait_for '[ "$(denied)" -ge 1 ]'
	kill -STOP "$OTHER_PID"
	sleepers_start 80
	for i in $SLEEPERS "$MOVED"; do
		move "$i" "$GROUP"
	done
	kill -CONT "$OTHER_PID"
	wait_for 'grep -q "process $MOVED: its calls are recorded" agent.err'
	puppet alloc 5000
	fresh
	assert_equal "$(of_moved '[.device_bytes, .exact]')" '[5000,false]'
	puppet_end
	agent_stop
}

# By a name that no driver has: nobody has read it until then.
@test "--allow: a process of which nothing was known is looked at when it is moved there" {
	container_make || skip "cgroups cannot be made here"
	cp "$(readlink -f "$LD_LIBRARY_PATH/libcuda.so.1")" own.so
	agent_start --allow "container=$ID"
	puppet_start
	MOVED=$PUPPET_PID
	puppet "load $PWD/own.so"
	puppet init
	puppet alloc 1000
	move "$MOVED" "$GROUP"
	wait_for 'grep -q "process $MOVED: its calls are recorded" agent.err'
	puppet alloc 5000
	fresh
	assert_equal "$(of_moved '[.device_bytes, .exact]')" '[5000,false]'
	puppet_end
	agent_stop
}

# What its processes held, at most, and allocated.
by_container() {
	"$MEMSCOPE" history --state-dir "$PWD/state" --json --by container 2> /dev/null |
		jq -c ".rows[] | select(.container == \"$1\") | [.peak_bytes, .alloc_bytes]"
}

@test "a process that is moved to another container is of that from then on, and was of the other before" {
	local first

	container_make || skip "cgroups cannot be made here"
	first=$ID GROUP_OF_FIRST=$GROUP
	container_make
	agent_start
	puppet_in "$GROUP_OF_FIRST"
	puppet alloc 1000
	fresh
	assert_equal "$(of_moved .identity.container)" "\"$first\""
	# The end of an interval.
	wait_for '[ -n "$(by_container "$first")" ]'
	move "$MOVED" "$GROUP"
	wait_for '[ "$(of_moved .identity.container)" = "\"$ID\"" ]'
	puppet alloc 5000
	fresh
	assert_equal "$(of_moved '[.device_bytes, .exact]')" '[6000,true]'
	ask /metrics > metrics.txt
	assert_equal "$(series memscope_process_gpu_memory_live_bytes "container=\"$ID\"")" 6000
	assert_equal "$(series memscope_process_gpu_memory_live_bytes "container=\"$first\"")" 0
	puppet_end
	agent_stop
	assert_equal "$(by_container "$first")" '[1000,1000]'
	assert_equal "$(by_container "$ID" | jq .[0])" 6000
	"$MEMSCOPE" report -q -f json -p "$MOVED" --by container -o report.json state/ring
	valid report report.json
	assert_equal "$(jq -c ".recordings[0].groups.list[] | select(.name == \"docker $first\") | [.processes, .running, .live_bytes, .peak_bytes]" report.json)" \
		'[1,0,0,1000]'
	assert_equal "$(jq -c ".recordings[0].groups.list[] | select(.name == \"docker $ID\") | [.processes, .peak_bytes, .left_bytes]" report.json)" \
		'[1,6000,6000]'
}
