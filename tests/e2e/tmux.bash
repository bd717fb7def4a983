# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# A terminal for tests: tmux, to which keys are sent, and whose screen is text.

tmux_needed() {
	command -v tmux > /dev/null || skip "needs tmux"
	export LC_ALL=C.UTF-8
	unset NO_COLOR COLUMNS LINES
}

in_tmux() {
	tmux -u -S "$BATS_TEST_TMPDIR/tmux" "$@" 3>&- 7>&- 8>&- 9<&-
}

# A terminal of $1 columns and $2 lines with a shell in it.
terminal_start() {
	echo "PS1='ready: '" > rc
	in_tmux -f /dev/null new-session -d -x "$1" -y "$2" env ENV="$PWD/rc" sh
	in_tmux set-option -g status off
	in_tmux resize-window -x "$1" -y "$2"
	wait_for shows_prompt
}

screen() {
	in_tmux capture-pane -p "$@"
}

shows() {
	screen -J | grep -qF -- "$1"
}

shows_prompt() {
	[ "$(screen | grep . | tail -1)" = "ready:" ]
}

until_it_shows() {
	wait_for "shows '$1'" 400 || fail "no \"$1\":" "$(screen)"
}

refuse() {
	[ "$(screen | grep -cF -- "$1")" -eq 0 ] || fail "$1:" "$(screen)"
}

keys() {
	in_tmux send-keys "$@"
}

tmux_end() {
	in_tmux kill-server 2> /dev/null || true
}
