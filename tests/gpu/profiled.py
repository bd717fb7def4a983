# SPDX-License-Identifier: BSD-2-Clause
"""What torch.profiler sees of the GPU, twice, and whether the program minds.

usage: profiled.py [SECONDS to wait before the first profile]
"""
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

x = torch.randn(1024, 1024, device="cuda")
torch.cuda.synchronize()
time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
for turn in range(2):
    try:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            for _ in range(20):
                x = torch.relu(x @ x) * 1e-3
            torch.cuda.synchronize()
        kernels = [e for e in profiler.events() if "cuda" in str(e.device_type).lower()]
        print(f"profile {turn}: {len(kernels)} events of the GPU, {sum(e.device_time for e in kernels):.0f} us")
    except Exception as error:  # it is what is to be seen
        print(f"profile {turn}: {type(error).__name__}: {error}")
print(f"sum {float(x.sum()):.3f}")
