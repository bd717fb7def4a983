# SPDX-License-Identifier: BSD-2-Clause
"""The program holds 200 MiB of 1 GiB and wants 1000 more, which PyTorch asks for in pieces of 20 MiB
that it gives back when one fails. The program ends."""
from witness import checkpoint, mib

held = mib(200)
checkpoint("before")
more = mib(1000)
