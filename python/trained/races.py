# SPDX-License-Identifier: MIT
"""Rewards of races: all answers to a question timed against each other by POST /v1/races of gemmsmith serve, which is faster than an evaluation of each, because nothing is
proved: schedules of the grammar are right, and what is chosen in the end is proved by tune. cuBLASLt is left out: rewards are by the floor, or "share": the binary logarithm of
the time of the fastest answer to the question over an answer's own, and -1 for half as fast and what is no schedule. The Python standard library alone."""
import concurrent.futures
import json
import math
import os
import time
import urllib.error
import urllib.request

from common import schedules

LONGEST = 200   # bytes of a schedule string


def post(url, body, deadline_s):
    """The answer; asked again where the service says later or is not there, until the time is up."""
    headers = {"Content-Type": "application/json"}
    if os.environ.get("GEMMSMITH_TOKEN"):
        headers["Authorization"] = "Bearer " + os.environ["GEMMSMITH_TOKEN"]
    end = time.monotonic() + deadline_s
    while True:
        left = max(end - time.monotonic(), 0.0)
        try:
            data = json.dumps({**body, "deadline_s": round(left, 3)}).encode()
            with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=left + 30) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                pause, why = error.headers.get("Retry-After"), f"{error.code}: {error.read().decode(errors='replace')}"
            if pause is None:
                raise RuntimeError(why) from None
        except OSError as error:
            pause, why = "1", str(error)
        if time.monotonic() + float(pause) > end:
            raise RuntimeError(why)
        time.sleep(float(pause))


def relative(entries):
    """Rewards "share" in place of those by the floor, which stay as "floor"."""
    best = min((entry["us"] for entry in entries.values() if entry.get("us")), default=0)
    for entry in entries.values():
        entry["floor"] = entry["reward"]
        if entry["reward"] is not None:
            entry["reward"] = max(-1.0, math.log2(best / entry["us"])) if entry.get("us") else -1.0
    return entries


class Races:
    """(problems, answers) -> results in their order, each {"reward", "verdict"}; reward None where the machine is the reason that there is none."""

    def __init__(self, reward="headroom", deadline_s=600.0, url=None, threads=32):
        self.url = (url or os.environ.get("GEMMSMITH_SERVE") or "http://127.0.0.1:7811").rstrip("/") + "/v1/races"
        self.share, self.reward, self.deadline_s = reward == "share", "headroom" if reward == "share" else reward, deadline_s
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)

    def race(self, problem, names):
        """{name: result} of one problem."""
        got = post(self.url, {"problem": problem, "schedules": names, "alone": True, "reward": self.reward}, self.deadline_s)
        entries = got.get("race") or [{"reward": None, "verdict": got.get("verdict") or "deadline"}] * len(names)
        named = {name: {"verdict": "timed", **entry} for name, entry in zip(names, entries, strict=True)}   # one that was timed has no verdict: nothing was proved
        return relative(named) if self.share else named

    def __call__(self, problems, texts):
        names = [(schedules(text) or [""])[0] for text in texts]
        groups = {}
        for problem, name in zip(problems, names, strict=True):
            if 0 < len(name.encode()) <= LONGEST:
                groups.setdefault(problem, {})[name] = None
        found = dict(zip(groups, self.pool.map(lambda item: self.race(item[0], list(item[1])), groups.items()), strict=True))
        none = {"reward": -1.0, "verdict": "text"}
        return [found.get(problem, {}).get(name, none) for problem, name in zip(problems, names, strict=True)]
