# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent`: its configuration, what it tells a service manager, and with which rights it runs.

load agent

# show NAME: the setting, and where it comes from.
shown() {
	grep -B1 "^$1 = " shown.txt | xargs
}

@test "a flag goes before a variable, that before the file, and that before the default" {
	cat > agent.conf <<'CONFIG'
# A remark.

ring = 64M
  series =   700
state-dir=/file
CONFIG
	MEMSCOPE_SERIES=800 MEMSCOPE_STATE_DIR=/variable "$MEMSCOPE" agent --config agent.conf --show-config \
		--state-dir /flag > shown.txt
	assert_equal "$(shown listen)" "# default listen = 127.0.0.1:9750"
	assert_equal "$(shown ring)" "# agent.conf:3 ring = 64M"
	assert_equal "$(shown series)" "# MEMSCOPE_SERIES series = 800"
	assert_equal "$(shown state-dir)" "# --state-dir state-dir = /flag"
	# What it prints is a file that says the same.
	"$MEMSCOPE" agent --config shown.txt --show-config | grep -v '^#' > again.txt
	diff <(grep -v '^#' shown.txt) again.txt
	"$MEMSCOPE" agent --config agent.conf --check-config
	MEMSCOPE_CONFIG=agent.conf "$MEMSCOPE" agent --show-config | grep -qx 'ring = 64M'
}

@test "a name that is no setting is refused, and with --lenient only said" {
	printf 'ring = 64M\nrign-time = 3h\nfuture = 1\nseries = 700\n' > agent.conf
	run "$MEMSCOPE" agent --config agent.conf --check-config
	assert_equal "$status" 2
	[[ "$output" == *'agent.conf:2: "rign-time" is no setting (--show-config lists them); did you mean "ring-time"?' ]]
	"$MEMSCOPE" agent --config agent.conf --lenient --show-config > shown.txt 2> err.txt
	assert_equal "$(shown series)" "# agent.conf:4 series = 700"
	assert_equal "$(shown ring-time)" "# default ring-time = 24h"
	grep 'warning: agent.conf:2: "rign-time" .*; it is left out' err.txt
	grep 'warning: agent.conf:3: "future" is no setting (--show-config lists them); it is left out' err.txt
	# A line that says nothing is one that was not meant.
	echo 'series 700' > agent.conf
	run "$MEMSCOPE" agent --config agent.conf --lenient --check-config
	assert_equal "$status" 2
}

@test "a misspelled variable is refused, and those of others are not looked at" {
	MEMSCOPE_BPF_SERVICE_HOST=10.0.0.1 MEMSCOPE_RING=64M "$MEMSCOPE" agent --check-config
	run env MEMSCOPE_STATEDIR=/x "$MEMSCOPE" agent --check-config
	assert_equal "$status" 2
	[[ "$output" == *"the environment variable MEMSCOPE_STATEDIR sets nothing; did you mean MEMSCOPE_STATE_DIR?" ]]
	run env MEMSCOPE_deny=comm=x "$MEMSCOPE" agent --check-config
	assert_equal "$status" 2
	[[ "$output" == *"the environment variable MEMSCOPE_deny sets nothing; did you mean MEMSCOPE_DENY?" ]]
	run env MEMSCOPE_STATEDIR=/x "$MEMSCOPE" agent --lenient --check-config
	assert_equal "$status" 0
	[[ "$output" == *"warning: the environment variable MEMSCOPE_STATEDIR sets nothing"* ]]
}

@test "a rule about a user who does not exist is said to be about no process" {
	run -0 "$MEMSCOPE" agent --check-config --allow "user=root,user=no.such.user"
	[[ "$output" == *'warning: --allow: this machine has no user "no.such.user" now: the rule is about no process'* ]]
	run -0 "$MEMSCOPE" agent --check-config --allow "user=no.one,user=root,user=no.two, user=no.one"
	[[ "$output" == *'warning: --allow: this machine has no user "no.one", "no.two" now: the rules are about no process'* ]]
	run -0 "$MEMSCOPE" agent --check-config --deny "user=root,user=no.such.*,user=12345"
	[[ "$output" != *warning* ]]
}

