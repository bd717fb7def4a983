# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent --remote-write` and `--otlp`: receivers that are down for OUTAGE_MINUTES (`make check-outage`), then
# slow, and killed together with the agent.

load agent

eval "without_outage_$(declare -f teardown)"
teardown() {
	kill ${OUTAGE_PID:-} 2> /dev/null || true
	without_outage_teardown
}

@test "of receivers that were down, each has every moment once, as the account was; what was lost is counted" {
	needs_http
	ldconfig -p | grep -q 'libcurl\(-gnutls\)\?.so.4' || skip "libcurl is not installed"
	command -v prometheus > /dev/null || skip "Prometheus is not installed"
	mkdir outage
	/usr/bin/python3 -B "$BATS_TEST_DIRNAME/outage.py" "${OUTAGE_MINUTES:-1}" "$BUILT" "$MEMSCOPE" outage > figures.txt 3>&- &
	OUTAGE_PID=$!
	wait "$OUTAGE_PID" || fail "$(cat figures.txt)"
	[ -z "${OUTAGE_FIGURES:-}" ] || cp figures.txt "$OUTAGE_FIGURES"
	leaves_nothing
}
