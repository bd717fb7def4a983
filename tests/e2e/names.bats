# SPDX-License-Identifier: BSD-2-Clause
#
# Which exported names have no row in bpf/probes.def, and why: tests/names-without-row.

# The functions that the table has.
rows() {
	printf '%s\n' '#define MS_ROW(layer, function, op, ...) <function>' '#include "bpf/probes.def"' |
		${CC:-cc} -E -P -I"$ROOT" -x c - | grep -o '<[^>]*>' | tr -d '<>' | sort
}

# The names of those lists in user/event/cuda_names.def.
names() {
	local list

	for list; do
		sed -n "s/^$list(\(.*\))$/\1/p" "$ROOT/user/event/cuda_names.def"
	done
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
	names DRIVER RUNTIME | base | sort -u | comm -23 - rows > rowless
}

# Lines of the file PATTERNS whose first word matches no line of the file NAMES; with -v, lines of
# NAMES that match no pattern. A pattern without a reason behind it does not count.
unmatched() {
	local names=false

	[ "$1" != -v ] || { names=true; shift; }
	awk -v names=$names '
		NR == FNR {
			if (NF > 1) {
				regex = $1
				gsub(/\*/, ".*", regex)
				gsub(/[?]/, ".", regex)
				regexes[++count] = "^" regex "$"
				patterns[count] = $1
			}
			next
		}
		{
			found = 0
			for (i = 1; i <= count; i++)
				if ($0 ~ regexes[i])
					found = used[i] = 1
			if (!found && names == "true")
				print
		}
		END {
			for (i = 1; i <= count; i++)
				if (!used[i] && names != "true")
					print patterns[i]
		}' "$1" "$2"
}

@test "every exported name has a row, or a reason for none" {
	unmatched -v reasons rowless > unexplained
	[ ! -s unexplained ] || {
		echo "neither a row of bpf/probes.def nor a reason in tests/names-without-row:"
		cat unexplained
		return 1
	}
}

@test "every reason is about a name" {
	unmatched reasons rowless > stale
	[ ! -s stale ] || {
		echo "patterns that no name without a row matches:"
		cat stale
		return 1
	}
}

@test "every row is of an exported name" {
	names DRIVER RUNTIME OLDER | sort -u > exported
	rows | comm -23 - exported > unknown
	# CUDA 13 has dropped these; older runtimes have them.
	grep -vx -e cudaThreadSynchronize -e cudaGetDeviceProperties_v2 unknown > surprising || true
	[ ! -s surprising ] || {
		cat surprising
		return 1
	}
}

# A driver of next year: it has the functions of today's, and 30 more, 3 of them about memory.
newer_driver() {
	{
		echo 'int cuMemAlloc_v2(void) { return 100; }'
		printf 'int cu%s(void) { return 0; }\n' MemFrobnicate FabricCpyTwice ArrayFold
		seq -f 'int cuCtxFrobnicate%g(void) { return 0; }' 27
		echo 'static int cuMemHidden(void) { return 1; } int cudnnMemory(void) { return cuMemHidden(); }'
	} | cc -shared -fPIC -x c - -o libcuda-newer.so
}

@test "a newer driver: check, the recording and its report say what is not known" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	local built=${BUILT:-$ROOT/${BUILD:-build}} memscope=${MEMSCOPE:-$ROOT/memscope-bpf} pid

	newer_driver
	LD_PRELOAD=$PWD/libcuda-newer.so sleep 10 &
	pid=$!
	"$memscope" check --json -p $pid > check.json
	kill $pid
	[ "$(jq -c '.process.libraries[] | select(.path | endswith("newer.so")) | .new_functions |
		[.count, .memory, (.names | length), (.names[:3] | sort)]' check.json)" = \
		'[30,3,30,["cuArrayFold","cuFabricCpyTwice","cuMemFrobnicate"]]' ]
	[ "$(jq -c '[.process.libraries[] | select(.path | endswith("newer.so") | not) | .new_functions.count] | add // 0' \
		check.json)" = 0 ]

	"$memscope" record -q -o new.mscope -- env LD_PRELOAD="$PWD/libcuda-newer.so" "$(command -v sleep)" 0.2 2> err.txt
	grep -q "libcuda-newer.so exports 30 functions that this version of memscope-bpf does not know, among them cu" err.txt
	"$memscope" report -f md new.mscope > report.md
	grep -q "3 functions of newer CUDA libraries that are about memory" report.md
	grep -qE "cuMemFrobnicate|cuFabricCpyTwice|cuArrayFold" report.md
	[ "$("$memscope" report -f json new.mscope | jq -c '.recordings[0].processes[0].unknown | [.new_functions, .new_memory_functions]')" = '[30,3]' ]
}
