# SPDX-License-Identifier: BSD-2-Clause
#
# Where allocations are made: call stacks, walked in the kernel by tables of unwind information.

load helpers

# Whether the processes that read files for the trace wait for something to do: a look says it only of
# that moment, so it is looked five times.
readers_wait() {
	local i child
	for i in 1 2 3 4 5; do
		sleep 0.02
		for child in $(pgrep -P "$TRACE_PID" -x memscope-files); do
			[[ $(< "/proc/$child/stat") == *") S "* ]] || return 1
		done
	done
}

# Starts the workload, and a trace of it once it waits; sets OTHER_PID and TRACE_PID. Descriptor 6 leads to it.
stacks_start() {
	local command=trace
	case $1 in
	record)
		command=record
		shift
		;;
	esac
	rm -f stacks.in
	mkfifo stacks.in
	[ -e stacks ] || cp "$WORKLOADS/stacks" .
	./stacks < stacks.in > expected.txt 3>&- 6>&- &
	OTHER_PID=$!
	exec 6> stacks.in
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing TRACE_PID tool.log "$MEMSCOPE" "$command" $MASK "$@" -v -p "$OTHER_PID" 6>&-
	# The tables of its files are made meanwhile, and its lines are read: a frame that is seen before has none.
	[[ $* != *--stack* ]] || wait_for 'grep -q "tables of all files are made" tool.log && readers_wait'
}

stacks_end() {
	echo >&6
	wait_for 'grep -q end expected.txt'
	echo >&6
	exec 6>&-
	wait "$OTHER_PID"
	wait "$TRACE_PID"
	TRACE_PID=
	OTHER_PID=
}

@test "functions of all shapes of frames are found, through a library, a signal and a thread, with lines" {
	stacks_start --stack --json -o events.jsonl
	stacks_end
	"$ROOT/tests/e2e/stack_check" events.jsonl expected.txt stacks
}

@test "the same with multi links, and from where functions begin alone" {
	stacks_start --stack --json -o events.jsonl --without=uprobe_session
	stacks_end
	"$ROOT/tests/e2e/stack_check" events.jsonl expected.txt
	stacks_start --stack --json -o events.jsonl --no-return
	stacks_end
	"$ROOT/tests/e2e/stack_check" events.jsonl expected.txt
}

@test "a recording has the names, whatever becomes of the program and its files" {
	stacks_start record --stacks=alloc -o run.mscope
	stacks_end
	mv stacks elsewhere
	"$MEMSCOPE" export -f ndjson -o events.jsonl run.mscope
	"$ROOT/tests/e2e/stack_check" events.jsonl expected.txt elsewhere
	"$MEMSCOPE" report -f json -o report.json run.mscope
	assert_equal "$(jq -c '.recordings[0].owners' report.json)" \
		'[{"owner":"stacks","processes":1,"live_bytes":84980,"live_count":10,"peak_bytes":84980,"alloc_bytes":84980,"allocs":10}]'
	assert_equal "$(jq -r '[.recordings[0].sites[].frames[0].function] | unique | .[]' report.json)" take
	"$MEMSCOPE" report -f md run.mscope > lines.md
	grep -qE 'take \(stacks\.c:[0-9]+\) \\< stacks_plain \(stacks\.c:[0-9]+\) \\< inner \(' lines.md
	sed 's/ (stacks\.c:[0-9]*)//g' lines.md > report.md
	grep -qF 'take \< stacks_plain \< stacks_alloca \< stacks_aligned \< main' report.md
	grep -qF 'take \< stacks_plain \< inner \< outer \< stacks_inlining \< main' report.md
	"$MEMSCOPE" export -f folded -o run.folded run.mscope
	grep -q ';main;stacks_aligned;stacks_alloca;stacks_plain;take;device unknown;device;cuMemAlloc_v2 [0-9]' run.folded
	assert_equal "$(awk '!/^#/ { sum += $NF } END { print sum }' run.folded)" 84980
	"$MEMSCOPE" export -f pprof -o run.pb.gz run.mscope
	"$ROOT/tests/e2e/export_reader.py" pprof run.pb.gz report.json
	for format in perfetto chrome; do
		"$MEMSCOPE" export -f $format -o run.$format run.mscope
		"$ROOT/tests/e2e/export_reader.py" $format run.$format report.json events.jsonl > counts
		grep -qx "10 allocations with call stacks" counts
	done
}

