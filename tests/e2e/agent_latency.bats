# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent`: how long calls took, as histograms.

load agent

# Checks the histograms of the processes called $1 in metrics.txt and open.txt against process.json, which
# says how often each function was called, and for how long.
check_histograms() {
	/usr/bin/python3 - "$1" <<'PYTHON'
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open
from prometheus_client.parser import text_string_to_metric_families as read_text

ops = {"cuMemAlloc_v2": "alloc", "cuMemFree_v2": "free", "cuMemcpyHtoD_v2": "copy", "cuMemcpyDtoH_v2": "copy",
       "cuMemcpy": "copy", "cuCtxSynchronize": "sync"}
expected = {}
for function in json.load(open("process.json"))["process"]["functions"]:
    op = ops.get(function["api"])
    if op:
        calls, timed, total_ns = expected.get(op, (0, 0, 0))
        expected[op] = (calls + function["calls"], timed + function["timed"], total_ns + (function["total_ns"] or 0))
assert len(expected) >= 2, expected

for read, path in (read_text, "metrics.txt"), (read_open, "open.txt"):
    buckets, counts, sums, untimed = {}, {}, {}, {}
    for family in read(open(path).read()):
        for sample in family.samples:
            if sample.labels.get("comm") != sys.argv[1]:
                continue
            op = sample.labels.get("op")
            if sample.name == "memscope_call_duration_seconds_bucket":
                assert family.type == "histogram"
                buckets.setdefault(op, []).append((float(sample.labels["le"]), sample.value))
            elif sample.name == "memscope_call_duration_seconds_count":
                counts[op] = sample.value
            elif sample.name == "memscope_call_duration_seconds_sum":
                sums[op] = round(sample.value * 1e9)
            elif sample.name == "memscope_untimed_calls_total":
                untimed[op] = sample.value
    assert set(counts) == set(expected) == set(buckets) == set(untimed), (counts, expected)
    for op, (calls, timed, total_ns) in expected.items():
        assert (counts[op], sums[op], untimed[op]) == (timed, total_ns, calls - timed), \
            (path, op, counts[op], sums[op], untimed[op], expected[op])
        assert len(buckets[op]) == 13 and buckets[op] == sorted(buckets[op]), buckets[op]
        assert [count for _, count in buckets[op]] == sorted(count for _, count in buckets[op])
        assert buckets[op][-1] == (float("inf"), timed)
        # The times lie where their sum says.
        lowest = highest = before = last = 0
        for bound, count in buckets[op]:
            lowest += (count - before) * last
            highest += (count - before) * bound if count > before else 0
            before, last = count, bound
        assert lowest <= total_ns / 1e9 <= highest, (op, lowest, total_ns, highest)
print(json.dumps(expected))
PYTHON
}

look() {
	fresh
	ask "/api/v1/processes/$PUPPET_PID" > process.json
	ask /metrics > metrics.txt
	ask /metrics -H 'Accept: application/openmetrics-text;version=1.0.0' > open.txt
	promtool check metrics < metrics.txt
}

@test "histograms have every call, in the buckets where its time is, as the ledger has them" {
	agent_start
	named_puppet agent-times
	puppet alloc 4096
	puppet churn 30
	puppet copies 500
	look
	check_histograms agent-times > before.txt
	jq -e '.alloc[0] == 31 and .free[0] == 30 and .copy[0] == 500' before.txt
	# Processes of the same name share them, and they stay when one ends.
	puppet_end
	rm agent-times puppet.in puppet.out
	named_puppet agent-times
	puppet churn 5
	fresh
	ask /metrics > metrics.txt
	assert_equal "$(series memscope_call_duration_seconds_count 'comm="agent-times".*op="free"')" 35
	assert_equal "$(series memscope_call_duration_seconds_bucket 'comm="agent-times".*op="free",le="\+Inf"')" 35
	agent_stop
	puppet_end
	# The ring has sums of copies, so that no single one's time is known.
	"$MEMSCOPE" export -f openmetrics state/ring/*.mscope > report.txt
	assert_equal "$(series memscope_call_duration_seconds_count 'comm="agent-times".*op="free"' report.txt)" 35
	assert_equal "$(series memscope_call_duration_seconds_count 'comm="agent-times".*op="copy"' report.txt)" 0
	assert_equal "$(series memscope_untimed_calls_total 'comm="agent-times".*op="copy"' report.txt)" 500
}

@test "calls whose returns the budget leaves out are counted beside the histograms" {
	local i

	[ -z "$MASK" ] || skip "single uprobes cannot be removed in time"
	BUDGET=--budget=5% agent_start
	named_puppet agent-hidden
	puppet alloc 4096
	for ((i = 0; i < 400; i++)); do
		puppet copies 50000
		ask /api/v1/who > who.json
		[ "$(jq -r ".processes[] | select(.pid == $PUPPET_PID) | .cost.traced" who.json)" = off ] && break
	done
	look
	check_histograms agent-hidden
	if grep -q "attach strategy: uprobe_session" agent.err; then
		[ "$(series memscope_untimed_calls_total 'comm="agent-hidden".*op="copy"')" -gt 0 ]
	fi
	agent_stop
	puppet_end
}

@test "histograms take at most half of the series" {
	local i

	agent_start --series 100
	for i in 1 2 3 4 5; do
		named_puppet "agent-few-$i"
		puppet churn 3
		puppet_end
		rm "agent-few-$i" puppet.in puppet.out
	done
	fresh
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	# Of 15 lines each.
	[ "$(grep '^memscope_call_duration_seconds_count{' metrics.txt | grep -cv 'series="(others)"')" -le 3 ]
	[ "$(($(series memscope_call_duration_seconds_count 'comm="agent-few') +
		$(series memscope_call_duration_seconds_count 'series="\(others\)"')))" -ge 30 ]
	[ "$(series memscope_call_duration_seconds_count 'series="\(others\)"')" -gt 0 ]
	[ "$(series memscope_agent_series_limited_total '')" -gt 0 ]
	agent_stop
}
