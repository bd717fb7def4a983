# SPDX-License-Identifier: BSD-2-Clause
"""Each step's loss is kept with its graph, and so is what the graph needs: it grows until the end."""
import time

import torch

from witness import checkpoint, model

net = model(512, 2)
losses = []
for number in range(120):
    y = torch.zeros(2000, dtype=torch.long, device="cuda")
    x = torch.randn(2000, 512, device="cuda")
    losses.append(torch.nn.functional.cross_entropy(net(x), y))
    time.sleep(0.1)
    if number % 40 == 39:
        checkpoint(f"step {number}")
