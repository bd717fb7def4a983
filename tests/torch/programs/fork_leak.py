# SPDX-License-Identifier: BSD-2-Clause
"""A parent and the child that it forked do the same work; the child keeps what it makes."""
import os
import time

from witness import checkpoint, mib


def serve(keep):
    kept = []
    for _ in range(120):
        answer = mib(3)
        if keep:
            kept.append(answer)
        time.sleep(0.1)
    checkpoint("end")
    return kept


child = os.fork()
serve(not child)
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
