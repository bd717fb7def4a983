# SPDX-License-Identifier: BSD-2-Clause
"""The hypotheses of verdicts.py about times, markers and the host's part. "timing 1.8" is a section of the notes on
CUPTI, NVTX and the host that this program was written from, where they are marked as inferred.
"""
from seen import MIB, NotSeen, mib
from timed import LIBRARIES
from timed_plays import BUSY_NS


def cupti_works(seen):
    gpu = seen.timed.process()["gpu"]
    if gpu["why"] == "no_library":
        raise NotSeen("no libcupti was found: set LD_LIBRARY_PATH")
    return gpu["state"] != "off", f"CUPTI {gpu['cupti_version']}, {gpu['state']}, {gpu['why']}; " \
                                  f"set up in {gpu['set_up_ns'] / 1e6:.1f} ms"


def everything_comes(seen):
    gpu, timed = seen.timed.gpu(), seen.timed
    copies = timed.step("copies")
    made = {"kernels": timed.step("end")["calls"]["cuLaunchKernel"], "HtoD": copies["to_device"], "DtoH": copies["from_device"],
            "memsets": copies["memsets"]}
    came = {"kernels": sum(k["count"] for k in gpu["kernels"]) + gpu["other_kernels"],
            **{d: sum(k["count"] for k in gpu["copies"] if k["direction"] == d) for d in ("HtoD", "DtoH")},
            "memsets": gpu["memsets"]["count"]}
    return made == came, f"made {made}, came {came}; dropped {gpu['dropped']}, without times {gpu['untimed']}"


def joined(seen):
    joins = seen.timed.gpu()["joins"]
    if not joins["activities"]:
        raise NotSeen("nothing was recorded")
    return joins["activities"] == joins["with_call"] == joins["with_probed_call"], \
        f"{joins['activities']}, {joins['with_call']} of them with CUPTI's call, {joins['with_probed_call']} with the probe's"


def takes_clock(seen):
    gpu = seen.timed.gpu()
    return not gpu["clock_is_converted"], f"CUPTI {gpu['cupti_version']}: " + \
        (f"converted, to within {gpu['clock_error_ns']} ns" if gpu["clock_is_converted"] else "taken")


def stamps_are_ours(seen):
    step = seen.timed.step("another-tool")
    if step["our_clock"] is None:
        raise NotSeen("no libcupti is in the program")
    if seen.timed.gpu()["clock_is_converted"]:
        raise NotSeen("CUPTI keeps its own clock")
    return step["our_clock"], "cuptiGetTimestamp lies between two readings of CLOCK_MONOTONIC" if step["our_clock"] else "it does not"


def calls_are_right(seen):
    joins = seen.timed.gpu()["joins"]
    return not joins["outside_of_call"] and joins["call_error_ns"] <= 10000, \
        f"error at most {joins['call_error_ns']} ns; {joins['outside_of_call']} of {joins['calls']} outside of their calls"


def gpu_times_are_right(seen):
    joins = seen.timed.gpu()["joins"]
    return not joins["before_call"] and not joins["after_wait"], \
        f"error at most {joins['gpu_error_ns'] / 1000:.1f} us; {joins['before_call']} before their calls, {joins['after_wait']} after waits"


def lengths(seen):
    """By the GPU's own clock, which the kernels read, and by CUPTI."""
    found = [e["activity_ns"] for e in seen.timed.events
             if e["type"] == "activity" and e["kernel_name"] == "busy" and e["activity_ns"]]
    seen.timed.gpu()
    if not found:
        raise NotSeen("no kernel could be launched")
    return min(found) > BUSY_NS - 20000 and max(found) < BUSY_NS + 2000000, \
        f"{len(found)} kernels of {BUSY_NS / 1e6:g} ms: {min(found) / 1e6:.3f} to {max(found) / 1e6:.3f} ms"


