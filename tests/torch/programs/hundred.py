# SPDX-License-Identifier: BSD-2-Clause
"""Training with batches of many sizes, evaluation and another stream: a hundred checkpoints, with all
blocks. With an argument, it waits for a line of its input at the first of them."""
import sys

import torch

from witness import checkpoint, mib, model, step

net = model(512, 3)
optimizer = torch.optim.Adam(net.parameters())
side = torch.cuda.Stream()
kept = []
for number in range(100):
    step(net, optimizer, 32 + number * 37 % 400, 512)
    if number % 7 == 0:
        with torch.no_grad():
            kept.append(net(torch.randn(100 + number, 512, device="cuda")))
    if number % 9 == 0:
        with torch.cuda.stream(side):
            kept.append(mib(1 + number % 5))
    if number % 11 == 0:
        del kept[::2]
    checkpoint(f"step {number}", with_blocks=True)
    if not number and len(sys.argv) > 1:
        print("ready", flush=True)
        sys.stdin.readline()
