# SPDX-License-Identifier: BSD-2-Clause
"""The hypotheses of verdicts.py. "ioctls 3.8" is a section of the notes on NVIDIA's ioctls that this
program was written from, where they are marked as inferred; "real-hardware" and "driver-path" are the
pages in docs/, with the heading. Each function says whether it is right, and by which figures.
"""
from seen import (ALLOC, ALLOC_MEMORY, CONTROL, DMABUF, DUP, FREE, HEAP, MIB, UVM_FREE, UVM_MAP, UVM_MIGRATE,
                      UVM_RANGE, UVM_UNMAP, UVM_VALIDATE, NotSeen, allocs, commands, mib, numbers)

# ---- inferred, in the notes ------------------------------------------------------------------------------------


def old_drivers(seen):
    raise NotSeen("needs a driver before 515")


def card_or_id(seen):
    ioctls = seen.ioctls("init") + seen.ioctls("context")
    if not commands(ioctls):
        raise NotSeen("this driver makes no RM_CONTROL")
    found = {hex(c) for c in commands(ioctls) & {0x202, 0x205}} | ({"CARD_INFO"} if 0xc8 in numbers(ioctls) else set())
    return bool(found & {"0x202", "0x205"}), f"of CARD_INFO, 0x202, 0x205: {sorted(found)} in {len(ioctls)} ioctls"


def free_small(seen):
    two, last = seen.ioctls("tiny-two-freed"), seen.ioctls("tiny-freed")
    return not allocs(two) and FREE not in numbers(two) and FREE in numbers(last), \
        f"{len(two)} ioctls when two of three blocks in a chunk were freed, {len(last)} with the last"


def pool_growth(seen):
    first, again, trimmed = seen.ioctls("pool"), seen.ioctls("pool-again"), seen.ioctls("pool-trimmed")
    sizes = [i["bytes"] for i in allocs(first)]
    return bool(sizes) and min(sizes) >= 2 * MIB and not allocs(again) and FREE in numbers(trimmed), \
        f"grew by {[mib(s) for s in sizes]}, then by {[mib(i['bytes']) for i in allocs(again)]}; " \
        f"{numbers(trimmed).count(FREE)} frees when it was trimmed"


def host_register(seen):
    seen.uvm()
    ioctls = seen.ioctls("registered")
    uvm = numbers(ioctls, "uvm")
    return bool(allocs(ioctls, 0x71)) and UVM_RANGE in uvm and UVM_MAP in uvm, \
        f"{len(allocs(ioctls, 0x71))} of class 0x71, {uvm.count(UVM_RANGE)} ranges, {uvm.count(UVM_MAP)} maps"


def physical_at_create(seen):
    created, mapped = seen.ioctls("vmm-created"), seen.ioctls("vmm-mapped")
    return bool(allocs(created)) and not allocs(mapped), \
        f"cuMemCreate of 4 MiB: {[mib(i['bytes']) for i in allocs(created)]}; mapping it: {len(allocs(mapped))} allocations"


def physical_mapped(seen):
    seen.uvm()
    created, mapped = numbers(seen.ioctls("vmm-created"), "uvm"), numbers(seen.ioctls("vmm-mapped"), "uvm")
    return UVM_MAP in mapped and UVM_MAP not in created, f"UVM ioctls: {created} at cuMemCreate, {mapped} until cuMemSetAccess"


def physical_exported(seen):
    if not seen.step("vmm-exported")["exported"]:
        raise NotSeen("the driver does not export")
    ioctls = seen.ioctls("vmm-exported")
    if not ioctls:
        raise NotSeen("no ioctl at all in the call")
    found = {hex(c) for c in commands(ioctls) & {0x3d05, 0x3d0b}} | ({"0xd9"} if DMABUF in numbers(ioctls) else set())
    return bool(found), f"of 0x3d05, 0x3d0b, 0xd9: {sorted(found)} in {len(ioctls)} ioctls"


def buffer_exported(seen):
    if not seen.step("buffer-exported")["exported"]:
        raise NotSeen("the driver makes no dma-buf")
    found = [i["request"] for i in seen.ioctls("buffer-exported") if i["kind"] != "uvm" and i["number"] == DMABUF]
    return bool(found), f"of 0xd9: {found} in {len(seen.ioctls('buffer-exported'))} ioctls"


