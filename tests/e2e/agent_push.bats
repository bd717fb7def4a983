# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent --otlp`: what a collector gets, and what becomes of it when the collector does not take it.

load agent

setup_file() {
	ldconfig -p | grep -q 'libcurl\(-gnutls\)\?.so.4' || skip "libcurl is not installed"
}

eval "without_collector_$(declare -f teardown)"
teardown() {
	kill -9 ${COLLECTOR_PID:-} 2> /dev/null || true
	without_collector_teardown
}

collector_port() {
	echo $((12000 + ($$ * 7 + ${BATS_TEST_NUMBER:-0} * 131) % 7000))
}

# What it answers from now on: the file is never seen empty.
collector_answers() {
	echo "$1" > collector/mode.new
	mv collector/mode.new collector/mode
}

# collector_start [PATH]: it answers as `mode` says when this returns.
collector_start() {
	local place=${1:-$(collector_port)}

	mkdir -p collector
	[ -e collector/mode ] || collector_answers ok
	rm -f collector/listening
	/usr/bin/python3 "$BATS_TEST_DIRNAME/otlp_collector.py" "$place" "$PWD/collector" 2> collector.err 3>&- 8>&- 9<&- &
	COLLECTOR_PID=$!
	wait_for '[ -e collector/listening ]'
}

collector_end() {
	kill -9 "$COLLECTOR_PID"
	wait "$COLLECTOR_PID" || true
	COLLECTOR_PID=
}

push_start() {
	agent_start --otlp "http://localhost:$(collector_port)" --otlp-interval 1s "$@"
}

# metric NAME [FILTER]: of the newest that the collector has taken. The filter has $NAME as its $name.
metric() {
	tail -n 1 collector/taken.jsonl | jq -c --arg name "${NAME:-}" ".metrics[\"$1\"] | ${2:-.}"
}

# points NAME COMM: the sum over the points of programs of that name.
points() {
	metric "$1" "[.points[] | select(.attributes[\"process.executable.name\"] == \"$2\").as_int] | add"
}

taken() {
	cat collector/taken.jsonl 2> /dev/null | wc -l
}

# What /metrics says: $1, without memscope_agent_otlp_; $2: of its labels.
own() {
	ask /metrics > metrics.txt
	series "memscope_agent_otlp_$1" "${2:-}"
}

own_is() {
	[ "$(own "$1" "$2")" "$3" "$4" ]
}

@test "a collector gets what the ledger has, by the names that OpenTelemetry has for it" {
	local n

	collector_start
	push_start
	named_puppet agent-otlp
	puppet alloc 1000
	puppet alloc 3000
	puppet churn 20
	puppet copies 100
	puppet free
	fresh
	ask /api/v1/who > who.json
	n=$(taken)
	wait_for '[ "$(taken)" -ge $((n + 2)) ]'
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	assert_equal "$(tail -n 1 collector/taken.jsonl | jq -c '.resource | [.["service.name"], .["host.name"]]')" \
		"[\"memscope-bpf\",$(jq .host who.json)]"
	assert_equal "$(points process.gpu.memory.usage agent-otlp)" \
		"$(jq ".processes[] | select(.pid == $PUPPET_PID) | .device_bytes" who.json)"
	assert_equal "$(points process.gpu.memory.usage agent-otlp)" 1000
	assert_equal "$(metric process.gpu.memory.usage '[.kind, .unit, .is_monotonic, .aggregation_temporality]')" \
		'["sum","By",null,2]'
	assert_equal "$(points memscope_allocations agent-otlp)" 22
	assert_equal "$(metric memscope_allocations '[.kind, .unit, .is_monotonic, .aggregation_temporality]')" \
		'["sum","1",1,2]'
	for n in allocations allocated_bytes frees freed_bytes copies copied_bytes; do
		assert_equal "$n $(points "memscope_$n" agent-otlp)" \
			"$n $(series "memscope_${n}_total" 'comm="agent-otlp"')"
	done
	assert_equal "$(metric memscope_agent_ready '[.kind, .points[0].as_int]')" '["gauge",1]'
	# The histogram is that of the text.
	metric memscope_call_duration_seconds '.points[] | select(.attributes["process.executable.name"] == "agent-otlp"
		and .attributes.op == "free")' > histogram.json
	jq -e '.count == 21 and (.bucket_counts | length == 13 and add == 21) and (.explicit_bounds | length == 12)
		and .sum > 0 and .start < .time' histogram.json
	# The host is said once, and not of each point.
	tail -n 1 collector/taken.jsonl | jq -e '[.metrics[].points[].attributes | has("hostname")] | any | not'
	agent_stop
	puppet_end
}

