# SPDX-License-Identifier: BSD-2-Clause
#
# Every row of bpf/probes.def fires, and every value that it reads is right, wherever in its
# function the probe is (the simulated CUDA comes in two flavours, see
# tests/simcuda/vary-prologues). The rows_* workloads call all the functions and print the events to
# expect, one line each; what the tool saw, in the same columns (rows-filter.jq), must be the same
# lines in the same order. The last tests fail when a row is added that no workload calls.

load helpers

export SIMCUDA_DEVICES=2 LC_ALL=C

# Nothing was lost, refused or filtered out, and nothing in the ledger came as a surprise.
account() {
	assert_equal "$(summary '.events | .seen > 0 and .seen == .shown')" true
	assert_equal "$(summary '.events | [.lost, .lost_free_begins, .lost_process_records, .refused,
		.abandoned] | add')" 0
	assert_equal "$(summary '[.processes[] | .missed_frees, .unknown_frees, .pre_attach_frees,
		.unknown_allocs, .unknown_sizes] | add')" 0
}

# trace_rows WORKLOAD: what it expects to `want`
trace_rows() {
	PROBED=$PWD/messages trace -v --layer=both --json --follow -e all -o events.jsonl -- "$WORKLOADS/$1" > want 2> messages ||
		fail "$(cat messages)"
}

# matches WORKLOAD
matches() {
	trace_rows "$1"
	events -f "$ROOT/tests/e2e/rows-filter.jq" > got
	# The code that is compiled into a program: the runtime alone knows the libraries' handles.
	[[ $1 != rows_runtime* ]] || sed -i -E '/^memory cuLibrary(LoadData|Unload) /d' got
	diff -u want got > difference || fail "$(head -n 80 difference)"
	account
}

# rows LAYER: the functions that the table has for it
rows() {
	printf '%s\n' '#define MS_ROW(layer, function, op, ...) <layer function>' \
		'#include "bpf/probes.def"' | ${CC:-cc} -E -P -I"$ROOT" -x c - |
		grep -o '<[^>]*>' | tr -d '<>' | awk -v layer="$1" '$1 == layer { print $2 }' | sort
}

# From now on the simulated CUDA is the one whose functions do not all begin with a push.
varied() {
	[ -e "$BUILT/simcuda-varied/libcuda.so.1" ] || skip "prologues are varied on x86-64 only"
	LD_LIBRARY_PATH=$BUILT/simcuda-varied
}

# entries_alone WORKLOAD OPTION...: what can be told of its calls from their entries, but addresses
entries_alone() {
	local workload=$1

	shift
	trace --json --no-return -e all -o events.jsonl "$@" -- "$WORKLOADS/$workload" > want
	events 'select(.type == "call") | [.op, .api, .device, .size_bytes, .direction, .grid, .block,
		.shared_bytes, .nested, .attribute] | @json'
}

# both_entries_alone WORKLOAD OPTION...: the stack pointer at the probe is another, the values are
# not
both_entries_alone() {
	entries_alone "$@" > pushes
	varied
	entries_alone "$@" > others
	[ -s pushes ]
	diff -u pushes others > difference || fail "$(head -n 80 difference)"
}

# The functions that the simulated CUDA has; those it lacks, rows_standin has.
simulated() {
	nm -D --defined-only "$BUILT"/simcuda/libcuda{.so.1,rt.so.13} |
		awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort -u
}

# From now on all runtime functions fail before they ask the driver; cudaErrorDevicesUnavailable.
refuse() {
	SIMCUDA_FAIL=$(comm -12 <(rows RUNTIME) <(simulated) | sed 's/$/:*=46/' |
		paste -sd , -)
	export SIMCUDA_FAIL
}

# A kernel called by_X had its name from the row of function X alone: that row has fired too.
named() {
	events 'select(.type == "call") | (.kernel // "") | select(startswith("by_")) | .[3:]'
}

# all_fired LAYER WORKLOAD...: the workloads call every function that the table has for the layer
all_fired() {
	local layer=$1 workload missing

	shift
	trace_rows rows_standin
	named > fired
	events 'select(.type == "call").api' | sort -u | comm -23 - <(simulated) >> fired
	for workload in "$@"; do
		trace_rows "$workload"
		events 'select(.type == "call").api' >> fired
		named >> fired
	done
	rows "$layer" > wanted
	[ "$(wc -l < wanted)" -gt 100 ] || fail "the list of rows is not whole"
	missing=$(sort -u fired | comm -13 - wanted)
	[ -z "$missing" ] || fail "rows of bpf/probes.def that did not fire:" "$missing"
}

