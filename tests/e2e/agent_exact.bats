# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf agent`: of which processes it is said that not all is known.

load agent

# A program in which a thread ends inside of a call, which takes a while, when the second line comes in.
leaver_start() {
	cat > leaver.c <<-'EOF'
		#include <pthread.h>
		#include <signal.h>
		#include <stdio.h>
		#include <unistd.h>
		int cuInit(unsigned int flags);
		int cuCtxCreate_v2(void **context, unsigned int flags, int device);
		int cuCtxSynchronize(void);
		int cuMemAlloc_v2(unsigned long *block, unsigned long bytes);
		static volatile int begun;
		static void leave(int number)
		{
			(void)number;
			pthread_exit(0);
		}
		static void *call(void *context)
		{
			begun = 1;
			while (!cuCtxSynchronize())
				;
			return context;
		}
		int main(void)
		{
			pthread_t thread;
			unsigned long block;
			void *context;
			signal(SIGUSR1, leave);
			getchar();
			if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&block, 8192))
				return 1;
			puts("made");
			fflush(stdout);
			getchar();
			if (pthread_create(&thread, 0, call, 0))
				return 1;
			while (!begun)
				usleep(1000);
			sleep(1);
			pthread_kill(thread, SIGUSR1);
			pthread_join(thread, 0);
			puts("left");
			fflush(stdout);
			return getchar();
		}
	EOF
	cc -o agent-leaver leaver.c -L"${LD_LIBRARY_PATH%%:*}" -l:libcuda.so.1 -Wl,--allow-shlib-undefined
	mkfifo leaver.in leaver.out
	SIMCUDA_DELAY=cuCtxSynchronize=5000ms ./agent-leaver < leaver.in > leaver.out 3>&- 8>&- 9<&- &
	LEAVER_PID=$!
	exec 6> leaver.in 7< leaver.out
	wait_for 'grep -q "process $LEAVER_PID: its calls are recorded" agent.err'
}

# It says $1 when it has gone on.
leaver() {
	local line

	echo >&6
	read -r line <&7
	assert_equal "$line" "$1"
}

says() {
	jq -r --argjson pid "$1" '.processes[] | select(.pid == $pid) | .exact' who.json
}

# How many processes the kernel side counts losses of.
counted() {
	local map

	map=$(bpftool -j map show | jq --argjson own "$(sed -n 's/^map_id:\s*//p' "/proc/$OTHER_PID/fdinfo"/* | jq -s .)" \
		'.[] | select(.name == "ms_losses" and (.id | IN($own[]))) | .id')
	[ -n "$map" ] || fail "there is no map of losses"
	bpftool -j map dump id "$map" | jq 'arrays | length'
}

