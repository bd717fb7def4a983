# SPDX-License-Identifier: BSD-2-Clause
import ctypes
import pathlib

import jax
import jax_plugins.xla_cuda13
# It looks for a device file before it asks the driver.
from jax._src import hardware_utils

import witness

hardware_utils._NVIDIA_GPU_DEVICES = ["/dev/null"]
ctypes.CDLL(str(pathlib.Path(jax_plugins.xla_cuda13.__path__[0], "xla_cuda_plugin.so")))
witness.run(lambda: jax.devices("cuda"), lambda values: jax.device_put(values).block_until_ready(),
            lambda a: a.unsafe_buffer_pointer(), lambda a: a.nbytes)
