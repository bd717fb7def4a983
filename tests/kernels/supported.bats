# SPDX-License-Identifier: BSD-2-Clause
#
# Of a kernel that has what is needed: which way of attaching is chosen.

load ../e2e/helpers
. tests/kernels/version

# Since which version of Linux; as README.md and `memscope-bpf check` have it.
expected() {
	local since strategy

	while read -r since strategy; do
		if at_least "$since"; then
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
	# The system call that tells answers otherwise on each of these.
	! at_least 6.18 || grep -q "ok      uprobe_nops" checked
}