def no_faster_than_link(seen):
    seen.timed.gpu()
    links, copied = (seen.timed.report["gpu_links"] or []), [
        e for e in seen.timed.events if e["type"] == "activity" and e["copy_direction"] in ("HtoD", "DtoH") and e["activity_ns"]]
    if len(links) != 1 or not links[0]["most_speed"] or not copied:
        raise NotSeen(f"{len(links)} links, {len(copied)} copies")
    link = links[0]["most_speed"] / 10 * links[0]["most_width"] / 8 * 128 / 130
    fastest = max(e["copied_bytes"] / e["activity_ns"] for e in copied)
    return fastest <= link, f"{fastest:.1f} GB/s of {link:.1f} GB/s"


def link_while_copying(seen):
    links = (seen.timed.report or {}).get("gpu_links") or []
    known = [link for link in links if link["most_speed"]]
    if not known:
        raise NotSeen(f"{len(links)} GPUs, and the kernel says nothing of their links")
    return any(link["most_speed"] == link["max_speed"] and link["most_width"] == link["max_width"] for link in known), \
        "; ".join(f"{link['most_speed'] / 10:g} GT/s x{link['most_width']} of {link['max_speed'] / 10:g} GT/s x{link['max_width']}"
                  for link in known)


def placed(seen, space):
    seen.timed.step("copies")
    for block in seen.timed.process()["placement"]:
        if block["space"] == space:
            there = sum(node["pages"] for node in block["nodes"] if node["node"] is not None)
            return there == block["asked_pages"], f"the node of {there} of {block['asked_pages']} pages is known"
    raise NotSeen("the host was not looked at while there was any")


def locked_placed(seen):
    return placed(seen, "pinned")


def managed_placed(seen):
    return placed(seen, "managed")


def numa_maps(seen):
    pages = seen.timed.step("copies")["numa_maps"]
    return bool(pages), f"{pages}"


def share_of(seen, name, what):
    """Of the time in waits in which the thread did not lack a CPU."""
    waits = seen.timed.waits(name)
    return sum(e[what] for e in waits) / sum(e["running_ns"] + e["blocked_ns"] for e in waits), len(waits)


def waits_spin(seen):
    share, count = share_of(seen, "spinning", "running_ns")
    return share > 0.8, f"threads ran for {100 * share:.0f} % of {count} waits of {BUSY_NS / 1e6:g} ms"


def waits_block(seen):
    share, count = share_of(seen, "blocking", "blocked_ns")
    return share > 0.8, f"threads were blocked for {100 * share:.0f} % of {count} waits of {BUSY_NS / 1e6:g} ms"


