# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Two devices, of which the simulated CUDA driver takes memory by ioctls as a real one does, and what the
# simulated NVML says of them.

load recordings

eval "without_driver_$(declare -f setup)
without_driver_$(declare -f teardown)"
setup() {
	without_driver_setup
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	[ -c /dev/fuse ] || skip "needs /dev/fuse"
	needs_links
	mkdir devices held.d
	"$WORKLOADS/simnv-devices" "$PWD/devices" 3>&- &
	SIMNV_PID=$!
	wait_for '[ -e devices/nvidiactl ]'
	export SIMNV=$PWD/state SIMCUDA_DEVICES=2 SIMCUDA_HELD=$PWD/held.d SIMCUDA_DRIVER=$PWD/devices
	export MEMSCOPE_TEST_DEVICES=$PWD/devices
	LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3
	FIRST=GPU-73696d75-6c61-7465-6420-475055200000
	SECOND=GPU-73696d75-6c61-7465-6420-475055200001
	cat > state <<-END
		driver 580.159.04
		device uuid=$FIRST name=NVIDIA_H200 pci=0:65:00 minor=0 total=143771M reserved=615M used=9M
		device uuid=$SECOND name=NVIDIA_H200 pci=0:66:00 minor=1 total=143771M reserved=615M used=0
	END
}

teardown() {
	OTHER_PID=${SIMNV_PID:-}
	exec 4>&- 5<&- 6>&- 7<&-
	without_driver_teardown
	umount -l devices 2> /dev/null || true
}
