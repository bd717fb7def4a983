# SPDX-License-Identifier: BSD-2-Clause
"""What tests/e2e/outage.py starts, stops and kills: receivers, what stands before them, agents, a program with CUDA."""

import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import xxhash

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 120  # for what takes a moment: on a busy machine, too


def wait_until(condition, what, patience_s=PATIENCE_S):
    end = time.monotonic() + patience_s
    while not (result := condition()):
        assert time.monotonic() < end, f"waited for {patience_s} s: {what}"
        time.sleep(0.1)
    return result


def free_ports(count):
    """Below those that the kernel gives to connections: a receiver that is down comes back to its own."""
    ports, port = [], 12000 + os.getpid() * 16 % 7000
    while len(ports) < count:
        port += 1
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind(("127.0.0.1", port))
                ports.append(port)
            except OSError:
                pass
    return ports


# ---- between an agent and its receiver


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy = None

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.proxy.pause_s)
        mode = self.proxy.mode
        if mode == "hold":
            self.swallow()
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.receiver_port, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        connection.request("POST", self.path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if mode == "mute":
            self.swallow()
            return
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.proxy.answered += 1
        self.wfile.write(text)

    def swallow(self):
        self.proxy.swallowed += 1
        self.proxy.closed.wait()
        self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, *arguments):
        self.connections = []
        super().__init__(*arguments)

    def process_request(self, request, client_address):
        self.connections.append(request)
        super().process_request(request, client_address)

    def handle_error(self, request, client_address):
        pass  # a client that was killed


class Proxy:
    """A receiver as an agent sees it: not there, slow, or one that does not answer. mode "hold": it has not got the
    request, "mute": it has, but does not say so."""

    def __init__(self, port, receiver_port):
        self.port, self.receiver_port = port, receiver_port
        self.pause_s, self.mode, self.swallowed = 0, "pass", 0
        self.answered = 0  # requests of the agent that is there
        self.closed, self.server = threading.Event(), None

    def open(self, pause_s):
        self.pause_s, self.mode, self.swallowed = pause_s, "pass", 0
        self.closed = threading.Event()
        handler = type("ProxyHandler", (Handler,), {"proxy": self})
        self.server = Server(("127.0.0.1", self.port), handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        for connection in self.server.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.closed.set()

    def stop_taking(self, mode):
        """Returns once a request is under way that the agent began after it had heard of the one before."""
        self.mode = mode
        wait_until(lambda: self.swallowed, f"a request that is to {mode}")


# ---- receivers


class Receiver:
    def __init__(self, name, directory, port):
        self.name, self.port = name, port
        self.directory = directory / name.replace(" ", "-")
        self.directory.mkdir()
        self.process = None

    def is_installed(self):
        return True

    def run(self, *command):
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.directory)

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()

    def get(self, path, **query):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()

    def is_there(self, path):
        try:
            self.get(path)
        except (OSError, urllib.error.URLError):
            return False
        return True


class Stored(Receiver):
    """By remote write."""

    path = "/api/v1/write"
    spelling = {"batches": "memscope_agent_remote_write_batches_total", "own": "memscope_agent_remote_write",
                "allocations": "memscope_allocations_total", "bytes": "memscope_allocated_bytes_total",
                "frees": "memscope_frees_total", "live": "memscope_process_gpu_memory_live_bytes", "comm": "comm"}

    def points(self):
        """{(name, ((label, value), ...)): [(milliseconds, value), ...]}, without the marks of ends."""
        text = self.get("/api/v1/query", query='{job="memscope-bpf"}[2h]', nocache=1)
        out = {}
        for row in json.loads(text)["data"]["result"]:
            labels = dict(row["metric"])
            key = labels.pop("__name__"), tuple(sorted(labels.items()))
            out[key] = [(round(float(at) * 1000), float(value)) for at, value in row["values"] if value != "NaN"]
        return out


class Prometheus(Stored):
    unanswered = "mute"

    def start(self):
        (self.directory / "prometheus.yml").write_text("global: { scrape_interval: 1h }\n")
        self.run("prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb",
                 "--web.enable-remote-write-receiver", f"--web.listen-address=127.0.0.1:{self.port}")
        wait_until(lambda: self.is_there("/-/ready"), "Prometheus")

    def kill(self):
        self.end()


class Victoria(Stored):
    unanswered = "hold"  # it keeps both of two equal samples, and, if it is killed, not what it has taken last

    def is_installed(self):
        return shutil.which("victoria-metrics") is not None

    def start(self):
        self.run("victoria-metrics", "-storageDataPath=storage", f"-httpListenAddr=127.0.0.1:{self.port}",
                 "-search.latencyOffset=0s", "-retentionPeriod=1d")
        wait_until(lambda: self.is_there("/health"), "VictoriaMetrics")

    def kill(self):
        self.end(signal.SIGTERM)