def ipc_open(seen):
    if "opened" not in seen.child or not seen.child["opened"]["opened"]:
        raise NotSeen("another process could not open the memory")
    seen.uvm()
    ioctls = seen.ioctls("opened", seen.child)
    found = {hex(c) for c in commands(ioctls) & {0x3d06, 0x3d0c}} | ({"dup"} if DUP in numbers(ioctls) else set())
    uvm = numbers(ioctls, "uvm")
    return bool(found) and UVM_MAP in uvm and not allocs(ioctls), \
        f"{sorted(found)}, UVM {uvm}, {len(allocs(ioctls))} allocations of its own"


def nccl(seen):
    raise NotSeen("needs NCCL")


def root_is_global(seen):
    clients = {}
    for event in seen.events + seen.children_events:
        if event["type"] == "object" and event["action"] == "alloc" and not event["status"]:
            clients.setdefault(event["client"], set()).add(event["pid"])
    if not clients:
        raise NotSeen("no object was seen")
    shared = sum(len(pids) > 1 for pids in clients.values())
    return not shared, f"{len(clients)} clients, {shared} of them used by several processes"


def mapped_at_addresses(seen):
    """Each block of device memory begins in what was mapped, before the call that returned it was over."""
    maps = [e for e in seen.events if e["type"] == "range" and e["action"] == "map" and not e["status"]]
    blocks = [e for e in seen.events if e["type"] == "call" and e["api"] == "cuMemAlloc_v2" and e["addr"] and not e["result"]]
    if not maps or not blocks:
        raise NotSeen(f"{len(maps)} maps, {len(blocks)} allocations")
    spans = [(int(e["addr"], 16), e["range_bytes"]) for e in maps]
    outside = [b for b in blocks if not any(s <= int(b["addr"], 16) < s + size for s, size in spans)]
    return not outside, f"{len(blocks)} blocks, {len(outside)} of them outside of {len(maps)} maps"


def managed_validated(seen):
    ranges = {e["addr"] for e in seen.events if e["type"] == "range" and e["action"] == "managed" and not e["status"]}
    blocks = [e["addr"] for e in seen.events if e["type"] == "call" and e["api"] == "cuMemAllocManaged" and not e["result"]]
    if not blocks:
        raise NotSeen("no managed memory was allocated")
    return all(b in ranges for b in blocks), \
        f"{sum(b in ranges for b in blocks)} of {len(blocks)} blocks begin at one of {len(ranges)} validated ranges"


def maps_have_uuids(seen):
    uuids = {e["uuid"] for e in seen.events if e["type"] == "range" and e["action"] == "map" and not e["status"]}
    devices = {d["uuid"].removeprefix("GPU-") for d in (seen.report or {}).get("nvml_devices") or []}
    if not uuids or not devices:
        raise NotSeen(f"{len(uuids)} UUIDs of maps, {len(devices)} of NVML's")
    return uuids <= devices, f"{len(uuids & devices)} of {len(uuids)} UUIDs in maps are those of NVML's devices"


def imports_count(seen):
    order = list(seen.child)
    if "opened" not in seen.child or not seen.child["opened"]["opened"]:
        raise NotSeen("another process could not open the memory")
    before, after = seen.child[order[order.index("opened") - 1]]["own"], seen.child["opened"]["own"]
    if not before or not after or None in before + after or not sum(after):
        raise NotSeen("NVML says nothing of the process")
    return sum(after) == sum(before), f"the importer of 16 MiB: {mib(sum(before))}, then {mib(sum(after))}"


# ---- seen on one machine: does it hold here? -------------------------------------------------------------------


def pointers(seen):
    step = seen.step("pointers")
    if not step["same"] + step["other"]:
        raise NotSeen("cuGetProcAddress returned none")
    return not step["other"], f"{step['same']} of {step['same'] + step['other']} are addresses of exported functions"


def stub(seen):
    value = seen.step("init")["stub"]
    if value is None:
        raise NotSeen("not looked at on this machine's architecture, or no such pointer")
    return value, "libcuda calls ioctl() by a stub in its linkage table" if value else "there is a pointer, and no stub"


