# SPDX-License-Identifier: BSD-2-Clause
#
# Children that have the driver from their parents, and processes that live for milliseconds.

load helpers

# Starts the workload with these arguments; it waits for children_run, with the driver mapped.
children_start() {
	mkfifo children.in
	"$WORKLOADS/short_lives" "$@" < children.in > children.out 3>&- 8>&- &
	OTHER_PID=$!
	exec 8> children.in
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
}

# Until all that it starts have ended.
children_run() {
	echo >&8
	exec 8>&-
	wait "$OTHER_PID"
	OTHER_PID=
}

# How often the processes named $1 allocated and freed, in the summary.
sums() {
	summary "[.processes[] | select(.comm == \"$1\").spaces[]?] | [(map(.allocs) | add), (map(.frees) | add)]"
}

# In a cgroup of its own, if it can be made: $GROUP.
cgroup_enter() {
	local hierarchy=/sys/fs/cgroup/pids

	[ -d $hierarchy ] || hierarchy=/sys/fs/cgroup
	GROUP=$hierarchy/memscope-short-$$-$RANDOM
	mkdir "$GROUP" || skip "cgroups cannot be made here"
	echo "$1" > "$GROUP/cgroup.procs"
}

@test "-a: a child that has the driver from its parent is traced" {
	children_start fork 2 20 4096 "$(time_to_attach 400)"
	trace_start -a
	children_run
	trace_stop
	assert_equal "$(sums short_lives)" "[2,1]"
}

@test "--cgroup: a child that has the driver from its parent is traced" {
	children_start fork 2 20 4096 "$(time_to_attach 400)"
	cgroup_enter "$OTHER_PID"
	trace_start --cgroup "$GROUP"
	children_run
	trace_stop
	rmdir "$GROUP"
	assert_equal "$(sums short_lives)" "[2,1]"
}

@test "-a: the worker that a Python program has forked is traced" {
	cat > worker.py <<- 'PYTHON'
		import ctypes, multiprocessing, sys, time
		driver = ctypes.CDLL("libcuda.so.1")
		def work():
		    block, context = ctypes.c_uint64(), ctypes.c_void_p()
		    time.sleep(float(sys.argv[1]))
		    driver.cuInit(0)
		    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
		    driver.cuCtxSetCurrent(context)
		    for _ in range(20):
		        driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 20))
		if __name__ == "__main__":
		    sys.stdin.readline()
		    worker = multiprocessing.get_context("fork").Process(target=work)
		    worker.start()
		    worker.join()
	PYTHON
	mkfifo children.in
	/usr/bin/python3 worker.py "$(time_to_attach 1)" < children.in 3>&- 8>&- &
	OTHER_PID=$!
	exec 8> children.in
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
	trace_start -a
	children_run
	trace_stop
	assert_equal "$(sums python3)" "[20,0]"
}
