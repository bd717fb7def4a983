# SPDX-License-Identifier: BSD-2-Clause
#
# The who command, on a simulated NVML (tests/simnv) and on device files that only have the numbers of the
# driver's: to hold one open, no driver is needed. What the driver says in /proc is put there for the command
# alone, in a mount namespace of its own.

bats_require_minimum_version 1.5.0
load helpers

# Numbers of devices and of nvidia-uvm that no other test has.
FIRST=140
SECOND=141
UVM=509

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	cd "$BATS_TEST_TMPDIR" || exit 1
	chmod 755 .
	export SIMNV=$PWD/state
	AGE=3
	STARTED=
	mknod nvidia-first c 195 $FIRST
	mknod nvidia-second c 195 $SECOND
	mknod nvidiactl c 195 255
	mknod nvidia-uvm c $UVM 0
	mkdir -p driver/nvidia/gpus/0000:65:00.0
	cat > devices <<-END
		Character devices:
		195 nvidia
		195 nvidiactl
		$UVM nvidia-uvm
	END
	cat > driver/nvidia/version <<-END
		NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (nobody@)
		GCC version:  gcc version 15.3.0 (GCC)
	END
	printf 'Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-a\nBus Location: \t 0000:65:00.0\nDevice Minor: \t %s\n' \
		$FIRST > driver/nvidia/gpus/0000:65:00.0/information
	cat > state <<-END
		driver 580.159.04
		device uuid=GPU-a name=NVIDIA_H200 pci=0:65:00 minor=$FIRST total=143771M reserved=615M used=1000M gpu=40 memory=3
		device uuid=GPU-b name=NVIDIA_H100 pci=0:66:00 minor=$SECOND total=81559M reserved=500M used=2000M
	END
	chmod 644 state
}

teardown() {
	# shellcheck disable=SC2086 # one word each
	[ -z "${PLACE:-}" ] || rm -r "$PLACE"
	[ -z "$STARTED" ] || kill -9 $STARTED 2> /dev/null || true
}

