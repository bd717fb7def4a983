# SPDX-License-Identifier: BSD-2-Clause
"""480 MiB of 1 GiB are in PyTorch's cache when 500, and then 360, are wanted: it frees its cache and
has them at the second try. Nothing is wrong but for the time that it takes."""
import time

import torch

from witness import checkpoint, mib

held = mib(300)
for wanted in (500, 360):
    cached = [mib(60) for _ in range(8)]
    del cached
    checkpoint(f"before {wanted} MiB")
    time.sleep(0.2)
    work = mib(wanted)
    checkpoint(f"after {wanted} MiB")
    time.sleep(0.2)
    del work
    torch.cuda.empty_cache()
