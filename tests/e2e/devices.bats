# SPDX-License-Identifier: BSD-2-Clause
#
# What a simulated NVML (tests/simnv) says of devices and processes while they are recorded.

load recordings

eval "without_nvml_$(declare -f setup)"
setup() {
	without_nvml_setup
	export SIMNV=$PWD/state
	LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3
	state 1000M
}

# state USED LINE...
state() {
	{
		echo "driver 580.159.04"
		echo "device uuid=GPU-a name=NVIDIA_H200 pci=0:65:00 minor=0 total=143771M reserved=615M used=$1 gpu=40 memory=3"
		echo "device uuid=GPU-b name=NVIDIA_H200 pci=0:66:00 minor=1 total=143771M reserved=615M used=0"
		printf '%s\n' "${@:2}"
	} > state.new
	mv state.new state
}

# How often NVML has answered.
answers() {
	grep -c "debug: NVML: " record.err
}

# said FILTER: of the records, one line each
said() {
	"$MEMSCOPE" export -f ndjson -o run.ndjson run.mscope
	valid_lines event run.ndjson
	jq -r "$1 | @csv" run.ndjson
}

valid_lines() {
	while read -r line; do
		echo "$line" > line.json
		valid "$1" line.json
	done < <(grep -E '"type":"(device|process)_memory"' "$2" | head -n 4)
}

@test "at the beginning, when memory runs out, and at the end" {
	local pid

	puppet_with_cuda
	pid=$PUPPET_PID
	state 1000M "process device=0 pid=$PUPPET_PID used=600M" "process device=0 pid=1 used=100M"
	record_start -o run.mscope --nvml=1h -p "$PUPPET_PID"
	wait_for '[ "$(answers)" -ge 1 ]'
	state 2000M "process device=0 pid=$PUPPET_PID used=1500M"
	# More than there is.
	echo "alloc $((1 << 50))" >&8
	wait_for '[ "$(answers)" -ge 2 ]'
	state 500M
	record_stop
	puppet_end
	assert_equal "$(said 'select(.type == "device_memory" and .uuid == "GPU-a") |
		[.used_bytes / 1048576, .processes, .processes_bytes / 1048576]')" "$(printf '1000,2,700\n2000,1,1500\n500,0,0')"
	assert_equal "$(said 'select(.type == "process_memory") | [.pid, .uuid, .used_bytes]')" \
		"$(printf "$pid,\"GPU-a\",%s\n" $((600 << 20)) $((1500 << 20)))"
	assert_equal "$(jq -r 'select(.type == "device_memory" and .uuid == "GPU-b") | .used_bytes' run.ndjson | sort -u)" 0
	assert_whole run.mscope
	dump_reader --events run.mscope | grep -q "process_memory used=$((600 << 20)) GPU-a"
}

@test "a report takes NVML's numbers apart" {
	puppet_with_cuda
	puppet alloc $((256 << 20))
	state 1000M "process device=0 pid=$PUPPET_PID used=600M" "process device=0 pid=1 used=100M"
	record_start -o run.mscope --nvml=1h -p "$PUPPET_PID"
	wait_for '[ "$(answers)" -ge 1 ]'
	puppet alloc $((64 << 20))
	puppet free
	puppet alloc $((32 << 20))
	puppet free
	puppet free # the one from before
	puppet alloc $((16 << 20))
	state 1000M "process device=0 pid=$PUPPET_PID used=400M" "process device=0 pid=1 used=100M"
	record_stop
	puppet_end
	"$MEMSCOPE" report -f json run.mscope > report.json
	valid report report.json
	assert_equal "$(jq -c '.recordings[0].processes[0].nvml | [.samples, (.used_bytes, .allocated_bytes,
		.slack_bytes, .before_attach_bytes, .unexplained_bytes, .peak_bytes) / 1048576]' report.json)" \
		"[2,400,16,0,384,0,600]"
	assert_equal "$(jq -c '.recordings[0].nvml_devices[0] | [.uuid, .processes, .traced_processes,
		(.used_bytes, .processes_bytes, .traced_bytes, .reserved_bytes) / 1048576]' report.json)" \
		'["GPU-a",2,1,1000,500,400,615]'
	"$MEMSCOPE" report -f md run.mscope > report.md
	grep -Eq "from before it was attached to \| GPU-a \| 384 MiB" report.md
	grep -Eq "in all, as NVML says \| GPU-a \| 400 MiB" report.md
	grep -Eq "GPU-a \| 140 GiB \| 1000 MiB \| 400 MiB \| 100 MiB \| 500 MiB \| 615 MiB" report.md
}