@test "devices have the names of the conventions, and hostile names stay text" {
	local n name=$'otel"\\\n{}\x01'

	[ -e "$BUILT/simnv/3/libnvidia-ml.so.1" ] || skip "there is no simulated NVML"
	collector_start
	{
		echo "driver 580.159.04"
		echo "device uuid=GPU-a name=NVIDIA_H200 pci=0:65:00 minor=0 total=4000M reserved=615M used=1000M gpu=40 memory=3"
		echo "device uuid=GPU-b name=NVIDIA_H200 pci=0:66:00 minor=1 total=2000M reserved=615M used=0"
	} > devices.txt
	SIMNV=$PWD/devices.txt LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3 push_start
	named_puppet "$name"
	puppet alloc 4096
	wait_for 'metric hw.gpu.memory.usage .points | grep -q GPU-b'
	# The control character is written as four others, here as in all formats.
	NAME=$'otel"\\\n{}\\x01'
	wait_for 'metric process.gpu.memory.usage "[.points[] | select(.attributes[\"process.executable.name\"] == \$name).as_int]" |
		grep -qx "\[4096\]"'
	for n in usage=as_int limit=as_int utilization=as_double; do
		metric "hw.gpu.memory.${n%=*}" "[.kind, .unit, (.points[] | [.attributes[\"hw.id\"], .${n#*=}])]"
	done > devices.json
	diff - devices.json <<-'EXPECTED'
		["sum","By",["GPU-a",1048576000],["GPU-b",0]]
		["sum","By",["GPU-a",4194304000],["GPU-b",2097152000]]
		["gauge","1",["GPU-a",0.25],["GPU-b",0]]
	EXPECTED
	agent_stop
	puppet_end
}

@test "while the collector is down, intervals are kept; then all are sent, in order" {
	push_start
	wait_for 'own_is failed_attempts_total "" -ge 2 && own_is queue_batches "" -ge 3'
	collector_start
	wait_for 'own_is queue_batches "" = 0'
	assert_equal "$(own batches_total 'result="dropped"') $(own batches_total 'result="lost"')" "0 0"
	[ "$(own batches_total 'result="sent"')" -ge 4 ]
	agent_stop
	# Each came once, the oldest first.
	jq '.metrics.memscope_agent_ready.points[0].time' collector/taken.jsonl > times.txt
	[ "$(wc -l < times.txt)" -ge 4 ]
	diff times.txt <(sort -nu times.txt)
	assert_equal "$(grep -c "cannot push metrics to" agent.err)" 1
	assert_equal "$(grep -c "takes metrics again" agent.err)" 1
}

@test "a collector that is busy is asked again, not before it wants to be" {
	mkdir collector
	collector_answers "429 4"
	collector_start
	push_start
	wait_for '[ "$(grep -c " 429 " collector/requests.txt)" -ge 2 ]'
	collector_answers 503
	wait_for 'grep -q " 503 " collector/requests.txt'
	collector_answers ok
	wait_for 'own_is batches_total "result=\"sent\"" -ge 2'
	awk '$2 == 429 { if (at && $1 - at < 4) exit 1; at = $1 }' collector/requests.txt
	assert_equal "$(own batches_total 'result="refused"') $(own batches_total 'result="dropped"')" "0 0"
	[ "$(own failed_attempts_total)" -ge 3 ]
	grep -q "it answers with status 429" agent.err
	agent_stop
}

