# SPDX-License-Identifier: BSD-2-Clause
#
# Very many ioctls of NVIDIA's driver, children that use their parent's files, files that are closed: what is held at
# each moment is what the program says.

load held

# storm_says LINE: what the storm holds then, into SAID; and a mark
storm_says() {
	echo "$1" >&6
	read -r -t 60 SAID <&7 || fail "no answer"
	if [[ $SAID == child* ]]; then
		CHILD=${SAID#child }
		wait_for 'grep -q "process '"$CHILD"': its ioctls are seen" record.err'
		echo >&6
		read -r -t 60 SAID <&7 || fail "no answer"
	fi
	STORM[MOMENTS]=$SAID
	"$MEMSCOPE" mark -q "step-$MOMENTS"
	MOMENTS=$((MOMENTS + 1))
}

# What is held at the moment $1, as the storm says and as is recorded.
assert_storm() {
	local held

	read -r -a held <<< "${STORM[$1]}"
	assert_equal "$1: $(at "$1" '.driver | [.device.live_bytes, .device.live_objects, .host.live_bytes, (.ranges |
		.external, .external_bytes, .mapped, .mapped_bytes, .managed, .managed_bytes), (.devices |
		((0, 1) as $device | map(select(.device == $device).bytes) | add // 0),
		((0, 1) as $device | map(select(.device == $device).objects) | add // 0))] | join(" ")')" "$1: \"${held[*]:0:13}\""
}

# begin_storm IOCTLS: of each thread in a round. Children are followed.
begin_storm() {
	MOMENTS=0
	mkfifo to from
	# shellcheck disable=SC2016 # for the other shell
	record_start -f -o run.mscope --nvml=100ms -- sh -c 'exec "$0" "$@" < to > from' "$WORKLOADS/ioctl_storm" "$PWD/devices" "$1"
	exec 6> to 7< from
}

# Of which moments of the storm it is looked at what was held: all of them, or some.
moments() {
	if [ -n "${STRESS:-}" ]; then
		seq 0 $((MOMENTS - 1))
	else
		echo 0 19 20 21 40 41 60 61 79 80 82 90 $((MOMENTS - 1))
	fi
}

# What is said in the recording of what was made by ioctls, and whether all of it was seen.
assert_records() {
	"$MEMSCOPE" export -f ndjson -o run.ndjson run.mscope
	assert_equal "$(jq -c 'select((.type == "object" or .type == "range") and .action != "missed" and .action != "closed") |
		.type' run.ndjson | wc -l)" "$1"
	assert_whole run.mscope
}

# 992 ioctls of all threads in a round. STRESS=1: at each moment.
@test "100,000 ioctls of 32 threads, children, closed files, SIGKILL: at every 1,000th, what is held is what the program says" {
	local i said line

	begin_storm 31
	for ((i = 0; i < 108; i++)); do
		case $i in
		20 | 60) line=fork ;;
		40) line=pass ;;
		61) line=import ;;
		80) line=close ;;
		*) line=round ;;
		esac
		storm_says $line
		if [ $line = close ]; then
			assert_equal "${SAID:0:26}" "0 0 0 0 0 0 0 0 0 0 0 0 0 "
			wait_for '[ "$(grep -c "a file of the driver is closed" record.err)" -ge 2 ]'
			"$MEMSCOPE" mark -q "step-$((MOMENTS - 1))"
		fi
		[ $line != import ] || IMPORTER=$CHILD
	done
	echo kill >&6
	finish || true
	for i in $(moments); do
		assert_storm "$i"
	done
	read -r -a said <<< "$SAID"
	[ "${said[13]}" -ge 100000 ]
	assert_records "${said[14]}"
	# What has come to a child by a file counts there as another process' memory, once.
	"$MEMSCOPE" report -f json --to=mark:step-79 run.mscope > report.json
	valid report report.json
	assert_equal "$(jq -c '.recordings[0].processes[] | select(.pid == '"$IMPORTER"') | .driver |
		[.device.live_bytes, .host.live_bytes, .shared.live_bytes]' report.json)" "[0,0,$((2 << 20))]"
	# SIGKILL: nothing lives; it is known what did.
	"$MEMSCOPE" report -f json run.mscope > report.json
	assert_equal "$(jq -c '.recordings[0].processes | sort_by(.start_ns)[0].driver | [.device.live_bytes, .device.exit_bytes,
		.ranges.external, .ranges.mapped, .ranges.managed]' report.json)" "[0,${said[0]},0,0,0]"
	# What children have by their parent's files is nobody's twice.
	assert_equal "$(jq -c '[.recordings[0].processes[] | select(.driver) | .driver.device |
		[.live_bytes, .exit_bytes] | select(. != [0,0])]' report.json)" "[[0,${said[0]}]]"
}

