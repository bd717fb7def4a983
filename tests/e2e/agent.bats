# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent`: what it answers, to whom, and what becomes of it when something goes wrong.

load agent

@test "who holds what: the same as the puppet does, by the schema" {
	local process='.processes[] | select(.comm == "agent-one")'

	agent_start
	named_puppet agent-one
	puppet alloc 1000
	puppet alloc 3000
	puppet free
	puppet launch 7
	fresh
	ask /api/v1/who > who.json
	valid agent-who who.json
	assert_equal "$(jq -c "$process | [.pid, .device_bytes, .exact, .was_running]" who.json)" \
		"[$PUPPET_PID,1000,true,false]"
	assert_equal "$(jq "$process.peak_live_bytes" who.json)" 4000
	assert_equal "$(jq .hidden_processes who.json)" 0
	assert_equal "$(jq -c "$process | .spaces[] | [.space, .live_bytes, .live_allocations, .peak_bytes,
		.allocs, .frees]" who.json)" '["device",1000,1,4000,2,1]'
	ask "/api/v1/processes/$PUPPET_PID" > process.json
	assert_equal "$(jq -c '[.schema, .process.comm, .process.spaces[0].live_bytes]' process.json)" \
		'["memscope-bpf/agent-process/1","agent-one",1000]'
	puppet_end
	fresh
	assert_equal "$(ask /api/v1/who | jq "[$process] | length")" 0
	assert_equal "$(ask "/api/v1/processes/$$" -o /dev/null -w '%{http_code}')" 404
	agent_stop
}

@test "metrics: in the form that is asked for, and without a fault" {
	agent_start
	named_puppet agent-two
	puppet alloc 4096
	fresh
	ask /metrics -D headers > metrics.txt
	grep -qi '^content-type: text/plain; version=0.0.4; charset=utf-8' headers
	promtool check metrics < metrics.txt
	grep -q '^# EOF' metrics.txt && fail "an end of another format"
	assert_equal "$(series memscope_process_gpu_memory_live_bytes 'comm="agent-two"')" 4096
	# What Prometheus sends.
	ask /metrics -D headers -H 'Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1' > open.txt
	grep -qi '^content-type: application/openmetrics-text; version=1.0.0; charset=utf-8' headers
	assert_equal "$(tail -n 1 open.txt)" "# EOF"
	promtool tsdb create-blocks-from openmetrics open.txt blocks 2> messages || true
	/usr/bin/python3 - open.txt <<'PYTHON'
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(open(sys.argv[1]).read()))
assert any(f.name == "memscope_agent_ready" for f in families), families
PYTHON
	agent_stop
}

