# SPDX-License-Identifier: BSD-2-Clause
"""What is made a second time: `optimizer`: Adam's state, while the old optimizer is kept; `model`: the
model, while the old one is kept; `once`: both, after the old ones have been deleted."""
import gc
import sys
import time

import torch

from witness import checkpoint, model, step

WHAT = sys.argv[1]


def load():
    return model(1024, 6)


def train(net):
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(3):
        step(net, optimizer, 64)
        time.sleep(0.2)
    return optimizer


net = load()
optimizer = train(net)
old = optimizer if WHAT == "optimizer" else None
del optimizer
gc.collect()
time.sleep(0.5)
optimizer = train(net)
if WHAT != "optimizer":
    del optimizer
    old = net if WHAT == "model" else None
    del net
    gc.collect()
    time.sleep(0.5)
    net = load()
time.sleep(0.5)
checkpoint("end")
