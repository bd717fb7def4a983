# SPDX-License-Identifier: BSD-2-Clause
#
# The columns in which tests/workloads/rows.h prints what it expects, of every call event:
#
#   op api driver_api result device context addr size src stream direction space kernel grid block
#   shared nested
#
# addr is the destination of a copy and the handle of a launch, sync or context; "-" is null or
# absent.
select(.type == "call")
| if .op == "copy" and .addr != .dst
  then error("\(.api): addr \(.addr) is not dst \(.dst)")
  else . end
| [ .op, .api, .driver_api, .result, .device, .context,
    (if has("handle") then .handle else .addr end), .size_bytes, .src, .stream, .direction,
    .space, (if .kernel then .kernel | @uri else null end),
    (.grid, .block | if . then map(tostring) | join(",") else null end),
    .shared_bytes, .nested ]
| map(if . == null then "-" else tostring end)
| join(" ")
