# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf history`: who used how much when, as the agent has written it.

load agent

# history [OPTIONS]: what the agent's database says, as JSON.
history() {
	"$MEMSCOPE" history --state-dir "$PWD/state" --json "$@"
}

# of EXPRESSION [FILE]: of the process hist-one.
of() {
	jq -c ".rows[] | select(.process == \"hist-one\") | $1" "${2:-history.json}"
}

# The process that writes it.
writer() {
	pgrep -P "$(pgrep -P "$OTHER_PID" memscope-hkeep)" memscope-hist
}

# refused CODE TEXT [OPTIONS]: in a line, which has the text.
refused() {
	local code=0

	"$MEMSCOPE" history "${@:3}" > out.txt 2> err.txt || code=$?
	assert_equal "$code" "$1"
	[ "$(wc -l < err.txt)" -eq 1 ] && grep -qF -- "$2" err.txt || fail "$(cat err.txt)"
}

@test "the history of a process: the same as the puppet did, while the agent runs and afterwards" {
	local pid by

	agent_start
	named_puppet hist-one
	puppet alloc 1000
	puppet alloc 3000
	puppet free
	puppet launch 7
	# The end of an interval.
	wait_for '[ -n "$(history 2> /dev/null > history.json && of .pid)" ]'
	valid history history.json
	assert_equal "$(of '[.pid, .peak_bytes, .allocs, .alloc_bytes, .frees, .free_bytes, .exact]')" \
		"[$PUPPET_PID,4000,2,4000,1,3000,true]" || why_inexact
	puppet alloc 500
	pid=$PUPPET_PID
	puppet_end
	agent_stop
	history --points > history.json
	valid history history.json
	assert_equal "$(of '[.pid, .peak_bytes, .allocs, .alloc_bytes, .frees, .free_bytes, .launches, .user]')" \
		"[$pid,4000,3,4500,1,3000,1,\"root\"]"
	# What is held in each step of 10 s is what all of them make, but for less than a byte of each mean.
	[ "$(of '.points | length')" -ge 2 ]
	assert_equal "$(of '(.byte_seconds - 10 * ([.points[][1]] | add)) as $rest |
		$rest > -10 * (.points | length) and $rest < 10 * (.points | length)')" true
	# The same in all other ways, of which it is the only one.
	assert_equal "$(history --by device | jq '.rows[0].peak_bytes >= 4000')" true
	assert_equal "$(history --by user | jq -c '.rows[] | select(.user == "root") | .processes >= 1')" true
	for by in pod container job; do
		history --by "$by" > by.json
		valid history by.json
	done
	# What a report of the ring says.
	"$MEMSCOPE" export -f openmetrics state/ring/*.mscope > report.txt
	assert_equal "$(of .allocs)" "$(series memscope_allocations_total 'comm="hist-one"' report.txt)"
	assert_equal "$(of .alloc_bytes)" "$(series memscope_allocated_bytes_total 'comm="hist-one"' report.txt)"
	assert_equal "$(of .free_bytes)" "$(series memscope_freed_bytes_total 'comm="hist-one"' report.txt)"
	"$MEMSCOPE" history --state-dir "$PWD/state" > out.txt
	grep -q "hist-one *$pid *root" out.txt
	# What it cannot know is said, and also of devices, of which NVML says nothing here.
	tr -s ' \n' ' ' < out.txt | grep -q 'Not in it: what a process allocated before the agent attached to it; .memscope-bpf who. shows who holds what now'
	"$MEMSCOPE" history --state-dir "$PWD/state" --by device > out.txt
	grep -q '^Not in it: what a process allocated before' out.txt
	# A day is when it begins; a time that is later than all that there is says so.
	for by in yesterday "$(date -u -d yesterday +%F)"; do
		history --from "$by" > by.json
		assert_equal "$(of .pid by.json)" "$pid"
	done
	refused 2 "and the history ends at" --state-dir "$PWD/state" --from "$(date -u -d '2 hours' +%H:%M)"
	refused 2 "is not later than --from, which is" --state-dir "$PWD/state" --from -1m --to -2m
	# Of a time before it, nothing is known: that is an answer.
	"$MEMSCOPE" history --json --state-dir "$PWD/state" --from 2020-01-01 --to 2020-01-02 > before.json 2> said
	valid history before.json
	assert_equal "$(jq -c '[.observed_ms, (.rows | length)]' before.json)" '[0,0]'
	grep -q "of the time that was asked for, nothing is known" said
}

@test "what a process held before the agent came is marked as not known" {
	named_puppet hist-one
	puppet alloc 1000
	agent_start
	puppet alloc 5000
	kill -9 "$PUPPET_PID"
	wait "$PUPPET_PID" || true
	agent_stop
	history > history.json
	valid history history.json
	assert_equal "$(of '[.exact, .held_before, .peak_bytes]')" '[false,true,5000]'
	assert_equal "$(jq -c '.events[] | select(.process == "hist-one") | [.event, .exact, .held_before, .bytes]' history.json)" \
		'["killed",false,true,5000]'
	COLUMNS=200 "$MEMSCOPE" history --state-dir "$PWD/state" > out.txt
	grep -qE '^ *hist-one .* 4.88 KiB\+ .* 0\.00(00)?\+ .* may have held more$' out.txt
	grep -qE ' killed .* 4.88 KiB\+ *hist-one' out.txt
	grep -q '^+: and what a process held from before the agent attached to it, which is not known' out.txt
}

@test "when memory ran out" {
	agent_start
	cp "$WORKLOADS/puppet" hist-two
	printf 'load\ninit\nalloc 1000\nalloc 99999999999999\n' | ./hist-two > out.txt 2>&1 || true
	agent_stop
	history --events > history.json
	valid history history.json
	assert_equal "$(jq -c '.events[] | select(.process == "hist-two") | [.event, .count, .bytes]' history.json)" \
		'["oom",1,99999999999999]'
	assert_equal "$(jq -c '.rows' history.json)" '[]'
	"$MEMSCOPE" history --state-dir "$PWD/state" --events > out.txt
	grep -q 'oom .* hist-two' out.txt
}

@test "a process that is killed, and names that mean harm" {
	local name=$'<b>h"\e[31m\n|`'

	# A link on the way is no obstacle.
	mkdir real
	ln -s real state
	agent_start
	named_puppet "$name"
	puppet alloc 7000
	kill -9 "$PUPPET_PID"
	wait "$PUPPET_PID" || true
	agent_stop
	history > history.json
	valid history history.json
	assert_equal "$(jq -c '.events[] | select(.event == "killed" and .bytes == 7000) | .what' history.json)" '"signal 9"'
	[ "$(wc -l < history.json)" -eq 1 ]
	"$MEMSCOPE" history --state-dir "$PWD/state" > out.txt
	grep -q '<b>h"' out.txt
	! LC_ALL=C grep -q $'[\001-\011\013-\037]' out.txt || fail "control characters"
}

@test "an agent that is killed leaves a history, and the next one goes on with it" {
	local pid

	agent_start
	named_puppet hist-one
	puppet alloc 1000
	wait_for '[ -n "$(history 2> /dev/null > history.json && of .pid)" ]'
	agent_kill
	history > history.json
	assert_equal "$(of '[.pid, .allocs]')" "[$PUPPET_PID,1]"
	rm -f query
	agent_start
	puppet alloc 500
	puppet free
	pid=$PUPPET_PID
	puppet_end
	agent_stop
	history > history.json
	# It is one process.
	assert_equal "$(of '[.pid, .allocs, .frees]')" "[$pid,2,1]"
}

@test "a damaged history is set aside, and said" {
	mkdir -p state/history
	chmod 700 state state/history
	head -c 100000 /dev/urandom > state/history/history.db
	refused 7 "damaged, or not a history" --state-dir "$PWD/state"
	agent_start
	named_puppet hist-one
	puppet alloc 1000
	puppet_end
	agent_stop
	grep -q 'history.db: not a history of this version: it is .*/history.db.damaged now' agent.err
	[ -s state/history/history.db.damaged ]
	history > history.json
	assert_equal "$(of .allocs)" 1
}

