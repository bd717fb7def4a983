# SPDX-License-Identifier: BSD-2-Clause
"""Of each segment of 20 MiB, 12 MiB stay and twice 4 MiB come back: 60 % is allocated when 100 MiB are
wanted, and there is no piece of more than 4 MiB. The program ends. With `small`, it wants pieces."""
import sys

from witness import checkpoint, mib


def activations():
    return mib(6)


kept, freed = [], []
for _ in range(50):
    freed.append(mib(4))
    kept.append(activations())
    freed.append(mib(4))
    kept.append(activations())
del freed
checkpoint("before")
more = [mib(4) for _ in range(25)] if sys.argv[1:] == ["small"] else mib(100)