# The command, with the files that the driver would have in /proc.
who() {
	# shellcheck disable=SC2016 # for the shell in the namespace
	LD_LIBRARY_PATH=${LIBRARIES:-$BUILT/simnv/$AGE} unshare -m ${PREFIX:-} sh -c '
		mount --bind devices /proc/devices && mount --bind driver /proc/driver || exit 99
		if [ -d cgroups ]; then
			mount --bind cgroups /sys/fs/cgroup || exit 99
			for file in of/*; do mount --bind "$file" "/proc/${file#of/}/cgroup" || exit 99; done
		fi
		exec "$@"' sh ${AS:-} "$MEMSCOPE" who "$@"
}

# said FILTER: of the JSON object, which is one by its schema
said() {
	who --json > who.json
	valid who who.json
	# What other tests have open is of no device that is known here.
	jq '.devices |= map(select(.uuid or .index != null))' who.json > own.json
	mv own.json who.json
	jq -r "$1" who.json
}

# holder NAME FILE...: starts a process that has the files open, and writes its pid to NAME.
holder() {
	local name=$1 i
	shift
	cat > holder.py <<-'END'
		import os, sys, time
		for path in sys.argv[2:]:
		    os.open(path, os.O_PATH)
		with open(sys.argv[1] + ".new", "w") as file:
		    print(os.environ.get("HOLDER") or os.getpid(), file=file)
		os.rename(sys.argv[1] + ".new", sys.argv[1])
		time.sleep(1000)
	END
	${IN:-} /usr/bin/python3 holder.py "$name" "$@" 3>&- &
	STARTED="$STARTED $!"
	for ((i = 0; i < 600; i++)); do
		[ ! -e "$name" ] || return 0
		sleep 0.1
	done
	fail "$name has not started"
}

process() {
	echo "process $*" >> state
}

# What is said of a process and a device, by a filter: of DEVICE PID FILTER
of() {
	jq -r ".devices[] | select(.uuid == \"$1\") | .processes[] | select(.pid == $2) | $3" who.json
}

@test "eight processes on two devices stand where they belong" {
	local one two both inside keeper open unlisted zombie parent gone i

	holder one nvidia-first nvidiactl nvidia-uvm
	holder two nvidia-second nvidiactl nvidia-uvm nvidia-first
	holder both nvidia-first nvidia-second
	holder open nvidia-second
	holder unlisted nvidia-second nvidiactl nvidia-uvm
	holder keeper nvidia-first
	IN="unshare --pid --fork" HOLDER=inside holder inside nvidia-first
	/usr/bin/python3 -c 'import os, time
pid = os.fork()
if pid == 0: os._exit(0)
open("zombie.new", "w").write(str(pid)); os.rename("zombie.new", "zombie"); time.sleep(1000)' 3>&- &
	parent=$!
	STARTED="$STARTED $parent"
	for ((i = 0; i < 600; i++)); do [ -e zombie ] && break || sleep 0.1; done
	one=$(< one) two=$(< two) both=$(< both) open=$(< open) unlisted=$(< unlisted) keeper=$(< keeper) zombie=$(< zombie)
	for i in $STARTED; do
		[ "$(cat "/proc/$i/comm")" != unshare ] || inside=$(pgrep -P "$i")
	done
	STARTED="$STARTED $inside"
	gone=4194303
	process "device=0 pid=$one used=100M"
	process "device=1 pid=$two used=200M kind=C"
	process "device=1 pid=$two used=200M kind=G"
	process "device=0 pid=$both used=30M"
	process "device=1 pid=$both used=40M kind=M"
	process "device=0 pid=$zombie used=50M"
	process "device=0 pid=$inside used=60M"
	process "device=0 pid=$gone used=70M"

	assert_equal "$(said .nvml.state)" ready
	assert_equal "$(of GPU-a "$one" '[.listed, .used_bytes, .open, .elsewhere] | @csv')" "true,104857600,true,false"
	assert_equal "$(of GPU-b "$one" .)" ""
	assert_equal "$(of GPU-b "$two" '[.listed, .used_bytes, .open, .compute, .graphics, .mps] | @csv')" \
		"true,209715200,true,true,true,false"
	assert_equal "$(of GPU-a "$two" '[.listed, .used_bytes, .open, .elsewhere] | @csv')" "false,,true,true"
	assert_equal "$(of GPU-a "$both" '[.listed, .used_bytes] | @csv')" "true,31457280"
	assert_equal "$(of GPU-b "$both" '[.listed, .used_bytes, .mps] | @csv')" "true,41943040,true"
	assert_equal "$(of GPU-b "$open" '[.listed, .used_bytes, .open, .elsewhere] | @csv')" "false,,true,false"
	assert_equal "$(of GPU-b "$unlisted" '[.listed, .open] | @csv')" "false,true"
	assert_equal "$(of GPU-a "$keeper" '[.listed, .open] | @csv')" "false,true"
	assert_equal "$(of GPU-a "$inside" '[.listed, .used_bytes, .open] | @csv')" "true,62914560,true"
	assert_equal "$(of GPU-a "$zombie" '[.listed, .used_bytes, .open] | @csv')" "true,52428800,false"
	assert_equal "$(of GPU-a "$gone" '[.listed, .used_bytes, .open] | @csv')" "true,73400320,"
	assert_equal "$(jq -r ".processes[] | select(.pid == $zombie) | .zombie" who.json)" true
	assert_equal "$(jq -r ".processes[] | select(.pid == $gone) | [.present, .comm] | @csv" who.json)" "false,"
	assert_equal "$(jq -r ".processes[] | select(.pid == $one) | .files | [.devices, .control, .uvm, .minors[0]] | @csv" \
		who.json)" "1,1,1,$FIRST"
	assert_equal "$(jq -r ".processes[] | select(.pid == $one) | [.name, .comm, .identity.script, .identity.user] | @csv" \
		who.json)" '"python3 holder.py","python3","holder.py","root"'
	assert_equal "$(jq -r ".processes[] | select(.pid == $inside) | .identity.ns_pid" who.json)" 1
	assert_equal "$(jq -r ".processes[] | select(.pid == $gone) | .identity" who.json)" null
	# 100 + 30 + 50 + 60 + 70, and 200 + 40
	assert_equal "$(jq -r '.devices[] | select(.uuid == "GPU-a") | [.in_processes_bytes, .in_no_process_bytes] | @csv' who.json)" \
		"$((310 << 20)),$((690 << 20))"
	assert_equal "$(jq -r '.devices[] | select(.uuid == "GPU-b") | [.in_processes_bytes, .in_no_process_bytes] | @csv' who.json)" \
		"$((240 << 20)),$((1760 << 20))"
	jq -r '.devices[].notes[].what' who.json > notes.txt
	grep -qx "NVML lists process $gone, which is not in /proc; process $keeper has the device open and is not listed" notes.txt
	grep -qx "Process $zombie has ended and still holds memory" notes.txt
	grep -qx "1.72 GiB are used, but not by a process that NVML lists" notes.txt

	who > out.txt
	grep -qE "^ +$one +root +100 MiB .* 3  python3 holder.py" out.txt
	grep -qE "^ +$open +root +\? .* 1  .*not listed by NVML" out.txt
	grep -qE "^ +$inside +root +60 MiB .* 1  .*pid 1 in its namespace" out.txt
	grep -qE "^ +$zombie +root +50 MiB .*zombie" out.txt
	grep -qE "^ +$gone +70 MiB .*not in /proc" out.txt
	grep -qx "Open, too, in processes whose memory is on other devices: $two" out.txt
	grep -q "^ *690 MiB .*(in no process)" out.txt
}

@test "an ordinary user is shown what may be seen, and what could not be" {
	holder one nvidia-first
	process "device=0 pid=$(< one) used=100M"
	# Where such a user may go, unlike here.
	PLACE=$(mktemp -d)
	chmod 755 "$PLACE"
	cp "$MEMSCOPE" "$BUILT/simnv/3/libnvidia-ml.so.1" state "$PLACE"
	MEMSCOPE=$PLACE/memscope-bpf SIMNV=$PLACE/state LIBRARIES=$PLACE
	AS="setpriv --reuid 65534 --regid 65534 --clear-groups"
	assert_equal "$(said .nvml.state)" ready
	assert_equal "$(of GPU-a "$(< one)" '[.listed, .used_bytes, .open] | @csv')" "true,104857600,"
	assert_equal "$(jq -r ".processes[] | select(.pid == $(< one)) | [.comm, .files] | @csv" who.json)" '"python3",'
	[ "$(jq .processes_refused who.json)" -gt 0 ]
	jq -r '.notes[] | [.what, .next] | @tsv' who.json |
		grep -qE "^The descriptors of [0-9]+ processes of other users could not be looked at.sudo memscope-bpf who$"
	jq -r '.devices[0].notes[].reasons[]' who.json | grep -q "^a process of another user holds it"
}

@test "in a PID namespace it says that not all can be seen" {
	process "device=0 pid=1 used=900M"
	PREFIX="--pid --fork --mount-proc"
	assert_equal "$(said .all_processes_visible)" false
	jq -r '.notes[] | .next' who.json | grep -qx "sudo memscope-bpf who # on the host"
	# The number means another process here: the first one, which is this command.
	jq -r '.devices[0].notes[] | .what' who.json | grep -qx "Process 1 has no descriptor of the driver's"
}

@test "memory is used, but by no process: the reasons, and what to type next" {
	assert_equal "$(said '.devices[0] | [.used_bytes, .in_processes_bytes, .in_no_process_bytes] | @csv')" \
		"1048576000,0,1048576000"
	who > out.txt
	tr -s ' \n' ' ' < out.txt |
		grep -qF "1,000 MiB are used, but NVML lists no process. Perhaps a process has ended, but the driver has not" ||
		tr -s ' \n' ' ' < out.txt | grep -qF "1000 MiB are used, but NVML lists no process. Perhaps a process has ended"
	grep -qF "sudo dmesg" out.txt
	# A context's page tables are no news, and neither is what the driver reserves.
	sed -i 's/used=1000M/used=60M/' state
	assert_equal "$(said '.devices[0].notes | length')" 0
	AGE=1
	assert_equal "$(said '.devices[0] | [.used_bytes, .reserved_bytes, (.notes | length)] | @csv')" "$((675 << 20)),,0"
}

@test "every age of the interface gives the same" {
	local i

	for i in 1001 1002 1003; do
		process "device=0 pid=$i used=${i}K"
	done
	process "device=0 pid=1004 used=-"
	for AGE in 1 2 3 535; do
		assert_equal "$(said '.devices[0].processes | map([.pid, .used_bytes]) | sort | flatten | @csv')" \
			"1001,$((1001 << 10)),1002,$((1002 << 10)),1003,$((1003 << 10)),1004,"
		# Of one it is not known.
		assert_equal "$(jq '.devices[0] | .in_processes_bytes, .in_no_process_bytes' who.json | paste -s)" "null	null"
	done
}

@test "instances of a device that is divided" {
	cat >> state <<-END
		instance device=0 uuid=MIG-a name=NVIDIA_H200_MIG_1g.18gb gi=7 ci=0 total=16G used=600M
		instance device=0 uuid=MIG-b name=NVIDIA_H200_MIG_3g.71gb gi=1 ci=0 total=69G used=300M
	END
	process device=0 pid=1001 used=500M gi=7 ci=0
	process device=0 pid=1002 used=200M gi=1 ci=0
	assert_equal "$(said '.devices | map([.uuid, .instance_of]) | flatten | @csv')" \
		'"GPU-a",,"MIG-a",0,"MIG-b",0,"GPU-b",'
	assert_equal "$(of MIG-a 1001 .used_bytes)" $((500 << 20))
	assert_equal "$(of MIG-b 1002 .used_bytes)" $((200 << 20))
	assert_equal "$(jq '.devices[0].processes | length' who.json)" 0
	assert_equal "$(jq '.devices[0].in_no_process_bytes' who.json)" $((300 << 20))
	# To an ordinary user, only the instances show their processes.
	echo "fail nvmlDeviceGetComputeRunningProcesses_v3 4 device=0" >> state
	assert_equal "$(said '.devices[0].problems.processes')" "no permission"
	assert_equal "$(of MIG-b 1002 .used_bytes)" $((200 << 20))
}

@test "a GPU that uses the machine's memory has no total, but processes have" {
	printf 'fail nvmlDeviceGetMemoryInfo%s 3\n' "" _v2 >> state
	process device=0 pid=1001 used=500M
	assert_equal "$(said '.devices[0] | [.total_bytes, .used_bytes, .free_bytes, .in_processes_bytes] | @csv')" \
		",,,$((500 << 20))"
	jq -r '.devices[0].notes[].what' who.json | grep -q "^NVML has no total for this device, as where a GPU uses"
}

@test "calls that fail, and what is known without them" {
	process device=1 pid=1001 used=500M
	printf 'fail nvmlDeviceGetHandleByIndex_v2 15 device=0\nfail nvmlDeviceGetName 3\n' >> state
	printf 'fail nvmlDeviceGetUtilizationRates 3\nfail nvmlDeviceGetMinorNumber 3\n' >> state
	assert_equal "$(said '.devices | map([.problems.device, .total_bytes]) | flatten | @csv')" \
		"\"the GPU is lost\",,,$((81559 << 20)),,"
	assert_equal "$(of GPU-b 1001 .used_bytes)" $((500 << 20))
	# What /proc says stands by itself: NVML's first device has no name by which it could be known.
	assert_equal "$(jq -r '.devices[2] | [.uuid, .minor] | @csv' who.json)" "\"GPU-a\",$FIRST"
	echo "fail nvmlInit_v2 18" >> state
	assert_equal "$(said '[.nvml.state, .nvml.problem] | @csv')" \
		'"failing","nvmlInit_v2: the library is of another version than the driver"'
	assert_equal "$(jq -r '.devices[0] | [.uuid, .name, .total_bytes] | @csv' who.json)" '"GPU-a","NVIDIA H200",'
}

@test "NVML that hangs, is slow or crashes" {
	process device=0 pid=1001 used=500M
	echo "hang nvmlDeviceGetMemoryInfo_v2 device=1" >> state
	who --json --timeout=0.5 > who.json
	valid who who.json
	jq '.devices |= map(select(.uuid or .index != null))' who.json > own.json && mv own.json who.json
	assert_equal "$(jq -r '[.nvml.hangs, .nvml.problem] | @csv' who.json)" \
		'true,"nvmlDeviceGetMemoryInfo_v2 (device 1) does not return"'
	assert_equal "$(jq -r '.devices | map([.uuid, .whole, .used_bytes]) | flatten | @csv' who.json)" \
		"\"GPU-a\",true,1048576000,\"GPU-b\",false,"
	assert_equal "$(of GPU-a 1001 .used_bytes)" $((500 << 20))
	wait_for '[ -z "$(tool_processes memscope-nvml)" ]'
	# It is not asked again.
	run -0 --separate-stderr bash -c "$(declare -f who); AGE=$AGE BUILT=$BUILT MEMSCOPE=$MEMSCOPE; who --json -w 0.1 --timeout=0.5 | head -n 3"
	assert_equal "$(tail -n 2 <<< "$output" | jq -r '[.nvml.hangs, .nvml.state, (.devices | map(select(.uuid)) | length)] | @csv')" \
		"$(printf 'true,"failing",1\n%.0s' 1 2)"
	sed -i 's/^hang.*/slow nvmlInit_v2 300/' state
	assert_equal "$(said .nvml.state)" ready
	sed -i 's/^slow.*/crash nvmlDeviceGetName device=1/' state
	assert_equal "$(said .nvml.problem)" "nvmlDeviceGetName (device 1) has ended the process that called it"
	assert_equal "$(of GPU-a 1001 .used_bytes)" $((500 << 20))
}

