# SPDX-License-Identifier: BSD-2-Clause
#
# What a program holds on two devices, by CUDA's calls, by the driver's ioctls and by NVML: the simulated
# CUDA driver asks for its memory as a real one does, and the simulated NVML says what that comes to.

load held

# What the ten steps come to: the sum and each device, with so many hidden bytes of each.
assert_explained() {
	local hidden=$1 i one two

	for ((i = 1; i <= 10; i++)); do
		read -r _ one _ two <<< "${WANTED[i]}"
		at "$i" '.nvml | .used_bytes - .allocated_bytes - .slack_bytes - .before_attach_bytes
			- .unexplained_bytes - ([.other_bytes[]] | add)' > sum
		assert_equal "$(cat sum)" 0
		assert_equal "$i: $(jq -c '.recordings[0].processes[0].nvml.devices |
			map([.device, .allocated_bytes, .other_bytes.contexts / 1048576, .unexplained_bytes])' \
			report.json)" "$i: $(of_devices "$i" "$one" "$two" "$hidden")"
		valid report report.json
	done
}

of_devices() {
	local first="[0,$2,104,$4]"

	if [ "$1" -ge 7 ] && [ "$1" -lt 10 ]; then
		echo "[$first,[1,$3,104,$4]]"
	else
		echo "[$first]"
	fi
}

steps() {
	local i

	for ((i = 1; i <= 10; i++)); do
		step "$i"
		WANTED[i]=$EXPECTED
	done
}

@test "each byte of NVML's number has a name and stands on its device, at ten moments" {
	local i

	begin "$WORKLOADS/held"
	steps
	finish
	assert_explained 0
	# The slack is what the chunks have beyond the blocks: 3 MiB and 3 KiB in one of 4 MiB and one of 2.
	assert_equal "$(at 3 .nvml.slack_bytes)" $(((4 + 16 - 3 - 16) * 1048576 - 3072))
	assert_equal "$(at 7 '.driver.devices | map([.device, .causes.contexts / 1048576])')" "[[0,104],[1,104]]"
	assert_equal "$(at 7 '.driver.devices | map(.bytes) | add')" "$(at 7 .driver.device.live_bytes)"
	"$MEMSCOPE" report -f text --to=mark:step-7 run.mscope > text
	grep -q "of it, on device 1 " text || fail "$(cat text)"
	grep -q "in all, as NVML says  *$FIRST " text || fail "$(cat text)"
	grep -q "in all, as NVML says  *all " text || fail "$(cat text)"
	# The same over time: what a sample is made of is what NVML said is in use.
	"$MEMSCOPE" export -f ndjson -o run.ndjson run.mscope
	jq -c --arg uuid "$FIRST" 'select(.type == "device_memory" and .uuid == $uuid) | .used_bytes' run.ndjson > used
	"$MEMSCOPE" report -f json run.mscope > report.json
	valid report report.json
	jq -c '.recordings[0].nvml_timeline[0] | [.allocated, .slack, .contexts, .other_calls, .before_attach, .unexplained,
		.not_broken_down, .other_processes, .no_process] | transpose[] | add' report.json > sums
	diff used sums
	assert_equal "$(jq -c '.recordings[0].nvml_timeline | map(.contexts | max / 1048576)' report.json)" "[104,104]"
	# Between the steps NVML may have counted what the program's ioctls have yet to say.
	for ((i = 1; i <= 10; i++)); do
		"$MEMSCOPE" report -f json --to="mark:step-$i" run.mscope > report.json
		assert_equal "$i: $(jq -c '.recordings[0].nvml_timeline | map([(.unexplained, .not_broken_down, .no_process
			| last / 1048576)])' report.json)" "$i: [[0,0,9],[0,0,0]]"
	done
	"$MEMSCOPE" report -f html -o run.html run.mscope
	grep -q 'data-chart="held"' run.html
	if command -v chromedriver > /dev/null && /usr/bin/python3 -c 'import selenium' 2> /dev/null; then
		/usr/bin/python3 "$ROOT/tests/e2e/browse" run.html held
	fi
}

@test "what no ioctl shows is what is unexplained" {
	export SIMCUDA_HIDDEN=64M
	begin "$WORKLOADS/held"
	steps
	finish
	assert_explained $((64 << 20))
}

