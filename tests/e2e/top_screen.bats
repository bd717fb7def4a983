# SPDX-License-Identifier: BSD-2-Clause
#
# The top command at a terminal, which tmux is: keys are sent to it, and its screen is text.

load helpers
load tmux

eval "of_helpers_$(declare -f setup)"
eval "of_helpers_$(declare -f teardown)"

setup() {
	of_helpers_setup
	tmux_needed
}

teardown() {
	tmux_end
	of_helpers_teardown
}

# What is the same in every run.
stable() {
	screen | grep . | sed -e 's/^memscope-bpf top [^:]*:/memscope-bpf top TIME:/' -e "s/ $PUPPET_PID / PID /" -e 's/ *$//'
}

# The command that is typed: top with these options.
top_start() {
	stty_of > stty.before
	keys -l "clear; echo before; '$MEMSCOPE' top $MASK $*; echo code \$?"
	keys Enter
}

stty_of() {
	stty -a -F "$(in_tmux display-message -p '#{pane_tty}')"
}

# Whatever it was that ended it: with code $1, with what the terminal showed before, as it was set.
ended_with() {
	until_it_shows "code $1"
	wait_for shows_prompt 400
	shows before || fail "$(screen)"
	refuse Launches/s
	stty_of | diff stty.before -
	assert_equal "$(in_tmux display-message -p '#{alternate_on} #{cursor_flag}')" '0 1'
}

# The tool itself, not a process of its own: numbers of processes begin anew at some time.
tool_pid() {
	local pid pids

	pids=" $(tool_processes | xargs) "
	for pid in $pids; do
		[[ $pids == *" $(awk '/^PPid:/ { print $2 }' "/proc/$pid/status") "* ]] || echo "$pid"
	done
}

@test "80 columns and 24 lines: who holds what, in which spaces and blocks, and back" {
	puppet_with_cuda
	terminal_start 80 24
	top_start -d 100ms -p "$PUPPET_PID"
	until_it_shows puppet
	puppet alloc 1048576
	puppet alloc 3145728
	until_it_shows '4 MiB+'
	wait_for "screen | grep -q '4 MiB+ .* 0 B'" 400
	stable > list.txt
	diff -b - list.txt <<-END
		memscope-bpf top TIME: 1 process, 4 MiB live on devices
		unknown        4 MiB live in contexts that were not seen
		    PID      Live▼      Peak    Growth  Allocs/s Launches/s Command
		    PID     4 MiB+     4 MiB       0 B         0          0 puppet
		Enter details  s sort  / filter  Space pause  h help  q quit
	END
	keys Enter
	until_it_shows "[1 Spaces]"
	until_it_shows "device  4 MiB"
	until_it_shows "up to 4 MiB, growth "
	keys 3
	until_it_shows "[3 Largest blocks]"
	screen | grep -q '^ *3 MiB  device .*cuMemAlloc_v2'
	keys Escape
	until_it_shows Launches/s
	keys h
	until_it_shows "the process before or after"
	keys q
	ended_with 0
	puppet_end
}

@test "the window grows to 200 columns and 60 lines, and shrinks until it is of no use" {
	puppet_with_cuda
	terminal_start 80 24
	top_start -d 100ms -p "$PUPPET_PID"
	until_it_shows puppet
	puppet alloc 1048576
	until_it_shows "1 MiB+"
	refuse "In 60 s" && refuse Remarks
	in_tmux resize-window -x 200 -y 60
	until_it_shows "may hold more from before it was attached to"
	shows "In 60 s"
	shows "Last 60 s"
	assert_equal "$(screen | wc -l)" 60
	assert_equal "$(screen | tail -1 | cut -c 1-13)" "Enter details"
	in_tmux resize-window -x 30 -y 8
	until_it_shows "The terminal is too small."
	in_tmux resize-window -x 80 -y 24
	until_it_shows "1 MiB+"
	keys q
	ended_with 0
	puppet_end
}