@test "numbers of NVML's that cannot be" {
	sed -i 's/used=1000M/used=-/; s/gpu=40/gpu=4000/' state
	process device=0 pid=1001 used=1000000G
	process device=1 pid=1002 used=81558M
	process device=1 pid=0 used=1M
	process device=7 pid=1003 used=1M
	assert_equal "$(said '.devices[0] | [.used_bytes, .total_bytes, .gpu_percent, .absurd_values] | @csv')" ",,,2"
	assert_equal "$(of GPU-b 1002 .used_bytes)" $((81558 << 20))
	jq -r '.devices[0].notes[].what' who.json | grep -qx "2 impossible numbers of NVML are left out"
	# More than there is room for.
	seq 5000 | sed 's/.*/process device=0 pid=& used=1K/' >> state
	assert_equal "$(said '[.nvml.cut, .devices[0].in_processes_bytes] | @csv')" "true,"
}

@test "without NVML, and without a driver" {
	holder one nvidia-first
	AGE=none
	assert_equal "$(said '[.nvml.state, .driver, .open_kernel_modules] | @csv')" '"absent","580.159.04",true'
	assert_equal "$(of GPU-a "$(< one)" '[.listed, .used_bytes, .open] | @csv')" "false,,true"
	PREFIX="--pid --fork --mount-proc"
	rm -r driver/nvidia
	run -4 --separate-stderr who
	[[ $output == *"no NVIDIA driver is loaded, 0 devices"* ]]
	[[ $output == *"There is no libnvidia-ml.so.1 here"* ]]
	[[ $output == *"sudo memscope-bpf top -a"* ]]
	# It can be pasted: in one line, with nothing around it.
	grep -qE '^( *|.* Next: )ldconfig -p \| grep libnvidia-ml$' <<< "$output" || fail "$output"
	# That says more than that none is what was asked for.
	run -4 --separate-stderr who --comm nosuch
	[[ $output == *"no NVIDIA driver is loaded, 0 devices"* ]]
}

