# SPDX-License-Identifier: BSD-2-Clause
#
# The verify command, on the recording that is kept for its format (tests/golden/), whole and not.
# It needs no root: what needs none must not ask for it.

load recordings

setup() {
	cd "$BATS_TEST_TMPDIR" || exit 1
	cp "$ROOT/tests/golden/dump-1.0.mscope" run.mscope
	chmod 644 run.mscope
}

# What is to be known of a recording, by a path into its JSON object.
said() {
	"$MEMSCOPE" verify --json "$1" 2> /dev/null | jq -r ".dumps[0]$2"
}

# Turns the byte at an offset into another one.
damage() {
	/usr/bin/python3 - "$@" << 'END'
import sys
path, offset = sys.argv[1], int(sys.argv[2])
with open(path, "r+b") as file:
    file.seek(offset)
    byte = file.read(1)[0]
    file.seek(offset)
    file.write(bytes([byte ^ 0x10]))
END
}

# Where the n-th block begins, and where the one after it.
block() {
	dump_reader --blocks "$1" | sed -n "$(($2 + 1))p"
}

@test "a whole recording" {
	run -0 --separate-stderr "$MEMSCOPE" verify run.mscope
	assert_equal "${lines[0]}" "run.mscope: whole"
	assert_equal "$stderr" ""
	[[ $output == *"8 segments, "*"556 events"* ]]
	[[ $output == *"lost        3 events"* ]]
	[[ $output == *"end         signal"* ]]
}

@test "the JSON is what its schema says, whatever the recording is" {
	head -c 10000 run.mscope > cut.mscope
	head -c 1000 run.mscope > useless.mscope
	echo hello > text.mscope
	cp run.mscope damaged.mscope
	damage damaged.mscope 5000
	run -7 --separate-stderr "$MEMSCOPE" verify --json run.mscope cut.mscope text.mscope damaged.mscope useless.mscope
	echo "$output" > out.json
	run -1 --separate-stderr "$MEMSCOPE" verify run.mscope cut.mscope text.mscope damaged.mscope nothing.mscope
	[[ ${lines[-1]} == "total: 5 recordings: 1 whole, 1 cut short, 1 damaged, 1 not a recording, 1 not read; "*" events, "*" lost while recording" ]]
	# One is no sum.
	run -0 "$MEMSCOPE" verify run.mscope
	[[ $output != *total:* ]]
	assert_equal "$(jq -r '[.dumps[].status] | join(",")' out.json)" "whole,cut short,not a recording,damaged,unusable"
	/usr/bin/python3 - "$ROOT/docs/verify.schema.json" out.json << 'END'
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
jsonschema.Draft202012Validator(schema).validate(json.load(open(sys.argv[2])))
END
}

@test "anybody can verify" {
	[ "$(id -u)" -eq 0 ] || skip "needs root, to be somebody else"
	chmod 755 .
	cp "$MEMSCOPE" ./tool
	mkdir -m 755 "/tmp/memscope-verify-$$"
	cp tool run.mscope "/tmp/memscope-verify-$$"
	install -m 600 run.mscope "/tmp/memscope-verify-$$/closed.mscope"
	run setpriv --reuid=65534 --regid=65534 --clear-groups \
		"/tmp/memscope-verify-$$/tool" verify "/tmp/memscope-verify-$$/run.mscope"
	assert_equal "$status" 0
	run setpriv --reuid=65534 --regid=65534 --clear-groups \
		"/tmp/memscope-verify-$$/tool" verify "/tmp/memscope-verify-$$/closed.mscope"
	rm -r "/tmp/memscope-verify-$$"
	assert_equal "$status" 3
}

@test "a recording without its end: 0, with a warning" {
	read -r begin _ < <(block run.mscope 31)
	head -c "$begin" run.mscope > cut.mscope
	run -0 --separate-stderr "$MEMSCOPE" verify cut.mscope
	assert_equal "${lines[0]}" "cut.mscope: cut short"
	[[ $stderr == *"warning: cut.mscope: cut short (no end): all that was written before it is there"* ]]
	assert_equal "$(said cut.mscope .ended)" false
}

