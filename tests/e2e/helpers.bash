# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What every bats file loads: where things are, the tool, the puppet, the flood, and comparisons.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILT=$ROOT/${BUILD:-build}
MEMSCOPE=${MEMSCOPE:-$ROOT/memscope-bpf}
WORKLOADS=$BUILT/workloads
COMPARE=$ROOT/tests/e2e/compare
# How many: in `make stress` (STRESS=1), in `make check`. STRESS=20: a twentieth, if that is more.
times() {
	local count=$(($1 / ${STRESS:-$1}))

	echo $((count > $2 ? count : $2))
}

# From one case to the next in a loop over all of them; a prime, as unit_stride() of the unit tests.
stride() {
	if [ -n "${STRESS:-}" ]; then echo 1; else echo "$1"; fi
}

# What to pretend the kernel lacks in the whole suite: `make check WITHOUT=uprobe_session`.
MASK=${WITHOUT:+--without=$WITHOUT}

# What tests that try several strategies do without, in turn, unless the whole suite does without some.
STRATEGIES=${WITHOUT:-uprobe_single uprobe_session}

# For tests that attach to many processes, or again and again.
needs_links() {
	case $MASK in
	*uprobe_multi*) skip "single uprobes take a tenth of a second each to go" ;;
	esac
}

# Milliseconds for a program to initialise CUDA in, if it takes so many to attach to it meanwhile.
time_to_attach() {
	case $MASK in
	*uprobe_multi*) echo $(($1 * 20)) ;;
	*) echo "$1" ;;
	esac
}

# Whether a child's calls are seen from its first one on, since CUDA's files are probed in all processes.
sees_first_calls() {
	# shellcheck disable=SC2086 # may be empty
	[ -z "$MASK" ] && "$MEMSCOPE" check | grep -qE "^ +ok +uprobe_session "
}

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	cd "$BATS_TEST_TMPDIR" || exit 1
	export LD_LIBRARY_PATH=$BUILT/simcuda
	export SIMCUDA_LOG=$BATS_TEST_TMPDIR/oracle.log
}

# Whatever a test has started and not waited for.
teardown() {
	local pid

	for pid in ${PUPPET_PID:-} ${FLOOD_PID:-} ${TRACE_PID:-} ${RECORD_PID:-} ${OTHER_PID:-}; do
		kill -9 "$pid" 2> /dev/null || true
	done
}

fail() {
	printf '%s\n' "$@" >&2
	return 1
}

# The tool's trace command, in the foreground.
trace() {
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" trace $MASK "$@"
}

# ffmpeg with its filters on the "GPU": FRAMES frames.
ffmpeg_command() {
	echo ffmpeg -nostdin -hide_banner -loglevel error -init_hw_device cuda=cu:0 -f lavfi \
		-i testsrc=size=640x480:rate=25 \
		-vf format=nv12,hwupload_cuda,scale_cuda=320:240,hwdownload,format=nv12 \
		-frames:v "${1:-20}" -f null -
}

# ---- the puppet: a process that does what it is told

# Starts it; sets PUPPET_PID. Descriptor 8 leads to its standard input, 9 comes from its output.
puppet_start() {
	mkfifo puppet.in puppet.out
	"$WORKLOADS/puppet" < puppet.in > puppet.out 3>&- 8>&- 9<&- &
	PUPPET_PID=$!
	exec 8> puppet.in 9< puppet.out
}

# Starts it, and CUDA in it.
puppet_with_cuda() {
	puppet_start
	puppet load
	puppet init
}

# Tells it something and checks that it answers "ok".
puppet() {
	local answer

	echo "$*" >&8
	while read -r -t 60 answer <&9; do
		case $answer in
		child*) PUPPET_CHILD=${answer#child } ;;
		ok) return 0 ;;
		*) fail "puppet: $*: $answer" ;;
		esac
	done
	fail "puppet: $*: no answer"
}

# Ends it, which completes the oracle's log.
puppet_end() {
	exec 8>&-
	wait "$PUPPET_PID" || true
	PUPPET_PID=
}

# ---- the flood: a program that calls in threads, as fast as it can

# Starts it with that many threads, until its standard input, descriptor 7, ends; sets FLOOD_PID.
flood_start() {
	# Nobody reads the simulator's log of it, which would fill the disk.
	unset SIMCUDA_LOG
	rm -f flood.in
	mkfifo flood.in
	"$WORKLOADS/flood" "$1" < flood.in > flood.out 2> flood.calls 3>&- 7>&- &
	FLOOD_PID=$!
	exec 7> flood.in
	wait_for 'grep -q libcuda "/proc/$FLOOD_PID/maps"'
}

# Ends it: it must have done what it does when nobody watches.
flood_end() {
	exec 7>&-
	flood_wait
}

flood_wait() {
	local code=0

	wait "$FLOOD_PID" || code=$?
	FLOOD_PID=
	assert_equal "$code" 42
	assert_equal "$(cat flood.out)" intact
}

# ---- the tool in the background

