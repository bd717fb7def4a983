# SPDX-License-Identifier: BSD-2-Clause
"""A parent that does not use CUDA yet forks a child that does; then it does, too."""
import os

from witness import checkpoint, mib, model

child = os.fork()
if not child:
    kept = [model(), mib(40)]
    checkpoint("child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
kept = [mib(5), mib(50)]
checkpoint("parent")