@test "threads that outlive the first one of their process" {
	cat > threads.c <<-'END'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <pthread.h>
		#include <unistd.h>
		static void *rest(void *nothing) { pause(); return nothing; }
		int main(int count, char **argv)
		{
			pthread_t thread;
			open(argv[count - 1], O_PATH);
			pthread_create(&thread, 0, rest, 0);
			pthread_exit(0);
		}
	END
	cc -o threads threads.c -pthread -w
	./threads nvidia-first 3>&- &
	STARTED=$!
	local i
	for ((i = 0; i < 600; i++)); do
		! grep -q "^State:.*Z" "/proc/$STARTED/status" || break
		sleep 0.1
	done
	said . > /dev/null
	assert_equal "$(of GPU-a "$STARTED" '[.listed, .open] | @csv')" "false,true"
	assert_equal "$(jq -r ".processes[] | select(.pid == $STARTED) | .zombie" who.json)" true
}

# counted CGROUP USED LIMIT: what the kernel says of a cgroup and of a region, in MiB.
counted() {
	local region=drm/0000:65:00.0/vram0 limit=$3
	[ "$limit" = max ] || limit=$((limit << 20))
	mkdir -p "cgroups$1"
	echo "$region $(($2 << 20))" > "cgroups$1/dmem.current"
	echo "$region $limit" > "cgroups$1/dmem.max"
}

