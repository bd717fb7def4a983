# SPDX-License-Identifier: BSD-2-Clause
"""A CUDA graph of a model is captured, replayed and given up; its memory is a pool of its own."""
import gc

import torch

from witness import checkpoint, model

net = model(512, 2)
x = torch.randn(4096, 512, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side), torch.no_grad():
    net(x)
torch.cuda.current_stream().wait_stream(side)
checkpoint("before the capture")
graph = torch.cuda.CUDAGraph()
with torch.no_grad(), torch.cuda.graph(graph):
    y = net(x)
checkpoint("captured")
for _ in range(10):
    graph.replay()
torch.cuda.empty_cache()
checkpoint("replayed")
del graph, y
gc.collect()
torch.cuda.empty_cache()
checkpoint("given up")
