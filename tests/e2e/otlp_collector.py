#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A collector of metrics by OTLP/HTTP, which decodes them by the protocol's definition alone.

usage: otlp_collector.py PORT|PATH DIRECTORY

Answers as the file DIRECTORY/mode says: "ok", a status ("503", "429 3" with Retry-After), "slow SECONDS",
"partial N" (that it does not take so many data points). Writes a line of JSON for each request that it takes
to DIRECTORY/taken.jsonl, and a line with the time, status and number of bytes for each to DIRECTORY/requests.txt.
"""

import http.server
import json
import os
import socket
import socketserver
import struct
import sys
import time

# ---- protocol buffers: what each message has (opentelemetry-proto 1.x); * marks what is repeated

MESSAGES = {
    "request": {1: ("resource_metrics*", "resource_metrics")},
    "resource_metrics": {1: ("resource", "resource"), 2: ("scope_metrics*", "scope_metrics"), 3: ("schema_url", "text")},
    "resource": {1: ("attributes*", "key_value")},
    "scope_metrics": {1: ("scope", "scope"), 2: ("metrics*", "metric")},
    "scope": {1: ("name", "text"), 2: ("version", "text")},
    "metric": {1: ("name", "text"), 2: ("description", "text"), 3: ("unit", "text"), 5: ("gauge", "data"),
               7: ("sum", "data"), 9: ("histogram", "histogram")},
    "data": {1: ("data_points*", "number"), 2: ("aggregation_temporality", "varint"), 3: ("is_monotonic", "varint")},
    "histogram": {1: ("data_points*", "histogram_point"), 2: ("aggregation_temporality", "varint")},
    "number": {2: ("start", "fixed64"), 3: ("time", "fixed64"), 4: ("as_double", "double"), 6: ("as_int", "sfixed64"),
               7: ("attributes*", "key_value")},
    "histogram_point": {2: ("start", "fixed64"), 3: ("time", "fixed64"), 4: ("count", "fixed64"), 5: ("sum", "double"),
                        6: ("bucket_counts", "packed_fixed64"), 7: ("explicit_bounds", "packed_double"),
                        9: ("attributes*", "key_value")},
    "key_value": {1: ("key", "text"), 2: ("value", "any")},
    "any": {1: ("text", "text")},
}
WIRE = {"varint": 0, "fixed64": 1, "double": 1, "sfixed64": 1}
FORMATS = {"fixed64": "<Q", "double": "<d", "sfixed64": "<q"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def scalar(kind, data):
    if kind == "text":
        return data.decode()
    if kind.startswith("packed_"):
        return [value for value, in struct.iter_unpack(FORMATS[kind[7:]], data)]
    return decode(kind, data)


def decode(message, data):
    fields, out, at = MESSAGES[message], {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        name, kind = fields[tag >> 3]
        assert tag & 7 == WIRE.get(kind, 2), (message, name, tag & 7)
        if kind == "varint":
            value, at = varint(data, at)
        elif kind in FORMATS:
            value, = struct.unpack_from(FORMATS[kind], data, at)
            at += 8
        else:
            length, at = varint(data, at)
            assert at + length <= len(data), (message, name)
            value = scalar(kind, data[at:at + length])
            at += length
        if name.endswith("*"):
            out.setdefault(name[:-1], []).append(value)
        else:
            assert name not in out, (message, name)
            out[name] = value
    return out


def attributes(point):
    pairs = [(one["key"], one["value"].get("text", "")) for one in point.pop("attributes", [])]
    assert len(pairs) == len(dict(pairs)), pairs
    return dict(pairs)


def flat(data):
    """{"resource": {}, "metrics": {NAME: {"kind", "unit", ..., "points": [{"attributes": {}, ...}]}}}"""
    resource, = decode("request", data)["resource_metrics"]
    scope, = resource["scope_metrics"]
    assert scope["scope"]["name"] == "memscope-bpf"
    metrics = {}
    for metric in scope["metrics"]:
        kind, = set(metric) & {"gauge", "sum", "histogram"}
        points = metric[kind].pop("data_points")
        for point in points:
            point["attributes"] = attributes(point)
        assert metric["name"] not in metrics, metric["name"]
        metrics[metric["name"]] = {"kind": kind, "unit": metric["unit"], **metric[kind], "points": points}
    return {"resource": attributes(resource["resource"]), "metrics": metrics}


# ---- HTTP


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "a client"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open("mode", encoding="ascii") as file:
            mode, *rest = file.read().split()
        if mode == "slow":
            time.sleep(float(rest[0]))
        status = int(mode) if mode.isdigit() else 200
        answer = b""
        if mode == "partial":
            count = int(rest[0])
            partial = bytes([0x08, count, 0x12, 5]) + b"why\n\xff"
            answer = bytes([0x0a, len(partial)]) + partial
        if status == 200:
            assert self.path == "/v1/metrics" and self.headers["Content-Type"] == "application/x-protobuf"
            with open("taken.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps(flat(body)) + "\n")
        with open("requests.txt", "a", encoding="ascii") as file:
            file.write(f"{time.monotonic():.3f} {status} {len(body)}\n")
        self.send_response(status)
        if rest and status != 200:
            self.send_header("Retry-After", rest[0])
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET if sys.argv[1].isdigit() else socket.AF_UNIX

    def server_bind(self):
        if self.address_family == socket.AF_INET:
            super().server_bind()
            return
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", 0
        os.chmod(self.server_address, 0o666)


def main():
    place = ("127.0.0.1", int(sys.argv[1])) if sys.argv[1].isdigit() else sys.argv[1]
    os.chdir(sys.argv[2])
    with Server(place, Handler) as server:
        with open("listening", "w", encoding="ascii") as file:
            file.write("yes\n")
        server.serve_forever()


main()
