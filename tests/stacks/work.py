# SPDX-License-Identifier: BSD-2-Clause
"""Works for ever, in Python and in as much native code as there is: numba's too, if it is installed."""

import ctypes
import json
import random
import re
import zlib

try:
    import numba
    import numpy
except ImportError:
    numba = numpy = None


def sorted_by_a_library():
    compared = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 100)(*(random.randrange(1000) for _ in range(100)))
    ctypes.PyDLL(None).qsort(numbers, ctypes.c_size_t(100), ctypes.c_size_t(4), compared(lambda a, b: a[0] - b[0]))


def python_alone():
    json.loads(json.dumps({"a": list(range(200)), "b": [str(number) for number in range(200)]}))
    re.sub("a+b", "c", "aaab" * 100)
    sorted(range(500), key=lambda number: -number)
    zlib.compress(bytes(range(256)) * 100)


def total(numbers):
    result = 0.0
    for place in range(numbers.shape[0]):
        result += numbers[place] * numbers[place] + place % 7
    return result


def compiled_again(factor):
    def function(number):
        for place in range(10):
            number = number * factor + place
        return number
    return numba.njit(function)(factor)


def main():
    if numba:
        numbers, compiled = numpy.random.rand(20000), numba.njit(total)
        compiled(numbers)
        numpy.linalg.svd(numbers[:2500].reshape(50, 50))
    done = 0
    while True:
        python_alone()
        sorted_by_a_library()
        if numba:
            compiled(numbers)
            numpy.sort(numbers)
            numpy.linalg.svd(numbers[:2500].reshape(50, 50))
            if done % 20 == 0:
                compiled_again(done)
        done += 1
        if done == 1:
            open("ready", "w", encoding="ascii").close()


main()
