# SPDX-License-Identifier: BSD-2-Clause
#
# Single uprobes, for kernels without links for many. They take a tenth of a second each to go, all
# of it waiting, so these tests run beside the others (tests/run). The driver is a copy: no probe of
# another test is in the same file.

load helpers

WITHOUT_LINKS=--without=uprobe_session,uprobe_multi

eval "with_common_driver_$(declare -f setup)"
setup() {
	with_common_driver_setup
	mkdir driver
	cp "$BUILT/simcuda/libcuda.so.1" driver
	LD_LIBRARY_PATH=$PWD/driver
}

@test "every call of ffmpeg is seen exactly once, by single uprobes" {
	trace $WITHOUT_LINKS --json -e all -o events.jsonl -- $(ffmpeg_command 3)
	"$COMPARE" events.jsonl oracle.log
}

@test "single uprobes attach, see the same, and leave nothing behind" {
	two_threads_of_a_puppet $WITHOUT_LINKS
}

@test "the last of hundreds of single uprobes to go is one that nobody calls" {
	last_probe_is_cold 2 $WITHOUT_LINKS
}

@test "the last of hundreds of single uprobes to go is one that nobody calls, also if the tool is killed" {
	last_probe_is_cold 9 $WITHOUT_LINKS
}
