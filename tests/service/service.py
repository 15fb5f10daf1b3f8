#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gemmsmith serve, as its clients see it, over a scripted worker: every endpoint, bad requests, tokens, duplicates, back-pressure, deadlines, restarts,
killed workers, a full disk, and some thousand requests from many clients; one candidate on the emulated device where there is NVRTC.
Usage: service.py PROGRAM FAKE_WORKER [unittest's arguments]"""
import concurrent.futures
import contextlib
import http.client
import json
import os
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
import unittest

PROGRAM, WORKER = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
PROBLEM = "f16:1024x1024x1024:tn"
SCHEDULE = "ws/128x128x64/s4/c1x1/coop/g8"
MANIFEST = ("manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) batch\nblock 16 16 1\n")
GIVE_UP_S = 300   # of a request, on a machine that is busy with other tests
TOKEN = "0123456789abcdef-token"


def user_kernel(number, rule="fake: us=12.5", **more):
    return {"problem": PROBLEM, "source": f"// {number}\n// {rule}\n", "manifest": MANIFEST, **more}


class Service:
    """The program in a folder; it may be stopped and started again there."""

    def __init__(self, folder, rules="library=1.1", options=(), device="cuda:0", token=None, store=None):
        self.folder, self.rules, self.options, self.device, self.token = folder, rules, list(options), device, token
        self.log, self.store = os.path.join(folder, "requests"), store or os.path.join(folder, "store.db")
        self.start()

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GEMMSMITH_")}
        environment.update(HOME=self.folder, XDG_DATA_HOME=self.folder, XDG_CACHE_HOME=self.folder)
        if self.device != "emu:h200":
            environment.update(GEMMSMITH_WORKER=WORKER, FAKE_WORKER=f"log={self.log};{self.rules}")
        if self.token:
            environment["GEMMSMITH_TOKEN"] = self.token
        self.errors = open(os.path.join(self.folder, "stderr"), "ab")
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--store", self.store, "-v",
                                         *(["--device", self.device] if self.device else []), *self.options],
                                        env=environment, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        first = self.process.stdout.readline()
        url = json.loads(first)["url"] if "--json" in self.options and first.startswith("{") else first
        if "http://" not in url:
            raise AssertionError(f"did not start: {first!r} {self.said()}")
        self.hello = first
        self.port = int(url.split("/v1")[0].rsplit(":", 1)[1])

    def said(self):
        with open(os.path.join(self.folder, "stderr"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def seal(self):
        """What SQLite alone has changed gets its checksums."""
        subprocess.run([PROGRAM, "db", "seal", os.path.join(self.folder, "store.db")], check=True, stdout=subprocess.DEVNULL)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(30)
        self.process.stdout.close()
        self.errors.close()
        return code

    def worker(self):
        """The worker's process number."""
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                        fields = file.read().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                if int(fields[1]) == self.process.pid and fields[0] != "Z":
                    return int(name)
        return None

    def requests(self, word, op=""):
        try:
            with open(self.log, encoding="utf-8") as file:
                return sum(word in line and (not op or f'"op":"{op}"' in line) for line in file)
        except FileNotFoundError:
            return 0

    def resident(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def call(self, method, path, body=None, headers=None, connection=None):
        c = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=GIVE_UP_S)
        own = {"Content-Type": "application/json"} if body is not None else {}
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        c.request(method, path, body, {**own, **(headers or {})})
        reply = c.getresponse()
        text = reply.read()
        if connection is None:
            c.close()
        kind = reply.headers.get("Content-Type", "")
        return reply.status, json.loads(text) if kind == "application/json" else text.decode(), reply.headers

    def post(self, path, body, **more):
        return self.call("POST", "/v1/" + path, body, **more)[:2]

    def get(self, path, **more):
        return self.call("GET", "/v1/" + path, **more)[:2]

    def metric(self, name):
        for line in self.get("metrics")[1].splitlines():
            if line.startswith(f"gemmsmith_{name} "):
                return float(line.split()[1])
        raise AssertionError(name)

    def result(self, identity, seconds=20):
        return self.get(f"result/{identity}?deadline_s={seconds}")


class Case(unittest.TestCase):
    maxDiff = None

    def serve(self, *arguments, **named):
        folder = tempfile.mkdtemp(prefix="gs-serve-")
        self.addCleanup(shutil.rmtree, folder, True)
        service = Service(folder, *arguments, **named)
        self.addCleanup(service.end, signal.SIGKILL)
        return service


class Endpoints(Case):
    def test_all(self):
        s = self.serve()
        code, got = s.post("evaluate", {"problem": "1024_1024_1024", "schedule": SCHEDULE, "reward": "milestones", "deadline_s": 20})
        self.assertEqual((code, got["verdict"], got["state"], got["candidate"], got["reward_kind"]), (200, "pass", "done", SCHEDULE, "milestones"))
        self.assertEqual(got["reward"], got["rewards"]["milestones"])
        self.assertEqual(set(got["rewards"]), {"headroom", "composite", "milestones", "difference", "length", "clipped"})
        self.assertGreater(got["cublaslt_us"], 0)

        # the same in other words is the same, whatever reward is asked for
        same = s.post("evaluate", {"schedule": SCHEDULE, "problem": got["problem"]})[1]
        self.assertEqual({**got, "reward": same["reward"], "reward_kind": "headroom"}, same)
        self.assertEqual(s.requests('"op":"verify"'), 1)
        self.assertEqual(s.result(got["id"]), (200, same))
        self.assertEqual(s.get(f"result/{got['id']}?reward=milestones"), (200, got))

        code, batch = s.post("evaluate/batch", {"requests": [{"problem": PROBLEM, "schedule": "nonsense/1"}, user_kernel(1, "fake: wrong"), user_kernel(2), user_kernel(2)], "deadline_s": 20})
        self.assertEqual(code, 200)
        verdicts = [r["verdict"] for r in batch["results"]]
        self.assertEqual((verdicts[0], verdicts[2]), ("launch", "pass"))
        self.assertEqual(batch["results"][2], batch["results"][3])
        self.assertEqual([r["reward"] for r in batch["results"][:2]], [-1, -1])

        code, submitted = s.post("submit", user_kernel(3))
        self.assertEqual((code, submitted["state"] in ("queued", "running")), (202, True))
        self.assertEqual(s.result(submitted["id"])[1]["verdict"], "pass")
        self.assertEqual(s.post("submit", user_kernel(3))[0], 200)

        code, tasks = s.get("tasks?offset=998")
        self.assertEqual((code, tasks["count"], len(tasks["tasks"]), tasks["only_these"]), (200, 1000, 2, False))
        code, base = s.get("baselines?problem=" + PROBLEM)
        self.assertEqual((code, base["cublaslt_us"] > 0, base["floor_us"] > 0), (200, True, True))
        self.assertEqual(s.get("baselines?problem=f16:512x512x512:tn")[1]["cublaslt_us"], None)
        self.assertGreater(s.get("baselines?problem=f16:512x512x512:tn&measure=true")[1]["cublaslt_us"], 0)

        code, health = s.get("health")
        self.assertEqual((code, health["ok"], health["devices"][0]["name"], health["queued"]), (200, True, "cuda:0", 0))
        self.assertEqual(s.metric("jobs_accepted_total"), 5)   # the one that cannot be read was none
        self.assertEqual(s.metric("evaluations_total"), 5)
        self.assertEqual(s.end(), 128 + signal.SIGTERM)
        self.assertNotIn("fake:", s.said())   # no candidate's text in the log

    def test_refused_before_they_wait(self):
        """What no device needs to look at: a text that is no candidate, one that does not take the problem, a problem that does not fit the device."""
        s = self.serve("library=1.1;delay=3000")
        s.post("submit", user_kernel(0))   # keeps the device
        began = time.monotonic()
        for candidate, verdict in [({"schedule": "nonsense/1"}, "launch"), ({"schedule": "ws/128x128x64/s99/c1x1/coop/g8"}, "launch"),
                                   ({"source": "x", "manifest": "manifest 1\nentry\n"}, "launch"), ({"schedule": "x" + "\u00e9\u4e16" * 90}, "launch"), ({"completion": "```schedule\nws/1\n```"}, "launch"),
                                   ({"problem": "f16:1024x1024x1025:tn", "schedule": SCHEDULE}, "unsupported")]:
            for path, code in (("evaluate", 200), ("submit", 200)):
                got = s.post(path, {"problem": PROBLEM, **candidate})
                self.assertEqual((got[0], got[1]["verdict"], got[1]["reward"], got[1]["id"], got[1]["stage"]), (code, verdict, -1, None, "text"), got)
                self.assertTrue(got[1]["reason"])
        for problem in ("f16:300000x300000x64:tn", "bf16:600000x600000x64:nn:d=f32"):
            code, got = s.post("evaluate", {"problem": problem, "schedule": "simple"})
            self.assertEqual((code, got["error"]["field"]), (400, "problem"), got)
            self.assertIn("GiB", got["error"]["reason"])
            self.assertEqual(s.get("baselines?problem=" + problem)[0], 400)
        self.assertLess(time.monotonic() - began, 2.5)
        self.assertEqual((s.metric("jobs_accepted_total"), s.get("health")[0]), (1, 200))

    def test_edits_of_a_parent(self):
        """A completion may be edits of a kernel that the request brings, or that the store has; what is wrong with them is the model's fault, and is said."""
        s = self.serve("library=1.1")
        parent = user_kernel(4)
        edit = "```cuda\n<<<<<<< SEARCH\n%s=======\n%s>>>>>>> REPLACE\n```\n"
        line = parent["source"].splitlines(keepends=True)[0]
        child = user_kernel(2)
        first = child["source"].splitlines(keepends=True)[0]
        child["source"] = child["source"].replace(first, first + "int more;\n")   # comments alone are no answer
        whole = s.post("evaluate", child)
        texts = {"source": parent["source"], "manifest": parent["manifest"]}
        code, got = s.post("evaluate", {"problem": parent["problem"], "completion": edit % (line, first + "int more;\n"), "parent": texts})
        self.assertEqual((code, got["verdict"], got["id"], got["candidate"]), (200, "pass", whole[1]["id"], whole[1]["candidate"]), got)   # the same candidate
        code, made = s.post("evaluate", {"problem": parent["problem"], "completion": edit % (line, line + "// more\n"), "parent": whole[1]["candidate"]})
        self.assertEqual((code, made["verdict"], made["id"]), (200, "text", None), made)   # the line is the other kernel's
        self.assertIn("edit 1 of kernel.cu", made["reason"])
        own = child["source"].splitlines(keepends=True)[0]
        code, made = s.post("evaluate", {"problem": parent["problem"], "completion": edit % (own, own + "// more\n"), "parent": whole[1]["candidate"]})
        self.assertEqual((code, made["verdict"], made["id"]), (200, "text", None), made)
        self.assertIn("the kernel is its parent", made["reason"])
        code, made = s.post("evaluate", {"problem": parent["problem"], "completion": edit % (own, own + "int another;\n"), "parent": whole[1]["candidate"]})
        self.assertEqual((code, made["verdict"]), (200, "pass"), made)
        self.assertNotEqual(made["candidate"], whole[1]["candidate"])
        for wrong in ("source:0123456789abcdef0123456789abcdef", "ws", "", 1, [], {}, {"source": "x"}, {"source": "x", "manifest": ""}, {"source": "x", "manifest": "y", "more": 1}, {"source": "\0", "manifest": "y"}):
            code, got = s.post("evaluate", {"problem": PROBLEM, "completion": "x", "parent": wrong})
            self.assertEqual((code, got["error"]["field"]), (400, "parent"), (wrong, got))
        self.assertEqual(s.post("evaluate", {**user_kernel(1), "parent": texts})[0], 400)   # of a completion alone
        code, got = s.post("evaluate/batch", {"requests": [{"problem": PROBLEM, "completion": edit % (line, "x\n"), "parent": texts}, {"problem": PROBLEM, "completion": "no", "parent": texts}]})
        self.assertEqual((code, [one["verdict"] == "text" for one in got["results"]]), (200, [False, True]), got)

    def test_a_problem_that_the_device_cannot_take(self):
        """Found out by the worker alone: nothing is said of the candidate, and the machine is well."""
        s = self.serve("library=1.1;reference=GS_ERROR_DEVICE_MEMORY")
        code, got = s.post("evaluate", {"problem": PROBLEM, "schedule": SCHEDULE})
        self.assertEqual((code, got["verdict"], got["reward"]), (200, "problem", None), got)
        self.assertEqual((s.get("health")[0], s.metric("evaluations_failed_total"), s.metric("devices_failing")), (200, 0, 0))

    def test_only_listed_problems(self):
        s = self.serve(options=["64_64_64"])
        self.assertEqual(s.get("tasks")[1]["tasks"][0]["problem"], "f16:64x64x64:nn")
        code, got = s.post("evaluate", {"problem": PROBLEM, "schedule": SCHEDULE})
        self.assertEqual((code, got["error"]["field"]), (400, "problem"))
        self.assertEqual(s.end(signal.SIGINT), 128 + signal.SIGINT)


class BadRequests(Case):
    def test_bodies(self):
        s = self.serve(options=["--most_body", "64"])
        good = {"problem": PROBLEM, "schedule": SCHEDULE}
        for body, field in [
            ("", "body"), ("{", "body"), ("[]", "body"), ("null", "body"), ('{"problem":"x","problem":"y"}', "body"), ('{"a":"\xff"}'.encode("latin-1"), "body"),
            ('{"problem":"\\u0000"}', "problem"), ("[" * 5000, "body"), ({}, "problem"), ({**good, "problem": 1}, "problem"), ({**good, "problem": "f16:0x1x1"}, "problem"),
            ({**good, "problem": "f16:-1x1x1:tn\n\x1b[2J"}, "problem"), ({"problem": PROBLEM}, "schedule"), ({**good, "source": "x"}, "schedule"),
            ({"problem": PROBLEM, "source": "x"}, "manifest"), ({**good, "schedule": ""}, "schedule"), ({**good, "schedule": "x" * 600}, "schedule"),
            ({**good, "schedule": ["x"]}, "schedule"), ({**good, "schedule": "simple\0"}, "schedule"), ({**good, "reward": "applause"}, "reward"), ({**good, "deadline_s": -1}, "deadline_s"),
            ({**good, "deadline_s": "1"}, "deadline_s"), ({**good, "deadline_s": 1e9}, "deadline_s"), ({**good, "shell": "rm"}, "shell"),
            ({**good, "\x1b\n": 1}, "??"),
        ]:
            code, got = s.post("evaluate", body)
            self.assertEqual((code, got["error"]["field"]), (400, field), (body, got))
            self.assertTrue(got["error"]["reason"].isprintable())
        for body, field in [({}, "requests"), ({"requests": []}, "requests"), ({"requests": [good] * 257}, "requests"), ({"requests": [good, 1]}, "requests[1]"),
                            ({"requests": [good, {**good, "problem": "x"}]}, "requests[1].problem"), ({"requests": [{**good, "deadline_s": 1}]}, "requests[0].deadline_s")]:
            code, got = s.post("evaluate/batch", body)
            self.assertEqual((code, got["error"]["field"]), (400, field), got)
        self.assertEqual(s.metric("jobs_accepted_total"), 0)
        self.assertEqual(s.requests('"op":"verify"'), 0)

    def test_a_body_of_many_small_values(self):
        """A hundred times as much memory as it is long, if it were read."""
        s = self.serve()
        before = s.resident()
        for piece in ("{},", "[],", '"",', "1,"):
            body = '{"requests":[' + piece * (3000000 // len(piece)) + "{}]}"
            code, got = s.post("evaluate/batch", body)
            self.assertEqual((code, got["error"]["field"]), (400, "body"), got)
        self.assertIn("values", got["error"]["reason"])
        if not os.environ.get("GS_SANITIZED"):
            self.assertLess(s.resident() - before, 32 << 20)
        # what looks so within a text is one value
        self.assertEqual(s.post("evaluate", {**user_kernel(1), "source": "// fake: us=12.5\n" + '"{\\",' * 50000})[1]["verdict"], "pass")

    def test_the_rest(self):
        s = self.serve(options=["--most_body", "64"])
        for method, path, code in [("GET", "/", 404), ("GET", "/v1", 404), ("GET", "/v1/health%00x", 404), ("GET", "/v1/%68ealth", 200), ("GET", "/v1/tasks?limit=1%00", 400), ("GET", "/v1/evaluate", 405), ("POST", "/v1/health", 405), ("DELETE", "/v1/tasks", 405),
                                   ("GET", "/v1/result/" + "0" * 32, 404), ("GET", "/v1/result/../../etc/passwd", 400), ("GET", "/v1/result/" + "g" * 32, 400),
                                   ("GET", "/v1/tasks?limit=0", 400), ("GET", "/v1/tasks?what=1", 400), ("GET", "/v1/baselines", 400), ("GET", "/v1/baselines?problem=x", 400),
                                   ("GET", "/v1/tasks?limit=nan", 400)]:
            self.assertEqual(s.call(method, path, "{}" if method == "POST" else None)[0], code, path)
        self.assertEqual(s.call("POST", "/v1/evaluate", "{}", {"Content-Type": "text/plain"})[0], 415)
        self.assertEqual(s.call("POST", "/v1/evaluate", "x" * 70000)[0], 413)
        self.assertEqual(s.call("POST", "/v1/evaluate", iter([b"{}"]), {"Transfer-Encoding": "chunked"})[0], 411)
        for host, code in [("evil.example", 403), ("127.0.0.1.evil.example:80", 403), ("[::1]:80", 200), ("localhost:1", 200), ("", 403)]:
            self.assertEqual(s.call("GET", "/v1/health", headers={"Host": host})[0], code, host)
        with socket.create_connection(("127.0.0.1", s.port)) as raw:   # headers without end
            raw.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n" + b"X-Long: " + b"y" * 100000 + b"\r\n\r\n")
            self.assertRegex(raw.recv(100), rb"HTTP/1.1 4\d\d")
        with socket.create_connection(("127.0.0.1", s.port)) as raw:
            raw.sendall(b"\x00\xff garbage\r\n\r\n")
        self.assertEqual(s.get("health")[0], 200)


    def raw(self, s, text):
        """What is answered to that text, until the connection is closed or nothing comes."""
        with socket.create_connection(("127.0.0.1", s.port), timeout=5) as raw:
            raw.sendall(text)
            said = b""
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                while piece := raw.recv(65536):
                    said += piece
            return said

    def test_headers_that_are_there_twice(self):
        """The request ends at the first one or the second one, and what follows is its body or another request: neither is believed, and nothing more is read."""
        s = self.serve()
        hidden = b"GET /v1/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        head = b"POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for twice in (b"Content-Length: 2\r\nContent-Length: %d\r\n" % (2 + len(hidden)), b"content-length: 2\r\nContent-Length: 2\r\n",
                      b"Content-Length: 2\r\nHost: localhost\r\n", b"Content-Length: 2\r\nContent-Type: text/plain\r\n",
                      b"Content-Length: 2\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n"):
            said = self.raw(s, head + twice + b"\r\n{}" + hidden)
            self.assertTrue(said.startswith(b"HTTP/1.1 400"), said)
            self.assertEqual(said.count(b"HTTP/1.1"), 1, said)
            self.assertNotIn(b"gemmsmith_", said)
        self.assertEqual(s.get("health")[0], 200)

    def test_slow_clients_make_room(self):
        """One client that begins many requests and ends none keeps nobody out."""
        s = self.serve(options=["--connections", "4"])
        slow = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(4)]
        for c in slow:
            c.sendall(b"GET /v1/health HTTP/1.1\r\nX: ")
        began = time.monotonic()
        while s.call("GET", "/v1/health")[0] != 200:
            time.sleep(0.1)
        self.assertLess(time.monotonic() - began, 10)
        for c in slow:
            c.close()


class Tokens(Case):
    def test_token(self):
        s = self.serve(token=TOKEN, options=["--address", "0.0.0.0"])
        for header in [{}, {"Authorization": TOKEN}, {"Authorization": "Bearer "}, {"Authorization": "Bearer " + TOKEN[:-1]}, {"Authorization": "Bearer " + TOKEN + "x"},
                       {"Authorization": "Bearer " + TOKEN * 2}]:
            code, got, headers = s.call("GET", "/v1/tasks", headers=header)
            self.assertEqual((code, got["error"]["field"], headers["WWW-Authenticate"]), (401, "Authorization", "Bearer"))
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertEqual(s.call("POST", "/v1/evaluate", user_kernel(1), header)[0], 401)
        self.assertEqual(s.get("health"), (200, {"ok": True}))
        self.assertEqual(s.call("GET", "/v1/tasks", headers={"Authorization": "Bearer " + TOKEN})[0], 200)

    def test_no_token_no_address(self):
        for arguments in (["--address", "0.0.0.0"], ["--address", "::"], ["--address", "192.0.2.1"]):
            done = subprocess.run([PROGRAM, "serve", *arguments], env={"HOME": "/nonexistent"}, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, "token" in done.stderr), (2, True))


class Together(Case):
    def test_duplicates_at_once_are_one(self):
        s = self.serve("library=1.1;delay=200")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: s.post("evaluate", user_kernel(1)), range(16)))
        self.assertEqual({code for code, _ in answers}, {200})
        self.assertEqual(len({json.dumps(got, sort_keys=True) for _, got in answers}), 1)
        self.assertEqual((s.requests('"op":"verify"'), s.metric("jobs_accepted_total"), s.metric("jobs_joined_total")), (1, 1, 15))

    def test_back_pressure(self):
        s = self.serve("library=1.1;delay=600", options=["--queue", "2"])
        taken = [s.post("submit", user_kernel(i))[1]["id"] for i in range(2)]
        code, got, headers = s.call("POST", "/v1/submit", user_kernel(9))
        self.assertEqual((code, got["error"]["code"], headers["Retry-After"]), (429, "GS_ERROR_TIMEOUT", "1"))
        self.assertEqual(s.post("submit", user_kernel(1))[0], 202)   # is there already
        for identity in taken:
            self.assertEqual(s.result(identity)[1]["verdict"], "pass")
        self.assertEqual(s.metric("jobs_accepted_total"), 2)
        self.assertEqual(s.post("evaluate", user_kernel(9))[1]["verdict"], "pass")

    def test_a_batch_is_taken_as_a_whole(self):
        s = self.serve("library=1.1;delay=600", options=["--queue", "2"])
        s.post("submit", user_kernel(0))
        self.assertEqual(s.post("evaluate/batch", {"requests": [user_kernel(0), user_kernel(10), user_kernel(10), user_kernel(11)]})[0], 429)
        self.assertEqual(s.metric("jobs_accepted_total"), 1)
        self.assertLessEqual(s.metric("jobs_queued"), 1)   # the first one, on a busy machine
        code, got = s.post("evaluate/batch", {"requests": [user_kernel(0), user_kernel(10), user_kernel(10)]})
        self.assertEqual((code, [r["verdict"] for r in got["results"]]), (200, ["pass"] * 3))

    def test_deadline(self):
        s = self.serve("library=1.1;delay=5000")
        began = time.monotonic()
        code, got = s.post("evaluate", user_kernel(1, deadline_s=0.1))
        self.assertLess(time.monotonic() - began, 4.5)
        self.assertEqual((code, got["verdict"], got["reward"], got["state"]), (200, "deadline", None, "running"))
        self.assertEqual(s.get("result/" + got["id"])[0], 202)
        self.assertEqual(s.result(got["id"])[1]["verdict"], "pass")
        self.assertEqual(s.post("evaluate", user_kernel(1, deadline_s=0))[1]["verdict"], "pass")

    def test_cancel(self):
        s = self.serve("library=1.1;delay=60000")
        running, queued = s.post("submit", user_kernel(1))[1]["id"], s.post("submit", user_kernel(2))[1]["id"]
        while s.requests('"op":"bench"') == 0 or 'gemmsmith_stage_waiting{stage="device"} 1' not in s.get("metrics")[1]:   # the other one is prepared
            time.sleep(0.01)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(s.result, running)
            self.assertEqual(s.call("DELETE", "/v1/result/" + queued)[:2], (200, {"id": queued, "state": "cancelled"}))
            self.assertEqual(s.result(queued)[1]["verdict"], "cancelled")
            self.assertIn(s.call("DELETE", "/v1/result/" + running)[0], (200, 202))
            code, got = waiting.result()
        self.assertEqual((code, got["verdict"], got["reward"], got["state"]), (200, "cancelled", None, "done"))
        self.assertEqual((s.metric("jobs_cancelled_total"), s.metric("jobs_queued"), s.metric("jobs_running"), s.get("health")[0]), (2, 0, 0, 200))
        self.assertEqual(s.requests("// 2"), s.requests("// 2", "precompile"))   # it never reached a device
        for identity, code in [(running, 409), ("0" * 32, 404), ("x", 400)]:
            self.assertEqual(s.call("DELETE", "/v1/result/" + identity)[0], code)
        self.assertEqual(s.post("submit", user_kernel(1))[0], 202)   # asked again, it is begun again

    def test_a_deadline_lets_others_go_first(self):
        """An evaluation that nobody waits for any more is given up for one that somebody does; nor is it resumed."""
        s = self.serve("library=1.1;delay=60000")
        slow = s.post("evaluate", user_kernel(1, deadline_s=0.2))[1]["id"]
        with contextlib.closing(sqlite3.connect(os.path.join(s.folder, "store.db"))) as store, store:
            self.assertGreater(store.execute("SELECT expires FROM job WHERE id = ?", (slow,)).fetchone()[0], 1000 * time.time())
        time.sleep(16)   # the time in which it may be asked for once more
        self.assertEqual(s.get("result/" + slow)[1]["state"], "running")   # nobody else is there
        other = s.post("submit", user_kernel(2))[1]["id"]
        until = time.monotonic() + 20   # to wait for it would be to want it
        while (answer := s.get("result/" + slow))[0] == 202 and time.monotonic() < until:
            time.sleep(0.1)
        code, got = answer
        self.assertEqual((code, got.get("verdict"), got["state"]), (200, "deadline", "done"), got)
        self.assertEqual((s.metric("jobs_expired_total"), s.get("result/" + other)[0], s.get("health")[0]), (1, 202, 200))
        # after a restart: one whose deadline has passed meanwhile is not begun
        late = s.post("submit", user_kernel(3, deadline_s=60))[1]["id"]
        s.end(signal.SIGKILL)
        compiled = s.requests("// 3")   # ahead of its turn, if there was time
        with contextlib.closing(sqlite3.connect(os.path.join(s.folder, "store.db"))) as store, store:
            store.execute("UPDATE job SET expires = 1 WHERE id = ?", (late,))
        s.seal()
        s.rules = "library=1.1"
        s.start()
        self.assertEqual([s.result(i)[1]["verdict"] for i in (other, late)], ["pass", "deadline"])
        self.assertEqual(s.requests("// 3"), compiled)

    def test_whoever_has_gone_is_not_waited_for(self):
        """A caller that closes its connection, or its half of it, keeps no thread until its deadline."""
        s = self.serve("library=1.1;delay=4000")
        body = json.dumps(user_kernel(1)).encode()
        whole = b"POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        before = len(os.listdir(f"/proc/{s.process.pid}/task"))
        for _ in range(16):
            with socket.create_connection(("127.0.0.1", s.port)) as raw:
                raw.sendall(whole)
        with socket.create_connection(("127.0.0.1", s.port)) as raw:
            raw.sendall(whole)
            raw.shutdown(socket.SHUT_WR)
            raw.settimeout(20)
            self.assertIn(b'"verdict":"deadline"', raw.recv(4096))
        until = time.monotonic() + 10
        while len(os.listdir(f"/proc/{s.process.pid}/task")) > before and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(len(os.listdir(f"/proc/{s.process.pid}/task")), before)
        self.assertEqual(s.metric("jobs_accepted_total"), 1)
        self.assertEqual(s.post("evaluate", user_kernel(1))[1]["verdict"], "pass")   # what it asked for was done all the same

    def test_more_callers_than_connections(self):
        """Whoever comes when all are taken is told to come back, and finds a place when one has gone."""
        s = self.serve(options=["--connections", "2"])
        kept = [http.client.HTTPConnection("127.0.0.1", s.port, timeout=20) for _ in range(2)]
        for connection in kept:
            self.assertEqual(s.call("GET", "/v1/health", connection=connection)[0], 200)
        code, got, headers = s.call("GET", "/v1/health")
        self.assertEqual((code, got["error"]["field"], headers["Retry-After"], headers["Connection"]), (429, "connections", "1", "close"))
        self.assertEqual(s.call("GET", "/v1/health", connection=kept[0])[0], 200)   # whoever is there stays
        kept[1].close()
        until = time.monotonic() + 5
        while (code := s.get("health")[0]) == 429 and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(code, 200)
        kept[0].close()

    def test_open_files(self):
        """There are as many as connections need, or it is said at the start."""
        done = subprocess.run([PROGRAM, "serve", "--device", "emu:h200", "--connections", "500"], env={"HOME": "/nonexistent"}, capture_output=True, text=True, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 300)))
        self.assertEqual((done.returncode, "ulimit -n" in done.stderr), (2, True), done.stderr)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        s = self.serve()
        self.assertGreater(resource.prlimit(s.process.pid, resource.RLIMIT_NOFILE)[0], 256)

    def test_two_devices(self):
        s = self.serve("library=1.1;delay=600", options=["--devices", "emu:h200,emu:h200"], device=None)
        ids = [s.post("submit", user_kernel(i))[1]["id"] for i in range(4)]
        while s.metric("jobs_running") < 2:
            time.sleep(0.01)
        self.assertEqual([s.result(identity)[1]["verdict"] for identity in ids], ["pass"] * 4)
        self.assertEqual([d["done"] for d in s.get("health")[1]["devices"]], [2, 2])

    def test_load(self):
        clients, each, distinct = 32, 100, 24
        s = self.serve()

        def client(number, rounds):
            c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=GIVE_UP_S)
            got = {}
            for i in range(rounds):
                which = (number * 7 + i) % distinct
                code, answer, _ = s.call("POST", "/v1/evaluate", user_kernel(which), connection=c)
                assert code == 200, answer
                got.setdefault(which, set()).add(json.dumps(answer, sort_keys=True))
            c.close()
            return got

        def load(rounds):
            with concurrent.futures.ThreadPoolExecutor(clients) as pool:
                return list(pool.map(lambda n: client(n, rounds), range(clients)))

        load(10)
        before, answers = s.resident(), {}
        for got in load(each):
            for which, texts in got.items():
                answers.setdefault(which, set()).update(texts)
        self.assertEqual([len(texts) for texts in answers.values()], [1] * distinct)
        self.assertEqual(s.requests('"op":"verify"'), distinct)
        self.assertEqual(s.metric("jobs_joined_total"), clients * (each + 10) - distinct)
        if not os.environ.get("GS_SANITIZED"):   # a sanitizer keeps what was freed
            self.assertLess(s.resident() - before, 8 << 20)
        self.assertEqual(len(os.listdir(f"/proc/{s.process.pid}/task")) < clients + 16, True)