@test "order, filter and pause, key by key" {
	puppet_with_cuda
	cp "$WORKLOADS/puppet" grower
	mkfifo grower.in
	./grower <> grower.in > /dev/null 3>&- 8>&- 9<&- &
	OTHER_PID=$!
	printf 'load\ninit\n' > grower.in
	wait_for "grep -q libcuda /proc/$OTHER_PID/maps"
	terminal_start 80 24
	top_start -d 100ms -p "$PUPPET_PID,$OTHER_PID"
	until_it_shows grower
	until_it_shows "Live▼"
	keys s
	until_it_shows "Growth▼"
	keys r
	until_it_shows "Growth▲"
	keys /
	keys -l nothing
	until_it_shows "Filter: nothing_"
	until_it_shows "No process matches the filter."
	keys BSpace BSpace BSpace BSpace BSpace BSpace BSpace
	keys -l GROW
	until_it_shows "Filter: GROW_"
	keys Enter
	until_it_shows "filter: GROW"
	until_it_shows grower
	refuse puppet
	keys Space
	until_it_shows "paused"
	keys Space
	wait_for "! shows paused" 400
	keys q
	ended_with 0
	puppet_end
}

@test "colour, unless NO_COLOR is set; plain tables in a terminal without capabilities" {
	puppet_with_cuda
	terminal_start 80 24
	top_start -d 100ms -p "$PUPPET_PID"
	until_it_shows puppet
	puppet alloc 1048576
	until_it_shows "1 MiB+"
	keys Enter
	until_it_shows "60 s"
	screen -e | grep -q $'\033\[32m'
	keys q
	ended_with 0
	keys -l "export NO_COLOR=1"
	keys Enter
	top_start -d 100ms -p "$PUPPET_PID"
	until_it_shows puppet
	keys Enter
	until_it_shows "60 s"
	assert_equal "$(screen -e | grep -c $'\033\[3[0-7]m')" 0
	keys q
	ended_with 0
	keys -l "export TERM=dumb"
	keys Enter
	keys -l "'$MEMSCOPE' top $MASK -n 1 -d 100ms -p $PUPPET_PID"
	keys Enter
	until_it_shows LAUNCHES/S
	keys -l "TERM=no-such-thing '$MEMSCOPE' top $MASK -p $PUPPET_PID"
	keys Enter
	until_it_shows 'does not know a terminal of type "no-such-thing"; use --batch'
	puppet_end
}

@test "whatever ends it, the terminal is as it was before" {
	local code signal

	puppet_with_cuda
	terminal_start 80 24
	for signal in INT TERM HUP; do
		top_start -d 100ms -p "$PUPPET_PID"
		until_it_shows "Launches/s"
		kill "-$signal" "$(tool_pid)"
		ended_with 0
		leaves_nothing
	done
	keys -l "ulimit -c 0"
	keys Enter
	for signal in SEGV ABRT QUIT; do
		top_start -d 100ms -p "$PUPPET_PID"
		until_it_shows "Launches/s"
		kill "-$signal" "$(tool_pid)"
		ended_with $((128 + $(kill -l "$signal")))
		leaves_nothing
	done
	# Ctrl-C is a key.
	top_start -d 100ms -p "$PUPPET_PID"
	until_it_shows "Launches/s"
	keys C-c
	ended_with 0
	# And so does the end of what is watched.
	top_start -d 100ms -p "$PUPPET_PID"
	until_it_shows "Launches/s"
	puppet_end
	ended_with 0
}

@test "a command has no terminal meanwhile; messages come in the end" {
	terminal_start 80 24
	top_start -d 100ms -- sh -c "'echo UNSEEN; echo UNSEEN >&2; read line; $WORKLOADS/calls 3; sleep 1; exit 7'"
	ended_with 7
	refuse UNSEEN
	# The warning, that what it started was not traced, was not written into the screen.
	shows "no traced process has mapped a CUDA library"
}

@test "without ncurses, plain tables are there, and what to install is said" {
	local library

	library=$(ldconfig -p | sed -n 's/.*libncursesw.so.6 (.*x86-64.*=> //p' | head -1)
	[ -n "$library" ]
	terminal_start 200 24
	# shellcheck disable=SC2016 # for the shell in the namespace
	keys -l "unshare -m sh -c 'mount --bind /dev/null $library; exec \"\$@\"' sh '$MEMSCOPE' top $MASK -- true"
	keys Enter
	until_it_shows "install the package libncursesw6, or use --batch"
	"$MEMSCOPE" top $MASK -n 1 -d 100ms -- sleep 1 > out.txt
	grep -q "No traced process has called CUDA" out.txt
	assert_equal "$(ldd "$MEMSCOPE" | grep -c curses)" 0
}
