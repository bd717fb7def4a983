# SPDX-License-Identifier: BSD-2-Clause
#
# A real, unmodified program, call by call against what the simulated driver logged. (single.bats
# does it with single uprobes.)

load helpers

@test "every call of ffmpeg is seen exactly once, with its sizes, addresses and names" {
	trace --json -e all -o events.jsonl -- $(ffmpeg_command)
	"$COMPARE" events.jsonl oracle.log
	assert_equal "$(summary '[.processes[0].spaces[] | .space, .allocs, .frees, .live_bytes]')" \
		'["device",3,3,0]'
	assert_equal "$(events 'select(.op == "launch") | .kernel' | sort | uniq -c | awk '{print $1, $2}')" \
		"20 Subsample_Bicubic_nv12_nv12
20 Subsample_Bicubic_nv12_nv12_uv"
}

@test "the same with multi links" {
	trace --without=uprobe_session --json -e all -o events.jsonl -- $(ffmpeg_command)
	"$COMPARE" events.jsonl oracle.log
}

@test "an allocation that fails is shown with the size asked for and its result by name" {
	SIMCUDA_MEMORY=512K run trace --json -e all -o events.jsonl -- $(ffmpeg_command)
	[ "$status" -ne 0 ]
	"$COMPARE" events.jsonl oracle.log
	assert_equal "$(events 'select(.op == "alloc" and .result != 0) | [.result_name, .addr] | @csv' |
		head -n 1)" '"CUDA_ERROR_OUT_OF_MEMORY",'
}

@test "an injected failure of any call is seen" {
	for call in cuMemcpy2DAsync_v2:5=1 cuLaunchKernel:3=719 cuMemFree_v2:1=4 cuCtxCreate_v2:1=101; do
		rm -f oracle.log
		SIMCUDA_FAIL=$call run trace --json -e all -o events.jsonl -- $(ffmpeg_command)
		"$COMPARE" events.jsonl oracle.log
		assert_equal "$(summary '.processes[0].failures | map(.api) | unique | length > 0')" true
	done
}

@test "ffmpeg's output and exit code are those of an untraced run" {
	local command="ffmpeg -nostdin -hide_banner -loglevel error -init_hw_device cuda=cu:0
		-f lavfi -i testsrc=size=640x480:rate=25
		-vf format=nv12,hwupload_cuda,hwdownload,format=nv12 -frames:v 10 -f framemd5 -"

	$command > plain.md5
	trace -q -o trace.txt -- $command > traced.md5
	cmp plain.md5 traced.md5
	grep -q cuMemAlloc_v2 trace.txt
}
