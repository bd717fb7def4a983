# SPDX-License-Identifier: BSD-2-Clause
#
# Files that root is told to write where others can put files, too: whatever these have planted there,
# or swap while root writes, nothing of root's is changed, and nothing is given away.

load recordings

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	cd "$BATS_TEST_TMPDIR" || exit 1
	export LD_LIBRARY_PATH=$BUILT/simcuda SIMCUDA_LOG=$PWD/oracle.log
	SETTING=$(cat /proc/sys/fs/protected_symlinks)
	cp "$ROOT/tests/golden/dump-1.0.mscope" run.mscope
	# Others must get there.
	OPEN=$(mktemp -d)
	chmod 755 "$OPEN"
	mkdir -m 1777 "$OPEN/shared"
	chmod 1777 "$OPEN/shared"
	S=$OPEN/shared
	echo precious > "$OPEN/victim"
	stat -c '%i %u %g %a %s' "$OPEN/victim" > before
}

eval "with_files_$(declare -f teardown)"
teardown() {
	with_files_teardown
	echo "$SETTING" > /proc/sys/fs/protected_symlinks || true
	rm -rf "$OPEN" ${SHM:+"$SHM"}
}

as_other() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# The victim is what it was.
assert_safe() {
	assert_equal "$(stat -c '%i %u %g %a %s' "$OPEN/victim")" "$(cat before)"
	assert_equal "$(head -c 20 "$OPEN/victim")" precious
}

