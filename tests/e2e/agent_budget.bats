# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent --budget`: what tracing costs a program, and what is given up if that is too much.

load agent

# What who.json says of the puppet, by a filter of jq.
puppet_says() {
	ask /api/v1/who > who.json
	jq -r --argjson pid "$PUPPET_PID" ".processes[] | select(.pid == \$pid) | $1" who.json
}

# Copies until so much of the puppet is traced: $1.
copy_until() {
	local i

	for ((i = 0; i < 400; i++)); do
		puppet copies 50000
		[ "$(puppet_says .cost.traced)" = "$1" ] && return
	done
	fail "still traced: $(puppet_says .cost.traced)"
}

@test "what tracing costs a process is known, and goes by its calls" {
	agent_start
	named_puppet agent-cost
	puppet alloc 4096
	fresh
	before=$(puppet_says .cost.spent_ns)
	[ "$before" -gt 0 ]
	puppet copies 10000
	fresh
	after=$(puppet_says .cost.spent_ns)
	valid agent-who who.json
	# Two traps for each copy, and what is done in them.
	trap_ns=$(jq .cost.trap_ns who.json)
	[ "$trap_ns" -gt 50 ]
	assert_equal "$(jq .cost.trap_measured who.json)" true
	assert_equal "$(jq .cost.budget_ppm who.json)" null
	assert_equal "$((after - before))" "$((10000 * (trap_ns * 280 / 100)))"
	[ "$(jq .cost.spent_ns who.json)" -ge "$after" ]
	assert_equal "$(puppet_says .cost.traced)" all
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	grep -q '^memscope_agent_trap_seconds{.*source="measured"} 0.00000[0-9]*$' metrics.txt
	grep -q '^memscope_agent_overhead_seconds_total{' metrics.txt
	grep -q '^memscope_agent_budget_ratio' metrics.txt && fail "there is none"
	agent_stop
	puppet_end
}

@test "without a budget, everything is traced, however often it is called" {
	agent_start
	named_puppet agent-free
	puppet alloc 4096
	puppet copies 300000
	fresh
	assert_equal "$(puppet_says .cost.traced)" all
	agent_stop
	puppet_end
	"$MEMSCOPE" report -f json state/ring/*.mscope > report.json
	assert_equal "$(jq -c '[.recordings[].processes[] | select(.comm == "agent-free") | .unknown | .untraced_ms, .entries_ms] | add' report.json)" 0
}

@test "a process over its budget is traced less, says so, and as usual again when it is quiet" {
	[ -z "$MASK" ] || skip "single uprobes cannot be removed in time"
	BUDGET=--budget=5% agent_start
	named_puppet agent-busy
	puppet alloc 4096
	copy_until off
	valid agent-who who.json
	# Allocations and frees are traced all the same.
	puppet alloc 1000
	puppet churn 20
	puppet alloc 3000
	puppet free
	fresh
	assert_equal "$(puppet_says '[.device_bytes, .exact, .spaces[0].allocs, .spaces[0].frees] | @csv')" \
		'5096,true,23,21' || why_inexact
	wait_for '[ "$(puppet_says .cost.traced)" != off ]'
	# Nothing is called any more.
	wait_for '[ "$(puppet_says .cost.traced)" = all ]'
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	[ "$(series memscope_agent_budget_changes_total 'traced="off"')" -ge 1 ]
	[ "$(series memscope_agent_budget_changes_total 'traced="all"')" -ge 1 ]
	awk '/^memscope_agent_budget_off_seconds_total/ { exit !($2 > 0) }' metrics.txt
	grep -q "more than the budget: copies, memsets, launches and synchronisation of all processes" agent.err
	puppet copies 1000
	agent_stop
	puppet_end
	"$MEMSCOPE" report state/ring/*.mscope > report.txt
	grep -q "milliseconds in which copies, memsets, launches and synchronisation were not traced" report.txt
	grep -q "the agent did not trace all calls, to keep its budget" report.txt
	"$MEMSCOPE" report -f json state/ring/*.mscope > report.json
	jq -e '[.recordings[].processes[] | select(.comm == "agent-busy") | .unknown.untraced_ms] | add > 0' report.json
	"$MEMSCOPE" export -f ndjson state/ring/*.mscope > events.jsonl
	jq -c 'select(.type == "budget" and .comm == "agent-busy") | .step' events.jsonl | uniq > steps.txt
	grep -qx '"off"' steps.txt
	grep -q "attach strategy: uprobe_session" agent.err && grep -qx '"entries"' steps.txt
	assert_equal "$(tail -n 1 steps.txt)" '"all"'
}

@test "a budget that is lifted has everything traced again" {
	[ -z "$MASK" ] || skip "single uprobes cannot be removed in time"
	echo 'budget = 1%' > agent.conf
	BUDGET= agent_start --config agent.conf
	named_puppet agent-lift
	puppet alloc 4096
	copy_until off
	echo 'budget = off' > agent.conf
	kill -HUP "$OTHER_PID"
	wait_for '[ "$(puppet_says .cost.traced)" = all ]'
	puppet_says .cost.spent_ns > before.txt
	puppet copies 1000
	fresh
	[ "$(puppet_says .cost.spent_ns)" -gt "$(cat before.txt)" ]
	agent_stop
	puppet_end
}

@test "probes that cannot come back, since a function was changed, are said to be missing" {
	local before

	[ -z "$MASK" ] || skip "single uprobes cannot be removed in time"
	named_puppet agent-hooked
	check_puppet
	before=$(memory cuLaunchCooperativeKernel)
	BUDGET=--budget=5% agent_start
	puppet alloc 4096
	copy_until off
	wait_for '[ "$(memory cuLaunchCooperativeKernel)" = "$before" ]'
	# The puppet does not call it.
	memory cuLaunchCooperativeKernel e904000000
	wait_for 'grep -q "process $PUPPET_PID has changed its functions" agent.err'
	assert_equal "$(puppet_says .cost.traced)" off
	puppet alloc 1000
	fresh
	assert_equal "$(puppet_says .device_bytes)" 5096
	# It is as it was: they come back, and that it was said once is enough.
	memory cuLaunchCooperativeKernel "${before:0:10}"
	wait_for '[ "$(puppet_says .cost.traced)" = all ]'
	assert_equal "$(grep -c "has changed its functions" agent.err)" 1
	agent_stop
	puppet_end
}
