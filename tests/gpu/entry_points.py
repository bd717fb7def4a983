# SPDX-License-Identifier: BSD-2-Clause
"""How the exported functions of CUDA's libraries begin, and what their files have for unwinders.

usage: entry_points.py OUT.json LIBRARY...
"""
import json
import struct
import sys


class Elf:
    """The sections and dynamic symbols of a 64-bit little-endian ELF file."""

    def __init__(self, path):
        self.file = open(path, "rb")
        header = self.read(0, 64)
        assert header[:5] == b"\x7fELF\x02", path
        shoff, = struct.unpack_from("<Q", header, 40)
        size, count, names = struct.unpack_from("<HHH", header, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.read(shoff + i * size, size))
                         for i in range(count)]
        table = self.sections[names]
        text = self.read(table[4], table[5])
        self.named = {}
        for s in self.sections:
            self.named[text[s[0]:text.index(b"\0", s[0])].decode()] = s

    def read(self, offset, size):
        self.file.seek(offset)
        return self.file.read(size)

    def offset(self, addr):
        for s in self.sections:
            if s[2] & 2 and s[1] != 8 and s[3] <= addr < s[3] + s[5]:
                return s[4] + addr - s[3]
        return None

    def symbols(self, name=".dynsym"):
        table = self.named.get(name)
        if not table:
            return
        strings = self.sections[table[6]]
        text = self.read(strings[4], strings[5])
        data = self.read(table[4], table[5])
        for at in range(0, len(data), 24):
            st_name, info, _, shndx, value, size = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 in (2, 10) and shndx:
                yield text[st_name:text.index(b"\0", st_name)].decode(), value, size, info & 15


def describe(path):
    elf = Elf(path)
    result = {"path": path, "sections": {n: s[5] for n, s in elf.named.items()}}
    header = elf.named.get(".eh_frame_hdr")
    if header:
        result["eh_frame_hdr"] = elf.read(header[4], 12).hex()
    note = elf.named.get(".note.gnu.build-id")
    if note:
        result["build_id"] = elf.read(note[4] + 16, 20).hex()
    first, functions, framed, count = {}, {}, 0, 0
    for name, value, size, kind in elf.symbols():
        at = elf.offset(value)
        code = elf.read(at, 24) if at is not None else b""
        count += 1
        framed += b"\x55\x48\x89\xe5" in code[:9]
        first[code[:4].hex()] = first.get(code[:4].hex(), 0) + 1
        if name.startswith(("cu", "cuda", "nvml", "__cuda", "cupti")):
            functions[name] = [hex(value), size, kind, code.hex()]
    result.update(dynsym=count, framed=framed, functions=functions,
                  symtab=sum(1 for _ in elf.symbols(".symtab")),
                  first=dict(sorted(first.items(), key=lambda item: -item[1])[:40]))
    return result


def main():
    out, *paths = sys.argv[1:]
    results = []
    for path in paths:
        try:
            results.append(describe(path))
        except Exception as error:  # what is no ELF file is said, and no reason to stop
            results.append({"path": path, "error": repr(error)})
        last = results[-1]
        print(path, {k: last.get(k) for k in ("dynsym", "symtab", "framed", "error", "build_id")},
              {n: s for n, s in last.get("sections", {}).items()
               if n in (".text", ".eh_frame", ".eh_frame_hdr", ".symtab", ".gnu_debugdata",
                        ".debug_frame", ".plt", ".nv_fatbin")})
        print("    begins:", list(last.get("first", {}).items())[:12])
    with open(out, "w", encoding="utf-8") as file:
        json.dump(results, file)


main()
