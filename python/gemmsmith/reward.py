# SPDX-License-Identifier: MIT
"""Rewards of gemmsmith serve for programs that train models; the Python standard library alone.

verl: reward.custom_reward_function.path=.../gemmsmith/reward.py reward.custom_reward_function.name=compute_score_async
      with the problem ("f16:4096x4096x4096:tn") as ground_truth, or as "problem" in it or in extra_info; compute_score for reward managers that take no
      coroutine, compute_score_batch for the one of older releases that is given a batch
TRL:  GRPOTrainer(reward_funcs=gemmsmith.reward.trl_reward_async, ...), or trl_reward, with the problem in a column "problem"

The service is $GEMMSMITH_SERVE (http://127.0.0.1:7811), its token $GEMMSMITH_TOKEN. The service finds the candidate in a completion; without one
the reward is -1.
"""
import asyncio
import concurrent.futures
import functools
import json
import os
import time
import urllib.error
import urllib.request

__all__ = ["ServiceError", "compute_score", "compute_score_async", "compute_score_batch", "evaluate", "get", "score", "trl_reward", "trl_reward_async"]

_BATCH, _BODY = 256, 2 << 20                                # candidates and bytes of a request
_TEXT = 1 << 20                                             # bytes of a completion that are sent: its end, where the answer is
_THREADS = 64                                               # requests that wait at once, where a trainer asks for each completion


class ServiceError(Exception):
    """The service refused a request, or could not be reached in time. `status`: of HTTP, 0: none."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


# ---- the service ----

def _call(path, body, seconds, url):
    headers = {"Authorization": "Bearer " + os.environ["GEMMSMITH_TOKEN"]} if os.environ.get("GEMMSMITH_TOKEN") else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    url = (url or os.environ.get("GEMMSMITH_SERVE") or "http://127.0.0.1:7811").rstrip("/") + "/v1/" + path
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=seconds) as reply:
        return json.load(reply)


def _until(end, call):
    """call(seconds left), again and again where the service says later or is not there, until the time is up."""
    while True:
        left = max(end - time.monotonic(), 0.0)
        try:
            return call(left)
        except urllib.error.HTTPError as error:
            with error:
                text, status, pause = error.read().decode(errors="replace"), error.code, error.headers.get("Retry-After")
            if pause is None:
                raise ServiceError(status, text) from None
        except OSError as error:
            text, status, pause = str(error), 0, "1"
        if time.monotonic() + float(pause) > end:
            raise ServiceError(status, text)
        time.sleep(float(pause))


def get(path, url=None, deadline_s=30.0):
    """What GET /v1/<path> answers: get("tasks"), get("baselines?problem=...")."""
    return _until(time.monotonic() + deadline_s, lambda left: _call(path, None, left + 30, url))


def _parts(candidates):
    """Consecutive ones, as JSON texts, so many as a request may have."""
    part, size = [], 0
    for candidate in candidates:
        text = json.dumps(candidate, ensure_ascii=False).encode("utf-8", "replace")
        if part and (len(part) == _BATCH or size + len(text) > _BODY):
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text) + 1
    if part:
        yield part


def evaluate(candidates, deadline_s=600.0, url=None):
    """The results of candidates, each {"problem", "schedule", or "source" and "manifest", or "completion", "reward"}, in their order. Where the queue is full or the service
    is not there, it is asked again until the time is up; what has no result by then has the verdict "deadline". ServiceError where it refuses."""
    end = time.monotonic() + deadline_s
    results = []
    for part in _parts(candidates):
        body = b'{"requests":[' + b",".join(part) + b']'
        results += _until(end, lambda left, body=body: _call("evaluate/batch", body + b',"deadline_s":%.3f}' % min(left, 86400), left + 30, url))["results"]
    return results


def _end_of(text):
    """What of a completion is sent. A long one begins with thoughts, which the service would not look at."""
    data = text.encode("utf-8", "replace")
    return data[-_TEXT:].decode("utf-8", "replace") if len(data) > _TEXT else text


def score(problems, texts, reward="milestones", deadline_s=600.0, url=None):
    """The results of completions, in their order; of one that has no candidate the verdict is "text" and the reward -1."""
    asked = [{"problem": problem, "reward": reward, "completion": _end_of(text)} for problem, text in zip(problems, texts, strict=True)]
    return evaluate(asked, deadline_s, url) if asked else []


@functools.cache
def _threads():
    return concurrent.futures.ThreadPoolExecutor(_THREADS, "gemmsmith-reward")


async def _in_thread(call, *arguments, **named):
    return await asyncio.get_running_loop().run_in_executor(_threads(), functools.partial(call, *arguments, **named))


# ---- verl ----

def _problem_of(ground_truth, extra_info):
    for holder in (ground_truth, extra_info):
        if isinstance(holder, dict) and "problem" in holder:
            return holder["problem"]
    return ground_truth


def _verl(result, unknown):
    reward = result["reward"]
    return {"score": float(unknown if reward is None else reward), "verdict": result["verdict"], "passed": float(result["verdict"] == "pass"),
            "us": float(result.get("us") or 0.0), "ratio": float(result.get("ratio") or 0.0)}


def compute_score(data_source, solution_str, ground_truth, extra_info=None, reward="milestones", deadline_s=600.0, unknown=0.0, url=None, **_):
    """verl. `unknown`: the score where the machine, and not the candidate, is the reason that there is no reward."""
    return _verl(score([_problem_of(ground_truth, extra_info)], [solution_str], reward, deadline_s, url)[0], unknown)


async def compute_score_async(data_source, solution_str, ground_truth, extra_info=None, **named):
    """verl: as compute_score, for many completions at once; a reward manager's own threads are as few as the machine's cores."""
    return await _in_thread(compute_score, data_source, solution_str, ground_truth, extra_info, **named)


def compute_score_batch(data_sources, solution_strs, ground_truths, extra_infos=None, reward="milestones", deadline_s=600.0, unknown=0.0, url=None, **_):
    """verl's batch reward manager: all completions in one call."""
    extra_infos = [None] * len(solution_strs) if extra_infos is None else extra_infos
    problems = [_problem_of(truth, extra) for truth, extra in zip(ground_truths, extra_infos, strict=True)]
    return [_verl(result, unknown) for result in score(problems, solution_strs, reward, deadline_s, url)]


# ---- TRL ----

def _text_of(completion):
    """A completion's text: as it is, or of the last message that the model wrote."""
    if isinstance(completion, str):
        return completion
    for message in reversed(completion):
        if message.get("role", "assistant") == "assistant":
            content = message.get("content") or ""
            return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)
    return ""


def trl_reward(prompts, completions, problem, reward="milestones", deadline_s=600.0, url=None, log_extra=None, log_metric=None, **_):
    """TRL: a number per completion; None, which TRL leaves out, where the machine is the reason that there is no reward."""
    results = score(problem, [_text_of(completion) for completion in completions], reward, deadline_s, url)
    if log_extra:
        log_extra("verdict", [result["verdict"] for result in results])
    if log_metric and results:
        log_metric("gemmsmith/passed", sum(result["verdict"] == "pass" for result in results) / len(results))
    return [result["reward"] for result in results]


async def trl_reward_async(prompts, completions, problem, **named):
    """TRL: as trl_reward, beside other asynchronous reward functions."""
    return await _in_thread(trl_reward, prompts, completions, problem, **named)
