# SPDX-License-Identifier: BSD-2-Clause
"""What NVML answers on this machine, and how long it takes: a line for each function.

usage: nvml.py
"""
import ctypes
import time

lib = ctypes.CDLL("libnvidia-ml.so.1")


class Memory(ctypes.Structure):
    _fields_ = [(n, ctypes.c_ulonglong) for n in ("total", "free", "used")]


class Memory2(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint)] + [(n, ctypes.c_ulonglong) for n in
                                               ("total", "reserved", "free", "used")]


class Process1(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong)]


class Process2(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gi", ctypes.c_uint),
                ("ci", ctypes.c_uint)]


def call(name, *args):
    function = getattr(lib, name, None)
    if function is None:
        print(name, "is not there")
        return None
    times = []
    for _ in range(5 if "Init" not in name else 1):
        begin = time.perf_counter()
        result = function(*args)
        times.append(time.perf_counter() - begin)
    print(f"{name}: result {result}, {1e6 * min(times):.0f} to {1e6 * max(times):.0f} us")
    return result


def text(name, *args):
    buffer = ctypes.create_string_buffer(256)
    call(name, *args, buffer, 256)
    print("    ", buffer.value.decode())


def fields(structure):
    return {n: getattr(structure, n) for n, _ in structure._fields_}


call("nvmlInit_v2")
text("nvmlSystemGetDriverVersion")
text("nvmlSystemGetNVMLVersion")
count = ctypes.c_uint()
call("nvmlDeviceGetCount_v2", ctypes.byref(count))
device = ctypes.c_void_p()
call("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(device))
text("nvmlDeviceGetUUID", device)
text("nvmlDeviceGetName", device)
memory, memory2 = Memory(), Memory2(version=0x2000000 | ctypes.sizeof(Memory2))
call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory))
print("    ", fields(memory))
call("nvmlDeviceGetMemoryInfo_v2", device, ctypes.byref(memory2))
print("    ", fields(memory2))
value = ctypes.c_uint()
for name in ("nvmlDeviceGetMinorNumber", "nvmlDeviceGetMigMode", "nvmlDeviceGetAccountingMode",
             "nvmlDeviceGetPersistenceMode", "nvmlDeviceGetComputeMode", "nvmlDeviceGetNumaNodeId",
             "nvmlDeviceGetPowerUsage", "nvmlDeviceGetEnforcedPowerLimit"):
    second = ctypes.c_uint()
    call(name, device, ctypes.byref(value), ctypes.byref(second))
    print("    ", value.value, second.value)
for version, structure in (("", Process1), ("_v2", Process2), ("_v3", Process2)):
    for kind in ("Compute", "Graphics", "MPSCompute"):
        found = (structure * 64)()
        count = ctypes.c_uint(64)
        call(f"nvmlDeviceGet{kind}RunningProcesses{version}", device, ctypes.byref(count), found)
        print("    ", count.value, [fields(p) for p in found[:min(count.value, 8)]])


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


utilization = Utilization()
call("nvmlDeviceGetUtilizationRates", device, ctypes.byref(utilization))
print("    ", fields(utilization))
reasons = ctypes.c_ulonglong()
call("nvmlDeviceGetCurrentClocksEventReasons", device, ctypes.byref(reasons))
print("    ", hex(reasons.value))
for clock in range(4):
    call("nvmlDeviceGetClockInfo", device, clock, ctypes.byref(value))
    print("    ", clock, value.value)
call("nvmlDeviceGetPcieThroughput", device, 0, ctypes.byref(value))
call("nvmlShutdown")
