#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The account of real PyTorch, on the simulated GPU, against its own: at each checkpoint the bytes that
# its allocator has reserved, and the address and size of each segment.

load ../e2e/helpers
load torch

@test "training, with the allocator that PyTorch has by default" {
	record_torch training
	same native 12
}

@test "training, with expandable segments" {
	expandable
	record_torch training
	same expandable 12
}

@test "training, with cudaMallocAsync" {
	PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync record_torch training
	same async 12
}

@test "a CUDA graph, whose memory is a pool of its own" {
	record_torch graphs
	same native 4
}

@test "a DataLoader with two workers and page-locked memory" {
	record_torch loader -f
	same native 3
}

@test "a parent and the child that it forks" {
	record_torch fork -f
	same native 2
}

@test "a tensor that is sent to a spawned process is counted once" {
	record_torch spawn -f
	same native 5
}

@test "attached late: what is allocated from then on" {
	mkfifo lines
	torch_command late
	"${COMMAND[@]}" < lines > late.out 3>&- 7>&- &
	OTHER_PID=$!
	exec 7> lines
	wait_for 'grep -qs ready late.out'
	record_start -o run.mscope -p "$OTHER_PID"
	echo go >&7
	exec 7>&-
	wait "$OTHER_PID"
	record_wait
	same native 3
	assert_equal "$("$MEMSCOPE" report -f json run.mscope | jq -c '.recordings[0].processes[0].unknown |
		[.was_running, .pre_attach_frees]')" "[true,1]"
}

@test "-a: a program that starts meanwhile" {
	record_start -a -o run.mscope
	# As a real driver, which takes that long; meanwhile it is noticed.
	SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms torch fork
	record_stop
	same native 2
}
