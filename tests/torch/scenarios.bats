#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs with real PyTorch that hold memory for a reason that the report has to name, with the line of
# code; and beside each the same program without that, of which nothing is said. What each does, it says
# in its first lines.

load ../e2e/helpers
load torch

# concluded MIB CODE PROGRAM ARGUMENT...: records it on a device of so much memory; it ends with that code
concluded() {
	local code=0

	rm -f run.mscope checkpoints
	torch_command "${@:3}"
	# shellcheck disable=SC2086 # may be empty
	SIMCUDA_MEMORY=$1M watched "$MEMSCOPE" record $MASK -q -f --tensors=all -o run.mscope -- "${COMMAND[@]}" 2> program.err || code=$?
	[ "$code" -eq "$2" ] || fail "exit code $code: $(cat program.err)"
	"$MEMSCOPE" report -q $UNCONTENDED -f json -o report.json run.mscope
	valid report report.json
}

# What is found of memory, and in which line of the program: RULE FILE:LINE, as the words name it.
found() {
	jq -r '.recordings[0] as $all | $all.findings[] | select(.topic | IN("bottleneck", "note") | not) |
		.site.stack_id as $id | [.rule, ([($all.tensor_sites + $all.sites)[] | select(.stack_id == $id)][0].frames // [] |
		map(select(.kind == "python" and (.source | endswith("/'"$1"'.py"))))[0] | select(.) |
		"\(.source | split("/") | last):\(.line)")] | join(" ")' report.json | sort -u
}

# The number of the line of a program that has that text.
line_of() {
	grep -nF -- "$2" "$HERE/programs/$1.py" | head -1 | cut -d : -f 1
}

@test "a cache of keys and values that grows; one that has a length" {
	concluded 8192 0 kv_cache
	assert_equal "$(found kv_cache)" "leak-growth kv_cache.py:$(line_of kv_cache keys.clone)"
	concluded 8192 0 kv_cache bounded
	assert_equal "$(found kv_cache)" ''
}

@test "an optimizer that is made twice, and a model; the same after the old ones are gone" {
	concluded 8192 0 twice optimizer
	assert_equal "$(found twice)" "made-twice twice.py:$(line_of twice '    step(net')"
	# Two states of Adam, each as large as the model.
	jq -e '[.recordings[0].findings[] | select(.rule == "made-twice").evidence[0].value] == [28]' report.json
	concluded 8192 0 twice model
	assert_equal "$(found twice)" "made-twice twice.py:$(line_of twice 'return model(')"
	concluded 8192 0 twice once
	assert_equal "$(found twice)" ''
}

@test "60 % is allocated, and there is no piece for the rest; requests that fit into the pieces" {
	concluded 1024 1 oom_sixty
	assert_equal "$(found oom_sixty)" "fragmentation oom_sixty.py:$(line_of oom_sixty 'return mib')
oom"
	assert_equal "$(jq -r '.recordings[0].out_of_memory[].cause' report.json)" fragmentation
	"$MEMSCOPE" report -q -f text run.mscope | tr -s ' \n' ' ' | grep -q 'has 400 MiB free, in pieces of at most 4 MiB'
	concluded 1024 0 oom_sixty small
	assert_equal "$(found oom_sixty)" ''
}

@test "a graph's private pool keeps what it does not use; a graph that is given up" {
	concluded 1024 1 pool
	assert_equal "$(found pool)" "oom
private-pool pool.py:$(line_of pool 'blocks = [mib')"
	"$MEMSCOPE" report -q -f text run.mscope | tr -s ' \n' ' ' > text
	"$MEMSCOPE" report -q --fail-on private-pool -o /dev/null run.mscope 2> said || true
	tr -s ' \n' ' ' < said | grep -q 'keeps 640 MiB in 16 segments without any block: they are a private pool'"'"'s'
	# It would not help.
	[ "$(grep -c 'empty its cache' text)" -eq 0 ]
	concluded 1024 0 pool released
	assert_equal "$(jq -r '[.recordings[0].findings[].rule | select(. == "private-pool")] | length' report.json)" 0
	assert_equal "$(jq -r '.recordings[0].out_of_memory[].outcome' report.json)" recovered
}

# How many processes have tensors, and from how many of them a line of the program asks for some.
with_tensors() {
	jq -r '[([.recordings[0].processes[] | select(.tensors)] | length), ([.recordings[0].tensor_sites[] |
		select(any(.frames[]; .kind == "python" and (.source | endswith("/worker_context.py")) and .line == '"$1"')).processes] | max // 0)] |
		join(" ")' report.json
}

@test "workers of a DataLoader that have contexts of their own, and the line that makes them; workers without" {
	local line

	line=$(line_of worker_context 'device="cuda"')
	concluded 8192 0 worker_context
	assert_equal "$(with_tensors "$line")" '3 2'
	concluded 8192 0 worker_context host
	assert_equal "$(with_tensors "$line")" '1 0'
}

@test "a child that keeps what it makes, and the parent that does not" {
	local child

	concluded 8192 0 fork_leak
	assert_equal "$(found fork_leak)" "leak-growth fork_leak.py:$(line_of fork_leak 'answer = mib')"
	child=$(jq '.recordings[0].findings[] | select(.rule == "leak-growth").pid' report.json)
	# Whichever number they have: what the child has at its end is much, and what the parent has is little.
	assert_equal "$(jq -s --argjson child "$child" 'map(select(.allocated > 300 * 1048576).pid) == [$child]' checkpoints)" true
}

# The lines of the program in which memory ran out, each with its outcome.
ran_out() {
	jq -r '.recordings[0].out_of_memory[] | .outcome + " " + ([.failed_in.frames[] |
		select(.kind == "python" and (.source | endswith("/'"$1"'.py")))][0].line | tostring)' report.json
}

@test "a retry that works, and a batch that is halved: where memory ran out, and nothing to fail for" {
	concluded 1024 0 oom_recovered
	ran_out oom_recovered > lines
	assert_equal "$(cut -d ' ' -f 1 lines | sort -u)" recovered
	# Each is a line that asks for a block.
	while read -r _ line; do
		sed -n "${line}p" "$HERE/programs/oom_recovered.py" | grep -q 'mib('
	done < lines
	concluded 1024 0 oom_halved
	assert_equal "$(ran_out oom_halved)" "backed-off $(line_of oom_halved 'batch = mib(wanted)')"
	"$MEMSCOPE" report -q --fail-on oom,leak,fragmentation,private-pool,made-twice -o /dev/null run.mscope
	# The program was told so for 800 and for 400 MiB.
	assert_equal "$(jq '[.recordings[0].processes[] | select(.tensors).tensors.devices[0].out_of_memory] | add' report.json)" 2
}

@test "training as it should be, with its blocks recorded: nothing is found" {
	concluded 8192 0 ordinary
	assert_equal "$(found ordinary)" ''
	jq -e '[.recordings[0].processes[] | select(.tensors).tensors.exact] == [true]' report.json
}