@test "below the line of a call there are its frames, like those of strace -k" {
	stacks_start --stack -o trace.txt
	stacks_end
	sed -n '/10.7 KiB/,/^[0-9]/p' trace.txt | grep '^ > ' > thread.txt
	grep -qxE ' > stacks\(take\+0x[0-9a-f]+\) \[0x[0-9a-f]+\] stacks\.c:[0-9]+' <(head -n 1 thread.txt)
	grep -q 'stacks(thread+0x' thread.txt
	run grep -q '\.\.\.' trace.txt
	[ "$status" -ne 0 ]
	# Without the option there are none.
	stacks_start -o trace.txt
	stacks_end
	run grep -q '^ > ' trace.txt
	[ "$status" -ne 0 ]
}

# Without its symbols, which $1 gets.
strip_stacks() {
	objcopy --only-keep-debug "$WORKLOADS/stacks" "$1"
	objcopy --strip-all "$WORKLOADS/stacks" stacks
}

@test "a stripped program has the names that it has packed in itself" {
	strip_stacks symbols
	objcopy --strip-debug symbols
	python3 -c 'import lzma, sys; sys.stdout.buffer.write(lzma.compress(open("symbols", "rb").read()))' > symbols.xz
	objcopy --add-section .gnu_debugdata=symbols.xz stacks
	stacks_start --stack --json -o events.jsonl
	stacks_end
	# Which functions were put into others, debug information alone says.
	sed -i 's/ inner outer / /' expected.txt
	"$ROOT/tests/e2e/stack_check" events.jsonl expected.txt
	# Packed badly, they cost the names alone.
	head -c "$(($(stat -c %s symbols.xz) / 2))" symbols.xz > bad.xz
	objcopy --update-section .gnu_debugdata=bad.xz stacks
	stacks_start --stack --json -o events.jsonl
	stacks_end
	assert_equal "$(jq -r 'select(.type == "stack").end' events.jsonl | sort -u)" complete
	run grep -q '"function":"take"' events.jsonl
	[ "$status" -ne 0 ]
}

# What lines the report's sites have; $@: options.
named_sites() {
	"$MEMSCOPE" report -f json "$@" run.mscope |
		jq -r '.recordings[0].sites[].frames[0] | "\(.function // "") \(.source // "" | split("/") | last // ""):\(.line // 0)"' | sort -u
}

@test "report --symbols: a stripped program's functions and lines, from files with its build ID alone" {
	local id line
	strip_stacks symbols.debug
	stacks_start record --stacks=alloc -o run.mscope
	stacks_end
	assert_equal "$(named_sites)" " :0"
	id=$(readelf -n stacks | sed -n 's/.*Build ID: //p')
	line="take stacks.c:$(grep -n 'cuMemAlloc_v2(&block, next_size)' "$ROOT/tests/workloads/stacks.c" | cut -d: -f1)"
	mkdir -p "tree/.build-id/${id:0:2}" plain/deep empty other
	cp symbols.debug "tree/.build-id/${id:0:2}/${id:2}.debug"
	cp "$WORKLOADS/stacks" plain/deep/renamed
	# The report says what can be done, and not once it has been.
	assert_equal "$("$MEMSCOPE" report run.mscope | grep -c '^Functions without a name in these call stacks: .*report --symbols DIRECTORY. takes the names')" 1
	assert_equal "$("$MEMSCOPE" report --symbols tree run.mscope | grep -c 'Functions without a name')" 0
	assert_equal "$(named_sites --symbols tree 2> tree.err)" "$line"
	assert_equal "$(named_sites --symbols plain)" "$line"
	"$MEMSCOPE" export -f folded --symbols tree -o run.folded run.mscope
	grep -q ';main;stacks_aligned;stacks_alloca;stacks_plain;take;' run.folded
	# With what a compiler has put into others, as if it had not been stripped.
	grep -q ';main;stacks_inlining;outer;inner;stacks_plain;take;' run.folded
	"$MEMSCOPE" export -f ndjson --symbols tree -o events.jsonl run.mscope
	"$ROOT/tests/e2e/stack_check" events.jsonl expected.txt "$WORKLOADS/stacks"
	# The stripped file itself knows no more; another build of it is not used, even where it should lie.
	cp stacks empty
	assert_equal "$(named_sites --symbols empty)" " :0"
	printf 'int main(void) { return 0; }\n' | gcc -x c - -o other/stacks
	mkdir -p "other/.build-id/${id:0:2}"
	cp other/stacks "other/.build-id/${id:0:2}/${id:2}.debug"
	assert_equal "$(named_sites --symbols other 2> other.err)" " :0"
	grep -q "other/stacks is not the file that was traced (its build ID is [0-9a-f]*, not $id), so it is not used" other.err
	# That has been said; of a directory with nothing of the name, the other line says it, once.
	! grep -q "no file in it" tree.err other.err || fail "$(cat tree.err other.err)"
	mkdir unrelated
	cp other/stacks unrelated/program
	assert_equal "$(named_sites --symbols unrelated 2> unrelated.err)" " :0"
	assert_equal "$(grep -c "symbols unrelated: no file in it has the build ID of .*/stacks ($id).*: [1-9][0-9]* files\? without symbols" unrelated.err)" 1
	run "$MEMSCOPE" report --symbols none run.mscope
	[[ $output == *"--symbols none: No such file or directory"* ]]
}

