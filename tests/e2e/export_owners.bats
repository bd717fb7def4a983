# SPDX-License-Identifier: BSD-2-Clause
#
# export -f pprof and -f folded: decoded by others (protoc, npm's pprof-format), and the same totals as
# the report. Most of it needs no root.

load reading

setup() {
	golden_setup
}

# Exports in both formats and compares with the report; arguments as for both.
same_totals() {
	local metric

	"$MEMSCOPE" report -f json -o report.json "$@"
	"$MEMSCOPE" export -f pprof -o out.pb.gz "$@"
	"$ROOT/tests/e2e/export_reader.py" pprof out.pb.gz report.json
	for metric in inuse alloc peak; do
		"$MEMSCOPE" export -f folded --metric "$metric" -o out.folded "$@"
		"$ROOT/tests/e2e/export_reader.py" folded out.folded report.json "$metric"
	done
}

@test "the golden recording: totals are the report's" {
	run same_totals golden.mscope
	assert_equal "$status" 0
	assert_equal "${lines[0]}" "15 samples"
	assert_equal "${lines[1]}" "7 stacks"
	assert_equal "${lines[2]}" "11 stacks"
}

@test "a part of it: one process, a part of the time" {
	same_totals --pid 5000 golden.mscope
	same_totals --from +0.02 golden.mscope
	same_totals --to +0.05 golden.mscope
	same_totals --from +0.02 --to +0.06 --pid 4242 golden.mscope
}

@test "cut short, it says that something is missing" {
	head -c $(($(stat -c %s golden.mscope) - 10)) golden.mscope > cut.mscope
	same_totals cut.mscope
	grep -q "^# the recording has no proper end" out.folded
	zcat out.pb.gz | grep -q "the recording has no proper end"
}

@test "names that somebody chose to do harm" {
	"$WORKLOADS/hostile_dump" hostile.mscope > names
	same_totals hostile.mscope
	# A title is the whole name.
	grep -q '^a,b\\x3bc\\x09d ([0-9]*);' out.folded
	same_totals hostile.mscope golden.mscope
}

@test "pprof is nothing for a terminal, and folded goes through a pipe" {
	run script -qec "'$MEMSCOPE' export -f pprof golden.mscope" /dev/null
	assert_equal "$status" 2
	"$MEMSCOPE" export -f folded golden.mscope | head -n 1 | grep -q "^# 3 events lost"
}

@test "real programs, several recordings at once" {
	record -o a.mscope -- "$WORKLOADS/calls" 20
	# shellcheck disable=SC2046 # words
	record -o b.mscope -- $(ffmpeg_command 5)
	same_totals a.mscope
	same_totals b.mscope
	same_totals a.mscope b.mscope golden.mscope
	grep -q "^$(hostname);ffmpeg ([0-9]*);.*device 0;device;cuMemAlloc_v2 [0-9]" out.folded
}

@test "npm's pprof-format reads it" {
	command -v npm > /dev/null || skip "npm's pprof-format cannot be had here: no npm"
	timeout 60 npm install --silent --no-audit --no-fund pprof-format@2.3.2 > /dev/null 2>&1 ||
		skip "npm's pprof-format cannot be had here"
	"$MEMSCOPE" export -f pprof -o out.pb.gz golden.mscope
	run -0 node -e '
		const { Profile } = require("pprof-format"), fs = require("fs"), zlib = require("zlib");
		const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync("out.pb.gz")));
		const text = (i) => profile.stringTable.strings[Number(i)];
		console.log(profile.sampleType.map((type) => text(type.type)).join(),
			profile.sample.length,
			profile.sample.reduce((sum, sample) => sum + BigInt(sample.value[3]), 0n).toString(),
			text(profile.defaultSampleType), profile.comment.map(text).join("; "));'
	assert_equal "$output" "alloc_objects,alloc_space,inuse_objects,inuse_space 15 $("$MEMSCOPE" export \
		-f folded golden.mscope | awk '!/^#/ { sum += $NF } END { print sum }') inuse_space $(
		)GPU memory, recorded by memscope-bpf 0.1.0; 3 events lost while recording; $(
		)what is live is not exact"
}