@test "so does the summary of a trace, which shows no lines for them" {
	local used="process device=0 pid=PID used=600M"

	puppet_with_cuda
	puppet alloc $((256 << 20))
	state 1000M "${used/PID/$PUPPET_PID}" "process device=0 pid=1 used=100M"
	trace_start --nvml=1h -p "$PUPPET_PID"
	wait_for 'grep -q "debug: NVML: " trace.err'
	puppet alloc $((16 << 20))
	trace_stop
	assert_equal "$(summary '.processes[0].nvml | [.samples, (.used_bytes, .allocated_bytes,
		.before_attach_bytes, .unexplained_bytes) / 1048576]')" "[2,600,16,584,0]"
	assert_equal "$(summary '.nvml_devices | map([.uuid, .traced_bytes / 1048576])')" '[["GPU-a",600],["GPU-b",0]]'
	valid_lines event events.jsonl
	jq -c 'select(.type == "summary")' events.jsonl > line.json
	valid event line.json
	"$MEMSCOPE" trace $MASK -d 0.3 -o trace.txt -p "$PUPPET_PID"
	grep -qE "^ {10,} 600 MiB  from before it was attached to$" trace.txt
	grep -qE "^ {10,} 600 MiB  in all, as NVML says$" trace.txt
	grep -qE "^ +140 GiB +1000 MiB +600 MiB +100 MiB +300 MiB +615 MiB  GPU-a$" trace.txt
	! grep -q "process_memory\|device_memory" trace.txt || false
	"$MEMSCOPE" trace $MASK -d 0.3 -c --nvml=off -o trace.txt -p "$PUPPET_PID"
	! grep "NVML" trace.txt || false
	puppet_end
}

@test "the process that asks NVML is none of those that use CUDA, though NVML maps the driver" {
	puppet_with_cuda
	export SIMNV_MAPS=$BUILT/simcuda/libcuda.so.1
	record_start -o run.mscope --nvml=100ms -a
	wait_for '[ "$(answers)" -ge 2 ]'
	sleep 0.3
	record_stop
	puppet_end
	"$MEMSCOPE" report -f json run.mscope | jq -r '.recordings[0].processes[].comm' > comms
	grep -qx puppet comms
	run ! grep memscope comms
}

@test "again and again, or not at all" {
	puppet_with_cuda
	record_start -o run.mscope --nvml=100ms -p "$PUPPET_PID"
	wait_for '[ "$(answers)" -ge 4 ]'
	record_stop
	[ "$(said 'select(.type == "device_memory" and .uuid == "GPU-b") | [.used_bytes]' | wc -l)" -ge 4 ]
	rm run.mscope
	record_start -o run.mscope --nvml=off -p "$PUPPET_PID"
	record_stop
	puppet_end
	assert_equal "$(said 'select(.type == "device_memory") | [.used_bytes]')" ""
	assert_equal "$(answers)" 0
	run -2 "$MEMSCOPE" record --nvml=never -- true
}

@test "NVML that hangs, crashes or is not there does not stop a recording" {
	local how

	for how in "hang nvmlInit_v2" "hang nvmlDeviceGetName device=1" "crash nvmlDeviceGetName" "fail nvmlInit_v2 9"; do
		state 1000M "$how"
		rm -f run.mscope
		record -o run.mscope --nvml=5s -- $(ffmpeg_command 2)
		assert_whole run.mscope
		assert_equal "$(dump_line run.mscope .reason)" '"targets-gone"'
	done
	LD_LIBRARY_PATH=$BUILT/simcuda
	rm run.mscope
	record -o run.mscope --nvml=5s -- $(ffmpeg_command 2)
	assert_whole run.mscope
	# Who is left is ended, but perhaps not at once.
	wait_for '[ -z "$(tool_processes memscope-nvml)" ]'
}