def returns_soon(seen):
    """How long after the end of the last kernel before it does a wait return?"""
    seen.timed.gpu()
    ends = [e["end_ns"] for e in seen.timed.events if e["type"] == "activity" and e["kernel_name"] == "busy"]
    late = []
    for wait in seen.timed.waits("spinning"):
        until = wait["ts_ns"] + wait["duration_ns"]
        late += [until - max(end for end in ends if end <= until)] if any(end <= until for end in ends) else []
    if not late:
        raise NotSeen("no kernel ended before a wait returned")
    return sorted(late)[len(late) // 2] < 100000, f"{len(late)} waits returned {min(late) / 1000:.1f} to {max(late) / 1000:.1f} us after their kernels"


def launch_cost(seen):
    seen.timed.gpu()
    without, timed = seen.timed.step("launches", seen.timed.plain)["launch_ns"], seen.timed.step("launches")["launch_ns"]
    return timed - without < 5000, f"median of 2,000 launches: {without} ns, with CUPTI and recorded {timed} ns"


def own_memory(seen):
    seen.timed.gpu()
    own = [seen.timed.step("end", steps)["own"] for steps in (seen.timed.steps, seen.timed.plain)]
    if not all(own) or None in own[0] + own[1] or not sum(own[1]):
        raise NotSeen("NVML says nothing of the process")
    more = sum(own[0]) - sum(own[1])
    return 0 < more <= 64 * MIB, f"the process takes {mib(more)} more with CUPTI"


def injected(name):
    def judge(seen):
        if "end" not in seen.timed.plain or not seen.timed.injected[name]:
            raise NotSeen("the program does not work without it either, or there was no time")
        ended, said = seen.timed.injected[name]
        return ended and not said, f"the program {'went on' if ended else 'failed'}, {'with' if said else 'without'} a message"
    return judge


def time_box(seen):
    processes = [p for p in (seen.timed.boxed or {}).get("processes", []) if p["gpu"]]
    if not processes or processes[0]["gpu"]["state"] == "off":
        raise NotSeen("CUPTI did not work")
    seen.timed.step("end", seen.timed.boxed_steps)
    came, made = sum(k["count"] for k in processes[0]["gpu"]["kernels"]), seen.timed.boxed_steps["end"]["kernels"]
    return 0 < came < made and processes[0]["gpu"]["state"] == "stopped", f"{came} of {made} kernels in 1 of 3 s; {processes[0]['gpu']['state']}"


def one_subscriber(seen):
    step = seen.timed.step("another-tool")
    if step["subscribed"] is None:
        raise NotSeen("no libcupti is in the program")
    seen.timed.gpu()
    return bool(step["subscribed"]), f"cuptiSubscribe returned {step['subscribed']}"


def marks(option):
    def judge(seen):
        phases = seen.timed.marked[option]
        if phases is None:
            raise NotSeen(f"no {' or '.join(LIBRARIES[option])} was found: see README.md")
        step = seen.timed.step("end", seen.timed.lines("marked-" + option))
        made = {"outer": step["pairs"], "outer/inner": step["pairs"], "instant": step["marks"]}
        return phases == made, f"made {made}, seen {phases}"
    return judge


def needs(what):
    def judge(seen):
        raise NotSeen(f"needs {what}")
    return judge


HYPOTHESES = [
    ("timing, how it works: CUPTI works in a program that memscope-bpf starts", cupti_works),
    ("timing 1.1: the driver ignores CUDA_INJECTION64_PATH of a missing file", injected("missing")),
    ("timing 1.1: the driver ignores CUDA_INJECTION64_PATH of a library without the function", injected("other")),
    ("timing 1.6, real-hardware: all kernels, copies and memsets come", everything_comes),
    ("timing 1.7, real-hardware: each is joined with its call, by the driver's calls alone", joined),
    ("timing 1.8, real-hardware: CUPTI takes our clock", takes_clock),
    ("timing 1.8: then its times of calls are CLOCK_MONOTONIC", stamps_are_ours),
    ("timing 4, real-hardware: times of calls are right to within 10 us", calls_are_right),
    ("timing 4, real-hardware: nothing runs before its call or after the wait for it", gpu_times_are_right),
    ("timing 4: kernels are as long as the GPU's own clock says", lengths),
    ("timing 1.9, real-hardware: a second tool does not get CUPTI", one_subscriber),
    ("timing 1.11: after the time of --gpu-time=TIME, the program goes on unmeasured", time_box),
    ("timing 7, real-hardware: a launch takes at most 5 us more with CUPTI", launch_cost),
    ("timing 7, timing: CUPTI takes some MiB of the device", own_memory),
    ("timing 7: what HES gains", needs("a Blackwell GPU, and HES is not used")),
    ("timing 7: activity under MPS", needs("the MPS daemon")),
    ("timing 7: CUPTI 12 on a driver of CUDA 13 over long runs", needs("hours")),
    ("timing 2, markers: NVTX's exported functions of a running program", marks("nvtx")),
    ("timing 2.2, markers: NVTX 3 by the library that is injected", marks("inject")),
    ("timing 3.2, host: the kernel knows the node of page-locked memory", locked_placed),
    ("timing 3.2, host: the kernel knows the node of managed memory", managed_placed),
    ("timing 7: page-locked memory is in numa_maps", numa_maps),
    ("timing 3.2: memory of the GPU as a NUMA node", needs("a GPU that is coherent with the CPU")),
    ("timing 3.3, host: a link is at its fastest while it copies", link_while_copying),
    ("timing 3.3: no copy is faster than the link", no_faster_than_link),
    ("timing 3.4, host: waits spin, unless the program asked for something else", waits_spin),
    ("timing 3.4, host: CU_CTX_SCHED_BLOCKING_SYNC blocks", waits_block),
    ("timing 5.2: a wait returns within 100 us after its kernel, in the median", returns_soon),
]
