#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Compares an export with what `report -f json` says of the same files, number by number, with readers
that have nothing to do with the program.

usage: export_check.py ndjson|csv|sqlite|openmetrics EXPORT REPORT [SCHEMA]

Totals are those of one recording: files with several are added up. A recording with losses has events
that the report counts and nobody saw: `lossy` as last argument only demands that there are not more.
"""
import collections
import csv
import json
import re
import sqlite3
import sys


class Totals:
    def __init__(self):
        self.blocks = collections.Counter()  # (pid, space, what)
        self.levels = collections.Counter()  # (pid, space, live or peak)
        self.calls = collections.Counter()  # (pid, op, detail, what)

    def wanted(self):
        return {key: value for key, value in (self.blocks + self.calls).items() if value}


def of_report(path):
    totals = Totals()
    for recording in json.load(open(path))["recordings"]:
        processes = list(recording["processes"])
        if recording["more_processes"]:
            sys.exit("more processes than are listed: choose another recording")
        for process in processes:
            pid = process["pid"]
            for space in process["spaces"]:
                for what in "allocs", "alloc_bytes", "frees", "free_bytes":
                    totals.blocks[pid, space["space"], what] += space[what] or 0
            for copies in process["copies"] or []:
                totals.calls[pid, "copy", copies["direction"], "count"] += copies["count"]
                totals.calls[pid, "copy", copies["direction"], "bytes"] += copies["bytes"]
            for what, op in ("memsets", "memset"), ("syncs", "sync"), ("launches", "launch"), ("graph_launches", "graph"):
                totals.calls[pid, op, None, "count"] += process[what] or 0
            totals.calls[pid, "sync", None, "duration_ns"] += process["sync_duration_ns"] or 0
    return totals


# ---- events, as dictionaries of Python values -------------------------------------------------


def add_event(totals, event):
    """What the report makes of a line, by the meaning of its fields alone."""
    pid, op, count = event["pid"], event["op"], event.get("count") or 1
    if event["result"] not in (0, None) or event["part"]:
        return
    if op == "alloc" and event["alloc_id"] is not None and not event["captured"]:
        totals.blocks[pid, event["space"], "allocs"] += 1
        totals.blocks[pid, event["space"], "alloc_bytes"] += event["size_bytes"] or 0
    elif op == "free" and event["freed"] == "known":
        totals.blocks[pid, event["space"], "frees"] += 1
        totals.blocks[pid, event["space"], "free_bytes"] += event["size_bytes"] or 0
    for amount in event.get("made") or []:
        totals.blocks[pid, amount["space"], "allocs"] += amount["allocations"]
        totals.blocks[pid, amount["space"], "alloc_bytes"] += amount["bytes"]
    # Of a context they are not freed, but end.
    for amount in (event.get("ended") or []) if op in ("free", "launch") else []:
        totals.blocks[pid, amount["space"], "frees"] += amount["allocations"]
        totals.blocks[pid, amount["space"], "free_bytes"] += amount["bytes"]
    if op == "copy":
        totals.calls[pid, op, event["direction"], "count"] += count
        totals.calls[pid, op, event["direction"], "bytes"] += event["size_bytes"] or 0
    elif op in ("memset", "sync"):
        totals.calls[pid, op, None, "count"] += count
    elif op == "launch":
        totals.calls[pid, "graph" if "Graph" in event["api"] else op, None, "count"] += count
    if op == "sync":
        totals.calls[pid, op, None, "duration_ns"] += event["duration_ns"] or 0


def of_ndjson(path, schema_path):
    import jsonschema

    schema = json.load(open(schema_path))
    jsonschema.Draft202012Validator.check_schema(schema)
    branches = {}
    for branch in schema["oneOf"]:
        properties = branch["properties"]
        key = properties["type"]["const"], properties.get("op", {}).get("const")
        branches[key] = jsonschema.Draft202012Validator({**branch, "$defs": schema["$defs"]})
    totals, types, checked = Totals(), collections.Counter(), collections.Counter()
    shown = last = 0
    for number, line in enumerate(open(path), 1):
        event = json.loads(line)
        last = event["type"]
        types[last] += 1
        kind = last, event.get("op")
        checked[kind] += 1
        # More of the same would only take time.
        for error in branches[kind].iter_errors(event) if checked[kind] < 500 else []:
            sys.exit(f"{path}:{number}: {error.json_path}: {error.message}")
        if last in ("call", "calls"):
            add_event(totals, event)
            shown += event.get("count", 1)
        elif last == "lost":
            shown += event["count"]
        elif last == "summary":
            if event["events"]["shown"] > shown:
                sys.exit(f"{path}:{number}: {event['events']} but {shown} calls and losses")
    if last != "summary" or types["recording"] != types["summary"]:
        sys.exit(f"{path}: {types}")
    return totals


def value_of(name, text):
    """Of a cell: a number, a name, amounts or nothing."""
    if text == "":
        return None
    if name in ("made", "ended"):
        return [
            {"space": space, "allocations": int(count), "bytes": int(size)}
            for space, count, size in (part.split(":") for part in text.split(" "))
        ]
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch("-?[0-9]+", text) else text


def of_csv(path, _schema=None):
    totals = Totals()
    # Strict: quotes as RFC 4180 has them, and nothing else.
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.reader(file, strict=True)
        names = next(rows)
        for row in rows:
            if len(row) != len(names):
                sys.exit(f"{path}: {len(row)} cells of {len(names)}: {row}")
            event = {name: value_of(name, text) for name, text in zip(names, row)}
            if event["type"] in ("call", "calls"):
                add_event(totals, event)
    return totals


def of_sqlite(path, _schema=None):
    totals = Totals()
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.row_factory = sqlite3.Row
    for row in database.execute("SELECT * FROM memscope_events"):
        event = dict(row)
        for name in "made", "ended":
            event[name] = value_of(name, event[name] or "")
        add_event(totals, event)
    for row in database.execute("SELECT * FROM memscope_counted_calls"):
        add_event(totals, dict(row))
    return totals


def of_openmetrics(path, _schema=None):
    """Made with --label pid."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    blocks = {"allocations": "allocs", "allocated_bytes": "alloc_bytes", "frees": "frees", "freed_bytes": "free_bytes"}
    calls = {
        "copies": ("copy", "count"),
        "copied_bytes": ("copy", "bytes"),
        "memsets": ("memset", "count"),
        "syncs": ("sync", "count"),
        "sync_seconds": ("sync", "duration_ns"),
        "kernel_launches": ("launch", "count"),
        "graph_launches": ("graph", "count"),
    }
    totals = Totals()
    for family in text_string_to_metric_families(open(path, encoding="utf-8", newline="").read()):
        name = family.name.removeprefix("memscope_")
        for sample in family.samples:
            pid = int(sample.labels.get("pid", 0))
            if name in blocks:
                totals.blocks[pid, sample.labels["kind"], blocks[name]] += int(sample.value)
            elif name in calls:
                op, what = calls[name]
                scale = 10**9 if name == "sync_seconds" else 1
                totals.calls[pid, op, sample.labels.get("direction"), what] += round(sample.value * scale)
            elif name in ("process_gpu_memory_peak_bytes", "process_gpu_memory_live_bytes"):
                totals.levels[pid, sample.labels["kind"], name.split("_")[3]] += int(sample.value)
    return totals


