# SPDX-License-Identifier: BSD-2-Clause
"""A cache of keys and values grows with each token, each time into a larger block: 54 of them live."""
import time

from witness import checkpoint, mib

cache = []
for number in range(54):
    cache.append(mib(16 + number).fill_(1))
    time.sleep(0.22)
    if number % 18 == 17:
        checkpoint(f"token {number}")
