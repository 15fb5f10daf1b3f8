#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gemmsmith serve under load and misfortune, on emulated devices: many clients ask at once while workers are killed, the disk is full, and the service is
killed and started again on the same store. Every candidate has a verdict that is known beforehand. In the end each has it, each id has one answer
whoever asked and whenever, nothing that was accepted is lost, the store agrees, memory and descriptors have not grown, and no process is left.
Usage: load.py PROGRAM [--requests N] [--clients N] [--devices LIST] [--evaluated PART] [--seed N]
The second half is calm: there memory is compared. Exit code 77: no NVRTC."""
import argparse
import collections
import contextlib
import http.client
import json
import os
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

MANIFEST = "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) batch\nblock 16 16 1\n"
HEAD = '#include "common/args.h"\nextern "C" __global__ void gs_kernel(gs_kernel_args p)\n'
KERNELS = {   # verdict: body
    "unwritten": "{ }\n",
    "fault": "{ *(volatile int *)0 = p.m; }\n",
    "compile": "{ nobody_knows(p); }\n",
    "index": "{ const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x; if (r < p.m && c < p.n) ((short *)p.d)[r * p.ldd + c] = 0x3800; }\n",
}
GROWTH = 2 << 20   # bytes of resident memory between the middle and the end
STALL = 60         # seconds without an answer to anybody
TAG = "GS_LOAD_TAG"
SANITIZED = bool(os.environ.get("GS_SANITIZED"))   # keeps what was freed
SLOW = float(os.environ.get("GS_TIMEOUT_FACTOR", 4)) * (4 if SANITIZED else 1)


class Ended(Exception):
    """Another client failed."""


class Candidate:
    """One of a verdict that is known; its id and answer once somebody has heard them."""

    def __init__(self, number, draw, evaluated):
        self.lock, self.id, self.answer, self.first = threading.Lock(), None, None, None
        self.reward = ("headroom", "composite", "milestones")[number % 3]
        problem = f"f16:{draw.randrange(1, 5) * 16}x{draw.randrange(1, 5) * 16}x{draw.randrange(1, 5) * 16}:tn"
        if number % 1000 == 7:
            self.verdict, what = "pass", {"schedule": "simple"}
            problem = f"f16:16x16x{16 + number // 1000}:tn"   # distinct
        elif draw.random() < evaluated:
            self.verdict = draw.choice(sorted(KERNELS))
            what = {"source": f"// {number}\n{HEAD}{KERNELS[self.verdict]}", "manifest": MANIFEST}
        else:
            self.verdict, what = "launch", {"schedule": f"nothing/{number}"}
        self.body = {"problem": problem, "reward": self.reward, **what}

    def heard(self, result):
        """A final answer; the same whoever hears it."""
        text = json.dumps(result, sort_keys=True)
        with self.lock:
            self.named(result["id"])
            if self.answer is None:
                self.answer = text
            if self.answer != text:
                raise AssertionError(f"answered twice, differently:\n{self.answer}\n{text}")
        if result["verdict"] != self.verdict or result["state"] != "done":
            raise AssertionError(f"{self.body}: {result}, not {self.verdict}")

    def named(self, identity):
        if self.id not in (None, identity):
            raise AssertionError(f"one candidate with two ids: {self.body}")
        self.id = identity


class Service:
    def __init__(self, program, folder, options):
        self.program, self.folder, self.options, self.port, self.up = program, folder, options, 0, threading.Event()
        self.tag = f"{os.getpid()}-{random.getrandbits(64):x}"
        self.start()

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GEMMSMITH_") or k == "GEMMSMITH_CACHE"}
        environment.update({"HOME": self.folder, "XDG_DATA_HOME": self.folder, TAG: self.tag})
        environment.setdefault("XDG_CACHE_HOME", self.folder)
        with open(os.path.join(self.folder, "stderr"), "ab") as errors:
            self.process = subprocess.Popen([self.program, "serve", "--port", str(self.port), "--store", os.path.join(self.folder, "store.db"), *self.options],
                                            env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        first = self.process.stdout.readline()
        if "serving http://" not in first:
            raise AssertionError(f"did not start: {first!r}")
        self.port = int(first.split("/v1")[0].rsplit(":", 1)[1])
        self.up.set()

    def end(self, number, limit_s):
        """Its exit code. Nobody of its processes may be left."""
        self.process.send_signal(number)
        code = self.process.wait(limit_s)   # clients go on asking meanwhile
        self.up.clear()
        self.process.stdout.close()
        until = time.monotonic() + 10 * SLOW
        while self.family():
            if time.monotonic() > until:
                raise AssertionError(f"left behind after signal {number}: {self.family()}")
            time.sleep(0.02)
        return code

    def family(self):
        """The service and whoever it started, and they."""
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/environ", "rb") as file:
                        if f"{TAG}={self.tag}".encode() in file.read().split(b"\0"):
                            found.append(int(name))
                except OSError:
                    pass
        return found

    def workers(self):
        return [pid for pid in self.family() if pid != self.process.pid]

    def resident(self, pids=None):
        total = 0
        for pid in pids if pids is not None else [self.process.pid]:
            try:
                with open(f"/proc/{pid}/statm", encoding="ascii") as file:
                    total += int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
            except OSError:
                pass
        return total

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))


class Client(threading.Thread):
    """Takes requests until there are none, and asks each until it has its answer."""

    def __init__(self, load, number):
        super().__init__(daemon=True)
        self.load, self.draw, self.connection, self.error = load, random.Random(load.arguments.seed * 1000 + number), None, None

    def run(self):
        try:
            while (request := self.load.next()) is not None:
                self.answer(*request)
                self.load.done()
        except Ended:
            pass
        except BaseException as error:   # told by the main thread
            self.error = error
            self.load.failed.set()
        self.close()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def call(self, method, path, body=None):
        """One exchange, again until somebody is there and has room: status and JSON."""
        while not self.load.failed.is_set():
            self.load.service.up.wait(1)
            if not self.connection or self.draw.random() < 0.25:
                self.close()
                self.connection = http.client.HTTPConnection("127.0.0.1", self.load.service.port, timeout=120 * SLOW)
            try:
                self.connection.request(method, "/v1/" + path, json.dumps(body) if body else None, {"Content-Type": "application/json"} if body else {})
                if body and self.draw.random() < 0.01:
                    self.close()   # goes away without its answer, and comes again
                    self.load.count("went away")
                    continue
                reply = self.connection.getresponse()
                text = reply.read()
            except (OSError, http.client.HTTPException):
                self.close()
                self.load.count("connection lost")
                time.sleep(0.02)
                continue
            self.load.count(f"HTTP {reply.status}")
            if reply.status in (429, 503, 507):
                time.sleep(0.05 + 0.1 * self.draw.random())
                continue
            return reply.status, json.loads(text)
        raise Ended

    def settle(self, candidate, result):
        """From what a request said of a candidate to its final answer."""
        if "id" not in result:
            raise AssertionError(result)
        if result["id"] is None:   # refused at once: nobody keeps it
            candidate.heard(result)
            return
        with candidate.lock:
            candidate.named(result["id"])
        self.load.accepted(result["id"])
        while result["state"] != "done" or result["verdict"] in ("machine", "deadline"):
            if result["state"] == "done":   # the machine failed it, or all had given it up; whoever asks again starts it again
                self.load.count(result["verdict"])
                status, result = self.call("POST", "evaluate", candidate.body)
            else:
                status, result = self.call("GET", f"result/{candidate.id}?deadline_s=20&reward={candidate.reward}")
            if status not in (200, 202):
                raise AssertionError(f"{candidate.id} was accepted: {status} {result}")
        candidate.heard(result)

    def answer(self, kind, candidates):
        one = candidates[0]
        if kind == "batch":
            status, got = self.call("POST", "evaluate/batch", {"requests": [c.body for c in candidates], "deadline_s": 60})
            results = got.get("results", [])
        elif kind == "submit":
            status, got = self.call("POST", "submit", one.body)
            results = [got]
        else:
            status, got = self.call("POST", "evaluate", {**one.body, "deadline_s": 0.05 if kind == "hurry" else 60})
            results = [got]
        if status not in (200, 202) or len(results) != len(candidates):
            raise AssertionError(f"{status} {got}")
        for candidate, result in zip(candidates, results):
            self.settle(candidate, result)


class Load:
    def __init__(self, arguments, folder):
        self.arguments, self.lock, self.failed = arguments, threading.Lock(), threading.Event()
        self.counts, self.ids, self.finished, self.taken = collections.Counter(), set(), 0, 0
        draw = random.Random(arguments.seed)
        self.candidates, self.plan = [], []
        for _ in range(arguments.requests):
            kind = draw.choices(["evaluate", "batch", "submit", "hurry"], [70, 5, 20, 5])[0]
            self.plan.append((kind, [self.pick(draw) for _ in range(4 if kind == "batch" else 1)]))
        self.service = Service(arguments.program, folder, ["--devices", arguments.devices, "--queue", "64"])
        self.fresh = (self.service.descriptors(), self.service.threads())

    def pick(self, draw):
        """Mostly a new candidate, else one that was asked for before: mostly a little while ago, so that both are under way."""
        if self.candidates and draw.random() < 0.3:
            near = draw.random() < 0.7
            return self.candidates[-draw.randrange(1, min(len(self.candidates), 32 if near else 1 << 30) + 1)]
        self.candidates.append(Candidate(len(self.candidates), draw, self.arguments.evaluated))
        return self.candidates[-1]

    def next(self):
        with self.lock:
            if self.failed.is_set() or self.taken == len(self.plan):
                return None
            self.taken += 1
            return self.plan[self.taken - 1]

    def done(self):
        with self.lock:
            self.finished += 1

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def accepted(self, identity):
        with self.lock:
            self.ids.add(identity)

    # ---- misfortunes ----

    def kill_workers(self):
        for pid in self.service.workers():
            with contextlib.suppress(ProcessLookupError):   # it may have ended meanwhile
                os.kill(pid, signal.SIGKILL)

    def fill_disk(self):
        """No file of the service may grow, which is a full disk to it."""
        pid = self.service.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
        began = time.monotonic()
        status = 0
        while status != 507 or time.monotonic() < began + 1:   # nobody is told that something was accepted
            body = json.dumps({"problem": "f16:16x16x16:tn", "source": f"// no room {time.monotonic_ns()}\n", "manifest": MANIFEST})
            connection.request("POST", "/v1/submit", body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            reply.read()
            status = reply.status
            assert status in (429, 507) and time.monotonic() < began + 20 * SLOW, status
            time.sleep(0.02)
        connection.close()
        for process in self.service.family():   # workers that were started meanwhile have the limit, too
            resource.prlimit(process, resource.RLIMIT_FSIZE, limits)

    def kill_service(self):
        code = self.service.end(signal.SIGKILL, 10)
        assert code == -signal.SIGKILL, code
        self.service.start()

    def stop_service(self):
        """While clients go on asking over connections that are open."""
        code = self.service.end(signal.SIGTERM, 30 * SLOW)
        assert code == 128 + signal.SIGTERM, f"exit code {code}"
        self.service.start()

    def hold_store(self):
        """Another process writes to the store for a while."""
        with sqlite3.connect(os.path.join(self.service.folder, "store.db"), isolation_level=None) as other:
            other.execute("PRAGMA busy_timeout = 20000")
            other.execute("BEGIN IMMEDIATE")
            time.sleep(1)
            other.execute("ROLLBACK")
        other.close()

    def rude(self):
        """Half a request, no request, a request and no reading: nobody else may notice."""
        whole = json.dumps(self.candidates[0].body).encode()
        head = b"POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(whole)
        for text in (b"", head[:30], head, head + whole[:20], head + whole):
            with socket.create_connection(("127.0.0.1", self.service.port)) as raw:
                raw.sendall(text)

    # ---- the run ----

    def wait(self, part):
        last, since = self.finished, time.monotonic()
        while self.finished < part * len(self.plan) and not self.failed.is_set():
            time.sleep(0.01)
            if self.finished > last:
                last, since = self.finished, time.monotonic()
            if time.monotonic() > since + STALL * SLOW:
                self.failed.set()
                raise AssertionError(f"nobody was answered for {STALL * SLOW} s, after {last} requests")

    def run(self):
        clients = [Client(self, i) for i in range(self.arguments.clients)]
        began = time.monotonic()
        for client in clients:
            client.start()
        story = [(0.04, self.kill_workers), (0.08, self.fill_disk), (0.12, self.kill_service), (0.16, self.rude), (0.2, self.kill_workers), (0.24, self.kill_service),
                 (0.28, self.hold_store), (0.32, self.stop_service), (0.36, self.fill_disk), (0.4, self.kill_service), (0.42, self.kill_workers), (0.44, self.rude)]
        for part, misfortune in story:
            self.wait(part)
            if self.failed.is_set():
                break
            misfortune()
            self.count(misfortune.__name__)
        samples = []
        for part in range(60, 101, 4):
            self.wait(part / 100)
            samples.append((self.service.resident(), self.service.resident(self.service.workers())))
        for client in clients:
            client.join()
        for client in clients:
            if client.error:
                raise client.error
        self.report(time.monotonic() - began, samples)
        self.check(samples)

    def check(self, samples):
        growth = samples[-1][0] - samples[0][0]
        if not SANITIZED:
            assert growth < GROWTH, f"memory grew by {growth} bytes: {samples}"
        until = time.monotonic() + 20   # connections are gone, their threads end
        while self.service.threads() > self.fresh[1] + 1 and time.monotonic() < until:
            time.sleep(0.02)
        assert self.service.threads() <= self.fresh[1] + 1, (self.service.threads(), self.fresh)
        assert self.service.descriptors() <= self.fresh[0] + 4, (self.service.descriptors(), self.fresh)   # the stores' files; those of workers
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
        for candidate in self.candidates:   # whoever comes later hears the same
            if candidate.id is None:
                connection.request("POST", "/v1/evaluate", json.dumps(candidate.body), {"Content-Type": "application/json"})
            else:
                connection.request("GET", f"/v1/result/{candidate.id}?reward={candidate.reward}")
            candidate.heard(json.loads(connection.getresponse().read()))
        connection.close()
        kept = [c for c in self.candidates if c.id is not None]
        assert self.ids == {c.id for c in kept} and len(self.ids) == len(kept), "ids are not one to one"
        assert all(c.id is None or c.verdict != "launch" for c in self.candidates), "a bad schedule has waited"
        code = self.service.end(signal.SIGTERM, 30 * SLOW)
        assert code == 128 + signal.SIGTERM, f"exit code {code}"
        with sqlite3.connect(os.path.join(self.service.folder, "store.db")) as store:
            assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            rows = dict(store.execute("SELECT id, answer FROM job WHERE failed = 0 AND answer IS NOT NULL"))
            count = store.execute("SELECT count(*) FROM job").fetchone()[0]
            texts = {f"source:{name}": tuple(rest) for name, *rest in store.execute("SELECT hash, source, manifest FROM source")}
        store.close()
        assert count == len(rows) == len(kept), (count, len(rows), len(kept))
        for candidate in kept:
            heard, stored = json.loads(candidate.answer), json.loads(rows[candidate.id])
            if "source" in candidate.body:
                assert texts.pop(heard["candidate"], None) == (candidate.body["source"], candidate.body["manifest"]), "the store has other texts"
            stored["reward"] = stored["rewards"][candidate.reward]
            assert {k: heard[k] for k in stored} == stored, f"the store has another answer: {stored}, heard {heard}"
        assert not texts, "kernels that nobody sent"

    def report(self, seconds, samples):
        mib = lambda bytes_: f"{bytes_ / (1 << 20):.1f}"
        verdicts = collections.Counter(c.verdict for c in self.candidates)
        print(f"{len(self.plan)} requests of {self.arguments.clients} clients for {len(self.candidates)} distinct candidates in {seconds:.0f} s, {self.arguments.devices}")
        print("verdicts: " + ", ".join(f"{name} {count}" for name, count in sorted(verdicts.items())))
        print("events: " + ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items())))
        print("MiB of the service over the calm part: " + " ".join(mib(s) for s, _ in samples) + "; of its workers: " + " ".join(mib(w) for _, w in samples))
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--devices", default="emu:h200,emu:h200")
    parser.add_argument("--evaluated", type=float, default=0.1, help="part of the candidates that are compiled; the others' text is refused")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    told = subprocess.run([arguments.program, "info"], capture_output=True, text=True, check=False).stdout
    if any(line.split()[:2] == ["NVRTC", "none"] for line in told.splitlines()):
        print("no NVRTC")
        return 77
    folder = tempfile.mkdtemp(prefix="gs-load-")
    load = None
    try:
        load = Load(arguments, folder)
        load.run()
    except BaseException:
        with open(os.path.join(folder, "stderr"), encoding="utf-8", errors="replace") as file:
            sys.stderr.write("".join(file.readlines()[-20:]))
        raise
    finally:
        if load:
            for pid in load.service.family():
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