@test "what it held before is what NVML says less what was seen, and falls with each block that is freed" {
	local i

	export SIMCUDA_DEVICES=1
	puppet_with_cuda
	for ((i = 0; i < 8; i++)); do
		puppet alloc $((128 << 20))
	done
	record_start -o run.mscope --nvml=100ms -p "$PUPPET_PID"
	for ((i = 0; i <= 8; i++)); do
		before=$(answers)
		wait_for '[ "$(answers)" -gt '$((before + 1))' ]'
		"$MEMSCOPE" mark -q "step-$i"
		[ "$i" -eq 8 ] || puppet free
	done
	puppet alloc $((10 << 20))
	before=$(answers)
	wait_for '[ "$(answers)" -gt '$((before + 1))' ]'
	"$MEMSCOPE" mark -q "step-9"
	record_stop
	puppet_end
	for ((i = 0; i <= 8; i++)); do
		assert_equal "$i: $(at $i '.nvml | [.before_attach_bytes, .allocated_bytes, .unexplained_bytes]')" \
			"$i: [$(((1128 - 128 * i) << 20)),0,0]"
	done
	assert_equal "$(at 9 '.nvml | [.used_bytes, .before_attach_bytes, .allocated_bytes, .unexplained_bytes]')" \
		"[$((114 << 20)),$((104 << 20)),$((10 << 20)),0]"
}

@test "two programs that call their devices 0: each byte is under the UUID of its own" {
	local i

	# Where CUDA's driver is not probed in all processes, what a child asks for before it is attached to is not seen.
	sees_first_calls || export SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms
	mkfifo to from to2 from2
	# shellcheck disable=SC2016 # for the other shell
	record_start -f -o run.mscope --nvml=100ms -- sh -c 'cat to2 | CUDA_VISIBLE_DEVICES=1 "$0" | cat > from2 &
		cat to | CUDA_VISIBLE_DEVICES=0 "$0" | cat > from; wait' "$WORKLOADS/held"
	exec 6> to 7< from 4> to2 5< from2
	echo >&6
	read -r -t 60 _ <&7
	for ((i = 0; i < 3; i++)); do
		echo >&4
		read -r -t 60 _ <&5
	done
	before=$(answers)
	wait_for '[ "$(answers)" -gt '$((before + 1))' ]'
	"$MEMSCOPE" mark -q step-1
	"$MEMSCOPE" who --json > who.json
	exec 4>&-
	finish
	"$MEMSCOPE" report -f json --to=mark:step-1 run.mscope > report.json
	valid report report.json
	assert_equal "$(jq -c '.recordings[0].processes | map(.nvml.devices[]? | [.uuid, .device, .used_bytes / 1048576,
		.allocated_bytes, .unexplained_bytes]) | sort[]' report.json)" \
		"[\"$FIRST\",0,108,$((3 << 20)),0]
