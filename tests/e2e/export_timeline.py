# SPDX-License-Identifier: BSD-2-Clause
"""What Perfetto and Chrome are shown, in one form, compared with the report and the ndjson of the same files."""

import collections
import json
import re

from export_report import check, is_whole, processes, same


class Timeline:
    def __init__(self):
        self.slices = []  # (begin ns, end ns, process, tid, name, arguments, lane)
        self.instants = []  # (ns, process, tid, name, arguments)
        self.counters = collections.defaultdict(list)  # (process, name) -> [(ns, value)]
        self.flows = []  # (ns, "s" or "f", id, process, tid)
        self.marks = []  # (begin ns, end ns, process, lane's name, name, arguments, lane)
        self.activities = []  # (begin ns, end ns, process, lane's name, name, arguments, lane)
        self.gpu_begun = {}  # id -> (ns, process), of a call
        self.gpu_done = []  # (ns, process, lane, id), of what it made the GPU do

    def moments(self, *names):
        return [instant for instant in self.instants if instant[3] in names]


def plain(name):
    """A kernel's name, whatever became of the characters that could do harm. C++ names come in two forms."""
    if name and (name.startswith("_Z") or re.search("[(<]", name)):
        return "C++"
    return name and without_harm(name)


def without_harm(text):
    return re.sub(r"(\\x[0-9a-f]{2}|[^ -\[\]-~])+", "?", text)


def calls_are(timeline, path, one_clock):
    """The same calls as in the ndjson of the same files."""
    expected, moments = collections.Counter(), collections.Counter()
    failed = memory = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            if event["type"] != "call":
                continue
            if event["result"] is None:
                moments[event["ts_ns"] if one_clock else 0, event["pid"], event["tid"], event["api"]] += 1
                continue
            expected[event["ts_ns"] if one_clock else 0, event["duration_ns"], event["pid"], event["tid"],
                     event["api"], event.get("size_bytes"), plain(event.get("kernel")),
                     event["result"]] += 1
            out_of_memory = event["op"] == "alloc" and event["result"] == 2
            memory += out_of_memory
            failed += event["result"] != 0 and not out_of_memory
    got = collections.Counter(
        (begin if one_clock else 0, end - begin, process[1], tid, name, arguments.get("size_bytes"),
         plain(arguments.get("kernel")), arguments["result"])
        for begin, end, process, tid, name, arguments, _ in timeline.slices)
    check(got == expected, "calls:", list((got - expected).items())[:3], "instead of",
          list((expected - got).items())[:3])
    names = {key[3] for key in moments}
    check(collections.Counter((ts if one_clock else 0, process[1], tid, name)
                              for ts, process, tid, name, _ in timeline.moments(*names)) == moments,
          "calls without an end")
    check(len(timeline.moments("out of memory")) == memory, "out of memory")
    check(len(timeline.moments("call failed")) == failed, "failures")


def frame_text(frame):
    """As trace --stack shows it."""
    if frame is None:
        return "?"
    line = frame["source"] and frame["source"].rsplit("/", 1)[-1] + (f":{frame['line']}" if frame["line"] else "")
    if frame["kind"] == "python":
        return f"{frame['function'] or '?'} ({line or '?'}){' (inferred)' if frame['inferred'] else ''}"
    text = (frame["module"] or "?").rsplit("/", 1)[-1]
    if frame["function"]:
        text += f"({frame['function']}" + ("" if frame["inlined"] else f"+0x{frame['offset']:x}") + ")"
    text += f" [{frame['address']}]" + (f" {line}" if line and frame["line"] else "")
    return text + (" (inlined)" if frame["inlined"] else "") + (" (by frame pointer)" if frame["by_pointer"] else "")


