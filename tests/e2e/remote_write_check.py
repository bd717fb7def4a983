#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares what a Prometheus has with a text of metrics.

usage: remote_write_check.py URL METRICS

Each series of METRICS (in Prometheus' text format) is in the Prometheus, with the same value and, except for `job`
and `instance`, the same labels; and the Prometheus has no other one now. What the agent says of itself may have
changed in between: of those, only that there are any. Prints how many were compared.
"""

import json
import re
import sys
import urllib.parse
import urllib.request

LINE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?')
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def text_series(path):
    out = {}
    with open(path, encoding="utf-8") as file:
        for line in file.read().split("\n"):
            match = LINE.match(line)
            if not match:
                assert not line or line.startswith("#"), line
                continue
            name, labels, value = match.groups()
            pairs = [(key, re.sub(r'\\.', lambda escape: ESCAPES[escape.group()], text))
                     for key, text in LABEL.findall(labels or "")]
            out[name, tuple(sorted(pairs))] = float(value)
    return out


def stored_series(url):
    query = urllib.parse.urlencode({"query": '{job="memscope-bpf"}', "nocache": "1"})
    with urllib.request.urlopen(f"{url}/api/v1/query?{query}", timeout=20) as answer:
        rows = json.load(answer)["data"]["result"]
    out = {}
    for row in rows:
        labels = dict(row["metric"])
        name = labels.pop("__name__")
        assert labels.pop("job") == "memscope-bpf"
        assert labels.pop("instance") == labels["hostname"], labels
        key = name, tuple(sorted(labels.items()))
        assert key not in out, key
        out[key] = float(row["value"][1])
    return out


def main():
    text, stored = text_series(sys.argv[2]), stored_series(sys.argv[1])
    ours = [key for key in stored if key[0].startswith("memscope_agent_")]
    assert len(ours) > 30, len(ours)
    text = {key: value for key, value in text.items() if not key[0].startswith("memscope_agent_")}
    stored = {key: value for key, value in stored.items() if not key[0].startswith("memscope_agent_")}
    different = [(key, text.get(key), stored.get(key)) for key in text.keys() | stored.keys()
                 if text.get(key) != stored.get(key)]
    for one in different[:10]:
        print("in the text, and stored:", one, file=sys.stderr)
    print(len(text))
    sys.exit(bool(different) or not text)


main()