# $1: the variable for its process, $2: the file for its messages, then what is to be run. What another
# has left in that file is gone before: the shell empties it in the new process, and whoever waits for
# words in it could read the old ones first.
in_background() {
	local -n background_pid=$1
	local messages=$2

	rm -f "$messages"
	"${@:3}" 2> "$messages" 3>&- 7>&- 8>&- 9<&- &
	background_pid=$!
}

# The same of the tool with -v, which is attached when this returns.
in_background_tracing() {
	in_background "$@"
	wait_for "grep -qs 'debug: tracing' '$2'" || fail "did not start: $(cat "$2")"
}

# $1: its command, $2: the variable for its process, then arguments. Attached when it returns; its
# messages are in COMMAND.err.
tool_start() {
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing "$2" "$1.err" "$MEMSCOPE" "$1" $MASK -v "${@:3}"
}

# $1: its command, $2: the variable, $3: the exit code that it should have (default: 0).
tool_wait() {
	local code=0
	local -n tool_pid=$2

	wait "$tool_pid" || code=$?
	tool_pid=
	[ "$code" -eq "${3:-0}" ] || fail "exit code $code: $(cat "$1.err")"
	[ -n "${UNPROBED:-}" ] || ! grep "no probe into" "$1.err"
}

# JSON lines to events.jsonl.
trace_start() {
	tool_start trace TRACE_PID --json -e all -o events.jsonl "$@"
}

# Ends it as Ctrl-C does, and checks that all is well.
trace_stop() {
	kill -INT "$TRACE_PID"
	trace_wait
}

trace_wait() {
	tool_wait trace TRACE_PID "$@"
}

record_start() {
	tool_start record RECORD_PID "$@"
}

record_wait() {
	tool_wait record RECORD_PID "$@"
}

record_stop() {
	kill -INT "$RECORD_PID"
	record_wait "$@"
}

# Without asking it.
record_kill() {
	kill -9 "$RECORD_PID"
	wait "$RECORD_PID" || true
	RECORD_PID=
}

# Until the command $1 succeeds, at most $2 twentieths of a second; a minute, which a busy machine may need.
wait_for() {
	local i ticks=${2:-1200}

	# Single uprobes take a tenth of a second each to go.
	case $MASK in
	*uprobe_multi*) ticks=4000 ;;
	esac
	for ((i = 0; i < ticks; i++)); do
		eval "$1" && return 0
		sleep 0.05
	done
	return 1
}

