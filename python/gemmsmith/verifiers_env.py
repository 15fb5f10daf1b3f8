# SPDX-License-Identifier: MIT
"""verifiers (Prime Intellect): kernels as an environment whose rubric asks gemmsmith serve.

    env = gemmsmith.verifiers_env.load_environment(["f16:4096x4096x4096:tn"], mode="schedules")            # verifiers up to 0.3: vf.MultiTurnEnv with a vf.Rubric
    env = gemmsmith.verifiers_env.load_environment(mode="edits", turns=4)                                 # four attempts, what came of each before the next
    vf-eval gemmsmith-taskset --env.taskset.problems '["f16:4096x4096x4096:tn"]'                          # verifiers 0.4, which has tasksets: python/gemmsmith_taskset.py

The prompt of a problem is the service's (POST /v1/prompt), made anew for every rollout unless fresh=False. $GEMMSMITH_SERVE, $GEMMSMITH_TOKEN and $GEMMSMITH_REWARD as in gemmsmith.reward.
Nothing here needs the package but load_environment, which needs datasets, too.
"""
import json

from gemmsmith import reward as _service

__all__ = ["judge", "load_environment", "rows", "say"]


def rows(problems=None, mode="schedules", examples=True, url=None):
    """A row per problem: its prompt as messages, the problem as answer, and in info what scoring needs. problems: None: those that the service lists."""
    problems = list(problems) if problems else [task["problem"] for task in _service.get("tasks", url)["tasks"]]
    made = []
    for problem in problems:
        got = _service.prompt(problem, mode, examples, url=url)
        made.append({"prompt": got["messages"], "answer": got["problem"], "info": {"problem": got["problem"], "mode": mode, "parent": json.dumps(got["parent"])}})
    return made


def _info(info):
    return json.loads(info) if isinstance(info, str) else dict(info)


def text_of(message):
    """A message's text: of a dict or an object, of parts."""
    if isinstance(message, str):
        return message
    content = message.get("content") if isinstance(message, dict) else getattr(message, "content", None)
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join((part.get("text") if isinstance(part, dict) else getattr(part, "text", None)) or "" for part in content)


def last_of(completion):
    """What the model wrote last."""
    if isinstance(completion, str):
        return completion
    for message in reversed(list(completion)):
        if (message.get("role") if isinstance(message, dict) else getattr(message, "role", None)) == "assistant":
            return text_of(message)
    return ""


async def judge(info, text, reward=None, deadline_s=600.0, url=None):
    """The result of a completion; info: of its row. In the mode "edits" it may be edits of the kernel that the prompt showed."""
    info = _info(info)
    parent = json.loads(info.get("parent") or "null") if info.get("mode") == "edits" else None
    results = await _service._in_thread(_service.score, [info["problem"]], [text], reward, deadline_s, url, [parent])
    return results[0]


def say(result):
    """What came of an attempt, for a model."""
    if result["reward"] is None:
        return "The machine failed; this did not count. Try again."
    reason = result.get("reason") or ""
    text = f"Right. {result['us']:.2f} us." if result["verdict"] == "pass" and result.get("us") else f"Refused: {result['verdict']}" + (f": {reason}" if reason else ".")
    metrics = ", ".join(f"{name} {value:.6g}" for name, value in (result.get("metrics") or {}).items())
    return f"{text}\nReward {result['reward']:.3f}." + (f"\nMetrics: {metrics}." if metrics else "") + "\nAnswer again, with a better one, in the same form."


def load_environment(problems=None, mode="schedules", turns=1, reward=None, examples=True, fresh=True, unknown=0.0, deadline_s=600.0, url=None, eval_problems=None, **named):
    """An environment of verifiers 0.1 to 0.3. The reward of a rollout is that of its best attempt; `unknown` where the machine is the reason that there is none. named: of vf.MultiTurnEnv."""
    import verifiers as vf
    if not hasattr(vf, "MultiTurnEnv"):
        raise ImportError("this release of verifiers has tasksets in the place of environments: vf-eval gemmsmith-taskset")
    import datasets

    kinds = {"system": getattr(vf, "SystemMessage", None), "user": getattr(vf, "UserMessage", None)}

    def messages_of(messages):   # of the release's own types, where it has them
        return [kinds[message["role"]](content=message["content"]) if kinds[message["role"]] else message for message in messages]

    def dataset(of):
        return datasets.Dataset.from_list(rows(of, mode, examples, url))

    async def kernel(completion, info, state, **_):
        results = state.setdefault("gemmsmith", [])
        if len(results) < turns:
            results.append(await judge(info, last_of(completion), reward, deadline_s, url))
        rewards = [result["reward"] for result in results if result["reward"] is not None]
        return max(rewards) if rewards else unknown

    async def passed(state, **_):
        return float(any(result["verdict"] == "pass" for result in state.get("gemmsmith", [])))

    class KernelEnv(vf.MultiTurnEnv):
        async def setup_state(self, state, **more):
            state["gemmsmith"] = []
            if fresh:
                info = _info(state["info"])
                got = await _service._in_thread(_service.prompt, info["problem"], mode, examples, url=url)
                state["prompt"] = messages_of(got["messages"])
                state["info"] = {**info, "parent": json.dumps(got["parent"])}
            return await super().setup_state(state, **more)

        async def env_response(self, messages, state, **_):
            state["gemmsmith"].append(await judge(state["info"], last_of(messages), reward, deadline_s, url))
            return messages_of([{"role": "user", "content": say(state["gemmsmith"][-1])}])

    rubric = vf.Rubric(funcs=[kernel, passed], weights=[1.0, 0.0])
    return KernelEnv(dataset=dataset(problems), eval_dataset=dataset(eval_problems) if eval_problems else None, rubric=rubric, max_turns=turns, **named)
