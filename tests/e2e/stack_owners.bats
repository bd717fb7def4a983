# SPDX-License-Identifier: BSD-2-Clause
#
# On whose behalf memory was taken, in a program with four libraries; and that a recording needs none of them.

load helpers

SIZES='4096 owners
8192 libfirst.so
12288 libsecond.so
16384 libthird.so
20480 libfourth.so
24576 owners
28672 libfourth.so'

# A library that allocates by itself, and through a function that the program hands to it.
library() {
	printf '#include <simcudart.h>\n#include <simcuda.h>\n#define AFTER(r) __asm__ volatile("" : : "r"(r) : "memory")
		static __attribute__((noinline)) int deep(size_t bytes) { %s AFTER(r); return r; }
		__attribute__((visibility("default"))) int take_%s(size_t bytes) { int r = deep(bytes); AFTER(r); return r; }
		__attribute__((visibility("default"))) int call_%s(int (*take)(size_t), size_t bytes) {
			int r = take(bytes); AFTER(r); return r; }\n' "$2" "$1" "$1" > "$1.c"
	gcc -O2 -fPIC -shared -fvisibility=hidden "-I$ROOT/tests/simcuda/include" "$1.c" -o "lib$1.so" "-L$BUILT/simcuda" \
		"${@:3}"
}

# $1: what the program does at the end.
build_owners() {
	local driver='CUdeviceptr p; int r = cuMemAlloc_v2(&p, bytes);' runtime='void *p; int r = cudaMalloc(&p, bytes);'
	library first "$driver" -lcuda
	library second "$runtime" -lcudart
	# Each has a runtime of its own, whose functions nobody else sees.
	library third "$runtime" -Wl,--exclude-libs,ALL -lcudart_static -ldl -pthread
	library fourth "$runtime" -Wl,--exclude-libs,ALL -lcudart_static -ldl -pthread
	printf '#include <simcuda.h>\n#include <signal.h>\n#include <stdio.h>\n#include <unistd.h>\n#define AFTER(r) __asm__ volatile("" : : "r"(r) : "memory")
		int take_first(size_t), take_second(size_t), take_third(size_t), take_fourth(size_t);
		int call_first(int (*)(size_t), size_t), call_third(int (*)(size_t), size_t);
		static __attribute__((noinline)) int own(size_t bytes) {
			CUdeviceptr p; int r = cuMemAlloc_v2(&p, bytes); AFTER(r); return r; }
		int main(void) { CUcontext c; int r = cuInit(0) || cuCtxCreate_v2(&c, 0, 0) || getchar() == EOF || own(4096) || take_first(8192) ||
			take_second(12288) || take_third(16384) || take_fourth(20480) || call_first(own, 24576) ||
			call_third(take_fourth, 28672); AFTER(r); if (r) return r; %s return 0; }\n' "$1" > owners.c
	gcc -O2 "-I$ROOT/tests/simcuda/include" owners.c -o owners -L. -lfirst -lsecond -lthird -lfourth \
		"-L$BUILT/simcuda" -lcuda "-Wl,-rpath,$PWD" "-Wl,-rpath-link,$BUILT/simcuda"
}

# Runs it, traced by the command $1 with these arguments; $STATUS: how it ended.
trace_owners() {
	rm -f owners.in
	mkfifo owners.in
	./owners < owners.in 3>&- 6>&- &
	OTHER_PID=$!
	exec 6> owners.in
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing TRACE_PID tool.log "$MEMSCOPE" "$1" $MASK "${@:2}" -v -p "$OTHER_PID" 6>&-
	wait_for 'grep -q "tables of all files are made" tool.log'
	echo >&6
	exec 6>&-
	wait "$OTHER_PID" && STATUS=0 || STATUS=$?
	wait "$TRACE_PID"
	TRACE_PID=
	OTHER_PID=
}

