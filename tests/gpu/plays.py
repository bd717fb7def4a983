# SPDX-License-Identifier: BSD-2-Clause
"""A program that takes memory of a GPU in every way, by ctypes. After each step it writes a line:
what the driver and NVML say is used, and the ioctls that the driver made in it.

usage: plays.py LINES [--log]          all steps; --log: with the ioctls
       plays.py LINES --import HANDLE  opens memory of another process
       plays.py LINES --wait FIFO      holds 1 GiB in 8 blocks, and frees one for each line of FIFO
"""
import ctypes as c
import json
import mmap
import os
import subprocess
import sys
import time

from ioctl_log import Log

MIB = 1 << 20
PTX = b""".version 6.0
.target sm_50
.address_size 64
.visible .entry nothing() { ret; }
"""


class Location(c.Structure):
    _fields_ = [("type", c.c_int), ("id", c.c_int)]


class Properties(c.Structure):
    _fields_ = [("type", c.c_int), ("handle_types", c.c_int), ("location", Location),
                ("metadata", c.c_void_p), ("flags", c.c_ubyte * 8)]


class Access(c.Structure):
    _fields_ = [("location", Location), ("flags", c.c_int)]


class Process(c.Structure):
    _fields_ = [("pid", c.c_uint), ("used", c.c_ulonglong), ("gi", c.c_uint), ("ci", c.c_uint)]


class Memory(c.Structure):
    _fields_ = [("version", c.c_uint)] + [(n, c.c_ulonglong) for n in ("total", "reserved", "free", "used")]


class Handle(c.Structure):
    _fields_ = [("bytes", c.c_ubyte * 64)]


class Nvml:
    """What NVML says: of this process on all devices together, and of each device."""

    def __init__(self):
        self.devices = []
        try:
            self.library = c.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        count = c.c_uint()
        if self.library.nvmlInit_v2() or self.library.nvmlDeviceGetCount_v2(c.byref(count)):
            return
        for i in range(count.value):
            device = c.c_void_p()
            if not self.library.nvmlDeviceGetHandleByIndex_v2(i, c.byref(device)):
                self.devices.append(device)

    def own(self):
        sums = []
        if self.devices:
            self.library.nvmlDeviceGetCount_v2(c.byref(c.c_uint()))
        for device in self.devices:
            found, count = (Process * 256)(), c.c_uint(256)
            if self.library.nvmlDeviceGetComputeRunningProcesses_v3(device, c.byref(count), found):
                return None
            sums.append(sum(p.used for p in found[:count.value] if p.pid == os.getpid()))
        return sums if self.devices else None

    def used(self):
        values = []
        for device in self.devices:
            memory = Memory(version=0x2000000 | c.sizeof(Memory))
            values.append(None if self.library.nvmlDeviceGetMemoryInfo_v2(device, c.byref(memory)) else memory.used)
        return values


class Play:
    def __init__(self, path, logs):
        self.out = open(path, "w", encoding="utf-8")
        self.cuda = c.CDLL("libcuda.so.1")
        self.log = Log()
        self.logs = logs and self.log.begin("libcuda.so")
        self.nvml = Nvml()
        self.results, self.calls = {}, {}

    def call(self, name, *arguments):
        function = getattr(self.cuda, name, None)
        result = function(*arguments) if function else None
        if function:
            self.calls[name] = self.calls.get(name, 0) + 1
        if result:
            self.results[name] = result
        return result == 0

    def done(self, step, **more):
        free, total = c.c_size_t(), c.c_size_t()
        known = self.cuda.cuMemGetInfo_v2(c.byref(free), c.byref(total)) == 0
        ioctls = self.log.take() if self.logs else None
        line = {"step": step, "ts": time.clock_gettime_ns(time.CLOCK_MONOTONIC), "own": self.nvml.own(),
                "used": self.nvml.used(), "free": free.value if known else None,
                "total": total.value if known else None, "results": self.results, "calls": self.calls, "ioctls": ioctls, **more}
        self.log.take()  # of the question
        self.results = {}
        self.out.write(json.dumps(line) + "\n")
        self.out.flush()
        return line

    def take(self, size):
        address = c.c_uint64()
        return address if self.call("cuMemAlloc_v2", c.byref(address), c.c_size_t(size)) else None

    def give(self, *blocks):
        for block in blocks:
            if block:
                self.call("cuMemFree_v2", block)