@test "NVML that fails is asked again, of a library that is loaded anew" {
	local answered

	puppet_with_cuda
	state 1000M "fail nvmlInit_v2 9"
	record_start -o run.mscope --nvml=50ms -p "$PUPPET_PID"
	wait_for 'grep -q "debug: NVML is asked again in 300 ms: nvmlInit_v2: " record.err'
	wait_for 'grep -q "debug: NVML is asked again in 600 ms: nvmlInit_v2: " record.err'
	state 1000M
	wait_for 'grep -q "NVML answers now" record.err'
	state 2000M "crash nvmlDeviceGetMemoryInfo_v2 device=1"
	wait_for 'grep -q "warning: NVML does not answer any more: nvmlDeviceGetMemoryInfo_v2 (device 1) has ended" record.err'
	wait_for 'grep -q "debug: NVML is asked again in 600 ms: nvmlDeviceGetMemoryInfo_v2" record.err'
	state 3000M
	wait_for 'grep -q "NVML answers again" record.err'
	answered=$(answers)
	wait_for '[ "$(answers)" -gt $((answered + 2)) ]'
	# It is not said time and again.
	assert_equal "$(grep -c "does not answer any more" record.err)" 1
	state 4000M "fail nvmlDeviceGetCount_v2 15"
	wait_for 'grep -q "warning: NVML does not answer any more: nvmlDeviceGetCount_v2: .* from time to time$" record.err'
	state 5000M
	wait_for '[ "$(grep -c "NVML answers again" record.err)" = 2 ]'
	record_stop
	puppet_end
	assert_whole run.mscope
	# What it has said is not so any more when it lists no device.
	assert_equal "$(said 'select(.type == "device_memory" and .uuid == "GPU-a") | [.used_bytes | values / 1048576]' | uniq)" \
		$'1000\n2000\n3000\n\n5000'
	wait_for '[ -z "$(tool_processes memscope-nvml)$(tool_processes memscope-nkeep)" ]'
}

@test "errors that the driver reports of a device are in the lines, the recording and the report" {
	[ -w /dev/kmsg ] || skip "nothing can be written to the kernel's log"
	puppet_with_cuda
	record_start -o run.mscope -p "$PUPPET_PID"
	puppet alloc 4096
	echo "NVRM: Xid (PCI:0000:65:00): 31, pid=$PUPPET_PID, name=puppet, Ch 00000008. MMU Fault" > /dev/kmsg
	puppet alloc 4096
	echo "memscope-bpf: NVRM: Xid (PCI:0000:67:00): 79, no such line" > /dev/kmsg
	# The kernel wakes who reads the log a tick later, which may be after the end.
	echo "NVRM: Xid (PCI:0000:66:00): 79, GPU has fallen off the bus." > /dev/kmsg
	record_stop
	assert_equal "$(said 'select(.type == "xid") | [.xid, .bdf, .process, .text]')" \
		"$(printf '31,"0000:65:00.0",%s,"Ch 00000008. MMU Fault"\n79,"0000:66:00.0",,"GPU has fallen off the bus."' \
			"$PUPPET_PID")"
	"$MEMSCOPE" report -f json run.mscope > report.json
	valid report report.json
	assert_equal "$(jq -c '.recordings[0] | [.xids_count, (.xids[] | .xid, .pid)]' report.json)" "[2,31,$PUPPET_PID,79,null]"
	"$MEMSCOPE" report -f md run.mscope > report.md
	grep -q "NVIDIA's driver reported Xid 31 of the GPU at 0000:65:00.0 (page fault: .*) at .*, and 1 more: see" report.md
	grep -q "| 0000:65:00.0 | 31 | page fault: .* | puppet ($PUPPET_PID) | Ch 00000008. MMU Fault |" report.md
	dump_reader --events run.mscope | grep -q "xid 79 of 0000:66:00.0 process=0 GPU has fallen off the bus."
	puppet_end
}

@test "the device of a process that was running, if it has one device file" {
	# In a /dev of its own.
	mkfifo puppet.in puppet.out
	unshare -m sh -c 'mount -t tmpfs none /dev && : > /dev/nvidia3 && : > /dev/nvidiactl && exec "$0"' \
		"$WORKLOADS/puppet" < puppet.in > puppet.out 3>&- 8>&- 9<&- &
	PUPPET_PID=$!
	exec 8> puppet.in 9< puppet.out
	puppet load
	puppet init
	trace_start -p "$PUPPET_PID"
	puppet alloc 4096
	trace_stop
	assert_equal "$(events 'select(.op == "alloc").device')" 0
	puppet_end
}
