# SPDX-License-Identifier: BSD-2-Clause
"""A training that reads its loss in each step, and so waits for the GPU."""
import torch

from witness import model

LIMIT = 40


def read(loss):
    return loss.item()


def step(net, optimizer):
    batch = torch.randn(64, 1024, device="cuda")
    loss = net(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return read(loss)


net = model()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
print(sum(step(net, optimizer) for _ in range(LIMIT)))
