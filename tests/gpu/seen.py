# SPDX-License-Identifier: BSD-2-Clause
"""Runs programs on a GPU, recorded and not, for verdicts.py, and keeps what came of them."""
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PLAYS = os.path.join(HERE, "plays.py")
MIB = 1 << 20
ALLOC, FREE, CONTROL, DUP, ALLOC_MEMORY, HEAP, DMABUF = 0x2b, 0x29, 0x2a, 0x34, 0x27, 0x4a, 0xd9
UVM_FREE, UVM_UNMAP, UVM_RANGE, UVM_MAP, UVM_MIGRATE, UVM_VALIDATE, UVM_PEER = 34, 66, 73, 33, 51, 72, 29


class NotSeen(Exception):
    """There is nothing by which the hypothesis could be judged: why."""


class Machine:
    """Runs things, and never for longer than is left."""

    def __init__(self, tool, directory, limit):
        self.tool, self.directory, self.until = tool, directory, time.monotonic() + limit
        self.children = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def left(self, most):
        return max(min(most, self.until - time.monotonic() - 5), 0)

    def start(self, name, *words):
        with open(self.path(name + ".out"), "wb") as out, open(self.path(name + ".err"), "wb") as err:
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        self.children.append(child)
        return child

    def end(self, child, number=signal.SIGINT):
        """Asks it to end, then makes it. Returns its exit code; None: it would not."""
        for each in (number, signal.SIGKILL):
            try:
                if each:
                    os.killpg(child.pid, each)
            except ProcessLookupError:
                pass
            try:
                return child.wait(15)
            except subprocess.TimeoutExpired:
                continue
        return None

    def run(self, name, most, *words):
        """Returns whether it ended well in time."""
        seconds = self.left(most)
        if not seconds:
            return False
        child = self.start(name, *words)
        try:
            return child.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            self.end(child)
            return False

    def read(self, name):
        """The lines of a file of JSON objects."""
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return [json.loads(line) for line in file if line.startswith("{")]
        except (OSError, ValueError):
            return []

    def record(self, name, *words):
        """Records a command. Returns the recording's report and events."""
        recorded = self.run(name, 90, self.tool, "record", "-v", "--nvml=250ms", "-o", self.path(name + ".mscope"), *words)
        return (recorded, *self.digest(name))

    def digest(self, name):
        self.run(name + "-report", 40, self.tool, "report", "-f", "json", "-o", self.path(name + ".json"),
                 self.path(name + ".mscope"))
        self.run(name + "-export", 40, self.tool, "export", "-q", "-f", "ndjson", "-o", self.path(name + ".ndjson"),
                 self.path(name + ".mscope"))
        try:
            with open(self.path(name + ".json"), encoding="utf-8") as file:
                report = json.load(file)["recordings"][0]
        except (OSError, ValueError, LookupError):
            report = None
        return report, self.read(name + ".ndjson")


