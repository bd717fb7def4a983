# SPDX-License-Identifier: BSD-2-Clause
"""What memscope-bpf's account of a process is at a moment, from its lines of JSON."""
import json

# Of the memory that other libraries of the process have: cuBLAS asks the driver for its workspaces.
TORCH_CALLS = {"device": "cudaMalloc", "pool": "cudaMallocAsync"}


def is_torch(call):
    return call["api"] == TORCH_CALLS.get(call["space"], call["api"])


class Account:
    """lines: of `memscope-bpf export -f ndjson`"""

    def __init__(self, lines):
        self.calls = []
        self.processes = {}
        self.attached = {}
        for event in map(json.loads, lines):
            if event["type"] == "summary":
                self.summary = event
                self.processes = {p["pid"]: p for p in event["processes"]}
            elif event["type"] == "attach":
                self.attached[event["pid"]] = event["ts_ns"]
            elif event["type"] == "call" and event["op"] in ("alloc", "free"):
                if event["result"] == 0 and not event["part"]:
                    self.calls.append(event)
        self.calls.sort(key=self.effect_ns)

    @staticmethod
    def effect_ns(call):
        """An allocation is there when it returns; a block that is freed is gone from the entry on."""
        return call["ts_ns"] + (call["duration_ns"] if call["op"] == "alloc" else 0)

    def before(self, pid, ts_ns):
        return [c for c in self.calls if c["pid"] == pid and self.effect_ns(c) <= ts_ns]

    def replay(self, pid, ts_ns, space):
        """{address: the call that allocated it}, after each call that changes it."""
        blocks = {}
        yield blocks
        for call in self.before(pid, ts_ns):
            if call["space"] != space:
                continue
            if call["op"] == "alloc":
                assert call["addr"] not in blocks, f"allocated twice: {call}"
                blocks[call["addr"]] = call
            else:
                blocks.pop(call["addr"], None)
            yield blocks

    def live(self, pid, ts_ns, space):
        *_, blocks = self.replay(pid, ts_ns, space)
        return blocks

    def peak_bytes(self, pid, ts_ns, space):
        """The highest sum, and that of what PyTorch allocated."""
        all_sums, torch_sums = [], []
        for blocks in self.replay(pid, ts_ns, space):
            all_sums.append(sum(c["size_bytes"] for c in blocks.values()))
            torch_sums.append(sum(c["size_bytes"] for c in blocks.values() if is_torch(c)))
        return max(all_sums), max(torch_sums)

    def peak_said(self, pid, space):
        """What the tool says that peak was."""
        said = [s["peak_bytes"] for s in self.processes[pid]["spaces"] if s["space"] == space]
        return said[0] if said else 0

    def told_bytes(self, pid, ts_ns, space):
        """What the tool itself says is live then: in the last event about this kind of memory."""
        told = [c["live_bytes"] for c in self.before(pid, ts_ns) if c["space"] == space]
        return told[-1] if told else 0

    def segments(self, pid, ts_ns, space):
        """[(address, bytes)] of what PyTorch allocated, joined where mapped pieces touch."""
        pieces = sorted((int(call["addr"], 16), call["size_bytes"])
                        for call in self.live(pid, ts_ns, space).values() if is_torch(call))
        joined = []
        for addr, size in pieces:
            if space == "mapped" and joined and sum(joined[-1]) == addr:
                joined[-1] = (joined[-1][0], joined[-1][1] + size)
            else:
                joined.append((addr, size))
        return joined


def total(blocks):
    return sum(size for _, size in blocks)