@test "each block of a program with four libraries, two of which hide a runtime, has the right owner" {
	build_owners ''
	trace_owners trace --stack --json -e alloc -o events.jsonl
	jq -r 'select(.op == "alloc") | "\(.size_bytes) \(.owner)"' events.jsonl > owners.txt
	assert_equal "$(sort -n owners.txt)" "$SIZES"
	assert_equal "$(jq -r 'select(.type == "stack").end' events.jsonl | sort -u)" complete
}

@test "a program that rewrites its stacks while they are walked costs their frames alone" {
	local count=2000
	mkfifo hostile.in
	"$WORKLOADS/hostile_stack" "$count" < hostile.in > hostile.out 3>&- 6>&- &
	OTHER_PID=$!
	exec 6> hostile.in
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
	in_background_tracing TRACE_PID tool.log "$MEMSCOPE" record $MASK -o run.mscope -v -p "$OTHER_PID" 6>&-
	wait_for 'grep -q "tables of all files are made" tool.log'
	echo >&6
	exec 6>&-
	wait "$OTHER_PID"
	wait "$TRACE_PID"
	TRACE_PID=
	OTHER_PID=
	assert_equal "$(cat hostile.out)" "$count"
	"$MEMSCOPE" report -f json -o report.json run.mscope
	# Most of the stacks lead nowhere, and each for its own reason.
	"$MEMSCOPE" export -f ndjson -o events.jsonl run.mscope
	assert_equal "$(grep -c '"op":"alloc".*"size_bytes":512' events.jsonl)" "$count"
	[ "$(jq -r 'select(.type == "stack").end' events.jsonl | sort -u | wc -l)" -ge 3 ]
}

@test "a database has the stacks of calls, as nsys has them, with owners and lines" {
	build_owners ''
	trace_owners record -o run.mscope
	"$MEMSCOPE" export -f sqlite -o run.sqlite run.mscope
	cat > query.py <<-'END'
		import sqlite3
		for row in sqlite3.connect("run.sqlite").execute("""
		    SELECT e.bytes, o.owner, (SELECT group_concat(value, ' < ') FROM (SELECT s.value FROM CUDA_CALLCHAINS c
		        JOIN StringIds s ON s.id = c.symbol JOIN StringIds m ON m.id = c.module
		        WHERE c.id = r.callchainId AND m.value NOT LIKE '%/lib%c.so%' ORDER BY c.stackDepth))
		    FROM CUDA_GPU_MEMORY_USAGE_EVENTS e JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)
		    JOIN memscope_stacks o ON o.id = r.callchainId ORDER BY 1"""):
		    print(*row)
	END
	python3 query.py > rows.txt
	assert_equal "$(cut -d' ' -f1,2 rows.txt)" "$SIZES"
	grep -qx '24576 owners own < call_first < main < .*_start' rows.txt
	grep -q '^28672 libfourth.so .*deep < take_fourth < call_third < main' rows.txt
}

@test "names survive: of a program that was killed, after its files are gone, and on another machine" {
	local file
	build_owners 'kill(getpid(), SIGKILL);'
	trace_owners record -o run.mscope
	assert_equal "$STATUS" 137
	for file in md json; do
		"$MEMSCOPE" report -f "$file" run.mscope > "before.$file"
	done
	grep -qE 'deep < take_fourth( < call_third)? < main' <(sed 's/\\//g' before.md)
	rm owners lib*.so
	# Another machine has neither them nor CUDA.
	mkdir -p root
	while read -r file; do
		cp --parents -L "$file" root
	done < <(ldd "$MEMSCOPE" | grep -o '/[^ ]*')
	cp "$MEMSCOPE" root/memscope-bpf
	cp run.mscope root
	for file in md json; do
		"$MEMSCOPE" report -f "$file" run.mscope | diff "before.$file" -
		(unset LD_LIBRARY_PATH && chroot root /memscope-bpf report -f "$file" run.mscope) | diff "before.$file" -
	done
}
