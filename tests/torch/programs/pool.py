# SPDX-License-Identifier: BSD-2-Clause
"""The graph that is captured has a private pool of memory, of which nothing is in use when more is
wanted than the rest of the device has. With `released`, the graph is given up before that."""
import gc
import sys

import torch

from witness import checkpoint, mib

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    blocks = [mib(40) for _ in range(16)]
    del blocks
checkpoint("captured")
if sys.argv[1:] == ["released"]:
    del graph
    gc.collect()
more = mib(600)
checkpoint("end")