@test "a socket whose directory is missing is named, when it is checked and when it starts" {
	needs_http
	echo "socket = $PWD/none/query" > agent.conf
	run -0 "$MEMSCOPE" agent --config agent.conf --check-config
	[[ "$output" == *"warning: --socket $PWD/none/query: its directory does not exist: the agent does not start until"* ]]
	# shellcheck disable=SC2086 # may be empty
	run -1 timeout 60 "$MEMSCOPE" agent $MASK --config agent.conf --state-dir "$PWD/state" --listen off
	[[ "$output" == *"--socket $PWD/none/query: No such file or directory; its directory does not exist: create that,"* ]]
	mkdir none
	run -0 "$MEMSCOPE" agent --config agent.conf --check-config
	[[ "$output" != *warning* ]]
}

@test "a file that is not understood is refused, with the line" {
	local line message

	while IFS='|' read -r line message; do
		printf '# one\n%b\n' "$line" > agent.conf
		run "$MEMSCOPE" agent --config agent.conf --check-config
		assert_equal "$line: $status" "$line: 2"
		[[ "$output" == *"$message"* ]] || fail "$line: $output"
	done <<'CASES'
rign = 1G|agent.conf:2: "rign" is no setting (--show-config lists them); did you mean "ring"?
ring-size = 1G|"ring-size" is no setting (--show-config lists them); did you mean "ring"?
ring-tiem = 1h|"ring-tiem" is no setting (--show-config lists them); did you mean "ring-time"?
ring = 1G # large|this comes from agent.conf:2: the # and what follows belong to the value
ring-time = 1w|write 90, 90s, 1m30s, 24h, 7d or 500ms
allow = user=root user=nobody|rules are separated by commas, as in user=alice,user=bob
bundle-on = process=40|a size is like 40G, and at least 1M
ring 1G|agent.conf:2: this is not "name = value"; write ring = 1G
ring: 1G|agent.conf:2: this is not "name = value"; write ring = 1G
ring:1G|agent.conf:2: this is not "name = value"; write ring = 1G
otlp: http://a/x?y=secret|agent.conf:2: this is not "name = value"; write otlp = http://a/...
ring|agent.conf:2: this is not "name = value", as in ring = 1G
[agent]|agent.conf:2: this is not "name = value", as in ring = 1G
ring = 1 G|"1 G" is not a size; write 4096, 64K, 1.5M or 2G (or 2GiB, which is the same), without spaces
stack-memory = "1G"|""1G"" is not a size; write 4096, 64K, 1.5M or 2G (or 2GiB, which is the same), without quotes
history = 99999999999G|"99999999999G" is too large a size
ring =|agent.conf:2: "ring" has no value
ring = 1K|this comes from agent.conf:2
ring = 1G\nring = 2G|agent.conf:3: "ring" is already set in line 2
listen = somewhere|this comes from agent.conf:2
listen = 127.0.0.1:99999|ports are 1 to 65535
stacks = yes|stacks: "yes" is no value of it; write alloc
stacks = none|this comes from agent.conf:2
state-dir = state|this comes from agent.conf:2
state-dir = /dev/null|/dev/null is not a directory
state-dir = /dev/null/state|/dev/null/state is not a directory
budget = 0.5|"0.5" is not a percentage
budget = 101%|"101%" is not a percentage
budget = 0%|"0%" is not a percentage
budget = 0.00001%|"0.00001%" is not a percentage
budget = 1.%|"1.%" is not a percentage
verbose = perhaps|"perhaps" is not yes or no
check-config = yes|agent.conf:2: "check-config" cannot be set here
CASES
	run "$MEMSCOPE" agent --config none.conf --check-config
	assert_equal "$status" 2
	MEMSCOPE_RING=1K run "$MEMSCOPE" agent --check-config
	assert_equal "$status" 2
	[[ "$output" == *"this comes from MEMSCOPE_RING"* ]]
	MEMSCOPE_BUFFER=1X run "$MEMSCOPE" agent --check-config
	[[ "$output" == *'"1X" is not a size; write 4096'*"this comes from MEMSCOPE_BUFFER"* ]]
	run "$MEMSCOPE" agent --check-config --stack-memory=1X
	[[ "$output" == *'--stack-memory: "1X" is not a size; write 4096'* ]]
	printf 'ring = 1G\0\n' > agent.conf
	run "$MEMSCOPE" agent --config agent.conf --check-config
	assert_equal "$status" 2
}