@test "report --debuginfod asks the servers that are named, and only then" {
	local id port
	strip_stacks symbols.debug
	stacks_start record --stacks=alloc -o run.mscope
	stacks_end
	id=$(readelf -n stacks | sed -n 's/.*Build ID: //p')
	mkdir -p "server/buildid/$id"
	cp symbols.debug "server/buildid/$id/debuginfo"
	export DEBUGINFOD_CACHE_PATH=$PWD/cache
	unset DEBUGINFOD_URLS
	run "$MEMSCOPE" report --debuginfod run.mscope
	[[ $output == *"DEBUGINFOD_URLS does not say which server to ask"* ]]
	python3 -u -m http.server -d server -b 127.0.0.1 0 > server.log 2>&1 3>&- &
	OTHER_PID=$!
	wait_for 'grep -q "port [1-9]" server.log'
	port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' server.log)
	export DEBUGINFOD_URLS=http://127.0.0.1:$port
	assert_equal "$(named_sites)" " :0"
	assert_equal "$(grep -c GET server.log)" 0
	[[ $(named_sites --debuginfod) == "take stacks.c:"* ]]
	# What it sends is checked, too.
	printf 'int main(void) { return 0; }\n' | gcc -x c - -o "server/buildid/$id/debuginfo"
	rm -r cache
	assert_equal "$(named_sites --debuginfod 2> other.err)" " :0"
	grep -q "sent has another build ID than $id" other.err
	kill "$OTHER_PID"
	OTHER_PID=
}

# The functions of the stack of what a program with generated code allocates; $@: jit_program's arguments.
jit_functions() {
	rm -f jit.in jit.out
	mkfifo jit.in
	/usr/bin/python3 "$ROOT/tests/e2e/jit_program" "$@" < jit.in > jit.out 3>&- 6>&- &
	OTHER_PID=$!
	exec 6> jit.in
	wait_for 'grep -qs ready jit.out'
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing TRACE_PID tool.log "$MEMSCOPE" trace $MASK --stack --stack-frames=native --json \
		-o events.jsonl -v -p "$OTHER_PID" 6>&-
	wait_for 'grep -q "tables of all files are made" tool.log'
	local map=/tmp/perf-$OTHER_PID.map
	stacks_let_go
	rm -f "$map"
	jq -r 'select(.type == "stack") | [.frames[] | .function // ""] | join(" ")' events.jsonl > functions.txt
}

stacks_let_go() {
	echo >&6
	exec 6>&-
	wait "$OTHER_PID"
	wait "$TRACE_PID"
	TRACE_PID=
	OTHER_PID=
}

