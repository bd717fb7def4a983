# SPDX-License-Identifier: BSD-2-Clause
"""Calls the function of PyTorch's own libc10.so that its allocator reports to, and the one for out of
memory, as the allocator would: with blocks in memory that it allocated. PyTorch itself is not imported.
Prints that it is ready, waits for a line of its input, and prints what the records should be. Its
argument: the folder with libc10.so."""
import ctypes
import json
import pathlib
import sys

KIB, MIB = 1 << 10, 1 << 20
CUDA, CPU = 1, 0
U64, I64 = ctypes.c_uint64, ctypes.c_int64


def named(library, *names):
    """The one of these that there is: signed totals before 2.0."""
    return next(getattr(library, name) for name in names if hasattr(library, name))


c10 = ctypes.CDLL(str(pathlib.Path(sys.argv[1], "libc10.so")))
change = named(c10, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
               "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE")
none_left = named(c10, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
                  "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE")
runtime = ctypes.CDLL("libcudart.so.13")
segment = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(segment), ctypes.c_size_t(20 * MIB)) == 0
allocated = 0


def device(kind, index):
    """c10::Device by value: two bytes; the rest of the register can be anything."""
    return U64(0xabcdabcdabcd0000 | index << 8 | kind)


def expect(**record):
    print(json.dumps(record))


def report(offset, size):
    """A block that is given (size > 0) or taken back."""
    global allocated
    allocated += size
    change(U64(segment.value + offset), I64(size), U64(allocated), U64(20 * MIB), device(CUDA, 0))
    expect(action="alloc" if size > 0 else "free", block=hex(segment.value + offset),
           block_bytes=abs(size), allocated_bytes=allocated, reserved_bytes=20 * MIB)


print("ready", flush=True)
sys.stdin.readline()
report(0, 512)
report(MIB, 3 * MIB)
change(U64(0x1000), I64(4096), U64(4096), U64(0), device(CPU, 0xff))
report(4 * MIB, 15 * MIB + 512)
report(MIB, -3 * MIB)
none_left(I64(30 * KIB * KIB), U64(allocated), U64(20 * MIB), device(CUDA, 0))
expect(action="out_of_memory", block="0x0", block_bytes=30 * MIB,
       allocated_bytes=allocated, reserved_bytes=20 * MIB)
report(2 * MIB, 2 * MIB)
report(0, -512)