def begin(play):
    play.call("cuInit", 0)
    play.done("init", stub=play.log.stub, logs=play.logs)
    context, count = c.c_void_p(), c.c_int()
    play.call("cuDeviceGetCount", c.byref(count))
    uuid = (c.c_ubyte * 16)()
    play.call("cuDeviceGetUuid_v2", uuid, 0)
    play.call("cuDevicePrimaryCtxRetain", c.byref(context), 0)
    play.call("cuCtxSetCurrent", context)
    play.done("context", devices=count.value)
    return count.value, context


def allocations(play):
    tiny = [play.take(1024) for _ in range(3)]
    play.done("tiny")
    play.give(*tiny[:2])
    play.done("tiny-two-freed")
    play.give(tiny[2])
    play.done("tiny-freed")
    large = play.take(16 * MIB)
    play.done("large")
    odd = play.take(2 * MIB + 1)
    play.done("odd")
    play.give(large, odd)
    play.done("large-freed")
    refused = play.take(1 << 44)
    play.done("refused", granted=refused is not None)


def pools(play):
    block, other, pool = c.c_uint64(), c.c_uint64(), c.c_void_p()
    play.call("cuMemAllocAsync", c.byref(block), c.c_size_t(MIB), None)
    play.call("cuStreamSynchronize", None)
    play.done("pool")
    play.call("cuMemAllocAsync", c.byref(other), c.c_size_t(MIB), None)
    play.call("cuStreamSynchronize", None)
    play.done("pool-again")
    play.call("cuMemFreeAsync", block, None)
    play.call("cuMemFreeAsync", other, None)
    play.call("cuStreamSynchronize", None)
    play.call("cuDeviceGetDefaultMemPool", c.byref(pool), 0)
    play.call("cuMemPoolTrimTo", pool, c.c_size_t(0))
    play.done("pool-trimmed")


def physical(play):
    properties = Properties(type=1, handle_types=1, location=Location(1, 0))
    access = Access(Location(1, 0), 3)
    handle, imported, address, fd = c.c_uint64(), c.c_uint64(), c.c_uint64(), c.c_int(-1)
    size = c.c_size_t(4 * MIB)
    play.call("cuMemCreate", c.byref(handle), size, c.byref(properties), c.c_uint64(0))
    play.done("vmm-created")
    play.call("cuMemAddressReserve", c.byref(address), size, c.c_size_t(0), c.c_uint64(0), c.c_uint64(0))
    play.call("cuMemMap", address, size, c.c_size_t(0), handle, c.c_uint64(0))
    play.call("cuMemSetAccess", address, size, c.byref(access), c.c_size_t(1))
    play.done("vmm-mapped")
    exported = play.call("cuMemExportToShareableHandle", c.byref(fd), handle, 1, c.c_uint64(0))
    play.done("vmm-exported", exported=exported)
    if exported:
        play.call("cuMemImportFromShareableHandle", c.byref(imported), c.c_void_p(fd.value), 1)
        play.done("vmm-imported")
        play.call("cuMemRelease", imported)
        os.close(fd.value)
    play.call("cuMemUnmap", address, size)
    play.call("cuMemAddressFree", address, size)
    play.call("cuMemRelease", handle)
    play.done("vmm-freed")


def buffers(play):
    block, fd = play.take(4 * MIB), c.c_int(-1)
    play.done("buffer-taken")
    exported = bool(block) and play.call("cuMemGetHandleForAddressRange", c.byref(fd), block, c.c_size_t(4 * MIB), 1, c.c_uint64(0))
    play.done("buffer-exported", exported=exported)
    if exported:
        os.close(fd.value)
    play.give(block)
    play.done("buffer-freed")


def host(play):
    managed, locked = c.c_uint64(), c.c_void_p()
    play.call("cuMemAllocManaged", c.byref(managed), c.c_size_t(64 * MIB), 1)
    play.done("managed")
    play.call("cuMemPrefetchAsync", managed, c.c_size_t(64 * MIB), 0, None)
    play.call("cuStreamSynchronize", None)
    play.done("managed-prefetched")
    play.give(managed)
    play.done("managed-freed")
    play.call("cuMemHostAlloc", c.byref(locked), c.c_size_t(4 * MIB), 0)
    play.done("locked")
    play.call("cuMemFreeHost", locked)
    play.done("locked-freed")
    memory = mmap.mmap(-1, 4 * MIB)
    place = c.addressof(c.c_char.from_buffer(memory))
    play.call("cuMemHostRegister_v2", c.c_void_p(place), c.c_size_t(4 * MIB), 0)
    play.done("registered")
    play.call("cuMemHostUnregister", c.c_void_p(place))
    play.done("registered-freed")