@test "what cgroups may use of a device, and which limit is near" {
	local one two three

	holder one nvidia-first
	holder two nvidia-first
	holder three nvidia-first
	one=$(< one) two=$(< two) three=$(< three)
	assert_equal "$(said '.cgroups | length')" 0
	counted "" 900 max
	rm cgroups/dmem.max
	echo "drm/0000:65:00.0/vram0 $((2000 << 20))" > cgroups/dmem.capacity
	echo dmem > cgroups/cgroup.controllers
	counted /pods 800 820
	counted /pods/a 500 600
	counted /pods/b 300 max
	mkdir of
	echo 0::/pods/a > "of/$one"
	echo 0::/pods/a/deeper > "of/$two"
	echo 0::/pods/b > "of/$three"
	said .cgroups > /dev/null
	jq -c '.cgroups[] | [.path, (.pids | sort), (.regions[] | .region, .pci, .used_bytes / 1048576,
		.limit_bytes / 1048576, .limit_cgroup, .left_bytes / 1048576, .capacity_bytes / 1048576)]' who.json > got.txt
	diff got.txt - <<-END
		["/pods/a",$(jq -c sort <<< "[$one,$two]"),"drm/0000:65:00.0/vram0","0000:65:00.0",500,820,"/pods",20,2000]
		["/pods/b",[$three],"drm/0000:65:00.0/vram0","0000:65:00.0",300,820,"/pods",20,2000]
	END
	who > out.txt
	tr -s ' \n-' ' ' < out.txt > joined.txt
	grep -qF " /pods/a drm/0000:65:00.0/vram0 500 MiB 820 MiB 20 MiB 2 the limit is that of /pods, where 800 MiB are used" \
		joined.txt || fail "$(cat out.txt)"
	grep -qF "Programs of cgroup /pods use 800 MiB of the 820 MiB that they may use of drm/0000:65:00.0/vram0: they cannot allocate more than 20 MiB, although 139 GiB of the device are free" joined.txt || fail "$(cat out.txt)"
	assert_equal "$(grep -c "they may use of" out.txt)" 1
	# Whose processes are not asked for is not shown.
	assert_equal "$(who --json -p "$three" | jq -c '[.cgroups[] | .path, .pids[]]')" "[\"/pods/b\",$three]"
	counted /pods 800 max
	assert_equal "$(said '.cgroups | map(.regions[0] | .limit_bytes, .left_bytes) | @csv')" "$((600 << 20)),$((100 << 20)),,"
	who > out.txt
	run ! grep -q "they may use of" out.txt
	# A limit of 0 keeps a cgroup from a device on purpose.
	counted /pods/b 0 0
	assert_equal "$(said '.cgroups | map(.regions[0] | .limit_bytes, .left_bytes) | @csv')" "$((600 << 20)),$((100 << 20)),0,0"
	who > out.txt
	run ! grep -q "they may use of" out.txt
}

