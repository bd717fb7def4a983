# SPDX-License-Identifier: BSD-2-Clause
#
# Processes that give themselves titles, as those of Ray and vLLM do, in everything that names processes.

load agent

# titled TITLE: the puppet's from now on, with the escapes of printf.
titled() {
	printf '%b' "$1" > title
	puppet "title $PWD/title"
}

# The puppet with a title before it has loaded CUDA, as these frameworks do it.
titled_puppet() {
	puppet_start
	TITLED=$PUPPET_PID
	titled "$1"
	puppet load
	settled
	puppet init
}

# What the agent calls it, once that is so: $1.
is_called() {
	wait_for "[ \"\$(ask /api/v1/who | jq -r '.processes[] | select(.pid == $TITLED).name')\" = '$1' ]" ||
		fail "$(ask /api/v1/who | jq -c ".processes[] | select(.pid == $TITLED)")"
}

# The names by which metrics have what is held.
named_in_metrics() {
	ask /metrics > metrics.txt
	promtool check metrics < metrics.txt
	grep '^memscope_process_gpu_memory_live_bytes' metrics.txt | grep -o 'comm="\(ray\|VLLM\)::[^"]*"' | sort -u
	! grep 'comm="ray.*script=' metrics.txt || fail "a script"
}

@test "a Ray worker is called as its actor is, whichever method it executes and while it waits" {
	agent_start
	SLURM_JOB_ID=4711 titled_puppet ray::IDLE
	puppet alloc 1000
	is_called ray::IDLE
	titled 'ray::Trainer.__init__'
	is_called ray::Trainer
	puppet alloc 4000
	for title in ray::Trainer ray::Trainer.step ray::IDLE ray::Trainer.evaluate; do
		titled "$title"
		sleep 1.2
	done
	fresh
	ask /api/v1/who > who.json
	assert_equal "$(jq -c ".processes[] | select(.pid == $TITLED) | [.comm, .name, .identity.title, .device_bytes, .exact]" who.json)" \
		'["ray::Trainer","ray::Trainer","ray::Trainer",5000,true]'
	assert_equal "$(named_in_metrics)" 'comm="ray::Trainer"'
	assert_equal "$(series memscope_allocations_total 'comm="ray::Trainer"')" 2
	"$MEMSCOPE" top --agent "$PWD/query" -b -n 1 > top.txt
	grep -q "$TITLED .*ray::Trainer" top.txt || fail "$(cat top.txt)"
	wait_for '"$MEMSCOPE" history --state-dir "$PWD/state" --json 2> /dev/null | jq -e ".rows[] | select(.process == \"ray::Trainer\")" > row.json'
	puppet_end
	agent_stop
	"$MEMSCOPE" report -q -f json -p "$TITLED" -o report.json state/ring
	valid report report.json
	assert_equal "$(jq -c ".recordings[0].processes[] | [.name, .identity.title]" report.json)" \
		'["ray::Trainer","ray::Trainer"]'
	"$MEMSCOPE" report -q -f json --comm 'ray::Tr*' -o report.json state/ring
	assert_equal "$(jq ".recordings[0].processes | length" report.json)" 1
	"$MEMSCOPE" report -q -f md -p "$TITLED" --by comm -o report.md state/ring
	grep -q '^| ray::Trainer | 1 |' report.md || fail "$(cat report.md)"
	"$MEMSCOPE" verify state/ring/*.mscope
}

@test "the title is written over the environment, which was known before" {
	agent_start
	export RANK=3 SLURM_JOB_ID=77
	puppet_start
	TITLED=$PUPPET_PID
	puppet load
	settled
	puppet init
	puppet alloc 1000
	fresh
	titled VLLM::EngineCore
	! tr '\0' '\n' < "/proc/$TITLED/environ" | grep RANK || fail "it is still there"
	is_called VLLM::EngineCore
	assert_equal "$(ask /api/v1/who | jq -c ".processes[] | select(.pid == $TITLED).identity.environment | [.RANK, .SLURM_JOB_ID]")" \
		'["3","77"]'
	ask /metrics > metrics.txt
	assert_equal "$(series memscope_process_gpu_memory_live_bytes 'comm="VLLM::EngineCore".*hpc_job="77"')" 1000
	puppet_end
	agent_stop
}

@test "vLLM's processes are called as they call themselves; record, trace and rules know them" {
	agent_start --deny 'comm=VLLM::APIServer'
	titled_puppet VLLM::Worker_TP0
	puppet alloc 1000
	is_called VLLM::Worker_TP0
	puppet_end
	rm puppet.in puppet.out
	titled_puppet VLLM::APIServer
	puppet alloc 1000
	wait_for 'ask /metrics > metrics.txt; [ "$(series memscope_agent_denied_processes "")" = 1 ]'
	# Its new name is noticed within seconds.
	titled VLLM::Worker_TP1
	is_called VLLM::Worker_TP1
	puppet alloc 3000
	fresh
	assert_equal "$(ask /api/v1/who | jq -c ".processes[] | select(.pid == $TITLED) | [.device_bytes, .exact, .was_running]")" \
		'[3000,false,true]'
	grep "process $TITLED (VLLM::Worker_TP) has another name and is not denied: it is traced from now on" agent.err
	puppet_end
	agent_stop
}

@test "a worker with a title for each task does not make a series for each" {
	local i

	agent_start
	titled_puppet ray::task-0
	puppet alloc 1000
	for ((i = 1; i <= 12; i++)); do
		titled "ray::task-$i"
		wait_for "ask /api/v1/who | jq -e '.processes[] | select(.pid == $TITLED and
			(.name == \"ray::task-$i\" or .name == \"ray::(various)\"))' > /dev/null"
	done
	is_called 'ray::(various)'
	assert_equal "$(named_in_metrics)" 'comm="ray::(various)"'
	puppet_end
	agent_stop
}

# Control characters, a line's end, quotes, what is no UTF-8, and more than there is room for.
HOSTILE='ray::a\n\033[31m"\\<b>\xff\r'

clean() {
	! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]' "$@" || fail "a control character"
}

in_history() {
	wait_for '"$MEMSCOPE" history --state-dir "$PWD/state" --json 2> /dev/null > history.json &&
		jq -e ".rows[] | select(.pid == $TITLED)" history.json > /dev/null'
	valid history history.json
	"$MEMSCOPE" history --state-dir "$PWD/state" > history.txt
	clean history.json history.txt
	grep -F 'ray::a\x0a\x1b[31m"\x5c<b>' history.txt
}

@test "hostile titles harm no output" {
	local title format long

	long=$(printf 'x%.0s' {1..4000})
	for title in "$HOSTILE" "$HOSTILE$long" "ray::$long" 'ray::\xff\xfe\xc3' 'ray::\n'; do
		rm -rf puppet.in puppet.out state
		PORT=$((${PORT:-$(agent_port)} + 1))
		agent_start
		titled_puppet "$title"
		puppet alloc 1000
		wait_for "ask /api/v1/who | jq -e '.processes[] | select(.pid == $TITLED and (.name | startswith(\"ray::\")))' > /dev/null"
		fresh
		ask /api/v1/who > who.json
		jq . who.json > who.again
		valid agent-who who.json
		ask "/api/v1/processes/$TITLED" > one.json
		valid agent-process one.json
		ask /metrics > metrics.txt
		promtool check metrics < metrics.txt
		"$MEMSCOPE" top --agent "$PWD/query" -b -n 1 > top.txt
		ask /debug/pprof/gpu_heap > heap.gz
		# The end of an interval of ten seconds is waited for only once.
		[ "$title" != "$HOSTILE$long" ] || in_history
		puppet_end
		agent_stop
		clean who.json one.json metrics.txt top.txt agent.err
		for format in text md html json; do
			"$MEMSCOPE" report -q -f $format -p "$TITLED" -o "out.$format" state/ring
		done
		valid report out.json
		clean out.text out.md out.json out.html
		! grep -F '\<b>' out.html || fail "markup"
		for format in ndjson csv chrome folded openmetrics; do
			"$MEMSCOPE" export -q -f $format -p "$TITLED" state/ring > "out.$format"
			! LC_ALL=C grep -nP '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]' "out.$format" || fail "in $format"
		done
		promtool check metrics < metrics.txt
		for format in top.txt out.text out.html; do
			grep -qF 'ray::' $format || fail "not in $format" "$(cat $format)"
		done
		[ "$title" != "$HOSTILE" ] || [ "$(grep -cF 'ray::a\x0a\x1b[31m"\x5c<b>' top.txt)" -gt 0 ] || fail "$(cat top.txt)"
	done
}
