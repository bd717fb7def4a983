# SPDX-License-Identifier: BSD-2-Clause
#
# The emulated machine has two NUMA nodes, and a device that is near to the second one. The device's vendor
# and class are made up, so that it is a GPU; where it and memory lie is what the kernel says.

load ../e2e/helpers

CARD=/sys/bus/pci/devices/0000:81:00.0

# Where the puppet, told $@, has put page-locked memory, goes into report.json; report.md has it in words.
record_pinned() {
	local words

	puppet_with_cuda
	record_start -o a.mscope -p "$PUPPET_PID"
	for words in "$@"; do
		# shellcheck disable=SC2086 # several
		puppet pin $words
	done
	record_stop
	puppet_end
	"$MEMSCOPE" report -f json -o report.json a.mscope
	valid report report.json
	"$MEMSCOPE" report -f md -o report.md a.mscope
	rm -f a.mscope puppet.in puppet.out
}

of_recording() {
	jq -c ".recordings[0]$1" report.json
}

@test "page-locked memory on another NUMA node than the GPU's is named with its bytes and both nodes" {
	local mib=$((1 << 20))

	echo 0x10de > vendor
	echo 0x030200 > class
	mount --bind vendor "$CARD/vendor"
	mount --bind class "$CARD/class"
	record_pinned "0 $((72 * mib))" "1 $((24 * mib))"
	assert_equal "$(of_recording '.gpu_links | map([.bdf, .node])')" '[["0000:81:00.0",1]]'
	assert_equal "$(of_recording '.numa_nodes | map(.node)')" "[0,1]"
	assert_equal "$(of_recording '.processes[0].placement | map([.space, .blocks, .bytes, (.nodes | map([.node, .bytes]))])')" \
		"[[\"pinned\",2,$((96 * mib)),[[0,$((72 * mib))],[1,$((24 * mib))]]]]"
	assert_equal "$(of_recording '.processes[0].gpu_node')" 1
	assert_equal "$(of_recording '.findings | map([.rule, .bytes, (.evidence | map(.value))])')" \
		"[[\"wrong-node\",$((72 * mib)),[$((72 * mib)),$((24 * mib)),0,1]]]"
	grep -q 'has 72 MiB of host memory far from its GPU, which is near NUMA node 1: most of it on node 0' report.md
	# The other way round, there is nothing to say.
	record_pinned "0 $((24 * mib))" "1 $((72 * mib))"
	assert_equal "$(of_recording .findings)" "[]"
}
