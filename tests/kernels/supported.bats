# SPDX-License-Identifier: BSD-2-Clause
#
# Of a kernel that has what is needed: which way of attaching is chosen.

load ../e2e/helpers
. "$BATS_TEST_DIRNAME/version"

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
	# Of the kernels that have it, some answer uprobe(2) with ENXIO and some with EPROTO.
	assert_equal "$(grep -c "ok      uprobe_nops" checked)" "$(at_least 6.18 && echo 1 || echo 0)"
}
