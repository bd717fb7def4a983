# SPDX-License-Identifier: BSD-2-Clause
"""Writes down the ioctls that CUDA's driver makes in this process, without a compiler and without
memscope-bpf: the driver's pointer to the C library's ioctl() is replaced by one to a function here.
"""
import ctypes as c
import mmap
import os
import platform
import struct
import threading

CALLBACK = c.CFUNCTYPE(c.c_int, c.c_int, c.c_ulong, c.c_void_p, use_errno=True)
SLOTS = {"x86_64": (6, 7), "aarch64": (1025, 1026)}  # GLOB_DAT, JUMP_SLOT
KINDS = {"nvidiactl": "control", "nvidia-uvm": "uvm", "nvidia-uvm-tools": "tools"}
LIBC = c.CDLL(None, use_errno=True)
LIBC.ioctl.argtypes = (c.c_int, c.c_ulong, c.c_void_p)
LIBC.mprotect.argtypes = (c.c_void_p, c.c_size_t, c.c_int)


class Elf:
    """What is needed of a 64-bit little-endian ELF file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        shoff, = struct.unpack_from("<Q", self.bytes, 40)
        size, count, names = struct.unpack_from("<HHH", self.bytes, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, shoff + i * size)
                         for i in range(count)]
        self.names = self.sections[names][4]

    def text(self, at):
        return self.bytes[at:self.bytes.index(b"\0", at)].decode()

    def slot(self, function):
        """The address of the pointer by which the file calls the function; None: it does not."""
        for section in self.sections:
            if section[1] != 4:  # SHT_RELA
                continue
            symbols = self.sections[section[6]]
            strings = self.sections[symbols[6]]
            for at in range(section[4], section[4] + section[5], 24):
                address, info, _ = struct.unpack_from("<QQq", self.bytes, at)
                if info & 0xffffffff not in SLOTS[platform.machine()] or not info >> 32:
                    continue
                name, _, _, defined = struct.unpack_from("<IBBH", self.bytes, symbols[4] + 24 * (info >> 32))
                if not defined and self.text(strings[4] + name) == function:
                    return address
        return None

    def stub(self, slot):
        """Whether there is a stub that jumps through the slot (x86-64; elsewhere None)."""
        if platform.machine() != "x86_64":
            return None
        for section in self.sections:
            if section[1] != 1 or not section[2] & 4 or not self.text(self.names + section[0]).startswith(".plt"):
                continue
            code = self.bytes[section[4]:section[4] + section[5]]
            at = code.find(b"\xff\x25")
            while at >= 0:
                apart, = struct.unpack_from("<i", code, at + 2)
                if section[3] + at + 6 + apart == slot:
                    return True
                at = code.find(b"\xff\x25", at + 1)
        return False


def mapped(name):
    """The path of the mapped library, and where it begins."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) >= 6 and os.path.basename(words[5]).startswith(name) and int(words[2], 16) == 0:
                return words[5], int(words[0].split("-")[0], 16)
    return None, 0


def value(form, data, at):
    return struct.unpack_from(form, data, at)[0] if len(data) >= at + struct.calcsize(form) else None


def nested(address, at):
    return struct.unpack("<Q", c.string_at(address + at, 8))[0] if address else None


class Log:
    def __init__(self):
        self.lines, self.lock, self.stub = [], threading.Lock(), None
        self.callback = CALLBACK(self.call)  # must live as long as the pointer to it

    def begin(self, library):
        """Returns whether the driver's ioctls are written down from now on."""
        path, base = mapped(library)
        if not path:
            return False
        elf = Elf(path)
        slot = elf.slot("ioctl")
        if slot is None:
            return False
        self.stub = elf.stub(slot)
        page = (base + slot) & ~(mmap.PAGESIZE - 1)
        if LIBC.mprotect(page, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE):
            return False
        c.c_void_p.from_address(base + slot).value = c.cast(self.callback, c.c_void_p).value
        return True

    def call(self, fd, request, argument):
        try:
            name = os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            name = ""
        result = LIBC.ioctl(fd, request, argument)
        if name.startswith("nvidia"):
            line = self.describe(KINDS.get(name, "device"), request, argument)
            line["result"] = result
            with self.lock:
                self.lines.append(line)
        return result

    @staticmethod
    def describe(kind, request, argument):
        line = {"kind": kind, "request": hex(request)}
        if kind in ("uvm", "tools"):
            line["number"] = request
            return line
        line["number"], size = request & 0xff, request >> 16 & 0x3fff
        data = c.string_at(argument, size) if argument else b""
        if line["number"] in (0x27, 0x2b):
            line["class"] = value("<I", data, 12)
            line["status"] = value("<I", data, {0x30: 0x28, 0x38: 0x28, 0x20: 0x1c}.get(size, 0x24))
        if line["number"] == 0x2b and size == 0x30:
            line["params_size"] = value("<I", data, 0x20)
        if line["number"] == 0x2b and line["class"] == 0x40:
            line["bytes"] = nested(value("<Q", data, 16), 0x40)
        if line["number"] == 0x2a:
            line["command"] = value("<I", data, 8)
        return line

    def take(self):
        with self.lock:
            lines, self.lines = self.lines, []
        return lines