def own_objects(seen):
    """NVML's number for the process, after each step, and the sum of the objects that were recorded."""
    live, at, wrong, first = {}, 0, 0, ""
    events = sorted((e for e in seen.events if e["type"] == "object" and not e["status"]), key=lambda e: e["ts_ns"])
    steps = [s for s in seen.recorded_steps if s["own"]]
    if not events or not any(sum(s["own"]) for s in steps):
        raise NotSeen("no object, or NVML says nothing of the process")
    pid = next(e["pid"] for e in events)
    for step in steps:
        while at < len(events) and events[at]["ts_ns"] < step["ts"]:
            event, at = events[at], at + 1
            if event["pid"] != pid:
                continue
            if event["action"] == "free":
                gone = {(event["client"], event["object"])}
                while gone:
                    live = {k: v for k, v in live.items() if k not in gone and
                            not (event["client"] == event["object"] and k[0] == event["client"])}
                    gone = {k for k, v in live.items() if v[0] == event["object"] and k[0] == event["client"]}
            elif event["action"] == "alloc":
                size = event["granted_bytes"] if event["memory"] == "device" else 0
                live[event["client"], event["object"]] = (event["parent"], size)
        held = sum(size for _, size in live.values())
        if held != sum(step["own"]):
            wrong += 1
            first = first or f"; first {step['step']}: NVML {sum(step['own'])}, objects {held}"
    return not wrong, f"{len(steps)} steps, {wrong} different, {len(events)} events{first}"


def whole(report):
    if not report:
        raise NotSeen("there is no report")
    return [p for p in report["processes"] if p["nvml"]]


def explained(seen):
    processes = whole(seen.report)
    if not processes:
        raise NotSeen("NVML says nothing of the process")
    return all(p["nvml"]["unexplained_bytes"] == 0 for p in processes), \
        f"unexplained at the last sample: {[p['nvml']['unexplained_bytes'] for p in processes]}"


def children_seen(seen):
    processes = whole(seen.children)
    missed = [p["driver"]["missed_until_ns"] is not None for p in processes if p["driver"]]
    unexplained = [p["nvml"]["unexplained_bytes"] for p in processes]
    if not missed:
        raise NotSeen("nothing was recorded of the child")
    return not any(missed) and not any(unexplained), f"missed: {sum(missed)} of {len(missed)}; unexplained {unexplained}"


MEMORY_CALLS = ("cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemCreate", "cuMemRelease",
                "cuMemAllocManaged", "cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister_v2", "cuMemHostUnregister",
                "cuMemMap", "cuMemUnmap", "cuLaunchKernel")


def every_call(seen):
    recorded = [e["api"] for e in seen.events if e["type"] == "call"]
    if not seen.recorded or not recorded or not seen.recorded_steps:
        raise NotSeen("the recording failed: see recorded.err")
    made = {name: count for name, count in seen.recorded_steps[-1]["calls"].items() if name in MEMORY_CALLS}
    wrong = {name: f"{recorded.count(name)} of {count}" for name, count in made.items() if recorded.count(name) != count}
    return not wrong, f"{len(recorded)} calls; of {sum(made.values())} of {len(made)} functions for memory, different: {wrong}"


def before_attach(seen):
    found = [f for f in seen.late if f]
    if len(found) < 9:
        raise NotSeen(f"{len(found)} of 9 reports have NVML's numbers")
    before = [f["before_attach_bytes"] for f in found]
    falls = [before[i] - before[i + 1] for i in range(8)]
    return falls == [128 * MIB] * 8 and min(before) >= 0 and before[0] == found[0]["used_bytes"], \
        f"{mib(before[0])} of NVML's {mib(found[0]['used_bytes'])}, then {[mib(b) for b in before[1:]]}"


def chunk(seen):
    return seen.grown("tiny") == 2 * MIB, f"three allocations of 1 KiB took {mib(seen.grown('tiny'))}"


def rounded(seen):
    return (seen.grown("large"), seen.grown("odd")) == (16 * MIB, 4 * MIB), \
        f"16 MiB took {mib(seen.grown('large'))}, 2 MiB and 1 byte {mib(seen.grown('odd'))}"


def given_back(seen):
    return seen.grown("large-freed") == -20 * MIB, f"freeing 20 MiB: {mib(seen.grown('large-freed'))}"


def pool_chunk(seen):
    return seen.grown("pool") == 32 * MIB and not seen.grown("pool-again"), \
        f"{mib(seen.grown('pool'))}, then {mib(seen.grown('pool-again'))}"


def locked_nothing(seen):
    return not seen.grown("locked") and not seen.grown("registered"), \
        f"page-locked: {mib(seen.grown('locked'))}, registered: {mib(seen.grown('registered'))}"


def managed_nothing(seen):
    own = seen.grown("managed") + seen.grown("managed-prefetched")
    return not own, f"process: {mib(own)}; device: {mib(seen.grown('managed', 'used'))}, after a prefetch " \
                    f"{mib(seen.grown('managed-prefetched', 'used'))}"


