# SPDX-License-Identifier: BSD-2-Clause
#
# What the agent calls pods, where kubelet's directories of logs say it.

load agent

bats_require_minimum_version 1.5.0

POD_UID=6e1f3a52-9c0b-4d4e-8a51-0123456789ab
STATIC_UID=0123456789abcdef0123456789abcdef
# The beginning of a container's id, of which a test adds the last three digits.
CONTAINER=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abc

teardown() {
	local pid group

	for pid in ${PUPPET_PID:-} ${FLOOD_PID:-} ${OTHER_PID:-}; do
		kill -9 "$pid" 2> /dev/null || true
	done
	for group in ${GROUPS_MADE:-}; do
		wait_for "! [ -s $group/cgroup.procs ]" 100 || true
		rmdir "$group" || true
	done
}

# The cgroup of a container $2 in a pod $1, if cgroups can be made: $GROUP.
container_new() {
	local hierarchy=/sys/fs/cgroup/pids parent

	[ -d $hierarchy ] || hierarchy=/sys/fs/cgroup
	parent=$hierarchy/kubepods-memscope-$$-pod${1//-/_}.slice
	GROUP=$parent/cri-containerd-$2.scope
	[ -d "$parent" ] || mkdir "$parent" || skip "cgroups cannot be made here"
	mkdir "$GROUP"
	GROUPS_MADE="$GROUP ${GROUPS_MADE:-} $parent"
}

# A puppet in that cgroup from its beginning, which has been told names of somebody else.
contained_puppet() {
	cp "$WORKLOADS/puppet" puppet.program
	# shellcheck disable=SC2016 # expanded there
	printf '#!/bin/sh\necho $$ > "%s/cgroup.procs"\nexec "%s" "$@"\n' "$GROUP" "$PWD/$1" > start
	mv puppet.program "$1"
	chmod +x start
	rm -f puppet.in puppet.out
	POD_NAME=forged POD_NAMESPACE=forged puppet_as start
}

identity() {
	ask /api/v1/who | jq -c --arg comm "$1" '.processes[] | select(.comm == $comm).identity |
		[.namespace, .pod, .container_name, .pod_uid]'
}

@test "pods and containers have the names that kubelet's logs say, whatever their environment does" {
	local id=$CONTAINER$((RANDOM % 900 + 100)) other=feed${CONTAINER:4}999

	mkdir -p log/pods/research_train-0_$POD_UID log/containers
	# What is not kubelet's: it says nothing, and is not waited for.
	mkfifo "log/pods/research_fifo_$POD_UID"
	mkdir "log/pods/research_"$'e\n\033[31m'"_$POD_UID" "log/pods/a_b_c_$POD_UID"
	ln -s / "log/pods/research_out_$POD_UID"
	ln -s /nonexistent "log/containers/train-0_research_cuda-$id.log"
	container_new "$POD_UID" "$id"
	agent_start --pod-logs "$PWD/log/pods" --deny namespace=kube-system
	contained_puppet agent-n-one
	puppet alloc 4096
	fresh
	assert_equal "$(identity agent-n-one)" "[\"research\",\"train-0\",\"cuda\",\"$POD_UID\"]"
	ask /metrics > metrics.txt
	assert_equal "$(series memscope_allocations_total 'container="cuda",pod="train-0",namespace="research"')" 1
	grep forged metrics.txt && fail "by its environment"
	puppet_end
	# A static pod, which began later, with one container and no link to its log; what its processes say of
	# their namespace spares them nothing.
	mkdir -p "log/pods/kube-system_etcd-node7_$STATIC_UID/etcd"
	container_new "$STATIC_UID" "$other"
	contained_puppet agent-n-two
	wait_for 'ask /metrics > metrics.txt; [ "$(series memscope_agent_denied_processes "")" = 1 ]'
	assert_equal "$(identity agent-n-two)" ""
	puppet_end
	agent_stop
	"$MEMSCOPE" report -q -f json -o report.json --pod research/train-0 state/ring
	assert_equal "$(jq -c '[.recordings[0].processes[].name]' report.json)" '["agent-n-one"]'
	"$MEMSCOPE" verify state/ring/*.mscope
}

@test "without kubelet's logs, and if others could write them, pods have the names that they say" {
	local id=$CONTAINER$((RANDOM % 900 + 100))

	mkdir -p log/pods/research_train-0_$POD_UID/cuda
	chmod 777 log/pods
	container_new "$POD_UID" "$id"
	agent_start --pod-logs "$PWD/log/pods"
	contained_puppet agent-n-one
	puppet alloc 4096
	fresh
	assert_equal "$(identity agent-n-one)" "[\"forged\",\"forged\",null,\"$POD_UID\"]"
	grep -q "log/pods: not kubelet's: it must be root's or yours" agent.err
	puppet_end
	agent_stop
	# With a file of names, that one comes before both.
	chmod 755 log/pods
	echo "${id:0:12} mine own -" > names
	agent_start --pod-logs "$PWD/log/pods" --container-map names
	contained_puppet agent-n-two
	puppet alloc 4096
	fresh
	assert_equal "$(identity agent-n-two)" "[\"mine\",\"own\",null,\"$POD_UID\"]"
	puppet_end
	agent_stop
	agent_start --pod-logs off
	contained_puppet agent-n-three
	puppet alloc 4096
	fresh
	assert_equal "$(identity agent-n-three)" "[\"forged\",\"forged\",null,\"$POD_UID\"]"
	puppet_end
	agent_stop
}

@test "--pod-logs names a directory, which may not be there yet" {
	run -2 "$MEMSCOPE" agent --check-config --pod-logs log/pods
	[[ $output == *'--pod-logs: "log/pods" is not an absolute path, or off'* ]]
	run -2 "$MEMSCOPE" record --pod-logs /dev/null true
	[[ $output == *'--pod-logs: /dev/null is not a directory'* ]]
	run -0 "$MEMSCOPE" agent --check-config --pod-logs "$PWD/later"
	[[ $output == *"later: No such file or directory; until it is there"* ]]
	echo 'pod-logs = /var/log/pods' > agent.conf
	run -0 "$MEMSCOPE" agent --check-config --config agent.conf
	assert_equal "$output" ""
}