@test "generated code has the names that the program writes for perf, if it alone can write them" {
	jit_functions 644 0
	grep -q "^generated::function .* Py_BytesMain .* _start$" functions.txt
	assert_equal "$(jq -r 'select(.type == "stack").owner' events.jsonl | grep -c perf)" 0
	jit_functions 666 0
	run grep -q generated functions.txt
	[ "$status" -ne 0 ]
	grep -q "which no other user can write" tool.log
	jit_functions 644 65534
	run grep -q generated functions.txt
	[ "$status" -ne 0 ]
	jit_functions 644 0 old
	run grep -q generated functions.txt
	[ "$status" -ne 0 ]
	grep -q "is older than the program" tool.log
}

@test "names of generated code are read where no user's program decides how long that takes" {
	local place
	for place in tmpfs root; do
		jit_functions 644 0 "$place"
		grep -q '^generated::function ' functions.txt
	done
	for place in ramfs overlay bind; do
		jit_functions 644 0 "$place"
		assert_equal "$(wc -l < functions.txt)" 1
		run grep -q generated functions.txt
		[ "$status" -ne 0 ]
	done
}

@test "generated functions at one place of two files of memory are two, and a name that comes late is shown" {
	jit_functions 644 0 shared
	assert_equal "$(cut -d' ' -f1 functions.txt | xargs)" "generated::function generated::other"
	jit_functions 644 0 late
	[[ $(tail -1 functions.txt) == "generated::function "* ]]
}

@test "tables of large files are kept for the next trace, and not used if they are damaged" {
	local run kept file
	cp "$WORKLOADS/stacks" .
	truncate -s 5M stacks
	for run in new kept damaged; do
		for file in tables/*; do
			[ "$run" != damaged ] || printf x | dd of="$file" bs=1 seek=200 conv=notrunc status=none
		done
		stacks_start --stack --stack-cache="$PWD/tables" --json -o events.jsonl
		stacks_end
		"$ROOT/tests/e2e/stack_check" events.jsonl expected.txt
		kept=0
		[ "$run" != kept ] || kept=1
		grep -q "tables of all files are made: .*; $kept were kept" tool.log
		# Its unwind table, and what its symbols say.
		assert_equal "$(stat -c %a tables tables/* | xargs)" "700 600 600"
	done
	# Others could have written it.
	chmod 777 tables
	stacks_start --stack --stack-cache="$PWD/tables" --json -o events.jsonl
	stacks_end
	grep -q "in which this user alone can write" tool.log
	grep -q "; 0 were kept" tool.log
	stacks_start --stack --stack-cache=off --json -o events.jsonl
	stacks_end
	grep -q "; 0 were kept" tool.log
}

@test "unwind tables say what readelf says" {
	local file
	for file in "$WORKLOADS/stacks" "$MEMSCOPE" "$BUILT/simcuda/libcuda.so.1" \
		/lib/*/libc.so.6 /lib/*/libm.so.6 /usr/lib/*/libstdc++.so.6; do
		[ -e "$file" ] || continue
		"$WORKLOADS/unwindcat" "$file" > table.txt
		"$ROOT/tests/e2e/unwind_check" table.txt "$file"
	done
}

# The n-th of the processes that read files: unwind tables, functions, lines, lines in other files.
reader() {
	pgrep -P "$RECORD_PID" -x memscope-files | sort -n | sed -n "$1p"
}

