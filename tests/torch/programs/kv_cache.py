# SPDX-License-Identifier: BSD-2-Clause
"""A model generates tokens, and keeps keys and values of all of them; with `bounded`, of the last ones."""
import sys
import time

import torch

from witness import checkpoint

BOUNDED = sys.argv[1:] == ["bounded"]
LENGTH = 40


class Cache:
    def __init__(self):
        self.keys, self.values = [], []

    def append(self, keys, values):
        self.keys.append(keys.clone())
        self.values.append(values.clone())
        if BOUNDED:
            del self.keys[:-LENGTH], self.values[:-LENGTH]


cache = Cache()
weights = torch.randn(1024, 1024, device="cuda")
for token in range(240):
    x = torch.randn(1024, 1024, device="cuda")
    cache.append(x @ weights, x @ weights)
    time.sleep(0.05)
checkpoint("end")