def stacks_are(timeline, path):
    """Allocations have the owner and all frames of their call stack. Returns how many have one."""
    stacks, expected, without = {}, collections.Counter(), (None, None)
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            if event["type"] == "stack":
                stacks[event["stack_id"]] = (event["owner"], " < ".join(
                    without_harm(frame_text(frame)) for frame in event["frames"]))
            elif event["type"] == "call" and event["op"] == "alloc" and event["result"] is not None:
                stack = stacks.get(event["stack_id"], without)
                expected[event["ts_ns"], event["pid"], event["tid"], event["api"], *stack] += 1
    apis = {key[3] for key in expected}
    got = collections.Counter()
    for begin, _, process, tid, name, arguments, _ in timeline.slices:
        frames = arguments["call_stack"]
        check(bool(arguments.get("called_in")) == bool(frames), "called in", name, arguments)
        if name in apis:
            frames = frames and without_harm(re.sub(r" < \.\.\. \([^()]*\)$", "", frames))
            got[begin, process[1], tid, name, arguments.get("owner"), frames] += 1
    check(got == expected, "call stacks:", list((got - expected).items())[:3], "instead of",
          list((expected - got).items())[:3])
    return sum(count for key, count in expected.items() if key[5])


def activities_are(timeline, path, one_clock):
    """What GPUs did is that of the ndjson, on its stream, and comes from the call it says."""
    expected, joined = collections.Counter(), 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            if event.get("activity") not in ("kernel", "copy", "memset") or event["begin_ns"] is None:
                continue
            name = event["kernel_name"] if event["activity"] == "kernel" else \
                " ".join(filter(None, (event["activity"], event["copy_direction"])))
            lane = f"GPU {event['ordinal']}, context {event['context_number']}, stream {event['stream_number']}"
            expected[event["begin_ns"] if one_clock else 0, event["activity_ns"], event["pid"], lane,
                     plain(name), event["copied_bytes"], event["correlation"]] += 1
            joined += event["call_begin_ns"] is not None
    got = collections.Counter(
        (begin if one_clock else 0, end - begin, process[1], lane.removesuffix(", overlapping"), plain(name),
         arguments.get("copied_bytes"), arguments.get("correlation", 0))
        for begin, end, process, lane, name, arguments, _ in timeline.activities)
    check(got == expected, "activities:", list((got - expected).items())[:3], "instead of",
          list((expected - got).items())[:3])
    check(len(timeline.gpu_done) >= joined, "arrows:", len(timeline.gpu_done), "of", joined)


def marks_are(timeline, path, one_clock):
    """What programs mark begins when they said so."""
    expected = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            if event["type"] == "marker" and event["action"] in ("push", "start"):
                expected[event["ts_ns"] if one_clock else 0, event["pid"], plain(event["name"]) or "marker"] += 1
    got = collections.Counter((begin if one_clock else 0, process[1], plain(name))
                              for begin, _, process, _, name, _, _ in timeline.marks)
    check(got == expected, "markers:", list((got - expected).items())[:3], "instead of",
          list((expected - got).items())[:3])


def arrows_are(timeline):
    """From the beginning of a call to each thing that it made the GPU do."""
    places = {(begin, process, lane): arguments
              for begin, _, process, _, _, arguments, lane in timeline.activities}
    calls = {(begin, process) for begin, _, process, _, _, _, _ in timeline.slices}
    for ts, process in timeline.gpu_begun.values():
        check((ts, process) in calls, "an arrow begins at no call", ts)
    for ts, process, lane, number in timeline.gpu_done:
        check(number in timeline.gpu_begun, "an arrow from nowhere", ts)
        begun, caller = timeline.gpu_begun[number]
        check(caller == process and begun <= ts, "an arrow from", begun, "to", ts)
        check((ts, process, lane) in places, "an arrow leads to nothing", ts)


def nests(timeline):
    """As a viewer draws them: by begin, the longer one first."""
    open_until = collections.defaultdict(list)
    for begin, end, process, _, name, _, lane in sorted(
            timeline.slices + timeline.activities + timeline.marks, key=lambda slice: (slice[0], -slice[1])):
        stack = open_until[process, lane]
        while stack and stack[-1] <= begin:
            stack.pop()
        check(not stack or end <= stack[-1], "slices of a thread overlap:", name, begin, end)
        stack.append(end)


