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

# The names in the help.
formats() {
	"$MEMSCOPE" export --help | sed -n '/^Formats:/,/^$/ s/^  \([a-z_]*\) .*/\1/p'
}

@test "it says which format, and what is wrong" {
	run -2 --separate-stderr "$MEMSCOPE" export run.mscope
	[[ $stderr == *"export needs a format"* ]]
	run -2 --separate-stderr "$MEMSCOPE" export -f xml run.mscope
	[[ $stderr == *'no format "xml"'* ]]
	for format in $(formats); do
		[[ $stderr == *"$format"* ]] || fail "$format is not named"
	done
	run -2 --separate-stderr "$MEMSCOPE" export -f ndjson
	[[ $stderr == *"export needs the files"* ]]
	run -1 --separate-stderr "$MEMSCOPE" export -f ndjson nothing.mscope
	[[ $stderr == *"nothing.mscope"* ]]
}

@test "the output never replaces what is read" {
	sha256sum run.mscope > before
	run -2 --separate-stderr "$MEMSCOPE" export -f ndjson -o run.mscope run.mscope
	[[ $stderr == *"the output would replace it"* ]]
	cp run.mscope other.mscope
	run -2 --separate-stderr "$MEMSCOPE" export -f ndjson -o other.mscope run.mscope
	[[ $stderr == *"other.mscope: is a recording, and the output would replace it"* ]]
	cmp run.mscope other.mscope
	sha256sum --quiet -c before
}

@test "formats in the help, the man page, the completion and what can be asked for are the same" {
	local format
	# shellcheck disable=SC1091
	. "$BUILT/memscope-bpf.bash"
	COMP_WORDS=(memscope-bpf export -f "") COMP_CWORD=3
	_memscope_bpf
	assert_equal "${COMPREPLY[*]}" "$(formats | xargs)"
	for format in $(formats); do
		mandoc -T ascii "$BUILT/man/memscope-bpf-export.1" | col -b |
			sed -n '/^FORMATS/,/^EXAMPLES/p' | grep -q "^ *$format" || fail "$format"
		"$MEMSCOPE" export -f "$format" -o "out.$format" run.mscope
		[ -s "out.$format" ]
	done
}

@test "a file is there once it is whole" {
	local pid format status=0
	for format in $(formats); do
		echo before > out
		run -5 "$MEMSCOPE" export -f "$format" -o out --pid 1 run.mscope
		assert_equal "$(cat out)" before
		chmod 640 out
		ln -sf out link
		"$MEMSCOPE" export -f "$format" -o link run.mscope
		[ -L link ]
		assert_equal "$(stat -c %a out)" 640
		"$MEMSCOPE" export -f "$format" -o another run.mscope
		assert_equal "$(stat -c %a another)" "$(printf %o $((0666 & ~$(umask))))"
		[ "$(stat -c %s out)" -gt 7 ]
		rm -f another
	done
	assert_equal "$(find . -name '.memscope*')" ""

	"$BUILT/bench/dumps" 1000000 large.mscope > sizes
	"$MEMSCOPE" export -f ndjson -o large.out large.mscope &
	pid=$!
	until find "/proc/$pid/fd" -lname "$PWD/*(deleted)" | grep -q .; do
		sleep 0.01
	done
	kill -TERM $pid
	wait $pid || status=$?
	assert_equal "$status" 143
	assert_equal "$(find . -name '.memscope*' -o -name large.out)" ""
}

@test "pipes and descriptors are written to as they are" {
	"$MEMSCOPE" export -f ndjson run.mscope > events
	"$MEMSCOPE" export -f ndjson -o /dev/stdout run.mscope | cmp - events
	"$MEMSCOPE" export -f ndjson -o /dev/stdout run.mscope > through
	cmp through events
	mkfifo fifo
	cat fifo > through &
	"$MEMSCOPE" export -f ndjson -o fifo run.mscope
	wait $!
	cmp through events
	[ -p fifo ]
	# Whoever reads has had enough.
	exec 5> >(:)
	wait $!
	for format in ndjson pprof; do
		env --default-signal=PIPE "$MEMSCOPE" export -f "$format" run.mscope >&5 2> said
		assert_equal "$(cat said)" ""
	done
	env --default-signal=PIPE "$MEMSCOPE" report -f html run.mscope >&5
	exec 5>&-
}

@test "one warning that a recording is not whole, whatever the format" {
	local format size

	size=$(stat -c %s run.mscope)
	head -c $((size - 100)) run.mscope > cut.mscope
	head -c $((size / 2)) run.mscope > half
	(cat half; echo damage; tail -c +$((size / 2 + 8)) run.mscope) > damaged.mscope
	for format in $(formats); do
		for file in cut damaged; do
			"$MEMSCOPE" export -q -f "$format" -o out $file.mscope 2> said
			assert_equal "$format: $(grep -c "warning: $file.mscope: not whole (" said)" "$format: 1"
			assert_equal "$(wc -l < said)" 1
		done
		"$MEMSCOPE" export -f "$format" -o out run.mscope 2> said
		assert_equal "$(cat said)" ""
	done
}

@test "progress is for terminals" {
	"$BUILT/bench/dumps" 1000000 large.mscope > sizes
	script -qec "'$MEMSCOPE' export -f ndjson -o out large.mscope" /dev/null > shown
	grep -q '% %, .* of .*/s' <(tr '0-9' % < shown)
	# The last thing that is written takes it away.
	assert_equal "$(tail -c 4 shown | od -An -c | tr -d ' ')" '\r033[K'
	script -qec "'$MEMSCOPE' export -q -f ndjson -o out large.mscope" /dev/null > shown
	assert_equal "$(cat shown)" ""
	"$MEMSCOPE" export -f ndjson -o out large.mscope 2> shown
	assert_equal "$(cat shown)" ""
}

@test "a recording is named as verify names it" {
	local id

	id=0x$("$MEMSCOPE" verify --json run.mscope | jq -r '.dumps[0].recording | ltrimstr("0x")' | sed 's/^0*//')
	[[ "$id" =~ ^0x[0-9a-f]+$ ]]
	assert_equal "$("$MEMSCOPE" export -f ndjson run.mscope | jq -r 'select(.type == "recording") | .recording')" "$id"
	assert_equal "$("$MEMSCOPE" export -f csv run.mscope | sed 1d | cut -d, -f1 | sort -u)" "$id"
	"$MEMSCOPE" export -f sqlite -o run.sqlite run.mscope
	assert_equal "$(sqlite3 run.sqlite 'SELECT recording FROM memscope_recordings')" "$id"
}
