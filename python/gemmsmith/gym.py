# SPDX-License-Identifier: MIT
"""Schedules as a Gymnasium environment, over gemmsmith serve. Needs gymnasium and numpy.

    env = gemmsmith.gym.ScheduleEnv(["f16:4096x4096x4096:tn", "f16:64x4096x4096:tn"])          # a value for each parameter: MultiDiscrete
    env = gemmsmith.gym.ScheduleEnv(actions="text")                                           # a schedule string: Text; the problems that the service lists
    gymnasium.make("gemmsmith/Schedule-v0", problems=[...])                                   # after import gemmsmith.gym

An episode is one problem and `turns` schedules; each has its own reward. One turn makes it a contextual bandit. With actions="values" an action has the family and, for
each parameter, the index of a value, modulo how many values it has; parameters that the family has not are not looked at. The observation is a vector: FEATURES names its numbers. Whatever is no number is in
info: "problem", "schedule", "verdict", "reason", "result", and with prompts=True what reset asks a
language model, "messages". Where the machine fails the episode is truncated, with reward 0.
"""
import math
import re

import gymnasium
import numpy

from gemmsmith import reward as _service
from gemmsmith.episode import Episode

__all__ = ["FEATURES", "ScheduleEnv"]

FEATURES = ("log2_m", "log2_n", "log2_k", "log2_batch", "bf16", "acc_f16", "d_f32", "tn", "beta", "epilogue", "log2_floor_us", "turns_left", "best_reward", "last_reward")
_PROBLEM = re.compile(r"(f16|bf16):(\d+)x(\d+)x(\d+):(nn|tn|nt|tt)((?::[a-z]+=[^:]+)*)")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789/._-"


def _features(problem, floor_us):
    found = _PROBLEM.fullmatch(problem)
    kind, m, n, k, layout, rest = found.groups()
    more = dict(field.split("=", 1) for field in rest.split(":") if field)
    return [math.log2(int(m)), math.log2(int(n)), math.log2(int(k)), math.log2(int(more.get("b", 1))), float(kind == "bf16"), float(more.get("acc") == "f16"),
            float(more.get("d") == "f32"), float(layout[0] == "t"), float("beta" in more), float("ep" in more), math.log2(floor_us)]


class ScheduleEnv(gymnasium.Env):
    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(self, problems=None, actions="values", turns=1, reward="headroom", deadline_s=600.0, url=None, render_mode=None, prompts=False):
        if actions not in ("values", "text"):
            raise ValueError('actions: "values" or "text"')
        if turns < 1:
            raise ValueError("turns: at least 1")
        self.problems = list(problems) if problems else [task["problem"] for task in _service.get("tasks", url)["tasks"]]
        self.turns, self.reward, self.deadline_s, self.url, self.render_mode, self.prompts = turns, reward, deadline_s, url, render_mode, prompts
        self.families = _service.get("grammar", url)["families"]
        if actions == "values":
            parameters = max(len(family["parameters"]) for family in self.families)
            most = [max((len(family["parameters"][i]["values"]) for family in self.families if i < len(family["parameters"]))) for i in range(parameters)]
            self.action_space = gymnasium.spaces.MultiDiscrete([len(self.families), *most])
        else:
            self.action_space = gymnasium.spaces.Text(max_length=96, charset=_LETTERS)
        low = [0] * 10 + [-40, 0, -1, -1]
        high = [31] * 4 + [1] * 6 + [60, turns, 1, 1]
        self.observation_space = gymnasium.spaces.Box(numpy.array(low, numpy.float32), numpy.array(high, numpy.float32))
        self._episode = self._about = None
        self._said = ""

    def schedule_string(self, action):
        """The schedule of an action."""
        if isinstance(self.action_space, gymnasium.spaces.Text):
            return str(action)
        family = self.families[int(action[0]) % len(self.families)]
        values = [parameter["values"][int(chosen) % len(parameter["values"])] for parameter, chosen in zip(family["parameters"], action[1:])]
        while values and family["parameters"][len(values) - 1]["optional"] and values[-1] == family["parameters"][len(values) - 1]["values"][0]:
            values.pop()   # left out, it is the first value
        return "/".join([family["name"], *values])

    def action(self, schedule_string):
        """The action of a schedule; ValueError: it is none of the grammar."""
        if isinstance(self.action_space, gymnasium.spaces.Text):
            return schedule_string
        name, *values = schedule_string.split("/")
        index = [family["name"] for family in self.families].index(name)
        parameters = self.families[index]["parameters"]
        if len(values) > len(parameters) or not all(parameter["optional"] for parameter in parameters[len(values):]):
            raise ValueError(f"{name} has {len(parameters)} parameters")
        chosen = [index] + [parameter["values"].index(value) for parameter, value in zip(parameters, values)]
        return numpy.array(chosen + [0] * (len(self.action_space.nvec) - len(chosen)), self.action_space.dtype)

    def _observe(self):
        e = self._episode
        last = e.last["reward"] if e.last and e.last["reward"] is not None else -1.0
        values = [*self._about, e.left, e.best["reward"] if e.best else -1.0, last]
        return numpy.clip(numpy.array(values, numpy.float32), self.observation_space.low, self.observation_space.high)

    def reset(self, *, seed=None, options=None):
        """options: {"problem": ...} instead of one that is drawn."""
        super().reset(seed=seed)
        problem = (options or {}).get("problem") or self.problems[int(self.np_random.integers(len(self.problems)))]
        self._episode = Episode(problem, self.turns, self.reward, self.deadline_s, self.url)
        self._about = _features(self._episode.problem, self._episode.floor_us)
        self._said = self._episode.describe()
        return self._observe(), {"problem": self._episode.problem, **({"messages": self._episode.prompt()} if self.prompts else {})}

    def step(self, action):
        schedule = self.schedule_string(action)
        if self._episode is None or self._episode.left <= 0:
            raise gymnasium.error.ResetNeeded("the episode has ended: call reset()")
        result = self._episode.evaluate({"schedule": schedule})
        self._said = f"{schedule}\n{self._episode.say(result)}"
        failed = result["reward"] is None
        info = {"problem": self._episode.problem, "schedule": schedule, "verdict": result["verdict"], "reason": result.get("reason") or "", "result": result}
        return self._observe(), 0.0 if failed else float(result["reward"]), not failed and self._episode.left == 0, failed, info

    def render(self):
        return self._said if self.render_mode == "ansi" else None


gymnasium.register("gemmsmith/Schedule-v0", entry_point="gemmsmith.gym:ScheduleEnv")
