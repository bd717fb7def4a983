#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# `export -f memory_viz` of real PyTorch's tensors against the snapshot that PyTorch writes itself, read
# with PyTorch's own functions.

load ../e2e/helpers
load torch

# snapshots OPTIONS...: those of one moment, ours and theirs
snapshots() {
	local seconds

	export SNAPSHOT=$PWD/theirs.pickle
	record_torch snapshot "$@"
	"$MEMSCOPE" report -q -f json -o report.json run.mscope
	# What came to the checkpoint, and before the end.
	seconds=$(jq -n --slurpfile report report.json --slurpfile points checkpoints \
		'($points[0].ts_ns + 5e8 - $report[0].recordings[0].begin_ts_ns) / 1e9')
	"$MEMSCOPE" export -q -f memory_viz --to "+$(printf %.3f "$seconds")" -o ours.pickle run.mscope
	"$TORCH_DIR/venv/bin/python" "$HERE/compare-snapshots" ours.pickle theirs.pickle > compared ||
		fail "$(cat compared)"
}

@test "segments, blocks, their Python lines and the trace are PyTorch's own" {
	snapshots --tensors=all
	grep -q ' 0 without lines' compared
}

@test "the same with expandable segments" {
	expandable
	snapshots --tensors=all
	grep -q ' 0 without lines' compared
}

@test "stacks by chance: lines of all blocks of 1 MiB and more, and of some others" {
	snapshots --tensors=sites
	[ "$(grep -c ' 0 without lines' compared)" -eq 0 ]
}
