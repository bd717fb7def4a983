#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What receivers of an agent's metrics have after they were down for minutes.

usage: outage.py MINUTES BUILD_DIR MEMSCOPE DIRECTORY       (needs root and Prometheus)

Three agents push: one to Prometheus and to a collector, one to VictoriaMetrics, and one to another Prometheus, which is
down from the beginning, and for which intervals from before wait already. A program allocates at checkpoints, between
which the account stands still: what /metrics says by then is what each sample of this time has to say. All receivers
go down for MINUTES. Half way, the agents are killed. Then the receivers are there again, but slow; while the agents
send them what has waited, both are killed at once, and started again.

Afterwards, of what the agents have made of intervals, each is in its receiver, once, and says what the account was, but
for those of which the third agent had too many: these are the oldest, and it has counted each. Prints the figures.
"""

import math
import pathlib
import signal
import subprocess
import sys
import time

from outage_parts import (MOST, Agent, Collector, Prometheus, Proxy, Puppet, Victoria, fill_queue, free_ports,
                          wait_until)

NEARLY = 240  # intervals in the third agent's queue, with which it is killed early: what it has dropped since it
              # was asked last, it can tell no one
LOST = 10     # of which so many are lost at least
SLOW_S = 0.1  # for each request; without this, it takes a few milliseconds


def say(text):
    print(text, flush=True)


class Outage:
    def __init__(self, minutes, build, tool, directory):
        self.seconds, self.build, self.tool, self.directory = minutes * 60, build, tool, directory
        self.count = max(20, min(100, round(10 * minutes)))  # of checkpoints, of which four fifths in the outage
        self.receivers, self.agents, self.checkpoints = [], [], []
        self.most_queued, self.killed = {}, []
        self.puppet, self.pid, self.before = None, 0, 0
        self.account = (0, 0, 0, 0)  # of this life of the agents
        self.total = [0, 0, 0]       # of all lives: allocations, bytes, frees

    # ---- agents and receivers

    def feeds(self):
        for agent in self.agents:
            for option, (proxy, receiver) in agent.feeds.items():
                yield agent, option, proxy, receiver

    def prepare(self):
        ports = iter(free_ports(11))
        interval_s, small_s = max(1, round(self.seconds / 200)), max(1, round(self.seconds / 300))
        for name, seconds, receivers in (
                ("kept", interval_s, {"remote-write": (Prometheus, "Prometheus"), "otlp": (Collector, "a collector")}),
                ("other", interval_s, {"remote-write": (Victoria, "VictoriaMetrics")}),
                ("small", small_s, {"remote-write": (Prometheus, "Prometheus, of a full queue")})):
            feeds = {}
            for option, (kind, of) in receivers.items():
                receiver = kind(of, self.directory, next(ports))
                feeds[option] = Proxy(next(ports), receiver.port), receiver
            if all(receiver.is_installed() for _, receiver in feeds.values()):
                self.agents.append(Agent(name, self.tool, self.directory, next(ports), seconds, feeds))
            else:
                say(f"without {', '.join(one for _, one in receivers.values())}, which is not installed")
        # Its queue is nearly full half way.
        self.before = max(20, round(215 - 2.7 * self.count / 10 * interval_s / small_s - self.seconds / 2 / small_s))
        fill_queue(self.agents[-1].state / "remote-write.queue", self.before)

    def start_agents(self):
        for agent in self.agents:
            agent.start()
        if self.puppet:
            for agent in self.agents:
                agent.sees(self.pid)
        self.account = (0, 0, 0, 0)

    def receivers_up(self, pause_s, without=""):
        for agent, _, proxy, receiver in self.feeds():
            if agent.name != without:
                receiver.start()
                proxy.open(pause_s)

    def receivers_down(self, without=""):
        for agent, _, proxy, receiver in self.feeds():
            if agent.name != without:
                receiver.kill()
                proxy.close()

    def kill_agents(self):
        """What they have made by then, and their receivers have not taken, is to be there for the next ones."""
        for agent in self.agents:
            wait_until(lambda agent=agent: self.recorded(agent) == tuple(self.total), "the ring to have it all")
            metrics = agent.metrics()
            self.killed += [(agent, option, agent.pushed(option, metrics)) for option in agent.feeds]
        for agent in self.agents:
            agent.kill()
        for (_, _, proxy, _), (_, _, end) in zip(self.feeds(), self.killed[-len(list(self.feeds())):]):
            end["waits"] = end["restored"] + end["made"] - end["dropped"] - proxy.answered
            proxy.answered = 0

    def recorded(self, agent):
        """What a report of the agent's ring says: allocations, bytes, frees."""
        text = subprocess.run([self.tool, "export", "-q", "-f", "openmetrics", agent.state / "ring"], check=False,
                              capture_output=True, text=True).stdout.splitlines()
        return tuple(sum(int(line.split("} ")[1].split()[0]) for line in text
                         if line.startswith(f"memscope_{word}_total{{") and f'comm="{Puppet.comm}"' in line)
                     for word in ("allocations", "allocated_bytes", "frees"))

    # ---- the program

    def start_puppet(self):
        self.puppet = Puppet(self.build, self.directory)
        self.pid = self.puppet.process.pid
        self.puppet.obey("load")
        for agent in self.agents:
            agent.sees(self.pid)
        self.puppet.obey("init")

    def pushed(self):
        found = {}
        for agent in self.agents:
            metrics = agent.metrics()
            for option in agent.feeds:
                found[agent.name, option] = agent.pushed(option, metrics)
        for key, one in found.items():
            if one["queued"] > self.most_queued.get(key, (0, 0))[0]:
                self.most_queued[key] = one["queued"], one["bytes"]
        return found

    def checkpoint(self, until=0):
        """Returns when the agents know of it, two intervals of each have been made since, and not before that time."""
        number = len(self.checkpoints)
        size, churn, free = 1000 * number + 1, number % 4, number % 3 == 2
        begun_ms = time.time() * 1000
        self.puppet.obey("alloc", size)
        self.puppet.obey("churn", churn)
        if free:
            self.puppet.obey("free")
        more = (1 + churn, size + 4096 * churn, churn + free)
        self.total = [sum(both) for both in zip(self.total, more)]
        self.account = tuple(a + b for a, b in zip(self.account, (*more, 0 if free else size)))
        for agent in self.agents:
            wait_until(lambda agent=agent: agent.account(agent.metrics()) == self.account,
                       f"checkpoint {number}: {agent.name} to have {self.account}")
        known_ms, before = time.time() * 1000, self.pushed()
        wait_until(lambda: all(one["made"] >= before[key]["made"] + 2 for key, one in self.pushed().items()),
                   f"checkpoint {number}: intervals")
        self.checkpoints.append((self.agents[0].lives, begun_ms, known_ms, self.account))
        time.sleep(max(0, until - time.monotonic()))

    def small(self):
        return self.agents[-1].pushed("remote-write")

    def checkpoints_for(self, seconds, last):
        """Up to that number of all; fewer if the third agent's queue gets full, as it is to be killed."""
        begun, first = time.monotonic(), len(self.checkpoints)
        while len(self.checkpoints) < last and (self.agents[-1].lives > 1 or self.small()["queued"] < NEARLY):
            self.checkpoint(begun + seconds * (len(self.checkpoints) + 1 - first) / (last - first))

    def stop_taking(self, without=""):
        """What is under way has not come, or has, but the agent does not know."""
        for agent, _, proxy, receiver in self.feeds():
            if agent.name != without:
                proxy.stop_taking(receiver.unanswered)

    def drained(self, without=""):
        return all(one["queued"] == 0 for (name, _), one in self.pushed().items() if name != without)

    # ---- what happens

    def happen(self):
        self.prepare()
        self.receivers_up(0, "small")
        self.start_agents()
        self.start_puppet()
        tenth = self.count // 10
        for _ in range(tenth):
            self.checkpoint()
        wait_until(lambda: self.drained("small"), "what there is to be sent")
        self.stop_taking("small")
        self.receivers_down("small")
        begun = time.monotonic()
        self.checkpoints_for(self.seconds / 2, 5 * tenth)
        self.kill_agents()
        self.start_agents()
        self.checkpoints_for(begun + self.seconds - time.monotonic(), self.count - tenth)
        wait_until(lambda: self.small()["dropped"] >= LOST, "the queue to get full", 600)
        say(f"down for {time.monotonic() - begun:.0f} s; {MOST} intervals are kept at most")
        self.receivers_up(SLOW_S)
        wait_until(lambda: all(one["sent"] >= 10 for one in self.pushed().values()), "slow receivers to take some", 300)
        self.stop_taking()
        self.kill_agents()
        self.receivers_down()
        self.start_agents()
        wait_until(lambda: all(one["made"] >= 2 for one in self.pushed().values()), "intervals")
        self.receivers_up(SLOW_S)
        begun = time.monotonic()
        wait_until(self.drained, "what has waited to be sent", 600)
        say(f"all of it was taken {time.monotonic() - begun:.0f} s after they were there again, {SLOW_S} s for each")
        for _ in range(tenth):
            self.checkpoint()
        wait_until(self.drained, "the last ones to be sent", 600)

    def judge(self):
        for agent, option, _, receiver in self.feeds():
            Judgement(self, agent, option, receiver).judge()
        for agent in self.agents:
            agent.stop()
            assert self.recorded(agent) == tuple(self.total), (agent.name, self.recorded(agent), self.total)

    def end(self):
        processes = [one.process for one in self.agents + [self.puppet] + [one for _, _, _, one in self.feeds()] if one]
        for process in processes:
            if process and process.poll() is None:
                process.kill()