class Seen:
    """All that was run, and what came of it."""

    def __init__(self, machine):
        python = sys.executable
        self.machine = machine
        machine.run("play", 90, python, PLAYS, machine.path("play.lines"), "--log")
        self.steps = {line["step"]: line for line in machine.read("play.lines")}
        self.order = list(self.steps)
        self.child = {line["step"]: line for line in machine.read("play.lines.import")}
        self.recorded, self.report, self.events = machine.record(
            "recorded", "--launches=all", "--", python, PLAYS, machine.path("recorded.lines"))
        self.recorded_steps = machine.read("recorded.lines")
        _, self.children, self.children_events = machine.record(
            "children", "-f", "--", "sh", "-c", '"$0" "$1" "$2"; true', python, PLAYS, machine.path("children.lines"))
        self.late = self.attach_late()
        machine.run("check", 30, machine.tool, "check", "--json")
        self.who_ms = self.time_who()

    def attach_late(self):
        """A program that holds 1 GiB in 8 blocks, and frees them. Returns what was held from before after each."""
        machine, fifo, lines = self.machine, self.machine.path("late.fifo"), self.machine.path("late.lines")
        os.mkfifo(fifo)
        program = machine.start("late-program", sys.executable, PLAYS, lines, "--wait", fifo)
        if not self.wait(lambda: any(line["step"] == "held" for line in machine.read("late.lines")), 40):
            machine.end(program)
            return []
        recorder = machine.start("late", machine.tool, "record", "-v", "--nvml=100ms", "-o", machine.path("late.mscope"),
                                 "-p", str(program.pid))
        answers = self.answers
        if not self.wait(lambda: answers() > 1, 20):
            machine.end(recorder)
            machine.end(program)
            return []
        with open(fifo, "w", encoding="utf-8") as out:
            for i in range(9):
                before = answers()
                self.wait(lambda count=before: answers() > count + 1, 10)
                machine.run(f"mark-{i}", 10, machine.tool, "mark", "-q", f"late-{i}")
                out.write("free\n")
                out.flush()
                self.wait(lambda count=i: len(machine.read("late.lines")) > count + 3, 10)
        machine.end(recorder)
        machine.end(program, None)
        found = []
        for i in range(9):
            machine.run(f"late-{i}", 20, machine.tool, "report", "-f", "json", f"--to=mark:late-{i}",
                        "-o", machine.path(f"late-{i}.json"), machine.path("late.mscope"))
            try:
                with open(machine.path(f"late-{i}.json"), encoding="utf-8") as file:
                    found.append(json.load(file)["recordings"][0]["processes"][0]["nvml"])
            except (OSError, ValueError, LookupError):
                found.append(None)
        return found

    def answers(self):
        with open(self.machine.path("late.err"), encoding="utf-8", errors="replace") as file:
            return file.read().count("debug: NVML: ")

    def wait(self, done, seconds):
        until = time.monotonic() + self.machine.left(seconds)
        while time.monotonic() < until:
            if done():
                return True
            time.sleep(0.05)
        return False

    def time_who(self):
        times = []
        for i in range(5):
            began = time.monotonic()
            if self.machine.run(f"who-{i}", 15, self.machine.tool, "who", "--json"):
                times.append(1000 * (time.monotonic() - began))
        return sorted(times)

    # ---- what hypotheses ask for

    def step(self, name):
        if name not in self.steps:
            raise NotSeen(f"the program did not come to its step {name}")
        step = self.steps[name]
        if step["results"] and name != "refused":
            raise NotSeen("; ".join(f"{call} returned {result}" for call, result in step["results"].items()))
        return step

    def ioctls(self, name, steps=None):
        step = (steps or self.steps).get(name) if steps is not None else self.step(name)
        if not step or step["ioctls"] is None:
            raise NotSeen("the driver's ioctls could not be written down")
        return step["ioctls"]

    def uvm(self):
        """Raises unless the driver uses the device for unified memory at all."""
        if not any(i["kind"] == "uvm" for step in self.steps.values() for i in step["ioctls"] or []):
            raise NotSeen("this driver makes no ioctl of nvidia-uvm")

    def grown(self, name, what="own"):
        """By how much NVML's number for the process (or for all: "used") is higher than one step before."""
        before = self.steps[self.order[self.order.index(name) - 1]] if self.step(name) else None
        if not self.known(before[what]) or not self.known(self.step(name)[what]):
            raise NotSeen("NVML says nothing of this process")
        return sum(self.step(name)[what]) - sum(before[what])

    def known(self, values):
        if not values or None in values:
            return False
        return any(sum(step["own"] or [0]) for step in self.steps.values())


def numbers(ioctls, kind=None):
    return [i["number"] for i in ioctls if kind is None or i["kind"] == kind]


def allocs(ioctls, class_number=0x40):
    return [i for i in ioctls if i["kind"] != "uvm" and i["number"] in (ALLOC, ALLOC_MEMORY) and
            i["class"] == class_number and not i["status"]]


def commands(ioctls):
    return {i["command"] for i in ioctls if i["kind"] != "uvm" and i["number"] == CONTROL}


def mib(size):
    return f"{size / MIB:g} MiB"