@test "what writes the history has no privilege, and is started again" {
	local writer

	agent_start
	writer=$(writer)
	grep -qx 'CapEff:	0000000000000000' "/proc/$writer/status"
	grep -qx 'NoNewPrivs:	1' "/proc/$writer/status"
	grep -qx 'Seccomp:	2' "/proc/$writer/status"
	kill -9 "$writer"
	wait_for 'writer > /dev/null'
	grep -q 'the process that writes the history has ended; starting it again' agent.err
	named_puppet hist-one
	puppet alloc 1000
	puppet_end
	agent_stop
	history > history.json
	assert_equal "$(of .allocs)" 1
}

@test "helpers of the agent are killed: it goes on, or ends as what is to be started again" {
	local helper

	agent_start
	named_puppet hist-one
	puppet alloc 1000
	# shellcheck disable=SC2046 # one or more of each
	for helper in memscope-files memscope-attach memscope-detach; do
		kill -9 $(pgrep -P "$OTHER_PID" "$helper")
	done
	[ "$(ask /health)" = ok ]
	puppet alloc 500
	kill -9 "$(pgrep -P "$OTHER_PID" memscope-keeper)"
	wait_for '[ ! -e /proc/$OTHER_PID/exe ]'
	tool_wait agent OTHER_PID 1
	grep -q 'error: clients get no more answers: .* the agent ends, too, so that it can be started again' agent.err
	agent_start
	[ "$(ask /health)" = ok ]
	kill -9 "$(pgrep -P "$OTHER_PID" memscope-hkeep)"
	wait_for '[ ! -e /proc/$OTHER_PID/exe ]'
	tool_wait agent OTHER_PID 1
	grep -q 'error: the history ends: .* the agent ends, too, so that it can be started again' agent.err
	agent_start
	settled
	[ "$(ask /health)" = ok ]
	puppet alloc 200
	puppet_end
	agent_stop
	# Those of the first agent, which wrote its last interval, and of the last one.
	history > history.json
	assert_equal "$(of .allocs)" 3
}

