# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent --web-config`: TLS, passwords and clients' certificates.

load agent

eval "without_prometheus_$(declare -f teardown)"
teardown() {
	kill -9 ${PROMETHEUS_PID:-} 2> /dev/null || true
	without_prometheus_teardown
}

# In the directory tls: an authority, certificates of the server and of a client, and those of another authority.
make_certificates() {
	mkdir tls
	for name in ca other-ca; do
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" -days 2 \
			-keyout "tls/$name.key" -out "tls/$name.pem"
	done
	for name in localhost client other; do
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" \
			-addext "subjectAltName=DNS:$name" -keyout "tls/$name.key" -out "tls/$name.csr"
		openssl x509 -req -in "tls/$name.csr" -CA "tls/$([ "$name" != other ] || echo other-)ca.pem" \
			-CAkey "tls/$([ "$name" != other ] || echo other-)ca.key" -CAcreateserial -days 2 \
			-copy_extensions copy -out "tls/$name.pem"
	done
	chmod 600 tls/*
} 2> openssl.err

# The password is: secret
HASH='$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW'

# secure PATH [curl's options]
secure() {
	curl -sS --max-time 30 --cacert tls/ca.pem "https://localhost:$PORT$1" "${@:2}"
}

status_of() {
	secure "$@" -o /dev/null -w '%{http_code}\n'
}

@test "TLS and passwords: who knows one is answered, over the socket everyone as before" {
	local before i

	make_certificates
	hash=$(/usr/bin/python3 -c 'import crypt; print(crypt.crypt("secret", "$2b$04$abcdefghijklmnopqrstuu"))')
	cat > web.yml <<-YAML
		tls_server_config:
		  cert_file: tls/localhost.pem
		  key_file: tls/localhost.key
		http_server_config:
		  headers:
		    Strict-Transport-Security: max-age=600
		basic_auth_users:
		  bob: $hash
	YAML
	promtool check web-config web.yml
	agent_start --web-config "$PWD/web.yml"
	wait_for '[ "$(status_of /health)" = 401 ]'
	[ "$(secure / -D - -o /dev/null | grep -ci '^www-authenticate: Basic realm=')" = 1 ]
	assert_equal "$(status_of /health -u bob:secret) $(status_of /metrics -u bob:wrong) $(status_of /x -u eve:secret)" "200 401 401"
	assert_equal "$(status_of /nothing)" 401
	secure /metrics -u bob:secret > metrics.txt
	promtool check metrics < metrics.txt
	secure / -u bob:secret -D - -o /dev/null | grep -qi '^strict-transport-security: max-age=600'
	# The socket asks the kernel instead.
	curl -sS --unix-socket query http://localhost/api/v1/who | jq -e '.schema == "memscope-bpf/agent-who/1"'
	# Neither without TLS, nor with an old one.
	run curl -s "http://localhost:$PORT/health"
	[ "$output" != ok ]
	run secure /health -u bob:secret --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0
	[ "$status" != 0 ]
	# Who tries many passwords is told to wait; who knows one is answered meanwhile.
	for i in $(seq 12); do
		status_of /health -u "bob:$i" > "status.$i" &
	done
	wait $(jobs -p | grep -vx "$OTHER_PID")
	cat status.* > statuses.txt
	grep -qx 429 statuses.txt
	[ "$(grep -cvx '401\|429' statuses.txt)" = 0 ]
	assert_equal "$(status_of /health -u bob:secret)" 200
	# A large answer, and 20 clients at a time.
	secure /api/v1/who -u bob:secret | jq -e .schema
	for i in $(seq 20); do
		status_of /metrics -u bob:secret > "one.$i" &
	done
	wait $(jobs -p | grep -vx "$OTHER_PID")
	assert_equal "$(cat one.* | sort | uniq -c | xargs)" "20 200"
	agent_stop
	run grep -c 'secret\|PRIVATE' agent.err
	assert_equal "$output" 0
}

@test "the real Prometheus scrapes it, with a certificate and a password" {
	local target

	command -v prometheus > /dev/null || skip "Prometheus is not installed"
	make_certificates
	hash=$(/usr/bin/python3 -c 'import crypt; print(crypt.crypt("secret", "$2b$04$abcdefghijklmnopqrstuu"))')
	cat > web.yml <<-YAML
		tls_server_config:
		  cert_file: tls/localhost.pem
		  key_file: tls/localhost.key
		  client_auth_type: RequireAndVerifyClientCert
		  client_ca_file: tls/ca.pem
		basic_auth_users:
		  bob: $hash
	YAML
	promtool check web-config web.yml
	agent_start --web-config "$PWD/web.yml"
	cat > prometheus.yml <<-YAML
		scrape_configs:
		  - job_name: memscope
		    scheme: https
		    scrape_interval: 1s
		    basic_auth: { username: bob, password: secret }
		    tls_config: { ca_file: tls/ca.pem, cert_file: tls/client.pem, key_file: tls/client.key }
		    static_configs: [ { targets: [ "localhost:$PORT" ] } ]
	YAML
	target=localhost:$((PORT - 8001)) # below those that the kernel gives to connections
	prometheus --config.file=prometheus.yml --storage.tsdb.path="$PWD/tsdb" --web.listen-address="$target" \
		> prometheus.out 2>&1 3>&- 8>&- 9<&- &
	PROMETHEUS_PID=$!
	wait_for 'curl -s "http://'$target'/api/v1/query?query=memscope_agent_ready" | jq -e ".data.result[0].value[1] == \"1\""'
	kill "$PROMETHEUS_PID"
	wait "$PROMETHEUS_PID" || true
	agent_stop
}

@test "clients without the right certificate get no answer" {
	local type

	make_certificates
	for type in RequireAndVerifyClientCert VerifyClientCertIfGiven RequireAnyClientCert NoClientCert; do
		cat > web.yml <<-YAML
			tls_server_config:
			  cert_file: $PWD/tls/localhost.pem
			  key_file: $PWD/tls/localhost.key
			  client_auth_type: $type
		YAML
		[[ "$type" != *Verify* ]] || echo "  client_ca_file: tls/ca.pem" >> web.yml
		promtool check web-config web.yml
		agent_start --web-config "$PWD/web.yml"
		wait_for 'secure /health --cert tls/client.pem --key tls/client.key > /dev/null 2>&1'
		{
			echo "$type"
			status_of /health --cert tls/client.pem --key tls/client.key || true
			status_of /health --cert tls/other.pem --key tls/other.key 2> /dev/null || true
			status_of /health 2> /dev/null || true
		} | xargs
		agent_stop
	done > answers.txt
	# Its own, one of another authority, none
	diff - answers.txt <<-'EXPECTED'
		RequireAndVerifyClientCert 200 000 000
		VerifyClientCertIfGiven 200 000 200
		RequireAnyClientCert 200 200 000
		NoClientCert 200 200 200
	EXPECTED
}

@test "SIGHUP takes new certificates and passwords, and a broken file changes nothing" {
	make_certificates
	cat > web.yml <<-YAML
		tls_server_config:
		  cert_file: tls/localhost.pem
		  key_file: tls/localhost.key
	YAML
	agent_start --web-config "$PWD/web.yml"
	wait_for '[ "$(status_of /health)" = 200 ]'
	echo "basic_auth_users: [ bob ]" >> web.yml
	kill -HUP "$OTHER_PID"
	wait_for 'grep -q "web.yml:4: " agent.err'
	assert_equal "$(status_of /health)" 200
	sed -i '$d' web.yml
	# The key of another certificate is as bad.
	sed -i 's|tls/localhost.key|tls/client.key|' web.yml
	kill -HUP "$OTHER_PID"
	wait_for 'grep -q "web.yml: cannot serve with cert_file and key_file: " agent.err'
	assert_equal "$(status_of /health)" 200
	run "$MEMSCOPE" agent --check-config --web-config "$PWD/web.yml"
	assert_equal "$status" 2
	sed -i 's|tls/client.key|tls/localhost.key|' web.yml
	printf 'basic_auth_users:\n  bob: %s\n' "$HASH" >> web.yml
	kill -HUP "$OTHER_PID"
	wait_for '[ "$(status_of /health)" = 401 ]'
	wait_for 'grep -q "no setting has changed; the files of --web-config have been read, too$" agent.err'
	run grep -c "has ended; starting it again" agent.err
	assert_equal "$output" 0
	secure /metrics -u bob:secret > metrics.txt
	assert_equal "$(awk '/^memscope_agent_http_restarts_total/ { print $2 }' metrics.txt)" 0
	agent_stop
}

@test "web configurations that are none are refused, with the line" {
	echo "basic_auth_users:" > web.yml
	echo "  bob: secret" >> web.yml
	run "$MEMSCOPE" agent --check-config --web-config "$PWD/web.yml"
	assert_equal "$status" 2
	[[ "$output" == *"web.yml:2: a password is a hash of bcrypt's"* ]]
	run "$MEMSCOPE" agent --check-config --web-config web.yml
	[[ "$output" == *"is not an absolute path"* ]]
	: > web.yml
	"$MEMSCOPE" agent --check-config --web-config "$PWD/web.yml"
	run "$MEMSCOPE" agent --check-config --web-config "$PWD/web.yml" --listen off
	assert_equal "$status" 2
	[[ "$output" == *"is for an address and port of --listen, which is off" ]]
	run "$MEMSCOPE" agent --check-config --web-config "$PWD/web.yml" --listen "unix:$PWD/query"
	[[ "$output" == *"is for an address and port of --listen: on a Unix socket, the kernel says who asks" ]]
}
