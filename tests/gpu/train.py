# SPDX-License-Identifier: BSD-2-Clause
"""What a step of training takes: the median, for a small transformer.

usage: train.py [STEPS]
"""
import sys
import time

import torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 8).cuda()
head = torch.nn.Linear(512, 1000).cuda()
optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], foreach=False)
times = []
for step in range(STEPS + 10):
    begin = time.perf_counter()
    x = torch.randn(8, 64 + step % 7, 512, device="cuda")
    y = torch.randint(1000, (8,), device="cuda")
    loss = torch.nn.functional.cross_entropy(head(model(x).mean(1)), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - begin)
times = sorted(times[10:])
print(f"step_us={1e6 * times[len(times) // 2]:.0f} p90_us={1e6 * times[len(times) * 9 // 10]:.0f} "
      f"reserved={torch.cuda.memory_reserved()}")
