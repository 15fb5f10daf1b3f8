# SPDX-License-Identifier: MIT
"""Rewards of gemmsmith serve for programs that train models; the Python standard library alone.

verl: reward.custom_reward_function.path=.../gemmsmith/reward.py reward.custom_reward_function.name=compute_score_async
      with the problem ("f16:4096x4096x4096:tn") as ground_truth, or as "problem" in it or in extra_info; compute_score for reward managers that take no
      coroutine, compute_score_batch for the one of older releases that is given a batch
TRL:  GRPOTrainer(reward_funcs=gemmsmith.reward.trl_reward_async, ...), or trl_reward, with the problem in a column "problem"

The service is $GEMMSMITH_SERVE (http://127.0.0.1:7811), its token $GEMMSMITH_TOKEN. A completion without a candidate has the reward -1 and nobody is asked.
"""
import asyncio
import concurrent.futures
import functools
import json
import os
import re
import time
import urllib.error
import urllib.request

__all__ = ["ServiceError", "candidate_of", "compute_score", "compute_score_async", "compute_score_batch", "evaluate", "get", "score", "trl_reward", "trl_reward_async"]

_BATCH, _BODY = 256, 2 << 20                                # candidates and bytes of a request
_LONGEST = {"schedule": 512, "source": 512 << 10, "manifest": 64 << 10}
_NAMES = {"schedule": "schedule", "cuda": "source", "kernel.cu": "source", "manifest": "manifest", "json": "array"}
_BLANKS = " \t\n\v\f\r"
_MARK = re.compile(r"<[^<>` \t\n\v\f\r]+>")
_WORD = r'"[A-Za-z0-9._/-]+"'
_ARRAY = re.compile(rf"\[[{_BLANKS}]*({_WORD})[{_BLANKS}]*(?:,[{_BLANKS}]*{_WORD}[{_BLANKS}]*)*\]")
_THREADS = 64                                               # requests that wait at once, where a trainer asks for each completion


class ServiceError(Exception):
    """The service refused a request, or could not be reached in time. `status`: of HTTP, 0: none."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


# ---- the candidate of a completion: the rule of src/llm/completion.h ----

def _without_thoughts(text):
    head, close, rest = text.rpartition("</think>")
    return "" if not close and text.lstrip(_BLANKS).startswith("<think>") else rest


def _without_marks(text):
    while True:
        text = text.rstrip(_BLANKS)
        opens = text.rfind("<")
        if opens < 0 or not _MARK.fullmatch(text, opens):
            return text
        text = text[:opens]


def _name_of(info):
    words = re.split("[" + _BLANKS + "]+", info)
    return _NAMES.get(words[-1]) if len(words) in (1, 2) else None


def _blocks(text):
    name, ticks, body, blocks = None, 0, [], {}
    for line in text.split("\n"):
        found = len(line) - len(line.lstrip("`"))
        info = line[found:].strip(_BLANKS)
        if found < 3 or "`" in info:
            body.append(line)
        elif name is None:
            name, ticks, body = _name_of(info), found, []
        elif found >= ticks and not info:
            whole = "".join(part + "\n" for part in body)
            if whole.strip(_BLANKS):
                blocks[name] = whole
            name = None
        else:
            body.append(line)
    return blocks


def candidate_of(text):
    """{"schedule": ...} or {"source": ..., "manifest": ...} of a completion; None: it has none. Its last fenced block named `schedule` counts, or else its last
    ones named `cuda` (or `cuda kernel.cu`) and `manifest` (or `text manifest`), or else the first schedule string of a JSON array of schedule strings, in the last block named `json` or alone."""
    if "\0" in text:
        return None
    answer = _without_marks(_without_thoughts(text))
    blocks = _blocks(answer)
    if "schedule" in blocks:
        found = {"schedule": blocks["schedule"].strip(_BLANKS)}
    elif "source" in blocks and "manifest" in blocks:
        found = {name: blocks[name] for name in ("source", "manifest")}
    else:
        array = _ARRAY.fullmatch(blocks.get("array", answer).strip(_BLANKS))
        if not array:
            return None
        found = {"schedule": array.group(1).strip('"')}
    if any(len(block.encode("utf-8", "replace")) > _LONGEST[name] for name, block in found.items()):
        return None
    return {name: block.replace("\r\n", "\n") for name, block in found.items()}


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
    """The results of candidates, each {"problem", "schedule" or "source" and "manifest", "reward"}, in their order. Where the queue is full or the service
    is not there, it is asked again until the time is up; what has no result by then has the verdict "deadline". ServiceError where it refuses."""
    end = time.monotonic() + deadline_s
    results = []
    for part in _parts(candidates):
        body = b'{"requests":[' + b",".join(part) + b']'
        results += _until(end, lambda left, body=body: _call("evaluate/batch", body + b',"deadline_s":%.3f}' % min(left, 86400), left + 30, url))["results"]
    return results


def score(problems, texts, reward="milestones", deadline_s=600.0, url=None):
    """The results of completions, in their order; of one that has no candidate the verdict is "text" and the reward -1."""
    found = [candidate_of(text) for text in texts]
    asked = [{"problem": problem, "reward": reward, **what} for problem, what in zip(problems, found, strict=True) if what]
    answers = iter(evaluate(asked, deadline_s, url) if asked else [])
    return [next(answers) if what else {"verdict": "text", "reward": -1.0} for what in found]


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
