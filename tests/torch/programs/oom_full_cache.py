# SPDX-License-Identifier: BSD-2-Clause
"""900 MiB of 1 GiB are PyTorch's, and all but 90 are free in its cache, but no segment is as a whole:
a request for 200 MiB ends the program."""
import time

from witness import checkpoint, mib

pieces = [mib(2).fill_(1) for _ in range(450)]
kept = pieces[::10]
del pieces
checkpoint("before")
time.sleep(2)  # launches are summed up each second, and name the kernels
more = mib(200)
