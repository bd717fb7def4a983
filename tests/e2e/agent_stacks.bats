# SPDX-License-Identifier: BSD-2-Clause
#
# Call stacks of the agent: whatever reads what it has recorded names the line of code.

load agent
load tmux

# Of the puppet, by a filter of jq.
puppet_says() {
	ask /api/v1/who > who.json
	jq -r --argjson pid "$PUPPET_PID" ".processes[] | select(.pid == \$pid) | $1" who.json
}

@test "memory runs out: the bundle, the ring and the profile name the line" {
	cat > grow.py <<- 'END'
		import ctypes, time

		cuda = ctypes.CDLL("libcuda.so.1")
		context, block = ctypes.c_void_p(), ctypes.c_uint64()
		cuda.cuInit(0)
		cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)


		def remember():
		    return cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(8 << 20))


		while remember() == 0:
		    time.sleep(0.05)
		time.sleep(60)
	END
	# Memory of other tests runs out, too.
	cp "$(realpath /usr/bin/python3)" agent-grow
	agent_start --allow comm=agent-grow
	SIMCUDA_MEMORY=256M ./agent-grow grow.py &
	PROGRAM_PID=$!
	wait_for 'compgen -G "state/*.oom-1.mscope" > /dev/null'
	ask /debug/pprof/gpu_heap | gunzip -c > profile
	kill "$PROGRAM_PID"
	wait "$PROGRAM_PID" || true
	agent_stop
	"$MEMSCOPE" report -f json state/*.oom-1.mscope > report.json
	jq -r '.verdict[0]' report.json > verdict.txt
	grep -q 'remember (grow.py:10)' verdict.txt || fail "$(cat verdict.txt)"
	"$MEMSCOPE" report -f json state/ring > report.json
	grep -q 'remember' report.json
	grep -aq grow.py profile && grep -aq remember profile
	# The same by folded stacks: nothing but the last request, which failed, is missing.
	"$MEMSCOPE" export -f folded state/ring/*.mscope > folded.txt
	grep -qE 'remember' folded.txt
}

@test "processes that run the same program have the same stacks" {
	local i

	agent_start
	cp "$WORKLOADS/puppet" agent-alike
	# Each is there for long enough that its code can be looked at, as a rule.
	for i in {1..12}; do
		{ printf 'load\ninit\nalloc 4096\nchurn 3\nfree\n'; sleep 0.5; } | ./agent-alike > /dev/null
	done
	fresh
	agent_stop
	"$MEMSCOPE" export -f ndjson state/ring/*.mscope > events.jsonl
	jq -c 'select(.comm == "agent-alike" and .op == "alloc") | [.pid, .stack_id]' events.jsonl > ids.txt
	assert_equal "$(wc -l < ids.txt)" 48
	[ "$(jq -s 'map(select(.[1]) | .[0]) | unique | length' ids.txt)" -ge 6 ] || fail "$(uniq -c ids.txt)"
	# A process has two, one for each of the calls, and the first one may lack tables.
	[ "$(jq -s 'map(.[1] // empty) | unique | length' ids.txt)" -le 5 ] || fail "$(uniq -c ids.txt)"
	jq -c 'select(.type == "stack") | .stack_id' events.jsonl | sort > stacks.txt
	assert_equal "$(uniq -d stacks.txt)" ""
}

@test "stacks are given up where they cost more than the budget, which is said, and come back" {
	local before allocs=0 i

	BUDGET=--budget=0.5% agent_start
	named_puppet agent-deep
	puppet alloc 4096
	wait_for '[ "$(puppet_says .cost.stacks)" = true ]'
	for ((i = 0; i < 400; i++)); do
		puppet churn 2000
		allocs=$((allocs + 2000))
		[ "$(puppet_says .cost.stacks)" = true ] || break
	done
	assert_equal "$(puppet_says .cost.stacks)" false
	valid agent-who who.json
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	assert_equal "$(awk '/^memscope_agent_budget_stackless_processes/ { print $2 }' metrics.txt)" 1
	grep -q "process $PUPPET_PID: tracing costs it more than the budget of 0.5 %: no call stacks" agent.err
	# All allocations are in the account all the same.
	puppet alloc 1000
	fresh
	assert_equal "$(puppet_says '[.device_bytes, .exact, .spaces[0].allocs] | @csv')" "5096,true,$((allocs + 2))" ||
		why_inexact
	wait_for '[ "$(puppet_says .cost.stacks)" = true ]'
	puppet alloc 2000
	fresh
	grep -q "process $PUPPET_PID: call stacks of its allocations are taken again" agent.err
	agent_stop
	puppet_end
	"$MEMSCOPE" report state/ring/*.mscope > report.txt
	grep -q "milliseconds in which no call stacks were taken, to keep within the agent's budget" report.txt
	"$MEMSCOPE" report -f json state/ring/*.mscope > report.json
	jq -e '[.recordings[].processes[] | select(.comm == "agent-deep") | .unknown.stackless_ms] | add > 0' report.json
	"$MEMSCOPE" export -f ndjson state/ring/*.mscope > events.jsonl
	jq -c 'select(.comm == "agent-deep" and .op == "alloc" and .size_bytes != 4096) | [.size_bytes, .stack_id != null]' events.jsonl |
		sort -u > sizes.txt
	grep -qx '\[1000,false\]' sizes.txt
	grep -qx '\[2000,true\]' sizes.txt
	jq -c 'select(.type == "budget" and .comm == "agent-deep") | .stacks' events.jsonl | uniq > steps.txt
	assert_equal "$(paste -sd ' ' steps.txt)" "false true"
}

@test "a process's answer has its largest call sites, in bounds, and top shows them" {
	cat > sites.py <<- 'END'
		import ctypes, sys, time

		cuda = ctypes.CDLL("libcuda.so.1")
		context, block = ctypes.c_void_p(), ctypes.c_uint64()
		cuda.cuInit(0)
		cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)


		def take(size):
		    assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size)) == 0


		def deep(depth, size):
		    if depth:
		        deep(depth - 1, size)
		    else:
		        take(size)


		take(4096)
		time.sleep(float(sys.argv[1]))
		deep(40, 1 << 20)
		cuda.cuMemFree_v2(block)
		deep(40, 2 << 20)
	END
	# Each of these lines is a site: 23 in all, with those above.
	for i in {1..21}; do echo "take(1000 * $i)"; done >> sites.py
	echo 'print("done", flush=True); time.sleep(60)' >> sites.py
	cp "$(realpath /usr/bin/python3)" agent-sites
	agent_start
	# It waits until its code has been looked at.
	./agent-sites sites.py 2 > done.txt &
	PROGRAM_PID=$!
	wait_for 'grep -q done done.txt'
	fresh
	curl -sS --unix-socket query "http://localhost/api/v1/processes/$PROGRAM_PID" > answer.json
	ask "/api/v1/processes/$PROGRAM_PID" > process.json
	cmp answer.json process.json
	valid agent-process process.json
	jq -c .sites process.json > sites.json
	assert_equal "$(jq -c '[(.largest | length), (.largest[0] | .api, .space, .device, .live_bytes,
		.live_allocations, .bytes_in_peak, .allocs, .alloc_bytes)]' sites.json)" \
		'[20,"cuMemAlloc_v2","device",0,2097152,1,2097152,1,2097152]'
	# The innermost frames, and the program's own.
	assert_equal "$(jq -c '.largest[0] | [(.frames | length), .frames_left_out_after, .frames_left_out > 10,
		.frames[-1].function != null]' sites.json)" '[32,24,true,true]'
	jq -c '.largest[0].frames[] | select(.kind == "python") | [.function, (.source | split("/")[-1]), .line]' sites.json |
		sed -n 1,2p > frames.txt
	assert_equal "$(paste -sd ' ' frames.txt)" '["take","sites.py",10] ["deep","sites.py",17]'
	# All that it holds is in one of the sums.
	assert_equal "$(jq -c '[([.largest[].live_bytes] | add) + .more_live_bytes + .without_stack_live_bytes,
		([.largest[].live_allocations] | add) + .more_live_allocations + .without_stack_live_allocations]' sites.json)" \
		"$(jq -c '.process.spaces[] | select(.space == "device") | [.live_bytes, .live_allocations]' process.json)"
	[ "$(jq '.more' sites.json)" -ge 2 ] || fail "$(cat sites.json)"
	assert_equal "$(jq -c '.by_api[] | [.api, .live_allocations, .allocs, .frees]' process.json)" \
		'["cuMemAlloc_v2",23,24,1]'
	if command -v tmux > /dev/null; then
		tmux_needed
		terminal_start 150 40
		keys -l "'$MEMSCOPE' top --agent query -d 200ms"
		keys Enter
		until_it_shows agent-sites
		keys -l /agent-sites
		keys Enter
		keys Enter
		until_it_shows "[1 Spaces]"
		keys 2
		until_it_shows "take (sites.py:10) < deep (sites.py:17)"
		until_it_shows "more are not shown."
		keys 3
		until_it_shows "An agent does not send blocks"
		tmux_end
	fi
	kill "$PROGRAM_PID"
	wait "$PROGRAM_PID" || true
	agent_stop
}

# How a stack of the workload `patterns` spells its number, and a block of it its size, by a filter of jq.
SPELLED='([.frames[]?.function | select(. == "one" or . == "zero")] | reverse | map(if . == "one" then 1 else 0 end) |
	reduce .[] as $bit (0; . * 2 + $bit))'

# How many allocations of the workload `patterns` have the stack that their size says, in the ring; how many
# another, or none.
counted() {
	"$MEMSCOPE" export -f ndjson state/ring/*.mscope > events.jsonl
	/usr/bin/python3 - <<'PYTHON'
import json
spelled, counts = {}, {"right": 0, "wrong": 0, "unknown": 0}
for line in open("events.jsonl"):
    event = json.loads(line)
    if event.get("type") == "stack":
        names = [frame["function"] for frame in event["frames"] if frame and frame["function"] in ("one", "zero")]
        spelled[event["stack_id"]] = int("0" + "".join("1" if name == "one" else "0" for name in reversed(names)), 2)
    elif event.get("op") == "alloc" and event["comm"].startswith("pattern-"):
        number = spelled.get(event["stack_id"])
        counts["unknown" if number is None else "right" if event["size_bytes"] == 16 * (number + 1) else "wrong"] += 1
print(json.dumps(counts))
PYTHON
}

@test "more stacks than there is room for: what is not live gives way, and none is taken for another" {
	metric() {
		ask /metrics | awk -v name="memscope_agent_$1" 'index($1, name) == 1 { print $2 }'
	}
	# Nothing else has that name, be it another run of this test: its stacks would take room, too.
	cp "$WORKLOADS/patterns" "pattern-$$"
	agent_start --allow "comm=pattern-$$"
	mkfifo commands
	"./pattern-$$" < commands > patterns.out &
	PROGRAM_PID=$!
	exec 8> commands
	sleep 2 # its code is looked at
	echo "0 33000" >&8
	wait_for '[ "$(grep -c done patterns.out)" = 1 ]' 1200
	wait_for '[ "$(metric stacks_forgotten_total)" -gt 20000 ]' 1200
	[ "$(metric 'stacks{')" -lt 20000 ] || fail "$(metric stacks)"
	# Some of those that were forgotten come again, which the kernel side has reported; and others are new.
	printf '32900 32906\n40000 80000\n' >&8
	wait_for '[ "$(grep -c done patterns.out)" = 3 ]' 1200
	fresh
	ask "/api/v1/processes/$PROGRAM_PID" > process.json
	[ "$(metric 'stacks{')" -gt 30000 ] || fail "$(metric stacks)"
	assert_equal "$(metric stacks_left_out_total)" 0
	exec 8>&-
	wait "$PROGRAM_PID"
	agent_stop
	grep -q 'call stacks of which nothing is live were forgotten' agent.err
	# What was kept of the first ones, and the last ones, is where it says.
	jq -c ".sites.largest[] | select(.live_bytes > 0) | [(.live_bytes / 16 - 1), $SPELLED]" process.json | sort -V > sites.txt
	{ for i in {0..5} {32900..32905} {40000..40005}; do echo "[$i,$i]"; done } > expected.txt
	diff -u expected.txt sites.txt
	assert_equal "$(jq -c '.sites | [.more_live_bytes, .without_stack_live_bytes]' process.json)" '[0,0]'
	# In the recording, too.
	counted > counts.txt
	jq -e '.right > 40000 and .wrong == 0' counts.txt || fail "$(cat counts.txt)"
}

@test "stacks that the kernel side has no room for come again and again: their ids do not pile up" {
	local from i

	cp "$WORKLOADS/patterns" "pattern-$$"
	RING=--ring=64M agent_start --allow "comm=pattern-$$"
	mkfifo commands
	"./pattern-$$" < commands > patterns.out &
	PROGRAM_PID=$!
	exec 8> commands
	sleep 2 # its code is looked at
	# Each part of these is gone from the kernel side when it comes again.
	for i in {1..60}; do
		from=$(((i - 1) % 5 * 4000))
		echo "$from $((from + 4000))" >&8
		wait_for '[ "$(grep -c done patterns.out)" = '"$i"' ]' 1200
		[ "$i" -lt 18 ] || { fresh; fresh; }
		! grep -q "ids of stacks that had others before are given up" agent.err || break
	done
	[ "$i" -lt 60 ]
	# These the kernel side still knows, by ids that were given up.
	echo "$((from + 3000)) $((from + 4000))" >&8
	wait_for '[ "$(grep -c done patterns.out)" = '"$((i + 1))"' ]' 1200
	fresh
	exec 8>&-
	wait "$PROGRAM_PID"
	agent_stop
	counted > counts.txt
	# What was on its way when they were has no stack.
	jq -e '.right > 80000 and .wrong == 0' counts.txt || fail "$(cat counts.txt)"
	jq -r 'select(.op == "alloc") | .stack_id' events.jsonl | tail -1000 > last.txt
	assert_equal "$(grep -c null last.txt || true)" 0
	jq -r 'select(.type == "stack") | .stack_id' events.jsonl | sort -u > stacks.txt
	assert_equal "$(sort -u last.txt | comm -23 - stacks.txt)" ""
}

@test "without stacks, none are recorded" {
	agent_start --stacks=off
	named_puppet agent-plain
	puppet alloc 4096
	fresh
	assert_equal "$(puppet_says .cost.stacks)" null
	valid agent-who who.json
	agent_stop
	puppet_end
	"$MEMSCOPE" export -f ndjson state/ring/*.mscope > events.jsonl
	assert_equal "$(jq -c 'select(.comm == "agent-plain" and .op == "alloc") | .stack_id' events.jsonl)" null
	assert_equal "$(jq -c 'select(.type == "stack")' events.jsonl)" ""
}

# Runs the puppet's copy in that directory; its second allocation comes when its code has been looked at.
run_in() {
	cp -n "$WORKLOADS/puppet" "$1/agent-files"
	rm -f puppet.in puppet.out
	puppet_as "$1/agent-files"
	puppet alloc 4096
	fresh
	puppet alloc 8192
	puppet_end
}

# How many frames the stacks of such allocations have, by program; --: none.
frames_of() {
	"$MEMSCOPE" export -f ndjson state/ring/*.mscope > events.jsonl
	jq -rs --argjson size "$1" '(map(select(.type == "stack") | {key: (.stack_id | tostring), value: (.frames | length)}) |
		from_entries) as $stacks | .[] | select(.comm == "agent-files" and .op == "alloc" and .size_bytes == $size) |
		$stacks[.stack_id // 0 | tostring] // "--"' events.jsonl
}

@test "files of programs that have ended are closed; who maps them again has the same stacks" {
	agent_start --allow comm=agent-files
	small_disk 64M
	run_in small
	wait_for 'umount small 2> /dev/null'
	mkdir other
	run_in other
	# The file rests by then, and its table is still there.
	fresh
	run_in other
	agent_stop
	assert_equal "$(frames_of 8192 | sort -u | wc -l)" 1
	[ "$(frames_of 8192 | head -1)" -gt 3 ] || fail "$(frames_of 8192)"
	assert_equal "$(frames_of 8192 | wc -l)" 3
}

@test "a program that maps more files than there are tables: the next one has its stacks" {
	cat > many.py <<- 'END'
		import ctypes, glob, mmap, time

		cuda = ctypes.CDLL("libcuda.so.1")
		context, block = ctypes.c_void_p(), ctypes.c_uint64()
		cuda.cuInit(0)
		cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
		kept = []
		for path in glob.glob("many/*"):
		    with open(path, "rb") as file:
		        kept.append(mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))
		for _ in range(3):
		    cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(4096))
		    time.sleep(0.7)
		print(len(kept))
	END
	mkdir many next
	truncate -s 4096 first
	printf 'many/%s\n' {1..2100} | xargs -n 300 sh -c 'tee "$@" < first > /dev/null' tee
	cp "$(realpath /usr/bin/python3)" agent-many
	agent_start --allow 'comm=agent-*'
	assert_equal "$(./agent-many many.py)" 2100
	grep -q "traced processes have mapped more than 2047 files at once" agent.err || fail "$(cat agent.err)"
	# Of these, as many are forgotten as the next ones may need.
	fresh
	fresh
	run_in next
	fresh
	agent_stop
	[ "$(frames_of 8192)" -gt 3 ] || fail "$(frames_of 8192)"
}

@test "a cache that cannot be used is told of at the start" {
	agent_start --stack-cache /proc/foo
	grep -q 'warning: --stack-cache /proc/foo: No such file or directory: what is known .* is not kept' agent.err
	agent_stop
	# Others can write there.
	mkdir -m 777 open
	agent_start --stack-cache "$PWD/open"
	grep -q "warning: --stack-cache $PWD/open: is no directory of this user's alone" agent.err
	agent_stop
	agent_start --stack-cache /proc/foo --stacks=off
	run ! grep -q 'warning: --stack-cache' agent.err
	agent_stop
	agent_start --stack-cache "$PWD/own"
	run ! grep -q 'warning: --stack-cache' agent.err
	agent_stop
}
