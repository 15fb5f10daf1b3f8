# SPDX-License-Identifier: MIT
"""Rewards of gemmsmith serve for programs that train models; the Python standard library alone.

verl: reward.custom_reward_function.path=.../gemmsmith/reward.py reward.custom_reward_function.name=compute_score_async
      with the problem ("f16:4096x4096x4096:tn") as ground_truth, or as "problem" in it or in extra_info; compute_score for reward managers that take no
      coroutine, compute_score_batch for the one of older releases that is given a batch
TRL:  GRPOTrainer(reward_funcs=gemmsmith.reward.trl_reward_async, ...), or trl_reward, with the problem in a column "problem"
A model that answers with edits: the kernel that it was shown ("source:HASH", or {"source", "manifest"}; `parent` of prompt() below) as "parent" beside the problem, for TRL in a
column "parent".

The service is $GEMMSMITH_SERVE (http://127.0.0.1:7811), its token $GEMMSMITH_TOKEN; several, whose devices are of one model, with commas between: candidates
are shared out among those that answer, and one that does not is asked for its health before it gets any again. The kind of reward is $GEMMSMITH_REWARD, where no
argument names it (milestones). The service finds the candidate in a completion; without one the reward is -1.
"""
import asyncio
import concurrent.futures
import functools
import json
import os
import re
import threading
import time
import urllib.error
import urllib.request

__all__ = ["ServiceError", "compute_score", "compute_score_async", "compute_score_batch", "evaluate", "get", "kind_of", "prompt", "score", "trl_reward", "trl_reward_async"]

_BATCH, _BODY = 256, 2 << 20                                # candidates and bytes of a request
_TEXT = 1 << 20                                             # bytes of a completion that are sent: its end, where the answer is
_THREADS = 64                                               # requests that wait at once, where a trainer asks for each completion
_AWAY = 10.0                                                # seconds for which a service that did not answer gets nothing


