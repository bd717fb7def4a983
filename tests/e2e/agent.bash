# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the agent's tests share: starting it, and asking it.

load recordings

# Another port for each test and each run beside it.
agent_port() {
	echo $((20000 + ($$ * 7 + ${BATS_TEST_NUMBER:-0} * 131) % 12000))
}

AGENT_UID=23456 # with RIGHTS=least

# Of its processes without privileges: as root, it makes them nobody's.
agent_children_uid() {
	[ "${RIGHTS:-all}" = all ] && echo 65534 || echo "$AGENT_UID"
}

# RIGHTS=least: the command that gives it the capabilities of its unit, and no others, as a user that has
# nothing but the test's directory.
agent_rights() {
	local capabilities

	AGENT_RIGHTS=()
	[ "${RIGHTS:-all}" = least ] || return 0
	capabilities=$(sed -n 's/^AmbientCapabilities=//p' "$ROOT/deploy/memscope-bpf.service" |
		tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
	AGENT_RIGHTS=(setpriv --reuid="$AGENT_UID" --regid="$AGENT_UID" --clear-groups --inh-caps="-all,$capabilities"
		--ambient-caps="-all,$capabilities" --bounding-set="-all,$capabilities" --no-new-privs)
	# What has no capability left comes through these, too.
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.."
	mkdir -p state
	chown -R "$AGENT_UID" "$PWD" state
}

# Starts it with these options; it answers on $PORT and on the socket query when this returns. It traces
# everything, however busy the machine is, unless BUDGET says something else.
agent_start() {
	PORT=${PORT:-$(agent_port)}
	needs_http
	agent_rights
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing OTHER_PID agent.err "${AGENT_RIGHTS[@]}" "$MEMSCOPE" agent $MASK -v --state-dir "$PWD/state" ${RING---ring=8M} \
		${BUDGET---budget=off} \
		--listen "127.0.0.1:$PORT" --socket "$PWD/query" "$@"
}

needs_http() {
	ldconfig -p | grep -q libmicrohttpd.so.12 || skip "libmicrohttpd is not installed"
}

# Ends it without warning, and waits until its port is free.
agent_kill() {
	kill -9 "$OTHER_PID"
	wait "$OTHER_PID" || true
	wait_for '! ask /health > /dev/null 2>&1'
}

# Ends it as a service manager does.
agent_stop() {
	kill -TERM "$OTHER_PID"
	tool_wait agent OTHER_PID "$@"
}

# ask PATH [curl's options]
ask() {
	curl -sS --max-time 30 "http://127.0.0.1:$PORT$1" "${@:2}"
}

# What the agent knows of the puppet that makes its account inexact, for who reads the failure.
why_inexact() {
	ask "/api/v1/processes/$PUPPET_PID" | jq -c '.process | del(.spaces, .functions, .largest, .told)' >&2
	ask /ready >&2
	grep -v ': debug:' agent.err | tail -20 >&2
	return 1
}

# Answers are kept for a second.
fresh() {
	sleep 1.1
}

# A puppet by a name of its own, which no other process has: $1.
named_puppet() {
	cp "$WORKLOADS/puppet" "$1"
	WORKLOADS=$PWD puppet_as "$1"
}

puppet_as() {
	mkfifo puppet.in puppet.out
	"./$1" < puppet.in > puppet.out 3>&- 8>&- 9<&- &
	PUPPET_PID=$!
	exec 8> puppet.in 9< puppet.out
	puppet load
	settled
	puppet init
}

# An agent that is there decides before the puppet's first call, however busy the machine is.
settled() {
	[ ! -e agent.err ] || [ -z "${OTHER_PID:-}" ] ||
		wait_for 'grep -qE "process $PUPPET_PID(: its calls are recorded| is not traced)" agent.err'
}

# The value of one series: $1 its family, $2 a regular expression for labels, of $3 (metrics.txt).
series() {
	grep -E "^$1\{[^}]*$2" "${3:-metrics.txt}" | awk '{ sum += $2 } END { printf "%d\n", sum }'
}
