# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What tests share that make cgroups and move processes between them. To be loaded after what has a
# teardown of its own. Whatever happens to a test, its cgroups and the processes in them are removed.

eval "without_cgroups_$(declare -f teardown)"

teardown() {
	local pid group

	without_cgroups_teardown
	for pid in ${SLEEPERS:-}; do
		kill -9 "$pid" 2> /dev/null || true
	done
	for group in ${GROUPS_MADE:-}; do
		[ ! -d "$group" ] || group_remove "$group"
	done
}

# With all that is below it, and whoever is there.
group_remove() {
	local group pid

	find "$1" -depth -type d | while read -r group; do
		while read -r pid; do
			kill -9 "$pid" 2> /dev/null || true
		done < "$group/cgroup.procs"
		# Those that are killed are there until they have ended.
		wait_for "rmdir '$group' 2> /dev/null"
	done
}

# Makes one in that hierarchy ("" where version 2 has them all): sets GROUP and OUTSIDE.
group_make() {
	OUTSIDE=/sys/fs/cgroup${1:+/$1}
	[ -e "$OUTSIDE/cgroup.procs" ] || return 1
	GROUP=$OUTSIDE/memscope-test-$$-$RANDOM
	mkdir "$GROUP" || return 1
	GROUPS_MADE="${GROUPS_MADE:-} $GROUP"
}

# One of each kind: the kernel side can tell who is in one of version 2 alone.
hierarchies() {
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		echo /
	else
		echo pids unified
	fi
}

# In the first of them.
group_make_any() {
	group_make "$(hierarchies | cut -d ' ' -f 1 | tr -d /)"
}

move() {
	echo "$1" > "$2/cgroup.procs"
}

# Processes that do nothing, $1 of them: adds their pids to SLEEPERS.
sleepers_start() {
	local i

	for ((i = 0; i < $1; i++)); do
		sleep 1000 3>&- 8>&- 9<&- &
		SLEEPERS="${SLEEPERS:-} $!"
	done
}

sleepers_end() {
	# shellcheck disable=SC2086 # one word each
	kill $SLEEPERS
	# shellcheck disable=SC2086
	wait $SLEEPERS || true
	SLEEPERS=
}

# A cgroup as docker has it, of a container that runs: sets GROUP, OUTSIDE and ID.
container_make() {
	ID=$(printf '%08x' $$ $RANDOM $RANDOM $RANDOM $RANDOM $RANDOM $RANDOM $RANDOM)
	group_make_any || return 1
	GROUP=$GROUP/docker/$ID
	mkdir -p "$GROUP"
	sleepers_start 1
	move "${SLEEPERS##* }" "$GROUP"
}
