# SPDX-License-Identifier: BSD-2-Clause
"""Something is allocated; more is, and part of it all freed, once standard input has a line."""
import sys

import torch

from witness import checkpoint, mib, model, step

early = [mib(100), mib(30)]
checkpoint("early")
print("ready", flush=True)
sys.stdin.readline()
net = model()
optimizer = torch.optim.Adam(net.parameters())
step(net, optimizer, 64)
checkpoint("late")
late = [mib(60), mib(200)]
checkpoint("more")
del early[0], late[0]
torch.cuda.empty_cache()
checkpoint("part of both freed")