# throttled_group QUOTA PERIOD, both in microseconds: makes GROUP, a cgroup that may use so much CPU time
# in each period, or skips the test; what "${IN_GROUP[@]}" precedes is executed in it
throttled_group() {
	local hierarchy=/sys/fs/cgroup

	[ ! -d $hierarchy/cpu ] || hierarchy=/sys/fs/cgroup/cpu
	GROUP=$hierarchy/memscope-test-$$
	mkdir "$GROUP" || skip "cgroups cannot be made here"
	if [ -e "$GROUP/cpu.cfs_quota_us" ]; then
		echo "$1" > "$GROUP/cpu.cfs_quota_us"
		echo "$2" > "$GROUP/cpu.cfs_period_us"
	elif ! echo "$1 $2" > "$GROUP/cpu.max"; then
		skip "cgroups cannot be throttled here"
	fi
	# shellcheck disable=SC2016,SC2034 # the inner shell's; tests use it
	IN_GROUP=(sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$GROUP")
}

# Once what ran in GROUP has ended.
remove_group() {
	[ -z "${GROUP:-}" ] || wait_for '! [ -s "$GROUP/cgroup.procs" ] && rmdir "$GROUP"' 100 || true
}

# ---- what came out

# Selects from events.jsonl with a jq program.
events() {
	jq -r "$@" events.jsonl
}

# Of one line among many, which jq would all read.
summary() {
	grep '"type": *"summary"' "${2:-events.jsonl}" | jq -c "$1"
}

# valid NAME FILE...: each is a JSON object as docs/NAME.schema.json has it
valid() {
	/usr/bin/python3 - "$ROOT/docs/$1.schema.json" "${@:2}" <<'PYTHON'
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for path in sys.argv[2:]:
    for error in validator.iter_errors(json.load(open(path))):
        sys.exit(f"{path}: {error.json_path}: {error.message[:200]}")
PYTHON
}

assert_equal() {
	[ "$1" = "$2" ] || fail "expected: $2" "got:      $1"
}

# Microseconds for which some task of the machine has waited for a CPU; nothing: it is not known.
cpu_waits() {
	sed -n 's/^some .*total=//p' /proc/pressure/cpu 2> waits.err || true
}

# watched COMMAND...: UNCONTENDED is then for reports of what it recorded, if that is not about the
# machine's other load. Only if tasks had to wait meanwhile may a report say that they had to.
watched() {
	local waits begun code=0

	waits=$(cpu_waits)
	begun=${EPOCHREALTIME//[.,]/}
	"$@" || code=$?
	# shellcheck disable=SC2034 # for the tests
	UNCONTENDED=--threshold=contention-time=100000,queue-time=100000,throttle-time=100000
	if [ -n "$waits" ] &&
		[ $((100 * ($(cpu_waits) - waits))) -lt $((${EPOCHREALTIME//[.,]/} - begun)) ]; then
		UNCONTENDED=
	fi
	return "$code"
}

# The tool and its helpers, as far as this test has started them: other instances may be running on
# this machine, in other directories. tool_processes [NAME]: only those of that name.
tool_processes() {
	local pid

	for pid in $(pgrep ${1:+-x} "${1:-^memscope-}"); do
		[ ! "/proc/$pid/cwd" -ef . ] || echo "$pid"
	done
}

# The identifiers of our programs in the kernel, of any instance. Fails if bpftool does.
our_programs() {
	local programs

	programs=$(bpftool -j prog) && [ -n "$programs" ] || return 1
	jq <<< "$programs" '.[] | select((.name // "") |
		test("^ms_(session|entry|return|exec|exit|fork)$")) | .id'
}

# What is left: processes of the tool, and programs of ours in the kernel that no process holds; links
# and maps do not outlive their programs. A process that is ending has no directory any more, but may
# have probes; of it and of a program it cannot be told which instance they are of.
left() {
	local id pid programs

	for pid in $(tool_processes); do
		echo "process $pid"
	done
	for pid in $(pgrep '^memscope-'); do
		[ -e "/proc/$pid/cwd" ] || ! grep -qs '^State:.[^XZ]' "/proc/$pid/status" || echo "process $pid, ending"
	done
	programs=$(our_programs) || echo "programs that cannot be listed"
	for id in $programs; do
		grep -qsx "prog_id:[[:space:]]*$id" /proc/[0-9]*/fdinfo/* || echo "program $id"
	done
}

nothing_left() {
	[ -z "$(left)" ]
}

# The tests of single.bats may run beside this one, and theirs take long to go. To look takes more time of
# the CPU than all else that is waited for, so it is not looked twenty times a second.
leaves_nothing() {
	local pause

	for pause in 0.05 0.1 0.2 0.4 $(yes 1 | head -n 500); do
		! nothing_left || return 0
		sleep "$pause"
	done
	fail "left behind:" "$(left)"
}

# When a trace with options $2... ends by signal $1, the probe of a function that is hardly ever called
# is there until all others are gone.
last_probe_is_cold() {
	local signal=$1 pause=()

	shift
	# Single uprobes take a tenth of a second each to go.
	case "$MASK $*" in
	*uprobe_multi*) pause=(0.01) ;;
	esac
	# A copy: other tests' probes, which may be in all processes that map a file, are not in it.
	mkdir -p driver
	cp "$BUILT/simcuda/libcuda.so.1" driver
	LD_LIBRARY_PATH=$PWD/driver
	puppet_with_cuda
	trace_start "$@" -p "$PUPPET_PID"
	grep -q "debug: libcuda.*probes cuDevicePrimaryCtxReset first" trace.err
	"$ROOT/tests/e2e/last_probe" "$TRACE_PID" "$signal" "$PUPPET_PID" "$LD_LIBRARY_PATH/libcuda.so.1" \
		"${pause[@]}" > last
	assert_equal "$(grep -ow cuDevicePrimaryCtxReset last)" cuDevicePrimaryCtxReset
	if [ "$signal" -eq 9 ]; then trace_wait 137; else trace_wait; fi
	puppet alloc 4096
}

# What a puppet does in two threads is seen by a trace with these options, and then nothing is left.
two_threads_of_a_puppet() {
	puppet_with_cuda
	trace_start "$@" -p "$PUPPET_PID"
	puppet alloc 4096
	puppet thread
	puppet free
	echo "exit 0" >&8
	trace_wait
	assert_equal "$(summary '[.processes[0].spaces[0] | .allocs, .frees]')" '[2,2]'
	leaves_nothing
}

# check_puppet OPTION...: to check.json
check_puppet() {
	"$MEMSCOPE" check --json -p "$PUPPET_PID" "$@" > check.json
}

# place FUNCTION: what check says of it
place() {
	jq -c --arg name "$1" '.process.libraries[].probes[] | select(.function == $name)' check.json
}

# memory FUNCTION [HEX]: the first 16 bytes of it in the puppet; or writes there
memory() {
	/usr/bin/python3 - "$PUPPET_PID" "$(place "$1" | jq .file_offset)" "${2:-}" <<- 'END'
		import sys
		pid, offset, new = sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3])
		for line in open(f"/proc/{pid}/maps"):
		    field = line.split()
		    start, end = (int(x, 16) for x in field[0].split("-"))
		    at = offset - int(field[2], 16)
		    if "x" in field[1] and "libcuda" in line and 0 <= at < end - start:
		        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
		            memory.seek(start + at)
		            if new:
		                memory.write(new)
		            else:
		                print(memory.read(16).hex())
	END
}
