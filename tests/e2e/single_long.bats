# SPDX-License-Identifier: BSD-2-Clause
#
# Single uprobes again, hundreds in each test, which take minutes to go: `make check-long`. `make check` has the
# same of links for many (attach.bats), and of fewer single uprobes (single.bats).

load tensors
load single

@test "the last of hundreds of single uprobes to go is one that nobody calls" {
	last_probe_is_cold 2 $WITHOUT_LINKS
}

@test "the last of hundreds of single uprobes to go is one that nobody calls, also if the tool is killed" {
	last_probe_is_cold 9 $WITHOUT_LINKS
}

@test "PyTorch's allocator: every block and total, by single uprobes" {
	observed record --tensors=all $WITHOUT_LINKS -o run.mscope -- "$WORKLOADS/tensors" "$WORKLOADS/libc10.so" now 500 > did
	seen run.mscope > seen
	grep -v '^end' did | diff - seen
}

@test "TensorFlow's and JAX's allocator, by single uprobes" {
	observed record --tensors=all $WITHOUT_LINKS -o run.mscope -- "$WORKLOADS/bfc" "$WORKLOADS/tsl.so" now 500 > did
	seen_of_device run.mscope > seen
	grep -v '^end' did | diff - seen
}
