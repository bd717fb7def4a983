# SPDX-License-Identifier: BSD-2-Clause
#
# The top command: plain tables where there is no terminal.

bats_require_minimum_version 1.5.0
load helpers

# In the background, looking ten times a second, unless that is said; the tables are in top.out.
top_start() {
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing TRACE_PID top.err env COLUMNS=200 "$MEMSCOPE" top $MASK -v -d 100ms \
		"$@" > top.out
}

top_stop() {
	kill -INT "$TRACE_PID"
	tool_wait top TRACE_PID
}

# The rows of process $1, the newest last: each cell, as in the columns, with "|" between them.
rows_of() {
	awk -F '  +' -v pid="$1" '$2 == pid { line = $3; for (i = 4; i <= NF; i++) line = line "|" $i; print line }' top.out
}

# Until the newest row of the puppet begins so: user, live, peak.
until_it_is() {
	wait_for "[[ \$(rows_of $PUPPET_PID | tail -1) == 'root|$1|'* ]]" 200 ||
		fail "not $1: $(tail -20 top.out)"
}

@test "a process is followed from one look to the next" {
	puppet_with_cuda
	top_start -p "$PUPPET_PID"
	puppet alloc 1048576
	until_it_is '1 MiB+|1 MiB'
	puppet alloc 3145728
	until_it_is '4 MiB+|4 MiB'
	puppet free
	until_it_is '1 MiB+|4 MiB'
	top_stop
	# What came and went in one look: growth in it; and by then, in a minute.
	rows_of "$PUPPET_PID" | cut -d '|' -f 2,4,5 | grep -v '|0 B|' > growth
	diff - growth <<-END
		1 MiB+|+1 MiB|+1 MiB
		4 MiB+|+3 MiB|+4 MiB
		1 MiB+|-3 MiB|+1 MiB
	END
	grep -q 'puppet  *may hold more from before it was attached to$' top.out
	assert_equal "$(grep -c $'\033' top.out)" 0
	puppet_end
}

@test "so many looks as are asked for, and what is counted in them" {
	puppet_with_cuda
	puppet alloc 4096
	top_start -n 30 -p "$PUPPET_PID"
	wait_for 'puppet launch 5; puppet churn 10000; [ "$(grep -c "^20..-..-..T" top.out)" -ge 30 ]'
	tool_wait top TRACE_PID
	assert_equal "$(grep -c '^20..-..-..T' top.out)" 30
	# Rates are of the time between two looks: some look had launches, some allocations.
	rows_of "$PUPPET_PID" | cut -d '|' -f 7 | grep -qvx 0
	rows_of "$PUPPET_PID" | cut -d '|' -f 6 | grep -qx '[0-9]*,[0-9]*'
	puppet_end
}

@test "a command that ends before the first look is shown, with its exit code" {
	run --separate-stderr "$MEMSCOPE" top $MASK -d 60 --launches=off -- "$WORKLOADS/calls" 3
	[ "$status" -eq 0 ]
	printf '%s\n' "$output" > top.out
	assert_equal "$(grep -c '^20..-..-..T' top.out)" 1
	grep -q '1 ended' top.out
	# Launches were not counted.
	assert_equal "$(awk -F '  +' '/ calls / { print $9 }' top.out)" '?'
	run --separate-stderr "$MEMSCOPE" top $MASK -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
}

@test "devices are shown as NVML says, and what the process holds, taken apart" {
	puppet_with_cuda
	puppet uuid
	cat > state <<-END
		driver 580.159.04
		device uuid=GPU-73696d75-6c61-7465-6420-475055200000 name=Simulated pci=0:65:00 minor=0 total=1024M reserved=24M used=300M
		process device=0 pid=$PUPPET_PID used=200M
		process device=0 pid=1 used=60M
	END
	export SIMNV=$PWD/state
	LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$BUILT/simnv/3 top_start -p "$PUPPET_PID"
	puppet alloc 104857600
	until_it_is '100 MiB+|100 MiB'
	wait_for "grep -q '100 MiB+.*200 MiB' top.out"
	top_stop
	# total, in use, live, more of the traced process, of others, of no process, free
	assert_equal "$(awk -F '  +' '/^  GPU-/ && $5 == "100 MiB" { print $3 "|" $4 "|" $5 "|" $6 "|" $7 "|" $8 "|" $9 }' top.out | tail -1)" \
		'1 GiB|300 MiB|100 MiB|100 MiB|60 MiB|40 MiB|700 MiB'
	puppet_end
}

@test "rows are sorted, and as many as are asked for" {
	run --separate-stderr "$MEMSCOPE" top $MASK -d 60 -f --sort pid -- \
		sh -c "'$WORKLOADS/calls' 3 & '$WORKLOADS/calls' 3; wait"
	[ "$status" -eq 0 ]
	printf '%s\n' "$output" > top.out
	awk -F '  +' '/ calls / { print $2 }' top.out > pids
	assert_equal "$(wc -l < pids)" 2
	sort -nc pids
	run --separate-stderr "$MEMSCOPE" top $MASK -d 60 -f --top 1 -- \
		sh -c "'$WORKLOADS/calls' 3 & '$WORKLOADS/calls' 3; wait"
	assert_equal "$(grep -c ' calls ' <<< "$output")" 1
	grep -qx '  1 more\.' <<< "$output"
}

@test "those that are asked for are shown, of those that are traced" {
	puppet_with_cuda
	puppet alloc 1048576
	top_start -p "$PUPPET_PID" --comm pupp\*
	wait_for "[ -n \"\$(rows_of $PUPPET_PID)\" ]" 200 || fail "$(cat top.out)"
	top_stop
	top_start -p "$PUPPET_PID" --comm nosuch
	wait_for "grep -q '^No process that has called CUDA is name nosuch\.' top.out" 200 || fail "$(cat top.out)"
	top_stop
	grep -q ": 0 processes, 0 B live on devices, 1 left out (but devices have all)" top.out
	[ -z "$(rows_of "$PUPPET_PID")" ]
	puppet_end
}

@test "what makes no sense is refused in one line" {
	refused() {
		local code=0

		"$MEMSCOPE" top "${@:2}" > out.txt 2> err.txt || code=$?
		assert_equal "$code" 2
		assert_equal "$(wc -l < err.txt)" 1
		grep -qF -- "$1" err.txt || fail "$(cat err.txt)"
	}
	refused "10ms is less than 100ms" -d 10ms -a
	refused "not one of live, growth, rate, peak or pid" --sort size -a
	refused "number from 1" -n 0 -a
	refused "there is nothing to trace"
}

@test "plain tables end with the call stacks of all processes that hold most" {
	puppet_with_cuda
	top_start --stacks=alloc -p "$PUPPET_PID"
	wait_for 'grep -q "tables of all files are made" top.err'
	until_it_is '0 B+|0 B'
	grep -q '^No memory whose call stack was seen is live' top.out
	puppet alloc 1048576
	puppet alloc 3145728
	until_it_is '4 MiB+|4 MiB'
	top_stop
	assert_equal "$(awk -F '  +' '$2 == "PROCESS" { n = NR } n && NR == n + 1 { print $2, "|", $3, $4, $5, "|", $7, $8 }
		' top.out | tail -1)" "puppet ($PUPPET_PID) | 4 MiB 2 2 | cuMemAlloc_v2 device"
	tail -3 top.out | grep -q 'allocate (puppet\.c:[0-9]*) < alloc_block (puppet\.c:[0-9]*) < obey'
	puppet_end
}