class Judgement:
    """Of what a receiver has. `lives`: of each agent that was, {moment: values of that moment}."""

    def __init__(self, outage, agent, option, receiver):
        self.outage, self.agent, self.option, self.receiver = outage, agent, option, receiver
        self.last, self.spelling = agent.pushed(option), receiver.spelling
        self.points, self.moments, self.lives, self.made = {}, [], [], {}
        # Some show what they have taken a moment later, and parts of it before others.
        wait_until(lambda: self.read() and self.made[self.moments[-1]] >= self.last["made"] + 3,
                   f"{receiver.name} to show it")
        self.read([at for at in self.moments if self.made[at] < self.last["made"]][-1])

    def read(self, end=math.inf):
        """What it has of moments up to that one. Returns whether there are any."""
        self.points = {key: [point for point in points if point[0] <= end] for key, points in self.receiver.points().items()}
        begun = dict(self.all("memscope_agent_start_time_seconds"))
        self.moments = sorted(begun)
        self.lives = [[at for at in self.moments if begun[at] == value] for value in sorted(set(begun.values()))]
        self.made = self.count_made()
        return self.moments

    def all(self, name, **labels):
        """Of all series that have these labels."""
        return [point for (one, pairs), points in self.points.items()
                if one == name and labels.items() <= dict(pairs).items() for point in points]

    def sums(self, name, **labels):
        out = dict.fromkeys(self.moments, 0)
        for at, value in self.all(name, **labels):
            out[at] = out.get(at, 0) + int(value)
        return out

    def check(self, condition, *words):
        assert condition, (self.receiver.name, *words)

    def judge(self):
        self.once()
        lost = self.complete()
        compared = self.equal()
        queued, size = self.outage.most_queued[self.agent.name, self.option]
        say(f"{self.receiver.name}, every {self.agent.interval_s} s: {len(self.moments)} moments of {len(self.lives)} "
            f"lives of the agent, each once; {compared} of them between two checkpoints, all equal; at most {queued} "
            f"waited, in {size / 1024:.0f} KiB; {lost} lost, {lost} counted")

    def once(self):
        for key, points in self.points.items():
            times = [at for at, _ in points]
            self.check(len(set(times)) == len(times), "a moment twice", key)
            self.check(key[0] == "outage_before" or set(times) <= set(self.moments), "a moment of its own", key)

    def count_made(self):
        """How many intervals the agent had made before, as each sample says."""
        made = dict.fromkeys(self.moments, 0)
        for result in "sent", "refused", "dropped":
            for at, value in self.sums(self.spelling["batches"], result=result).items():
                made[at] = made.get(at, 0) + value
        for name, sign in ("queue_batches", 1), ("queue_restored_batches_total", -1):
            name = name if self.option == "remote-write" else name.replace("_total", "")
            for at, value in self.sums(f"{self.spelling['own']}_{name}").items():
                made[at] = made.get(at, 0) + sign * value
        return made

    def complete(self):
        """None of the numbers is missing that the samples have by what the agent had made before."""
        dropped = self.sums(self.spelling["batches"], result="dropped")
        lost = counted = 0
        ends = [one for agent, option, one in self.outage.killed if (agent, option) == (self.agent, self.option)]
        self.check(len(self.lives) == len(ends) + 1, "lives", len(self.lives))
        for number, life in enumerate(self.lives):
            numbers = [self.made[at] for at in life]
            self.check(numbers == sorted(set(numbers)), "the order", numbers)
            end = ends[number] if number < len(ends) else self.last
            self.check(numbers[-1] + 1 >= end["made"], "the end of a life", numbers[-1], end)
            lost += numbers[-1] + 1 - len(numbers)
            counted += max([dropped[at] for at in life] + [end["dropped"]])
            self.check(not end["refused"] + end["lost"] + end["damaged"] + end["restarts"], end)
        for before, now in zip(ends, ends[1:] + [self.last]):
            self.check(now["restored"] >= before["waits"], "kept", before, now)
        if self.agent.name == "small":
            left = sorted(int(value) for _, value in self.all("outage_before"))
            before = self.outage.before
            lost += before - len(left)
            self.check(left == list(range(before - len(left), before)), "not the oldest were dropped", left)
            self.check(not left or lost == before - len(left), "newer ones were dropped first")
            self.check(lost >= LOST, "there was room for all of them")
        else:
            self.check(lost == 0, "lost", lost)
        self.check(lost == counted, "lost, and counted:", lost, counted)
        return lost

    def equal(self):
        """Between two checkpoints, a sample says what the first one led to; during one, something up to that."""
        comm = {self.spelling["comm"]: Puppet.comm}
        found = [self.sums(self.spelling[word], **comm) for word in ("allocations", "bytes", "frees", "live")]
        compared = 0
        for number, life in enumerate(self.lives, 1):
            checkpoints = [one for one in self.outage.checkpoints if one[0] == number]
            ends = [one[1] for one in checkpoints[1:]] + [math.inf]
            for (_, begun_ms, known_ms, account), end_ms in zip(checkpoints, ends):
                calm = [at for at in life if known_ms < at < end_ms]
                self.check(calm or self.agent.name == "small", "no sample of a checkpoint", account)
                for at in calm:
                    values = tuple(one[at] for one in found)
                    self.check(values == account, "at", at, values, account)
                for at in (one for one in life if begun_ms <= one <= known_ms):
                    self.check(found[0][at] <= account[0], "at", at, found[0][at], account)
                compared += len(calm)
        return compared


def main():
    outage = Outage(float(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve(),
                    pathlib.Path(sys.argv[4]).resolve())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        outage.happen()
        outage.judge()
    finally:
        outage.end()


main()
