# SPDX-License-Identifier: BSD-2-Clause
"""Whether what cuGetProcAddress hands out are the exported functions of libcuda, which probes are on.

usage: pointers.py EXPORTED_NAMES
"""
import ctypes
import re
import sys

lib = ctypes.CDLL("libcuda.so.1")
version = ctypes.c_int()
lib.cuDriverGetVersion(ctypes.byref(version))
with open(sys.argv[1], encoding="utf-8") as file:
    names = file.read().split()
exported = {}
for name in names:
    exported.setdefault(ctypes.cast(getattr(lib, name), ctypes.c_void_p).value, []).append(name)
bases = sorted({re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", name) for name in names})
get = lib.cuGetProcAddress_v2
versions = [v for v in (2000, 4000, 7000, 10000, 11020, 11040, 12000, 12050, 13000, 13010, 13020)
            if v <= version.value] + [version.value]
asked = same = 0
others, missing = {}, {}
for base in bases:
    found = False
    for at in versions:
        for flags in (0, 1, 2):
            pointer, status = ctypes.c_void_p(), ctypes.c_int()
            result = get(base.encode(), ctypes.byref(pointer), at, ctypes.c_uint64(flags),
                         ctypes.byref(status))
            if result or not pointer.value:
                continue
            found = True
            asked += 1
            if pointer.value in exported:
                same += 1
            else:
                others.setdefault(base, set()).add((hex(pointer.value), at, flags))
    if not found:
        missing[base] = True
print(f"driver {version.value}: {len(names)} exported functions, {len(exported)} addresses")
print(f"{asked} pointers, {same} of them of exported functions, {len(others)} names with others")
for base, found in sorted(others.items()):
    print("    other:", base, sorted(found)[:6])
print("not handed out:", " ".join(sorted(missing)))
print("shared addresses:", [n for n in exported.values() if len(n) > 1][:60])