@test "driver" {
	matches rows_driver
}

@test "driver, by uprobe multi links" {
	MASK=--without=uprobe_session matches rows_driver
}

@test "driver, without returns: the same from both flavours of prologues" {
	both_entries_alone rows_driver
}

@test "runtime, without returns: the same from both flavours of prologues" {
	both_entries_alone rows_runtime-shared --layer=runtime
}

@test "driver, functions that begin in other ways" {
	varied
	matches rows_driver
}

@test "driver, functions that begin in other ways, by uprobe multi links, nops single-stepped" {
	varied
	MASK=--without=uprobe_session,uprobe_nops matches rows_driver
}

@test "runtime, shared, functions that begin in other ways" {
	varied
	matches rows_runtime-shared
}

@test "runtime, shared, per-thread default stream, functions that begin in other ways" {
	varied
	matches rows_runtime-ptds
}

@test "runtime, shared" {
	matches rows_runtime-shared
}

@test "runtime, static" {
	matches rows_runtime-static
}

@test "runtime, shared, per-thread default stream" {
	matches rows_runtime-ptds
}

@test "runtime, static, per-thread default stream" {
	matches rows_runtime-static-ptds
}

# by_driver LAYER WORKLOAD: what succeeded of the kinds that are left to the driver, by the driver's names
by_driver() {
	trace --layer="$1" --json --follow -e all -o "$1.jsonl" -- "$WORKLOADS/$2" > want
	jq -r 'select(.type == "call" and .result == 0 and .driver_api and
			(.op == "copy" or .op == "memset" or .op == "launch" or .op == "sync")) |
		[.op, .driver_api, .direction, .size_bytes, .kernel, .grid, .block, .shared_bytes, .device,
			.attribute, (.src, .dst, .addr, .stream | . != null)] | @json' "$1.jsonl"
}

# Bytes, for a copy to an array may take several of the driver's.
sums() {
	summary '.processes[] | [([.copies[].bytes] | add), (.memsets | [.count, .bytes]), .launches,
		(.kernels | map([.kernel, .launches]) | sort)]' "$1.jsonl"
}

@test "runtime: copies, memsets, launches and waits are seen once each, in the driver" {
	local flavour

	for flavour in shared static ptds static-ptds; do
		by_driver both rows_runtime-$flavour > both
		by_driver auto rows_runtime-$flavour > auto
		[ "$(wc -l < auto)" -gt 100 ]
		diff -u both auto > difference || fail "$(head -n 80 difference)"
		assert_equal "$(sums auto)" "$(sums both)"
		assert_equal "$(jq -r 'select(.op == "copy" or .op == "memset" or .op == "launch" or .op == "sync") |
			.api' auto.jsonl | grep cuda | grep -v GraphLaunch | sort -u | xargs)" ""
		assert_equal "$(jq -r '.api // empty' auto.jsonl | grep -c '^cudaMalloc$')" \
			"$(jq -r '.api // empty' both.jsonl | grep -c '^cudaMalloc$')"
	done
}

@test "runtime functions that fail before they ask the driver" {
	refuse
	matches rows_refused
}

@test "what the simulated CUDA cannot do" {
	matches rows_standin
}

@test "the list of rows is complete" {
	local single double

	single=$(grep -c '^MS_ROW(' "$ROOT/bpf/probes.def")
	double=$(grep -c '^MS_ROW_PT[SD][ZS](' "$ROOT/bpf/probes.def")
	assert_equal "$(cat <(rows DRIVER) <(rows RUNTIME) | wc -l)" $((single + 2 * double))
	rows DRIVER | grep -qx cuMemcpyHtoD_v2_ptds
	rows RUNTIME | grep -qx cudaMemset2DAsync_ptsz
}

@test "every driver row fires" {
	all_fired DRIVER rows_driver
}

@test "every runtime row fires, shared" {
	all_fired RUNTIME rows_runtime-shared rows_runtime-ptds
}

@test "every runtime row fires, static" {
	all_fired RUNTIME rows_runtime-static rows_runtime-static-ptds
}

@test "every runtime row fires with nothing but its own arguments" {
	refuse
	all_fired RUNTIME rows_refused
}
