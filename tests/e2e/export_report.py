# SPDX-License-Identifier: BSD-2-Clause
"""What the readers of exports (export_reader.py) compare them with: the report, and how."""

import sys


def check(condition, *what):
    if not condition:
        sys.exit("wrong: " + " ".join(str(part) for part in what))


def same(got, expected, what):
    for key in sorted(set(got) | set(expected), key=str):
        check(got.get(key) == expected.get(key), what, key, "is", got.get(key), "in the export,",
              expected.get(key), "in the report")


def harmless(*texts):
    """Names as programs chose them must not reach a terminal or a page as they are."""
    for text in texts:
        check(text.isascii() and (text.isprintable() or not text), "name", repr(text))
    return texts[0] if texts else None


def processes(report):
    for recording in report["recordings"]:
        for process in recording["processes"]:
            yield recording, process


def cells(report):
    for recording, process in processes(report):
        for cell in process["by_api"] or []:
            # Addresses are no memory.
            if cell["space"] not in ("reserved", "mapped"):
                yield recording, process, cell


def has_losses(report):
    return any(not recording["lost"]["live_is_exact"] for recording in report["recordings"])


def is_whole(report):
    return not any(recording["lost"]["records"] or recording["lost"]["missing_blocks"] or
                   recording["lost"]["damaged_places"] for recording in report["recordings"])
