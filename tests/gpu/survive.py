# SPDX-License-Identifier: BSD-2-Clause
"""What remains of memory when its context is destroyed or reset, as the device's free bytes say.

usage: survive.py    prints each step with the bytes that it took (negative: gave back)
"""
import ctypes as c

cuda = c.CDLL("libcuda.so.1")
MIB = 1 << 20


def call(name, *args):
    result = getattr(cuda, name)(*args)
    if result:
        print(f"  {name}: {result}")
    return result


class Location(c.Structure):
    _fields_ = [("type", c.c_int), ("id", c.c_int)]


class MemoryProperties(c.Structure):
    _fields_ = [("type", c.c_int), ("handle_types", c.c_int), ("location", Location),
                ("metadata", c.c_void_p), ("flags", c.c_ubyte * 8)]


class Access(c.Structure):
    _fields_ = [("location", Location), ("flags", c.c_int)]


class PoolProperties(c.Structure):
    _fields_ = [("type", c.c_int), ("handle_types", c.c_int), ("location", Location),
                ("security", c.c_void_p), ("max_size", c.c_size_t), ("usage", c.c_ushort),
                ("reserved", c.c_ubyte * 54)]


class ArrayDescriptor(c.Structure):
    _fields_ = [("width", c.c_size_t), ("height", c.c_size_t), ("format", c.c_int), ("channels", c.c_uint)]


class NodeParameters(c.Structure):
    _fields_ = [("pool", PoolProperties), ("access", c.c_void_p), ("access_count", c.c_size_t),
                ("bytes", c.c_size_t), ("address", c.c_uint64)]


call("cuInit", 0)
watcher = c.c_void_p()
call("cuCtxCreate_v2", c.byref(watcher), 0, 0)
last = None


def step(what):
    """Prints what the device has less than at the step before."""
    global last
    free, total = c.c_size_t(), c.c_size_t()
    current = c.c_void_p()
    cuda.cuCtxGetCurrent(c.byref(current))
    cuda.cuCtxSetCurrent(watcher)
    call("cuMemGetInfo_v2", c.byref(free), c.byref(total))
    cuda.cuCtxSetCurrent(current)
    if last is not None:
        print(f"{what}: {(last - free.value) / MIB:.2f} MiB")
    last = free.value


def physical(bytes_):
    """Memory of cuMemCreate, mapped."""
    properties = MemoryProperties(type=1, location=Location(1, 0))
    handle, address = c.c_uint64(), c.c_uint64()
    call("cuMemCreate", c.byref(handle), c.c_size_t(bytes_), c.byref(properties), c.c_uint64(0))
    call("cuMemAddressReserve", c.byref(address), c.c_size_t(bytes_), c.c_size_t(0), c.c_uint64(0), c.c_uint64(0))
    call("cuMemMap", address, c.c_size_t(bytes_), c.c_size_t(0), handle, c.c_uint64(0))
    access = Access(Location(1, 0), 3)
    call("cuMemSetAccess", address, c.c_size_t(bytes_), c.byref(access), c.c_size_t(1))
    return handle, address, bytes_


def give_back(handle, address, bytes_):
    call("cuMemUnmap", address, c.c_size_t(bytes_))
    call("cuMemRelease", handle)
    call("cuMemAddressFree", address, c.c_size_t(bytes_))


