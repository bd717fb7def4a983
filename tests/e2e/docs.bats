# SPDX-License-Identifier: BSD-2-Clause
#
# What documents the program cannot drift from it.

load helpers

commands() {
	"$MEMSCOPE" help | sed -n '/^Commands:/,/^$/ s/^  \([a-z]*\) .*/\1/p' | grep -vx help
}

@test "every command has a man page without faults and a bats file of its own" {
	local command
	for command in $(commands); do
		[ -s "$ROOT/tests/e2e/$command.bats" ] || fail "no tests/e2e/$command.bats"
		mandoc -T lint -W warning "$BUILT/man/memscope-bpf-$command.1"
	done
	mandoc -T lint -W warning "$BUILT/man/memscope-bpf.1"
}

@test "examples are there as they are to be typed" {
	mandoc -T ascii "$BUILT/man/memscope-bpf-export.1" | col -bx > export.txt
	grep -qF "jq -c 'select(.op == \"alloc\")'" export.txt
	grep -qx " *memscope-bpf export -o run.sqlite run.mscope" export.txt
}

@test "every option is in the help, the man page and the completion" {
	local command option
	# shellcheck disable=SC1091
	. "$BUILT/memscope-bpf.bash"
	for command in $(commands); do
		for option in $("$MEMSCOPE" "$command" --help | grep -oE '^ {2,6}(-., )?--[a-z-]+' | grep -oE '[a-z-]+$'); do
			option=--${option#--}
			mandoc -T ascii "$BUILT/man/memscope-bpf-$command.1" | col -b |
				grep -q -- "$option" || fail "$command $option: not in the man page"
			[[ " ${_memscope_bpf_options[$command]} " == *" $option "* ]] ||
				fail "$command $option: no completion"
		done
	done
}

@test "the help says what it said" {
	local command
	for command in $(commands); do
		"$MEMSCOPE" "$command" --help > out.txt
		diff -u "$ROOT/tests/golden/help-$command.txt" out.txt
		! grep -E '^.{80}' out.txt || fail "$command: wider than a terminal"
	done
}

@test "the published JSON Schemas are those the tables make" {
	local name

	for name in event report who agent-who; do
		diff -u "$ROOT/docs/$name.schema.json" "$BUILT/$name.schema.json"
	done
}

@test "the event in docs/trace.md is one by the JSON Schema" {
	sed -n '/^```json/,/^```/p' "$ROOT/docs/trace.md" | sed '/^```/d' > event.json
	valid event event.json
}

# What is offered for a command line, in whose last word the cursor is.
completes() {
	local expected=$1
	shift

	COMP_WORDS=(memscope-bpf "$@") COMP_CWORD=$#
	_memscope_bpf
	assert_equal "${COMPREPLY[*]}" "$expected"
}

@test "completion completes" {
	# shellcheck disable=SC1091
	. "$BUILT/memscope-bpf.bash"
	completes check ch
	completes --json trace --js
	completes --repair verify --json --r
	# Values, in all the ways in which they are written.
	completes "auto both runtime driver" trace --layer ""
	completes "auto both runtime driver" trace --layer =
	completes runtime trace --layer = ru
	completes memory trace -e memo
	completes "alloc,copy alloc,context" trace -e alloc,co
	completes "leak,oom" report --fail-on = leak,o
	completes "growth=" diff --fail-on gr
	completes "uprobe_session uprobe_single" trace --without uprobe_s
	ps() { printf '%s\n' 17 4711 4712; }
	completes "4711 4712" trace -p 47
	completes "--to --top --threshold" report --from 2026-11-21T15 : 04 : 00Z --t
	completes "--to --top --threshold" report --fail-on leak,growth = 64M,oom --t
	completes --json trace --buffer = 1M -cp 4711 --js
	completes "4711 4712" trace -cp 47
	completes memory trace -ce memo
	completes "" trace -ojo memscope-test-command --js
	# Files, which readline completes, and what only the user knows.
	completes "" report run
	completes "" report ""
	completes "" trace -o ""
	completes "" trace -d ""
	completes "" verify --repair = out
	# The command that is to be started, and its arguments.
	memscope-test-command() { :; }
	completes memscope-test-command trace -c memscope-test-com
	completes memscope-test-command record -o run.mscope --copies = off -- memscope-test-com
	mkdir -p directory/below
	completes "" trace ./direct
	completes "" record -- directory/bel
	completes verify help ver
	# Options may stand behind files, but not behind the command that is to be started.
	completes --format report run.mscope --fo
	completes "" report -- run.mscope --fo
	completes "" trace -- help ver
	completes "" trace -- memscope-test-command --js
	completes "" trace memscope-test-command --js
}

@test "exit codes in the man page are those that the program uses" {
	local code
	for code in 0 1 2 3 4 5; do
		grep -qx "\.B $code" "$BUILT/man/memscope-bpf-trace.1"
	done
}
