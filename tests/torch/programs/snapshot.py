# SPDX-License-Identifier: BSD-2-Clause
"""Blocks of many sizes, of which some come back; then what PyTorch's own recorder of them has seen."""
import os
import pickle
import time

import torch

from witness import checkpoint, mib, model, step

torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
net = model(512, 2)
optimizer = torch.optim.Adam(net.parameters())
for batch in (100, 1000, 300):
    step(net, optimizer, batch, 512)


def keep():
    return [torch.zeros(size * 100, device="cuda") for size in range(1, 60)]


blocks = keep() + [mib(size) for size in (1, 21, 2, 64, 7, 129)]
del blocks[1::3]
checkpoint("snapshot")
with open(os.environ["SNAPSHOT"], "wb") as file:
    pickle.dump(torch.cuda.memory._snapshot(), file)
time.sleep(1)  # without an event, so that a recording can be read until here
