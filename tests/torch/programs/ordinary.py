# SPDX-License-Identifier: BSD-2-Clause
"""Training as it should be: after the first steps nothing grows."""
import time

import torch

from witness import checkpoint, model, step

net = model(512, 2)
optimizer = torch.optim.Adam(net.parameters())
for number in range(120):
    loss = step(net, optimizer, 2000, 512)
    if number % 10 == 0:
        loss.item()
    time.sleep(0.1)
    if number % 40 == 39:
        checkpoint(f"step {number}")