@test "what cannot write the history is tried again after pauses, says so once, and goes on when it can" {
	local intervals

	agent_start
	mv state/history state/elsewhere
	kill -9 "$(writer)"
	wait_for 'grep -q "writes the history ends again and again" agent.err'
	mv state/elsewhere state/history
	wait_for 'writer > /dev/null'
	intervals=$(ask /metrics | awk '/^memscope_agent_history_intervals_total.*written/ { print $2 }')
	wait_for '[ "$(ask /metrics | awk "/^memscope_agent_history_intervals_total.*written/ { print \$2 }")" -gt "$intervals" ]'
	assert_equal "$(grep -c "writes the history has ended; starting it again" agent.err)" 1
	assert_equal "$(grep -c "writes the history ends again and again" agent.err)" 1
	[ "$(grep -c "cannot give up privileges" agent.err)" -le 3 ]
	agent_stop
}

@test "there is none, and what can be done about it" {
	refused 5 "there is no history" --state-dir "$PWD/state"
	refused 2 '"colour"' --by colour
	refused 2 "never" --from never
	refused 2 "takes no argument" state
	agent_start --history off
	agent_stop
	[ ! -e state/history ]
}

@test "over HTTP: the same as the command says" {
	local code

	agent_start
	named_puppet hist-one
	puppet alloc 1000
	assert_equal "$(ask '/api/v1/history' -o /dev/null -w '%{http_code}')" 404
	wait_for '[ "$(ask /api/v1/who | jq .history)" = true ]'
	ask '/api/v1/history?by=process' > history.json
	valid history history.json
	assert_equal "$(of '[.pid, .peak_bytes, .allocs]')" "[$PUPPET_PID,1000,1]"
	[ "$(of '.points | length')" -ge 1 ]
	ask '/api/v1/history?by=device&from=-10m' > history.json
	valid history history.json
	assert_equal "$(jq -c '[.by, (.rows | length >= 1)]' history.json)" '["device",true]'
	for code in by=colour from=never to=2026-13-01T00:00 'from=-1h&to=-2h'; do
		assert_equal "$(ask "/api/v1/history?$code" -o /dev/null -w '%{http_code}')" 400
	done
	# What is not known is not left out, and what there is is named.
	for code in 'history?form=-1h' 'history?by=user&form' 'who?user=nobody'; do
		assert_equal "$(ask "/api/v1/$code" -o answer.txt -w '%{http_code}')" 400
		grep -q '/api/v1/history takes from and to, .* and by, .* take no arguments' answer.txt
	done
	assert_equal "$(ask '/metrics?form=-1h' -o /dev/null -w '%{http_code}')" 200
	fresh
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	[ "$(series memscope_agent_history_intervals_total 'result="written"')" -ge 1 ]
	assert_equal "$(series memscope_agent_history_intervals_total 'result="(failed|lost)"')" 0
	agent_stop
}
