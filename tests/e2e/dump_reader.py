#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A reader of recordings that was written from docs/dump-format.md, to see that it says enough.

--events FILE...         every record, one a line, of each recording whose blocks are in the files
--ends FILE...           of each recording: blocks, blocks that are missing, and why it ended
--blocks FILE            where each block begins and ends, its type and its number
--index FILE             fails unless the last block is an index that is right
--split DIRECTORY FILE   each segment as a file, as a flight recorder keeps them
--version N OUT FILE     the same blocks, said to be of major version N
"""

import os
import struct
import subprocess
import sys

try:
    import xxhash
except ImportError:  # then checksums are not looked at
    xxhash = None

HEADER = struct.Struct("<4sBBBBIIIIQQQQQ")
SEGMENT, ROWS, ANCHOR, EVENTS, END, INDEX = range(1, 7)
PLAIN, ZSTD = range(2)
MASK = (1 << 64) - 1


def checksum(header, stored):
    return xxhash.xxh3_64_intdigest(header[:56] + stored)


class Block:
    def __init__(self, data, offset):
        self.offset = offset
        self.header = data[offset : offset + 64]
        (magic, self.major, self.minor, self.type, self.codec, self.raw_bytes, self.stored_bytes,
         self.records, self.segment, self.recording, self.sequence, self.first_ts_ns,
         self.last_ts_ns, self.checksum) = HEADER.unpack(self.header)
        assert magic == b"MSCP", f"no block at {offset}"
        assert self.raw_bytes <= 256 << 10 and self.stored_bytes <= 256 << 10
        self.end = offset + 64 + self.stored_bytes
        self.stored = data[offset + 64 : self.end]
        assert len(self.stored) == self.stored_bytes, "cut short"
        if xxhash:
            assert checksum(self.header, self.stored) == self.checksum, f"damage at {offset}"

    def payload(self):
        if self.codec == PLAIN:
            raw = self.stored
        else:
            assert self.codec == ZSTD and self.raw_bytes <= 64 * self.stored_bytes
            raw = subprocess.run(["zstd", "-dcq"], input=self.stored, stdout=subprocess.PIPE,
                                 check=True).stdout
        assert len(raw) == self.raw_bytes
        return raw


def blocks_of(path):
    with open(path, "rb") as file:
        data = file.read()
    offset = 0
    while offset < len(data):
        block = Block(data, offset)
        yield block
        offset = block.end


# ---- recordings, from several files


def is_closing(block):
    return block.type in (END, INDEX)


def of_file(path):
    """The blocks of each recording in a file, without those that come again."""
    recordings = {}
    number = {}
    for block in blocks_of(path):
        if not is_closing(block):
            if block.sequence < number.get(block.recording, 0):
                continue
            number[block.recording] = block.sequence + 1
        recordings.setdefault(block.recording, []).append(block)
    return recordings


def recordings_of(paths):
    """The blocks of each recording, by number; one that only closes a file gives way."""
    merged = {}
    for path in paths:
        for recording, blocks in of_file(path).items():
            merged.setdefault(recording, {})
            for block in blocks:
                there = merged[recording].get(block.sequence)
                if there is None or is_closing(there) and not is_closing(block):
                    merged[recording][block.sequence] = block
    for blocks in merged.values():
        yield [blocks[number] for number in sorted(blocks)]


# ---- packed records


def place_of(value):
    """The place of a value among the 64 that are remembered."""
    value ^= value >> 32
    value = value * 0x9E3779B97F4A7C15 & MASK
    value ^= value >> 29
    return value >> 8 & 63


class Streams:
    def __init__(self, payload):
        lengths = struct.unpack_from("<III", payload)
        at = 12
        self.streams = []
        for length in lengths:
            self.streams.append(iter(payload[at : at + length]))
            at += length
        assert at == len(payload)
        self.slots = [[0] * 32 for _ in range(128)]
        self.values = [0] * 64
        self.ts_ns = 0

    def groups(self, stream, shift, value):
        while True:
            byte = next(self.streams[stream])
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value & MASK

    def word(self, before):
        first = next(self.streams[1])
        if first & 1:
            return self.values[first >> 1]
        difference = first >> 1 & 0x3F
        if first & 0x80:
            difference = self.groups(2, 6, difference)
        step = difference >> 1 ^ (MASK if difference & 1 else 0)
        word = before + step & MASK
        if word >= 4096:
            self.values[place_of(word)] = word
        return word

    def record(self):
        """The next record's bytes; None at the end."""
        slot = next(self.streams[0], None)
        if slot is None:
            return None
        words = self.slots[slot]
        words[0] = self.ts_ns
        differ = self.groups(0, 0, 0)
        for i in range(32):
            if differ >> i & 1:
                words[i] = self.word(words[i])
        self.ts_ns = words[0]
        size = words[3] >> 16 & 0xFFFF
        count = min(size // 8, 32)
        rest = bytes(next(self.streams[2]) for _ in range(size - 8 * count))
        return struct.pack(f"<{count}Q", *words[:count]) + rest


def records_of(block):
    streams = Streams(block.payload())
    count = 0
    while (record := streams.record()) is not None:
        count += 1
        yield record
    assert count == block.records
    assert all(next(stream, None) is None for stream in streams.streams)


# ---- what they say


def texts_of(payload):
    parts = payload.split(b"\0")
    return list(zip(parts[0:-1:2], parts[1:-1:2]))


def call(record, rows):
    addr, size = struct.unpack_from("<QQ", record, 40)
    result, row = struct.unpack_from("<iH", record, 84)
    return f"{rows[row]} addr={addr:#x} size={size} result={result}"


def describe(record, rows):
    (kind,) = struct.unpack_from("<H", record, 24)
    if kind == 0:
        return "call " + call(record, rows)
    if kind == 1:
        grid = struct.unpack_from("<3I", record, 96)
        return "launch " + call(record, rows) + f" grid={grid[0]},{grid[1]},{grid[2]}"
    if kind == 2:
        addr, size, _, row = struct.unpack_from("<QQQH", record, 32)
        return f"free_begin {rows[row]} addr={addr:#x} size={size}"
    if kind == 3:
        handle, alias, _, length = struct.unpack_from("<QQQI", record, 32)
        return f"name handle={handle:#x} alias={alias:#x} text={record[64:64 + length].hex()}"
    if kind in (4, 5, 6, 7):
        start, child, value, comm = struct.unpack_from("<QII16s", record, 32)
        return f"process {kind} child={start}/{child} value={value} comm={comm.hex()}"
    if kind == 8:
        (count,) = struct.unpack_from("<Q", record, 96)
        return "calls " + call(record, rows) + f" count={count}"
    if kind == 9:
        op, seen, lost = struct.unpack_from("<H6xQQ", record, 32)
        return f"account op={op} seen={seen} lost={lost}"
    if kind == 10:
        op, lost = struct.unpack_from("<H6xQ", record, 32)
        return f"loss op={op} lost={lost}"
    if kind == 11:
        key, flags = struct.unpack_from("<QI", record, 32)
        return f"visible key=0x{key:x} flags={flags}"
    if kind == 12:
        functions, memory, name = struct.unpack_from("<QQ64s", record, 32)
        return f"newer functions={functions} memory={memory} function={name.rstrip(bytes(1)).decode()}"
    if kind == 13:
        error, path = struct.unpack_from("<I4x128s", record, 32)
        return f"unread error={error} path={path.rstrip(bytes(1)).decode()}"
    if kind == 14:
        return f"identity {record[40:].hex()}"
    if kind == 15:
        class_number, size, _, _, action = struct.unpack_from("<IQIHH", record, 44)
        return f"object action={action} class={class_number:#x} size={size}"
    if kind == 33:
        base, action = struct.unpack_from("<Q", record, 32)[0], struct.unpack_from("<H", record, 90)[0]
        return f"range action={action} at 0x{base:x}"
    if kind == 16:
        known, processes, total, used = struct.unpack_from("<IIQQ", record, 32)
        uuid = record[88:152].rstrip(bytes(1)).decode()
        return f"device_memory known={known} used={used} of {total} processes={processes} {uuid}"
    if kind == 17:
        used, uuid = struct.unpack_from("<Q64s", record, 32)
        return f"process_memory used={used} {uuid.rstrip(bytes(1)).decode()}"
    if kind == 18:
        number, _, end, _ = struct.unpack_from("<IHBB", record, 40)
        return f"stack {number} end={end} frames={record[48:].hex()}"
    if kind == 19:
        address, number, line, offset, length = struct.unpack_from("<QIIII", record, 32)
        texts = record[64:64 + length].hex()
        return f"frame {number} address={address:#x} line={line} offset={offset} texts={texts}"
    if kind == 20:
        addr, size, allocated, reserved, device = struct.unpack_from("<QqQQi", record, 32)
        return f"tensor addr={addr:#x} size={size} of {allocated} in {reserved} device={device}"
    if kind == 21:
        begin, end, _, name, correlation = struct.unpack_from("<4QI", record, 32)
        what, what_kind = struct.unpack_from("<HB", record, 118)
        return f"activity {what_kind} of {correlation}: {begin} to {end} name={name} what={what}"
    if kind == 22:
        ident, length, _ = struct.unpack_from("<QII", record, 32)
        return f"gpu_name {ident} {record[48:48 + length].decode()}"
    if kind == 23:
        state, reason, _, version = struct.unpack_from("<4I", record, 32)
        return f"gpu_status {state} {reason} version={version} {record[112:208].rstrip(bytes(1)).decode()}"
    if kind == 24:
        _, _, _, action, _, _, _, length = struct.unpack_from("<QQQBBBBI", record, 32)
        return f"marker action={action} name={record[64:64 + length].rstrip(bytes(1)).decode()}"
    if kind == 26:
        known, _, _, available, cpu = struct.unpack_from("<IIQQQ", record, 32)
        (io_full,) = struct.unpack_from("<Q", record, 88)
        return f"host known={known} available={available} cpu={cpu} io={io_full}"
    if kind == 27:
        known, _, cpu, queue = struct.unpack_from("<IIQQ", record, 32)
        (stall,) = struct.unpack_from("<Q", record, 144)
        return f"process_host known={known} cpu={cpu} queue={queue} stall={stall}"
    if kind == 28:
        node, _, _, free = struct.unpack_from("<IIQQ", record, 32)
        return f"numa_node {node} free={free}"
    if kind == 29:
        known, node, speed, most, width, lanes = struct.unpack_from("<6I", record, 32)
        bdf = record[56:72].rstrip(bytes(1)).decode()
        return f"gpu_link known={known} node={node} speed={speed}/{most} width={width}/{lanes} {bdf}"
    if kind == 30:
        space, node, pages, asked = struct.unpack_from("<IiQQ", record, 32)
        return f"placement space={space} node={node} pages={pages} of {asked}"
    if kind == 31:
        lasted, spent, ppm, step, before = struct.unpack_from("<QQIII", record, 32)
        return f"budget step={step} before={before} lasted={lasted} spent={spent} ppm={ppm}"
    if kind == 32:
        xid, process = struct.unpack_from("<II", record, 32)
        bdf, text = (record[a:b].rstrip(bytes(1)).decode() for a, b in ((40, 56), (56, 152)))
        return f"xid {xid} of {bdf} process={process} {text}"
    if kind == 34:
        _, _, count, _, detail, function = struct.unpack_from("<QQQiIH", record, 32)
        return f"nccl {function} count={count} detail={detail}"
    if kind == 35:
        stack, one_in, row = struct.unpack_from("<IIH", record, 28)
        return f"launch_sample {rows[row]} stack={stack} one_in={one_in}"
    if kind == 36:
        known, length, _, _, limit, used = struct.unpack_from("<II4Q", record, 32)
        region, path = (record[a:b].rstrip(bytes(1)).decode() for a, b in ((88, 152), (152, 408)))
        return f"memory_limit known={known} {region} of {path[:length]}: {used} of {limit} in {path}"
    if kind == 256:
        return "anchor allocations=%u exits=%u more=%u" % struct.unpack_from("<3Q", record, 32)
    if kind == 257:
        comm, flags = struct.unpack_from("<16sI", record, 32)
        return f"anchor process comm={comm.hex()} flags={flags}"
    if kind == 268:
        addr, size, ts_ns, ident = struct.unpack_from("<4Q", record, 32)
        row, driver_row, space, known, role, key = struct.unpack_from("<HHBBBB", record, 80)
        return (f"anchor allocation {rows[row]} addr={addr:#x} size={size} id={ident} ts={ts_ns}"
                f" space={space} known={known} role={role} key={key}")
    return f"anchor {kind} {record[32:].hex()}"


def print_events(*paths):
    for blocks in recordings_of(paths):
        rows = []
        for block in blocks:
            if block.type == ROWS:
                rows = [symbol.decode() for _, symbol in texts_of(block.payload())]
            elif block.type in (ANCHOR, EVENTS):
                for record in records_of(block):
                    ts_ns, start_ns, pid, tid, _, size = struct.unpack_from("<QQIIHH", record)
                    assert size == len(record)
                    print(ts_ns, f"{pid}/{tid}", start_ns, describe(record, rows))


def print_ends(*paths):
    for blocks in recordings_of(paths):
        numbers = [block.sequence for block in blocks if not is_closing(block)]
        missing = numbers[-1] + 1 - numbers[0] - len(numbers)
        behind = [block.sequence for block in blocks if block.sequence > numbers[-1]]
        if behind:
            missing += behind[-1] - numbers[-1] - len(behind)
        reason = "no end"
        for block in blocks:
            if block.type == END and block.sequence > numbers[-1]:
                reason = dict(texts_of(block.payload()))[b"reason"].decode()
        print(f"{len(numbers)} blocks, {missing} missing, {reason}")


def check_index(path):
    blocks = list(blocks_of(path))
    last = blocks[-1]
    assert last.type == INDEX, "no index"
    expected = [(last.offset - block.offset, block.first_ts_ns, block.sequence)
                for block in blocks if block.type == SEGMENT]
    assert list(struct.iter_unpack("<QQQ", last.payload())) == expected


def split(directory, path):
    number = -1
    for block in blocks_of(path):
        number += block.type == SEGMENT
        with open(os.path.join(directory, f"{number:06}.mscope"), "ab") as file:
            file.write(block.header + block.stored)


def set_version(version, out, path):
    with open(out, "wb") as file:
        for block in blocks_of(path):
            header = block.header[:4] + bytes([version]) + block.header[5:56]
            file.write(header + struct.pack("<Q", checksum(header, block.stored)) + block.stored)


def main(arguments):
    what, rest = arguments[0], arguments[1:]
    if what == "--events":
        print_events(*rest)
    elif what == "--ends":
        print_ends(*rest)
    elif what == "--blocks":
        for block in blocks_of(*rest):
            print(block.offset, block.end, block.type, block.sequence)
    elif what == "--index":
        check_index(*rest)
    elif what == "--split":
        split(*rest)
    elif what == "--version":
        set_version(int(rest[0]), *rest[1:])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