@test "the series are what a report of the ring says" {
	local family kind

	agent_start
	named_puppet agent-three
	puppet alloc 1000
	puppet alloc 5000
	puppet free
	puppet churn 50
	puppet launch 3
	puppet launch 3
	fresh
	ask /metrics > metrics.txt
	agent_stop
	puppet_end
	# It is over for the agent, but the ring was written by one that was attached.
	"$MEMSCOPE" export -f openmetrics state/ring/*.mscope > report.txt
	for family in process_gpu_memory_live_bytes process_outstanding_allocations \
		process_gpu_memory_peak_bytes process_gpu_memory_inexact allocations_total allocated_bytes_total \
		frees_total freed_bytes_total kernel_launches_total syncs_total; do
		assert_equal "$family $(series "memscope_$family" 'comm="agent-three"')" \
			"$family $(series "memscope_$family" 'comm="agent-three"' report.txt)"
	done
	assert_equal "$(series memscope_allocations_total 'comm="agent-three"')" 52
	assert_equal "$(series memscope_kernel_launches_total 'comm="agent-three"')" 2
}

# What the series say that it holds, and how often it has allocated; of $1 (metrics.txt).
checked() {
	echo "$(series memscope_process_gpu_memory_live_bytes 'comm="agent-checked"' "${1:-metrics.txt}")" \
		"$(series memscope_allocations_total 'comm="agent-checked"' "${1:-metrics.txt}")"
}

@test "at every checkpoint, the series, who holds what, and an export of the ring agree exactly" {
	local i family live=0 allocs=0 bytes

	agent_start
	named_puppet agent-checked
	for i in $(seq 1 "$(times 100 8)"); do
		bytes=$((RANDOM + 1))
		puppet alloc $bytes
		puppet churn $((i % 7 + 1))
		live=$((live + bytes)) allocs=$((allocs + 2 + i % 7))
		if [ $((i % 3)) = 0 ]; then
			puppet free
			live=$((live - bytes))
		fi
		# A busy agent comes to it later.
		wait_for 'fresh; ask /metrics > metrics.txt; [ "$(checked)" = "$live $allocs" ]'
		ask /api/v1/who > who.json
		# What is in an answer is in the ring a moment later.
		wait_for '"$MEMSCOPE" export -q -f openmetrics state/ring > report.txt; [ "$(checked report.txt)" = "$live $allocs" ]'
		for family in process_gpu_memory_live_bytes process_outstanding_allocations allocations_total \
			allocated_bytes_total frees_total freed_bytes_total; do
			assert_equal "$i $family $(series "memscope_$family" 'comm="agent-checked"')" \
				"$i $family $(series "memscope_$family" 'comm="agent-checked"' report.txt)"
		done
		assert_equal "$(jq ".processes[] | select(.pid == $PUPPET_PID) | .device_bytes" who.json)" "$live"
	done
	agent_stop
	puppet_end
}

@test "counters of processes that have ended stay, and gauges go" {
	local i

	agent_start
	for i in 1 2 3; do
		named_puppet agent-four
		puppet alloc 1000
		puppet_end
		rm -f agent-four puppet.in puppet.out
	done
	fresh
	ask /metrics > metrics.txt
	assert_equal "$(series memscope_allocations_total 'comm="agent-four"')" 3
	assert_equal "$(series memscope_process_gpu_memory_live_bytes 'comm="agent-four"')" 0
	grep 'live_bytes.*agent-four' metrics.txt && fail "of processes that are gone"
	agent_stop
}

@test "of more processes than are kept one by one, sums are exact" {
	local i

	# Without other tests' processes, which could be among the others.
	agent_start --allow comm=agent-sum
	named_puppet agent-sum
	for i in $(seq 80); do
		printf 'load\ninit\nalloc 1000\nalloc 500\nfree\n' | ./agent-sum > /dev/null
	done
	puppet alloc 7000
	fresh
	ask /metrics > metrics.txt
	# None of those that have ended leaves a device that only it meant.
	assert_equal "$(grep -c '^memscope_gpu_memory_explained_bytes{' metrics.txt)" 1
	assert_equal "$(ask /api/v1/who | jq '.devices | length')" 1
	agent_stop
	puppet_end
	"$MEMSCOPE" export -f openmetrics state/ring/*.mscope > report.txt
	assert_equal "$(series memscope_allocations_total 'comm="agent-sum"')" 161
	assert_equal "$(series memscope_allocated_bytes_total 'comm="agent-sum"')" 127000
	assert_equal "$(series memscope_frees_total 'comm="agent-sum"')" 80
	# The report has one row for those that it does not keep.
	assert_equal "$(($(series memscope_allocations_total 'comm="agent-sum"' report.txt) +
		$(series memscope_allocations_total 'comm="\(others\)"' report.txt)))" 161
	grep -q 'comm="(others)"' metrics.txt && fail "a sum of those that have ended, counted again"
	true
}

@test "health and readiness, and paths and methods that are not there" {
	agent_start
	assert_equal "$(ask /health)" ok
	wait_for '[ "$(ask /ready -o ready.txt -w "%{http_code}")" = 200 ]'
	grep -q '^ready' ready.txt
	assert_equal "$(ask /none -o /dev/null -w '%{http_code}')" 404
	[[ $(ask /who) == *"there are /, /metrics, /api/v1/who,"* ]] || fail "no path is named"
	assert_equal "$(ask /api/v1/processes/0 -o /dev/null -w '%{http_code}')" 404
	assert_equal "$(ask /api/v1/processes/-1 -o /dev/null -w '%{http_code}')" 404
	assert_equal "$(ask /metrics -X DELETE -o /dev/null -w '%{http_code}')" 405
	assert_equal "$(ask /metrics -I -o headers -w '%{http_code}')" 200
	assert_equal "$(ask /../../etc/passwd --path-as-is -o /dev/null -w '%{http_code}')" 404
	# While the capture is stopped, it is not well.
	kill -STOP "$OTHER_PID"
	wait_for '[ "$(ask /health -o /dev/null -w "%{http_code}")" = 503 ]'
	kill -CONT "$OTHER_PID"
	wait_for '[ "$(ask /health)" = ok ]'
	agent_stop
}

@test "a heap profile, and a page" {
	agent_start
	named_puppet agent-five
	puppet alloc 12345
	fresh
	ask /debug/pprof/gpu_heap > heap.pb.gz
	gunzip -t heap.pb.gz
	gunzip -c heap.pb.gz |
		protoc -I "$ROOT/tests/e2e/proto" --decode memscope.test.Profile profile.proto > heap.txt
	grep -q 'agent-five' heap.txt
	grep -q 'value: .*12345.*' heap.txt
	# An agent that runs has not ended, and that is no defect of the profile.
	gunzip -c heap.pb.gz | grep -a 'proper end' && fail "a live agent has no end"
	ask / -D headers > page.html
	grep -q '<title>memscope-bpf' page.html
	ask /page.js | cmp - "$ROOT/user/agent/page/page.js"
	ask /page.css | cmp - "$ROOT/user/agent/page/page.css"
	grep -qi "^content-security-policy: default-src 'none'" headers
	agent_stop
}

@test "a port that is taken is an error that says so" {
	agent_start
	run timeout 20 "$MEMSCOPE" agent $MASK --state-dir "$PWD/other" --listen "127.0.0.1:$PORT"
	assert_equal "$status" 1
	[[ "$output" == *"--listen 127.0.0.1:$PORT: Address already in use; another program listens there"* ]]
	agent_stop
}

@test "a state directory has one agent at a time, whose bundles and ring another leaves alone" {
	local i

	# Memory may run out for another test's process meanwhile, which makes a bundle more.
	agent_start --allow comm=agent-nobody
	for i in 1 2 3 4 5 6 7 8 9; do
		echo x > "state/host-2026112${i}T000000.oom-1.mscope"
	done
	# shellcheck disable=SC2086 # may be empty
	run timeout 20 "$MEMSCOPE" agent $MASK --state-dir "$PWD/state" --listen off
	assert_equal "$status" 1
	[[ "$output" == *"--state-dir $PWD/state: another agent uses it; choose another directory"* ]]
	assert_equal "$(ls state/ring)" 000001.mscope
	assert_equal "$(ls state | grep -c '^host.*oom-1')" 9
	# What the agent has started may live on for a moment, and keeps no lock.
	agent_kill
	agent_start --allow comm=agent-nobody
	agent_stop
	assert_equal "$(ls state | grep -c 'oom-[0-9]*\.mscope$')" 8
	run ! ls state/host-20261121T000000.oom-1.mscope
}

@test "killed, it leaves its ring, which the next one takes over, and its socket" {
	agent_start --allow comm=agent-six
	named_puppet agent-six
	puppet alloc 1000
	wait_for '"$MEMSCOPE" export -q -f ndjson state/ring 2> /dev/null | grep -q "\"size_bytes\":1000[,}]"'
	agent_kill
	assert_equal "$(ls state/ring)" 000001.mscope
	agent_start --allow comm=agent-six
	puppet alloc 2000
	fresh
	# The block from before is not known, and it says so.
	ask /api/v1/who > who.json
	assert_equal "$(jq -c '.processes[] | select(.comm == "agent-six") |
		[.device_bytes, .was_running, .exact]' who.json)" '[2000,true,false]'
	# Which the server hears once a second.
	wait_for 'ask /ready | grep -q "may hold more than was seen"'
	agent_stop
	assert_equal "$(ls state/ring | xargs)" "000001.mscope 000002.mscope"
	"$MEMSCOPE" report -f json -o report.json state/ring/*.mscope
	assert_equal "$(jq -c '[.recordings[] | .processes[] | select(.comm == "agent-six") |
		.spaces[] | select(.space == "device").alloc_bytes]' report.json)" '[1000,2000]'
	[ ! -e query ]
}

# $1: the signal. It comes as soon as there is a socket, which is before anything is traced.
ends_at_once() {
	local code=0 until=$((SECONDS + 60))

	rm -f query
	# shellcheck disable=SC2086 # may be empty
	in_background OTHER_PID agent.err env --default-signal=INT "$MEMSCOPE" agent $MASK --state-dir "$PWD/state" --listen off \
		--socket "$PWD/query"
	# Without a pause: the next moment after the socket was made is the one.
	until [ -S query ] || [ ! -e "/proc/$OTHER_PID" ]; do
		[ "$SECONDS" -lt "$until" ] || fail "the agent runs, and has made no socket"
	done
	kill "-$1" "$OTHER_PID"
	wait "$OTHER_PID" || code=$?
	OTHER_PID=
	assert_equal "$1: exit code $code, $(ls query 2> /dev/null)" "$1: exit code 0, "
}

@test "asked to end while it begins, it leaves no socket" {
	needs_http
	ends_at_once TERM
	ends_at_once INT
	# And nothing that keeps the next one out.
	agent_start --allow comm=agent-nobody
	agent_stop
	[ ! -e query ]
}

@test "of processes that may hold more, it says which ran before it and which it came late to" {
	local coming

	named_puppet "early-$$"
	agent_start --allow "comm=early-$$,comm=late-$$" # and not of other tests beside this one
	# The agent has no probes in these copies, and comes when the process has called already.
	cp -rL "$LD_LIBRARY_PATH" new-copies
	cp "$WORKLOADS/puppet" "late-$$"
	kill -STOP "$OTHER_PID"
	mkfifo late.in late.out
	LD_LIBRARY_PATH=$PWD/new-copies "./late-$$" < late.in > late.out 3>&- 8>&- 9<&- &
	coming=$!
	exec 6> late.in 7< late.out
	printf '%s\n' load init 'alloc 1000' >&6
	head -n 3 <&7 > said.txt
	kill -CONT "$OTHER_PID"
	wait_for 'ask /ready | grep -q "^ready: 1 process ran before the agent, and 1 process was attached to after it had loaded CUDA: they may hold more than was seen"'
	puppet_end
	wait_for 'ask /ready | grep -q "^ready: 1 process was attached to after it had loaded CUDA, and may hold more than was seen"'
	exec 6>&- 7<&-
	wait "$coming" || true
	agent_stop
	assert_equal "$(grep -c ': 1 process ran before the agent, and may hold more than was seen$' agent.err)" 1
}

@test "the process for clients has no privilege, and is started again" {
	local server

	agent_start
	server=$(pgrep -P "$(pgrep -P "$OTHER_PID" memscope-keeper)" memscope-http)
	assert_equal "$(awk '/^(CapEff|CapPrm|CapBnd|NoNewPrivs|Uid)/ { print $1 $2 }' "/proc/$server/status" |
		grep -v CapBnd | xargs)" "Uid:$(agent_children_uid) CapPrm:0000000000000000 CapEff:0000000000000000 NoNewPrivs:1"
	# Of descriptors it has only what it serves with.
	[ "$(ls "/proc/$server/fd" | wc -l)" -le 20 ]
	kill -9 "$server"
	wait_for '[ "$(ask /health 2> /dev/null)" = ok ]'
	grep -q "has ended; starting it again" agent.err
	fresh
	assert_equal "$(ask /metrics | awk '/^memscope_agent_http_restarts_total/ { print $2 }')" 1
	agent_stop
}

@test "in a browser, the bar of a device is of all its memory, if NVML says how much that is" {
	[ -e "$BUILT/simnv/3/libnvidia-ml.so.1" ] || skip "there is no simulated NVML"
	{
		echo "driver 580.159.04"
		echo "device uuid=GPU-a name=NVIDIA_H200 pci=0:65:00 minor=0 total=4096M reserved=0 used=1024M"
	} > devices.txt
	SIMNV=$PWD/devices.txt LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3 agent_start --allow "comm=agent-bar"
	named_puppet agent-bar
	puppet alloc 536870912
	wait_for 'ask /api/v1/who | jq -e ".nvml_devices[0].used_bytes and .devices[0].explained_bytes == 536870912"'
	/usr/bin/python3 - "http://127.0.0.1:$PORT/" > shown.txt <<-'PYTHON'
		import sys, time
		from selenium import webdriver
		options = webdriver.ChromeOptions()
		for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
		    options.add_argument(argument)
		browser = webdriver.Chrome(options=options)
		try:
		    browser.get(sys.argv[1])
		    for _ in range(300):
		        shown = browser.execute_script("return [...document.querySelectorAll('#devices .device')].map(device =>"
		            " device.innerText.trim() + ' | ' + [...device.querySelectorAll('i')].map(part => part.style.width).join())")
		        if shown:
		            break
		        time.sleep(0.2)
		    print(*shown, sep="\n")
		finally:
		    browser.quit()
	PYTHON
	grep -qE '; NVML, [0-9]+ s ago: 1 GiB in use, 3 GiB free of 4 GiB \| 12.5%,12.5%$' shown.txt || fail "$(cat shown.txt)"
	agent_stop
	puppet_end
}

@test "in a browser, the page shows who holds what, and names are text" {
	local name=$'<b>p"&' odd=$PWD/$'of \377 o\'clock'

	mkdir "$odd"
	agent_start --state-dir "$odd"
	named_puppet "$name"
	puppet alloc 1048576
	fresh
	/usr/bin/python3 - "http://127.0.0.1:$PORT/" "$name" <<'PYTHON'
import pathlib, sys, time
from datetime import datetime, timedelta
from selenium import webdriver
from selenium.webdriver import ActionChains
options = webdriver.ChromeOptions()
for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
    options.add_argument(argument)
options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
browser = webdriver.Chrome(options=options)
try:
    browser.get(sys.argv[1])
    end = time.monotonic() + 60
    # At one moment: the page makes its rows anew.
    texts = lambda what: browser.execute_script("return [...document.querySelectorAll(arguments[0])].map(row =>"
                                                " [...row.cells].map(cell => cell.innerText))", what)
    named = lambda: [cells for cells in texts("#processes tr") if any(sys.argv[2] in cell for cell in cells)]
    while not named() and time.monotonic() < end:
        time.sleep(0.2)
    rows = named()
    assert len(rows) == 1 and any("1 MiB" == cell for cell in rows[0]), rows
    heads = [head.text for head in browser.find_elements("css selector", "thead th")]
    # No sum over kinds of memory that are not to be added up.
    assert dict(zip(heads, rows[0], strict=True))["Held on devices"] == "1 MiB", (heads, rows)
    assert not browser.find_elements("css selector", "#processes b"), "a name became markup"
    assert "calls seen" in browser.find_element("id", "state").text
    charts = lambda: browser.find_elements("css selector", "#charts svg polyline")
    while not charts() and time.monotonic() < end:
        time.sleep(0.5)
    assert charts() and browser.find_element("id", "history").is_displayed()
    assert "steps of 10 s" in browser.find_element("id", "range").text
    command = lambda: browser.find_element("id", "command").text
    moments = lambda: [datetime.fromisoformat(word.replace("Z", "+00:00")) for word in command().split()[3:6:2]]
    pathlib.Path("whole").write_text(command())
    hour = moments()
    assert timedelta(minutes=59) < hour[1] - hour[0] < timedelta(minutes=61), hour
    picture = browser.find_element("css selector", "#charts svg")
    quarter = picture.size["width"] // 4
    ActionChains(browser).move_to_element_with_offset(picture, -quarter, 0).click_and_hold().move_by_offset(
        quarter, 0).release().perform()
    part = moments()
    assert timedelta(minutes=14) < part[1] - part[0] < timedelta(minutes=16), part
    assert timedelta(minutes=14) < part[0] - hour[0] < timedelta(minutes=16), part
    assert browser.find_elements("css selector", "#charts rect.chosen")
    ActionChains(browser).move_to_element(browser.find_element("css selector", "#charts svg")).click().perform()
    assert not browser.find_elements("css selector", "#charts rect.chosen")
    faults = [line for line in browser.get_log("browser") if line["level"] == "SEVERE" and "favicon" not in line["message"]]
    assert not faults, faults
finally:
    browser.quit()
PYTHON
	# The command that it shows makes a report.
	sed -i "s|^memscope-bpf|$MEMSCOPE|" whole
	sh whole
	grep -q "&lt;b&gt;p" report.html
	agent_stop
}

@test "bundles of earlier runs: the newest eight stay" {
	local i

	mkdir -p state
	for i in 1 2 3 4 5 6 7 8 9; do
		echo x > "state/host-2026112${i}T000000.oom-1.mscope"
		touch -d "2026-11-2$i" "state/host-2026112${i}T000000.oom-1.mscope"
	done
	echo x > state/other.mscope
	ln -s other.mscope state/link.oom-1.mscope
	agent_start
	agent_stop
	[ ! -e state/host-20261121T000000.oom-1.mscope ]
	assert_equal "$(ls state | grep -c '^host.*oom-1')" 8
	[ -e state/other.mscope ]
	[ -L state/link.oom-1.mscope ]
}

# Whether there is one of that process: other tests' processes run out of memory, too.
has_bundle_of() {
	local bundle

	for bundle in state/*.oom-*.mscope; do
		"$MEMSCOPE" report -f json -o report.json "$bundle" 2> /dev/null &&
			jq -e --arg comm "$1" '[.recordings[].processes[] | select(.comm == $comm)] | length == 1' \
				report.json > /dev/null && return 0
	done
	return 1
}

@test "bundles are written on SIGUSR1, and at amounts of memory that are asked for" {
	local turn

	[ -e "$BUILT/simnv/3/libnvidia-ml.so.1" ] || skip "there is no simulated NVML"
	{
		echo "driver 580.159.04"
		echo "device uuid=GPU-a name=NVIDIA_H200 pci=0:65:00 minor=0 total=4000M reserved=0 used=3900M gpu=40 memory=3"
	} > devices.txt
	SIMNV=$PWD/devices.txt LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3 agent_start --bundle-on "used=95%,process=1M" \
		--allow "comm=agent-amounts"
	# The device has been above it from the beginning.
	wait_for '[ -e state/*.limit-1.mscope ]'
	grep -q 'a bundle is written (--bundle-on): device GPU-a has 100 MiB free' agent.err
	named_puppet agent-amounts
	puppet alloc 1000
	fresh
	puppet alloc 2000000
	wait_for '[ -e state/*.limit-2.mscope ]'
	# Its name has the time when it was written.
	sleep 1
	before=$(date -u +%Y%m%dT%H%M%S)
	grep -q "a bundle is written (--bundle-on): process $PUPPET_PID has 1.91 MiB" agent.err
	kill -USR1 "$OTHER_PID"
	wait_for '[ -e state/*.signal-1.mscope ]'
	written=$(basename state/*.signal-1.mscope .signal-1.mscope)
	[[ ! ${written##*-} < $before && ! ${written##*-} > $(date -u +%Y%m%dT%H%M%S) ]]
	"$MEMSCOPE" report --json state/*.signal-1.mscope > report.json
	jq -e '[.recordings[].processes[] | select(.comm == "agent-amounts")] | length == 1' report.json
	# More than twelve an hour are left out.
	for turn in $(seq 2 13); do
		kill -USR1 "$OTHER_PID"
		wait_for '[ -e state/*.signal-$turn.mscope ] || grep -q "12 bundles were asked for within an hour" agent.err'
	done
	wait_for 'grep -q "12 bundles were asked for within an hour" agent.err'
	wait_for 'ask /metrics | grep -qE "^memscope_agent_bundles_total\{.*result=\"withheld\"\} [1-9]"'
	wait_for '[ "$(ls state/*.mscope | wc -l)" -le 8 ]'
	agent_stop
	puppet_end
	run "$MEMSCOPE" agent --check-config --bundle-on "used=95"
	assert_equal "$status" 2
	[[ "$output" == *"used is in percent"* ]]
}

# Whether the series of $1 is there for the device $2 (labels), with value $3.
device_has() {
	ask /metrics | grep -F "$1{" | grep -F "$2" | grep -q " $3\$"
}

@test "what no process has used is not explained; of what may be used, nothing is said" {
	local uuid=GPU-73696d75-6c61-7465-6420-475055200000 explained=memscope_gpu_memory_explained_bytes

	[ -e "$BUILT/simnv/3/libnvidia-ml.so.1" ] || skip "there is no simulated NVML"
	{
		echo "driver 580.159.04"
		echo "device uuid=$uuid name=NVIDIA_H200 pci=0:65:00 minor=0 total=4000M reserved=0 used=3900M gpu=40 memory=3"
		echo "device uuid=GPU-b name=NVIDIA_H200 pci=0:66:00 minor=1 total=4000M reserved=0 used=0"
	} > devices.txt
	SIMNV=$PWD/devices.txt LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3 agent_start --allow "comm=agent-explained"
	wait_for 'device_has $explained "UUID=\"$uuid\"" 0 && device_has $explained "UUID=\"GPU-b\"" 0'
	# It may be either.
	named_puppet agent-explained
	puppet alloc 1000
	wait_for 'device_has $explained "gpu=\"0\"" 1000'
	ask /metrics | run ! grep "^$explained{.*UUID"
	puppet uuid
	wait_for 'device_has $explained "gpu=\"0\",UUID=\"$uuid\"" 1000 && device_has $explained "UUID=\"GPU-b\"" 0'
	agent_stop
	puppet_end
}

@test "when memory runs out, a bundle is written, and the ring stays" {
	local i

	mkdir -p state
	for i in 1 2 3 4 5 6 7 8; do
		echo x > "state/host-2026112${i}T000000.oom-1.mscope"
		touch -d "2026-11-2$i" "state/host-2026112${i}T000000.oom-1.mscope"
	done
	agent_start
	named_puppet agent-oom
	puppet alloc 1000
	echo "alloc $((1 << 50))" >&8
	wait_for 'has_bundle_of agent-oom' 600
	# It takes the place of the oldest one.
	wait_for '[ "$(ls state/*.mscope | wc -l)" -le 8 ]'
	[ ! -e state/host-20261121T000000.oom-1.mscope ]
	fresh
	ask /metrics | grep -q '^memscope_failed_calls_total{.*comm="agent-oom".*error="CUDA_ERROR_OUT_OF_MEMORY"} 1$'
	agent_stop
	[ -e state/ring/000001.mscope ]
}

@test "a disk without room: the agent says so at the start, and counts bundles that it cannot write" {
	mkdir small
	mount -t tmpfs -o size=24M tmpfs small
	agent_start --history=off --allow comm=agent-small --state-dir "$PWD/small"
	grep -qE "warning: --state-dir $PWD/small: there is room for 24(.0)? MiB on the disk, but the ring, 8 bundles of its size and the history can take 72(.0)? MiB" agent.err
	named_puppet agent-small
	puppet alloc 1000
	kill -USR1 "$OTHER_PID"
	wait_for 'ask /metrics | grep -q "^memscope_agent_bundles_total{.*result=\"written\"} 1$"'
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	assert_equal "$(series memscope_agent_bundles_total 'result="failed"') $(series memscope_agent_bundles_waiting '')" "0 0"
	head -c 40M /dev/zero > small/full || true
	kill -USR1 "$OTHER_PID"
	# It is due before it has been tried.
	wait_for 'ask /metrics > metrics.txt
		[ "$(series memscope_agent_bundles_waiting "")" = 1 ] && [ "$(series memscope_agent_bundles_total "result=\"failed\"")" -ge 1 ]'
	# The same is said once, however often it is tried, and again if it is asked for.
	wait_for 'ask /metrics | grep -qE "^memscope_agent_bundles_total\{.*result=\"failed\"\} ([2-9]|[1-9][0-9]+)$"'
	assert_equal "$(grep -c "cannot write the bundle: No space left on device; it is tried again and again$" agent.err)" 1
	kill -USR1 "$OTHER_PID"
	wait_for '[ "$(grep -c "cannot write the bundle: No space left on device" agent.err)" = 2 ]'
	rm small/full
	wait_for 'ask /metrics | grep -q "^memscope_agent_bundles_total{.*result=\"written\"} 2$"'
	wait_for 'ask /metrics | grep -q "^memscope_agent_bundles_waiting{.*} 0$"'
	# The ring may have been cut short, too, which its exit code says.
	kill -TERM "$OTHER_PID"
	wait "$OTHER_PID" || true
	puppet_end
}

@test "wrong options" {
	local option

	for option in "--listen nowhere" "--listen 127.0.0.1:0" "--listen unix:relative" "--socket relative" \
		"--ring 1K" "--series 1" "--state-dir /a%b" "--state-dir state" "--state-dir /dev/null" "extra"; do
		# shellcheck disable=SC2086 # two words
		run timeout 20 "$MEMSCOPE" agent $option
		assert_equal "$option: $status" "$option: 2"
	done
}
