# SPDX-License-Identifier: MIT
"""Rewards of gemmsmith serve for programs that train models; the Python standard library alone.

verl: reward.custom_reward_function.path=.../gemmsmith/reward.py reward.custom_reward_function.name=compute_score
      with the problem ("f16:4096x4096x4096:tn") as ground_truth, or as "problem" in it or in extra_info
TRL:  GRPOTrainer(reward_funcs=gemmsmith.reward.trl_reward, ...) with the problem in a column "problem"

The service is $GEMMSMITH_SERVE (http://127.0.0.1:7811), its token $GEMMSMITH_TOKEN. A completion's candidate is its last fenced block named `schedule`,
or else its last one named `cuda` with its last one named `manifest`; a completion without one has the reward -1 and nobody is asked.
"""
import json
import os
import re
import time
import urllib.error
import urllib.request

__all__ = ["ServiceError", "candidate_of", "compute_score", "evaluate", "trl_reward"]

BATCH = 256
_FENCE = re.compile(r"^```[ \t]*(schedule|cuda|manifest)[ \t]*\r?\n(.*?)^```[ \t]*\r?$", re.DOTALL | re.MULTILINE)


class ServiceError(Exception):
    """The service refused a request, or could not be reached in time. `status`: of HTTP, 0: none."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def candidate_of(text):
    """{"schedule": ...} or {"source": ..., "manifest": ...} of a completion; None: it has none."""
    blocks = {name: body for name, body in _FENCE.findall(text) if body.strip()}
    if "schedule" in blocks:
        return {"schedule": blocks["schedule"].strip()}
    if "cuda" in blocks and "manifest" in blocks:
        return {"source": blocks["cuda"], "manifest": blocks["manifest"]}
    return None


def _post(url, body, seconds):
    headers = {"Content-Type": "application/json"}
    if os.environ.get("GEMMSMITH_TOKEN"):
        headers["Authorization"] = "Bearer " + os.environ["GEMMSMITH_TOKEN"]
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=seconds) as reply:
        return json.load(reply)


def evaluate(candidates, deadline_s=600.0, url=None):
    """The results of candidates, each {"problem", "schedule" or "source" and "manifest", "reward"}, in their order. Where the queue is full or the service
    is not there, it is asked again until the time is up; what has no result by then has the verdict "deadline". ServiceError where it refuses."""
    url = (url or os.environ.get("GEMMSMITH_SERVE") or "http://127.0.0.1:7811").rstrip("/") + "/v1/evaluate/batch"
    end = time.monotonic() + deadline_s
    results = []
    for first in range(0, len(candidates), BATCH):
        part = candidates[first:first + BATCH]
        while True:
            left = max(end - time.monotonic(), 0.0)
            try:
                results += _post(url, {"requests": part, "deadline_s": left}, left + 30)["results"]
                break
            except urllib.error.HTTPError as error:
                text, status, pause = error.read().decode(errors="replace"), error.code, error.headers.get("Retry-After")
                if pause is None:
                    raise ServiceError(status, text) from None
            except OSError as error:
                text, status, pause = str(error), 0, "1"
            if time.monotonic() + float(pause) > end:
                raise ServiceError(status, text)
            time.sleep(float(pause))
    return results


def _results(problems, texts, reward, deadline_s, url):
    found = [candidate_of(text) for text in texts]
    asked = [{"problem": problem, "reward": reward, **what} for problem, what in zip(problems, found) if what]
    answers = iter(evaluate(asked, deadline_s, url) if asked else [])
    return [next(answers) if what else {"verdict": "text", "reward": -1.0} for what in found]


def compute_score(data_source, solution_str, ground_truth, extra_info=None, reward="milestones", deadline_s=600.0, unknown=0.0, url=None, **_):
    """verl. `unknown`: the score where the machine, and not the candidate, is the reason that there is no reward."""
    problem = ground_truth
    for holder in (ground_truth, extra_info):
        if isinstance(holder, dict) and "problem" in holder:
            problem = holder["problem"]
            break
    got = _results([problem], [solution_str], reward, deadline_s, url)[0]
    score = got["reward"]
    return {"score": float(unknown if score is None else score), "verdict": got["verdict"], "passed": float(got["verdict"] == "pass"),
            "us": float(got.get("us", 0.0)), "ratio": float(got.get("ratio", 0.0))}


def trl_reward(prompts, completions, problem, reward="milestones", deadline_s=600.0, url=None, **_):
    """TRL: a number per completion; None, which TRL leaves out, where the machine is the reason that there is no reward."""
    texts = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
    return [got["reward"] for got in _results(problem, texts, reward, deadline_s, url)]