@test "a file that others could have written is refused" {
	echo 'ring = 64M' > agent.conf
	chmod 666 agent.conf
	run "$MEMSCOPE" agent --config agent.conf --check-config
	assert_equal "$status" 2
	[[ "$output" == *"others could have written it"* ]]
	chmod 644 agent.conf
	chown 12345 agent.conf
	run "$MEMSCOPE" agent --config agent.conf --check-config
	assert_equal "$status" 2
	run "$MEMSCOPE" agent --config /dev/null --check-config
	assert_equal "$status" 2
}

# The value of one of the agent's own series.
own() {
	ask /metrics | awk -v name="memscope_agent_$1" 'index($1, name) == 1 && index($1, ENVIRON["LABEL"]) { print $2 }'
}

@test "SIGHUP: what can change does, what cannot is said, and a broken file changes nothing" {
	echo 'ring-time = 1h' > agent.conf
	agent_start --config agent.conf --ring 16M
	assert_equal "$(own recorder_limit_bytes)" 16777216
	agent_stop
	printf 'ring = 16M\nseries = 300\n' > agent.conf
	RING= BUDGET= agent_start --config agent.conf
	assert_equal "$(own budget_ratio)" 0.005000000
	printf 'ring = 32M\nseries = 400\nbudget = 2.5%%\n' > agent.conf
	kill -HUP "$OTHER_PID"
	wait_for 'grep -q "has been read again" agent.err'
	grep -q "memscope-bpf: ring: 16M -> 32M (agent.conf:1)$" agent.err
	grep -q "memscope-bpf: budget: 0.5% -> 2.5% (agent.conf:3)$" agent.err
	grep -q "warning: series: 300 -> 400 (agent.conf:2): this takes effect at the next start; what was before is in force" agent.err
	grep -q "read again: changes in force: 2, changes that need a restart: 1$" agent.err
	fresh
	assert_equal "$(own recorder_limit_bytes)" 33554432
	assert_equal "$(own budget_ratio)" 0.025000000
	echo 'rign = 1G' > agent.conf
	kill -HUP "$OTHER_PID"
	wait_for 'grep -q "stays as it was" agent.err'
	fresh
	assert_equal "$(own recorder_limit_bytes)" 33554432
	assert_equal "$(LABEL=done own reloads_total) $(LABEL=failed own reloads_total)" "1 1"
	agent_stop
}

# hang_up NUMBER: it has read its configuration again for the NUMBERth time, and what it said of that is in said.txt.
hang_up() {
	local before

	before=$(wc -l < agent.err)
	kill -HUP "$OTHER_PID"
	wait_for "[ \"\$(grep -c 'has been read again' agent.err)\" = $1 ]"
	sed -n "$((before + 1)),\$p" agent.err | grep -E ' -> |no effect|read again' | sed 's/^memscope-bpf: //' > said.txt
}

@test "SIGHUP: only what has changed is said, what still waits is said again, and no secret is" {
	printf 'ring = 16M\nring-time = 2h\n' > agent.conf
	RING= agent_start --config agent.conf --series 500
	hang_up 1
	assert_equal "$(cat said.txt)" "the configuration has been read again: no setting has changed"
	printf 'ring = 32M\nseries = 600\notlp = http://127.0.0.1:9/v1?key=secret\n' > agent.conf
	hang_up 2
	diff - said.txt <<-'SAID'
		ring: 16M -> 32M (agent.conf:1)
		ring-time: 2h -> 24h (default)
		agent.conf:2: series has no effect there, because --series is set
		warning: otlp: off -> http://127.0.0.1:9/... (agent.conf:3): this takes effect at the next start; what was before is in force until then
		the configuration has been read again: changes in force: 2, changes that need a restart: 1
	SAID
	# Those that are in force are compared with what was read last, and the others with what runs.
	printf 'ring = 16M\notlp = http://127.0.0.1:9/v1?key=secret\n' > agent.conf
	hang_up 3
	diff - said.txt <<-'SAID'
		ring: 32M -> 16M (agent.conf:1)
		warning: otlp: off -> http://127.0.0.1:9/... (agent.conf:2): this takes effect at the next start; what was before is in force until then
		the configuration has been read again: changes in force: 1, changes that need a restart: 1
	SAID
	printf 'ring = 16M\n' > agent.conf
	hang_up 4
	assert_equal "$(cat said.txt)" "the configuration has been read again: no setting has changed"
	run -1 grep -q secret agent.err
	agent_stop
}

