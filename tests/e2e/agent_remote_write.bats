# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent --remote-write`: what a real Prometheus gets. Where there is none, nothing is tested here: the
# unit tests and those of --otlp have what both have in common.

load agent

setup_file() {
	ldconfig -p | grep -q 'libcurl\(-gnutls\)\?.so.4' || skip "libcurl is not installed"
	command -v prometheus > /dev/null || skip "Prometheus is not installed"
}

eval "without_prometheus_$(declare -f teardown)"
teardown() {
	kill -9 ${PROMETHEUS_PID:-} 2> /dev/null || true
	without_prometheus_teardown
}

# Another port for each test, below those that the kernel gives to connections.
prometheus_port() {
	echo $((12000 + ($$ * 7 + ${BATS_TEST_NUMBER:-0} * 131) % 7000))
}

# prometheus_start [SCHEME [CURL'S OPTIONS]]: it takes what is written when this returns.
prometheus_start() {
	local scheme=${1:-http}

	shift $(($# > 0))
	RECEIVER="$scheme://localhost:$(prometheus_port)"
	[ -e prometheus.yml ] || echo 'global: { scrape_interval: 1h }' > prometheus.yml
	prometheus --config.file=prometheus.yml --storage.tsdb.path="$PWD/tsdb" --web.enable-remote-write-receiver \
		--web.listen-address="127.0.0.1:$(prometheus_port)" ${WEB:+--web.config.file="$WEB"} \
		> prometheus.out 2>&1 3>&- 8>&- 9<&- &
	PROMETHEUS_PID=$!
	wait_for "curl -sf -o /dev/null $* $RECEIVER/-/ready"
}

prometheus_end() {
	kill -TERM "$PROMETHEUS_PID"
	wait "$PROMETHEUS_PID" || true
	PROMETHEUS_PID=
}

# stored QUERY: the first value that the Prometheus has.
stored() {
	curl -s ${CURL_OPTIONS:-} "$RECEIVER/api/v1/query" --data-urlencode "query=$1" -d nocache=1 | jq -r '.data.result[0].value[1] // "none"'
}

own() {
	ask /metrics > metrics.txt
	series "memscope_agent_remote_write_$1" "${2:-}"
}

# When the agent began.
own_time() {
	ask /metrics | awk '/^memscope_agent_start_time_seconds/ { print $2 }'
}

own_is() {
	[ "$(own "$1" "$2")" "$3" "$4" ]
}

@test "a real Prometheus has the same series and values as the text, and knows which have ended" {
	local name=$'rw"\\\n{}\x01' compared

	prometheus_start
	agent_start --remote-write "$RECEIVER" --remote-write-interval 1s --allow "comm=rw*"
	named_puppet "$name"
	puppet alloc 1000
	puppet alloc 3000
	puppet churn 20
	puppet copies 100
	puppet free
	wait_for '[ "$(stored "memscope_process_gpu_memory_live_bytes{comm=~\"(?s)rw.*\", kind=\"device\"}")" = 1000 ]'
	# Other processes' calls may come in between.
	wait_for 'fresh; ask /metrics > metrics.txt; /usr/bin/python3 "$BATS_TEST_DIRNAME/remote_write_check.py" "$RECEIVER" \
		metrics.txt > compared.txt 2> different.txt'
	compared=$(cat compared.txt)
	[ "$compared" -gt 30 ]
	assert_equal "$(stored 'memscope_allocations_total{comm=~"(?s)rw.*"}')" 22
	assert_equal "$(stored 'memscope_call_duration_seconds_bucket{comm=~"(?s)rw.*", op="free", le="+Inf"}')" 21
	assert_equal "$(own batches_total 'result="refused"') $(own failed_attempts_total)" "0 0"
	# The process ends: its gauges end with it, at once, and its counters stay.
	puppet_end
	wait_for '[ "$(stored "memscope_process_gpu_memory_live_bytes{comm=~\"(?s)rw.*\"}")" = none ]'
	assert_equal "$(stored 'memscope_allocations_total{comm=~"(?s)rw.*"}')" 22
	# What the agent had when it ended is there, too.
	agent_stop
	wait_for '[ "$(stored memscope_agent_ready)" = 0 ]'
}

@test "VictoriaMetrics has the same series and values" {
	command -v victoria-metrics > /dev/null || skip "VictoriaMetrics is not installed"
	RECEIVER=http://localhost:$(prometheus_port)
	# It answers about what is half a minute old, if it is not told otherwise.
	victoria-metrics -storageDataPath="$PWD/storage" -httpListenAddr="127.0.0.1:$(prometheus_port)" \
		-search.latencyOffset=0s -retentionPeriod=1d > prometheus.out 2>&1 3>&- 8>&- 9<&- &
	PROMETHEUS_PID=$!
	wait_for 'curl -sf -o /dev/null "$RECEIVER/health"'
	agent_start --remote-write "$RECEIVER" --remote-write-interval 1s --allow "comm=vm-puppet"
	named_puppet vm-puppet
	puppet alloc 1000
	puppet churn 20
	wait_for 'fresh; ask /metrics > metrics.txt; /usr/bin/python3 "$BATS_TEST_DIRNAME/remote_write_check.py" "$RECEIVER" \
		metrics.txt > compared.txt 2> different.txt'
	[ "$(cat compared.txt)" -gt 30 ]
	assert_equal "$(own batches_total 'result="refused"') $(own failed_attempts_total)" "0 0"
	puppet_end
	wait_for '[ "$(stored "memscope_process_gpu_memory_live_bytes{comm=\"vm-puppet\"}")" = none ]'
	assert_equal "$(stored 'memscope_allocations_total{comm="vm-puppet"}')" 21
	agent_stop
}

@test "a Prometheus that is down gets each interval later, and in order" {
	local missing

	PORT_OF_RECEIVER=$(prometheus_port)
	agent_start --remote-write "http://localhost:$PORT_OF_RECEIVER" --remote-write-interval 1s
	wait_for 'own_is failed_attempts_total "" -ge 2 && own_is queue_batches "" -ge 3'
	prometheus_start
	wait_for 'own_is queue_batches "" = 0'
	prometheus_end
	wait_for 'own_is queue_batches "" -ge 3'
	prometheus_start
	wait_for 'own_is queue_batches "" = 0'
	assert_equal "$(own batches_total 'result="dropped"') $(own batches_total 'result="lost"') $(own batches_total 'result="refused"')" \
		"0 0 0"
	own batches_total 'result="sent"' > sent.txt
	missing=$(own batches_total 'result="missed"')
	agent_stop
	# One sample for each interval that was sent, and those of the end. On a busy machine some are missed, and said.
	[ "$(stored 'count_over_time(memscope_agent_start_time_seconds[10m])')" -ge "$(cat sent.txt)" ]
	[ "$(cat sent.txt)" -gt "$missing" ]
	assert_equal "$(grep -c "takes metrics again" agent.err)" 2
}

# samples QUERY: time and value of each sample that the Prometheus has of one series, sorted.
samples() {
	curl -s "$RECEIVER/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[].values[] | "\(.[0]) \(.[1])"' | sort -n
}

@test "an agent that is killed while Prometheus is down, and started again, loses nothing of what it had" {
	local begun restored n

	PORT_OF_RECEIVER=$(prometheus_port)
	agent_start --remote-write "http://localhost:$PORT_OF_RECEIVER" --remote-write-interval 1s
	wait_for 'own_is queue_batches "" -ge 4'
	begun=$(own_time)
	agent_kill
	agent_start --remote-write "http://localhost:$PORT_OF_RECEIVER" --remote-write-interval 1s
	[ "$(own_time)" != "$begun" ]
	wait_for 'own_is queue_restored_batches_total "" -ge 4'
	restored=$(own queue_restored_batches_total)
	grep -q "$restored intervals of metrics from before are still to be sent to http" agent.err
	# Killed again, with what is from both.
	wait_for 'own_is queue_batches "" -ge $((restored + 2))'
	agent_kill
	agent_start --remote-write "http://localhost:$PORT_OF_RECEIVER" --remote-write-interval 1s
	wait_for 'own_is queue_restored_batches_total "" -ge $((restored + 2))'
	n=$(own queue_restored_batches_total)
	prometheus_start
	wait_for 'own_is queue_batches "" = 0'
	assert_equal "$(own batches_total 'result="dropped"') $(own batches_total 'result="lost"') $(own batches_total 'result="refused"') $(own batches_total 'result="damaged"')" \
		"0 0 0 0"
	[ "$(own batches_total 'result="sent"')" -ge "$n" ]
	agent_stop
	samples 'memscope_agent_start_time_seconds[10m]' > samples.txt
	# So many intervals of the first agent; of all that were killed together; and each moment once.
	assert_equal "$(awk 'NR == 1 { first = $2 } $2 == first' samples.txt | wc -l)" "$restored"
	assert_equal "$(awk '{ value[NR] = $2 } END { for (i = 1; i <= NR; i++) n += value[i] != value[NR]; print n }' samples.txt)" "$n"
	diff <(cut -d " " -f 1 samples.txt) <(cut -d " " -f 1 samples.txt | sort -nu)
	assert_equal "$(cut -d " " -f 2 samples.txt | uniq | wc -l)" 3
}

@test "what a Prometheus does not take is lost, said with its words, and counted" {
	prometheus_start
	agent_start --remote-write "$RECEIVER/api/v1/query" --remote-write-interval 1s
	wait_for 'own_is batches_total "result=\"refused\"" -ge 2'
	assert_equal "$(grep -c "refuses metrics with status 4.*is it the URL of a receiver of Prometheus' remote write" agent.err)" 1
	agent_stop
}

# In the directory tls: an authority, a server's certificate, and a client's.
make_certificates() {
	mkdir tls
	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=authority -days 2 -keyout tls/ca.key -out tls/ca.pem
	for name in localhost agent; do
		openssl req -newkey rsa:2048 -nodes -subj "/CN=$name" -addext "subjectAltName=DNS:$name" \
			-keyout "tls/$name.key" -out "tls/$name.csr"
		openssl x509 -req -in "tls/$name.csr" -CA tls/ca.pem -CAkey tls/ca.key -CAcreateserial -days 2 \
			-copy_extensions copy -out "tls/$name.pem"
	done
	chmod 600 tls/*
} 2> openssl.err

@test "over https, with a private authority, a certificate of its own and a password" {
	make_certificates
	# The password is: secret
	cat > web.yml <<-'YAML'
		tls_server_config: { cert_file: tls/localhost.pem, key_file: tls/localhost.key, client_auth_type: RequireAndVerifyClientCert, client_ca_file: tls/ca.pem }
		basic_auth_users: { bob: $2b$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u }
	YAML
	WEB=web.yml CURL_OPTIONS="--cacert tls/ca.pem --cert tls/agent.pem --key tls/agent.key -u bob:secret"
	prometheus_start https "$CURL_OPTIONS"
	cat > client <<-LINES
		header = Authorization: Basic $(printf bob:wrong | base64)
		ca-file = $PWD/tls/ca.pem
		cert-file = $PWD/tls/agent.pem
		key-file = $PWD/tls/agent.key
	LINES
	chmod 600 client
	agent_start --remote-write "$RECEIVER" --remote-write-interval 1s --remote-write-client "$PWD/client"
	wait_for 'own_is batches_total "result=\"refused\"" -ge 1'
	grep -q "refuses metrics with status 401.*--remote-write-client has what it wants to know" agent.err
	# The file is read when the process starts.
	sed -i "s|Basic .*|Basic $(printf bob:secret | base64)|" client
	kill -9 "$(pgrep -P "$(pgrep -P "$OTHER_PID" memscope-wkeep)" memscope-write)"
	wait_for 'own_is batches_total "result=\"sent\"" -ge 2'
	wait_for '[ "$(stored memscope_agent_ready)" = 1 ]'
	agent_stop
	# Without the authority, it is not believed.
	sed -i '/^ca-file/d' client
	agent_start --remote-write "$RECEIVER" --remote-write-interval 1s --remote-write-client "$PWD/client"
	wait_for 'grep -q "cannot push metrics to $RECEIVER: .*certificate" agent.err'
	assert_equal "$(own batches_total 'result="sent"')" 0
	agent_stop
	# The passwords are in no log and no process's arguments.
	run grep -r "$(printf bob:secret | base64)" agent.err
	assert_equal "$status" 1
}