@test "what NVML says of limits, where the kernel counts nothing" {
	local one two

	holder one nvidia-first
	holder two nvidia-first
	one=$(< one) two=$(< two)
	mkdir cgroups of
	echo memory > cgroups/cgroup.controllers
	echo 0::/pods/a > "of/$one"
	echo 0::/pods/b > "of/$two"
	process "device=0 pid=$one used=100M"
	process "device=0 pid=$two used=200M"
	process "device=1 pid=$one used=100M"
	printf 'limit device=%s cgroup=/sys/fs/cgroup/pods/a soft=%s hard=%s used=%s\n' 0 100M 600M 590M 1 300M - 100M >> state
	said .cgroups > /dev/null
	jq -c '.cgroups[] | .path, .pids, (.regions[] | [.region, .pci, .used_bytes / 1048576, .guaranteed_bytes / 1048576,
		.limit_bytes, .limit_cgroup, .left_bytes, .capacity_bytes / 1048576])' who.json > got.txt
	diff got.txt - <<-END
		"/pods/a"
		[$one]
		["nvml/0000:65:00.0","0000:65:00.0",590,100,$((600 << 20)),"/pods/a",$((10 << 20)),143771]
		["nvml/0000:66:00.0","0000:66:00.0",100,300,null,null,null,81559]
	END
	who > out.txt
	tr -s ' \n-' ' ' < out.txt | grep -qF "Programs of cgroup /pods/a use 590 MiB of the 600 MiB that they may use of nvml/0000:65:00.0: they cannot allocate more than 10 MiB, although" ||
		fail "$(cat out.txt)"
	# Numbers that cannot be, and an NVML that does not know of limits, or has none.
	sed -i 's/used=590M/used=99999999G/' state
	assert_equal "$(said '.cgroups | map(.regions[].region) | @csv')" '"nvml/0000:66:00.0"'
	echo "fail nvmlDeviceGetMemoryLimits_v1 6" >> state
	assert_equal "$(said '.cgroups | length')" 0
	sed -i '/^fail/d; s/used=99999999G/used=590M/' state
	AGE=2
	assert_equal "$(said '.cgroups | length')" 0
	AGE=3
	# Where the kernel counts, NVML is not asked.
	counted "" 900 max
	counted /pods/a 500 max
	assert_equal "$(said '.cgroups | map(.regions[].region) | unique | @csv')" '"drm/0000:65:00.0/vram0"'
}