def fill():
    """Memory of each kind in the current context; returns what is mapped."""
    step("before")
    address = c.c_uint64()
    call("cuMemAlloc_v2", c.byref(address), c.c_size_t(100 * MIB))
    step("cuMemAlloc of 100 MiB")
    mapped = physical(256 * MIB)
    step("cuMemCreate of 256 MiB, mapped")
    call("cuMemAllocAsync", c.byref(address), c.c_size_t(64 * MIB), None)
    call("cuCtxSynchronize")
    step("cuMemAllocAsync of 64 MiB")
    properties = PoolProperties(type=1, location=Location(1, 0))
    pool, array = c.c_void_p(), c.c_void_p()
    call("cuMemPoolCreate", c.byref(pool), c.byref(properties))
    call("cuMemAllocFromPoolAsync", c.byref(address), c.c_size_t(40 * MIB), pool, None)
    call("cuCtxSynchronize")
    step("cuMemAllocFromPoolAsync of 40 MiB, from an own pool")
    call("cuArrayCreate_v2", c.byref(array), c.byref(ArrayDescriptor(4096, 4096, 1, 1)))
    step("cuArrayCreate of 16 MiB")
    call("cuMemAllocManaged", c.byref(address), c.c_size_t(32 * MIB), 1)
    call("cuMemsetD8_v2", address, c.c_ubyte(1), c.c_size_t(32 * MIB))
    call("cuCtxSynchronize")
    step("cuMemAllocManaged of 32 MiB, written on the device")
    return mapped


def graph(freed):
    """A graph that allocates, launched; its memory is freed, or not."""
    graph_, clone, node, exec_, second = (c.c_void_p() for _ in range(5))
    call("cuGraphCreate", c.byref(graph_), 0)
    parameters = NodeParameters(pool=PoolProperties(type=1, location=Location(1, 0)), bytes=48 * MIB)
    call("cuGraphAddMemAllocNode", c.byref(node), graph_, None, c.c_size_t(0), c.byref(parameters))
    print("cuGraphClone of a graph with an allocation:", cuda.cuGraphClone(c.byref(clone), graph_))
    call("cuGraphInstantiateWithFlags", c.byref(exec_), graph_, c.c_ulonglong(0))
    call("cuGraphLaunch", exec_, None)
    call("cuCtxSynchronize")
    step("a graph that allocates 48 MiB is launched")
    if not freed:
        return
    print("cuGraphInstantiateWithFlags of it again:",
          cuda.cuGraphInstantiateWithFlags(c.byref(second), graph_, c.c_ulonglong(0)))
    print("cuGraphLaunch again, its memory not freed:", cuda.cuGraphLaunch(exec_, None))
    call("cuMemFree_v2", c.c_uint64(parameters.address))
    step("cuMemFree of what it allocated")
    call("cuGraphExecDestroy", exec_)
    call("cuGraphDestroy", graph_)
    step("the graph is destroyed")
    call("cuDeviceGraphMemTrim", 0)
    step("cuDeviceGraphMemTrim")


step("")
own = c.c_void_p()
call("cuCtxCreate_v2", c.byref(own), 0, 0)
step("cuCtxCreate")
kept = fill()
graph(False)
call("cuCtxDestroy_v2", own)
cuda.cuCtxSetCurrent(watcher)
step("cuCtxDestroy")
call("cuDeviceGraphMemTrim", 0)
step("cuDeviceGraphMemTrim")
give_back(*kept)
step("cuMemUnmap, cuMemRelease")
for how in ("cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxRelease_v2"):
    primary = c.c_void_p()
    call("cuDevicePrimaryCtxRetain", c.byref(primary), 0)
    cuda.cuCtxSetCurrent(primary)
    step("cuDevicePrimaryCtxRetain")
    kept = fill()
    graph(True)
    graph(False)
    call(how, 0)
    cuda.cuCtxSetCurrent(watcher)
    step(how)
    call("cuDeviceGraphMemTrim", 0)
    step("cuDeviceGraphMemTrim")
    give_back(*kept)
    step("cuMemUnmap, cuMemRelease")
    if how == "cuDevicePrimaryCtxReset_v2":
        call("cuDevicePrimaryCtxRelease_v2", 0)
        step("cuDevicePrimaryCtxRelease")
cuda.cuCtxSetCurrent(watcher)
pool = c.c_void_p()
call("cuDeviceGetDefaultMemPool", c.byref(pool), 0)
call("cuMemPoolTrimTo", pool, c.c_size_t(0))
step("cuMemPoolTrimTo(0)")
call("cuMemAllocAsync", c.byref(c.c_uint64()), c.c_size_t(16 * MIB), None)
step("cuMemAllocAsync of 16 MiB in the first context")
