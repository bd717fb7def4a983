#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads what `export` wrote as the viewers do, and compares it with the report of the same files.

usage: export_reader.py FORMAT EXPORT REPORT.json [METRIC | EVENTS.jsonl]

Fails with what is wrong. Prints how much there was, so that a test can see that it was something.
"""

import collections
import gzip
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # of the files beside this one

from export_memory_viz import memory_viz
from export_report import cells, check, harmless, has_losses, processes, same
from export_timeline import Timeline, timeline_is

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- protocol buffers, decoded by protoc

ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\"}


def unquote(text):
    """What protoc prints of a string."""
    return re.sub(r"\\([0-7]{3}|.)",
                  lambda match: ESCAPES.get(match[1]) or chr(int(match[1], 8)), text[1:-1])


def scalar(text):
    if text.startswith('"'):
        return unquote(text)
    try:
        return int(text)
    except ValueError:
        return text


def messages(lines):
    """The text format as dictionaries of lists; each of the outermost fields as it is complete."""
    stack = [collections.defaultdict(list)]
    for line in lines:
        line = line.strip()
        if line.endswith("{"):
            stack.append(collections.defaultdict(list))
            stack[-2][line[:-1].strip()].append(stack[-1])
        elif line == "}":
            stack.pop()
        else:
            name, value = line.split(": ", 1)
            check(not name.isdigit(), "field", line, "is not one that the test knows")
            stack[-1][name].append(scalar(value))
        if len(stack) == 1:
            yield next(iter(stack[0].items()))
            stack[0].clear()
    check(len(stack) == 1, "protoc's output is cut short")


def decode(proto, message, data):
    """`data`: bytes, or a file."""
    is_file = hasattr(data, "fileno")
    result = subprocess.run(
        ["protoc", "-I", os.path.join(HERE, "proto"), "--decode", "memscope.test." + message, proto],
        **({"stdin": data} if is_file else {"input": data}), stdout=subprocess.PIPE, check=True)
    text = result.stdout.decode("ascii").splitlines()
    for name, values in messages(text):
        for value in values:
            yield name, value


# ---- pprof


def pprof(path, report):
    profile = collections.defaultdict(list)
    with gzip.open(path) as file:
        for name, value in decode("profile.proto", "Profile", file.read()):
            profile[name].append(value)
    strings = profile["string_table"]
    harmless(*strings)
    check(strings[0] == "" and len(set(strings)) == len(strings), "string table", strings)

    def string(message, field):
        place = message[field][0] if message[field] else 0
        check(0 <= place < len(strings), "there is no string", place)
        return strings[place]

    check([(string(kind, "type"), string(kind, "unit")) for kind in profile["sample_type"]] ==
          [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
           ("inuse_space", "bytes")], "sample types")
    check(strings[profile["default_sample_type"][0]] == "inuse_space", "default sample type")
    period = profile["period_type"][0]
    check((string(period, "type"), string(period, "unit")) == ("space", "bytes"), "period type")

    functions = {function["id"][0]: string(function, "name") for function in profile["function"]}
    mappings = {mapping["id"][0]: string(mapping, "filename") for mapping in profile["mapping"]}
    check(0 not in mappings and len(mappings) == len(profile["mapping"]), "mappings", mappings)
    locations = {location["id"][0]: functions[location["line"][0]["function"][0]]
                 for location in profile["location"]}
    # What is called lies between where it is and the process.
    called = {location["id"][0] for location in profile["location"] if location["address"]}
    for location in profile["location"]:
        check(all(mapping in mappings for mapping in location["mapping"]), "mapping", location)
    check(0 not in functions and 0 not in locations, "an id is 0")
    check(len(functions) == len(profile["function"]) and
          len(locations) == len(profile["location"]), "an id is there twice")

    sums = collections.defaultdict(lambda: [0] * 4)
    for sample in profile["sample"]:
        labels = {string(label, "key"): string(label, "str") or (label["num"] or [0])[0]
                  for label in sample["label"]}
        tail = min(len(report["recordings"]), 2)
        between = sample["location"][3:-tail]
        check(all(location in called or locations[location] == "?" for location in between), "stack",
              sample["location"])
        stack = [locations[location] for location in
                 sample["location"][:3] + sample["location"][-tail:]]
        check(len(sample["value"]) == 4 and any(sample["value"]), "values", sample["value"])
        check(stack[0] == labels["api"] and stack[1] == labels["space"], "stack", stack)
        check(stack[3].endswith(f" ({labels['pid']})"), "stack", stack)
        check("script" in labels or stack[3].startswith(labels["comm"] or "process"), "stack", stack)
        check("device" not in labels or labels["device"] >= 0, "device")
        check(len(stack) == 4 if len(report["recordings"]) == 1 else
              len(stack) == 5 and stack[4] == labels["host"], "stack", stack)
        key = labels["pid"], labels["space"], labels["api"], labels.get("device")
        sums[key] = [a + b for a, b in zip(sums[key], sample["value"])]

    expected = collections.defaultdict(lambda: [0] * 4)
    for _, process, cell in cells(report):
        key = process["pid"], cell["space"], cell["api"], cell["device"]
        values = [cell[name] for name in
                  ("allocs", "alloc_bytes", "live_allocations", "live_bytes")]
        if any(values):
            expected[key] = [a + b for a, b in zip(expected[key], values)]
    same(sums, expected, "pprof:")
    check(len(profile["comment"]) > 1 or not has_losses(report), "no word about losses")
    if len(report["recordings"]) == 1:
        recording = report["recordings"][0]
        check(profile["duration_nanos"] == [recording["end_ts_ns"] - recording["begin_ts_ns"]],
              "duration", profile["duration_nanos"])
        offset = recording["wall_offset_ns"]
        check(profile["time_nanos"] ==
              ([recording["begin_ts_ns"] + offset] if offset is not None else []), "time")
    print(len(profile["sample"]), "samples")


# ---- folded stacks


def folded(path, report, metric="inuse"):
    member = {"inuse": "live_bytes", "alloc": "alloc_bytes", "peak": "bytes_in_peak"}[metric]
    sums, expected = collections.Counter(), collections.Counter()
    remarks = 0
    with open(path, encoding="ascii") as file:
        for line in file.read().splitlines():
            if line.startswith("#"):
                remarks += 1
                continue
            match = re.fullmatch(r"(.+) ([1-9]\d*)", line)
            check(match, "line", line)
            frames = match[1].split(";")
            if len(report["recordings"]) > 1:
                frames.pop(0)
            check(len(frames) >= 4, "frames", frames)
            pid = re.search(r"\((\d+)\)$", frames[0])
            sums[int(pid[1]), frames[-2], frames[-1]] += int(match[2])
    for _, process, cell in cells(report):
        if cell[member]:
            expected[process["pid"], cell["space"], cell["api"]] += cell[member]
    same(sums, expected, "folded:")
    check(remarks or not has_losses(report), "no word about losses")
    print(len(sums), "stacks")


# ---- Perfetto


class Perfetto:
    """What a reader knows of the one sequence."""

    def __init__(self):
        self.timeline = Timeline()
        self.tracks, self.offsets, self.open = {}, {}, collections.defaultdict(list)
        self.interned = None
        self.events = []
        self.dropped = 0

    def packet(self, packet):
        check(packet["sequence"] == [1], "no sequence")
        flags = packet["flags"][0] if packet["flags"] else 0
        if packet["previous_dropped"]:
            self.interned = None
            self.dropped += 1
        if flags & 1:
            self.interned = {name: {} for name in ("event_names", "annotation_names", "strings")}
        for interned in packet["interned"]:
            check(self.interned is not None, "interned, but nothing is valid")
            for kind, entries in interned.items():
                for entry in entries:
                    check(entry["iid"][0] not in self.interned[kind], "iid twice", entry)
                    self.interned[kind][entry["iid"][0]] = harmless(entry["text"][0])
        if packet["snapshot"]:
            clocks = {clock["id"][0]: clock["timestamp"][0]
                      for clock in packet["snapshot"][0]["clocks"]}
            check(packet["snapshot"][0]["primary"][0] in clocks, "primary clock")
            self.offsets = {clock: clocks[3] - timestamp for clock, timestamp in clocks.items()}
        for track in packet["track"]:
            check(not track["parent"] or track["parent"][0] in self.tracks, "no parent", track)
            self.tracks[track["uuid"][0]] = track
            harmless(*track["name"], *(name for process in track["process"]
                                       for name in process["name"] + process["labels"]))
        for event in packet["event"]:
            check(flags & 2 and self.interned is not None, "state that is not valid")
            ts_ns = packet["timestamp"][0] + self.offsets[packet["clock_id"][0]]
            self.events.append((ts_ns, self.resolve(event)))

    def resolve(self, event):
        event["arguments"] = arguments = {}
        for annotation in event["annotations"]:
            name = annotation.get("name") or \
                [self.interned["annotation_names"][annotation["name_iid"][0]]]
            values = [value[0] for key, value in annotation.items()
                      if value and not key.startswith("name") and key != "string_iid"]
            values += [self.interned["strings"][iid] for iid in annotation["string_iid"]]
            check(len(values) == 1 and name[0] not in arguments, "annotation", annotation)
            arguments[name[0]] = values[0]
        if event["name_iid"]:
            event["name"] = [self.interned["event_names"][event["name_iid"][0]]]
        return event

    def process_of(self, track):
        while not track["process"]:
            if not track["parent"]:
                return None
            track = self.tracks[track["parent"][0]]
        process = track["process"][0]
        suffix = re.search(r" \((\d+)\)$", process["name"][0])
        pid = int(suffix[1]) if suffix else process["pid"][0]
        return (track["uuid"][0], pid)

    @staticmethod
    def is_stream(track):
        return bool(track["name"] and re.match("GPU |further streams", track["name"][0]))

    @staticmethod
    def is_marked(track):
        return bool(track["name"] and re.match("markers of|ranges", track["name"][0]))

    @staticmethod
    def tid_of(track):
        lane = re.fullmatch(r"thread (\d+), overlapping", (track["name"] or [""])[0])
        return int(lane[1]) if lane else track["thread"][0]["tid"][0] if track["thread"] else 0

    def finish(self):
        """Events by time, as they are if times are equal: so does Perfetto's trace processor."""
        for ts_ns, event in sorted(self.events, key=lambda pair: pair[0]):
            check(event["track"][0] in self.tracks, "no track", event["track"])
            track = self.tracks[event["track"][0]]
            process = self.process_of(track)
            tid = self.tid_of(track)
            kind = event["type"][0]
            event["arguments"].setdefault("call_stack", None)
            if kind == 1:
                self.open[track["uuid"][0]].append((ts_ns, process, tid, event))
                for name, phase in (("flow", "s"), ("last_flow", "f")):
                    for flow in event[name]:
                        if not flow >> 63:
                            self.timeline.flows.append((ts_ns, phase, flow, process, tid))
                        elif self.is_stream(track):
                            self.timeline.gpu_done.append((ts_ns, process, track["uuid"][0], flow))
                        else:
                            self.timeline.gpu_begun[flow] = (ts_ns, process)
            elif kind == 2:
                check(self.open[track["uuid"][0]], "an end without a beginning")
                begin_ns, process, tid, begun = self.open[track["uuid"][0]].pop()
                slices, whose = (self.timeline.activities, track["name"][0]) if self.is_stream(track) else \
                    (self.timeline.marks, track["name"][0]) if self.is_marked(track) else (self.timeline.slices, tid)
                slices.append((begin_ns, ts_ns, process, whose, begun["name"][0],
                               begun["arguments"], track["uuid"][0]))
            elif kind == 3:
                self.timeline.instants.append(
                    (ts_ns, process, tid, event["name"][0], event["arguments"]))
            else:
                check(kind == 4 and track["counter"], "event", event)
                self.timeline.counters[process, track["name"][0]].append(
                    (ts_ns, event["counter_value"][0]))
        check(not any(self.open.values()), "a slice without an end")
        return self.timeline


