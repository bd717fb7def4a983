# SPDX-License-Identifier: BSD-2-Clause
#
# Names that a real container engine and a real batch system give: Podman's containers, which have this machine's /usr,
# and SLURM, with a controller and a node of its own here. Everything is in the test's directory, but the engine's.

load ../e2e/helpers

bats_require_minimum_version 1.5.0

teardown() {
	local name

	for name in "${CONTAINERS[@]}"; do
		podman rm -f -t 0 "$name" > /dev/null 2>&1 || true
	done
	# shellcheck disable=SC2086 # several
	[ -z "${DAEMONS:-}" ] || { kill $DAEMONS && wait $DAEMONS; } 2> /dev/null || true
	[ -z "${MUNGE:-}" ] || rm -rf "$MUNGE"
	[ -z "${RECORD_PID:-}" ] || kill "$RECORD_PID" 2> /dev/null || true
}

# Root's limits are enough, and may be all that there is.
podman() {
	CONTAINERS_CONF=$BATS_TEST_TMPDIR/containers.conf command podman --runtime runc --cgroup-manager cgroupfs "$@"
}

# container NAME: starts one with a program that has taken 4096 bytes, which it keeps.
container() {
	CONTAINERS+=("$1")
	podman run -d --name "$1" --network none -v /usr:/usr:ro -v "$BUILT:/built:ro" -e LD_LIBRARY_PATH=/built/simcuda \
		--rootfs "$BATS_TEST_TMPDIR/root:O" \
		sh -c '{ printf "load\ninit\nalloc 4096\n"; sleep 1000; } | exec /built/workloads/puppet' > /dev/null
	wait_for 'podman logs '"$1"' 2> /dev/null | grep -c ok | grep -qx 3'
}

engine_is_here() {
	local name

	for name in "$@"; do
		command -v "$name" > /dev/null || skip "$name is not installed: tools/install-deps engines"
	done
}

# Makes report.json and out.om of what is recorded of all processes until now.
stop_recording() {
	record_stop
	"$MEMSCOPE" report -q -f json -o report.json run.mscope
	"$MEMSCOPE" export -q -f openmetrics -o out.om run.mscope
}

@test "Podman: id, runtime and cgroup; names from the engine, by --container-map" {
	local name id

	engine_is_here podman runc
	CONTAINERS=()
	printf '[containers]\ndefault_ulimits=["nofile=1000:1000","nproc=1000:1000"]\n' > containers.conf
	mkdir -p root/{usr,proc,sys,dev,tmp,run,etc,built}
	ln -s usr/bin root/bin
	ln -s usr/lib root/lib
	ln -s usr/lib64 root/lib64
	cp /etc/ld.so.cache root/etc
	podman run --rm --network none -v /usr:/usr:ro --rootfs "$PWD/root:O" true || skip "Podman runs no container here"
	: > names
	record_start -o run.mscope --container-map names -a
	container "trainer-$$"
	container "server-$$"
	# As docs/recordings.md has it.
	podman ps --no-trunc --format '{{.ID}} - {{or .PodName "-"}} {{.Names}}' > names.new
	mv names.new names
	sleep 1.1 # the file is looked at once a second
	container "late-$$"
	podman ps --no-trunc --format '{{.ID}} - {{or .PodName "-"}} {{.Names}}' > names.new
	mv names.new names
	sleep 1.1
	podman exec -d -e SIMCUDA_DELAY=cuInit=500ms "late-$$" sh -c 'printf "load\ninit\nalloc 8192\nexit 0\n" | exec /built/workloads/puppet'
	wait_for '"$MEMSCOPE" report -q -f json run.mscope 2> /dev/null | jq -e "[.recordings[0].processes[].spaces[].allocs] | add == 4" > seen'
	stop_recording
	for name in trainer server late; do
		id=$(podman ps --no-trunc --filter "name=$name-$$" --format '{{.ID}}')
		assert_equal "$(jq -c --arg id "$id" '.recordings[0].processes[] | select(.identity.container == $id) | .identity |
			[.runtime, (.cgroup | endswith("/libpod-" + $id)), .ns_pid > 0]' report.json | sort -u)" '["podman",true,true]'
	done
	assert_equal "$(jq -r '.recordings[0].processes[].identity.container_name | values' report.json)" "late-$$"
	grep -q "^memscope_allocated_bytes_total{.*container=\"late-$$\",.*container_id=\"$id\".*} 8192 " out.om
}

@test "SLURM: the job of each process, in reports and as dcgm-exporter's label" {
	engine_is_here slurmctld slurmd srun munged
	mkdir state spool
	MUNGE=$(mktemp -d) # not below a directory that the user "munge" may not enter
	head -c 1024 /dev/urandom > "$MUNGE/key"
	chown -R munge "$MUNGE"
	chmod 711 "$MUNGE"
	chmod 600 "$MUNGE/key"
	setpriv --reuid munge --regid munge --clear-groups munged -F -S "$MUNGE/socket" --key-file "$MUNGE/key" \
		--pid-file "$MUNGE/pid" --log-file "$MUNGE/log" --seed-file "$MUNGE/seed" 3>&- &
	DAEMONS=$!
	export SLURM_CONF=$PWD/slurm.conf
	cat > slurm.conf <<- END
		ClusterName=test
		SlurmctldHost=$(hostname -s)
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$MUNGE/socket
		StateSaveLocation=$PWD/state
		SlurmdSpoolDir=$PWD/spool
		SlurmctldPidFile=$PWD/slurmctld.pid
		SlurmdPidFile=$PWD/slurmd.pid
		SlurmctldPort=$((20000 + $$ % 10000))
		SlurmdPort=$((30000 + $$ % 10000))
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SwitchType=switch/none
		MpiDefault=none
		ReturnToService=2
		NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
		PartitionName=all Nodes=ALL Default=YES State=UP
	END
	wait_for '[ -S "$MUNGE/socket" ]'
	slurmctld -D > slurmctld.log 2>&1 3>&- &
	DAEMONS="$DAEMONS $!"
	slurmd -D > slurmd.log 2>&1 3>&- &
	DAEMONS="$DAEMONS $!"
	wait_for 'sinfo -h -o %t 2> /dev/null | grep -qx idle' || fail "$(cat slurm*.log)"
	record_start -o run.mscope -a
	for bytes in 4096 8192; do
		SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms srun --export ALL sh -c \
			'echo "$SLURM_JOB_ID" >> jobs; printf "load\ninit\nalloc '$bytes'\nexit 0\n" | exec "$0"' "$WORKLOADS/puppet"
	done
	stop_recording
	assert_equal "$(jq -r '.recordings[0].processes[] | select(.comm == "puppet") | .identity.environment.SLURM_JOB_ID' \
		report.json | sort)" "$(sort jobs)"
	grep -q "^memscope_allocated_bytes_total{.*hpc_job=\"$(tail -n 1 jobs)\".*} 8192 " out.om
	"$MEMSCOPE" report -q -f md --by job -o report.md run.mscope
	grep -qE "^\| $(head -n 1 jobs) \|" report.md
}