@test "what a collector refuses for good is lost, counted and said once" {
	mkdir collector
	collector_answers 400
	collector_start
	push_start
	wait_for 'own_is batches_total "result=\"refused\"" -ge 3'
	assert_equal "$(grep -c "refuses metrics with status 400" agent.err)" 1
	collector_answers "partial 7"
	wait_for 'own_is rejected_points_total "" -ge 14'
	assert_equal "$(grep -c 'has not taken 7 data points of the metrics: why??' agent.err)" 1
	# An internal error of a collector's must not be repeated, says the protocol.
	collector_answers 500
	wait_for 'grep -q "refuses metrics with status 500" agent.err'
	assert_equal "$(own failed_attempts_total)" 0
	agent_stop
}

@test "a collector that is slow, and begins anew, gets each interval; the agent answers meanwhile" {
	mkdir collector
	collector_answers "slow 3"
	collector_start
	push_start
	wait_for 'own_is queue_batches "" -ge 3'
	assert_equal "$(ask /health)" ok
	collector_end
	wait_for 'own_is failed_attempts_total "" -ge 1'
	collector_answers ok
	collector_start
	wait_for 'own_is queue_batches "" = 0'
	own batches_total 'result="sent"' > sent.txt
	assert_equal "$(own batches_total 'result="dropped"')" 0
	agent_stop
	# What was under way may have come twice.
	jq '.metrics.memscope_agent_ready.points[0].time' collector/taken.jsonl | sort -nu > times.txt
	[ "$(wc -l < times.txt)" -ge "$(cat sent.txt)" ]
}

@test "a collector that never answers is given up at the end; what it has not taken is kept for the next agent" {
	local kept

	mkdir collector
	collector_answers "slow 600"
	collector_start
	push_start
	wait_for 'own_is queue_batches "" -ge 2'
	agent_stop
	kept=$(sed -n 's/.*the agent ends: \([0-9]*\) intervals of metrics that .* has not taken are kept until it is started again/\1/p' agent.err)
	[ "$kept" -ge 3 ]
	collector_end
	collector_answers ok
	collector_start
	push_start
	wait_for '[ "$(own queue_restored_batches_total)" = "$kept" ] && own_is queue_batches "" = 0'
	agent_stop
	# Of both agents, and each in its time.
	jq '.metrics.memscope_agent_start_time_seconds.points[0].as_double' collector/taken.jsonl | sort -n | uniq -c > begun.txt
	assert_equal "$(wc -l < begun.txt) $(awk 'NR == 1 { print $1 }' begun.txt)" "2 $kept"
	jq '.metrics.memscope_agent_ready.points[0].time' collector/taken.jsonl > times.txt
	diff times.txt <(sort -nu times.txt)
}

@test "without a file for what is to be pushed, it is kept in memory, and what is lost is said and counted" {
	mkdir -p state/otlp.queue
	push_start
	grep -q 'otlp.queue: Is a directory' agent.err
	grep -q 'what is to be pushed by --otlp is kept in memory only' agent.err
	wait_for 'own_is queue_batches "" -ge 2'
	kill -9 "$(pgrep -P "$(pgrep -P "$OTHER_PID" memscope-pkeep)" memscope-push)"
	wait_for 'own_is restarts_total "" = 1'
	[ "$(own batches_total 'result="lost"')" -ge 2 ]
	wait_for 'own_is queue_batches "" -ge 2'
	agent_stop
	grep -q 'the agent ends: .* intervals of metrics that .* has not taken are lost' agent.err
}

@test "a file that cannot have been written so is set aside; a damaged interval is lost alone" {
	local kept

	mkdir state
	chmod 700 state
	echo "something else" > state/otlp.queue
	push_start
	grep -q 'otlp.queue is damaged, of another version or something else: now .*otlp.queue.damaged' agent.err
	assert_equal "$(cat state/otlp.queue.damaged)" "something else"
	wait_for 'own_is queue_batches "" -ge 3'
	agent_kill
	# In the middle of the first one.
	printf '\377\001\377' | dd of=state/otlp.queue bs=1 seek=$((16384 + 1000)) conv=notrunc 2> dd.err
	push_start
	wait_for '[ "$(own batches_total "result=\"damaged\"")" = 1 ]'
	kept=$(own queue_restored_batches_total)
	[ "$kept" -ge 2 ]
	grep -q '1 interval of metrics that was kept for http.* is damaged, and lost' agent.err
	collector_start
	wait_for 'own_is queue_batches "" = 0'
	assert_equal "$(own batches_total 'result="refused"') $(own batches_total 'result="lost"')" "0 0"
	agent_stop
	jq '.metrics.memscope_agent_start_time_seconds.points[0].as_double' collector/taken.jsonl | sort -n | uniq -c > begun.txt
	assert_equal "$(wc -l < begun.txt) $(awk 'NR == 1 { print $1 }' begun.txt)" "2 $kept"
}

