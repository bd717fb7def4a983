# SPDX-License-Identifier: BSD-2-Clause
#
# Limits of cgroups on memory of devices: what the kernel would say is in files, which are put where cgroups
# are mounted, in a mount namespace of the tool's own. To the simulated driver, they are no limits.

bats_require_minimum_version 1.5.0
load agent

REGION=drm/0000:65:00.0/vram

eval "without_limits_$(declare -f setup)"
setup() {
	without_limits_setup
	mkdir cgroups of
	echo dmem > cgroups/cgroup.controllers
	echo "$REGION $((2048 << 20))" > cgroups/dmem.capacity
	counted "" 1100
	counted /pods 950 1000
	counted /pods/one 900 max
	echo "$REGION $((100 << 20))" > cgroups/pods/one/dmem.min
	export SIMCUDA_MEMORY=32M
	cat > tool <<-END
		#!/bin/sh
		exec unshare -m sh -c '
			mount --bind $PWD/cgroups /sys/fs/cgroup || exit 99
			for file in $PWD/of/*; do mount --bind "\$file" "/proc/\${file##*/}/cgroup" || exit 99; done
			exec "\$@"' sh "$MEMSCOPE" "\$@"
	END
	chmod +x tool
	REAL=$MEMSCOPE MEMSCOPE=$PWD/tool
	puppet_start
	echo 0::/pods/one > "of/$PUPPET_PID"
}

# counted CGROUP USED [LIMIT]: in MiB
counted() {
	mkdir -p "cgroups$1"
	echo "$REGION $(($2 << 20))" > "cgroups$1/dmem.current"
	[ -z "${3:-}" ] || echo "$REGION $([ "$3" = max ] && echo max || echo $(($3 << 20)))" > "cgroups$1/dmem.max"
}

# said TEXT: whether the last that the recording has of limits is so, of what stands in its line
said() {
	"$REAL" export -f ndjson -o - run.mscope 2> export.err | grep '"type":"memory_limit"' | tail -n 1 | grep -qF "$1"
}

@test "a recording has what the cgroup of a process uses and may use, also when it is refused memory" {
	record_start -p "$PUPPET_PID" --nvml=1h -o run.mscope
	puppet load
	puppet init
	puppet alloc 4096
	wait_for 'said "\"limit_used_bytes\":$((950 << 20)),"'
	counted /pods 990 1000
	echo "alloc $((64 << 20))" >&8
	read -r -t 60 answer <&9
	assert_equal "$answer" 2
	wait_for '"$REAL" export -f ndjson -o - run.mscope 2> export.err | grep -q "\"limit_used_bytes\":$((990 << 20)),"'
	puppet_end
	tool_wait record RECORD_PID
	"$REAL" export -f ndjson -o run.jsonl run.mscope
	jq -c 'select(.type == "memory_limit") | [.region, .cgroup, .used_bytes, .guaranteed_bytes, .limit_bytes,
		.limit_cgroup, .limit_used_bytes, .capacity_bytes, .device_used_bytes | numbers |= . / 1048576]' run.jsonl |
		uniq > got.txt
	diff got.txt - <<-END
		["$REGION","/pods/one",900,100,1000,"/pods",950,2048,1100]
		["$REGION","/pods/one",900,100,1000,"/pods",990,2048,1100]
	END
	# So the limit is why, and not the device.
	"$REAL" report -f json -o report.json run.mscope
	valid report report.json
	assert_equal "$(jq -c '.recordings[0].out_of_memory[0] | [.cause, .confidence, (.would_have_fit[] | .if, .bytes / 1048576),
		(.cgroup_limit | .cgroup, .region, .reached, .device_is_sure)]' report.json)" \
		"[\"limit\",\"high\",\"higher-limit\",1054,\"less\",54,\"/pods\",\"$REGION\",true,true]"
	"$REAL" report -f text run.mscope | tr -s ' \n' ' ' > report.txt
	grep -qF "Cause: limit (the limit of its cgroup was reached; programs of cgroup /pods may use 1000 MiB of the device's 2 GiB and used 990 MiB, while 948 MiB of it were free)" report.txt ||
		fail "$(cat report.txt)"
}

