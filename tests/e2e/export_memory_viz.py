# SPDX-License-Identifier: BSD-2-Clause
"""Reads a snapshot of memory as PyTorch's viewer does: a part of export_reader.py."""

import collections
import json
import pickle
import pickletools
import re
import sys

from export_report import check, harmless, has_losses, is_whole, processes, same

# What the viewer's own unpickler knows (MemoryViz.js).
OPCODES = set("""PROTO FRAME MARK STOP EMPTY_DICT EMPTY_LIST EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3
    LIST DICT APPEND APPENDS SETITEM SETITEMS BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE
    SHORT_BINUNICODE NEWTRUE NEWFALSE NONE BINGET LONG_BINGET BINPUT LONG_BINPUT MEMOIZE""".split())
ON_DEVICE = {"device", "pool", "array", "graph", "physical"}
EXACT = 1 << 53  # of the viewer's numbers


class Restricted(pickle.Unpickler):
    def find_class(self, module, name):
        sys.exit(f"wrong: the pickle asks for {module}.{name}")


def load_snapshot(path):
    appended = 0
    with open(path, "rb") as file:
        for opcode, argument, _ in pickletools.genops(file):
            check(opcode.name in OPCODES, "the viewer does not know", opcode.name)
            check(opcode.name != "PROTO" or 2 <= argument <= 4, "protocol", argument)
            check(not isinstance(argument, int) or 0 <= argument < 1 << 63, "number", argument)
            # What is appended at once becomes arguments of one function.
            appended = 0 if opcode.name == "APPENDS" else appended + 1
            check(appended < 50000, "too much at once")
        file.seek(0)
        return Restricted(file).load()


class Memory:
    """One device's, entry by entry."""

    def __init__(self):
        self.segments, self.blocks = {}, {}
        self.owners = {}  # of segments
        self.tensors = collections.Counter()  # bytes of blocks in segments of allocators, by process
        self.sums, self.peaks = collections.Counter(), collections.Counter()
        self.ooms = 0
        self.requested = None

    def entry(self, entry):
        action, key = entry["action"], owner_of(entry["frames"])
        check(entry["size"] > 0 or action == "oom", "an entry of nothing")
        if action == "oom":
            check(entry["device_free"] >= 0, "oom", entry)
            self.ooms += 1
            return
        block = entry["addr"], entry["size"], key
        check(entry["addr"] + entry["size"] <= EXACT, "address", entry)
        if action in ("segment_alloc", "segment_map"):
            check(entry["addr"] not in self.segments, "a segment twice", entry)
            self.segments[entry["addr"]] = entry["size"]
            self.owners[entry["addr"]] = key
            self.sums[key] += entry["size"]
            self.peaks[key] = max(self.peaks[key], self.sums[key])
        elif action in ("segment_free", "segment_unmap"):
            check(self.segments.pop(entry["addr"], None) == entry["size"], "no segment", entry)
            check(not any(entry["addr"] <= addr < entry["addr"] + entry["size"]
                          for addr in self.blocks), "a block without a segment", entry)
            self.sums[self.owners.pop(entry["addr"])] -= entry["size"]
        elif action == "alloc":
            check(self.has_room(entry["addr"], entry["size"]) and
                  entry["addr"] not in self.blocks, "alloc", entry)
            self.blocks[entry["addr"]] = block
            self.tensors[key[0]] += entry["size"]
        elif action == "free_requested":
            check(self.blocks.get(entry["addr"]) == block, "free of nothing", entry)
            self.requested = block
        else:
            check(action == "free_completed" and self.requested == block, "free", entry)
            del self.blocks[entry["addr"]]
            self.tensors[key[0]] -= entry["size"]

    def has_room(self, addr, size):
        """In a segment, or in pieces of one that are side by side."""
        start = max((start for start in self.segments if start <= addr), default=None)
        end = start
        while end is not None and end < addr + size and end in self.segments:
            end += self.segments[end]
        return end is not None and end >= addr + size

    def ends_with(self, segments):
        """Snapshot and trace must agree: the viewer goes from the end back to the beginning."""
        found = {}
        end = 0
        for segment in sorted(segments, key=lambda segment: segment["address"]):
            check(segment["address"] >= end, "segments overlap", segment)
            end = segment["address"] + segment["total_size"]
            check(end <= EXACT, "address", segment)
            address, used = segment["address"], 0
            for block in segment["blocks"]:
                check(block["address"] == address and block["size"] > 0, "block", block)
                if block["state"] == "active_allocated":
                    found[address] = address, block["size"], owner_of(block["frames"])
                    used += block["size"]
                else:
                    check(block["state"] == "inactive" and not block["frames"], "block", block)
                address += block["size"]
            check(address == end and segment["segment_type"] in ("large", "small"), "segment",
                  segment)
            check(used == segment["allocated_size"] == segment["active_size"], "sum", segment)
        check(found == self.blocks, "what is live in the end", len(found), len(self.blocks))
        check(sum(segment["total_size"] for segment in segments) == sum(self.segments.values()),
              "bytes of segments in the end")
        whole = {segment["address"]: segment["total_size"] for segment in segments
                 if not segment["is_expandable"]}
        check(all(self.segments.get(address) == size for address, size in whole.items()),
              "segments in the end")