def context_takes(seen):
    own, used = seen.grown("context"), seen.grown("context", "used")
    return own > 0 and used >= own, f"process {mib(own)}, device {mib(used)}; a second one: process " \
                                    f"{mib(seen.grown('second-context'))}, device {mib(seen.grown('second-context', 'used'))}"


def launch_takes(seen):
    return seen.grown("module") + seen.grown("launched") > 0, \
        f"module {mib(seen.grown('module'))}, first launch {mib(seen.grown('launched'))}, 32 streams {mib(seen.grown('streams'))}"


def alloc_request(seen):
    seen.step("large")
    found = {i["request"] for s in seen.order for i in seen.ioctls(s) if i["kind"] == "control" and i["number"] == ALLOC}
    sizes = {i.get("params_size") for s in seen.order for i in seen.ioctls(s) if i["kind"] != "uvm" and i["number"] == ALLOC}
    return found == {"0xc030462b"} and sizes == {0}, f"requests {sorted(found)}, paramsSize {sorted(map(str, sizes))}"


def large_ioctls(seen):
    seen.uvm()
    ioctls = [i for i in seen.ioctls("large") if i["number"] != CONTROL or i["kind"] == "uvm"]
    return [(i["kind"] == "uvm", i["number"]) for i in ioctls] == [(False, ALLOC), (True, UVM_RANGE), (True, UVM_MAP)], \
        f"{[(i['kind'], i['number']) for i in ioctls]}"


def large_free(seen):
    seen.uvm()
    ioctls = [(i["kind"] == "uvm", i["number"]) for i in seen.ioctls("large-freed")]
    return ioctls == [(True, UVM_FREE), (False, FREE)] * 2, f"{ioctls}"


def pool_unmaps(seen):
    seen.uvm()
    uvm = numbers(seen.ioctls("pool-trimmed"), "uvm")
    return UVM_UNMAP in uvm and UVM_FREE not in uvm, f"UVM ioctls {uvm}"


def locked_ioctls(seen):
    ioctls = seen.ioctls("locked")
    if not ioctls:
        raise NotSeen("no ioctl at all in the call")
    found = [i for i in ioctls if i["number"] == ALLOC_MEMORY and i["kind"] == "device" and i["class"] == 0x71]
    return bool(found), f"{len(found)} such in {len(ioctls)} ioctls"


def managed_ioctls(seen):
    seen.uvm()
    ioctls = seen.ioctls("managed")
    return not allocs(ioctls) and UVM_VALIDATE in numbers(ioctls, "uvm"), \
        f"{len(allocs(ioctls))} allocations, UVM {numbers(ioctls, 'uvm')}"


def prefetch_migrates(seen):
    seen.uvm()
    uvm = numbers(seen.ioctls("managed-prefetched"), "uvm")
    return UVM_MIGRATE in uvm, f"UVM ioctls {uvm}"


def quiet(seen):
    return not seen.ioctls("tiny-two-freed") and not seen.ioctls("pool-again"), \
        f"{len(seen.ioctls('tiny-two-freed'))} in a chunk, {len(seen.ioctls('pool-again'))} in a pool"


def refused(seen):
    step, ioctls = seen.step("refused"), seen.ioctls("refused")
    failed = [i for i in ioctls if i["kind"] != "uvm" and i["number"] == ALLOC and i["status"] == 0x51 and not i["result"]]
    if step["granted"] or not ioctls:
        raise NotSeen("the driver granted it" if step["granted"] else "no ioctl at all")
    return bool(failed), f"{len(failed)} ioctls with status 0x51 that returned 0; cuMemAlloc: {step['results']}"


def heap_control(seen):
    seen.step("large")
    count = sum(numbers(seen.ioctls(s)).count(HEAP) for s in seen.order)
    return not count, f"{count} of RM_VID_HEAP_CONTROL"


def second_device(seen):
    if seen.step("context")["devices"] < 2:
        raise NotSeen("there is one device")
    devices = [d for p in whole(seen.report) if p["driver"] for d in p["driver"]["devices"]]
    known = [d["device"] for d in devices]
    return None not in known and len(known) > 1, f"objects on devices {known}"


def launch_cost(seen):
    without = seen.step("launched")["launch_ns"]
    recorded = next((s["launch_ns"] for s in seen.recorded_steps if s["step"] == "launched"), None)
    if not without or not recorded:
        raise NotSeen("no kernel could be launched")
    return recorded - without < 5000, f"median of 2,000 launches: {without} ns, recorded {recorded} ns"


