# SPDX-License-Identifier: BSD-2-Clause
"""A model is trained, evaluated, given up, and another one is trained: twelve checkpoints."""
import gc

import torch

from witness import checkpoint, mib, model, step

checkpoint("nothing yet")
net = model()
checkpoint("model")
optimizer = torch.optim.Adam(net.parameters())
step(net, optimizer, 64)
checkpoint("first step")
for _ in range(5):
    step(net, optimizer, 64)
checkpoint("steps")
for batch in (100, 300, 1000):
    step(net, optimizer, batch)
checkpoint("larger batches")
with torch.no_grad():
    kept = [net(torch.randn(777, 1024, device="cuda")) for _ in range(4)]
checkpoint("evaluation")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    other = [mib(3), mib(30), torch.zeros(100, device="cuda")]
checkpoint("another stream")
del kept, other
torch.cuda.empty_cache()
checkpoint("cache emptied")
del net, optimizer
gc.collect()
torch.cuda.empty_cache()
checkpoint("model deleted")
net = model(512, 5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    step(net, optimizer, 2000, 512)
checkpoint("another model")
blocks = [mib(size) for size in (1, 21, 2, 64, 7, 129)]
del blocks[1::2]
checkpoint("holes")
torch.cuda.empty_cache()
checkpoint("holes given back")
