# SPDX-License-Identifier: BSD-2-Clause
"""What was seen of times, markers and the host's part, for verdicts.py: runs timed_plays.py, recorded with --gpu-time
and otherwise."""
import glob
import os
import sys

from seen import HERE, NotSeen

PLAYS = os.path.join(HERE, "timed_plays.py")
# By which option markers are seen: files with NVTX's functions. NVTX 3's is a program of NVTX 3 itself.
LIBRARIES = {"nvtx": ("libnvtx3interop.so.1", "libnvToolsExt.so.1"), "inject": ("libnvtx3interop.so.1",)}
PLACES = ("/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
          *(f"{path}/nvidia/*/lib" for path in sys.path if path.endswith("-packages")))


def library(names):
    """The first of these files that is where the loader looks, in a CUDA toolkit or one of Python's packages."""
    places = (*filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")), *PLACES)
    found = [file for name in names for place in places for file in sorted(glob.glob(os.path.join(place, name)))]
    return found[0] if found else None


class Timed:
    def __init__(self, machine):
        self.machine = machine
        _, self.report, events = machine.record("timed", "--gpu-time", "--launches=all", "--copies=all", "--host=500ms", "--",
                                                *self.command("timed"))
        self.events = sorted((e for e in events if e["type"] in ("call", "activity")), key=lambda e: e["ts_ns"])
        self.steps = self.lines("timed")
        machine.run("untimed", 40, *self.command("untimed"))
        self.plain = self.lines("untimed")
        self.injected = {name: self.inject(name, path) for name, path in (
            ("missing", machine.path("not-there.so")), ("other", self.beside("libmemscope-nvtx.so")))}
        _, self.boxed, _ = machine.record("boxed", "--gpu-time=1s", "--", *self.command("boxed", "--long", "3"))
        self.boxed_steps = self.lines("boxed")
        self.marked = {option: self.mark(option, library(names)) for option, names in LIBRARIES.items()}

    def beside(self, name):
        return os.path.join(os.path.dirname(self.machine.tool), name)

    def command(self, name, *words):
        return sys.executable, PLAYS, self.machine.path(name + ".lines"), *words

    def lines(self, name):
        return {line["step"]: line for line in self.machine.read(name + ".lines")}

    def inject(self, name, path):
        """Whether a program ends well although the driver is told of that library, and what it printed. None: no time."""
        name = "injected-" + name
        ended = self.machine.run(name, 30, "env", "CUDA_INJECTION64_PATH=" + path, *self.command(name, "--short"))
        try:
            with open(self.machine.path(name + ".err"), encoding="utf-8", errors="replace") as file:
                return ended and "end" in self.lines(name), file.read().strip()
        except OSError:
            return None

    def mark(self, option, path):
        """How often a program that marks by that library was in each phase; None: there is none."""
        name = "marked-" + option
        if not path:
            return None
        _, report, _ = self.machine.record(name, "--markers=" + option, "--", *self.command(name, "--nvtx", path))
        phases = ((report or {}).get("phases") or {}).get("list", [])
        return {"/".join(phase["path"]): phase["times"] for phase in phases}

    # ---- what hypotheses ask for

    def step(self, name, steps=None):
        steps = self.steps if steps is None else steps
        if name not in steps:
            raise NotSeen(f"the program did not come to its step {name}")
        if steps[name]["results"]:
            raise NotSeen("; ".join(f"{call} returned {result}" for call, result in steps[name]["results"].items()))
        return steps[name]

    def process(self):
        for process in (self.report or {}).get("processes", []):
            if process["gpu"]:
                return process
        raise NotSeen("there is no report, or the library was not loaded")

    def gpu(self):
        """What CUPTI said, if it did."""
        gpu = self.process()["gpu"]
        if gpu["why"] == "no_library":
            raise NotSeen("no libcupti was found: set LD_LIBRARY_PATH")
        if gpu["state"] == "off":
            raise NotSeen(f"CUPTI did not work: {gpu['why']}")
        return gpu

    def waits(self, name):
        """The calls that waited for the kernels of known length in the step "spinning" or "blocking"."""
        until = self.step(name)["ts"]
        before = {"spinning": "launches", "blocking": "copies"}[name]
        found = [e for e in self.events if e["type"] == "call" and e["api"] == "cuCtxSynchronize" and
                 self.step(before)["ts"] < e["ts_ns"] < until and e["running_ns"] is not None]
        if len(found) != self.step(name)["kernels"]:
            raise NotSeen(f"{len(found)} of {self.step(name)['kernels']} waits have their split")
        return found