@test "a recording that ends within a block, as a power failure leaves it: 0, with a warning" {
	head -c 10000 run.mscope > cut.mscope
	run -0 --separate-stderr "$MEMSCOPE" verify cut.mscope
	assert_equal "${lines[0]}" "cut.mscope: cut short"
	[[ $stderr == *"warning: cut.mscope: cut short (no end): all that was written before it is there"* ]]
	[[ $output == *"are the beginning of a block, and nothing follows"* ]]
	assert_equal "$(said cut.mscope '.damages[0].at_end')" true
	# Of its last block, the index, a byte is missing.
	head -c -1 run.mscope > cut.mscope
	run -0 --separate-stderr "$MEMSCOPE" verify cut.mscope
	assert_equal "${lines[0]}" "cut.mscope: cut short"
	# If another file follows, something was lost in between.
	mkdir ring
	python3 "$ROOT/tests/e2e/dump_reader.py" --split ring run.mscope
	truncate -s -1 ring/000007.mscope
	assert_equal "$(said ring .status)" "cut short"
	truncate -s -1 ring/000003.mscope
	run -7 "$MEMSCOPE" verify ring
	assert_equal "${lines[0]}" "ring: damaged"
	assert_equal "$(said ring '.damages | map(.at_end) | join(",")')" "true,true"
}

@test "a recording cut within its first segment is unusable, as report says" {
	read -r _ begin _ < <(block run.mscope 0)
	head -c $((begin + 10)) run.mscope > cut.mscope
	run -7 --separate-stderr "$MEMSCOPE" verify cut.mscope
	assert_equal "${lines[0]}" "cut.mscope: unusable"
	[[ $stderr == *"cut.mscope: no segment in it has a whole beginning"* ]]
	run -7 --separate-stderr "$MEMSCOPE" report cut.mscope
	[[ $stderr == *"cut.mscope: no segment in it has a whole beginning"* ]]
	run -7 "$MEMSCOPE" verify -q --repair out.mscope cut.mscope
	[ ! -e out.mscope ]
}

@test "--repair leaves nothing behind that is not repaired" {
	run -1 "$MEMSCOPE" verify --repair out.mscope nothing.mscope
	[ ! -e out.mscope ]
	echo hello > text.mscope
	run -7 --separate-stderr "$MEMSCOPE" verify --repair out.mscope text.mscope
	[[ $stderr == *"out.mscope: not written: there is nothing that can be used"* ]]
	[ ! -e out.mscope ]
	# A full disk: no file may have more than 8 KiB.
	run -1 --separate-stderr bash -c 'trap "" XFSZ; ulimit -f 8; exec "$@"' - \
		"$MEMSCOPE" verify --repair out.mscope run.mscope
	[[ $stderr == *"out.mscope: cannot write: File too large; removed"* ]]
	[ ! -e out.mscope ]
	echo precious > out.mscope
	run -1 --separate-stderr "$MEMSCOPE" verify --repair out.mscope run.mscope
	[[ $stderr == *"out.mscope: cannot create: File exists; remove it, or choose another name" ]]
	assert_equal "$(cat out.mscope)" precious
}

