# SPDX-License-Identifier: BSD-2-Clause
#
# What a report says of programs whose memory grows. The workload prints by how much.

load reading

# grown WAY: records it as is the default, and makes report.json
grown() {
	watched record -o run.mscope -- "$WORKLOADS/grow" "$1" > grown
	"$MEMSCOPE" report $UNCONTENDED -f json -o report.json run.mscope
	"$MEMSCOPE" report $UNCONTENDED -f text -o report.txt run.mscope
}

in_report() {
	jq -c "$1" report.json
}

findings() {
	in_report '[.recordings[0].findings[] | [.rule, .topic, .device]]'
}

@test "what is freed when the program ends has grown" {
	grown freed
	assert_equal "$(findings)" '[["leak-growth","leak",0]]'
	assert_equal "$(in_report '.recordings[0].findings[0] | [.bytes, .pattern]')" \
		"[$(cat grown),\"all of one size\"]"
	grep -q "^grow ([0-9]*) grows by 60 MiB until it ends: [0-9]* allocations in .* (leak-growth" report.txt
	run "$MEMSCOPE" report --fail-on leak run.mscope
	assert_equal "$status" 8
}

@test "blocks that become ever larger are one leak, and no bottleneck" {
	grown larger
	assert_equal "$(findings)" '[["leak-growth","leak",0]]'
	assert_equal "$(in_report '.recordings[0].findings[0].bytes')" "$(cat grown)"
	in_report '.recordings[0].findings[0].pattern' | grep -q geometric
	grep -q "Pattern: geometric" report.txt
}

@test "what is filled and emptied in cycles is neither a leak nor nothing" {
	grown cycles
	assert_equal "$(findings)" '[["sawtooth","note",0]]'
	in_report '.verdict[0]' | grep -q "Nothing wrong was found.*Not wrong, but to be known: grow"
	grep -q "No leak, but to be known:" report.txt
	"$MEMSCOPE" report --fail-on leak run.mscope > report.md
}

@test "memory that no allocation explains" {
	grown modules
	assert_equal "$(findings)" '[["pile","leak",0],["unexplained-growth","leak",0]]'
	# What the last window had least, less what the first one had.
	in_report ".recordings[0].findings[0].bytes >= $(cat grown) * 3 / 4 and
		.recordings[0].findings[0].bytes <= $(cat grown)" | grep -qx true
	grep -q "more in use that no allocation explains" report.txt
}