def check_openmetrics(totals, report_path):
    wanted = collections.Counter()
    for recording in json.load(open(report_path))["recordings"]:
        for process in recording["processes"]:
            for space in process["spaces"]:
                for what in "live", "peak":
                    wanted[process["pid"], space["space"], what] += space[what + "_bytes"] or 0
    if +totals.levels != +wanted:
        sys.exit(f"levels: {+totals.levels}\nin the report: {+wanted}")


def rows_of(database, sql):
    return sorted(tuple(row) for row in database.execute(sql))


def check_sqlite(path, report_path, lossy):
    """What the tables say of processes, against the report."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    wanted = {"memscope_peak": [], "memscope_live": collections.Counter(), "memscope_by_api": [], "memscope_findings": []}
    for recording in json.load(open(report_path))["recordings"]:
        wanted["memscope_findings"] += [(finding["rule"], finding["pid"], finding["bytes"], len(finding["evidence"])) for finding in recording["findings"]]
        for process in recording["processes"]:
            for space in process["spaces"]:
                wanted["memscope_peak"].append((process["pid"], space["space"], space["peak_bytes"], space["live_bytes"], space["allocs"]))
                if space["live_allocations"]:
                    key = process["pid"], space["space"]
                    wanted["memscope_live"][key + ("count",)] += space["live_allocations"]
                    wanted["memscope_live"][key + ("bytes",)] += space["live_bytes"]
            for cell in process["by_api"] or []:
                wanted["memscope_by_api"].append((process["pid"], cell["api"], cell["space"], cell["live_bytes"], cell["alloc_bytes"]))
    live = collections.Counter()
    for pid, space, count, size in database.execute(
        "SELECT pid, space, count(*), total(bytes) FROM memscope_live GROUP BY pid, space"
    ):
        live[pid, space, "count"] += count
        live[pid, space, "bytes"] += int(size)
    found = {
        "memscope_peak": rows_of(database, "SELECT pid, space, peak_bytes, live_bytes, allocs FROM memscope_peak"),
        "memscope_live": live,
        "memscope_by_api": rows_of(database, "SELECT pid, api, space, live_bytes, alloc_bytes FROM memscope_by_api"),
        "memscope_findings": rows_of(
            database,
            "SELECT rule, pid, bytes, (SELECT count(*) FROM memscope_evidence e WHERE e.finding = f.id)"
            " FROM memscope_findings f",
        ),
    }
    for name, rows in wanted.items():
        if isinstance(rows, list):
            rows.sort()
        if found[name] != rows:
            sys.exit(f"{name}: {found[name]}\nin the report: {rows}")


# ---- the comparison ---------------------------------------------------------------------------


def main():
    form, path, report_path, *rest = sys.argv[1:]
    lossy = rest[-1:] == ["lossy"]
    readers = {"ndjson": of_ndjson, "csv": of_csv, "sqlite": of_sqlite, "openmetrics": of_openmetrics}
    totals = readers[form](path, *rest[: len(rest) - lossy])
    found = totals.wanted()
    wanted = of_report(report_path).wanted()
    wrong = []
    for key in sorted(set(found) | set(wanted), key=str):
        if key[1:] == ("mapped", "frees"):
            continue  # one call can unmap several: one event with all their bytes
        have, want = found.get(key, 0), wanted.get(key, 0)
        if have > want if lossy else have != want:
            wrong.append(f"{key}: {have} in the export, {want} in the report")
    if form == "sqlite":
        check_sqlite(path, report_path, lossy)
    if form == "openmetrics":
        check_openmetrics(totals, report_path)
    if wrong or not found:
        sys.exit("\n".join(wrong) or "nothing was found")
    print(f"{len(found)} totals are equal")


main()
