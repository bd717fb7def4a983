#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads what `export` wrote as the viewers do, and compares it with the report of the same files.

usage: export_reader.py FORMAT EXPORT REPORT.json [METRIC]

Fails with what is wrong. Prints how much there was, so that a test can see that it was something.
"""

import collections
import gzip
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def check(condition, *what):
    if not condition:
        sys.exit("wrong: " + " ".join(str(part) for part in what))


def same(got, expected, what):
    for key in sorted(set(got) | set(expected), key=str):
        check(got.get(key) == expected.get(key), what, key, "is", got.get(key), "in the export,",
              expected.get(key), "in the report")


# ---- the report


def processes(report):
    for recording in report["recordings"]:
        for process in recording["processes"]:
            yield recording, process


def cells(report):
    for recording, process in processes(report):
        for cell in process["by_api"] or []:
            yield recording, process, cell


def has_losses(report):
    return any(not recording["lost"]["live_is_exact"] for recording in report["recordings"])


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
    locations = {location["id"][0]: functions[location["line"][0]["function"][0]]
                 for location in profile["location"]}
    check(0 not in functions and 0 not in locations, "an id is 0")
    check(len(functions) == len(profile["function"]) and
          len(locations) == len(profile["location"]), "an id is there twice")

    sums = collections.defaultdict(lambda: [0] * 4)
    for sample in profile["sample"]:
        labels = {string(label, "key"): string(label, "str") or (label["num"] or [0])[0]
                  for label in sample["label"]}
        stack = [locations[location] for location in sample["location"]]
        check(len(sample["value"]) == 4 and any(sample["value"]), "values", sample["value"])
        check(stack[0] == labels["api"] and stack[1] == labels["space"], "stack", stack)
        check(stack[3] == f"{labels['comm']} ({labels['pid']})", "stack", stack)
        check("device" not in labels or labels["device"] >= 0, "device")
        check(all(frame.isascii() and frame.isprintable() for frame in stack), "frame", stack)
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
            check(len(frames) == 4, "frames", frames)
            pid = re.search(r"\((\d+)\)$", frames[0])
            sums[int(pid[1]), frames[2], frames[3]] += int(match[2])
    for _, process, cell in cells(report):
        if cell[member]:
            expected[process["pid"], cell["space"], cell["api"]] += cell[member]
    same(sums, expected, "folded:")
    check(remarks or not has_losses(report), "no word about losses")
    print(len(sums), "stacks")


# ---- main

FORMATS = {"pprof": pprof, "folded": folded}


def main():
    form, path, report_path, *rest = sys.argv[1:]
    with open(report_path, encoding="utf-8") as file:
        report = json.load(file)
    FORMATS[form](path, report, *rest)


if __name__ == "__main__":
    main()
