# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the bats files about reading recordings load besides: a recording that is always there, how to
# make and how to damage one.

load helpers

bats_require_minimum_version 1.5.0

# A setup() that needs no root: record() does.
golden_setup() {
	cd "$BATS_TEST_TMPDIR" || exit 1
	cp "$ROOT/tests/golden/dump-1.0.mscope" golden.mscope
	chmod 644 golden.mscope
	export LD_LIBRARY_PATH=$BUILT/simcuda SIMCUDA_LOG=$PWD/oracle.log
}

record() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record -q $MASK "$@"
}

# damage FILE PARTS: makes damaged.mscope of it, where the last of so many equal parts begins
damage() {
	local size

	size=$(stat -c %s "$1")
	cp "$1" damaged.mscope
	printf '\xff\x00\xff\x00' |
		dd of=damaged.mscope bs=1 seek=$((size * ($2 - 1) / $2)) conv=notrunc status=none
}

# cut_short FILE PERCENT: makes cut.mscope, of which only that much is there
cut_short() {
	head -c $(($(stat -c %s "$1") * $2 / 100)) "$1" > cut.mscope
}

# on_terminal COLUMNS COMMAND...: what a terminal of that width is sent; exits as the command does
on_terminal() {
	/usr/bin/python3 - "$@" <<'PYTHON'
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
sent = b""
while True:
    try:
        got = os.read(terminal, 65536)
    except OSError:  # it has been closed
        break
    if not got:
        break
    sent += got
sys.stdout.buffer.write(sent.replace(b"\r\n", b"\n"))  # both need not come at once
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
}
