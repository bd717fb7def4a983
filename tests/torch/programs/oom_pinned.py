# SPDX-License-Identifier: BSD-2-Clause
"""A block of 2 MiB stays in each segment of 20 MiB, of which the rest comes back: nearly all of 1 GiB
is free when 200 MiB are wanted, and no segment can be given back. The program ends."""
from witness import checkpoint, mib

kept, freed = [], []
for _ in range(45):
    freed.append(mib(9))
    kept.append(mib(2))
    freed.append(mib(9))
del freed
checkpoint("before")
more = mib(200)
