# SPDX-License-Identifier: BSD-2-Clause
#
# Recordings whose maker wants them to take as long and as much memory as possible.

load helpers

# A second and 64 MiB for a MB on a quiet machine; twice as long where others are at work.
@test "recordings that are crafted to cost much are read in bounded time and memory" {
	"$ROOT/tests/e2e/bounded" "$MEMSCOPE" "$WORKLOADS/crafted_dump" "$(times 1000000 100000)" 2 64 "$(stride 23)"
}
