#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gemmsmith serve as a pipeline: candidates are prepared by some processes while a device proves and times others. What is slow in one stage holds up nobody in
the other; cancelling, deadlines and killed workers in each stage; turns of callers; races; the same verdicts as without a pipeline.
Usage: pipeline.py PROGRAM FAKE_WORKER [unittest's arguments]"""
import concurrent.futures
import contextlib
import http.client
import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import service as base   # takes PROGRAM and FAKE_WORKER from the command line
from service import MANIFEST, PROBLEM, PROGRAM, WORKER, Case, user_kernel

SCHEDULES = ["ws/128x128x64/s4/c1x1/coop/g8", "ws/128x256x64/s4/c2x1/coop/g8", "simple", "ws/128x256x64/s3/c2x1/coop/g8", "ws/128x128x64/s3/c2x1/coop/g8", "ws/128x192x64/s4/c2x1/coop/g8"]


def until(what, seconds=20.0):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise AssertionError("did not happen")
        time.sleep(0.01)


def stage(s, name, which):
    for line in s.get("metrics")[1].splitlines():
        if line.startswith(f'gemmsmith_{name}{{stage="{which}"}} '):
            return float(line.split()[1])
    raise AssertionError(name)


def submit(s, *arguments, **named):
    return s.post("submit", user_kernel(*arguments, **named))[1]["id"]


def workers(s):
    """Process numbers by the device that each was started for."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                with open(f"/proc/{name}/cmdline", encoding="utf-8") as file:
                    words = file.read().split("\0")
                if int(fields[1]) == s.process.pid and fields[0] != "Z":
                    found.append((words[words.index("--device") + 1], int(name)))
    return found


class Stages(Case):
    def test_a_slow_compilation_holds_nobody_up(self):
        s = self.serve(options=["--prepare", "2"])
        slow = submit(s, 1, "fake: prepare=60000")
        until(lambda: s.requests("prepare=60000", "precompile") == 1)
        began = time.monotonic()
        for i in range(2, 6):
            self.assertEqual(s.post("evaluate", user_kernel(i))[1]["verdict"], "pass")
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual((s.get("result/" + slow)[1]["state"], stage(s, "stage_working", "prepare")), ("running", 1))

    def test_others_are_prepared_while_the_device_is_busy(self):
        s = self.serve("library=1.1;delay=6000", options=["--prepare", "2"])
        ids = [submit(s, i) for i in range(6)]
        until(lambda: s.requests("", "precompile") == 6)
        until(lambda: stage(s, "stage_waiting", "device") == 5)
        until(lambda: s.requests("", "verify") > 0)
        self.assertEqual((s.requests("", "verify"), stage(s, "stage_threads", "prepare"), stage(s, "stage_waiting", "prepare"), s.metric("jobs_queued")), (1, 2, 0, 5))
        until(lambda: s.get("metrics")[1].count("gemmsmith_device_busy_seconds_total{") == 1)
        self.assertEqual(s.result(ids[0], 120)[1]["verdict"], "pass")
        self.assertGreater(float(s.get("metrics")[1].split('gemmsmith_device_busy_seconds_total{index="0",device="cuda:0"} ')[1].split()[0]), 5)

    def test_what_cannot_be_compiled_never_comes_to_the_device(self):
        s = self.serve(options=["--prepare", "1"])
        for rule, verdict in (("fake: compile", "compile"), ("fake: choke", "compile")):
            got = s.post("evaluate", user_kernel(1, rule))[1]
            self.assertEqual((got["verdict"], got["stage"], got["reward"]), (verdict, "compile", -1), got)
        self.assertEqual((s.requests("", "verify"), s.requests("", "bench"), s.requests("", "compile")), (0, 0, 0))
        self.assertEqual(s.get("health")[0], 200)

    def test_where_nothing_can_be_prepared_the_device_does_it(self):
        """For ever, that is: no process can be started, the cache cannot be written. Others do not wait behind it either."""
        s = self.serve("library=1.1;refuse=IO", options=["--prepare", "1"])
        ids = [submit(s, i) for i in range(2)]
        self.assertEqual([s.result(i, 60)[1].get("verdict") for i in ids], ["pass"] * 2)

    def test_without_processes_that_prepare(self):
        s = self.serve(options=["--prepare", "0"])
        self.assertEqual(s.post("evaluate", user_kernel(1))[1]["verdict"], "pass")
        self.assertEqual((s.requests("", "precompile"), stage(s, "stage_threads", "prepare")), (0, 0))
        race = s.post("races", {"problem": PROBLEM, "schedules": SCHEDULES[:2]})[1]
        self.assertEqual(len(race["race"]), 2)

    def test_cancelling_in_each_stage(self):
        s = self.serve("library=1.1;delay=60000", options=["--prepare", "1"])
        timed, prepared = submit(s, 1), submit(s, 2)
        until(lambda: s.requests("", "bench") == 1 and stage(s, "stage_waiting", "device") == 1)
        compiled, waits = submit(s, 3, "fake: prepare=60000"), submit(s, 4)
        until(lambda: s.requests("prepare=60000", "precompile") == 1)
        self.assertEqual([s.get("result/" + i)[1]["state"] for i in (timed, prepared, compiled, waits)], ["running", "queued", "running", "queued"])
        for identity, codes in ((waits, (200,)), (prepared, (200,)), (compiled, (200, 202)), (timed, (200, 202))):
            self.assertIn(s.call("DELETE", "/v1/result/" + identity)[0], codes)
            self.assertEqual(s.result(identity)[1]["verdict"], "cancelled")
        self.assertEqual((s.metric("jobs_cancelled_total"), s.metric("jobs_queued"), s.metric("jobs_running"), s.get("health")[0]), (4, 0, 0, 200))
        self.assertEqual((s.requests("// 2", "verify"), s.requests("// 3", "verify"), s.requests("// 4")), (0, 0, 0))

    def test_deadlines_in_each_stage(self):
        """Fifteen seconds after nobody waits any more, what is compiled gives way to others, and what waits for the device is not begun."""
        s = self.serve("library=1.1;delay=60000", options=["--prepare", "1"])
        timed, prepared = submit(s, 1), submit(s, 2, deadline_s=0.2)
        until(lambda: s.requests("", "bench") == 1 and stage(s, "stage_waiting", "device") == 1)
        compiled = submit(s, 3, "fake: prepare=60000", deadline_s=0.2)
        until(lambda: stage(s, "stage_waiting", "prepare") == 0)
        time.sleep(16)
        until(lambda: s.get("result/" + compiled)[1]["state"] == "done")
        self.assertEqual(s.get("result/" + compiled)[1]["verdict"], "deadline")
        s.call("DELETE", "/v1/result/" + timed)
        until(lambda: s.get("result/" + prepared)[1]["state"] == "done")
        self.assertEqual((s.get("result/" + prepared)[1]["verdict"], s.requests("// 2", "verify"), s.metric("jobs_expired_total")), ("deadline", 0, 2))

    def test_a_restart_loses_nothing_of_any_stage(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
            with self.subTest(number):
                s = self.serve("library=1.1;delay=150", options=["--prepare", "2"])
                ids = [submit(s, i, "fake: prepare=100") for i in range(6)]
                time.sleep(0.7 * random.random())
                s.end(number)
                s.start()
                self.assertEqual([s.result(i)[1]["verdict"] for i in ids], ["pass"] * 6)


class Turns(Case):
    def test_a_long_batch_holds_nobody_up(self):
        s = self.serve("library=1.1;delay=100", options=["--prepare", "1"])
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            batch = pool.submit(s.post, "evaluate/batch", {"requests": [user_kernel(i) for i in range(30)]})
            until(lambda: s.metric("evaluations_total") >= 3)
            before = s.metric("evaluations_total")
            self.assertEqual(s.post("evaluate", user_kernel(100))[1]["verdict"], "pass")
            self.assertLess(s.metric("evaluations_total") - before, 15)
            self.assertEqual([r["verdict"] for r in batch.result()[1]["results"]], ["pass"] * 30)

    def test_a_device_stays_with_a_problem_for_a_while(self):
        """Tuning the library for a problem takes longer than timing beside it; but nobody waits for ever."""
        s = self.serve("library=1.1;delay=20", options=["--prepare", "2"])
        first = submit(s, 0, "fake: prepare=1000")   # so that the others are all there
        problems = [PROBLEM, "f16:512x512x512:tn"]
        requests = [{**user_kernel(i), "problem": problems[i % 2]} for i in range(1, 25)]
        got = s.post("evaluate/batch", {"requests": requests})[1]["results"]
        self.assertEqual([r["verdict"] for r in got], ["pass"] * 24)
        self.assertEqual(s.result(first)[1]["verdict"], "pass")
        with open(s.log, encoding="utf-8") as file:
            order = [json.loads(line)["problem"] for line in file if '"op":"bench"' in line]
        self.assertLess(sum(a != b for a, b in zip(order, order[1:])), 15, order)

    def test_schedules_of_a_problem_share_their_rounds(self):
        s = self.serve("library=1.1;delay=300", options=["--prepare", "2"])
        first = submit(s, 0, "fake: prepare=2000")   # so that the others are all there
        until(lambda: stage(s, "stage_working", "prepare") > 0)
        got = s.post("evaluate/batch", {"requests": [{"problem": PROBLEM, "schedule": one} for one in SCHEDULES]})[1]["results"]
        self.assertEqual([r["verdict"] for r in got], ["pass"] * len(SCHEDULES), got)
        self.assertEqual([r["candidate"] for r in got], SCHEDULES)
        self.assertEqual(s.result(first)[1]["verdict"], "pass")
        self.assertEqual(s.requests("", "verify"), 1 + len(SCHEDULES))
        self.assertLess(s.requests("", "bench"), 1 + len(SCHEDULES) // 2)
        alone = self.serve("library=1.1")   # another one, which sees one at a time
        for one, r in zip(SCHEDULES, got, strict=True):
            self.assertAlmostEqual(alone.post("evaluate", {"problem": PROBLEM, "schedule": one})[1]["us"] / r["us"], 1, places=2)

    def test_devices_leave_each_other_what_they_have_timed(self):
        s = self.serve("library=1.1;delay=300", options=["--prepare", "2", "--devices", "emu:h200,emu:h200"], device=None)
        first = [submit(s, i, "fake: prepare=2000") for i in range(2)]
        until(lambda: stage(s, "stage_working", "prepare") == 2)
        got = s.post("evaluate/batch", {"requests": [{"problem": PROBLEM, "schedule": one} for one in SCHEDULES]})[1]["results"]
        self.assertEqual([r["verdict"] for r in got], ["pass"] * len(SCHEDULES), got)
        self.assertEqual([s.result(identity)[1]["verdict"] for identity in first], ["pass"] * 2)
        with open(s.log, encoding="utf-8") as file:
            timed = [json.loads(line)["contenders"] for line in file if '"op":"bench"' in line]
        counts = [sum(one in names for names in timed) for one in SCHEDULES]
        self.assertLessEqual(sum(counts), len(SCHEDULES) + 2, timed)   # a device that has nothing else to do takes one of the other's


class Groups(Case):
    def lines(self, s, body, seconds=60):
        """Each line of an answer with the time at which it came."""
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=seconds)
        self.addCleanup(c.close)
        c.request("POST", "/v1/evaluate/batch", json.dumps(body), {"Content-Type": "application/json"})
        reply = c.getresponse()
        self.assertEqual((reply.status, reply.headers["Content-Type"]), (200, "application/x-ndjson"))
        return [(json.loads(line), time.monotonic()) for line in reply]

    def test_answered_as_they_are_ready(self):
        s = self.serve(options=["--prepare", "2"])
        group = [{"source": user_kernel(i, "fake: prepare=3000" if i == 0 else "fake: us=12.5")["source"], "manifest": MANIFEST} for i in range(4)] + [{"schedule": "nonsense/1"}]
        got = self.lines(s, {"problem": PROBLEM, "reward": "milestones", "as_ready": True, "requests": group})
        self.assertEqual(sorted(r["index"] for r, _ in got), list(range(5)))
        self.assertEqual((got[0][0]["index"], got[0][0]["verdict"], got[-1][0]["index"]), (4, "launch", 0))
        self.assertGreater(got[-1][1] - got[-2][1], 1)
        self.assertEqual({r["reward_kind"] for r, _ in got}, {"milestones"})
        # together, they are the same
        whole = s.post("evaluate/batch", {"problem": PROBLEM, "reward": "milestones", "requests": group})[1]["results"]
        for result, _ in got:
            self.assertEqual({k: v for k, v in result.items() if k != "index"}, whole[result["index"]])

    def test_what_is_not_ready_in_time(self):
        s = self.serve("library=1.1;delay=60000")
        got = self.lines(s, {"as_ready": True, "deadline_s": 1, "requests": [user_kernel(1), user_kernel(2)]})
        self.assertEqual([r["verdict"] for r, _ in got], ["deadline"] * 2)
        for body, field in (({"as_ready": 1, "requests": [user_kernel(1)]}, "as_ready"), ({"problem": "x", "requests": [{"schedule": "simple"}]}, "requests[0].problem"),
                            ({"problem": PROBLEM, "requests": [1]}, "requests[0]")):
            code, answer = s.post("evaluate/batch", body)
            self.assertEqual((code, answer["error"]["field"]), (400, field))

    def test_whoever_listens_goes_or_is_told_of_a_stop(self):
        s = self.serve("library=1.1;delay=60000")
        before = len(os.listdir(f"/proc/{s.process.pid}/task"))
        body = json.dumps({"as_ready": True, "requests": [user_kernel(1)]})
        for _ in range(4):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", s.port, timeout=10)) as c:
                c.request("POST", "/v1/evaluate/batch", body, {"Content-Type": "application/json"})
                time.sleep(0.2)
        until(lambda: len(os.listdir(f"/proc/{s.process.pid}/task")) == before)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            listening = pool.submit(self.lines, s, {"as_ready": True, "requests": [user_kernel(1), user_kernel(2)]})
            until(lambda: s.metric("requests_active") == 2)
            self.assertEqual(s.end(), 143)
            self.assertEqual([r["verdict"] for r, _ in listening.result()], ["stopping"] * 2)


class Races(Case):
    def test_a_race(self):
        s = self.serve(options=["--prepare", "2"])
        asked = [*SCHEDULES, "nonsense/1", SCHEDULES[1]]
        code, got = s.post("races", {"problem": PROBLEM, "schedules": asked, "reward": "milestones"})
        self.assertEqual((code, got["state"], got["problem"], len(got["race"])), (200, "done", PROBLEM, len(asked)), got)
        timed = got["race"][:6]
        self.assertEqual([e["candidate"] for e in timed], SCHEDULES)
        self.assertEqual((got["race"][6]["verdict"], got["race"][6]["reward"], got["race"][7]), ("launch", -1, timed[1]))
        for entry in timed:
            self.assertTrue(0 < entry["relative"] <= 1 and entry["us"] > 0 and entry["reward"] == entry["rewards"]["milestones"], entry)
        self.assertEqual(min(e["rank"] for e in timed), 1)
        self.assertEqual([e["rank"] for e in sorted(timed, key=lambda e: -e["relative"])], sorted(e["rank"] for e in timed))
        # each was compiled once, by whoever was free, and all were timed together
        self.assertEqual(s.requests("", "precompile"), 6)
        self.assertEqual((s.requests("", "verify"), s.metric("schedules_raced_total"), s.metric("jobs_accepted_total")), (0, 6, 1))
        # the same again is the same, and so is its result
        self.assertEqual(s.post("races", {"problem": PROBLEM, "schedules": asked, "reward": "milestones"})[1], got)
        self.assertEqual(s.result(got["id"])[1]["race"][0]["us"], got["race"][0]["us"])
        self.assertEqual(s.requests("", "precompile"), 6)

    def test_bad_races(self):
        s = self.serve()
        good = {"problem": PROBLEM, "schedules": SCHEDULES}
        for body, field in [({"problem": PROBLEM}, "schedules"), ({**good, "schedules": []}, "schedules"), ({**good, "schedules": "simple"}, "schedules"), ({**good, "schedules": [1]}, "schedules"),
                            ({**good, "schedules": ["simple"] * 257}, "schedules"), ({**good, "schedules": ["x" * 600]}, "schedules"), ({**good, "schedules": [""]}, "schedules"),
                            ({**good, "problem": "x"}, "problem"), ({**good, "reward": "applause"}, "reward"), ({**good, "alone": 1}, "alone"), ({**good, "source": "x"}, "source"), ({**good, "deadline_s": -1}, "deadline_s")]:
            code, got = s.post("races", body)
            self.assertEqual((code, got["error"]["field"]), (400, field), (body, got))
        code, got = s.post("races", {"problem": PROBLEM, "schedules": ["nonsense/1", "nonsense/2"]})
        self.assertEqual((code, got["id"], [e["verdict"] for e in got["race"]]), (200, None, ["launch"] * 2))
        self.assertEqual(s.metric("jobs_accepted_total"), 0)

    def test_without_cublaslt(self):
        s = self.serve("library=1.1", options=["--prepare", "2"])
        schedules = SCHEDULES[::-1]   # the fastest is the first
        beside = s.post("races", {"problem": PROBLEM, "schedules": schedules, "alone": False})[1]
        alone = s.post("races", {"problem": PROBLEM, "schedules": schedules, "alone": True})[1]
        self.assertNotEqual(alone["id"], beside["id"])
        for one, other in zip(alone["race"], beside["race"], strict=True):
            self.assertTrue("cublaslt_us" in other and "cublaslt_us" not in one, (one, other))
            self.assertAlmostEqual(one["ratio"], alone["floor_us"] / one["us"])
            self.assertAlmostEqual(one["relative"], one["ratio"] / alone["race"][0]["ratio"])
            self.assertAlmostEqual(one["reward"], max(-1, min(1, 1 - math.log10(one["us"] / alone["floor_us"]))))
        with contextlib.closing(base.sqlite3.connect(os.path.join(s.folder, "store.db"))) as store:   # of the first alone
            self.assertEqual(store.execute("select count(*) from trials where stage = 'race'").fetchone()[0], len(SCHEDULES))

    def test_one_that_takes_its_worker_down(self):
        s = self.serve(f"library=1.1;crash={SCHEDULES[1]};wrong={SCHEDULES[2]};timed={SCHEDULES[3]};choke={SCHEDULES[4]}", options=["--prepare", "2"])
        got = s.post("races", {"problem": PROBLEM, "schedules": SCHEDULES})[1]
        self.assertEqual([e.get("verdict") for e in got["race"]], [None, "fault", None, "timed", None, None], got)
        self.assertEqual((got["race"][1]["reward"], s.get("health")[0]), (-1, 200))

    def test_cancelled_while_it_is_compiled_and_while_it_is_timed(self):
        s = self.serve("library=1.1;prepare=1500", options=["--prepare", "2"])
        for running in (False, True):
            if running:
                s.end()
                s.rules = "library=1.1;delay=60000"
                s.start()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(s.post, "races", {"problem": PROBLEM, "schedules": SCHEDULES})
                until(lambda: s.requests("", "bench" if running else "precompile") > 0)
                with contextlib.closing(base.sqlite3.connect(os.path.join(s.folder, "store.db"))) as store:
                    identity = store.execute("SELECT id FROM job").fetchone()[0]
                self.assertIn(s.call("DELETE", "/v1/result/" + identity)[0], (200, 202))
                self.assertEqual(waiting.result()[1]["verdict"], "cancelled")
            self.assertEqual((s.metric("jobs_running"), s.metric("jobs_queued")), (0, 0))
        self.assertLess(s.requests("", "precompile"), 2 * len(SCHEDULES))


class Kills(Case):
    def test_workers_killed_at_random_moments(self):
        """GS_KILLS of them, of both stages. Each candidate has the verdict that it would have had, and none is evaluated for ever."""
        kills = int(os.environ.get("GS_KILLS") or 30)
        s = self.serve("library=1.1;delay=60;prepare=60", options=["--prepare", "2"])
        draw = random.Random(45)
        rules = {"pass": "fake: us=12.5", "compile": "fake: compile", "exact": "fake: wrong"}
        names = sorted(rules)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers, killed, number = [], 0, 0
            while killed < kills or number < 60:
                while len([a for _, a in answers if not a.done()]) < 8:
                    verdict = names[number % 3]
                    answers.append((verdict, pool.submit(s.post, "evaluate", user_kernel(number, rules[verdict]))))
                    number += 1
                time.sleep(0.15 * draw.random())
                targets = workers(s)
                if targets and killed < kills:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(draw.choice(targets)[1], draw.choice([signal.SIGKILL, signal.SIGTERM]))
                        killed += 1
            got = [(verdict, a.result()) for verdict, a in answers]
        # a job whose worker was killed twice may be judged for it; it is asked again under another number and never left open
        wrong = [(v, g) for v, (_, g) in got if g["verdict"] != v]
        self.assertLess(len(wrong), kills // 5 + 1, wrong[:3])
        for _, g in wrong:
            self.assertIn(g["verdict"], ("fault", "compile", "hang", "machine"))
        self.assertEqual((s.metric("jobs_queued"), s.metric("jobs_running"), s.get("health")[0]), (0, 0, 200))
        self.assertEqual(len({g["id"] for _, (_, g) in got}), len(got))
        self.assertEqual({stage for stage, _ in workers(s)} - {"cuda:0"}, {name for name, _ in workers(s) if name.startswith("emu:")})

    def test_one_that_prepares_is_killed(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(number):
                s = self.serve(options=["--prepare", "1"])
                identity = submit(s, 1, "fake: prepare=1000")
                until(lambda: s.requests("", "precompile") == 1)
                os.kill(next(pid for name, pid in workers(s) if name.startswith("emu:")), number)
                self.assertEqual(s.result(identity)[1]["verdict"], "pass")
                self.assertEqual((s.metric("evaluations_repeated_total"), s.requests("", "precompile")), (1, 2))


class Rates(unittest.TestCase):
    """tests/service/rate.py, which measures on a GPU, always ends, and says what was done and what was under way."""

    def rates(self, rules, *options):
        environment = {**os.environ, "GEMMSMITH_WORKER": WORKER, "FAKE_WORKER": rules}
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rate.py")
        got = subprocess.run([sys.executable, script, PROGRAM, "--device", "cuda:0", "--prepare", "2", "--schedules", "8", "--kernels", "2", "--raced", "4", "--group", "4",
                              "--problems", PROBLEM, "--json", *options], env=environment, capture_output=True, text=True, check=False, timeout=400)
        if got.returncode == 77:
            self.skipTest("no NVRTC")
        self.assertEqual(got.returncode, 0, got.stderr)
        self.repeats = json.loads(got.stdout).get("repeats")
        return json.loads(got.stdout)["rates"], got.stderr

    def test_all_is_done(self):
        rates, said = self.rates("library=1.1")
        self.assertEqual([(name, row["count"], row["stopped"]) for name, row in rates.items()], [("first", 1, False), ("schedules", 8, False), ("kernels", 2, False), ("wmma", 2, False), ("raced, new", 4, False), ("raced", 4, False)], said)
        self.assertEqual((rates["schedules"]["verdicts"], sorted(rates["schedules"]["spent"])), ({"pass": 8}, ["again", "all", "compile", "emulator", "time", "verify"]))

    def test_how_far_rewards_lie_apart(self):
        """Each is evaluated again, though the service has had an answer, and its times are others."""
        _, said = self.rates("library=1.1", "--repeats", "3")
        rows = self.repeats["rows"]
        self.assertEqual((len(rows), self.repeats["verdicts"], self.repeats["stopped"]), (24, {"pass": 72}, False), said)
        self.assertEqual({(len(row["rewards"]), len(row["rounds"])) for row in rows}, {(3, 3)})
        self.assertEqual({row["spread"] == max(row["rewards"]) - min(row["rewards"]) for row in rows}, {True})
        self.assertGreater(self.repeats["worst"], 0)
        self.assertEqual((self.repeats["worst"], self.repeats["median"]), (max(row["spread"] for row in rows), statistics.median(row["spread"] for row in rows)))

    def test_a_device_that_does_not_answer(self):
        rates, said = self.rates("library=1.1;delay=600000", "--seconds", "1.5", "--look", "0.5")
        self.assertEqual([(row["count"], row["stopped"]) for row in rates.values()], [(0, True)] * 6)
        self.assertIn("none since the last look", said)
        self.assertIn("worker --device cuda:0", said)


class Emulated(Case):
    """With a real worker where candidates are prepared, where there is NVRTC."""

    HEAD = '#include "common/args.h"\nextern "C" __global__ void gs_kernel(gs_kernel_args p)\n'
    BODIES = {"fault": "{ *(volatile int *)0 = p.m; }\n", "compile": "{ nobody_knows(p); }\n", "unwritten": "{ }\n", "forbidden": '{ asm volatile("trap;"); }\n'}

    def setUp(self):
        told = subprocess.run([PROGRAM, "info"], capture_output=True, text=True, check=False).stdout
        if any(line.split()[:2] == ["NVRTC", "none"] for line in told.splitlines()):
            self.skipTest("no NVRTC")

    def candidates(self):
        return [{"problem": "f16:48x32x32:tn", "source": self.HEAD + body, "manifest": MANIFEST} for body in self.BODIES.values()] + [{"problem": "f16:32x32x32:tn", "schedule": "simple"}]

    def test_the_same_verdicts_as_without_a_pipeline(self):
        told = []
        for prepare in ("0", "2"):
            s = self.serve(device="emu:h200", options=["--prepare", prepare])
            got = s.post("evaluate/batch", {"requests": self.candidates()})[1]["results"]
            told.append([{k: v for k, v in r.items() if k not in ("spent", "reason")} for r in got])   # a reason may quote random data
        self.assertEqual(told[0], told[1])
        self.assertEqual([r["verdict"] for r in told[0]][:3] + [told[0][4]["verdict"]], ["fault", "compile", "unwritten", "pass"])

    def test_the_device_finds_what_was_compiled(self):
        """The worker's own lines: after precompile, compile and verify add nothing to the cache; for a GPU the code is another."""
        cache = tempfile.mkdtemp(prefix="gs-cache-")
        self.addCleanup(shutil.rmtree, cache, True)
        worker = subprocess.Popen([PROGRAM, "worker", "--device", "emu:h200"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(worker.stdout.close)
        self.addCleanup(worker.wait, 30)
        self.addCleanup(worker.stdin.close)

        def ask(op, **fields):
            worker.stdin.write(json.dumps({"op": op, "cache": cache, **fields}) + "\n")
            worker.stdin.flush()
            reply = json.loads(worker.stdout.readline())
            self.assertTrue(reply["ok"], reply)
            return reply

        caps = ask("hello")["caps"]
        about = {"problem": "f16:32x32x32:tn", "candidate": "simple"}
        ask("precompile", caps=caps, **about)
        ask("precompile", caps=caps, edges=True, **about)
        self.assertEqual(ask("verify", **about)["verdict"], "pass")   # with the kernels of verification itself
        before = set(os.listdir(cache))
        ask("precompile", caps=caps, edges=True, **about)
        ask("compile", **about)
        self.assertEqual(set(os.listdir(cache)), before)
        ask("precompile", caps={**caps, "emulated": False}, **about)
        self.assertEqual(len(set(os.listdir(cache)) - before), 1)
        kernel = {"name": "source:x", "source": self.HEAD + self.BODIES["unwritten"], "manifest": MANIFEST}
        ask("precompile", caps={**caps, "emulated": False}, kernel=kernel, **{**about, "candidate": "source:x"})
        self.assertEqual(len(set(os.listdir(cache)) - before), 2)
        ask("compile", kernel=kernel, **{**about, "candidate": "source:x"})   # a user kernel's code has its PTX for either
        self.assertEqual(len(set(os.listdir(cache)) - before), 2)

    def test_emulated_before_it_comes_to_the_gpu(self):
        """The GPU is the scripted worker; whoever prepares is the program's own worker."""
        folder = tempfile.mkdtemp(prefix="gs-both-")
        self.addCleanup(shutil.rmtree, folder, True)
        both = os.path.join(folder, "worker")
        with open(both, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\ncase "$3" in emu:*) exec {PROGRAM} "$@";; *) exec {WORKER} "$@";; esac\n')
        os.chmod(both, 0o755)
        before, base.WORKER = base.WORKER, both
        self.addCleanup(setattr, base, "WORKER", before)
        s = self.serve(options=["--prepare", "2"])
        got = s.post("evaluate/batch", {"requests": self.candidates()})[1]["results"]
        self.assertEqual([(r["verdict"], r["stage"]) for r in got[:2]], [("fault", "emulator"), ("compile", "compile")])
        self.assertEqual([r["verdict"] for r in (got[2], got[4])], ["pass", "pass"])   # the scripted GPU says so; numbers are none of the emulated device's business
        self.assertEqual((s.requests("", "verify"), s.requests("0 = p.m", "verify")), (2 + (got[3]["verdict"] == "pass"), 0))


if __name__ == "__main__":
    unittest.main()
