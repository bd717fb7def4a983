# SPDX-License-Identifier: BSD-2-Clause
#
# The columns in which tests/workloads/rows.h prints what it expects, of every call event:
#
#   op api driver_api result device context addr size src stream direction space kernel grid block
#   shared nested live backing freed captured graph free_bytes identity attribute made ended
#
# addr is the destination of a copy and the handle of a launch, sync or context; live is only shown
# of memory that is apart from addresses, or not our own; made and ended are
# space:allocations:bytes of each space; "-" is null or absent. Of a kernel's name it is what BPF
# reads (names here are ASCII): whether the tool finds the rest of it in the process depends on who
# is faster.
def amounts:
  map("\(.space):\(.allocations):\(.bytes)") | join(",") | if . == "" then null else . end;

select(.type == "call")
| if .op == "copy" and .addr != .dst
  then error("\(.api): addr \(.addr) is not dst \(.dst)")
  else . end
| [ .op, .api, .driver_api, .result, .device, .context,
    (if has("handle") then .handle else .addr end), .size_bytes, .src, .stream, .direction,
    .space, (if .kernel then .kernel[:511] | @uri else null end),
    (.grid, .block | if . then map(tostring) | join(",") else null end),
    .shared_bytes, .nested,
    (if .space | IN("physical", "mapped", "reserved", "imported") then .live_bytes else null end),
    .backing, .freed, (if .captured then "captured" else null end), .graph, .free_bytes,
    (if .identity then .identity | @uri else null end), .attribute,
    (.made // [] | amounts), (.ended // [] | amounts) ]
| map(if . == null then "-" else tostring end)
| join(" ")
