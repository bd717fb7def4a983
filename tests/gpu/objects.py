# SPDX-License-Identifier: BSD-2-Clause
"""Makes tests/golden/ioctls.txt of what nvlog.c and steps.cu have written down: of the ioctls that
make and free objects, a line each, and what NVML said of the process after each step.

  ioctl REQUEST ARGUMENT [PARAMETERS]   the argument as the driver left it, in hexadecimal; and the
                                        structure that it points to, as far as it is of interest
  expect BYTES STEP                     what NVML said

usage: objects.py NVLOG LINES
"""
import json
import struct
import sys

NUMBERS = (0x27, 0x29, 0x2B, 0x34)
CLASSES = (0x00, 0x01, 0x41, 0x80, 0x40, 0x3E, 0x71)
PARAMS_BYTES = 0x48


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    with open(sys.argv[2], encoding="utf-8") as file:
        steps = [d for d in map(json.loads, file) if "step" in d and d["processes"] < 64]
    pid = events[0]["tid"]
    lines = [(s["ts"], f"expect {max(s['nvml_own'], 0)} {s['step']}") for s in steps]
    for event in events:
        if event["what"] != "ioctl" or event["kind"] == "u" or event["tid"] != pid:
            continue
        request = int(event["request"], 16)
        if request & 0xFF not in NUMBERS:
            continue
        if request & 0xFF in (0x27, 0x2B):
            if struct.unpack_from("<I", bytes.fromhex(event["out"]), 12)[0] not in CLASSES:
                continue
        params = event.get("nested_out", "")[:2 * PARAMS_BYTES]
        lines.append((event["ts"], f"ioctl {request:x} {event['out']} {params}".rstrip()))
    for _, line in sorted(lines, key=lambda pair: pair[0]):
        print(line)


main()