def who_takes(seen):
    if not seen.who_ms:
        raise NotSeen("who failed: see who-0.err")
    return seen.who_ms[len(seen.who_ms) // 2] < 100, f"{', '.join(f'{t:.0f}' for t in seen.who_ms)} ms"


def check_works(seen):
    code = seen.machine.read("check.out")
    return bool(code), "check gave an answer" if code else "see check.err"


HYPOTHESES = [
    ("ioctls 0: drivers before 515 have its layouts", old_drivers),
    ("ioctls 3.7: cuInit or the first context asks for 0x202 or 0x205 (which device is which)", card_or_id),
    ("ioctls 3.8, cudaFree: of a small block no ioctl, until its chunk is empty", free_small),
    ("ioctls 3.8, cudaMallocAsync: a pool grows by 2 MiB or more, and is trimmed", pool_growth),
    ("ioctls 3.8, cudaHostRegister: class 0x71, then a range and a map of UVM", host_register),
    ("ioctls 3.8, cuMemCreate: allocates at once, and mapping does not", physical_at_create),
    ("ioctls 3.8, cuMemMap: UVM maps it, not before", physical_mapped),
    ("ioctls 3.8, export of cuMemCreate's: 0x3d05, 0x3d0b or 0xd9", physical_exported),
    ("ioctls 3.8, a dma-buf of cudaMalloc's: 0xd9", buffer_exported),
    ("ioctls 3.8, cudaIpcOpenMemHandle: a dup or an import, and a map of UVM", ipc_open),
    ("ioctls 3.8, NCCL: ordinary memory, imports, multicast", nccl),
    ("ioctls 5: a client's handle is one process's", root_is_global),
    ("real-hardware, questions: cuGetProcAddress returns the exported functions", pointers),
    ("real-hardware, account: no call is missing", every_call),
    ("real-hardware, in addition: the objects' sum is NVML's number after each step", own_objects),
    ("real-hardware, in addition: a context is in both numbers, and more in the device's", context_takes),
    ("real-hardware, in addition: small allocations share chunks of 2 MiB", chunk),
    ("real-hardware, in addition: larger ones are rounded up to 2 MiB", rounded),
    ("real-hardware, in addition: cudaFree gives back at once", given_back),
    ("real-hardware, in addition: pools grow by 32 MiB", pool_chunk),
    ("real-hardware, in addition: page-locked memory takes nothing of the device", locked_nothing),
    ("real-hardware, in addition: managed memory is in no process's number", managed_nothing),
    ("real-hardware, in addition: a module and its first launch take memory", launch_takes),
    ("real-hardware, ioctls: RM_ALLOC is 0xc030462b, its paramsSize 0", alloc_request),
    ("real-hardware, ioctls: a large cudaMalloc is RM_ALLOC, a range and a map of UVM", large_ioctls),
    ("real-hardware, ioctls: its free is UVM_FREE and RM_FREE", large_free),
    ("real-hardware, ioctls: pools use UVM_UNMAP_EXTERNAL", pool_unmaps),
    ("real-hardware, ioctls: page-locked memory is RM_ALLOC_MEMORY 0x71 on the device", locked_ioctls),
    ("real-hardware, ioctls: managed memory is no RM_ALLOC, but validated by UVM", managed_ioctls),
    ("real-hardware, ioctls: a prefetch is UVM_MIGRATE", prefetch_migrates),
    ("real-hardware, ioctls: none inside of a chunk or pool", quiet),
    ("real-hardware, ioctls: no memory is status 0x51, and the ioctl returns 0", refused),
    ("real-hardware, ioctls: RM_VID_HEAP_CONTROL is not used", heap_control),
    ("real-hardware, cost: a recorded launch takes at most 5 us more", launch_cost),
    ("real-hardware, NVML: no byte of its number is unexplained", explained),
    ("real-hardware, NVML: who takes less than 100 ms", who_takes),
    ("driver-path, compared: from before is what was held, and falls by each free", before_attach),
    ("driver-path, on which device: each object's is known", second_device),
    ("driver-path, joined: each block of cuMemAlloc is at the address of a map", mapped_at_addresses),
    ("driver-path, joined: managed memory is validated each time", managed_validated),
    ("driver-path, joined: maps have the UUIDs of devices", maps_have_uuids),
    ("driver-path, several names: NVML does not count imported memory once more", imports_count),
    ("driver-path, how it is seen: libcuda calls ioctl() by a stub", stub),
    ("driver-path, how it is seen: of a child, nothing is missed", children_seen),
    ("check: has an answer", check_works),
]