class ServiceError(Exception):
    """The service refused a request, or could not be reached in time. `status`: of HTTP, 0: none."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


# ---- the services ----

_lock, _away, _turn = threading.Lock(), {}, [0]             # _away: URL -> when it may be asked again


def _urls(url):
    urls = [one.rstrip("/") for one in re.split(r"[,\s]+", url or os.environ.get("GEMMSMITH_SERVE") or "http://127.0.0.1:7811") if one]
    return urls or ["http://127.0.0.1:7811"]


def _well(url):
    """Whether a service may be asked: it has not failed, or says that it is well again."""
    with _lock:
        again = _away.get(url)
        if again is None:
            return True
        if time.monotonic() < again:
            return False
        _away[url] = time.monotonic() + _AWAY               # nobody else asks it meanwhile
    try:
        well = _call("health", None, 5.0, url).get("ok", False)
    except (OSError, ValueError):
        return False
    if well:
        with _lock:
            _away.pop(url, None)
    return well


def _choose(urls, tried):
    """The next in turn that is well and was not tried; else any that was not tried, else any."""
    with _lock:
        _turn[0] += 1
        first = _turn[0] % len(urls)
    order = [url for url in urls[first:] + urls[:first] if url not in tried] or urls
    return next((url for url in order if len(urls) == 1 or _well(url)), order[0])


def _call(path, body, seconds, url):
    headers = {"Authorization": "Bearer " + os.environ["GEMMSMITH_TOKEN"]} if os.environ.get("GEMMSMITH_TOKEN") else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    with urllib.request.urlopen(urllib.request.Request(url + "/v1/" + path, body, headers), timeout=seconds) as reply:
        return json.load(reply)


def _until(end, urls, call):
    """call(seconds left, URL), again and again where a service says later or is not there, of another one first, until the time is up."""
    tried = set()
    while True:
        left, url = max(end - time.monotonic(), 0.0), _choose(urls, tried)
        try:
            return call(left, url)
        except urllib.error.HTTPError as error:
            with error:
                text, status, pause = error.read().decode(errors="replace"), error.code, error.headers.get("Retry-After")
            if pause is None:
                raise ServiceError(status, text) from None
        except OSError as error:
            text, status, pause = f"{url} does not answer ({error}): is gemmsmith serve running there? GEMMSMITH_SERVE names another address", 0, "1"
            with _lock:
                _away[url] = time.monotonic() + _AWAY
        tried.add(url)
        if tried < set(urls):
            continue
        tried = set()
        if time.monotonic() + float(pause) > end:
            raise ServiceError(status, text)
        time.sleep(float(pause))


def get(path, url=None, deadline_s=30.0):
    """What GET /v1/<path> answers: get("tasks"), get("baselines?problem=...")."""
    return _until(time.monotonic() + deadline_s, _urls(url), lambda left, one: _call(path, None, left + 30, one))


def prompt(problem, mode="schedules", examples=True, previous=None, device=None, deadline_s=60.0, url=None):
    """What POST /v1/prompt answers: {"messages", "system", "ask", "parent", ...}, with what the service's store knows at this moment. mode: "schedules", "source", "edits"; previous:
    a result, or its id, whose verdict and metrics are shown."""
    asked = {"problem": problem, "mode": mode, "examples": bool(examples)}
    asked.update({name: value for name, value in (("previous", previous), ("device", device)) if value is not None})
    body = json.dumps(asked).encode()
    return _until(time.monotonic() + deadline_s, _urls(url), lambda left, one: _call("prompt", body, left + 30, one))


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
    """The results of candidates, each {"problem", "schedule", or "source" and "manifest", or "completion" and perhaps "parent", "reward"}, in their order. Where the queue is full or the service
    is not there, it is asked again until the time is up; what has no result by then has the verdict "deadline". ServiceError where it refuses."""
    end, urls = time.monotonic() + deadline_s, _urls(url)

    def ask(part):
        body = b'{"requests":[' + b",".join(part) + b']'
        return _until(end, urls, lambda left, one: _call("evaluate/batch", body + b',"deadline_s":%.3f}' % min(left, 86400), left + 30, one))["results"]

    each = -(-len(candidates) // len(urls)) or 1            # a share for each service; all at once
    parts = [part for first in range(0, len(candidates), each) for part in _parts(candidates[first:first + each])]
    if len(urls) == 1 or len(parts) < 2:
        return [result for part in parts for result in ask(part)]
    with concurrent.futures.ThreadPoolExecutor(len(urls)) as threads:
        return [result for results in threads.map(ask, parts) for result in results]


def _end_of(text):
    """What of a completion is sent. A long one begins with thoughts, which the service would not look at."""
    data = text.encode("utf-8", "replace")
    return data[-_TEXT:].decode("utf-8", "replace") if len(data) > _TEXT else text


def kind_of(reward):
    """The kind of reward that is asked for: that argument, or $GEMMSMITH_REWARD, or milestones."""
    return reward or os.environ.get("GEMMSMITH_REWARD") or "milestones"


def score(problems, texts, reward=None, deadline_s=600.0, url=None, parents=None):
    """The results of completions, in their order; of one that has no candidate the verdict is "text" and the reward -1. reward: None: $GEMMSMITH_REWARD. parents: of each the kernel that it
    may be edits of, or None."""
    asked = [{"problem": problem, "reward": kind_of(reward), "completion": _end_of(text), **({"parent": parent} if parent else {})}
             for problem, text, parent in zip(problems, texts, parents or [None] * len(texts), strict=True)]
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


def _parent_of(ground_truth, extra_info):
    return next((holder["parent"] for holder in (ground_truth, extra_info) if isinstance(holder, dict) and holder.get("parent")), None)


def _verl(result, unknown):
    reward = result["reward"]
    return {"score": float(unknown if reward is None else reward), "verdict": result["verdict"], "passed": float(result["verdict"] == "pass"),
            "us": float(result.get("us") or 0.0), "ratio": float(result.get("ratio") or 0.0)}


def compute_score(data_source, solution_str, ground_truth, extra_info=None, reward=None, deadline_s=600.0, unknown=0.0, url=None, **_):
    """verl. `unknown`: the score where the machine, and not the candidate, is the reason that there is no reward."""
    return _verl(score([_problem_of(ground_truth, extra_info)], [solution_str], reward, deadline_s, url, [_parent_of(ground_truth, extra_info)])[0], unknown)


async def compute_score_async(data_source, solution_str, ground_truth, extra_info=None, **named):
    """verl: as compute_score, for many completions at once; a reward manager's own threads are as few as the machine's cores."""
    return await _in_thread(compute_score, data_source, solution_str, ground_truth, extra_info, **named)


def compute_score_batch(data_sources, solution_strs, ground_truths, extra_infos=None, reward=None, deadline_s=600.0, unknown=0.0, url=None, **_):
    """verl's batch reward manager: all completions in one call."""
    extra_infos = [None] * len(solution_strs) if extra_infos is None else extra_infos
    problems = [_problem_of(truth, extra) for truth, extra in zip(ground_truths, extra_infos, strict=True)]
    parents = [_parent_of(truth, extra) for truth, extra in zip(ground_truths, extra_infos, strict=True)]
    return [_verl(result, unknown) for result in score(problems, solution_strs, reward, deadline_s, url, parents)]


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


def trl_reward(prompts, completions, problem, parent=None, reward=None, deadline_s=600.0, url=None, log_extra=None, log_metric=None, **_):
    """TRL: a number per completion; None, which TRL leaves out, where the machine is the reason that there is no reward."""
    results = score(problem, [_text_of(completion) for completion in completions], reward, deadline_s, url, parent)
    if log_extra:
        log_extra("verdict", [result["verdict"] for result in results])
    if log_metric and results:
        log_metric("gemmsmith/passed", sum(result["verdict"] == "pass" for result in results) / len(results))
    return [result["reward"] for result in results]


async def trl_reward_async(prompts, completions, problem, **named):
    """TRL: as trl_reward, beside other asynchronous reward functions."""
    return await _in_thread(trl_reward, prompts, completions, problem, **named)