@test "damage: which bytes, which block, what is left; and repaired" {
	read -r begin end _ < <(block run.mscope 8)
	damage run.mscope $((begin + 70))
	run -7 "$MEMSCOPE" verify run.mscope
	assert_equal "${lines[0]}" "run.mscope: damaged"
	[[ $output == *"$((end - begin)) bytes at byte $begin are no whole block"* ]]
	[[ $output == *"missing     1 block, from number 8 on"* ]]
	[[ $output == *" events while recording"*"; and what the missing blocks had"* ]]
	run -0 --separate-stderr "$MEMSCOPE" verify --repair good.mscope run.mscope
	assert_equal "${lines[0]}" "run.mscope: damaged"
	[[ $stderr == *"good.mscope: written, with 32 blocks"* ]]
	assert_equal "$(stat -c %a good.mscope)" 600
	run -0 --separate-stderr "$MEMSCOPE" verify good.mscope
	assert_equal "${lines[0]}" "good.mscope: incomplete"
	[[ $stderr == *"parts of the recording are missing"* ]]
	assert_equal "$(said good.mscope .blocks)" 32
	assert_equal "$(said good.mscope .damaged_bytes)" 0
	assert_equal "$(said good.mscope '.gaps[0].first_block')" 8
	assert_equal "$(said good.mscope .events)" "$(said run.mscope .events)"
	# With an index of its own, in its last block.
	dump_reader --index good.mscope
	run -1 "$MEMSCOPE" verify --repair good.mscope run.mscope
	[[ $output == *"File exists"* ]]
}

@test "a whole recording, repaired, is the same" {
	# Of this version: the index is made anew.
	cp "$ROOT/tests/golden/dump-1.4.mscope" run.mscope
	"$MEMSCOPE" verify --repair same.mscope run.mscope
	cmp run.mscope same.mscope
}

@test "what is no recording, and what cannot be read" {
	echo hello > text.mscope
	: > empty.mscope
	for file in text.mscope "$MEMSCOPE"; do
		run -7 "$MEMSCOPE" verify "$file"
		[[ ${lines[0]} == *": not a recording" ]]
	done
	run -7 "$MEMSCOPE" verify empty.mscope
	[[ ${lines[0]} == "empty.mscope: not a recording (it is empty: nothing was recorded, or the recorder was stopped before it wrote anything)" ]]
	run -1 "$MEMSCOPE" verify nothing.mscope
	[[ $output == *"nothing.mscope: cannot open: No such file"* ]]
	mkfifo pipe
	run -1 timeout 10 "$MEMSCOPE" verify pipe
	run -2 "$MEMSCOPE" verify
	run -2 "$MEMSCOPE" verify --repair x run.mscope run.mscope
	[ ! -e x ]
	# The others are verified all the same.
	run -1 --separate-stderr "$MEMSCOPE" verify nothing.mscope run.mscope
	assert_equal "${lines[0]}" "run.mscope: whole"
}