def counters_are(timeline, report):
    """In the end, what is live; on the way, the peaks."""
    sums, peaks, gone = collections.Counter(), [], exits(timeline)
    expected, expected_peaks = collections.Counter(), []
    for _, process in processes(report):
        for space in process["spaces"]:
            if space["live_bytes"] is None:
                continue
            if space["live_bytes"]:
                expected[process["pid"], space["space"]] += space["live_bytes"]
            if space["peak_bytes"]:
                expected_peaks.append((process["pid"], space["space"], space["peak_bytes"]))
    for (process, name), values in timeline.counters.items():
        if name.startswith("live "):
            key, held = (process[1], name[5:]), values[-1][1]
            # When the process exits, the counter falls from what it held then to 0. If the exit is
            # the first that is known after a gap, it may have held nothing any more.
            if (process, values[-1][0]) in gone and not held and len(values) > 1:
                held = values[-2][1] if is_whole(report) or expected[key] else 0
            sums[key] += held
            peaks.append((*key, max(value for _, value in values)))
    same(+sums, +expected, "live:")
    if is_whole(report):
        check(sorted(peaks) == sorted(expected_peaks), "peaks:", sorted(peaks), "instead of",
              sorted(expected_peaks))
    else:
        sums = collections.Counter()
        for pid, space, peak in peaks:
            sums[pid, space] = max(sums[pid, space], peak)
        for pid, space, peak in expected_peaks:
            check(sums[pid, space] <= peak, "peaks:", pid, space, sums[pid, space], peak)


def exits(timeline):
    return {(process, ts) for ts, process, _, name, _ in timeline.instants if name == "exit"}


def devices_are(timeline, report):
    """Where something was lost, a process may go on after its end: what it holds then is nobody's."""
    if len(report["recordings"]) != 1 or not is_whole(report):
        return
    for device in report["recordings"][0]["devices"]:
        number = "unknown" if device["device"] is None else device["device"]
        values = timeline.counters.get((None, f"device {number} live, of all processes"))
        if values:
            check(values[-1][1] == device["explained_bytes"], "device", number, values[-1],
                  "instead of", device["explained_bytes"])
        else:
            check(not device["explained_bytes"], "device", number)


def flows_are(timeline):
    begun = set()
    slices = {(begin, process, tid) for begin, _, process, tid, _, _, _ in timeline.slices}
    # An allocation is told when its call returns: its end comes later, also in the file.
    for ts, phase, number, process, tid in timeline.flows:
        if phase == "s":
            check(number not in begun, "flow", number, "begins twice")
            begun.add(number)
        else:
            check(number in begun, "flow", number, "ends, but has not begun")
        check((ts, process, tid) in slices, "a flow is at no slice")


def timeline_is(timeline, report, events=None):
    stacks = 0
    nests(timeline)
    counters_are(timeline, report)
    devices_are(timeline, report)
    flows_are(timeline)
    arrows_are(timeline)
    lost = sum(instant[4]["count"] for instant in timeline.moments("events lost"))
    check(lost == sum(recording["lost"]["records"] for recording in report["recordings"]),
          "losses:", lost)
    if events:
        calls_are(timeline, events, len(report["recordings"]) == 1)
        if len(report["recordings"]) == 1:
            stacks = stacks_are(timeline, events)
        activities_are(timeline, events, len(report["recordings"]) == 1)
        marks_are(timeline, events, len(report["recordings"]) == 1)
    if timeline.marks:
        print(len(timeline.marks), "marks")
    if timeline.activities:
        print(len(timeline.activities), "activities", len(timeline.gpu_done), "arrows")
    if stacks:
        print(stacks, "allocations with call stacks")
    print(len(timeline.slices), "slices", len(timeline.instants), "instants",
          len(timeline.counters), "counters", len(timeline.flows), "flows")
