# SPDX-License-Identifier: BSD-2-Clause
"""Trains, and keeps PyTorch's own history of its memory.

usage: history.py FILE    a line of JSON for each event of the caching allocator, in order
"""
import json
import sys

import torch

torch.zeros(1).cuda()
torch.cuda.memory._record_memory_history(context="all", stacks="python", max_entries=1000000)


def step(net, optimizer, batch):
    x = torch.randn(batch, 1024, device="cuda")
    loss = net(x).square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def model(width):
    return torch.nn.Sequential(*[torch.nn.Linear(1024 if i == 0 else width, width) for i in range(6)]).cuda()


net = model(2048)
optimizer = torch.optim.Adam(net.parameters(), foreach=False)
for batch in (64, 64, 300, 1000, 50):
    step(net, optimizer, batch)
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    kept = [torch.empty(size, device="cuda") for size in (100, 3 << 20, 30 << 20)]
kept[1].record_stream(torch.cuda.current_stream())
del kept[1]
torch.cuda.synchronize()
del net, optimizer
torch.cuda.empty_cache()
net = model(777)
step(net, torch.optim.SGD(net.parameters(), lr=0.1), 2000)
torch.cuda.synchronize()
with open(sys.argv[1], "w", encoding="utf-8") as file:
    for event in torch.cuda.memory._snapshot()["device_traces"][0]:
        frames = [f'{frame["name"]} ({frame["filename"].rsplit("/", 1)[-1]}:{frame["line"]})'
                  for frame in event["frames"]]
        print(json.dumps({"action": event["action"], "addr": event.get("addr"), "size": event["size"],
                          "time_us": event.get("time_us"), "frames": frames}), file=file)
print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved())
