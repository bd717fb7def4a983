# SPDX-License-Identifier: BSD-2-Clause
#
# Which exported names have no row in bpf/probes.def, and why: tests/names-without-row.

# The functions that the table has.
rows() {
	printf '%s\n' '#define MS_ROW(layer, function, op, ...) <function>' '#include "bpf/probes.def"' |
		"${CC:-cc}" -E -P -I"$ROOT" -x c - | grep -o '<[^>]*>' | tr -d '<>' | sort
}

# NAME, without the suffix of its per-thread-default-stream form.
base() {
	sed -E 's/_pt[sd][sz]$//'
}

setup() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	cd "$BATS_TEST_TMPDIR"
	rows | base | sort -u > rows
	sed 's/#.*//; /^[[:space:]]*$/d' "$ROOT/tests/names-without-row" > reasons
	cat "$ROOT"/tests/simcuda/{driver,runtime}_names.txt | base | sort -u | comm -23 - rows > rowless
}

@test "every exported name has a row, or a reason for none" {
	local name pattern reason found

	while read -r name; do
		found=
		while read -r pattern reason; do
			# shellcheck disable=SC2053 # a pattern it is
			[[ $name != $pattern || -z $reason ]] || found=1
		done < reasons
		[ -n "$found" ] || echo "$name"
	done < rowless > unexplained
	[ ! -s unexplained ] || {
		echo "neither a row of bpf/probes.def nor a reason in tests/names-without-row:"
		cat unexplained
		return 1
	}
}

@test "every reason is about a name" {
	local pattern reason name found

	while read -r pattern reason; do
		found=
		while read -r name; do
			# shellcheck disable=SC2053 # a pattern it is
			[[ $name != $pattern ]] || found=1
		done < rowless
		[ -n "$found" ] || echo "$pattern"
	done < reasons > stale
	[ ! -s stale ] || {
		echo "patterns that no name without a row matches:"
		cat stale
		return 1
	}
}

@test "every row is of an exported name" {
	cat "$ROOT"/tests/simcuda/{driver,runtime}_names.txt | sort -u > exported
	rows | comm -23 - exported > unknown
	# CUDA 13 has dropped these; older runtimes have them.
	grep -vx -e cudaThreadSynchronize unknown > surprising || true
	[ ! -s surprising ] || {
		cat surprising
		return 1
	}
}