class Collector(Receiver):
    path = "/v1/metrics"
    unanswered = "hold"
    spelling = {"batches": "memscope_agent_otlp_batches", "own": "memscope_agent_otlp",
                "allocations": "memscope_allocations", "bytes": "memscope_allocated_bytes", "frees": "memscope_frees",
                "live": "process.gpu.memory.usage", "comm": "process.executable.name"}

    def start(self):
        (self.directory / "mode").write_text("ok")
        (self.directory / "listening").unlink(missing_ok=True)
        self.run("/usr/bin/python3", HERE / "otlp_collector.py", str(self.port), self.directory)
        wait_until((self.directory / "listening").exists, "the collector")

    def kill(self):
        self.end()

    def points(self):
        out = {}
        for line in (self.directory / "taken.jsonl").read_text().splitlines():
            for name, metric in json.loads(line)["metrics"].items():
                for point in metric["points"]:
                    value = point.get("as_int", point.get("as_double"))
                    if value is not None:
                        key = name, tuple(sorted(point["attributes"].items()))
                        out.setdefault(key, []).append((point["time"] // 1000000, float(value)))
        return out


# ---- what an agent before this one has left

MOST = 256
PLACES_AT, BATCHES_AT, ROOM = 4096, 16384, 64 << 20


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def old_batch(number, at_ms):
    """A request of remote write with one sample, compressed as one literal."""
    labels = b"".join(field(1, field(1, name) + field(2, value))
                      for name, value in ((b"__name__", b"outage_before"), (b"job", b"memscope-bpf")))
    sample = field(2, b"\x09" + struct.pack("<d", number) + b"\x10" + varint(at_ms))
    body = field(1, labels + sample)
    assert 60 < len(body) <= 256
    return varint(len(body)) + bytes([60 << 2, len(body) - 1]) + body


def summed(data):
    return data + struct.pack("<Q", xxhash.xxh3_64_intdigest(data))


def fill_queue(path, count):
    """A queue's file (user/agent/push_file.c) with that many intervals from before."""
    table, batches, begun_ms = b"", b"", int(time.time() * 1000) - 10 * count
    for i in range(count):
        batch = old_batch(i, begun_ms + i)
        table += summed(struct.pack("<4Q", i + 1, BATCHES_AT + len(batches), len(batch), xxhash.xxh3_64_intdigest(batch)))
        batches += batch
    header = summed(struct.pack("<8sIIQQ", b"msqueue", 1, MOST, BATCHES_AT, BATCHES_AT + ROOM))
    text = header.ljust(PLACES_AT, b"\0") + table
    path.write_bytes(text.ljust(BATCHES_AT, b"\0") + batches)
    path.chmod(0o600)


# ---- the program with CUDA


class Puppet:
    comm = f"outage-{os.getpid()}"  # of no other such test

    def __init__(self, build, directory):
        shutil.copy(build / "workloads/puppet", directory / self.comm)
        self.process = subprocess.Popen([directory / self.comm], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, LD_LIBRARY_PATH=str(build / "simcuda")))

    def obey(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer == "ok", f"puppet: {words}: {answer}"


# ---- agents

LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")


class Agent:
    def __init__(self, name, tool, directory, port, interval_s, feeds):
        """feeds: of a protocol's option, a proxy and its receiver."""
        self.name, self.tool, self.port, self.interval_s, self.feeds = name, tool, port, interval_s, feeds
        self.state, self.directory = directory / f"{name}.state", directory
        self.state.mkdir(mode=0o700)
        self.process, self.lives = None, 0

    def log(self):
        return self.directory / f"{self.name}.{self.lives}.log"

    def start(self):
        self.lives += 1
        options = [word for option, (proxy, _) in self.feeds.items() for word in (
            f"--{option}", f"http://127.0.0.1:{proxy.port}", f"--{option}-interval", f"{self.interval_s}s")]
        with open(self.log(), "wb") as log:
            self.process = subprocess.Popen(
                [self.tool, "agent", "-v", "--state-dir", self.state, "--ring", "8M", "--budget", "off",
                 "--listen", f"127.0.0.1:{self.port}", "--socket", self.directory / f"{self.name}.query",
                 "--allow", f"comm={Puppet.comm}", *options], stderr=log)
        wait_until(lambda: "debug: tracing" in self.log().read_text(), f"the agent {self.name}: see {self.log()}")

    def sees(self, pid):
        wait_until(lambda: f"process {pid}: its calls are recorded" in self.log().read_text(),
                   f"the agent {self.name} to trace process {pid}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        assert self.process.wait() == 0, self.log().read_text()[-2000:]

    def metrics(self):
        """{(name, labels): value}"""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as answer:
            found = (LINE.match(line) for line in answer.read().decode().split("\n"))
        return {(one[1], one[2] or ""): float(one[3]) for one in found if one}

    def pushed(self, option, metrics=None):
        """What has become of intervals of this life: {"sent": 3, ..., "queued": 2, "made": 5}."""
        metrics = metrics or self.metrics()
        own = f"memscope_agent_{option.replace('-', '_')}"
        out = {re.search('result="([^"]*)"', labels)[1]: int(value) for (name, labels), value in metrics.items()
               if name == f"{own}_batches_total"}
        for word, name in (("queued", "queue_batches"), ("restored", "queue_restored_batches_total"),
                           ("bytes", "queue_bytes"), ("failed", "failed_attempts_total"), ("restarts", "restarts_total")):
            out[word] = sum(int(value) for (one, _), value in metrics.items() if one == f"{own}_{name}")
        out["made"] = out["sent"] + out["refused"] + out["dropped"] + out["queued"] - out["restored"]
        return out

    def account(self, metrics):
        """Allocations, their bytes, frees, bytes held, of the puppet."""
        return tuple(sum(int(value) for (name, labels), value in metrics.items()
                         if name == Stored.spelling[word] and f'comm="{Puppet.comm}"' in labels)
                     for word in ("allocations", "bytes", "frees", "live"))
