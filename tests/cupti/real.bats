#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# NVIDIA's own libcupti of several versions, from its Python wheels, where there is no GPU (make check-cupti). It has to
# refuse to work, and a program recorded with --gpu-time has to do what it does untraced; its report says which function
# refused. The wheels are those of make check-headers, and are kept in the build directory as there.

load ../e2e/helpers

STORE=$BUILT/headers

# wheel NAME REQUIREMENT: unpacks it, or skips the test
wheel() {
	local there=$STORE/$1-cupti

	[ -e "$there" ] || python3 -m pip download -q --no-deps -d "$STORE/wheels/$1-cupti" "$2" > pip 2>&1 ||
		skip "pip cannot install $2: $(tail -n 1 pip)"
	[ -e "$there" ] || python3 -c "import glob, sys, zipfile
for name in glob.glob(sys.argv[1] + '/*.whl'):
    zipfile.ZipFile(name).extractall(sys.argv[2])" "$STORE/wheels/$1-cupti" "$there"
	CUPTI=$(dirname "$(find "$there" -name 'libcupti.so.*' | head -n 1)")
}

# refused FUNCTION RESULT: the program does not notice, and the report has these.
refused() {
	local code=0 untraced=0 said

	"$WORKLOADS/gpu_work" 2 50 7 > untraced 2> untraced.err || untraced=$?
	# shellcheck disable=SC2086 # may be empty
	LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$CUPTI "$MEMSCOPE" record -q $MASK --gpu-time -o run.mscope -- \
		"$WORKLOADS/gpu_work" 2 50 7 > traced 2> traced.err || code=$?
	assert_equal "$code" "$untraced"
	assert_equal "$code" 7
	diff untraced traced
	diff untraced.err traced.err
	said=$("$MEMSCOPE" report -f json run.mscope | jq -r '[.recordings[0].processes[] | select(.gpu)][0].gpu |
		"\(.state) \(.why) \(.activities)"')
	assert_equal "$said" "off refused 0"
	"$MEMSCOPE" report run.mscope | grep -q "$1 failed with $2" || fail "$("$MEMSCOPE" report run.mscope | grep -i cupti)"
}

setup_file() {
	[ ! -e /dev/nvidiactl ] || skip "there is a GPU, so CUPTI may work"
}

@test "CUDA 12.4" {
	wheel 12.4 nvidia-cuda-cupti-cu12==12.4.127
	refused cuptiSubscribe 15
}

@test "CUDA 12.9" {
	wheel 12.9 nvidia-cuda-cupti-cu12==12.9.79
	refused cuptiSubscribe 15
}

@test "CUDA 13.0" {
	wheel 13.0 nvidia-cuda-cupti==13.0.85
	refused cuptiSubscribe_v2 999
}

@test "the newest" {
	wheel newest nvidia-cuda-cupti
	refused 'cupti[A-Za-z_0-9]*' '[0-9]*'
}