@test "a process whose call never returned is not exact; another one is" {
	agent_start --allow "comm=agent-other,comm=agent-leaver"
	named_puppet agent-other
	puppet alloc 4096
	leaver_start
	leaver made
	fresh
	ask /api/v1/who > who.json
	assert_equal "$(says "$LEAVER_PID") $(says "$PUPPET_PID")" "true true"
	leaver left
	# Whose call it was is looked at once a second.
	wait_for 'ask /api/v1/who > who.json; [ "$(says "$PUPPET_PID")" = true ] && [ "$(says "$LEAVER_PID")" = false ]'
	fresh
	ask /api/v1/who > who.json
	valid agent-who who.json
	assert_equal "$(says "$LEAVER_PID") $(says "$PUPPET_PID")" "false true"
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	assert_equal "$(series memscope_process_gpu_memory_inexact 'comm="agent-leaver"')" 1
	assert_equal "$(series memscope_process_gpu_memory_inexact 'comm="agent-other"')" 0
	# It is said once a second; other programs that run on the machine can give it another reason.
	wait_for 'ask /ready | grep -q "^not ready: the books are not exact: "'
	COLUMNS=200 "$MEMSCOPE" top --agent "$PWD/query" -n 1 -d 100ms > top.txt
	grep agent-leaver top.txt | grep -q "not exact"
	grep agent-other top.txt | grep -q "not exact" && fail "it is"
	# There is room for so many processes, which those that have ended do not take.
	[ "$(counted)" -ge 1 ]
	exec 6>&- 7<&-
	wait "$LEAVER_PID" || true
	wait_for '[ "$(counted)" = 0 ]'
	ask /api/v1/who > who.json
	assert_equal "$(says "$PUPPET_PID")" true
	agent_stop
	puppet_end
	"$MEMSCOPE" report -f json state/ring/*.mscope > report.json
	assert_equal "$(jq -c '[.recordings[] | .lost.live_is_exact, .abandoned >= 1]' report.json)" '[false,true]'
	assert_equal "$(jq -c '[.recordings[].processes[] | select(.comm == "agent-leaver" or .comm == "agent-other") |
		[.comm, .unknown.abandoned_calls]] | sort' report.json)" '[["agent-leaver",1],["agent-other",0]]'
}

# Copies of the libraries that no loader finds by itself, and a program that uses them, of a name of its own.
late_files() {
	[ "$(stat -fc %T "$PWD")" != overlayfs ] || skip "the driver is on overlayfs"
	cp -rL "$LD_LIBRARY_PATH" new-copies
	cp "$WORKLOADS/puppet" "late-$$"
	LATE_PIDS=
}

# Starts it, which allocates 1000 bytes, while the agent stands still, and reads more from FIFO $1.
late_start() {
	[ -p "$1" ] || mkfifo "$1"
	LD_LIBRARY_PATH=$PWD/new-copies "./late-$$" < "$1" > "out.$1" 3>&- 6>&- 7>&- &
	LATE_PIDS+=" $!"
}

# All that were started do this, and the agent goes on.
late_allocate() {
	printf '%s\n' load init 'alloc 1000' | tee "${@:2}" > "$1"
	wait_for '[ "$(cat out.* | grep -c "^ok$")" = '"$(($# * 3))"' ]'
	kill -CONT "$OTHER_PID"
}

late_end() {
	exec 6>&- 7>&-
	# shellcheck disable=SC2086 # several
	wait $LATE_PIDS || true
	LATE_PIDS=
	rm -f out.*
}

@test "its log says of a file which process it was the first to come late to" {
	local pids

	late_files
	agent_start --allow "comm=late-$$" # and not of other tests beside this one
	kill -STOP "$OTHER_PID"
	late_start in.1
	late_start in.2
	exec 6> in.1 7> in.2
	late_allocate /dev/fd/6 /dev/fd/7
	wait_for 'ask /ready | grep -q "^ready: 2 processes were attached to after they had loaded CUDA, and may hold more than was seen"'
	pids=$LATE_PIDS
	late_end
	# The next one is as it says.
	LD_LIBRARY_PATH=$PWD/new-copies puppet_as "late-$$"
	puppet alloc 3000
	wait_for 'ask /api/v1/who | jq -e ".processes[] | select(.pid == $PUPPET_PID and .device_bytes == 3000)" > process.json'
	assert_equal "$(jq -c '[.exact, .was_running]' process.json)" '[true,false]' || why_inexact
	puppet_end
	agent_stop
	assert_equal "$(grep -c ' before this file had probes: ' agent.err)" 1
	pids=${pids# }
	grep -qE "process (${pids/ /|}) \(late-$$\) had loaded $PWD/new-copies/libcuda.so.1 before this file had probes: what it held by then is not known; processes that begin from now on are seen from their first call$" \
		agent.err
}

@test "a file that a process was late in is known after the next start" {
	local exact=()

	late_files
	for _ in 1 2; do
		agent_start --allow "comm=late-$$"
		kill -STOP "$OTHER_PID"
		late_start in.1
		exec 6> in.1
		late_allocate /dev/fd/6
		wait_for 'ask /api/v1/who | jq -e ".processes[] | select(.pid == $LATE_PIDS)" > process.json'
		exact+=("$(jq .exact process.json)")
		late_end
		agent_stop
		rm -f query
	done
	assert_equal "${exact[*]}" "false true"
	assert_equal "$(cat state/known-libraries)" "$PWD/new-copies/libcuda.so.1"
}

@test "a file that cannot be noted for the next start is tried again" {
	late_files
	mkdir -p -m 700 state/known-libraries
	agent_start --allow "comm=late-$$"
	kill -STOP "$OTHER_PID"
	late_start in.1
	exec 6> in.1
	late_allocate /dev/fd/6
	wait_for 'grep -q "warning: $PWD/state/known-libraries: cannot note that processes use $PWD/new-copies/libcuda.so.1: .*; until it can, " agent.err'
	rmdir state/known-libraries
	late_end
	agent_stop
	assert_equal "$(cat state/known-libraries)" "$PWD/new-copies/libcuda.so.1"
	grep -q "known-libraries: it is noted now that processes use $PWD/new-copies/libcuda.so.1$" agent.err
}

@test "when NVML said its numbers is told, also when it says no more" {
	local before after said

	[ -e "$BUILT/simnv/3/libnvidia-ml.so.1" ] || skip "there is no simulated NVML"
	{
		echo "driver 580.159.04"
		echo "device uuid=GPU-a name=NVIDIA_H200 pci=0:65:00 minor=0 total=4096M reserved=0 used=1024M"
	} > devices.txt
	before=$(date +%s)
	SIMNV=$PWD/devices.txt LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3 agent_start --allow "comm=agent-told"
	named_puppet agent-told
	puppet uuid
	puppet info
	wait_for 'ask /metrics > metrics.txt; grep -q ^memscope_gpu_nvml_used_bytes metrics.txt'
	echo "crash nvmlDeviceGetMemoryInfo_v2" >> devices.txt
	wait_for 'grep -q "warning: NVML does not answer any more: nvmlDeviceGetMemoryInfo_v2 (device 0) has ended" agent.err'
	fresh
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	grep ^memscope_gpu_nvml_used_bytes metrics.txt && fail "it is not known any more"
	after=$(date +%s)
	for said in $(awk '/^memscope_gpu_(nvml|memory_used)_timestamp_seconds/ { print int($2) }' metrics.txt); do
		[ "$said" -ge "$before" ] && [ "$said" -le "$after" ]
	done
	assert_equal "$(grep -cE '^memscope_gpu_(nvml|memory_used)_timestamp_seconds' metrics.txt)" 2
	# What the driver told the program stands for it from then on.
	COLUMNS=200 "$MEMSCOPE" top --agent "$PWD/query" -n 1 -d 100ms > top.txt
	tr '\n' ' ' < top.txt | grep -q "0 B live on devices, the driver's numbers of [0-9a-z. ]* ago; "
	grep -qE '^  0 \(GPU-73696d75[^)]*\) +8 GiB +0 B +0 B( +\?){3} +8 GiB$' top.txt
	agent_stop
	puppet_end
}

# Whether NVML was last asked in between: it is asked every ten seconds, as from $1 (nanoseconds) on.
asked_between() {
	ask /api/v1/who | jq -e --argjson first "$1" \
		'(.nvml_devices[0].ts_ns - $first) % 10000000000 | . > 1000000000 and . < 9000000000'
}

@test "NVML is asked again when much has changed" {
	local first round

	[ -e "$BUILT/simnv/3/libnvidia-ml.so.1" ] || skip "there is no simulated NVML"
	{
		echo "driver 580.159.04"
		echo "device uuid=GPU-a name=NVIDIA_H200 pci=0:65:00 minor=0 total=4096M reserved=0 used=1024M"
	} > devices.txt
	SIMNV=$PWD/devices.txt LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3 agent_start --allow "comm=agent-again"
	wait_for 'ask /api/v1/who | jq -e ".nvml_devices[0].samples"'
	first=$(ask /api/v1/who | jq '.nvml_devices[0].ts_ns')
	named_puppet agent-again
	for round in {1..40}; do
		puppet alloc 20000000
		sleep 0.7
		! asked_between "$first" || break
	done
	asked_between "$first"
	agent_stop
	puppet_end
}

@test "what was called before an answer is asked for is in it" {
	agent_start --allow "comm=agent-asked"
	named_puppet agent-asked
	# Who asks at once: the agent reads what has happened by itself only now and then.
	/usr/bin/python3 - query "$PUPPET_PID" <<-'PYTHON'
		import http.client, json, os, socket, sys, time

		def puppet(what):
		    os.write(8, what + b"\n")
		    assert os.read(9, 3) == b"ok\n", what

		def ask(path):
		    connection = http.client.HTTPConnection("localhost")
		    connection.sock = socket.socket(socket.AF_UNIX)
		    connection.sock.connect(sys.argv[1])
		    connection.request("GET", path)
		    return connection.getresponse().read()

		held = allocs = 0
		for turn in range(4):
		    time.sleep(1.1) # no answer from before is as it is asked for now
		    puppet(b"alloc 1000")
		    held, allocs = held + 1000, allocs + 1
		    space, = json.loads(ask("/api/v1/processes/" + sys.argv[2]))["process"]["spaces"]
		    assert space["live_bytes"] == held, (turn, space, held)
		    puppet(b"alloc 3000")
		    held, allocs = held + 3000, allocs + 1
		    process, = json.loads(ask("/api/v1/who"))["processes"]
		    assert process["device_bytes"] == held, (turn, process, held)
		    puppet(b"churn 10")
		    allocs += 10
		    count, = [line.split()[-1] for line in ask("/metrics").decode().split("\n")
		              if line.startswith("memscope_allocations_total{")]
		    assert float(count) == allocs, (turn, count, allocs)
	PYTHON
	# That it has ended, too.
	fresh
	puppet_end
	assert_equal "$(ask /api/v1/who | jq '.processes | length')" 0
	agent_stop
}
