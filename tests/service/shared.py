#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several gemmsmith serve with one store, a file and a PostgreSQL database: each job is evaluated once, whoever is asked for it, and what a service leaves when it ends or is killed
another one goes on with. GS_KILLS=100 in the environment ends so many of them at random moments (make check-kill).
Usage: shared.py PROGRAM FAKE_WORKER [unittest's arguments]"""
import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest

import service as base   # takes PROGRAM and FAKE_WORKER from the command line
from service import PROBLEM, Case, user_kernel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "store"))
import kill   # noqa: E402  a PostgreSQL server

COUNT = 24


def until(what, seconds=30.0):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise AssertionError("did not happen")
        time.sleep(0.02)


def timed(*services):
    """How often each candidate was timed, by all of them together."""
    counts = collections.Counter()
    for s in services:
        if os.path.exists(s.log):
            with open(s.log, encoding="utf-8") as file:
                for line in file:
                    request = json.loads(line)
                    if request["op"] == "bench" and "kernel" in request:
                        counts[request["kernel"]["name"]] += 1
    return counts


def start_server(case):
    try:
        case.server, case.schemas = kill.Server(), 0
    except SystemExit:
        raise unittest.SkipTest("PostgreSQL is not installed") from None


class Shared(Case):
    """With a file; below, with a server."""

    def store(self):
        folder = tempfile.mkdtemp(prefix="gs-shared-")
        self.addCleanup(shutil.rmtree, folder, True)
        return os.path.join(folder, "store.db")

    def pair(self, rules="library=1.1;delay=100", options=("--prepare", "1"), other=None):
        store = self.store()
        return [self.serve(rules, options=o, store=store) for o in (options, options if other is None else other)]

    def test_each_job_is_evaluated_once(self):
        pair = self.pair()
        requests = [user_kernel(i) for i in range(COUNT)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(s.post, "evaluate/batch", {"requests": requests[i:] + requests[:i]}) for i in (0, COUNT // 2) for s in pair]
            answers = [{r["id"]: r for r in a.result()[1]["results"]} for a in asked]
        self.assertEqual([r["verdict"] for r in answers[0].values()], ["pass"] * COUNT)
        for other in answers[1:]:
            self.assertEqual(other, answers[0])
        self.assertEqual(sorted(timed(*pair).values()), [1] * COUNT)
        self.assertEqual(sum(s.metric("evaluations_total") for s in pair), COUNT)
        self.assertGreater(sum(s.metric("jobs_shared_total") for s in pair), 0)
        self.assertEqual([(s.metric("jobs_queued"), s.metric("jobs_running")) for s in pair], [(0, 0)] * 2)

    def test_one_is_asked_for_what_another_has(self):
        first, second = self.pair("library=1.1;delay=1500")
        accepted = first.post("submit", user_kernel(1))[1]["id"]
        self.assertEqual(second.get("result/" + accepted)[0], 202)
        self.assertEqual(second.result(accepted)[1]["verdict"], "pass")
        self.assertEqual(second.get("result/" + "0" * 32)[0], 404)
        busy, ended = (first.post("submit", user_kernel(i))[1]["id"] for i in (2, 3))
        self.assertEqual(second.call("DELETE", "/v1/result/" + ended)[0], 200)
        self.assertEqual([s.result(ended)[1]["verdict"] for s in (second, first)], ["cancelled"] * 2)
        self.assertEqual([s.result(busy)[1]["verdict"] for s in (second, first)], ["pass"] * 2)
        self.assertEqual((len(timed(second)), len(timed(first))), (0, 2))

    def test_a_race_is_run_once(self):
        pair = self.pair()
        schedules = ["ws/128x128x64/s4/c1x1/coop/g8", "ws/128x256x64/s4/c2x1/coop/g8", "simple"]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            got = list(pool.map(lambda s: s.post("races", {"problem": PROBLEM, "schedules": schedules})[1], pair))
        self.assertEqual(got[0], got[1])
        self.assertEqual((sum(s.metric("schedules_raced_total") for s in pair), len(got[0]["race"])), (3, 3))

    def leave(self, number):
        first, second = self.pair()
        requests = [user_kernel(i) for i in range(COUNT)]
        mine = [first.post("submit", r)[1]["id"] for r in requests]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            both = pool.submit(second.post, "evaluate/batch", {"requests": requests[:COUNT // 2]})   # the rest nobody asks the second for
            until(lambda: first.metric("evaluations_total") >= 3)
            self.assertEqual(second.metric("evaluations_total"), 0)
            first.end(number)
            self.assertEqual([r["verdict"] for r in both.result()[1]["results"]], ["pass"] * (COUNT // 2))
        until(lambda: second.metric("jobs_queued") + second.metric("jobs_running") == 0)
        self.assertEqual([second.result(i)[1]["verdict"] for i in mine], ["pass"] * COUNT)
        counts = timed(first, second)
        self.assertEqual(len(counts), COUNT)
        self.assertLessEqual(sum(counts.values()), COUNT + 1, counts)   # what was under way

    def test_killed_in_the_middle(self):
        self.leave(signal.SIGKILL)

    def test_ended_in_the_middle(self):
        self.leave(signal.SIGTERM)

    def test_what_another_kind_of_service_has_left(self):
        """With other options the answer would be another one: it is left until a service of its kind starts."""
        first, second = self.pair(other=("--prepare", "1", "--rounds", "11"))
        mine = [first.post("submit", user_kernel(i))[1]["id"] for i in range(4)]
        first.end(signal.SIGKILL)
        time.sleep(5)
        self.assertEqual((second.metric("evaluations_total"), second.metric("jobs_queued")), (0, 0))
        first.start()
        self.assertEqual([first.result(i)[1]["verdict"] for i in mine], ["pass"] * 4)
        self.assertEqual(len(timed(second)), 0)


class SharedServer(Shared):
    @classmethod
    def setUpClass(cls):
        start_server(cls)

    @classmethod
    def tearDownClass(cls):
        cls.server.call("postgres_stop")

    def store(self):
        type(self).schemas += 1
        self.server.ask(f"CREATE SCHEMA s{self.schemas}")
        return f"{self.server.name()} options='-c search_path=s{self.schemas}'"

    def test_the_server_crashes(self):
        pair = self.pair()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(s.post, "evaluate/batch", {"requests": [user_kernel(i) for i in range(COUNT)]}) for s in pair]
            until(lambda: sum(s.metric("evaluations_total") for s in pair) >= 3)
            self.server.crash()
            answers = [a.result() for a in asked]
        self.assertEqual([[r["verdict"] for r in a[1]["results"]] for a in answers], [["pass"] * COUNT] * 2)
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(sorted(timed(*pair).values()), [1] * COUNT)


class Kills(Case):
    """Services, and the server, end at random moments, GS_KILLS of them, while clients bring jobs to whoever listens. Nothing that was accepted is lost, and nothing is evaluated twice but
    what was under way in a service that was killed."""

    store = Shared.store
    WAYS = (signal.SIGKILL, signal.SIGTERM)

    def anywhere(self, call):
        """What the first service says that answers."""
        for _ in range(600):
            for s in random.sample(self.services, len(self.services)):
                with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                    code, got = call(s)
                    if code in (200, 202):
                        return got
            time.sleep(0.05)
        raise AssertionError("nobody answers")

    def bring(self, first):
        brought = {}
        for number in range(first, 1 << 30, 4):
            if self.over.is_set():
                return brought
            request = user_kernel(number)
            brought[self.anywhere(lambda s, r=request: s.post("submit", r))["id"]] = number
            time.sleep(0.3 * random.random())
        return brought

    def end_one(self, way):
        s = random.choice(self.services)
        s.end(way)
        time.sleep(random.uniform(0, 1))
        until(lambda: self.starts(s))

    @staticmethod
    def starts(s):
        try:
            s.start()
        except (AssertionError, IndexError):   # the server is just away
            s.process.wait()
            return False
        return True

    def test_ends_at_random_moments(self):
        kills, store = int(os.environ.get("GS_KILLS") or 3), self.store()
        self.over, self.services = threading.Event(), [self.serve("library=1.1;delay=30;prepare=30", options=["--prepare", "1"], store=store) for _ in range(3)]
        ways, killed = collections.Counter(), 0
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            clients = [pool.submit(self.bring, i) for i in range(4)]
            try:
                for _ in range(kills):
                    time.sleep(random.uniform(0.1, 1))
                    way = random.choice(self.WAYS)
                    ways[way] += 1
                    self.server.crash() if way == "server" else self.end_one(way)
            finally:
                self.over.set()
            ids = set().union(*(client.result() for client in clients))
        for identity in ids:
            until(lambda i=identity: self.anywhere(lambda s: s.result(i, 5))["state"] == "done", 120)
        answers = [{i: s.result(i, 5)[1] for i in ids} for s in self.services]
        self.assertEqual([a for a in answers[0].values() if a["verdict"] != "pass"], [])
        self.assertEqual(answers[1:], answers[:1] * 2)
        counts = timed(*self.services)
        self.assertEqual(len(counts), len(ids))
        self.assertLessEqual(sum(counts.values()) - len(ids), ways[signal.SIGKILL] + ways[signal.SIGTERM], ways)
        print(f"{len(ids)} jobs, {sum(counts.values())} evaluations; ended: {dict(ways)}", file=sys.stderr)


class KillsServer(Kills):
    store = SharedServer.store

    @classmethod
    def setUpClass(cls):
        start_server(cls)

    @classmethod
    def tearDownClass(cls):
        cls.server.call("postgres_stop")

    WAYS = (signal.SIGKILL, signal.SIGTERM, "server")


if __name__ == "__main__":
    base.unittest.main()