def owner_of(frames):
    check(len(frames) >= 2 and all(isinstance(frame["line"], int) for frame in frames), "frames")
    harmless(*(text for frame in frames for text in (frame["name"], frame["filename"])))
    pid = re.search(r" \((\d+)\)$", frames[-1]["name"])
    # Physical memory is there by its mapped pieces.
    return int(pid[1]), frames[0]["filename"].replace("mapped", "physical")


def memory_viz(path, report, events):
    snapshot = load_snapshot(path)
    check(isinstance(snapshot["allocator_settings"], dict), "settings")
    check(bool(snapshot.get("remarks")) or not has_losses(report), "no word about losses")
    traces = snapshot["device_traces"]
    memories = []
    for number, trace in enumerate(traces):
        memory = Memory()
        for entry in trace:
            check("category" not in entry, "category")
            memory.entry(entry)
        memory.ends_with([segment for segment in snapshot["segments"]
                          if segment["device"] == number])
        memories.append(memory)
    check(all(segment["device"] < len(traces) for segment in snapshot["segments"]), "device")

    sums, peaks = collections.Counter(), collections.Counter()
    for memory in memories:
        sums.update(+memory.sums)
        peaks.update(memory.peaks)
    expected, expected_peaks = collections.Counter(), {}
    for _, process in processes(report):
        for space in process["spaces"]:
            key = process["pid"], space["space"]
            if space["space"] not in ON_DEVICE or space["live_bytes"] is None:
                continue
            if not process["exited"] and space["live_bytes"]:
                expected[key] += space["live_bytes"]
            expected_peaks[key] = max(space["peak_bytes"], expected_peaks.get(key, 0))
    same(+sums, expected, "memory_viz:")
    for _, process in processes(report):
        tensors = process["tensors"]
        if tensors and tensors["exact"] and not process["exited"]:
            got = sum(memory.tensors[process["pid"]] for memory in memories)
            known = sum(device["blocks_bytes"] for device in tensors["devices"])
            # Besides, there is what other allocations hold.
            check(got >= known, "blocks of tensors", got, known)
    if is_whole(report) and len(report["recordings"]) == 1:
        devices = report["recordings"][0]["devices"]
        for device in devices:
            number = device["device"]
            number = snapshot.get("unknown_device", len(traces)) if number is None else number
            got = sum(memories[number].sums.values()) if number < len(traces) else 0
            check(got == device["explained_bytes"], "device", device["device"], got)
        for key, peak in expected_peaks.items():
            # On several devices, not all at the same time; in graphs, not at any that is told.
            if sum(key in memory.peaks for memory in memories) == 1 and key[1] != "graph":
                check(peaks[key] == peak, "peak", key, peaks[key], "instead of", peak)
    with open(events, encoding="utf-8") as file:
        failed = sum(event["op"] == "alloc" and event["result"] == 2 and
                     event["space"] in ON_DEVICE
                     for event in map(json.loads, file) if event["type"] == "call")
    check(sum(memory.ooms for memory in memories) == failed, "out of memory")
    print(sum(len(trace) for trace in traces), "entries", len(snapshot["segments"]), "segments",
          len(traces), "devices")