@test "a directory is one recording" {
	mkdir ring
	dump_reader --split ring run.mscope
	run -0 --separate-stderr "$MEMSCOPE" verify ring
	assert_equal "${lines[0]}" "ring: whole"
	assert_equal "$(said ring '.files | length')" 8
	assert_equal "$(said ring .events)" 556
	# All of the time, and of each file what part of it.
	[[ $output == *"covers      1.000 s after boot to 2.000 s after boot (1 s)"* ]]
	assert_equal "$(grep -c "^      [0-9.]* s after boot to [0-9.]* s after boot (.*)$" <<< "$output")" 8
	# After 999999 comes 1000000.
	for i in 3 2 1 0; do
		mv ring/00000$i.mscope ring/$((999996 + i)).mscope
	done
	for i in 7 6 5 4; do
		mv ring/00000$i.mscope ring/$((999996 + i)).mscope
	done
	assert_equal "$(said ring .status)" whole
	for i in 0 1 2 3 4 5 6 7; do
		mv ring/$((999996 + i)).mscope ring/00000$i.mscope
	done
	# The oldest may be gone, another not.
	rm ring/000000.mscope
	run -0 "$MEMSCOPE" verify ring
	assert_equal "${lines[0]}" "ring: whole"
	rm ring/000003.mscope
	run -0 --separate-stderr "$MEMSCOPE" verify ring
	assert_equal "${lines[0]}" "ring: incomplete"
	rm ring/*
	run -7 "$MEMSCOPE" verify ring
	[[ $output == *"ring: no file in it ends in .mscope"* ]]
	run -7 "$MEMSCOPE" report ring
	[[ $output == *"ring: no file in it ends in .mscope"* ]]
}

@test "a ring whose files have each other's names is read as report reads it, and repaired whole" {
	mkdir ring
	dump_reader --split ring run.mscope
	"$MEMSCOPE" report -q -f json run.mscope | jq '.recordings[0] | del(.files)' > want.json
	mv ring/000002.mscope other
	mv ring/000005.mscope ring/000002.mscope
	mv other ring/000005.mscope
	run -0 --separate-stderr "$MEMSCOPE" verify --repair good.mscope ring
	assert_equal "${lines[0]}" "ring: whole"
	assert_equal "$(said ring .events)" 556
	"$MEMSCOPE" report -q -f json good.mscope | jq '.recordings[0] | del(.files)' | diff -u want.json -
}

@test "a repaired recording is not said to be better than it was" {
	local begin end

	# The last events and the end are gone, and only the number of the index says so.
	read -r begin _ < <(block run.mscope 27)
	read -r end _ < <(block run.mscope 32)
	(head -c "$begin" run.mscope && tail -c +$((end + 1)) run.mscope) > removed.mscope
	# Cut within a block; and one damaged block at the end: no number says so.
	head -c $((begin + 100)) run.mscope > cut.mscope
	cp cut.mscope noise.mscope
	head -c 400 /dev/zero >> noise.mscope
	# Of the index alone.
	cp run.mscope index.mscope
	damage index.mscope $((end + 70))
	for file in removed cut noise index; do
		"$MEMSCOPE" verify -q --repair good.$file.mscope $file.mscope > /dev/null
		for which in $file good.$file; do
			"$MEMSCOPE" report -q -f json $which.mscope | jq -c '.recordings[0].lost |
				[.live_is_exact, .ended_properly]' > $which.lost
		done
		diff -u $file.lost good.$file.lost
	done
	assert_equal "$(said removed.mscope .missing_blocks) $(said good.removed.mscope .missing_blocks)" "5 5"
	for file in cut noise index; do
		assert_equal "$file $(said $file.mscope .missing_blocks) $(said good.$file.mscope .missing_blocks)" "$file 0 1"
		[[ "$(dump_reader --ends good.$file.mscope)" == *" blocks, 1 missing, "* ]]
	done
	# Another reader, by the documentation.
	[[ "$(dump_reader --ends good.removed.mscope)" == *" blocks, 5 missing, no end" ]]
}

@test "a newer major version is refused with what it needs" {
	dump_reader --version 2 newer.mscope run.mscope
	run -7 "$MEMSCOPE" verify newer.mscope
	assert_equal "${lines[0]}" "newer.mscope: too new"
	[[ $output == *"reads version 2 of the format; this one reads version 1"* ]]
}

@test "docs/recordings.md shows what it prints" {
	damage run.mscope 4700
	run -7 --separate-stderr "$MEMSCOPE" verify run.mscope
	sed -n '/^\$ memscope-bpf verify run.mscope/,/^```/p' "$ROOT/docs/recordings.md" | sed '1d;$d' > page.txt
	echo "$output" | diff -u page.txt -
}

@test "docs/dump-format.md is enough to read a recording" {
	local recording

	for recording in "$ROOT"/tests/golden/dump-*.mscope; do
		dump_reader --events "$recording" > events.txt
		diff -u "${recording%.mscope}.events.txt" events.txt
	done
}

@test "what comes by a pipe or a redirection is as large as it is" {
	"$MEMSCOPE" verify run.mscope | sed 's/^run.mscope/-/' > file.txt
	"$MEMSCOPE" verify - < run.mscope | diff file.txt -
	cat run.mscope | "$MEMSCOPE" verify - | diff file.txt -
}
