# SPDX-License-Identifier: BSD-2-Clause
"""A batch of 800 MiB is tried, of 400, of 200, which fits: the program has backed off."""
import time

import torch

from witness import checkpoint, mib

held = mib(700)
wanted, batch = 800, None
while batch is None:
    try:
        batch = mib(wanted)
    except torch.OutOfMemoryError:
        wanted //= 2
assert wanted == 200
checkpoint("backed off")
for _ in range(60):
    batch.add_(1)
    time.sleep(0.02)
