# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent --allow, --deny`: which processes are traced.

load agent

# Another user for each test: his processes are of this test alone.
USER_OF_TEST=$((31000 + ($$ * 7 + ${BATS_TEST_NUMBER:-0} * 131) % 12000))

# A second puppet, of that user: other COMMAND...
other_start() {
	chmod 755 "$BATS_TEST_TMPDIR"
	cp "$WORKLOADS/puppet" "$1"
	mkfifo other.in other.out
	env -u SIMCUDA_LOG setpriv --reuid="$USER_OF_TEST" --regid="$USER_OF_TEST" --clear-groups "./$1" \
		< other.in > other.out 3>&- 4>&- 5>&- 8>&- 9<&- &
	FLOOD_PID=$!
	exec 4> other.in 5< other.out
	other load
	other init
}

other() {
	local answer

	echo "$*" >&4
	read -r answer <&5
	[ "$answer" = ok ] || fail "$*: $answer"
}

# What has begun since has its pipe, too: closing it would not end it.
other_end() {
	echo exit 0 >&4
	exec 4>&- 5<&-
	wait "$FLOOD_PID"
	FLOOD_PID=
}

# Those that are traced, of this test's: it has programs of its own, and others may run it beside it.
traced() {
	ask /api/v1/who | jq -c --arg here "$(pwd -P)/" '[.processes[] | select(.comm | startswith("agent-p")) |
		select(.identity.exe // "" | startswith($here)).comm] | sort'
}

denied() {
	ask /metrics > metrics.txt
	series memscope_agent_denied_processes ''
}

@test "processes of a user that is denied are not traced, whether they ran before or begin later" {
	other_start agent-p-before
	other alloc 1000
	agent_start --deny "user=$USER_OF_TEST"
	named_puppet agent-p-yes
	puppet alloc 4096
	fresh
	assert_equal "$(traced)" '["agent-p-yes"]'
	assert_equal "$(denied)" 1
	other alloc 2000
	other churn 50
	fresh
	assert_equal "$(traced)" '["agent-p-yes"]'
	other_end
	wait_for '[ "$(denied)" = 0 ]'
	rm other.in other.out
	# The kernel side lets it in by its first call; nothing of that is handed over.
	other_start agent-p-later
	other alloc 3000
	other churn 50
	other copies 1000
	wait_for '[ "$(denied)" = 1 ]'
	fresh
	assert_equal "$(traced)" '["agent-p-yes"]'
	assert_equal "$(ask "/api/v1/processes/$FLOOD_PID" -o /dev/null -w '%{http_code}')" 404
	promtool check metrics < metrics.txt
	# The kernel side refuses its calls, and counts them.
	wait_for 'grep -q "processes that are not traced call probed functions.*; if there are many, only traced processes keep" agent.err'
	# What other commands have for that, the agent has not.
	run ! grep -q -- --attach agent.err
	grep 'agent-p-\(before\|later\)' metrics.txt && fail "in the metrics"
	# Those that are traced are as exact as without rules.
	assert_equal "$(ask /api/v1/who | jq '.processes[] | select(.comm == "agent-p-yes").exact')" true
	other_end
	agent_stop
	puppet_end
	"$MEMSCOPE" export -f ndjson state/ring/*.mscope > events.jsonl
	grep -q agent-p-yes events.jsonl
	grep 'agent-p-\(before\|later\)' events.jsonl && fail "in the recording"
	"$MEMSCOPE" verify state/ring/*.mscope
}

@test "with --allow, only those are traced that a rule is about; --deny goes before" {
	agent_start --allow "comm=agent-p-a*,user=$USER_OF_TEST" --deny "comm=agent-p-ab"
	grep -q 'tracing processes that use CUDA and match --allow, but not --deny; listening on' agent.err
	other_start agent-p-x
	other alloc 1000
	named_puppet agent-p-aa
	puppet alloc 1000
	wait_for '[ "$(traced)" = "[\"agent-p-aa\",\"agent-p-x\"]" ]'
	puppet_end
	rm puppet.in puppet.out
	named_puppet agent-p-ab
	puppet alloc 1000
	other_end
	rm other.in other.out
	wait_for '[ "$(traced)" = "[]" ]'
	puppet_end
	agent_stop
}

# By another name: the kernel calls it by the last part of the path.
puppet_executes() {
	echo exec >&8
	wait_for '[ "$(cat "/proc/$PUPPET_PID/comm")" = exe ]'
	puppet load
	puppet init
}

@test "a program that is executed is asked for anew" {
	agent_start --deny "comm=agent-p-no,namespace=agent-p-secret"
	named_puppet agent-p-no
	puppet alloc 1000
	wait_for '[ "$(denied)" = 1 ]'
	puppet_executes
	# A busy agent comes to it later, and what is called until then is missed.
	wait_for '[ "$(denied)" = 0 ]'
	puppet alloc 5000
	wait_for 'ask /api/v1/who > who.json
		jq -e --argjson pid "$PUPPET_PID" "any(.processes[]; .pid == \$pid and .device_bytes >= 5000)" who.json > found'
	assert_equal "$(jq -c ".processes[] | select(.pid == $PUPPET_PID) | [.comm, .device_bytes]" who.json)" '["exe",5000]'
	puppet_end
	rm puppet.in puppet.out
	# The variable is what its process says.
	POD_NAMESPACE=agent-p-secret named_puppet agent-p-yes
	puppet alloc 1000
	wait_for '[ "$(denied)" = 1 ]'
	assert_equal "$(traced)" '[]'
	puppet_end
	agent_stop
}

@test "what a program calls before the agent has heard that it is not denied any more is not called exact" {
	agent_start --deny comm=agent-p-no
	named_puppet agent-p-no
	puppet alloc 1000
	wait_for '[ "$(denied)" = 1 ]'
	kill -STOP "$OTHER_PID"
	puppet_executes
	puppet alloc 5000
	kill -CONT "$OTHER_PID"
	# Without a further call of it.
	wait_for 'ask /api/v1/who > who.json
		jq -ce --argjson pid "$PUPPET_PID" ".processes[] | select(.pid == \$pid) | [.comm, .exact, .was_running]" who.json > found'
	assert_equal "$(cat found)" '["exe",false,true]'
	puppet alloc 7000
	wait_for '[ "$(ask /api/v1/who | jq ".processes[] | select(.pid == $PUPPET_PID).device_bytes")" = 7000 ]'
	puppet_end
	agent_stop
}

@test "a traced process that executes a denied program is traced no more, and ends when it does" {
	agent_start --deny "comm=exe"
	named_puppet agent-p-first
	puppet alloc 1000
	fresh
	assert_equal "$(traced)" '["agent-p-first"]'
	puppet_executes
	puppet alloc 5000
	puppet churn 20
	fresh
	ask /metrics > metrics.txt
	assert_equal "$(series memscope_allocations_total 'comm="exe"')" 1
	ask /api/v1/who > who.json
	assert_equal "$(jq -c ".processes[] | select(.pid == $PUPPET_PID) | .device_bytes" who.json)" 0
	[ "$(denied)" -ge 1 ]
	puppet_end
	wait_for '! ask /api/v1/who | jq -e ".processes[] | select(.pid == $PUPPET_PID)" > /dev/null'
	agent_stop
}

@test "a traced process that executes a denied program, and then one that never uses CUDA, ends when it does" {
	agent_start --deny "comm=agent-p-denied"
	cp "$WORKLOADS/puppet" agent-p-denied
	named_puppet agent-p-ghost
	puppet alloc 1000
	fresh
	assert_equal "$(traced)" '["agent-p-ghost"]'
	echo "exec $PWD/agent-p-denied" >&8
	wait_for '[ "$(denied)" = 1 ]'
	# It has no more to say, but for its end.
	echo "exec $(command -v cat)" >&8
	wait_for '[ "$(cat /proc/$PUPPET_PID/comm)" = cat ]'
	wait_for 'fresh; [ "$(denied)" = 0 ]'
	ask /api/v1/who | jq -e ".processes[] | select(.pid == $PUPPET_PID) | .device_bytes == 0"
	kill "$PUPPET_PID"
	wait "$PUPPET_PID" || true
	wait_for '! ask /api/v1/who | jq -e ".processes[] | select(.pid == $PUPPET_PID)" > /dev/null'
	agent_stop
}

@test "SIGHUP: what came of a refusal of who is denied then is not known, and no death" {
	: > agent.conf
	export SIMCUDA_MEMORY=1M
	agent_start --config agent.conf
	named_puppet agent-p-one
	puppet alloc 1000
	# One bundle tells of it, if need be before it is denied.
	echo 'alloc 16777216' >&8
	read -r answer <&9
	[ "$answer" != ok ]
	echo 'deny = comm=agent-p-one' > agent.conf
	kill -HUP "$OTHER_PID"
	wait_for '[ "$(denied)" = 1 ] && ls state/*.oom-1.mscope'
	agent_stop
	"$MEMSCOPE" report --threshold oom-retry=1h state/ring > report.md
	grep 'has an end that was not seen: .*what came of it is not known: the process ended, or was traced no more' report.md
	run ! grep -q 'fatal' report.md
	run ! ls state/*.oom-2.mscope
	run ! grep 'written because of oom (gave-up)' agent.err
	puppet_end
}

@test "SIGHUP: who is denied by now is traced no more, and who is not any more is" {
	echo 'deny = comm=agent-p-one' > agent.conf
	agent_start --config agent.conf
	named_puppet agent-p-one
	puppet alloc 1000
	other_start agent-p-two
	other alloc 3000
	wait_for '[ "$(denied)" = 1 ] && [ "$(traced)" = "[\"agent-p-two\"]" ]'
	echo 'deny = comm=agent-p-two' > agent.conf
	kill -HUP "$OTHER_PID"
	wait_for 'fresh; [ "$(denied)" = 1 ] && [ "$(traced)" = "[\"agent-p-one\"]" ]'
	puppet alloc 500
	other alloc 700
	fresh
	ask /api/v1/who > who.json
	assert_equal "$(jq -c ".processes[] | select(.pid == $PUPPET_PID) | [.device_bytes, .exact]" who.json)" '[500,false]'
	ask /metrics > metrics.txt
	assert_equal "$(series memscope_allocations_total 'comm="agent-p-two"')" 1
	# No rules: all are traced, but for who has been shown as ended.
	: > agent.conf
	run ! grep -q "stay untraced" agent.err
	kill -HUP "$OTHER_PID"
	wait_for '[ "$(grep -c "configuration has been read again" agent.err)" = 2 ]'
	grep -qE "warning: processes that were denied while they were traced, and are not denied any more: 1 \($FLOOD_PID\); they stay untraced until the agent, or the process itself, is started again" agent.err
	other alloc 900
	puppet alloc 50
	wait_for 'fresh; [ "$(ask /api/v1/who | jq -c ".processes[] | select(.pid == $PUPPET_PID).device_bytes")" = 550 ]'
	assert_equal "$(denied) $(traced)" '1 ["agent-p-one"]'
	other_end
	wait_for '[ "$(denied)" = 0 ]'
	rm other.in other.out
	other_start agent-p-two
	other alloc 40
	wait_for 'fresh; [ "$(traced)" = "[\"agent-p-one\",\"agent-p-two\"]" ]'
	puppet_end
	other_end
	wait_for '[ "$(traced)" = "[]" ]'
	agent_stop
	run grep -c "takes effect at the next start" agent.err
	assert_equal "$output" 0
}

# $1: the variable for its process, $2: its name, then files that it maps as code before it waits.
mapper_start() {
	local -n process=$1

	cat > mapper.py <<- 'PYTHON'
		import mmap, sys, time
		held = []
		with open("/proc/self/comm", "w", encoding="utf-8") as comm:
		    comm.write(sys.argv[1])
		for path in sys.argv[2:]:
		    with open(path, "rb") as file:
		        held.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
		with open(sys.argv[1] + ".mapped", "w", encoding="utf-8"):
		    time.sleep(0 if sys.argv[1].endswith("gone") else 1000)
	PYTHON
	/usr/bin/python3 mapper.py "${@:2}" 3>&- 4>&- 5>&- 8>&- 9<&- &
	process=$!
	wait_for "[ -e '$2.mapped' ]"
	rm "$2.mapped"
}

mapper_end() {
	local -n process=$1

	kill "$process"
	wait "$process" || true
	process=
}

@test "what a denied process has mapped is not opened; a driver is known by its file, or its name" {
	local driver name i

	driver=$(readlink -f "$LD_LIBRARY_PATH/libcuda.so.1")
	# Who reads one of these says that it is damaged.
	for name in before.so later.so gone.so traced.so libcuda.so.1.cut; do
		head -c 4096 "$driver" > "$name"
	done
	cp "$driver" known.so
	mapper_start TRACE_PID agent-p-no "$PWD/before.so"
	agent_start --deny "comm=agent-p-no*"
	mapper_end TRACE_PID
	mapper_start TRACE_PID agent-p-no "$PWD/later.so"
	# Many, of which the agent comes to some when they have ended.
	for i in 1 2 3 4 5 6 7 8 9 10; do
		mapper_start FLOOD_PID agent-p-no-gone "$PWD/gone.so"
		wait "$FLOOD_PID"
	done
	# What it has come to since, it has read.
	mapper_start RECORD_PID agent-p-yes "$PWD/traced.so" "$PWD/known.so"
	wait_for 'grep -q "traced.so: this ELF file is damaged" agent.err'
	assert_equal "$(grep -c '\(before\|later\|gone\).so' agent.err)" 0
	assert_equal "$(denied)" 0
	mapper_end TRACE_PID
	# By another name than any driver's, but it has been read for the one that is traced.
	ln known.so hidden.so
	mapper_start TRACE_PID agent-p-no-hid "$PWD/hidden.so"
	wait_for '[ "$(denied)" = 1 ]'
	mapper_end TRACE_PID
	wait_for '[ "$(denied)" = 0 ]'
	# By its name alone, whatever is in it.
	mapper_start TRACE_PID agent-p-no-name "$PWD/libcuda.so.1.cut"
	wait_for '[ "$(denied)" = 1 ]'
	! grep 'libcuda.so.1.cut: this ELF' agent.err || fail "it has been read"
	mapper_end TRACE_PID
	mapper_end RECORD_PID
	agent_stop
}

missed() {
	ask /metrics | sed -n 's/^memscope_missed_processes_total[^ ]* //p'
}

@test "who has ended before it could be asked for is missed, unless its name says that it is denied" {
	local name

	agent_start --allow "comm=agent-p-yes"
	# Each has a driver of its own, without probes, and is gone when the agent looks.
	for name in agent-p-no agent-p-yes; do
		cp -rL "$LD_LIBRARY_PATH" "copies-$name"
		cp "$WORKLOADS/calls" "$name"
		kill -STOP "$OTHER_PID"
		LD_LIBRARY_PATH=$PWD/copies-$name "./$name" 3
		kill -CONT "$OTHER_PID"
	done
	wait_for '[ "$(missed)" != 0 ]'
	fresh
	assert_equal "$(missed)" 1
	agent_stop
}

@test "rules are shown, and those that are none are refused" {
	local line message

	"$MEMSCOPE" agent --show-config --deny "user=alice, comm=X*" > shown.txt
	grep -qx 'allow = all' shown.txt
	grep -A1 -x '# --deny' shown.txt | grep -qx 'deny = user=alice, comm=X\*'
	"$MEMSCOPE" agent --config shown.txt --check-config
	while IFS='|' read -r line message; do
		run "$MEMSCOPE" agent --check-config --deny "$line"
		assert_equal "$line: $status" "$line: 2"
		[[ "$output" == *"$message"* ]] || fail "$line: $output"
	done <<'CASES'
alice|a rule is KEY=PATTERN
users=alice|a key is comm, user, cgroup, container or namespace
user=|a pattern is empty
all|a rule is KEY=PATTERN
CASES
}