# What a service manager hears, a line for each message, in notified.txt.
listen_for_notices() {
	/usr/bin/python3 - "$PWD/notify" > notified.txt 3>&- <<'PYTHON' &
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
while True:
    print(listener.recv(4096).decode().replace("\n", " "), flush=True)
PYTHON
	FLOOD_PID=$!
	wait_for '[ -S notify ]'
}

@test "a service manager hears of readiness, life and the end" {
	listen_for_notices
	NOTIFY_SOCKET=$PWD/notify WATCHDOG_USEC=400000 agent_start
	wait_for '[ "$(grep -c WATCHDOG=1 notified.txt)" -ge 3 ]'
	assert_equal "$(head -n 1 notified.txt)" "READY=1 STATUS=tracing all processes that use CUDA"
	kill -HUP "$OTHER_PID"
	wait_for 'grep -q "RELOADING=1 MONOTONIC_USEC=" notified.txt'
	wait_for '[ "$(grep -c "READY=1 STATUS=tracing all processes that use CUDA$" notified.txt)" -eq 2 ]'
	# Who does not go on does not say that he does.
	kill -STOP "$OTHER_PID"
	wait_for '[ "$(cut -d" " -f3 "/proc/$OTHER_PID/stat")" = T ]'
	# What it had said by then has been heard.
	/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"stopped", "notify")'
	wait_for 'grep -qx stopped notified.txt'
	grep -c WATCHDOG=1 notified.txt > before
	sleep 1
	assert_equal "$(grep -c WATCHDOG=1 notified.txt)" "$(cat before)"
	kill -CONT "$OTHER_PID"
	agent_stop
	wait_for '[ "$(tail -n 1 notified.txt)" = STOPPING=1 ]' || fail "$(cat notified.txt)"
}

