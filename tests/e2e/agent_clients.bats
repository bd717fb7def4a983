# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent` and its clients: how many, how slow, whose, and by which names.

load agent

# Python, with the port as its first argument.
clients() {
	/usr/bin/python3 - "$PORT" "$@"
}

# As another user: curl's options.
ask_as() {
	setpriv --reuid="$1" --regid="$1" --clear-groups curl -sS --max-time 30 --unix-socket "$PUBLIC/query" "${@:2}"
}

@test "128 clients at a time are answered; more are refused, and it goes on" {
	agent_start
	named_puppet agent-many
	puppet alloc 1000
	clients <<'PYTHON'
import socket, sys
port = int(sys.argv[1])

def connect():
    made = socket.create_connection(("127.0.0.1", port), timeout=30)
    made.settimeout(30)
    return made

def read(made):
    data = b""
    while b"\r\n\r\n" not in data:
        part = made.recv(65536)
        if not part:
            return data
        data += part
    head, body = data.split(b"\r\n\r\n", 1)
    length = int([line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")][0].split(b":")[1])
    while len(body) < length:
        body += made.recv(65536)
    return head

made = [connect() for _ in range(128)]
paths = ["/metrics", "/api/v1/who", "/health", "/ready", "/", "/debug/pprof/gpu_heap"]
for i, one in enumerate(made):
    one.sendall(f"GET {paths[i % len(paths)]} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
for one in made:
    assert read(one).startswith(b"HTTP/1.1 200"), "no answer"
# All of these at once are too many: some are refused, none waits for ever.
more = []
for _ in range(200):
    try:
        more.append(connect())
    except OSError:
        break
for one in more:
    try:
        one.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        read(one)
    except OSError:
        pass
PYTHON
	wait_for '[ "$(ask /health 2> /dev/null)" = ok ]'
	fresh
	assert_equal "$(ask /api/v1/who | jq '.processes[] | select(.comm == "agent-many").device_bytes')" 1000
	agent_stop
}

# Sums are answered by a child that has no allocations, a process by one that has them.
@test "each answer is right while a process holds many allocations, and goes on" {
	local i

	agent_start --buffer 64M
	mkfifo many.in many.out
	/usr/bin/python3 -c '
import ctypes, sys, time
driver = ctypes.CDLL("libcuda.so.1")
sys.stdin.readline()
context, block = ctypes.c_void_p(), ctypes.c_uint64()
assert not driver.cuInit(0) and not driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
for line in sys.stdin:
    for i in range(int(line)):
        assert not driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(4096 + 4096 * (i == 0)))
        if i % 100 == 0:
            time.sleep(0.001)
    print("made", flush=True)
' < many.in > many.out 3>&- 8>&- 9<&- &
	PUPPET_PID=$!
	exec 8> many.in 9< many.out
	settled
	echo >&8
	for i in 1 2; do
		echo 20000 >&8
		read -r -u 9
		fresh
		assert_equal "$(ask /api/v1/who | jq -c ".processes[] | select(.pid == $PUPPET_PID) | [.exact, .spaces[0].live_allocations, .device_bytes]")" \
			"[true,$((i * 20000)),$((i * (20001 * 4096)))]"
		ask /metrics > metrics.txt
		grep -q "^memscope_process_gpu_memory_live_bytes{.* $((i * (20001 * 4096)))\$" metrics.txt
		assert_equal "$(ask "/api/v1/processes/$PUPPET_PID" | jq -c '[.process.largest[].size_bytes] | .[:3]')" \
			"$([ $i = 1 ] && echo '[8192,4096,4096]' || echo '[8192,8192,4096]')"
		ask /debug/pprof/gpu_heap | gunzip -t
	done
	assert_equal "$(awk '/^memscope_agent_answers_total\{.*failed/ { print $2 }' metrics.txt)" 0
	exec 8>&-
	agent_stop
}

@test "who sends a byte now and then is dropped, and others are answered meanwhile" {
	agent_start
	clients <<'PYTHON'
import select, socket, sys, time
port = int(sys.argv[1])
made = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(20)]
request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: "
for i, one in enumerate(made):
    one.sendall(request[:i + 1])
closed = set()
end = time.monotonic() + 60
while len(closed) < len(made) and time.monotonic() < end:
    for one in made:
        if one in closed:
            continue
        try:
            one.sendall(b"a")
            if select.select([one], [], [], 0)[0] and not one.recv(4096):
                closed.add(one)
        except OSError:
            closed.add(one)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as other:
        other.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert other.recv(4096).startswith(b"HTTP/1.1 200")
    time.sleep(0.5)
assert len(closed) == len(made), f"{len(made) - len(closed)} are still there"
PYTHON
	fresh
	[ "$(ask /metrics | awk '/^memscope_agent_http_dropped_connections_total/ { print $2 }')" -ge 15 ]
	agent_stop
}

@test "requests that are none, or too large, do no harm" {
	agent_start
	clients <<'PYTHON'
import os, random, socket, sys
port = int(sys.argv[1])
random.seed(7)
cases = [b"\0" * 1000, b"GET", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"/a" * 20000 + b" HTTP/1.1\r\n\r\n",
         b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
         b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: " + b"," * 9000 + b"\r\n\r\n",
         b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n" + b"x" * 50000,
         b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
         b"GET /%00/../metrics HTTP/1.1\r\nHost: x\r\n\r\n",
         b"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"]
cases += [b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".replace(b"e", bytes([i])) for i in range(0, 256, 5)]
cases += [os.urandom(random.randrange(1, 3000)) for _ in range(200)]
for case in cases:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
        one.settimeout(0.2)
        try:
            one.sendall(case)
            one.shutdown(socket.SHUT_WR)
            one.recv(4096)
        except OSError:
            pass
PYTHON
	assert_equal "$(ask /health)" ok
	fresh
	assert_equal "$(ask /metrics | awk '/^memscope_agent_http_restarts_total/ { print $2 }')" 0
	agent_stop
}

# Requests that are changed, cut off, sent in pieces, one after the other without waiting, and dropped: $1 of
# them, by the address and over the socket, the same ones for the same $2. What is answered is an answer.
broken_requests() {
	clients "$PWD/query" "$@" <<'PYTHON'
import random, socket, struct, sys, time
port, path, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
random.seed(int(sys.argv[4]))
whole = [b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1\r\n\r\n",
         b"GET /api/v1/who HTTP/1.1\r\nHost: x\r\nRange: bytes=0-9\r\nIf-None-Match: *\r\n\r\n",
         b"HEAD /api/v1/processes/1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
         b"GET /api/v1/history?from=-1h&to=now&by=pod HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n",
         b"GET /health HTTP/1.1\r\nHost: x\r\nAuthorization: Basic Ym9iOnNlY3JldA==\r\nCookie: a=b; c\r\n\r\n",
         b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
         b"GET http://x/ready HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"]
pieces = [b"\r\n", b"\0", b"%00", b"%", b"?", b"&from=", b" ", b":", b"/../", b"\xff", b"Content-Length: -1\r\n", b"a" * 5000,
          b"Content-Length: 18446744073709551616\r\n", b"HTTP/1.1", b"GET ", b"\n\t folded\r\n", b"4294967297"]

def broken():
    request = bytearray(random.choice(whole) * random.choice([1, 1, 1, 2, 40]))
    for _ in range(random.randrange(6)):
        at = random.randrange(len(request) + 1)
        how = random.randrange(4)
        if how == 0:
            request[at:at] = random.choice(pieces)
        elif how == 1:
            request[at:at + 1] = bytes([random.randrange(256)])
        elif how == 2:
            del request[at:at + random.randrange(20)]
        else:
            del request[at:]
    return bytes(request)

def connect():
    if random.randrange(2):
        return socket.create_connection(("127.0.0.1", port), timeout=30)
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(30)
    made.connect(path)
    return made

def end(one, abruptly):
    if abruptly and one.family != socket.AF_UNIX:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()

kept = []
for i in range(count):
    one = connect()
    request = broken()
    try:
        for at in range(0, len(request), max(1, len(request) // random.choice([1, 1, 3]))):
            one.sendall(request[at:at + max(1, len(request) // 3)])
        if random.randrange(4) == 0:
            one.settimeout(0.02)
            data = one.recv(4096)
            assert not data or data.startswith(b"HTTP/1."), data
    except OSError:
        pass
    kept.append(one)
    if len(kept) > 60:
        end(kept.pop(random.randrange(len(kept))), random.randrange(2))
for one in kept:
    end(one, False)
PYTHON
}

# Descriptors of the process for clients, and its memory in KiB.
server_descriptors() {
	find "/proc/$server/fd" -type l | wc -l
}

server_kib() {
	awk '/^RssAnon:/ { print $2 }' "/proc/$server/status"
}

@test "thousands of broken requests leave nothing behind, and it answers as before" {
	local server descriptors kib

	agent_start
	named_puppet agent-broken
	puppet alloc 1000
	server=$(pgrep -P "$(pgrep -P "$OTHER_PID" memscope-keeper)" memscope-http)
	fresh
	ask /api/v1/who > before.json
	# Each of the 32 answers that it keeps has one.
	descriptors=$(($(server_descriptors) + 32))
	# What the library keeps for so many connections is there afterwards.
	broken_requests 1500 1
	wait_for '[ "$(server_descriptors)" -le "$descriptors" ]'
	kib=$(server_kib)
	broken_requests 1500 2
	wait_for '[ "$(server_descriptors)" -le "$descriptors" ]'
	[ "$(server_kib)" -le $((kib + 1024)) ] || fail "$kib KiB, and then $(server_kib)"
	assert_equal "$(pgrep -P "$(pgrep -P "$OTHER_PID" memscope-keeper)" memscope-http)" "$server"
	assert_equal "$(ask /health)" ok
	fresh
	ask /api/v1/who > after.json
	diff <(jq -S '.processes[] | select(.comm == "agent-broken") | del(.cost)' before.json) \
		<(jq -S '.processes[] | select(.comm == "agent-broken") | del(.cost)' after.json)
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	assert_equal "$(awk '/^memscope_agent_http_restarts_total/ { print $2 }' metrics.txt)" 0
	# But for the one that asks. What the library has not seen to be closed is dropped in time.
	wait_for 'fresh; [ "$(ask /metrics | awk "/^memscope_agent_http_connections/ { print \$2 }")" = 1 ]' 60
	agent_stop
}

@test "hostile names of processes, in all that it answers" {
	local name=$'a"} 1\n<b>\x1b[31m'

	agent_start
	named_puppet "$name"
	puppet alloc 1000
	fresh
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	assert_equal "$(grep -c '^memscope_process_gpu_memory_live_bytes{.*comm="a\\"} 1\\n<b>\\\\x1b\[31m".*} 1000$' metrics.txt)" 1
	ask /metrics -H 'Accept: application/openmetrics-text' > open.txt
	ask /api/v1/who > who.json
	valid agent-who who.json
	NAME=$name /usr/bin/python3 - <<'PYTHON'
import json, os
from prometheus_client.openmetrics.parser import text_string_to_metric_families
wanted = os.environ["NAME"].replace("\x1b", "\\x1b")
series = [sample for family in text_string_to_metric_families(open("open.txt").read()) for sample in family.samples]
assert any(sample.labels.get("comm") == wanted for sample in series), "not among the series"
who = json.load(open("who.json"))
assert any(process["comm"] == os.environ["NAME"] for process in who["processes"]), "not among the processes"
PYTHON
	ask "/api/v1/processes/$PUPPET_PID" | jq -e '.process.comm == "a\"} 1\n<b>\u001b[31m"'
	# A byte of that value can also be a number in it.
	ask /debug/pprof/gpu_heap | gunzip -c > profile
	LC_ALL=C grep -q $'\x1b\\[31m' profile && fail "an escape in the profile"
	LC_ALL=C grep -qF '\x1b[31m' profile
	agent_stop
	LC_ALL=C grep -q $'\x1b' agent.err && fail "an escape in the messages"
	true
}

@test "on the socket, a user sees processes of his own, and no sums of others'" {
	PUBLIC=$(mktemp -d)
	chmod 755 "$PUBLIC"
	[ "${RIGHTS:-all}" = all ] || chown "$AGENT_UID" "$PUBLIC"
	agent_start --socket "$PUBLIC/query"
	mkfifo puppet.in puppet.out
	chmod 755 "$BATS_TEST_TMPDIR"
	cp "$WORKLOADS/puppet" agent-mine
	unset SIMCUDA_LOG
	setpriv --reuid=23456 --regid=23456 --clear-groups ./agent-mine < puppet.in > puppet.out 3>&- 8>&- 9<&- &
	PUPPET_PID=$!
	exec 8> puppet.in 9< puppet.out
	puppet load
	settled
	puppet init
	puppet alloc 1000
	fresh
	assert_equal "$(ask_as 23456 http://x/api/v1/who | jq -c '[.processes[].comm]')" '["agent-mine"]'
	assert_equal "$(ask_as 34567 http://x/api/v1/who | jq -c '[.processes[].comm]')" '[]'
	ask_as 34567 http://x/api/v1/who | jq -e '.hidden_processes >= 1'
	curl -sS --unix-socket "$PUBLIC/query" http://x/api/v1/who | jq -e '.hidden_processes == 0'
	setpriv --reuid=34567 --regid=34567 --clear-groups "$MEMSCOPE" top --agent "$PUBLIC/query" -n 1 -d 100ms > top.txt
	grep -q "^No process of yours is traced; .* hidden" top.txt
	assert_equal "$(ask_as 23456 "http://x/api/v1/processes/$PUPPET_PID" | jq .process.pid)" "$PUPPET_PID"
	assert_equal "$(ask_as 34567 "http://x/api/v1/processes/$PUPPET_PID" -o /dev/null -w '%{http_code}')" 404
	assert_equal "$(ask_as 34567 http://x/metrics -o /dev/null -w '%{http_code}')" 403
	assert_equal "$(ask_as 34567 http://x/api/v1/history -o /dev/null -w '%{http_code}')" 403
	ask_as 34567 http://x/debug/pprof/gpu_heap | gunzip -c | grep -q agent-mine && fail "in another's profile"
	ask_as 23456 http://x/debug/pprof/gpu_heap | gunzip -c | grep -q agent-mine
	curl -sS --unix-socket "$PUBLIC/query" http://x/api/v1/who | jq -e 'any(.processes[]; .comm == "agent-mine")'
	curl -sS --unix-socket "$PUBLIC/query" http://x/metrics | grep -q 'comm="agent-mine"'
	agent_stop
	rm -rf "$PUBLIC"
}

@test "the log says who asks about other users' processes over the socket, once a minute" {
	agent_start
	/usr/bin/python3 - query <<-'PYTHON'
		import http.client, socket, sys
		for path in ["/api/v1/who", "/api/v1/who", "/health", "/api/v1/processes/1", "/metrics"]:
		    connection = http.client.HTTPConnection("localhost")
		    connection.sock = socket.socket(socket.AF_UNIX)
		    connection.sock.connect(sys.argv[1])
		    connection.request("GET", path)
		    connection.getresponse().read()
	PYTHON
	# A user who sees only his own is not named, nor who comes by the address.
	chmod 755 "$BATS_TEST_TMPDIR"
	setpriv --reuid=23457 --clear-groups curl -sS --unix-socket query http://localhost/api/v1/who > own.json
	ask /api/v1/who > who.json
	agent_stop
	sed -n 's/.*asked over the socket about all users. processes: \(.*\), by process [0-9]* of user \([0-9]*\)$/\1 \2/p' agent.err |
		diff - <(printf '%s 0\n' /api/v1/who /api/v1/processes/1 /metrics)
}

@test "the process for clients can open no file and start no program" {
	local server

	agent_start
	server=$(pgrep -P "$(pgrep -P "$OTHER_PID" memscope-keeper)" memscope-http)
	assert_equal "$(awk '/^Seccomp:/ { print $2 }' "/proc/$server/status")" 2
	assert_equal "$(awk '/^Max core file size/ { print $5 }' "/proc/$server/limits")" 0
	agent_stop
}

@test "an agent that cannot start leaves the socket of the one that runs" {
	agent_start
	mkdir other
	run -1 timeout 20 "$MEMSCOPE" agent --state-dir "$PWD/other" --listen off --socket "$PWD/query"
	[[ $output == *"--socket $PWD/query: Address already in use"* ]]
	run -1 timeout 20 "$MEMSCOPE" agent --state-dir "$PWD/other" --listen "unix:$PWD/query"
	[[ $output == *"--listen unix:$PWD/query: Address already in use"* ]]
	[ -S query ]
	curl -sS --max-time 30 --unix-socket query http://localhost/health
	agent_stop
	[ ! -e query ]
}

@test "a socket is not made where another user's link leads" {
	needs_http
	mkdir mine other
	PUBLIC=$(mktemp -d)
	chmod 755 "$PUBLIC"
	mkdir "$PUBLIC/his"
	chown 65534 "$PUBLIC/his"
	setpriv --reuid 65534 --clear-groups ln -s "$PWD/mine" "$PUBLIC/his/link"
	run -1 timeout 20 "$MEMSCOPE" agent --state-dir "$PWD/other" --listen off --socket "$PUBLIC/his/link/query"
	[[ $output == *"--socket $PUBLIC/his/link/query: a symbolic link that another user has made"* ]]
	assert_equal "$(ls -A mine)" ""
	rm -rf "$PUBLIC"
}

@test "ended, it takes the socket of --listen with it, too" {
	agent_start --listen "unix:$PWD/asked"
	[ -S asked ] && [ -S query ]
	agent_stop
	[ ! -e asked ] && [ ! -e query ]
}
