# SPDX-License-Identifier: BSD-2-Clause
"""Marks its work by torch.cuda.nvtx. usage: marks.py LINES GO

Says "ready", waits for the file GO, and writes into LINES how often which phase was."""
import collections
import os
import sys
import time

import torch

nvtx = torch.cuda.nvtx
STEPS = 25
PAIRS = 20000
counts = collections.Counter()
path = []


class phase:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        path.append(self.name)
        nvtx.range_push(self.name)

    def __exit__(self, *of):
        nvtx.range_pop()
        counts["/".join(path)] += 1
        path.pop()


def pair_ns(name):
    began = time.perf_counter_ns()
    for _ in range(PAIRS):
        nvtx.range_push(name)
        nvtx.range_pop()
    return (time.perf_counter_ns() - began) / PAIRS


def train(model, optimizer):
    for number in range(STEPS):
        with phase("step"):
            with phase("load"):
                batch = torch.randn(256, 1024, device="cuda")
            with phase("forward"):
                loss = model(batch).square().mean()
            with phase("backward"):
                loss.backward()
            with phase("optimizer é"):
                optimizer.step()
                optimizer.zero_grad()
            if number % 5 == 0:
                nvtx.mark("every fifth")
                counts["step/every fifth"] += 1
            torch.cuda.synchronize()


def main():
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    torch.cuda.synchronize()
    print(f"torch {torch.__version__}; a pair without probes: {pair_ns('none'):.0f} ns", flush=True)
    print("ready", flush=True)
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.05)
    train(model, optimizer)
    number = nvtx.range_start("range")
    train(model, optimizer)
    nvtx.range_end(number)
    counts["range"] += 1
    print(f"a pair with probes: {pair_ns('cost'):.0f} ns", flush=True)
    counts["cost"] += PAIRS
    with open(sys.argv[1], "w") as lines:
        for name, count in counts.items():
            print(name, count, sep="\t", file=lines)


main()