@test "it runs as a user with the capabilities of its unit, and no others" {
	local capabilities state

	capabilities=$(sed -n 's/^AmbientCapabilities=//p' "$ROOT/deploy/memscope-bpf.service" |
		tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
	state=$(mktemp -d)
	chown 23456 "$state"
	cp "$MEMSCOPE" tool
	chmod 755 tool "$BATS_TEST_TMPDIR"
	PORT=$(agent_port)
	needs_http
	in_background_tracing OTHER_PID agent.err setpriv --reuid=23456 --regid=23456 --clear-groups \
		--inh-caps="-all,$capabilities" --ambient-caps="-all,$capabilities" --bounding-set="-all,$capabilities" \
		--no-new-privs ./tool agent $MASK -v --state-dir "$state/s" --ring 8M --listen "127.0.0.1:$PORT"
	named_puppet agent-least
	puppet alloc 1000
	fresh
	assert_equal "$(ask /api/v1/who | jq -c '.processes[] | select(.comm == "agent-least") |
		[.device_bytes, .exact, .identity.user]')" '[1000,true,"root"]'
	agent_stop
	"$MEMSCOPE" history --state-dir "$state/s" --json |
		jq -e '.rows | any(.[]; .process == "agent-least" and .peak_bytes == 1000)'
	rm -rf "$state"
}

@test "the unit is hardened, the rules are right, and the manifests are YAML" {
	command -v systemd-analyze > /dev/null &&
		systemd-analyze security --offline=true --threshold=30 "$ROOT/deploy/memscope-bpf.service" > security.txt
	promtool check rules "$ROOT/deploy/prometheus/rules.yml"
	(cd "$ROOT/deploy/prometheus" && promtool test rules rules_test.yml)
	jq -e '.panels | length > 5' "$ROOT/deploy/grafana/memscope-bpf.json"
	"$MEMSCOPE" agent --config "$ROOT/deploy/agent.conf" --check-config
	/usr/bin/python3 - "$ROOT"/deploy/kubernetes/*.yaml > kinds.txt <<'PYTHON'
import sys
import yaml
manifests = {}
for path in sys.argv[1:]:
    for manifest in yaml.safe_load_all(open(path, encoding="utf-8")):
        print(manifest["kind"], manifest["metadata"]["name"])
        manifests[manifest["kind"]] = manifest
        pod = manifest["spec"]["template"]["spec"] if manifest["kind"] == "DaemonSet" else {}
        hosts = {volume["name"]: volume.get("hostPath", {}).get("path", "-") for volume in pod.get("volumes", [])}
        for container in pod.get("containers", []):
            for mount in container["volumeMounts"]:
                print(hosts[mount["name"]], mount["mountPath"], mount.get("readOnly", False))
# Either monitor finds the agents, and takes the same of them.
pod = manifests["DaemonSet"]["spec"]["template"]
(agent,) = pod["spec"]["containers"]
environment = {variable["name"]: variable["value"] for variable in agent["env"]}
assert environment == {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility"}
# What the agent writes by default has to be in volumes.
assert agent["securityContext"]["readOnlyRootFilesystem"]
writable = {mount["mountPath"] for mount in agent["volumeMounts"] if not mount.get("readOnly")}
assert writable == {"/var/lib/memscope-bpf", "/var/cache"}, writable
ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
service, monitor = manifests["Service"], manifests["ServiceMonitor"]
assert manifests["PodMonitor"]["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
assert {manifest["metadata"]["namespace"] for kind, manifest in manifests.items() if kind != "Namespace"} == {"memscope-bpf"}
assert service["spec"]["clusterIP"] == "None"
(port,) = service["spec"]["ports"]
assert port["port"] == ports[port["targetPort"]]
(endpoint,) = monitor["spec"]["endpoints"]
assert endpoint["port"] == port["name"]
assert [endpoint] == manifests["PodMonitor"]["spec"]["podMetricsEndpoints"]
PYTHON
	grep -q '^DaemonSet memscope-bpf$' kinds.txt
	: > empty.conf
	"$MEMSCOPE" agent --show-config --config "$PWD/empty.conf" > defaults.txt
	grep -qx 'state-dir = /var/lib/memscope-bpf' defaults.txt
	grep -qx 'stack-cache = /var/cache/memscope-bpf' defaults.txt
	# Where names of pods are looked for by default.
	grep -qx '/var/log/pods /var/log/pods True' kinds.txt
	grep -qx '/var/log/containers /var/log/containers True' kinds.txt
	grep -q '^PodMonitor memscope-bpf$' kinds.txt
}

# What Prometheus would show in the panel with the title $1, of its query $2 (from 0), as a rule's test takes it.
panel_query() {
	jq -r --arg title "$1" --argjson query "$2" '.panels[] | select(.title == $title) | .targets[$query].expr |
		gsub("\\$hostname|\\$gpu"; ".*") | gsub("\\$__rate_interval"; "5m")' "$ROOT/deploy/grafana/memscope-bpf.json"
}

# panel_shows TITLE QUERY TIME SAMPLES, of the series of standard input.
panel_shows() {
	jq -Rn --arg expr "$(panel_query "$1" "$2")" --arg time "$3" --argjson samples "$4" '
		{evaluation_interval: "1m", tests: [{interval: "1m",
			input_series: [inputs | select(. != "") | split(" = ") | {series: .[0], values: .[1]}],
			promql_expr_test: [{expr: $expr, eval_time: $time, exp_samples: $samples}]}]}' > panel.json
	promtool test rules panel.json
}

@test "the dashboard shows the first failure of a program" {
	cat > series.txt <<-'SERIES'
		memscope_failed_calls_total{hostname="a",instance="a:1",comm="train",error="E"} = _x21 1+0x40
		memscope_agent_ready{hostname="a",instance="a:1"} = 1+0x60
		memscope_agent_start_time_seconds{hostname="a",instance="a:1"} = -86400+0x60
	SERIES
	panel_shows "Failed calls" 0 23m '[{"labels": "{hostname=\"a\",comm=\"train\",error=\"E\"}", "value": 1}]' < series.txt
	panel_shows "Failed calls" 0 40m '[{"labels": "{hostname=\"a\",comm=\"train\",error=\"E\"}", "value": 0}]' < series.txt
}

@test "the dashboard shows what is not explained of a device that no traced process has used" {
	panel_shows "Not explained" 0 5m '[{"labels": "{hostname=\"a\",UUID=\"GPU-a\"}", "value": 50}]' <<-'SERIES'
		memscope_gpu_nvml_used_bytes{hostname="a",instance="a:1",UUID="GPU-a"} = 50+0x60
		memscope_gpu_memory_explained_bytes{hostname="a",instance="a:1",UUID="GPU-a"} = 0+0x60
	SERIES
}

@test "the dashboard shows what cgroups use, and may use" {
	cat > series.txt <<-'SERIES'
		memscope_cgroup_device_memory_used_bytes{hostname="a",instance="a:1",cgroup="/pods/one",region="r"} = 70+0x60
		memscope_cgroup_device_memory_left_bytes{hostname="a",instance="a:1",cgroup="/pods/one",region="r"} = 20+0x60
		memscope_cgroup_device_memory_used_bytes{hostname="a",instance="a:1",cgroup="/free",region="r"} = 5+0x60
	SERIES
	panel_shows "Memory of devices that cgroups use, and may use" 0 5m '[
		{"labels": "memscope_cgroup_device_memory_used_bytes{hostname=\"a\",instance=\"a:1\",cgroup=\"/pods/one\",region=\"r\"}", "value": 70},
		{"labels": "memscope_cgroup_device_memory_used_bytes{hostname=\"a\",instance=\"a:1\",cgroup=\"/free\",region=\"r\"}", "value": 5}]' < series.txt
	panel_shows "Memory of devices that cgroups use, and may use" 1 5m \
		'[{"labels": "{hostname=\"a\",cgroup=\"/pods/one\",region=\"r\"}", "value": 90}]' < series.txt
}

@test "the dashboard marks programs that may hold more, also those of which nothing is seen" {
	cat > series.txt <<-'SERIES'
		memscope_process_gpu_memory_live_bytes{hostname="a",comm="new",user="u",kind="device"} = 7+0x60
		memscope_process_gpu_memory_inexact{hostname="a",comm="new",user="u"} = 0+0x60
		memscope_process_gpu_memory_inexact{hostname="a",comm="old",user="u"} = 1+0x60
		memscope_process_gpu_memory_live_bytes{hostname="a",comm="both",user="u",kind="device"} = 9+0x60
		memscope_process_gpu_memory_inexact{hostname="a",comm="both",user="u"} = 1+0x60
	SERIES
	panel_shows "Held, by program" 0 5m '[{"labels": "{hostname=\"a\",comm=\"new\",user=\"u\"}", "value": 7}]' < series.txt
	panel_shows "Held, by program" 1 5m '[{"labels": "{hostname=\"a\",comm=\"both\",user=\"u\"}", "value": 9},
		{"labels": "{hostname=\"a\",comm=\"old\",user=\"u\"}", "value": 0}]' < series.txt
	jq -e '.panels[] | select(.title == "Held, by program") | .targets[1].legendFormat | endswith(" (at least)")' \
		"$ROOT/deploy/grafana/memscope-bpf.json"
}

@test "the dashboard shows for how long launches were not counted" {
	panel_shows "Time without these calls, to keep the budget" 0 20m '[{"labels": "{hostname=\"a\"}", "value": 0.25}]' <<-'SERIES'
		memscope_agent_budget_off_seconds_total{hostname="a"} = 0+15x60
	SERIES
}

@test "rules and dashboard ask for metrics that there are" {
	local name

	sed -n 's/^\tX([A-Z_]*, "\(memscope_[a-z_]*\)", "gauge".*/\1/p; s/^\tX([A-Z_]*, "\(memscope_[a-z_]*\)", "counter".*/\1_total/p;
		s/^\tX([A-Z_]*, "\(memscope_[a-z_]*\)", "histogram".*/\1_bucket/p' \
		"$ROOT"/user/export/{openmetrics.c,nvml_metrics.h,limit_metrics.h} "$ROOT/user/agent/own_metrics.c" > there.txt
	grep -qx memscope_agent_ready there.txt
	for name in $(grep -oh 'memscope_[a-z_]*' "$ROOT/deploy/prometheus/rules.yml" "$ROOT/deploy/grafana/memscope-bpf.json" |
		sort -u); do
		grep -qx "$name" there.txt || fail "$name: there is no such metric"
	done
}