def code(play):
    module, function, stream = c.c_void_p(), c.c_void_p(), c.c_void_p()
    loaded = play.call("cuModuleLoadData", c.byref(module), PTX)
    play.done("module", loaded=loaded)
    times = []
    if loaded and play.call("cuModuleGetFunction", c.byref(function), module, b"nothing"):
        for _ in range(2000):
            began = time.perf_counter_ns()
            play.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
            times.append(time.perf_counter_ns() - began)
        play.call("cuCtxSynchronize")
    times.sort()
    play.done("launched", launch_ns=times[len(times) // 2] if times else None)
    for _ in range(32):
        play.call("cuStreamCreate", c.byref(stream), 1)
    play.done("streams")


def share(play, path):
    block, handle = play.take(16 * MIB), Handle()
    if not block or not play.call("cuIpcGetMemHandle", c.byref(handle), block):
        return
    play.done("ipc-exported")
    more = ["--log"] if play.logs else []
    child = subprocess.run([sys.executable, __file__, path + ".import", "--import", bytes(handle.bytes).hex(), *more],
                           timeout=60, check=False)
    play.done("ipc-imported", child=child.returncode)
    play.give(block)


def others(play, devices, context):
    second, block = c.c_void_p(), None
    if devices > 1:
        play.call("cuDevicePrimaryCtxRetain", c.byref(second), 1)
        play.call("cuCtxSetCurrent", second)
        block = play.take(32 * MIB)
        play.done("second-device")
        play.give(block)
        play.call("cuDevicePrimaryCtxRelease_v2", 1)
        play.call("cuCtxSetCurrent", context)
        play.done("second-device-gone")
    play.call("cuCtxCreate_v2", c.byref(second), 0, 0)
    play.done("second-context")
    play.call("cuCtxDestroy_v2", second)
    play.call("cuCtxSetCurrent", context)
    play.done("second-context-gone")


def rest(play, devices):
    """Holds something while NVML is asked, and ends without giving it back."""
    context = c.c_void_p()
    play.take(48 * MIB)
    if devices > 1:
        play.call("cuDevicePrimaryCtxRetain", c.byref(context), 1)
        play.call("cuCtxSetCurrent", context)
        play.take(32 * MIB)
    play.done("rest")
    time.sleep(1)
    os._exit(0)


def pointers(play):
    """Whether the pointers that the driver hands out are those of the functions it exports."""
    same = other = 0
    for name in ("cuMemAlloc", "cuMemFree", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemCreate", "cuLaunchKernel",
                 "cuMemHostAlloc", "cuMemAllocManaged", "cuMemcpyHtoD", "cuCtxCreate", "cuStreamSynchronize"):
        pointer, status = c.c_void_p(), c.c_int()
        if not play.call("cuGetProcAddress_v2", name.encode(), c.byref(pointer), 12000, c.c_uint64(0), c.byref(status)):
            continue
        exported = {c.cast(getattr(play.cuda, name + end), c.c_void_p).value
                    for end in ("", "_v2", "_v3", "_v4", "_ptsz") if hasattr(play.cuda, name + end)}
        same += pointer.value in exported
        other += pointer.value not in exported
    play.done("pointers", same=same, other=other)


def whole(play, path):
    devices, context = begin(play)
    pointers(play)
    for part in (allocations, pools, physical, buffers, host, code):
        part(play)
    share(play, path)
    others(play, devices, context)
    rest(play, devices)


def imported(play, handle):
    begin(play)
    address, value = c.c_uint64(), Handle((c.c_ubyte * 64)(*bytes.fromhex(handle)))
    opened = play.call("cuIpcOpenMemHandle_v2", c.byref(address), value, 1)
    play.done("opened", opened=opened)


def held(play, fifo):
    begin(play)
    blocks = [play.take(128 * MIB) for _ in range(8)]
    play.done("held")
    with open(fifo, encoding="utf-8") as lines:
        for line in lines:
            play.give(blocks.pop() if line.strip() == "free" and blocks else None)
            play.done("freed", left=len(blocks))


def main():
    path, arguments = sys.argv[1], sys.argv[2:]
    play = Play(path, "--log" in arguments)
    if "--import" in arguments:
        imported(play, arguments[arguments.index("--import") + 1])
    elif "--wait" in arguments:
        held(play, arguments[arguments.index("--wait") + 1])
    else:
        whole(play, path)


if __name__ == "__main__":
    main()
