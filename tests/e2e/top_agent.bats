# SPDX-License-Identifier: BSD-2-Clause
#
# The top command on what an agent says: on a stand-in that answers with the file `answer`.

bats_require_minimum_version 1.5.0
load helpers
load tmux

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	cd "$BATS_TEST_TMPDIR" || exit 1
	chmod 755 .
	cat > agent.py <<-'PYTHON'
		import os, socket
		listener = socket.socket(socket.AF_UNIX)
		listener.bind("query")
		os.chmod("query", 0o666)
		listener.listen()
		while True:
		    client, _ = listener.accept()
		    request = b""
		    while not request.endswith(b"\r\n\r\n"):
		        request += client.recv(4096)
		    assert request.startswith(b"GET /api/v1/who HTTP/1.0\r\n"), request
		    client.sendall(open("answer", "rb").read())
		    client.close()
	PYTHON
}

teardown() {
	tmux_end
	[ -z "${AGENT_PID:-}" ] || kill -9 "$AGENT_PID" 2> /dev/null || true
}

agent_start() {
	rm -f query
	python3 agent.py 3>&- 2> agent.err &
	AGENT_PID=$!
	wait_for "[ -S query ]"
}

agent_end() {
	kill "$AGENT_PID"
	wait "$AGENT_PID" || true
}

# answer BYTES ALLOCS LAUNCHES: what process 4711 holds, and how often it has called. Takes the place of
# the one before at once.
answer() {
	{
		printf 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n'
		jq -nc --argjson bytes "$1" --argjson allocs "$2" --argjson launches "$3" '{
			schema: "memscope-bpf/agent-who/1", version: "1", host: "h", ts_ns: 1, wall_ns: 2,
			exact: true, seen: 5, lost: 2, devices: [], nvml_devices: [{uuid: "GPU-1", samples: 1,
				ts_ns: 1, total_bytes: 1073741824, used_bytes: 536870912, free_bytes: 536870912,
				reserved_bytes: null, processes: 1, processes_bytes: 0, traced_processes: 0,
				traced_bytes: 0}],
			processes: [{pid: 4711, start_ns: 7, comm: "train", name: "train\u001b[2J",
				identity: {user: "bob", runtime: "docker", container: "c0ffee"}, exact: true,
				was_running: false, device_bytes: $bytes, devices: [], spaces: [{space: "device",
					live_bytes: $bytes, live_allocations: 1, peak_bytes: $bytes, allocs: $allocs,
					alloc_bytes: $bytes, frees: 0, free_bytes: 0}],
				launches: $launches, graph_launches: 0}]}'
	} > answer.new
	mv answer.new answer
}

top() {
	COLUMNS=200 "$MEMSCOPE" top --agent query "$@"
}

@test "what an agent says is shown, also to a user without privileges" {
	answer 1048576 3 10
	agent_start
	COLUMNS=200 setpriv --reuid 65534 --clear-groups "$MEMSCOPE" top --agent query -n 2 -d 100ms > out.txt
	assert_equal "$(grep -c '1 process, 1 MiB live on devices, 2 events lost' out.txt)" 2
	grep -q '^  4711  bob   1 MiB  1 MiB     0 B   +1 MiB  .*train.x1b\[2J  docker c0ffee$' out.txt
	grep -q '^  GPU-1    1 GiB  512 MiB' out.txt
}

@test "growth and rates are those between two answers" {
	answer 1048576 3 10
	agent_start
	in_background TRACE_PID top.err top -d 1 -n 2 > out.txt
	wait_for "grep -q '^  4711' out.txt"
	answer 3145728 5 14
	wait "$TRACE_PID"
	grep '^  4711' out.txt | tail -1 | awk -F '  +' '{ print $4 "|" $6 "|" $8 "|" $9 }' > row
	assert_equal "$(cat row)" '3 MiB|+2 MiB|2|4'
}

@test "an agent that is not there, and answers that are none, are said in a line" {
	refused() {
		local code=0

		top "${@:3}" > out.txt 2> err.txt || code=$?
		assert_equal "$code" "$1"
		[ "$(wc -l < err.txt)" -eq 1 ] && grep -qF -- "$2" err.txt || fail "$(cat err.txt)"
	}
	refused 1 "no agent listens there; \`memscope-bpf agent --socket PATH\` starts one"
	refused 2 "leave out -p, -a, --cgroup and COMMAND" -a
	agent_start
	printf 'HTTP/1.1 404 Not Found\r\n\r\n' > answer
	refused 1 "cannot ask the agent"
	printf 'HTTP/1.1 200 OK\r\n\r\n{"schema": "memscope-bpf/agent-who/2", "ts_ns": 1}' > answer
	refused 1 "cannot ask the agent"
	head -c 100000 /dev/urandom > answer
	refused 1 "cannot ask the agent"
	: > answer
	refused 1 "cannot ask the agent"
	kill -STOP "$AGENT_PID"
	refused 1 "Connection timed out"
	kill -CONT "$AGENT_PID"
}

@test "an agent that is restarted is asked again" {
	answer 1048576 3 10
	agent_start
	tmux_needed
	terminal_start 80 24
	keys -l "'$MEMSCOPE' top --agent query -d 200ms"
	keys Enter
	until_it_shows "1 MiB"
	agent_end
	until_it_shows "the agent does not answer"
	shows train || fail "$(screen)"
	answer 2097152 4 11
	agent_start
	until_it_shows "2 MiB"
	wait_for "! shows 'the agent does not answer'" 400
	keys Enter
	until_it_shows "[1 Spaces]"
	keys 2
	until_it_shows "An agent does not say so much"
	keys q
	wait_for shows_prompt
}
