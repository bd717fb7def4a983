#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a real driver says to each thing that is only inferred, or that was seen on one machine alone:
a line for each, "hypothesis | confirmed, refuted or not seen | figures". Needs memscope-bpf, as root,
and Python; nothing else. Ends within --limit seconds, whatever hangs.

usage: verdicts.py MEMSCOPE_BPF DIRECTORY [--limit SECONDS]
       DIRECTORY must not exist, and keeps what was written down.
"""
import argparse
import os
import platform
import signal
import time

from hypotheses import HYPOTHESES
from hypotheses_time import HYPOTHESES as OF_TIME
from seen import Machine, NotSeen, Seen
from timed import Timed


def verdicts_of(seen, hypotheses):
    """Yields a line for each: what it is, what became of it, and by which figures."""
    for name, judge in hypotheses:
        try:
            right, figures = judge(seen)
            verdict = "confirmed" if right else "refuted"
        except NotSeen as why:
            verdict, figures = "not seen", str(why)
        except (LookupError, TypeError, ValueError) as error:  # something is not as it was expected
            verdict, figures = "not seen", f"cannot be judged: {error!r}"
        yield f"{name} | {verdict} | {figures}"


def main():
    parser = argparse.ArgumentParser(usage="verdicts.py MEMSCOPE_BPF DIRECTORY [--limit SECONDS]")
    parser.add_argument("tool")
    parser.add_argument("directory")
    parser.add_argument("--limit", type=float, default=450)
    options = parser.parse_args()
    began = time.monotonic()
    os.makedirs(options.directory)
    machine = Machine(os.path.abspath(options.tool), os.path.abspath(options.directory), options.limit)
    try:
        seen = Seen(machine)
        seen.timed = Timed(machine)
        lines = list(verdicts_of(seen, HYPOTHESES + OF_TIME))
    finally:
        for child in machine.children:
            if child.poll() is None:
                machine.end(child, signal.SIGKILL)
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            driver = file.readline().strip()
    except OSError:
        driver = "no NVIDIA driver is loaded"
    head = f"# Linux {platform.release()}, {platform.machine()}; {driver}; {time.monotonic() - began:.0f} s"
    with open(machine.path("verdicts.txt"), "w", encoding="utf-8") as file:
        for line in (head, *lines):
            print(line)
            print(line, file=file)


if __name__ == "__main__":
    main()
