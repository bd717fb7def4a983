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
		    name = {b"GET /api/v1/who HTTP/1.0": "answer", b"GET /api/v1/processes/4711 HTTP/1.0": "sites"}[
		        request.split(b"\r\n")[0]]
		    client.sendall(open(name, "rb").read())
		    client.close()
	PYTHON
}

teardown() {
	tmux_end
	[ -z "${AGENT_PID:-}" ] || kill -9 "$AGENT_PID" 2> /dev/null || true
	[ -z "${TRACE_PID:-}" ] || kill -9 "$TRACE_PID" 2> /dev/null || true
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

# Seconds on the agent's clock, so many from now.
clock() {
	python3 -c 'import sys, time; print(time.monotonic_ns() // 10**9 + int(sys.argv[1]))' "$1"
}

# answer BYTES ALLOCS LAUNCHES [CLOCK]: what process 4711 holds, and how often it has called, at that second
# (default: now). Takes the place of the one before at once.
answer() {
	{
		printf 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n'
		jq -nc --argjson bytes "$1" --argjson allocs "$2" --argjson launches "$3" \
			--argjson clock "${4:-$(clock 0)}" --argjson peak "${PEAK:-null}" '{
			schema: "memscope-bpf/agent-who/1", version: "1", host: "h", ts_ns: ($clock * 1000000000),
			wall_ns: 2, exact: true, seen: 5, lost: 2, hidden_processes: 0, devices: [], nvml_devices: [{uuid: "GPU-1", samples: 1,
				ts_ns: 1, total_bytes: 1073741824, used_bytes: 536870912, free_bytes: 536870912,
				reserved_bytes: null, processes: 1, processes_bytes: 0, traced_processes: 0,
				traced_bytes: 0}],
			processes: [{pid: 4711, start_ns: 7, comm: "train", name: "train\u001b[2J",
				identity: {user: "bob", runtime: "docker", container: "c0ffee",
					environment: {SLURM_JOB_ID: "77", HOSTNAME: null}}, exact: true,
				was_running: false, device_bytes: $bytes, peak_live_bytes: $peak, devices: [], spaces: [{space: "device",
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
	PEAK=5242880 answer 1048576 3 10
	agent_start
	COLUMNS=200 setpriv --reuid 65534 --clear-groups "$MEMSCOPE" top --agent query -n 2 -d 100ms > out.txt
	assert_equal "$(grep -c '1 process, 1 MiB live on devices, 2 events lost' out.txt)" 2
	grep -q '^  4711  bob   1 MiB  5 MiB     0 B      0 B  .*train.x1b\[2J  docker c0ffee, SLURM_JOB_ID=77$' out.txt
	grep -q '^  GPU-1    1 GiB  512 MiB' out.txt
	# How old NVML's numbers are, when they are.
	says out.txt "2 events lost, NVML's numbers of [0-9hms.]* ago"
	sed -i "s/\"ts_ns\":1,\"total/\"ts_ns\":$(clock 0)000000000,\"total/" answer
	top -n 1 -d 100ms > out.txt
	says out.txt "2 events lost; " || fail "$(cat out.txt)"
}

# says FILE WORDS: they may go on in the next line
says() {
	tr '\n' ' ' < "$1" | grep -q -- "$2"
}

# rows: live, peak, growth, growth in 60 s, and rates, in the order of the looks; equal ones once
rows() {
	grep '^  4711' out.txt | awk -F '  +' '{ print $4 "|" $5 "|" $6 "|" $7 "|" $8 "|" $9 }' | uniq
}

@test "growth and rates are those between two answers, however often these are given" {
	local now

	now=$(clock 0)
	answer 1048576 3 10 "$now"
	agent_start
	COLUMNS=200 in_background TRACE_PID top.err "$MEMSCOPE" top --agent query -d 100ms > out.txt
	wait_for "[ \$(grep -c '^  4711' out.txt) -ge 3 ]"
	# Of an answer that is the first, nothing is known but what is live.
	assert_equal "$(rows)" '1 MiB|?|0 B|0 B|?|?'
	says out.txt "no rates before the agent's second answer"
	answer 3145728 23 50 $((now + 10))
	wait_for "[ \$(grep -c '^  4711.*3 MiB' out.txt) -ge 3 ]"
	kill -INT "$TRACE_PID"
	wait "$TRACE_PID"
	assert_equal "$(rows | tail -1)" '3 MiB|?|+2 MiB|+2 MiB|2|4'
	assert_equal "$(rows | wc -l)" 2
	says out.txt '; the last 10[.0]* s[ =]'
}

@test "an answer that is old has its age, and an agent that counts anew has no huge rates" {
	local now

	now=$(clock -1000)
	answer 1048576 30 10 "$now"
	agent_start
	COLUMNS=200 in_background TRACE_PID top.err "$MEMSCOPE" top --agent query -d 100ms > out.txt
	wait_for "grep -q '^  4711' out.txt"
	answer 1048576 20 10 $((now + 10))
	wait_for "says out.txt 'the last 10[.0]* s, as of [0-9hms. ]* ago '"
	kill -INT "$TRACE_PID"
	wait "$TRACE_PID"
	says out.txt 'as of 16m[0-9]*s ago '
	assert_equal "$(rows | tail -1)" '1 MiB|?|0 B|0 B|2|0'
}

@test "who may not see other users' processes is told how many are hidden, and who may" {
	local hidden

	agent_start
	for hidden in 1 2; do
		answer 0 0 0
		sed -i "s/\"hidden_processes\":0/\"hidden_processes\":$hidden/; s/\"processes\":\[.*/\"processes\":[]}/" answer
		top -n 1 -d 100ms > "hidden.$hidden"
	done
	says hidden.1 "No process of yours is traced; 1 process of another user is hidden. Root and members of the group memscope see all."
	says hidden.2 "No process of yours is traced; 2 processes of other users are hidden. Root"
	says hidden.2 "0 processes, 0 B live on devices, 2 of other users hidden, 2 events lost"
	answer 0 0 0
	sed -i "s/\"processes\":\[.*/\"processes\":[]}/" answer
	top -n 1 -d 100ms | grep -q "^No traced process has called CUDA.$"
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

@test "a user that there is not is an error, with those that there are; of a container the agent knows" {
	local stderr

	answer 1048576 3 10
	agent_start
	run -5 --separate-stderr top --user nothing-of-this-name -n 1 -d 100ms
	[ -z "$output" ] || fail "$output"
	grep -qF -- "--user: there is no user \"nothing-of-this-name\" here" <<< "$stderr"
	run -0 --separate-stderr top --container nothing-of-this-name -n 1 -d 100ms
	grep -q "warning: the agent has no process of this container now" <<< "$stderr"
	run -5 --separate-stderr top --user nothing-of-this-name -n 1 -d 100ms
	grep -q "of those that run now, there are .*root" <<< "$stderr" || fail "$stderr"
	# Only the agent knows these, and it is asked first.
	top --user bob --container c0ffee -n 1 -d 100ms > out.txt
	grep -q '^  4711  bob ' out.txt
	# One that there is, and who runs nothing that is traced.
	top --user root -n 1 -d 100ms > out.txt
	grep -q "^No process that has called CUDA is user root.$" out.txt
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
	printf 'HTTP/1.1 404 Not Found\r\n\r\n' > sites
	keys 2
	until_it_shows "The agent has not said where its memory is from."
	{
		printf 'HTTP/1.1 200 OK\r\n\r\n'
		jq -nc '{schema: "memscope-bpf/agent-process/1", start_ns: 7, more_by_api: 0, by_api: [],
			sites: {more: 5, largest: [{stack_id: 1, api: "cuMemAlloc_v2", space: "device", device: 0,
				live_bytes: 2097152, live_allocations: 1, allocs: 4, bytes_in_peak: 3145728,
				frames: [{kind: "python", function: "grow\u001b[2J", source: "/a/grow.py", line: 7}]}]}}'
	} > sites.new
	mv sites.new sites
	until_it_shows "3 MiB  cuMemAlloc_v2  device       0  grow\\x1b[2J"
	until_it_shows "(grow.py:7)"
	until_it_shows "5 more are not shown."
	keys 3
	until_it_shows "An agent does not send blocks"
	keys q
	wait_for shows_prompt
}
