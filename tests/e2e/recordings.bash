# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the bats files about recordings load besides: the tool's record command, what is in a dump,
# and disks that are small.

load helpers

bats_require_minimum_version 1.5.0

DUMPCAT=$WORKLOADS/dumpcat

eval "with_nothing_mounted_$(declare -f teardown)"
teardown() {
	with_nothing_mounted_teardown
	! mountpoint -q small 2> /dev/null || umount -l small
}

record() {
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK "$@"
}

# What the dump says of itself, and what it amounts to: jq programs over the lines.
dump_line() {
	"$DUMPCAT" -s "$1" | jq -c "select(.type == \"dump\") | $2"
}

dump_summary() {
	"$DUMPCAT" -s "$1" | jq -c "select(.type == \"summary\") | $2"
}

# The reader that was written from docs/dump-format.md.
dump_reader() {
	/usr/bin/python3 "$ROOT/tests/e2e/dump_reader.py" "$@"
}

# Nothing is damaged, and from the first anchor on nothing is missing.
assert_whole() {
	assert_equal "$(dump_line "$1" '[.missing_blocks, .damaged_bytes, .refused, .unknown, .anchors_used]')" \
		'[0,0,0,0,1]'
}

# A full disk that is `$1` large.
small_disk() {
	mkdir small
	mount -t tmpfs -o "size=$1" tmpfs small
}

# Stops the recorder: what is done to its files now is done between two blocks.
recorder_stopped() {
	kill -STOP "$RECORD_PID"
	wait_for '[ "$(cut -d" " -f3 "/proc/$RECORD_PID/stat")" = T ]'
}

# The recorder with a limit of $1 KiB for each file, which its target has not got.
record_limited() {
	local kib=$1

	shift
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing RECORD_PID record.err bash -c 'ulimit -f "$0"; exec "$@"' "$kib" \
		"$MEMSCOPE" record $MASK -v "$@"
}
