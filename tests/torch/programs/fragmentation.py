# SPDX-License-Identifier: BSD-2-Clause
"""Each buffer is a little larger than the last, which is freed: PyTorch's cache keeps blocks that are
too small for the next, and what it has reserved grows while what is in use does not."""
import time

from witness import checkpoint, mib

for number in range(60):
    buffer = mib(20 + 2 * number).fill_(1)
    del buffer
    time.sleep(0.2)
    if number % 20 == 19:
        checkpoint(f"buffer {number}")