# Nothing but records of ioctls is lost: the tool reads nothing while they are made.
@test "records of ioctls that find no room are counted, each once, and what is live is not called exact" {
	local recorded

	MOMENTS=0
	mkfifo to from
	# shellcheck disable=SC2016 # for the other shell
	record_start -f -o run.mscope --buffer=64K --nvml=100ms -- sh -c 'exec "$0" "$@" < to > from' "$WORKLOADS/ioctl_storm" "$PWD/devices" 31 580 alone
	exec 6> to 7< from
	storm_says round
	recorder_stopped
	echo round >&6
	read -r -t 60 SAID <&7
	echo round >&6
	read -r -t 60 SAID <&7
	kill -CONT "$RECORD_PID"
	before=$(answers)
	wait_for '[ "$(answers)" -gt '$((before + 2))' ]'
	finish
	"$MEMSCOPE" export -f ndjson -o run.ndjson run.mscope
	recorded=$(jq -c 'select((.type == "object" or .type == "range") and .action != "missed" and .action != "closed") | .type' \
		run.ndjson | wc -l)
	"$MEMSCOPE" report -f json run.mscope > report.json
	valid report report.json
	assert_equal "$(jq -c '.recordings[0].lost | [.records > 0, .process_records, .free_begins]' report.json)" "[true,0,0]"
	assert_equal "$((recorded + $(jq '.recordings[0].lost.records' report.json)))" "${SAID##* }"
	assert_equal "$(jq -c '.recordings[0] | [.lost.live_is_exact, (.processes[0].unknown | .lost_records == .lost_memory_records)]' report.json)" \
		"[false,true]"
	"$MEMSCOPE" report -f md run.mscope | grep -q "records were lost, and what is live and the peaks are not exact"
}

# Processes with very many descriptors: to look at all of them takes long.
have_descriptors() {
	local i

	for ((i = 0; i < 10; i++)); do
		/usr/bin/python3 -c 'import fcntl, resource, signal
most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 20000)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
try:
    while True: fcntl.fcntl(0, fcntl.F_DUPFD, 100)
except OSError:
    print("has them", flush=True)
signal.pause()' >> many 3>&- &
		MANY+=($!)
	done
	wait_for '[ "$(wc -l < many)" -eq 10 ]'
}

# What it asks for meanwhile, until its end, is from before.
@test "a program that ends while it is looked for closed files has held all that it asked for" {
	local i held compared=0

	have_descriptors
	for ((i = 1; i <= 12; i++)); do
		# shellcheck disable=SC2086 # may be empty
		yes round | head -n "$i" | "$MEMSCOPE" record $MASK -q -o "$i.mscope" --nvml=100ms -- \
			"$WORKLOADS/ioctl_storm" "$PWD/devices" 31 > said
		held=$(tail -n 1 said)
		"$MEMSCOPE" report -f json "$i.mscope" > report.json
		# The kernel cannot read what it is moving; that is said.
		[ "$(jq '.recordings[0].processes[0].unknown.unread_ioctls' report.json)" -eq 0 ] || continue
		assert_equal "$i: $(jq '.recordings[0].processes[0].driver.device.exit_bytes' report.json)" "$i: ${held%% *}"
		compared=$((compared + 1))
	done
	[ "$compared" -ge 6 ]
}