@test "lines that could not be read in time are told of; the program's do not wait for a library's" {
	local held id

	puppet_with_cuda
	record_start -o late.mscope -p "$PUPPET_PID"
	held=$(reader 3)
	kill -STOP "$held"
	puppet alloc 1000
	wait_for '"$MEMSCOPE" report -j late.mscope 2> report.err | jq -e ".recordings[0].processes[0].spaces[0].allocs == 1" > out'
	kill -CONT "$held"
	record_stop
	grep -q "/puppet: lines of code could not be read in time, so call stacks have functions without them: report --symbols DIRECTORY" record.err
	run ! grep -q 'puppet\.c:' <("$MEMSCOPE" report -f md late.mscope)
	"$MEMSCOPE" report -f md --symbols "$WORKLOADS" late.mscope | grep -q 'puppet\.c:'
	# Such as libc's, where its debug information is installed.
	record_start -o lines.mscope -p "$PUPPET_PID"
	held=$(reader 4)
	id=$(readelf -n "$(ldd "$WORKLOADS/puppet" | awk '/libc\.so/ { print $3 }')" | sed -n 's/.*Build ID: //p')
	[ -n "$held" ] || [ ! -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ]
	[ -z "$held" ] || kill -STOP "$held"
	puppet alloc 2000
	wait_for '"$MEMSCOPE" report -j lines.mscope 2> report.err | jq -e ".recordings[0].processes[0].spaces[0].allocs == 1" > out'
	[ -z "$held" ] || kill -CONT "$held"
	record_stop
	puppet_end
	"$MEMSCOPE" report -f md lines.mscope | grep -q 'puppet\.c:'
	run ! grep -q "could not be read in time" record.err
}

@test "lines that could not be read in time are told of if the process has ended long before" {
	local held

	opened() {
		find "/proc/$RECORD_PID/fd" -lname "$(realpath "$WORKLOADS/puppet")"
	}
	puppet_with_cuda
	sleep 60 3>&- 8>&- 9<&- &
	OTHER_PID=$!
	record_start -o ended.mscope -p "$PUPPET_PID,$OTHER_PID"
	held=$(reader 3)
	kill -STOP "$held"
	puppet alloc 1000
	wait_for '"$MEMSCOPE" report -j ended.mscope 2> report.err | jq -e ".recordings[0].processes[0].spaces[0].allocs == 1" > out'
	kill -CONT "$held"
	[ -n "$(opened)" ]
	puppet_end
	wait_for '[ -z "$(opened)" ]'
	record_stop
	grep -q "/puppet: lines of code could not be read in time" record.err
}

@test "the summary says of how many allocations it does not tell where they were made, and why" {
	# Without its files' tables, or before it has been looked at.
	trace -q -c --stack --stack-memory=4K -- "$WORKLOADS/calls" 3 > out.txt
	grep -qE "^  Of 3 allocations of device memory: without a call stack [0-3](; with one that ends early [1-3] \(.* at .*\))?\. The first calls can" out.txt ||
		fail "$(cat out.txt)"
	trace -q -c -- "$WORKLOADS/calls" 3 > out.txt
	assert_equal "$(grep -c "allocations of device memory" out.txt)" 0
}

# The stopped tool cannot look at libffi, through which ctypes calls, until its frame has ended the walk.
@test "a stack that ends in a file that was mapped just now is one whose table is not there yet" {
	cat > late.py <<-'PYTHON'
		import sys
		sys.stdin.readline()
		import ctypes
		cuda = ctypes.CDLL("libcuda.so.1")
		context, block = ctypes.c_void_p(), ctypes.c_uint64()
		cuda.cuInit(0)
		cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
		cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(8 << 20))
		print("done", flush=True)
		sys.stdin.readline()
	PYTHON
	mkfifo late.in
	LD_PRELOAD=libcuda.so.1 /usr/bin/python3 late.py < late.in > late.txt 3>&- 6>&- &
	OTHER_PID=$!
	exec 6> late.in
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps" && ! grep -q libffi "/proc/$OTHER_PID/maps"'
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing TRACE_PID tool.log "$MEMSCOPE" trace $MASK -j --stack --stack-frames=native -v \
		-o late.jsonl -p "$OTHER_PID" 6>&-
	wait_for 'grep -q "tables of all files are made" tool.log'
	kill -STOP "$TRACE_PID"
	echo >&6
	wait_for 'grep -q done late.txt'
	kill -CONT "$TRACE_PID"
	# Of a process that has ended, nothing could be looked at.
	wait_for 'grep -q "\"op\":\"alloc\"" late.jsonl'
	echo >&6
	exec 6>&-
	wait "$OTHER_PID" "$TRACE_PID"
	TRACE_PID=
	OTHER_PID=
	assert_equal "$(jq -c 'select(.type == "stack") | [.end, (.frames[-1].module | contains("libffi"))]' late.jsonl)" \
		'["no_table",true]'
}
