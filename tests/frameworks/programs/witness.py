# SPDX-License-Identifier: BSD-2-Clause
"""What the programs here have in common: 300 arrays of 1 to 400,000 floats are made on the device, of
which up to 20 are kept. "ready" is printed when the framework and the driver are loaded and nothing is
allocated; it waits then for a line of its input. The line of JSON behind it: what there is at the end."""
import collections
import ctypes
import json
import sys
import time

import numpy

ctypes.CDLL("libcuda.so.1")


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def run(initialize, array, address, size):
    print("ready", flush=True)
    sys.stdin.readline()
    initialize()
    line = {"begin_ns": now()}
    kept = collections.deque(maxlen=20)
    for number in range(300):
        kept.append(array(numpy.zeros(1 + number * 77777 % 400000, numpy.float32)))
    line["end_ns"] = now()
    line["arrays"] = sorted([address(a), size(a)] for a in kept)
    print(json.dumps(line), flush=True)