@test "files that a child has open are not closed" {
	local line

	begin_storm 31
	for line in round leave drop; do
		storm_says $line
		before=$(answers)
		wait_for '[ "$(answers)" -gt '$((before + 2))' ]'
		"$MEMSCOPE" mark -q "step-$((MOMENTS - 1))-kept"
	done
	finish
	assert_storm 1
	assert_equal "$(at 1-kept '.driver.device.live_bytes')" "$(at 1 '.driver.device.live_bytes')"
	[ "$(at 1-kept '.driver.device.live_bytes')" -gt 0 ]
	assert_equal "$(at 2-kept '.driver.device.live_bytes')" 0
}

@test "drivers of four generations" {
	local version tool=$MEMSCOPE

	mkdir -p driver/nvidia
	cat > tool <<-END
		#!/bin/sh
		[ "\$1" = record ] || exec "$tool" "\$@"
		exec unshare --mount sh -c 'mount --bind driver /proc/driver && exec "\$0" "\$@"' "$tool" "\$@"
	END
	chmod +x tool
	MEMSCOPE=$PWD/tool
	for version in 520.61.05 530.41.03 535.104.05 570.133.20 580.65.06; do
		rm -f to from run.mscope
		MOMENTS=0
		echo "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  $version  Release Build" > driver/nvidia/version
		begin "$WORKLOADS/ioctl_storm" "$PWD/devices" 98 "${version%%.*}"
		storm_says round
		finish
		assert_storm 0
		[ "${SAID##* }" -ge 3000 ]
		[ "${SAID%% *}" -gt 0 ]
	done
}

# files_step STEP: the next step of the program, after which NVML is asked, and a mark set
files_step() {
	echo >&6
	read -r -t 60 SAID <&7 || fail "no answer"
	# What is closed is looked for now and then.
	[ "$1" -ne 4 ] || wait_for 'grep -q "a file of the driver is closed" record.err'
	before=$(answers)
	wait_for '[ "$(answers)" -gt '$((before + 2))' ]'
	"$MEMSCOPE" mark -q "step-$1"
}

# What was held at that step, for each process that ever had any: MiB of its own, of others, and of ranges.
files_held() {
	"$MEMSCOPE" report -f json --to="mark:step-$1" run.mscope > report.json
	valid report report.json
	jq -c '[.recordings[0].processes | sort_by(.start_ns)[] | .driver | select(.) |
		[.device.live_bytes, .shared.live_bytes, .ranges.external_bytes] | map(. / 1048576)]' report.json
}

begin_files() {
	mkfifo to from
	# shellcheck disable=SC2016 # for the other shell
	record_start -v -f -o run.mscope --nvml=100ms -- sh -c 'exec "$0" "$@" < to > from' "$WORKLOADS/driver_files" "$PWD/devices"
	exec 6> to 7< from
	files_step 1
	wait_for 'grep -q "process '"${SAID#child }"': its ioctls are seen" record.err'
}

@test "one of two files is closed; memory that another process imports counts once" {
	begin_files
	files_step 2
	files_step 3
	run ! grep "a file of the driver is closed" record.err
	files_step 4
	files_step 5
	finish
	assert_equal "$(files_held 2)" "[[48,0,2],[0,16,1]]"
	assert_equal "$(files_held 3)" "[[48,0,2],[0,16,1]]"
	assert_equal "$(files_held 4)" "[[32,0,0],[0,16,0]]"
	assert_equal "$(files_held 5)" "[[32,0,0],[0,0,0]]"
}

@test "which files are open cannot be seen for a while: it is tried again" {
	local tool=$MEMSCOPE

	cat > tool <<-END
		#!/bin/sh
		[ "\$1" != record ] || export LACKING=iterator LD_PRELOAD=$WORKLOADS/lacking.so
		exec $(command -v env) ASAN_OPTIONS=verify_asan_link_order=0 "$tool" "\$@"
	END
	chmod +x tool
	MEMSCOPE=$PWD/tool
	touch refused
	begin_files
	files_step 2
	files_step 3
	wait_for 'grep -q "which files are open cannot be seen: Cannot allocate memory" record.err'
	rm refused
	files_step 4
	files_step 5
	finish
	assert_equal "$(files_held 3)" "[[48,0,2],[0,16,1]]"
	assert_equal "$(files_held 4)" "[[32,0,0],[0,16,0]]"
}