# writing FILE [COMMAND...]: each command that writes a file, by that command.
writing() {
	local out=$1

	shift
	"$@" "$MEMSCOPE" report -o "$out" run.mscope || return
	"$@" "$MEMSCOPE" report -f html -o "$out" run.mscope || return
	"$@" "$MEMSCOPE" diff -o "$out" run.mscope run.mscope || return
	"$@" "$MEMSCOPE" export -f ndjson -o "$out" run.mscope || return
	# It writes files only.
	[ -p "$out" ] || [[ $out == /dev/fd/* ]] || [ "$out" = /dev/stdout ] ||
		"$@" "$MEMSCOPE" export -f sqlite -o "$out" run.mscope || return
	"$@" "$MEMSCOPE" trace -q -o "$out" -- true
}

# Runs a command that must be refused, with exit code 1, and a message with the text $1.
refused() {
	local text=$1

	shift
	run -1 --separate-stderr timeout 20 "$@"
	[[ $stderr == *"$text"* ]] || fail "$* said:" "$(head -n 5 <<< "$stderr")"
	assert_safe
}

@test "planted links are not followed, whatever the kernel protects" {
	local setting link="a symbolic link that another user has made, or could have, is not followed"

	as_other ln -s "$OPEN/victim" "$S/link"
	as_other ln -s "$OPEN/new" "$S/dangling"
	as_other ln -s "$OPEN" "$S/directory"
	for setting in 0 1; do
		echo $setting > /proc/sys/fs/protected_symlinks || skip "the kernel's settings cannot be changed"
		for name in link dangling directory/victim directory/new; do
			writing "$S/$name" refused "$link"
		done
		# Of a name itself, record follows none, not its own either.
		refused "File exists; remove it" "$MEMSCOPE" record -o "$S/link" -- touch started
		refused "File exists; remove it" "$MEMSCOPE" record -o "$S/dangling" -- touch started
		refused "$link" "$MEMSCOPE" record -o "$S/directory/new" -- touch started
		refused "$link" "$MEMSCOPE" record --ring 1M -o "$S/directory/new" -- touch started
		refused "$link" "$MEMSCOPE" verify --repair "$S/directory/new" run.mscope
	done
	assert_equal "$(ls "$OPEN")" "$(printf 'shared\nvictim')"
	[ ! -e started ]
}

@test "planted pipes and files are not written to, and not waited for" {
	local planted="another user has made it, or could have"

	as_other mkfifo "$S/pipe"
	as_other touch "$S/file"
	as_other chmod 666 "$S/pipe" "$S/file"
	refused "$planted" "$MEMSCOPE" trace -o "$S/pipe" -- touch started
	refused "$planted" "$MEMSCOPE" trace -o "$S/file" -- touch started
	writing "$S/pipe" refused "$planted"
	ln "$OPEN/victim" "$S/second"
	refused "$planted" "$MEMSCOPE" trace -o "$S/second" -- touch started
	assert_equal "$(stat -c '%u %s' "$S/file")" "65534 0"
	[ ! -e started ]
	# What is replaced as a whole takes the name, and not the file.
	rm "$S/pipe"
	as_other ln "$S/file" "$S/his"
	"$MEMSCOPE" report -o "$S/second" run.mscope
	"$MEMSCOPE" report -o "$S/file" run.mscope
	assert_equal "$(stat -c '%U %G %a' "$S/second" "$S/file" | uniq)" "root root 600"
	assert_equal "$(stat -c '%u %s' "$S/his")" "65534 0"
	assert_equal "$(cat "$OPEN/victim")" precious
}

@test "a file that is swapped for a link while root writes it" {
	local i setting

	"$WORKLOADS/swapper" "$S" out "$OPEN/victim" 3>&- &
	OTHER_PID=$!
	for setting in 0 1; do
		echo $setting > /proc/sys/fs/protected_symlinks || true
		for ((i = 0; i < 8; i++)); do
			writing "$S/out" attempt
		done
	done
	kill "$OTHER_PID"
	wait "$OTHER_PID" || true
	OTHER_PID=
}

# One try: it may be refused, or replace what is there.
attempt() {
	wait_for '[ -f "$S/out" ]'
	"$@" > said 2>&1 || true
	assert_safe
	# His own file has nothing in it.
	[[ "$(stat -c '%F of %U' "$S/out" 2> /dev/null)" =~ ^(|symbolic link of .*|regular empty file of nobody|regular file of root)$ ]] ||
		fail "out is now a ${BASH_REMATCH[0]}"
	rm -f "$S/out"
}

@test "one's own links are followed, and /dev/shm is a directory like any other" {
	local where

	mkdir real
	ln -s real there
	ln -s ../out real/link
	for where in out there/out there/link /dev/fd/3 /dev/stdout; do
		rm -f out real/out
		writing "$where" 3> through > through
	done
	assert_equal "$(ls -A real)" link
	[ -L real/link ] && [ ! -e out ] && [ -s through ]
	writing there/link
	[ -L real/link ] && [ -s out ]

	# A whole one, or none.
	SHM=$(mktemp /dev/shm/memscope.XXXXXX)
	echo before > "$SHM"
	run -1 --separate-stderr bash -c "ulimit -f 1; '$MEMSCOPE' report -f html -o $SHM run.mscope"
	[[ $stderr == *"$SHM: cannot write: File too large; nothing was written"* ]]
	assert_equal "$(cat "$SHM")" before
}

@test "nothing unfinished stays, whatever ends it" {
	local signal pid place

	"$BUILT/bench/dumps" 4000000 large.mscope > sizes
	mkdir out
	for signal in KILL TERM INT XFSZ ABRT; do
		env --default-signal=INT "$MEMSCOPE" export -f ndjson -o out/file large.mscope &
		pid=$!
		wait_for 'find "/proc/$pid/fd" -lname "$PWD/out/*(deleted)" 2> /dev/null | grep -q .'
		kill -$signal $pid
		[ $signal != XFSZ ] || kill $pid
		wait $pid || true
		assert_equal "$(ls -A out)" ""
	done
	rm -f core*
}

@test "a limit of the size of files is a full disk, and the command's own affair" {
	puppet_with_cuda
	record_start -o limited.mscope -p "$PUPPET_PID"
	prlimit --fsize=8192:8192 --pid "$RECORD_PID"
	puppet churn 5000
	wait_for 'grep -q "limited.mscope: cannot write: File too large; recording goes on" record.err'
	puppet_end
	record_wait 1
	# It has what it would have had: neither caught nor ignored. (The two signals that glibc keeps for
	# itself are ignored in what posix_spawn(3) starts, as make does; threads change that.)
	"$MEMSCOPE" trace -q -o out -- sh -c 'grep "^Sig[IC]" /proc/self/status > signals'
	grep "^Sig[IC]" /proc/self/status > expected
	assert_equal "$(grep -o '.\{7\}$' signals)" "$(grep -o '.\{7\}$' expected)"
}