@test "those that are asked for, and how much the others hold" {
	local one two

	holder one nvidia-first nvidiactl
	holder two nvidia-first nvidia-second
	one=$(< one) two=$(< two)
	process "device=0 pid=$one used=100M"
	process "device=0 pid=$two used=200M"
	process "device=1 pid=$two used=300M"

	who -p "$one" --comm holder.py > out.txt
	grep -qE "^ +$one .* 100 MiB .*holder.py" out.txt || fail "$(cat out.txt)"
	grep -qE "^ +200 MiB +\(1 process left out\)$" out.txt || fail "$(cat out.txt)"
	grep -qE "^ +300 MiB +\(1 process left out\)$" out.txt || fail "$(cat out.txt)"
	run ! grep -qE "^ +$two " out.txt
	who --json -p "$one" > who.json
	valid who who.json
	assert_equal "$(jq -c '[.devices[].processes[].pid], [.processes[].pid], .processes_left_out >= 1' who.json)" \
		"[$one]"$'\n'"[$one]"$'\ntrue'
	assert_equal "$(who --json --user root | jq -c '[.devices[].processes[].pid] | unique | length')" 2
	run -5 who --container nosuch
	[[ $output == *'there is no container "nosuch" here'* ]] || fail "$output"
	[[ $output != *" $one "* ]] || fail "$output"
	# A name that processes have, but not those.
	run -5 who --namespace nosuch
	[[ $output == *"what was asked for (namespace nosuch); those that have: "*"python3 holder.py (2)"* ]] || fail "$output"
	[[ $output != *" $one "* ]] || fail "$output"
	run -5 who -p 4194303
	[[ $output == *"there is no process 4194303"* ]] || fail "$output"
}

@test "sums by user and by name, over all devices" {
	local one two three

	holder one nvidia-first nvidiactl
	holder two nvidia-first nvidia-second
	holder three nvidia-second
	one=$(< one) two=$(< two) three=$(< three)
	process "device=0 pid=$one used=100M"
	process "device=0 pid=$two used=200M"
	process "device=1 pid=$two used=300M"
	assert_equal "$(said '[.by, .groups] | @json')" '[null,null]'
	who --json --by user -p "$one,$two,$three" > who.json
	valid who who.json
	assert_equal "$(jq -c '[.by, .groups]' who.json)" \
		'["user",[{"name":"root","name_known":true,"processes":3,"processes_of_unknown_size":1,"used_bytes":629145600}]]'
	who --by comm -p "$one,$two" > out.txt
	grep -qE "^ +[^ ]*python[^ ]* holder.py +2 +600 MiB" out.txt || fail "$(cat out.txt)"
	who --by container -p "$one" > out.txt
	grep -qE "^ +\(none\) +1 +100 MiB" out.txt || fail "$(cat out.txt)"
}

@test "what a process calls itself does not reach the terminal" {
	cp /usr/bin/sleep $'a\e[2Jb'
	mkfifo started
	exec 5<> started
	# shellcheck disable=SC2094
	./$'a\e[2Jb' 1000 3>&- 5>&- 6< nvidia-first 2> /dev/null &
	STARTED=$!
	exec 5>&-
	process "device=0 pid=$STARTED used=100M"
	who > out.txt
	run ! grep -q $'\e' out.txt
}

@test "again and again, until the reader has enough" {
	who --json -w 0.05 | head -n 3 > who.txt
	assert_equal "$(jq -r .nvml.state who.txt | paste -s)" "ready	ready	ready"
	run -2 "$MEMSCOPE" who -w 0
	run -2 "$MEMSCOPE" who word
}
