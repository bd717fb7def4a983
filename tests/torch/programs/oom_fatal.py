# SPDX-License-Identifier: BSD-2-Clause
"""The program holds 700 MiB of 1 GiB and wants 500 more: it ends with an exception."""
from witness import checkpoint, mib

held = mib(700)
checkpoint("before")
more = mib(500)
