# SPDX-License-Identifier: BSD-2-Clause
"""A program that gives a GPU work whose length it knows: kernels that end when the GPU's own clock says so, copies and
memsets of known sizes. It writes lines as plays.py does.

usage: timed_plays.py LINES                 all steps
       timed_plays.py LINES --short         a context, a kernel, and no more
       timed_plays.py LINES --long SECONDS  a kernel each 10 ms
       timed_plays.py LINES --nvtx LIBRARY  so many ranges and marks, by that library
"""
import ctypes as c
import sys
import time

from plays import MIB, Play, begin

BUSY_NS = 20_000_000
BUSY, LAUNCHES, COPIES, MEMSETS, PAIRS, MARKS = 5, 2000, 20, 3, 1000, 10
BLOCKING = 4  # CU_CTX_SCHED_BLOCKING_SYNC
PTX = b""".version 6.0
.target %s
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry busy(.param .u64 ns)
{
	.reg .u64 %%d<4>;
	.reg .pred %%p<2>;
	ld.param.u64 %%d0, [ns];
	mov.u64 %%d1, %%globaltimer;
again:
	mov.u64 %%d2, %%globaltimer;
	sub.u64 %%d3, %%d2, %%d1;
	setp.lt.u64 %%p1, %%d3, %%d0;
	@%%p1 bra again;
	ret;
}
"""


class Kernels:
    """Of the context that is current."""

    def __init__(self, play):
        self.play, module = play, c.c_void_p()
        self.nothing, self.busy = c.c_void_p(), c.c_void_p()
        for target in (b"sm_50", b"sm_75", b"sm_90"):
            if not play.cuda.cuModuleLoadData(c.byref(module), PTX % target):
                break
        play.call("cuModuleGetFunction", c.byref(self.nothing), module, b"nothing")
        play.call("cuModuleGetFunction", c.byref(self.busy), module, b"busy")

    def launch(self, function, *values):
        held = [c.c_uint64(value) for value in values]
        pointers = (c.c_void_p * len(held))(*(c.addressof(value) for value in held)) if held else None
        self.play.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, pointers, None)

    def wait_for_busy(self):
        for _ in range(BUSY):
            self.launch(self.busy, BUSY_NS)
            self.play.call("cuCtxSynchronize")


def many_launches(play, kernels):
    times = []
    for _ in range(LAUNCHES):
        began = time.perf_counter_ns()
        kernels.launch(kernels.nothing)
        times.append(time.perf_counter_ns() - began)
    play.call("cuCtxSynchronize")
    times.sort()
    play.done("launches", launch_ns=times[len(times) // 2])


def placed(address):
    """What the kernel's numa_maps says of the mapping that begins at or before an address: its pages on nodes."""
    best = ""
    with open("/proc/self/numa_maps", encoding="utf-8") as lines:
        for line in lines:
            if int(line.split()[0], 16) <= address:
                best = line
    return [word for word in best.split() if word[0] == "N" and "=" in word]


def copies(play):
    """For two seconds, so that links are looked at meanwhile; then some that are counted."""
    locked, managed = c.c_void_p(), c.c_uint64()
    block, pageable = play.take(16 * MIB), c.create_string_buffer(16 * MIB)
    play.call("cuMemHostAlloc", c.byref(locked), c.c_size_t(16 * MIB), 0)
    play.call("cuMemAllocManaged", c.byref(managed), c.c_size_t(4 * MIB), 1)
    if not play.results:
        c.memset(locked, 1, 16 * MIB)
        c.memset(managed.value, 1, 4 * MIB)
    count, until = 0, time.monotonic() + 2
    while not play.results and (time.monotonic() < until or count < COPIES):
        play.call("cuMemcpyHtoDAsync_v2", block, locked, c.c_size_t(16 * MIB), None)
        play.call("cuCtxSynchronize")
        count += 1
    play.call("cuMemcpyHtoD_v2", block, pageable, c.c_size_t(16 * MIB))
    for _ in range(COPIES):
        play.call("cuMemcpyDtoHAsync_v2", locked, block, c.c_size_t(16 * MIB), None)
    for _ in range(MEMSETS):
        play.call("cuMemsetD8Async", block, 0, c.c_size_t(16 * MIB), None)
    play.call("cuCtxSynchronize")
    play.done("copies", to_device=count + 1, from_device=COPIES, memsets=MEMSETS, copied=16 * MIB,
              numa_maps=placed(locked.value or 0))


def mapped_cupti():
    with open("/proc/self/maps", encoding="utf-8") as lines:
        paths = {line.split()[-1] for line in lines if "/libcupti.so" in line}
    return min(paths, default=None)


def another_tool(play):
    """What a second one is told that wants CUPTI, and by which clock CUPTI goes."""
    path, result, inside = mapped_cupti(), None, None
    if path:
        cupti, subscriber, stamp = c.CDLL(path), c.c_void_p(), c.c_uint64()
        function = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_uint, c.c_void_p)(lambda *_: None)
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        known = cupti.cuptiGetTimestamp(c.byref(stamp)) == 0
        inside = known and before <= stamp.value <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        result = cupti.cuptiSubscribe(c.byref(subscriber), function, None)
        if not result:
            cupti.cuptiUnsubscribe(subscriber)
    play.done("another-tool", cupti=path, subscribed=result, our_clock=inside)


def whole(play):
    _, context = begin(play)
    kernels = Kernels(play)
    many_launches(play, kernels)
    kernels.wait_for_busy()
    play.done("spinning", kernels=BUSY)
    copies(play)
    other = c.c_void_p()
    if play.call("cuCtxCreate_v2", c.byref(other), BLOCKING, 0):
        Kernels(play).wait_for_busy()
        play.done("blocking", kernels=BUSY)
        play.call("cuCtxDestroy_v2", other)
        play.call("cuCtxSetCurrent", context)
    another_tool(play)
    time.sleep(0.5)  # the host is looked at, and the library hands over what it has
    play.done("end")


def short(play, seconds):
    begin(play)
    kernels, count, until = Kernels(play), 0, time.monotonic() + seconds
    while not count or time.monotonic() < until:
        kernels.launch(kernels.nothing)
        play.call("cuCtxSynchronize")
        count += 1
        time.sleep(0.01 if seconds else 0)
    play.done("end", kernels=count)


def marks(play, path):
    begin(play)
    nvtx = c.CDLL(path)
    time.sleep(2)  # to be attached to
    for _ in range(PAIRS):
        nvtx.nvtxRangePushA(b"outer")
        nvtx.nvtxRangePushA(b"inner")
        nvtx.nvtxRangePop()
        nvtx.nvtxRangePop()
    for _ in range(MARKS):
        nvtx.nvtxMarkA(b"instant")
    play.done("end", pairs=PAIRS, marks=MARKS)


def main():
    path, arguments = sys.argv[1], sys.argv[2:]
    play = Play(path, False)
    if "--short" in arguments:
        short(play, 0)
    elif "--long" in arguments:
        short(play, float(arguments[1]))
    elif "--nvtx" in arguments:
        marks(play, arguments[1])
    else:
        whole(play)


if __name__ == "__main__":
    main()
