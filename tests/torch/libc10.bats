#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The functions of PyTorch's own libc10.so that its allocator reports to, called as the allocator does: of
# versions whose allocator itself cannot run here, too.

load ../e2e/helpers
load torch
NEEDS=libc10

@test "what is reported to libc10.so is read as it is" {
	local lib
	lib=$(echo "$TORCH_DIR"/venv/lib/python3*/site-packages/torch/lib)
	mkfifo lines
	"$TORCH_DIR/venv/bin/python" "$HERE/programs/reports.py" "$lib" < lines > expected 3>&- 7>&- &
	OTHER_PID=$!
	exec 7> lines
	wait_for 'grep -qs ready expected'
	record_start -o run.mscope --tensors=all --stacks=off -p "$OTHER_PID"
	echo go >&7
	exec 7>&-
	wait "$OTHER_PID"
	record_wait
	sed -i 1d expected
	"$MEMSCOPE" export -q -f ndjson run.mscope | jq -c 'select(.type == "tensor")' > records
	diff <(jq -Sc . expected) \
		<(jq -Sc '{action, block, block_bytes, allocated_bytes, reserved_bytes}' records)
	assert_equal "$(wc -l < expected)" 7
}