[\"$SECOND\",0,124,$(((19 << 20) + 3072)),0]"
	assert_equal "$(jq -c '.recordings[0].nvml_devices | map([.uuid, .traced_processes, .traced_bytes / 1048576])[]' \
		report.json)" "[\"$FIRST\",1,108]
[\"$SECOND\",1,124]"
	assert_equal "$(jq -c '.recordings[0].nvml_timeline | map([.uuid, (.contexts[-1], .unexplained[-1]) / 1048576])[]' \
		report.json)" "[\"$FIRST\",104,0]
[\"$SECOND\",104,0]"
	assert_equal "$(jq -c '.devices[] | select(.uuid != null) | [.uuid, (.processes | map(.used_bytes / 1048576))]' \
		who.json)" "[\"$FIRST\",[108]]
[\"$SECOND\",[124]]"
	"$MEMSCOPE" report -f text --to=mark:step-1 run.mscope > text
	grep -q "in all, as NVML says  *$FIRST  *108 MiB" text || fail "$(cat text)"
	grep -q "in all, as NVML says  *$SECOND  *124 MiB" text || fail "$(cat text)"
}

# Twenty children, one after another, each of which asks for memory as soon as it runs. Prints of each, one a
# line, what nothing explains, what is from before, and whether it is said that objects were missed.
children_ask_at_once() {
	local i

	mkfifo to from
	exec 6<> to 7<> from
	# shellcheck disable=SC2016 # for the other shell
	record_start "$@" -f -o run.mscope --nvml=100ms -- sh -c 'for i in $(seq 20); do
		{ echo; read -r _; } < to | "$0" > from || exit; done' "$WORKLOADS/held"
	for ((i = 0; i < 20; i++)); do
		read -r -t 60 _ <&7 || fail "no answer"
		before=$(answers)
		wait_for '[ "$(answers)" -gt '$((before + 1))' ]'
		echo >&6
	done
	record_wait
	"$MEMSCOPE" report -f json run.mscope > report.json
	valid report report.json
	jq -c '.recordings[0].processes[] | select(.nvml) |
		[.nvml.unexplained_bytes, .nvml.before_attach_bytes, (.driver // {}).missed_until_ns != null]' report.json
}

@test "a child that asks the driver for memory at once: none of it is missed" {
	sees_first_calls || skip "the kernel cannot probe a file in all processes, and only those that count"
	children_ask_at_once > said
	assert_equal "$(sort said | uniq -c | tr -s ' ')" " 20 [0,0,false]"
}

@test "a child that is attached to too late: it is said, and nothing of it is unexplained" {
	children_ask_at_once --attach=process > said
	assert_equal "$(wc -l < said)" 20
	# Whichever was in time: what was not seen is from before, and is said.
	run ! grep -vE '^\[0,(0,(false|true)|[1-9][0-9]*,true)\]$' said
}

@test "check: what of the driver's objects would not be seen" {
	puppet_with_cuda
	"$MEMSCOPE" check -p "$PUPPET_PID" | tr -s ' \n' ' ' > said
	grep -qF "The single objects that the driver holds for it already" said || fail "$(cat said)"
	grep -qF "until NVML is asked the next time" said
	run ! grep -qF "video encoder" said
	puppet_end
	# Before it has used the driver there is nothing to miss.
	"$MEMSCOPE" check -p $$ | tr -s ' \n' ' ' > said
	run ! grep -qF "holds for it already: contexts" said
	cp -L "$BUILT/simcuda/libcuda.so.1" libnvidia-encode.so.1
	LD_PRELOAD=$PWD/libnvidia-encode.so.1 sleep 1000 3>&- &
	OTHER=$!
	wait_for 'grep -q libnvidia-encode /proc/'$OTHER'/maps'
	"$MEMSCOPE" check -p $OTHER | tr -s ' \n' ' ' > said
	kill $OTHER
	grep -qF "video encoder, decoder or graphics library that it has mapped" said || fail "$(cat said)"
}

@test "two tools at once say the same; one is killed, and the other goes on" {
	local pid

	export SIMCUDA_DEVICES=1
	puppet_with_cuda
	in_background_tracing pid other.err "$MEMSCOPE" record -v -o other.mscope --nvml=100ms -p "$PUPPET_PID"
	record_start -o run.mscope --nvml=100ms -p "$PUPPET_PID"
	puppet alloc $((128 << 20))
	puppet alloc $((10 << 20))
	before=$(answers)
	wait_for '[ "$(answers)" -gt '$((before + 1))' ]'
	# What it has seen is written within a second.
	wait_for '[ "$("$MEMSCOPE" export -q -f ndjson other.mscope | grep -c "\"type\":\"object\"")" -gt 2 ]'
	kill -9 "$pid"
	wait "$pid" || true
	puppet free
	puppet alloc $((3 << 20))
	before=$(answers)
	wait_for '[ "$(answers)" -gt '$((before + 1))' ]'
	"$MEMSCOPE" mark -q step-1
	record_stop
	puppet_end
	assert_equal "$(at 1 '[.driver.device.live_bytes, .nvml.unexplained_bytes]' | tr -d '[]' | cut -d, -f2)" 0
	"$MEMSCOPE" export -f ndjson -o one.ndjson run.mscope
	"$MEMSCOPE" export -f ndjson -o two.ndjson other.mscope
	for i in one two; do
		jq -c 'select(.type == "object" and .action != "missed") | [.action, .granted_bytes]' $i.ndjson > $i
	done
	# What the one that was killed has written is the beginning of what the other one has.
	[ "$(wc -l < two)" -ge 2 ]
	head -n "$(wc -l < two)" one | diff - two
}

# Its number is the name of the file in which the simulated driver says what it holds.
end_ffmpeg() {
	local file

	for file in held.d/*; do
		kill -INT "${file##*/}" 2> /dev/null || true
	done
}

@test "ffmpeg: each byte of NVML's number has a name, at ten moments and in the summary of a trace" {
	local i contexts command="ffmpeg -nostdin -hide_banner -loglevel error -init_hw_device cuda=cu:0 -re -f lavfi
		-t 120 -i testsrc=size=640x480:rate=25 -vf format=nv12,hwupload_cuda,scale_cuda=320:240,hwdownload,format=nv12 -f null -"

	command -v ffmpeg > /dev/null || skip "needs ffmpeg"
	export SIMCUDA_HIDDEN=64M
	# shellcheck disable=SC2086 # words
	record_start -o run.mscope --nvml=100ms -- $command
	wait_for '[ "$("$MEMSCOPE" export -q -f ndjson run.mscope 2> /dev/null | grep -c "cuMemAlloc")" -ge 3 ]'
	for ((i = 1; i <= 10; i++)); do
		before=$(answers)
		wait_for '[ "$(answers)" -gt '$((before + 1))' ]'
		"$MEMSCOPE" mark -q "step-$i"
	done
	end_ffmpeg
	record_wait || true
	# As the simulated driver says.
	contexts=$(grep -c ' cuCtxCreate_v[0-9] result=0 ' oracle.log)
	for ((i = 1; i <= 10; i++)); do
		"$MEMSCOPE" report -f json --to="mark:step-$i" run.mscope > report.json
		assert_equal "$i: $(jq -c '.recordings[0].processes[] | select(.nvml) | .nvml | [.unexplained_bytes, .before_attach_bytes,
			.other_bytes.contexts / 1048576, .used_bytes - .allocated_bytes - .slack_bytes - ([.other_bytes[]] | add)]' \
			report.json)" "$i: [67108864,0,$((104 * contexts)),67108864]"
	done
	# shellcheck disable=SC2086
	in_background_tracing OTHER_TRACE trace.err "$MEMSCOPE" trace -v -c -o trace.out --nvml=100ms -- $command
	wait_for '[ "$(grep -c "debug: NVML: .* [1-9] processes" trace.err)" -ge 5 ]'
	end_ffmpeg
	wait "$OTHER_TRACE" || true
	grep -qE '^ +64 MiB  unexplained$' trace.out || fail "$(cat trace.out)"
}

@test "each of the driver's objects says behind which allocations it stands, by address" {
	local i one two physical=0

	begin "$WORKLOADS/held"
	steps
	step 11
	step 12
	finish
	for ((i = 1; i <= 10; i++)); do
		read -r _ one _ two <<< "${WANTED[i]}"
		[ "$i" -lt 5 ] || physical=$((4 << 20)) # made by cuMemCreate, and mapped nowhere
		assert_equal "$i: $(at "$i" '.driver | .by_address as $by | [$by.behind_bytes + $by.empty_bytes +
			$by.unmapped_bytes - .device.live_bytes, $by.block_bytes, $by.outside_blocks, $by.outside_bytes,
			$by.empty_bytes - $by.empty_causes.contexts, $by.unmapped_causes.physical]')" \
			"$i: [0,$((one + two - physical)),0,0,0,$physical]"
		valid report report.json
	done
	# A block of 16 MiB begins in the chunk of the one before it, and small ones are behind it.
	assert_equal "$(at 3 '.driver.by_address | [.blocks, (.largest[] | select(.cause == "allocations") |
		[.bytes, .mapped_bytes, .blocks, .block_bytes, .largest_block.size_bytes, .largest_block.call])]')" \
		"[5,[$((16 << 20)),$((16 << 20)),4,$(((15 << 20) + 3072)),$((16 << 20)),\"cuMemAlloc_v2\"],[$((4 << 20)),$((4 << 20)),2,$((4 << 20)),$((16 << 20)),\"cuMemAlloc_v2\"]]"
	assert_equal "$(at 3 '.driver.by_address | [.largest[] | select(.cause == "contexts") | [.bytes / 1048576, .blocks,
		.largest_block]]')" "[[70,0,null],[32,0,null],[2,0,null]]"
	assert_equal "$(at 6 '.driver.by_address | [.managed_blocks, .managed_bytes, .managed_outside_blocks]')" \
		"[1,$((8 << 20)),0]"
	# Physical memory stands behind its mapping, as long as that is there.
	assert_equal "$(at 11 '.driver.by_address | [.unmapped_bytes, (.largest[] | select(.cause == "physical") |
		[.blocks, .block_bytes, .largest_block.call])]')" "[0,[1,$((4 << 20)),\"cuMemMap\"]]"
	assert_equal "$(at 12 '.driver.by_address | [.unmapped_bytes, (.largest[] | select(.cause == "physical") |
		[.blocks, .addr])]')" "[$((4 << 20)),[0,null]]"
	"$MEMSCOPE" report -f text --to=mark:step-7 run.mscope > text
	grep -q 'of it, at addresses of live allocations' text || fail "$(cat text)"
	"$MEMSCOPE" export -f ndjson -o run.ndjson run.mscope
	assert_equal "$(jq -c 'select(.type == "range" and .call == "cuMemAlloc_v2" and .action == "map") | [.range_bytes, .uuid]' \
		run.ndjson | tail -1)" "[$((52 << 20)),\"${SECOND#GPU-}\"]"
}
