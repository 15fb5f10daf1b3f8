# SPDX-License-Identifier: MIT
"""Several attempts at one problem, for environments in which a model sees what came of one before the next: those for TRL, OpenEnv and Gymnasium."""
import urllib.parse

from gemmsmith import reward as _service

__all__ = ["Episode"]


class Episode:
    """One problem, so many evaluations. `left`: how many are left; `best`: the result with the highest reward, None: none had one; `last`: the last result. mode: of prompts;
    `parent`: the kernel that the last prompt of the mode "edits" showed, which completions are edits of."""

    def __init__(self, problem, turns=4, reward=None, deadline_s=600.0, url=None, mode="schedules"):
        self.problem, self.left, self.reward, self.deadline_s, self.url, self.mode = problem, int(turns), _service.kind_of(reward), deadline_s, url, mode
        self.best = self.last = self.parent = None
        self.turn = 0
        found = _service.get("baselines?problem=" + urllib.parse.quote(problem, safe=":,=.+-"), url)
        self.problem, self.floor_us, self.cublaslt_us, self.device = found["problem"], found["floor_us"], found["cublaslt_us"], found["device"]

    def describe(self):
        """The problem, for a model."""
        cublaslt = f"cuBLASLt takes {self.cublaslt_us:.2f} us. " if self.cublaslt_us else ""
        return (f"Problem {self.problem} on {self.device}. {cublaslt}No kernel can take less than {self.floor_us:.2f} us. "
                f"{self.left} evaluation{'s' * (self.left != 1)}.")

    def prompt(self, examples=True):
        """The messages of the service's prompt, made now, with what came of the last evaluation of this episode."""
        last = self.last if self.last is not None and self.last["reward"] is not None else None
        got = _service.prompt(self.problem, self.mode, examples, last, url=self.url)
        self.parent = got["parent"] if self.mode == "edits" else None
        return got["messages"]

    def evaluate(self, candidate):
        """The result of {"schedule": ...}, {"source": ..., "manifest": ...}, {"completion": ...}, or of None: there was no candidate. A result whose reward is None says nothing of the
        candidate and takes no evaluation; without evaluations left the result is None."""
        if self.left <= 0:
            return None
        if candidate is None:
            result = {"verdict": "text", "stage": "text", "reward": -1.0, "reason": "no candidate: write a block named schedule, or one named cuda and one named manifest"}
        else:
            if "completion" in candidate and self.parent and "parent" not in candidate:
                candidate = {**candidate, "parent": self.parent}
            try:
                result = _service.evaluate([{"problem": self.problem, "reward": self.reward, **candidate}], self.deadline_s, self.url)[0]
            except _service.ServiceError as error:
                if error.status not in (400, 413):
                    raise
                result = {"verdict": "text", "stage": "text", "reward": -1.0, "reason": "empty or too long"}   # of what a model may choose, all else is judged
        self.last = result
        if result["reward"] is not None:
            self.left, self.turn = self.left - 1, self.turn + 1
            if self.best is None or result["reward"] > self.best["reward"]:
                self.best = result
        return result

    def say(self, result):
        """What came of an evaluation, for a model."""
        if result is None:
            return "No evaluations left."
        if result["reward"] is None:
            return "The machine failed; this did not count. Try again."
        if result["verdict"] == "pass":
            speed = f", {result['ratio']:.3f} times as fast as cuBLASLt ({result['low']:.3f} to {result['high']:.3f})" if result.get("ratio") else ""
            text = f"Right. {result['us']:.2f} us{speed}."
        else:
            reason = result.get("reason") or ""
            text = f"Refused: {result['verdict']}" + (f" in {result['part']}" if result.get("part") else "") + (f": {reason}" if reason else ".")
        metrics = ", ".join(f"{name} {value:.6g}" for name, value in (result.get("metrics") or {}).items())
        return (f"{text}\nReward {result['reward']:.3f}. {self.left} evaluation{'s' * (self.left != 1)} left."
                + (f"\nMetrics: {metrics}." if metrics else ""))
