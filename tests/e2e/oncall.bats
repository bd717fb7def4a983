# SPDX-License-Identifier: BSD-2-Clause
#
# A night on call: what an engineer reads first, on a terminal, of a recording of a program that
# misbehaves. The first sentences name who did it, how much it was, why, and what to do.

bats_require_minimum_version 1.5.0
load helpers
load recordings

export SIMCUDA_MEMORY=1G

# seen OPTION... -- COMMAND: records it; the verdict, as a terminal shows it, in one line in `seen`
seen() {
	record -f -o run.mscope "$@"
	"$MEMSCOPE" report -f text run.mscope > report.txt
	sed -n '4,/^$/p' report.txt | tr '\n' ' ' > seen
	cat seen
}

# says TEXT...: whether each is in `seen`, as an extended regular expression, in that order
says() {
	local all=$1

	shift
	for text; do
		all+=".*$text"
	done
	grep -qE "$all" seen
}

@test "a leak under load: who, how much, how fast, and by which call" {
	seen -- "$WORKLOADS/oncall" serve
	says '^oncall \([0-9]+\) leaves [0-9]+ MiB behind: [0-9]+ allocations in [0-9.]+ s' \
		'\(leak-growth, cudaMalloc, device 0; ' 'What to do: Look for what keeps these allocations alive'
}

@test "a leak that fills the device, and is refused more for as long as that took: a leak all the same" {
	local begin

	# Its files are known before it is done.
	SIMCUDA_DELAY=cuInit=$(time_to_attach 300)ms seen -- "$WORKLOADS/oncall" stuck
	says '^Out of memory: cudaMalloc\(8 MiB\) in oncall' \
		'Cause: leak \(most of what was in use was allocated bit by bit and not freed: 1 GiB; it held 1 GiB, and all of that came from allocate .*in 128 blocks of 8 MiB' \
		'It would have fit without the growth of F[0-9]+ \(1 GiB\)' 'What to do: What grows all the time holds most of the memory'
	tr -s ' \n' ' ' < report.txt | grep -qE 'memory was refused after that for: [0-9.]+ s \* 1 GiB of what is live was allocated in allocate [^<]*< stuck '
	assert_equal "$("$MEMSCOPE" report -f json run.mscope | jq -c '[.recordings[0].findings[] | select(.rule == "leak-growth") | [.bytes, .confidence]]')" \
		"[[$((1 << 30)),\"medium\"]]"
	run -8 "$MEMSCOPE" report --fail-on leak-growth run.mscope
	# A bundle may begin when all of it is there.
	begin=$("$MEMSCOPE" export -j run.mscope | jq -rs 'map(select(.op? == "alloc" and .result == 2)) | .[10].wall_ns / 1e9 | floor + 1 | todate')
	"$MEMSCOPE" report -f text --from "$begin" run.mscope | tr -s ' \n' ' ' > cut.txt
	grep -qE 'Cause: steady-growth \(most of what was in use came from one place, block by block before what is seen here: it held 1 GiB, and all of that came from allocate [^<]*< stuck ' cut.txt
	grep -qE 'None found, but oncall \([0-9]+\) was refused memory again and again, and could not grow: what it holds was made before, as Failure 1 says\.' cut.txt
}

@test "a call site that never gets what others get: not recovered, and the report says what was seen" {
	# Its files are known before it is done.
	SIMCUDA_DELAY=cuInit=$(time_to_attach 300)ms seen --stacks=alloc -- "$WORKLOADS/oncall" starve
	says '^Out of memory: cudaMalloc\(20 MiB\) in oncall' \
		'It was handled: other call sites were granted memory [14] times?, 24 MiB at most; this one (had been refused 1 time before|was refused 4 times more); 1 allocation and .* succeeded after it; the process '
	"$MEMSCOPE" report -f json -o report.json run.mscope
	valid report report.json
	assert_equal "$(jq -c '.recordings[0].out_of_memory | map([.outcome, .failures, .granted_bytes, .granted_elsewhere,
		.elsewhere_allocations, .elsewhere_largest_bytes, .refused_before, .refused_later])' report.json)" \
		"[[\"handled\",1,null,false,1,$((24 << 20)),0,4],[\"handled\",4,null,false,4,$((24 << 20)),1,0]]"
	run -8 "$MEMSCOPE" report --fail-on oom run.mscope
}

@test "a co-tenant: who failed, who holds the device, how much it is, and what would have fit" {
	export SIMCUDA_TENANTS=$PWD/tenants
	# So that it is seen that they see the same devices.
	SIMCUDA_DELAY=cuInit=$(time_to_attach 300)ms seen -- bash -c '
		coproc "$0" hold
		read -r <&"${COPROC[0]}"
		"$0" start
		exec {COPROC[1]}>&-
		wait' "$WORKLOADS/oncall"
	says '^Out of memory: cudaMalloc\(100 MiB\) in oncall' 'It was fatal' 'the process exited with 1' \
		'Cause: co-tenant \(other processes hold most of the device, oncall \([0-9]+\) 800 MiB; the device has 1 GiB\)' \
		'It would have fit if oncall \([0-9]+\) had held 76 MiB less' \
		'What to do: Other processes hold most of the device'
}

@test "back-off at start-up: no failure, and what was granted in the end" {
	seen -- "$WORKLOADS/oncall" back-off
	says '^Out of memory: cudaMalloc\(1 GiB\) in oncall \([0-9]+\) failed' \
		'It backed off: 921 MiB was granted [0-9.]+ [mun]s after the last failure' \
		'Cause: full \(the process itself needs more than there is'
	"$MEMSCOPE" report --fail-on oom run.mscope > /dev/null
}

@test "a pool that keeps what a burst needed: how much, and how to get it back" {
	seen -- "$WORKLOADS/oncall" burst
	says '^oncall \([0-9]+\) keeps 576 MiB of freed memory in a pool \(pool-kept, device 0; ' \
		'What to do: Let the pool give back what it does not use .*cudaMemPoolTrimTo'
	# So much of what the driver counts is no riddle.
	assert_equal "$("$MEMSCOPE" report -f json run.mscope |
		jq -c '.recordings[0].devices[0].told | [.used_bytes, .explained_bytes, .pool_kept_bytes, .unexplained_bytes]')" \
		"[$((640 << 20)),0,$((576 << 20)),$((64 << 20))]"
	grep -q 'kept by its pools then  *576 MiB  freed, and not given back' report.txt
}

@test "a crash loop: how often, and with which error each time" {
	SIMCUDA_FAIL=cuCtxSynchronize:4=700 seen -- \
		bash -c 'for i in 1 2 3 4; do "$0" crash; done; exit 0' "$WORKLOADS/oncall"
	says '^oncall \([0-9]+\) is the last of 4 runs that failed, one after the other, each with' \
		'CUDA_ERROR_ILLEGAL_ADDRESS \(700\) \(crash-loop, cuCtxSynchronize; high confidence\)' \
		'What to do: Stop what starts it again'
}
