#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The blocks of real PyTorch, at a hundred checkpoints of a training, against its own snapshots of them.

load ../e2e/helpers
load torch

# equal COUNT [late]: of lines of JSON
equal() {
	"$TORCH_DIR/venv/bin/python" "$HERE/compare-tensors" checkpoints "${@:2}" > compared 2>&1 ||
		fail "$(head -c 2000 compared)"
	assert_equal "$(cut -d ' ' -f 1 compared)" "$1"
}

recorded() {
	record_torch hundred --tensors=all --stacks=off
	"$MEMSCOPE" export -q -f ndjson run.mscope | equal 100
	# Segments, too.
	same "$1" 100
}

@test "recorded: allocated, reserved, segments and blocks" {
	recorded native
}

@test "recorded, with expandable segments" {
	expandable
	recorded expandable
}

@test "live" {
	torch_command hundred
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" trace $MASK -q --tensors -o traced.jsonl -- "${COMMAND[@]}"
	equal 100 < traced.jsonl
}

@test "attached in the middle: totals at once, and the blocks that were made since" {
	mkfifo lines
	torch_command hundred wait
	"${COMMAND[@]}" < lines > late.out 3>&- 7>&- &
	OTHER_PID=$!
	exec 7> lines
	wait_for 'grep -qs ready late.out'
	record_start -o run.mscope --tensors=all --stacks=off -p "$OTHER_PID"
	echo go >&7
	exec 7>&-
	wait "$OTHER_PID"
	record_wait
	"$MEMSCOPE" export -q -f ndjson run.mscope | equal 99 late
}