@test "the process that pushes has no privilege, little memory, and is started again" {
	local pusher i

	push_start
	pusher=$(pgrep -P "$(pgrep -P "$OTHER_PID" memscope-pkeep)" memscope-push)
	assert_equal "$(awk '/^(CapEff|CapPrm|NoNewPrivs|Seccomp|Uid):/ { print $1 $2 }' "/proc/$pusher/status" | xargs)" \
		"Uid:$(agent_children_uid) CapPrm:0000000000000000 CapEff:0000000000000000 NoNewPrivs:1 Seccomp:2"
	wait_for 'own_is queue_batches "" -ge 2'
	[ "$(awk '/^VmRSS:/ { print $2 }' "/proc/$pusher/status")" -lt 16384 ]
	kill -9 "$pusher"
	wait_for 'own_is restarts_total "" = 1'
	collector_start
	wait_for 'own_is batches_total "result=\"sent\"" -ge 3 && own_is queue_batches "" = 0'
	assert_equal "$(own batches_total 'result="lost"') $(own queue_restored_batches_total)" "0 0"
	agent_stop
	# What the first one had was sent by the second one, once.
	jq '.metrics.memscope_agent_ready.points[0].time' collector/taken.jsonl > times.txt
	diff times.txt <(sort -nu times.txt)
}

@test "a collector behind a Unix socket, and one whose certificate nothing vouches for" {
	collector_start "$PWD/otel.sock"
	chmod o+x . .. ../.. 2> /dev/null || true
	agent_start --otlp "unix:$PWD/otel.sock" --otlp-interval 1s
	wait_for 'own_is batches_total "result=\"sent\"" -ge 1'
	agent_stop
	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout key.pem -out cert.pem 2> openssl.err
	PORT_TLS=$(collector_port)
	openssl s_server -accept "$PORT_TLS" -key key.pem -cert cert.pem -quiet > server.txt 2>&1 3>&- < /dev/null &
	kill -9 "$COLLECTOR_PID"
	COLLECTOR_PID=$!
	# What fails first is said, and nothing else until that is over.
	wait_for '(: < "/dev/tcp/127.0.0.1/$PORT_TLS") 2> connect.err'
	agent_start --otlp "https://127.0.0.1:$PORT_TLS" --otlp-interval 1s
	wait_for 'grep -q "cannot push metrics to https://127.0.0.1:$PORT_TLS: .*certificate" agent.err'
	assert_equal "$(own batches_total 'result="sent"')" 0
	agent_stop
}

@test "URLs that are none" {
	local line message

	while IFS='|' read -r line message; do
		run "$MEMSCOPE" agent --check-config --otlp "$line"
		assert_equal "$line: $status" "$line: 2"
		[[ "$output" == *"$message"* ]] || fail "$line: $output"
	done <<'CASES'
127.0.0.1:4318|it begins with http://, https:// or unix:
http://|it has a host
http://:4318|it has a host
http://user:word@collector:4318|no user and password
http://a b|only printable ASCII
http://a#b|no fragment
unix:relative|begins with /
CASES
	run "$MEMSCOPE" agent --check-config --otlp http://user:secret@collector:4318
	[[ "$output" == *'"http://...@collector:4318"'* && "$output" != *secret* ]] || fail "$output"
	"$MEMSCOPE" agent --check-config --otlp http://collector:4318/x?y=z
	run "$MEMSCOPE" agent --check-config --otlp-interval 100ms
	assert_equal "$status" 2
	[[ "$output" == *"is not between 1s and 1h"* ]]
}