@test "where a process's cgroup has no limit any more and uses nothing, that is said once" {
	record_start -p "$PUPPET_PID" --nvml=200ms -o run.mscope
	puppet load
	puppet init
	puppet alloc 4096
	wait_for 'said "\"limit_bytes\":$((1000 << 20)),"'
	counted /pods 0 max
	counted /pods/one 0 max
	wait_for 'said "\"region\":\"\""'
	counted /pods 5 1000
	wait_for 'said "\"limit_used_bytes\":$((5 << 20)),"'
	# It moves to one that is not limited.
	counted /free 0 max
	echo 0::/free > "of/$PUPPET_PID"
	wait_for 'said "\"region\":\"\""'
	puppet_end
	tool_wait record RECORD_PID
	"$REAL" export -f ndjson -o - run.mscope | grep -c '"region":"",' | grep -qx 2
	"$REAL" export -f openmetrics -o run.om run.mscope
	run ! grep -q memscope_cgroup run.om
}

@test "the agent says it of its processes, and has series of cgroups" {
	agent_start
	puppet load
	settled
	puppet init
	# The agent traces what other tests run, too.
	wait_for '[ "$(ask /api/v1/who | jq ".processes[] | select(.pid == $PUPPET_PID) | .limits | length")" = 1 ]'
	ask /api/v1/who > who.json
	valid agent-who who.json
	assert_equal "$(jq -c --argjson pid "$PUPPET_PID" '.processes[] | select(.pid == $pid) | .limits[0] | [.region, .cgroup, .used_bytes, .limit_bytes, .limit_cgroup, .left_bytes,
		.capacity_bytes | numbers |= . / 1048576]' who.json)" "[\"$REGION\",\"/pods/one\",900,1000,\"/pods\",50,2048]"
	ask "/api/v1/processes/$PUPPET_PID" > process.json
	valid agent-process process.json
	assert_equal "$(jq -c '.limits | map(del(.ts_ns))' process.json)" \
		"$(jq -c --argjson pid "$PUPPET_PID" '.processes[] | select(.pid == $pid) | .limits | map(del(.ts_ns))' who.json)"
	fresh
	ask /metrics > metrics.txt
	assert_equal "$(series memscope_cgroup_device_memory_used_bytes "cgroup=\"/pods/one\",region=\"$REGION\"")" $((900 << 20))
	assert_equal "$(series memscope_cgroup_device_memory_limit_bytes '')" $((1000 << 20))
	assert_equal "$(series memscope_cgroup_device_memory_left_bytes '')" $((50 << 20))
	agent_stop
}

# The kernel counts nothing, and NVML knows of a limit.
nvml_limits() {
	rm -r cgroups/pods cgroups/dmem.current cgroups/dmem.capacity
	cat > state <<-END
		driver 615.71.09
		device uuid=GPU-a name=NVIDIA_H200 pci=0:65:00 minor=0 total=2048M reserved=0 used=1100M
		process device=0 pid=$PUPPET_PID used=600M
		limit device=0 cgroup=/sys/fs/cgroup/pods/one soft=0 hard=1000M used=990M
	END
}

@test "where NVML says it and not the kernel, a recording has that" {
	nvml_limits
	SIMNV=$PWD/state LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3 record_start -p "$PUPPET_PID" --nvml=1h -o run.mscope
	puppet load
	puppet init
	puppet alloc 4096
	echo "alloc $((64 << 20))" >&8
	read -r -t 60 answer <&9
	assert_equal "$answer" 2
	wait_for '[ "$(grep -c "debug: NVML: " record.err)" -ge 2 ]'
	puppet_end
	tool_wait record RECORD_PID
	"$REAL" report -f json -o report.json run.mscope
	valid report report.json
	assert_equal "$(jq -c '.recordings[0].out_of_memory[0] | [.cause, .confidence, (.cgroup_limit | .cgroup, .region, .reached)]' report.json)" \
		'["limit","high","/pods/one","nvml/0000:65:00.0",true]'
}

@test "where NVML says it, and nothing of a limit any more, that is said" {
	nvml_limits
	SIMNV=$PWD/state LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3 record_start -p "$PUPPET_PID" --nvml=200ms -o run.mscope
	puppet load
	puppet init
	wait_for 'said "\"region\":\"nvml/0000:65:00.0\""'
	grep -v limit state > lifted
	mv lifted state
	wait_for 'said "\"region\":\"\""'
	puppet_end
	tool_wait record RECORD_PID
}

@test "where the kernel counts nothing, nothing is said" {
	rm -r cgroups/pods cgroups/dmem.current cgroups/dmem.capacity
	record_start -p "$PUPPET_PID" --nvml=1h -o run.mscope
	puppet load
	puppet init
	puppet alloc 4096
	puppet_end
	tool_wait record RECORD_PID
	"$REAL" export -f ndjson -o run.jsonl run.mscope
	grep -q cuMemAlloc run.jsonl
	run ! grep -q memory_limit run.jsonl
	"$REAL" export -f openmetrics -o run.om run.mscope
	run ! grep -q memscope_cgroup run.om
}
