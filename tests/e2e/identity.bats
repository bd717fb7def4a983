# SPDX-License-Identifier: BSD-2-Clause
#
# Who processes are: programs and what they interpret, users, containers, and whose devices are whose.

load helpers

bats_require_minimum_version 1.5.0

PYTHON=/usr/bin/python3
CONTAINER=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abc

# Processes that are the first of their PID namespaces end by no other signal.
group_kill() {
	local pids

	pids=$(cat "$GROUP"/*/cgroup.procs "$GROUP/cgroup.procs")
	# shellcheck disable=SC2086 # several
	[ -z "$pids" ] || kill -9 $pids
}

teardown() {
	local group

	[ -z "${HELD:-}" ] || group_kill || true
	[ -z "${OPEN:-}" ] || rm -r "$OPEN"
	for group in ${GROUPS_MADE:-}; do
		wait_for "! [ -s $group/cgroup.procs ]" 100 || true
		rmdir "$group" || true
	done
}

# A program in a file of that name that allocates $2 bytes. It lives for long enough to be looked at on
# a busy machine, too.
program() {
	cat > "$1" <<- PROGRAM
		import ctypes, time
		cuda, place = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
		cuda.cuInit(0)
		cuda.cuDevicePrimaryCtxRetain(ctypes.byref(place), 0)
		cuda.cuCtxSetCurrent(place)
		cuda.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t($2))
		time.sleep(0.1)
	PROGRAM
}

# Of the first recording's processes that allocated.
identities() {
	jq -c ".recordings[0].processes[] | select(.spaces != []) | $1" report.json
}

report() {
	"$MEMSCOPE" report -q -f json -o report.json "$@"
	valid report report.json
}

# A cgroup of its own, if it can be made: the last of $GROUPS_MADE.
cgroup_new() {
	local hierarchy=/sys/fs/cgroup/pids

	[ -d $hierarchy ] || hierarchy=/sys/fs/cgroup
	GROUP=$hierarchy/$1
	mkdir "$GROUP" || skip "cgroups cannot be made here"
	GROUPS_MADE="$GROUP ${GROUPS_MADE:-}"
}

# Runs a command in a cgroup, which it sees as the root of all, as process 1 of its own PID namespace,
# and in its own mount namespace.
contained() {
	sh -c "echo \$\$ > $1/cgroup.procs; shift
		exec unshare --cgroup --mount --pid --fork --mount-proc \"\$@\"" sh "$@"
}

@test "an interpreter's script or module, user, parent and variables; no arguments" {
	program train.py 4096
	mkdir package
	program package/__main__.py 8192
	"$MEMSCOPE" record -q $MASK -f -o a.mscope -- sh -c "RANK=3 PASSWORD=geheim \
		$PYTHON -u train.py --token=geheim; $PYTHON -m package; $PYTHON -c 'exec(open(\"train.py\").read())'"
	report a.mscope
	assert_equal "$(identities .identity.script | sort | tr '\n' ' ')" '"-c" "-m package" "train.py" '
	assert_equal "$(identities .name | sort | sed 's/[0-9.]* / /' | tr '\n' ' ')" \
		'"python -c" "python -m package" "python train.py" '
	assert_equal "$(identities '[.identity.uid, .identity.user]' | sort -u)" '[0,"root"]'
	assert_equal "$(identities '.identity.exe' | sort -u)" "\"$(readlink -f $PYTHON)\""
	assert_equal "$(identities '.identity.environment | [.RANK, .WORLD_SIZE]' | sort | head -1)" '["3",null]'
	assert_equal "$(identities '.identity.cmdline' | sort -u)" null
	# Each is a child of the shell.
	assert_equal "$(identities '.identity.parent' | sort -u | wc -l)" 1
	! { report a.mscope && "$MEMSCOPE" export -q -f ndjson a.mscope; } | grep -q geheim || false
	! grep -q geheim report.json || false
	"$MEMSCOPE" report -q -f md a.mscope | grep "python[0-9.]* train.py, user root, child of [0-9]*, .*RANK=3"
	"$MEMSCOPE" export -q -f csv -o a.csv a.mscope
	$PYTHON -c 'import csv; print(*{row["who"] for row in csv.DictReader(open("a.csv"))}, sep="\n")' > who
	grep -qE "^/[^ ]*python[0-9.]* train.py, user root, child of [0-9]+, .*RANK=3" who
	grep -qE "^/[^ ]*python[0-9.]* -m package, user root" who
}

@test "workers that Python starts are their script, not code on a command line" {
	local method

	program worker.py 4096
	sed -i "s/sleep(0.1)/sleep(1)/" worker.py # of a worker that has ended, no parent can be found
	cat > jobs.py <<- 'PROGRAM'
		import multiprocessing, runpy, sys
		if __name__ == "__main__":
		    worker = multiprocessing.get_context(sys.argv[1]).Process(target=runpy.run_path, args=("worker.py",))
		    worker.start()
		    worker.join()
	PROGRAM
	for method in spawn forkserver; do
		"$MEMSCOPE" record -q $MASK -f -o $method.mscope -- $PYTHON jobs.py $method
		report $method.mscope
		assert_equal "$(identities .identity.script)" '"jobs.py"'
	done
	# Its like on a command line is code, whoever the parent is.
	cat > parent.py <<- 'PROGRAM'
		import subprocess, sys
		subprocess.run([sys.executable, "-c", "import runpy; runpy.run_path('worker.py')"])
	PROGRAM
	"$MEMSCOPE" record -q $MASK -f -o code.mscope -- $PYTHON parent.py
	report code.mscope
	assert_equal "$(identities .identity.script)" '"-c"'
}

@test "--cmdline: command lines, too" {
	program train.py 4096
	"$MEMSCOPE" record -q $MASK --cmdline -o a.mscope -- $PYTHON train.py --token=geheim
	report a.mscope
	assert_equal "$(identities .identity.cmdline)" "\"$PYTHON train.py --token=geheim\""
}

@test "trace: who it is, and a column of names" {
	program train.py 4096
	trace $MASK -- $PYTHON train.py > out.txt
	grep "(python3 train.py) is traced from its first CUDA call: /[^ ]*python[0-9.]* train.py, user root" out.txt
	grep "^[^+]* train.py  *cuMemAlloc_v2" out.txt
	trace --json -- $PYTHON train.py > events.jsonl
	assert_equal "$(events 'select(.type == "attach").identity.script' | sort -u)" train.py
	assert_equal "$(summary '.processes[0].identity.script')" '"train.py"'
}

@test "threads that rename themselves: the process keeps its name" {
	program train.py 4096
	cat >> train.py <<- 'PROGRAM'
		import threading
		libc = ctypes.CDLL(None)
		context = ctypes.c_void_p()
		cuda.cuCtxGetCurrent(ctypes.byref(context))
		def allocate(name):
		    block = ctypes.c_void_p()
		    libc.prctl(15, name, 0, 0, 0)
		    cuda.cuCtxSetCurrent(context)
		    cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(8192))
		worker = threading.Thread(target=allocate, args=(b"pt_worker",))
		worker.start()
		worker.join()
		allocate(b"vllm::main")
	PROGRAM
	"$MEMSCOPE" record -q $MASK -o a.mscope -- $PYTHON train.py
	report a.mscope
	assert_equal "$(identities '[.identity.script, .spaces[0].allocs]')" '["train.py",3]'
	[[ $(identities .name) == '"python'*' train.py"' ]]
	# Its processes' names, and the script, choose it as before.
	report --comm train.py a.mscope
	assert_equal "$(identities '.spaces[0].allocs')" 3
	"$MEMSCOPE" export -q -f sqlite -o a.sqlite a.mscope
	assert_equal "$(sqlite3 a.sqlite "SELECT count(DISTINCT globalTid) FROM CUPTI_ACTIVITY_KIND_RUNTIME")" 2
	trace $MASK -- $PYTHON train.py > out.txt
	[ "$(grep -c "^[^+]* train.py  *cuMemAlloc_v2" out.txt)" -eq 3 ] || fail "$(cat out.txt)"
}

@test "selection by user, name and several at once" {
	# Where the other user may look.
	OPEN=$(mktemp -d)
	cp "$LD_LIBRARY_PATH/libcuda.so.1" "$OPEN"
	export LD_LIBRARY_PATH=$OPEN SIMCUDA_LOG=/dev/null
	cd "$OPEN" && chmod 755 .
	program a.py 4096
	program b.py 8192
	"$MEMSCOPE" record -q $MASK -f -o a.mscope -- sh -c "$PYTHON a.py; $PYTHON b.py
		setpriv --reuid 65534 --clear-groups $PYTHON b.py"
	report --comm a.py a.mscope
	assert_equal "$(identities '[.identity.script, .spaces[0].alloc_bytes]')" '["a.py",4096]'
	report --comm 'python*' --user "$(id -un 65534)" a.mscope
	assert_equal "$(identities '[.identity.script, .identity.uid]')" '["b.py",65534]'
	report --user 65534 a.mscope
	assert_equal "$(identities '.identity.uid')" 65534
	assert_equal "$(jq -c '.options | [.user, .comm]' report.json)" '["65534",null]'
	"$MEMSCOPE" export -q -f ndjson --comm a.py a.mscope > events.jsonl
	assert_equal "$(events 'select(.op == "alloc").size_bytes')" 4096
	run -5 "$MEMSCOPE" report --user bob a.mscope
	[[ $output == *'--user: no process in the recording matches "bob"; there are '*root* ]]
	run -5 "$MEMSCOPE" export -f csv --comm c.py a.mscope
	[[ $output == *'--comm: no process in the recording matches "c.py"; there are '* ]]
	run -5 "$MEMSCOPE" report --comm a.py --user 65534 a.mscope
	[[ $output == *'all of these options: user 65534, name a.py'* ]]
	# Who these were was not recorded at the time.
	run -5 "$MEMSCOPE" report --user root "$ROOT/tests/golden/dump-1.0.mscope"
	[[ $output == *'3 processes are left out, of which it is not known who they are: train (4242), '* ]]
	! "$MEMSCOPE" report --user root a.mscope 2>&1 | grep "of which" || fail "none is unknown"
	run -5 "$MEMSCOPE" report --container x a.mscope
	[[ $output == *'--container: no process in the recording matches "x"'* ]]
}

@test "a container: its id, its runtime and the process's own pid" {
	local id=$CONTAINER$((RANDOM % 900 + 100))

	program train.py 4096
	cgroup_new "memscope-$$"
	cgroup_new "memscope-$$/docker-$id.scope"
	record_start -o a.mscope --cgroup "${GROUP%/*}"
	SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms POD_NAME=web-0 POD_NAMESPACE=shop \
		contained "$GROUP" $PYTHON train.py
	# shellcheck disable=SC2016 # expanded there
	SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms \
		sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "${GROUP%/*}" $PYTHON train.py
	record_stop
	report --container "${id:0:12}" a.mscope
	assert_equal "$(identities '.identity | [.runtime, .container, .ns_pid, .pod, .namespace]')" \
		"[\"docker\",\"$id\",1,\"web-0\",\"shop\"]"
	[[ $(identities .identity.cgroup) == *"/memscope-$$/docker-$id.scope\"" ]]
	report --cgroup "/memscope-$$" a.mscope
	assert_equal "$(identities .identity.script | sort | uniq -c | xargs)" '2 train.py'
	"$MEMSCOPE" report -q -f md -o out.md a.mscope
	grep "docker ${id:0:12}, pid in its namespace 1, pod shop/web-0" out.md
	# Without a container, that is what tells a service or a job from others.
	grep "user root, child of [0-9]*, cgroup /[^ ]*memscope-$$" out.md
}

@test "a container: what its engine calls it, from a file" {
	local id=$CONTAINER$((RANDOM % 900 + 100))

	program train.py 4096
	printf '# by a timer\n%s research trainer-0 cuda\n' "${id:0:12}" > names
	cgroup_new "memscope-$$"
	cgroup_new "memscope-$$/docker-$id.scope"
	record_start -o a.mscope --container-map names --cgroup "${GROUP%/*}"
	SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms POD_NAME=web-0 POD_NAMESPACE=shop \
		contained "$GROUP" $PYTHON train.py
	record_stop
	report --container cuda a.mscope
	assert_equal "$(identities '.identity | [.container, .container_name, .pod, .namespace]')" \
		"[\"$id\",\"cuda\",\"trainer-0\",\"research\"]"
	"$MEMSCOPE" report -q -f md -o out.md --pod research/trainer-0 a.mscope
	grep "docker cuda ${id:0:12}, pid in its namespace 1, pod research/trainer-0" out.md
	"$MEMSCOPE" report --by container a.mscope > by.md
	grep -q "^| docker cuda $id |" by.md || fail "$(cat by.md)"
	"$MEMSCOPE" export -q -f openmetrics -o out.om a.mscope
	grep -q '^memscope_allocations_total{.*container="cuda",pod="trainer-0",namespace="research",container_id="'"$id"'"' out.om
	# What the file does not say is what the program has been told.
	printf '%s - - cuda\n' "$id" > names
	record_start -o b.mscope --container-map names --cgroup "${GROUP%/*}"
	SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms POD_NAME=web-0 POD_NAMESPACE=shop \
		contained "$GROUP" $PYTHON train.py
	record_stop
	report --container cuda b.mscope
	assert_equal "$(identities '.identity | [.container_name, .pod, .namespace]')" '["cuda","web-0","shop"]'
	run -2 "$MEMSCOPE" record --container-map /nonexistent true
	[[ $output == *"/nonexistent: cannot open: "* ]]
	echo "$id research" > names
	run -2 "$MEMSCOPE" record --container-map names true
	[[ $output == *"names:1: not a container: a line is ID NAMESPACE POD CONTAINER"* ]]
}

@test "hostile names, arguments and variables harm no output" {
	local format name=$'evil\n\033[31m<b>\xff'

	program "$name" 4096
	RANK=$'\033]0;x\a</script><b>' POD_NAME=$(printf '%0100000d' 0) OTHER=$(printf '%0100000d' 0) \
		"$MEMSCOPE" record -q $MASK --cmdline -o a.mscope -- $PYTHON "$name" "$(printf '%4000d' 0)"
	for format in text md html json; do
		"$MEMSCOPE" report -q -f $format -o "out.$format" a.mscope
		! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]' "out.$format" || fail "in $format"
	done
	! grep -F '</script><b>' out.html || false
	jq -e '.recordings[0].processes[0].identity | (.script | startswith("evil\n")) and
		(.pod | length == 1023) and (.cmdline | length > 4000)' out.json
	for format in ndjson csv chrome folded openmetrics; do
		"$MEMSCOPE" export -q -f $format a.mscope > "out.$format"
		! LC_ALL=C grep -nP '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]' "out.$format" || fail "in $format"
	done
	for format in perfetto pprof sqlite; do
		"$MEMSCOPE" export -q -f $format -o "out.$format" a.mscope
	done
	trace $MASK -- $PYTHON "$name" > out.txt
	grep -F 'evil\x0a\x1b[31m<b>\xff' out.txt
	! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]' out.txt || false
}

# $1: how many devices the machine has; then arguments of right_devices. The processes are started by
# the function `processes`, which takes the directory of a cgroup.
devices_are_right() {
	cgroup_new "memscope-$$"
	mkfifo hold
	export SIMCUDA_DEVICES=$1
	record_start -o a.mscope --cgroup "$GROUP"
	SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms
	export SIMCUDA_DELAY
	exec 7<> hold
	HELD=1
	processes "$GROUP"
	# All of them have what they will hold.
	wait_for "[ \$(cat ready.* | wc -l) -eq $2 ]"
	sleep 0.3
	record_stop
	exec 7>&-
	group_kill
	report a.mscope
	"$ROOT/tests/e2e/right_devices" report.json "$1" "$2" "$3"
	# A page has the same of each, in a table of its own or of many.
	"$MEMSCOPE" report -q -f html -o report.html a.mscope
	/usr/bin/python3 "$ROOT/tests/e2e/check_page" report.html report.json
}

# $1: cgroup, $2: CUDA_VISIBLE_DEVICES or "all", $3...: arguments of own_devices
holder() {
	local environment=(env -u CUDA_VISIBLE_DEVICES)

	[ "$2" = all ] || environment=(env CUDA_VISIBLE_DEVICES="$2")
	contained "$1" "${environment[@]}" "$ROOT/tests/e2e/own_devices" "${@:3}" < hold > "ready.$3" 3>&- &
}

uuid() {
	printf 'GPU-73696d75-6c61-7465-6420-4750552000%02x' "$1"
}

@test "two containers on two devices: every byte on its device or on one that is not known" {
	processes() {
		cgroup_new "memscope-$$/docker-${CONTAINER}101.scope"
		holder "$GROUP" "$(uuid 1),0" 0 never 1 0
		holder "$GROUP" "1" 1 before 1
		cgroup_new "memscope-$$/docker-${CONTAINER}102.scope"
		holder "$GROUP" "1,0" 2 after 1 0
		holder "$GROUP" "0,1" 3 never 0 1
		holder "$GROUP" all 4 never 0 1
		GROUP=$1
	}
	devices_are_right 2 5 2
}

@test "two containers on eight devices: every byte on its device or on one that is not known" {
	processes() {
		cgroup_new "memscope-$$/docker-${CONTAINER}101.scope"
		holder "$GROUP" "$(uuid 5),$(uuid 2),7" 0 never 5 2 7
		holder "$GROUP" "$(uuid 5),$(uuid 2),7" 1 after 5 2 7
		holder "$GROUP" "7,6,5,4,3,2,1,0" 2 before 7 6 5 4 3 2 1 0
		cgroup_new "memscope-$$/docker-${CONTAINER}102.scope"
		holder "$GROUP" "2,5,0" 3 never 2 5 0
		holder "$GROUP" "0,$(uuid 3)" 4 after 0 3
		holder "$GROUP" all 5 never 0 1 2 3 4 5 6 7
		GROUP=$1
	}
	devices_are_right 8 6 8
}

@test "what the kernel could not say of a process for want of room is counted" {
	BIG=$(printf %05000d 0) "$MEMSCOPE" trace $MASK -c --json --buffer 4K -o events.jsonl -- "$WORKLOADS/calls" 3 2> trace.err
	assert_equal "$(tail -1 events.jsonl | jq -c '.events | [.lost, .lost_who_records]')" '[0,1]'
	grep -q "0 events and 1 other record lost: a ring buffer was full" trace.err || fail "$(cat trace.err)"
	BIG=$(printf %05000d 0) "$MEMSCOPE" record $MASK -q --buffer 4K -o run.mscope -- "$WORKLOADS/calls" 3 2> record.err
	report run.mscope
	assert_equal "$(jq -c '.recordings[0].lost | [.records, .who_records, .live_is_exact]' report.json)" '[1,1,true]'
}
