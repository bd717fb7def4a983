# SPDX-License-Identifier: BSD-2-Clause
"""What PyTorch knows of its memory, for the programs under test to write down.

Each checkpoint is a line of JSON in the file $WITNESS, at a time of the clock that recordings use.
"""
import json
import os
import time

import torch

MIB = 1 << 20


def segments():
    """[[address, bytes]] of what PyTorch has of the driver; None: its allocator does not say."""
    backend = getattr(torch.cuda, "get_allocator_backend", lambda: "native")()
    if backend != "native":
        return None
    return [[s["address"], s["total_size"]] for s in torch.cuda.memory_snapshot()]


def blocks():
    """[[address, bytes]] of what the program has of that: a segment is blocks, one behind the other."""
    found = []
    for segment in torch.cuda.memory_snapshot():
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"].startswith("active"):
                found.append([address, block["size"]])
            address += block["size"]
    return found


def checkpoint(name, with_blocks=False):
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    line = {
        "name": name,
        "pid": os.getpid(),
        "ts_ns": time.clock_gettime_ns(time.CLOCK_MONOTONIC),
        "reserved": torch.cuda.memory_reserved(),
        "allocated": torch.cuda.memory_allocated(),
        "max_reserved": torch.cuda.max_memory_reserved(),
        "segments": segments(),
        "used": total - free,
    }
    if with_blocks:
        line["blocks"] = blocks()
    with open(os.environ["WITNESS"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def mib(count):
    """So many MiB of the device."""
    return torch.empty(count * MIB, dtype=torch.uint8, device="cuda")


def model(width=1024, depth=3):
    layers = []
    for _ in range(depth):
        layers += [torch.nn.Linear(width, width), torch.nn.GELU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 10)).cuda()


def step(net, optimizer, batch, width=1024):
    """One step of training; what the loss is does not matter, and it is not kept."""
    x = torch.randn(batch, width, device="cuda")
    y = torch.zeros(batch, dtype=torch.long, device="cuda")
    loss = torch.nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss
