# SPDX-License-Identifier: BSD-2-Clause
#
# The export command, on the recording that is kept for its format (tests/golden/). It needs no root.

load helpers
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || exit 1
	cp "$ROOT/tests/golden/dump-1.0.mscope" run.mscope
	chmod 644 run.mscope
}

@test "it says which format, and what is wrong" {
	run -2 --separate-stderr "$MEMSCOPE" export run.mscope
	[[ $stderr == *"export needs a format"* ]]
	run -2 --separate-stderr "$MEMSCOPE" export -f xml run.mscope
	[[ $stderr == *'not "xml"'* ]]
	run -2 --separate-stderr "$MEMSCOPE" export -f ndjson
	[[ $stderr == *"export needs the files"* ]]
	run -1 --separate-stderr "$MEMSCOPE" export -f ndjson nothing.mscope
	[[ $stderr == *"nothing.mscope"* ]]
}

@test "the output never replaces what is read" {
	sha256sum run.mscope > before
	run -2 --separate-stderr "$MEMSCOPE" export -f ndjson -o run.mscope run.mscope
	[[ $stderr == *"the output would replace it"* ]]
	sha256sum --quiet -c before
}

@test "ndjson: the calls of the report, one by one" {
	"$MEMSCOPE" export -f ndjson run.mscope > events.jsonl
	"$MEMSCOPE" report -f json run.mscope > report.json
	[ -s events.jsonl ]
	assert_equal "$(jq -s '[.[] | select(.op == "alloc" and .result == 0)] | length' events.jsonl)" \
		"$(jq '[.recordings[].processes[].spaces[].allocs] | add' report.json)"
}
