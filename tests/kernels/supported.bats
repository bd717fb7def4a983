# SPDX-License-Identifier: BSD-2-Clause
#
# Of a kernel that has what is needed: which way of attaching is chosen, and that it leaves nothing.

load ../e2e/helpers

# Since which version of Linux; as README.md and `memscope-bpf check` have it.
expected() {
	local since strategy

	while read -r since strategy; do
		if printf '%s\n' "$since" "$(uname -r)" | sort -CV; then
			echo "$strategy"
			return
		fi
	done <<< "6.13 uprobe_session
6.10 uprobe_multi
5.15 uprobe_single"
}

@test "tracing works, by the best strategy that this kernel has" {
	"$MEMSCOPE" check > checked
	grep -q "ok      programs" checked
	grep -qx "Tracing works here." checked
	assert_equal "$(grep "^Probes are attached" checked)" "Probes are attached by $(expected)."
}

@test "a process that runs is attached to, and nothing is left" {
	two_threads_of_a_puppet
}

@test "SIGKILL leaves nothing, and the process goes on" {
	puppet_start
	puppet load
	puppet init
	trace_start -p "$PUPPET_PID"
	puppet alloc 4096
	kill -KILL "$TRACE_PID"
	wait_for nothing_left
	puppet free
	echo "exit 7" >&8
	local code=0
	wait "$PUPPET_PID" || code=$?
	assert_equal "$code" 7
}