@test "npm's speedscope shows them, and a trace for Chrome" {
	local file opened

	command -v chromium npm > /dev/null || skip "npm's speedscope cannot be had here: no npm, or no Chromium"
	timeout 60 npm install --silent --no-audit --no-fund speedscope@1.25.0 > /dev/null 2>&1 ||
		skip "npm's speedscope cannot be had here"
	"$MEMSCOPE" export -f pprof -o run.pb.gz golden.mscope
	"$MEMSCOPE" export -f folded -o run.folded golden.mscope
	"$MEMSCOPE" export -f chrome -o run.json golden.mscope
	echo nothing > run.bad
	for file in run.pb.gz run.folded run.json run.bad; do
		# As its command line hands files over.
		printf 'speedscope.loadFileFromBase64("%s", "%s")' $file "$(base64 -w0 $file)" > $file.js
		# What it cannot read, it says in a box that nobody closes.
		timeout $([ $file = run.bad ] && echo 15 || echo 60) chromium --headless=new --no-sandbox --disable-gpu --virtual-time-budget=8000 --dump-dom \
			"file://$PWD/node_modules/speedscope/dist/release/index.html#localProfilePath=$PWD/$file.js" \
			> $file.html 2> /dev/null || [ $file = run.bad ]
		opened=$(grep -c "Left Heavy" $file.html || true)
		assert_equal "$file $((opened > 0))" "$file $([ $file = run.bad ] && echo 0 || echo 1)"
	done
}

@test "nothing to show is said, and options that a format does not have are refused" {
	"$MEMSCOPE" export -f folded --metric inuse --pid 6000 -o out.folded \
		"$ROOT/tests/golden/dump-1.0.mscope"
	grep -qx '# nothing is live at the end, nor was when a process exited' out.folded
	run -2 --separate-stderr "$MEMSCOPE" export -f csv --metric peak "$ROOT/tests/golden/dump-1.0.mscope"
	[[ $stderr == *"--metric does not apply to -f csv, only to -f folded"* ]]
	run -2 --separate-stderr "$MEMSCOPE" export -f pprof --label pid -o out "$ROOT/tests/golden/dump-1.0.mscope"
	[[ $stderr == *"--label does not apply to -f pprof, only to -f openmetrics"* ]]
	[ ! -e out ]
}

@test "of a process, user or time that is not there, nothing is written" {
	local format
	for format in ndjson csv perfetto chrome pprof folded memory_viz openmetrics; do
		run -5 --separate-stderr "$MEMSCOPE" export -q -f "$format" -p 4194300 golden.mscope
		assert_equal "$output" ""
		[[ $stderr == *"process 4194300 is not in the recording"* ]]
		echo old > out
		run -5 "$MEMSCOPE" export -q -f "$format" -p 4194300 -o out golden.mscope
		assert_equal "$(cat out)" old
		run -5 "$MEMSCOPE" export -q -f "$format" -p 4194300 -o new golden.mscope
		[ ! -e new ]
	done
	run -5 --separate-stderr "$MEMSCOPE" export -q -f csv --comm nosuch golden.mscope
	assert_equal "$output" ""
	run -2 --separate-stderr "$MEMSCOPE" export -q -f csv --from 99d golden.mscope
	assert_equal "$output" ""
	run -5 "$MEMSCOPE" export -q -o new.sqlite -p 4194300 golden.mscope
	[ ! -e new.sqlite ]
}

@test "errors name the file that was asked for; a mount is refused before the work" {
	local format
	for format in ndjson sqlite; do
		run ! --separate-stderr bash -c "ulimit -f 1
			\"$MEMSCOPE\" export -f $format -o out.$format golden.mscope"
		[[ $stderr == *"error: out.$format: cannot write: "*"; nothing was written"* ]]
		[ "$(find . -name '*out*' -o -name '.memscope*')" = "" ]
	done
	[ "$(id -u)" -eq 0 ] || skip "needs root to mount"
	echo before > file
	touch mounted
	run ! --separate-stderr unshare -m bash -c "mount --bind file mounted &&
		\"$MEMSCOPE\" export -f csv -o mounted golden.mscope"
	[[ $stderr == *"mounted: cannot create: "*"a mount cannot be replaced"* ]]
	assert_equal "$(cat file)" before
}