class Failures(Case):
    def restart(self, number):
        s = self.serve("library=1.1;delay=150")
        ids = [s.post("submit", user_kernel(i))[1]["id"] for i in range(5)]
        first = s.result(ids[0])[1]
        code = s.end(number)
        self.assertEqual(code, -number if number == signal.SIGKILL else 128 + number)
        s.start()
        got = [s.result(identity)[1] for identity in ids]
        self.assertEqual([g["verdict"] for g in got], ["pass"] * 5)
        self.assertEqual(got[0], first)
        self.assertEqual(s.post("evaluate", user_kernel(0))[1], first)
        return s

    def test_restart_after_a_kill(self):
        self.restart(signal.SIGKILL)

    def test_restart_after_a_stop(self):
        s = self.restart(signal.SIGTERM)
        self.assertIn("accepted candidates are not done", s.said())

    def test_whoever_waits_is_told_of_a_stop(self):
        s = self.serve("library=1.1;delay=1000")
        answers = []
        waiting = [threading.Thread(target=lambda i=i: answers.append(s.post("evaluate", user_kernel(i)))) for i in range(3)]
        for thread in waiting:
            thread.start()
        while s.metric("jobs_accepted_total") < 3 or s.requests('"op":"bench"') == 0:   # its last request to the worker is under way
            time.sleep(0.01)
        self.assertEqual(s.end(), 143)
        for thread in waiting:
            thread.join()
        self.assertEqual(sorted(code for code, _ in answers), [200, 503, 503])
        self.assertEqual(sorted(str(got["verdict"]) for _, got in answers), ["pass", "stopping", "stopping"])

    def test_a_stop_ends_whoever_goes_on_asking(self):
        """Over open connections, while the service ends."""
        s = self.serve("library=1.1;delay=300")
        identity = s.post("submit", user_kernel(1))[1]["id"]
        connections = [http.client.HTTPConnection("127.0.0.1", s.port, timeout=20) for _ in range(16)]

        def ask(connection):
            with contextlib.suppress(OSError, http.client.HTTPException):
                while True:
                    s.call("GET", "/v1/result/" + identity, connection=connection)

        asking = [threading.Thread(target=ask, args=[c]) for c in connections]
        for thread in asking:
            thread.start()
        time.sleep(0.1)
        self.assertEqual(s.end(), 143)
        for thread, connection in zip(asking, connections):
            thread.join()
            connection.close()

    def test_killed_worker(self):
        s = self.serve("library=1.1;delay=300")
        identity = s.post("submit", user_kernel(1))[1]["id"]
        while s.requests('"op":"bench"') == 0:
            time.sleep(0.01)
        os.kill(s.worker(), signal.SIGKILL)
        self.assertEqual(s.result(identity)[1]["verdict"], "pass")
        self.assertEqual(s.metric("evaluations_repeated_total"), 1)
        # also where the signal is the one that service managers send
        benches = s.requests('"op":"bench"')
        identity = s.post("submit", user_kernel(4))[1]["id"]
        while s.requests('"op":"bench"') == benches:
            time.sleep(0.01)
        os.kill(s.worker(), signal.SIGTERM)
        self.assertEqual(s.result(identity)[1]["verdict"], "pass")
        # a candidate that takes its worker down each time is judged, after two attempts
        self.assertEqual(s.post("evaluate", user_kernel(2, "fake: crash"))[1]["verdict"], "fault")
        self.assertEqual(s.post("evaluate", user_kernel(3))[1]["verdict"], "pass")

    def test_says_where_it_serves_as_an_object(self):
        s = self.serve(options=["--json", "--mnk", "64_64_64", "--layouts", "tn"], token="a-secret-of-the-test")
        hello = json.loads(s.hello)
        self.assertEqual((hello["url"], hello["token"], hello["listed_problems_only"], hello["open"]), (f"http://127.0.0.1:{s.port}/v1", True, True, 0))

    def test_an_answer_is_never_another_ones(self):
        """As if two requests had the same hash."""
        s = self.serve()
        got = s.post("evaluate", user_kernel(1))[1]
        with contextlib.closing(sqlite3.connect(os.path.join(s.folder, "store.db"))) as store, store:
            store.execute("UPDATE job SET request = ? WHERE id = ?", (json.dumps(user_kernel(2)), got["id"]))
        code, refused = s.post("evaluate", user_kernel(1))
        self.assertEqual((code, refused["error"]["field"]), (409, "id"))

    def test_another_service_with_the_same_store(self):
        """Both have the job; the first answer stands and is what both say. A job that somebody took out of the store holds nobody up."""
        s = self.serve("library=1.1;delay=800")
        ids = [s.post("submit", user_kernel(i))[1]["id"] for i in range(4)]
        while s.requests('"op":"bench"') == 0:
            time.sleep(0.01)
        with contextlib.closing(sqlite3.connect(os.path.join(s.folder, "store.db"))) as store, store:
            store.execute("UPDATE job SET answer = '{\"verdict\":\"exact\",\"reason\":\"of the other one\"}' WHERE id IN (?, ?)", ids[:2])
            store.execute("DELETE FROM job WHERE id = ?", ids[2:3])
        self.assertEqual([s.result(identity)[1]["reason"] for identity in ids[:2]], ["of the other one"] * 2)
        self.assertEqual(s.result(ids[3])[1]["verdict"], "pass")
        self.assertEqual(s.get("result/" + ids[2])[0], 404)
        self.assertEqual(s.requests('"op":"bench"'), 2)   # of the first, which was under way, and the last
        self.assertEqual(s.post("evaluate", user_kernel(2))[1]["verdict"], "pass")

    def test_full_disk(self):
        s = self.serve("library=1.1;delay=600")
        accepted = [s.post("submit", user_kernel(i))[1]["id"] for i in range(2)]
        limits = resource.prlimit(s.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(s.process.pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
        code, got = s.post("submit", user_kernel(5))
        self.assertEqual((code, got["error"]["code"]), (507, "GS_ERROR_DISK_FULL"), got)
        self.assertEqual(s.post("evaluate", user_kernel(0, deadline_s=0.2))[1]["verdict"], "deadline")   # it was accepted, and waits
        time.sleep(0.8)
        self.assertEqual(s.get("result/" + accepted[0])[0], 202)   # no answer that is not kept
        resource.prlimit(s.process.pid, resource.RLIMIT_FSIZE, limits)
        self.assertEqual([s.result(identity)[1]["verdict"] for identity in accepted], ["pass", "pass"])
        self.assertEqual(s.post("evaluate", user_kernel(5))[1]["verdict"], "pass")
        self.assertEqual(s.metric("jobs_accepted_total"), 3)

    def test_old_answers_are_forgotten(self):
        s = self.serve("library=1.1;delay=50", options=["--keep", "24h"])
        ids = [s.post("evaluate", user_kernel(i))[1]["id"] for i in range(3)]
        self.assertEqual(s.end(), 143)
        with contextlib.closing(sqlite3.connect(os.path.join(s.folder, "store.db"))) as store, store:   # the clock: two days later; one was never done
            store.execute("UPDATE job SET date = '2001-01-01T00:00:00Z' WHERE id != ?", ids[2:])
            store.execute("UPDATE job SET answer = NULL WHERE id = ?", ids[1:2])
        s.seal()
        s.start()
        self.assertEqual(s.result(ids[1])[1]["verdict"], "pass")
        while s.metric("jobs_forgotten_total") < 1:
            time.sleep(0.01)
        self.assertEqual([s.get("result/" + identity)[0] for identity in ids], [404, 200, 200])
        self.assertEqual(s.post("evaluate", user_kernel(0))[1]["verdict"], "pass")   # anew
        self.assertEqual(s.end(), 143)
        # while it runs, some thousand
        with contextlib.closing(sqlite3.connect(os.path.join(s.folder, "store.db"))) as store, store:
            store.executemany("INSERT INTO job (id, device, request, attempts, answer, failed, date) VALUES (?, 'x', 'r', 1, ?, 0, '2001-01-01T00:00:00Z')",
                              [(str(i), None if i == 1000 else "a") for i in range(2000)])
        s.seal()
        s.options = ["--keep", "2s"]
        s.start()
        while s.metric("jobs_forgotten_total") < 2002:
            time.sleep(0.05)
        with contextlib.closing(sqlite3.connect(os.path.join(s.folder, "store.db"))) as store:
            self.assertEqual(store.execute("SELECT id FROM job").fetchall(), [("1000",)])

    def test_a_machine_that_fails_says_nothing_of_the_candidate(self):
        s = self.serve("library=1.1;reference=GS_ERROR_NO_LIBRARY")
        code, got = s.post("evaluate", user_kernel(1))
        self.assertEqual((code, got["verdict"], got["reward"]), (200, "machine", None), got)
        self.assertEqual(s.get("health")[0], 503)
        s.end()
        s.rules = "library=1.1"
        s.start()
        self.assertEqual(s.post("evaluate", user_kernel(1))[1]["verdict"], "pass")   # asked again, it is tried again


class Metrics(Case):
    """No result is silent about them."""

    def look(self, got, there):
        self.assertEqual(got["metrics"] is not None, there, got)
        self.assertTrue(got["metrics_note"].startswith("none: ") != there, got)

    def test_every_result(self):
        s = self.serve("library=1.1;delay=50")
        self.look(s.post("evaluate", {"problem": PROBLEM, "schedule": SCHEDULE})[1], True)
        kernel = s.post("submit", user_kernel(1))[1]["id"]
        self.look(s.result(kernel)[1], True)
        self.assertEqual(s.result(kernel)[1]["metrics"]["ptx_mma"], 8)
        batch = s.post("evaluate/batch", {"requests": [user_kernel(1), {"problem": PROBLEM, "schedule": "nonsense"}, {"problem": PROBLEM, "completion": "?"}, user_kernel(2, "fake: wrong")]})
        for got, there in zip(batch[1]["results"], (True, False, False, True)):
            self.look(got, there)
        for got, there in zip(s.post("races", {"problem": PROBLEM, "schedules": [SCHEDULE, "nonsense"]})[1]["race"], (True, False)):
            self.look(got, there)
        self.look(s.post("evaluate", {**user_kernel(3), "deadline_s": 0})[1], False)


class Emulated(Case):
    def test_one_candidate(self):
        told = subprocess.run([PROGRAM, "info"], capture_output=True, text=True, check=False).stdout
        if any(line.split()[:2] == ["NVRTC", "none"] for line in told.splitlines()):
            self.skipTest("no NVRTC")
        s = self.serve(device="emu:h200")
        code, got = s.post("evaluate", {"problem": "f16:32x32x32:tn", "schedule": "simple"})
        self.assertEqual((code, got["verdict"], got["predicted"]), (200, "pass", True), got)
        self.assertEqual(got["metrics_note"], "predicted: times and counters are the emulated device's")
        self.assertEqual((got["metrics"]["device_store"], "counted_m" in got["metrics"]), (32 * 32 * 2, False))
        self.assertEqual(s.get("baselines?problem=f16:32x32x32:tn&measure=true")[1]["cublaslt_us"], None)


if __name__ == "__main__":
    unittest.main()