def perfetto(path, report, events=None):
    reader = Perfetto()
    with open(path, "rb") as file:
        for _, packet in decode("trace.proto", "Trace", file):
            reader.packet(packet)
    timeline = reader.finish()
    check(reader.dropped == len(timeline.moments("events lost", "gap in the recording")),
          "losses that are not marked")
    if len(report["recordings"]) == 1:
        starts = {(process["pid"], process["start_ns"]) for _, process in processes(report)}
        for track in reader.tracks.values():
            for process in track["process"]:
                check((process["pid"][0], process["start_ns"][0]) in starts, "process", process)
    timeline_is(timeline, report, events)


# ---- Chrome


def nanoseconds(text):
    """Of microseconds, exactly: a floating-point number would not be."""
    match = re.fullmatch(r"(-?)(\d+)\.(\d{3})", text)
    check(match, "time", text)
    return int(match[1] + match[2] + match[3])


def chain_of(frames, number):
    """Of the call stack whose innermost frame has that number; None: there is none."""
    names = []
    while number is not None:
        names.append(frames[str(number)]["name"])
        number = frames[str(number)].get("parent")
    return " < ".join(names) or None


def chrome(path, report, events=None):
    timeline, names, lanes, begun = Timeline(), {}, {}, collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        trace = json.load(file, parse_float=nanoseconds)
    frames = trace.get("stackFrames", {})
    check(bool(trace["otherData"]["remarks"]) or not has_losses(report), "no word about losses")
    for event in trace["traceEvents"]:
        pid, lane, name = event["pid"], event["tid"], event.get("name")
        tid = lane % 2**32
        if event["ph"] == "M":
            if name == "process_name":
                suffix = re.search(r" \((\d+)\)$", event["args"]["name"])
                names[pid] = (pid, int(suffix[1]) if suffix else pid) if pid else None
            elif name == "thread_name":
                lanes[pid, lane] = event["args"]["name"]
            continue
        check(pid in names, "no process", pid)
        process = names[pid]
        if event["ph"] == "B":
            begun[pid, lane].append((event["ts"], name))
        elif event["ph"] == "E":
            begin, name = begun[pid, lane].pop()
            timeline.marks.append((begin, event["ts"], process, lanes[pid, lane], name, {}, lane))
        elif event["ph"] == "X" and event["cat"] == "gpu":
            timeline.activities.append((event["ts"], event["ts"] + event["dur"], process, lanes[pid, lane], name,
                                        event["args"], lane))
        elif event.get("cat") == "gpu":
            if event["ph"] == "t":
                timeline.gpu_done.append((event["ts"], process, lane, event["id"]))
            else:
                timeline.gpu_begun[event["id"]] = (event["ts"], process)
        elif event["ph"] == "X":
            event["args"]["call_stack"] = chain_of(frames, event.get("sf"))
            timeline.slices.append((event["ts"], event["ts"] + event["dur"], process, tid, name,
                                    event["args"], lane))
        elif event["ph"] == "C":
            timeline.counters[process, name].append((event["ts"], *event["args"].values()))
        elif event["ph"] == "i":
            check(event["s"] in "tpg", "scope", event)
            timeline.instants.append((event["ts"], process, tid, name, event["args"]))
        else:
            check(event["ph"] in "sf", "phase", event)
            timeline.flows.append((event["ts"], event["ph"], event["id"], process, tid))
    check(not any(begun.values()), "a marker without an end")
    timeline_is(timeline, report, events)


# ---- main

FORMATS = {"pprof": pprof, "folded": folded, "perfetto": perfetto, "chrome": chrome,
           "memory_viz": memory_viz}


def main():
    form, path, report_path, *rest = sys.argv[1:]
    with open(report_path, encoding="utf-8") as file:
        report = json.load(file)
    FORMATS[form](path, report, *rest)


if __name__ == "__main__":
    main()
