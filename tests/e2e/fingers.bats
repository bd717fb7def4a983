# SPDX-License-Identifier: BSD-2-Clause
#
# What people who use strace, perf, memray, nsys and kubectl type first: each line works, or one line
# says what to type.

load helpers

# Each line of fingers.txt: "ok", "say" or "user", the arguments of memscope-bpf, and a part of what it says.
table() {
	grep -v '^#\|^$' "$ROOT/tests/e2e/fingers.txt"
}

# What a line may refer to.
prepare() {
	puppet_with_cuda
	PID=$PUPPET_PID
	sleep 1000 3>&- 8>&- 9<&- &
	OTHER_PID=$!
	CALLS="$WORKLOADS/calls 3"
	"$MEMSCOPE" record $MASK -q -o run.mscope -- $CALLS 2> record.err
	cp run.mscope before.mscope
	mkdir live.mscope.ring
	RECORDED=$("$MEMSCOPE" report --json run.mscope | jq '.recordings[0].processes[0].pid')
	export MEMSCOPE PID OTHER_PID CALLS RECORDED
}

# A cgroup, by its path; where none can be made, the lines with one are left out.
prepare_cgroup() {
	HIERARCHY=/sys/fs/cgroup
	[ -e $HIERARCHY/cgroup.controllers ] || HIERARCHY=$HIERARCHY/pids
	export CGROUP=/memscope-test-$$-$RANDOM
	mkdir "$HIERARCHY$CGROUP" || CGROUP=
}

# Runs the arguments as a shell does; $1 is "ok", "say" or "user", $3 a part of what is said. Prints
# what is wrong.
try() {
	local code=0 as=

	rm -f new.*
	[ "$1" != user ] || as="setpriv --reuid=23456 --regid=23456 --clear-groups"
	eval "$as \"\$MEMSCOPE\" $2" > out.txt 2> err.txt || code=$?
	if [ "$1" = ok ]; then
		[ "$code" -eq 0 ] || echo "memscope-bpf $2: exit code $code: $(cat err.txt)"
	else
		[ "$code" -ne 0 ] || echo "memscope-bpf $2: it worked"
		[ "$(wc -l < err.txt)" -eq 1 ] || echo "memscope-bpf $2: not one line: $(cat err.txt)"
		: > out.txt
	fi
	[[ $(cat err.txt out.txt) == *"$3"* ]] || echo "memscope-bpf $2: no \"$3\": $(cat err.txt)"
}

@test "what is typed first works, or one line says what to type" {
	local kind arguments says count=0

	prepare
	prepare_cgroup
	while IFS='|' read -r kind arguments says; do
		try "${kind// /}" "$(xargs -d '\n' <<< "$arguments")" "${says# }"
		count=$((count + 1))
	done < <(table | if [ -n "$CGROUP" ]; then cat; else grep -v CGROUP; fi) > wrong.txt
	[ -z "$CGROUP" ] || rmdir "$HIERARCHY$CGROUP"
	[ ! -s wrong.txt ] || fail "$(cat wrong.txt)"
	[ "$count" -ge 60 ] || fail "only $count lines"
	puppet_end
}

@test "root's recording says how another user can read it" {
	prepare
	mkdir -m 755 public
	mv run.mscope public/
	chmod 755 .
	setpriv --reuid=23456 --regid=23456 --clear-groups "$MEMSCOPE" report public/run.mscope 2> err.txt && fail "it was read"
	grep -q "run.mscope: cannot open: Permission denied; .*sudo chown" err.txt || fail "$(cat err.txt)"
	# What an agent keeps has to stay its own.
	mkdir -m 700 public/state
	setpriv --reuid=23456 --regid=23456 --clear-groups "$MEMSCOPE" report public/state 2> err.txt && fail "it was read"
	grep -q "state: cannot open: Permission denied; .*write sudo before the command$" err.txt || fail "$(cat err.txt)"
	puppet_end
}
