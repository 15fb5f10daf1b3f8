# SPDX-License-Identifier: MIT
"""The taskset of verifiers 0.4 (`vf-eval gemmsmith-taskset`, prime-rl): a task per problem, whose reward gemmsmith serve gives for the model's last reply. What is shared with older releases, and
how the service is named, is in gemmsmith/verifiers_env.py. The module's name is its id, which verifiers imports: PYTHONPATH=.../python."""

import verifiers.v1 as vf

from gemmsmith import verifiers_env as _env

__all__ = ["KernelTaskset"]


class KernelData(vf.TaskData):
    problem: str
    mode: str
    parent: str = "null"              # JSON: the kernel that the prompt shows


class KernelTaskConfig(vf.TaskConfig):
    reward: str | None = None         # the kind; None: $GEMMSMITH_REWARD, else milestones
    deadline_s: float = 600.0
    url: str | None = None            # None: $GEMMSMITH_SERVE


class KernelTask(vf.Task[KernelData, vf.State, KernelTaskConfig]):
    @property
    def key(self):
        return f"{self.data.mode} {self.data.problem}"   # the prompt grows, the task stays

    @vf.reward
    async def kernel(self, trace) -> float:
        info = {"problem": self.data.problem, "mode": self.data.mode, "parent": self.data.parent}
        result = await _env.judge(info, trace.last_reply, self.config.reward, self.config.deadline_s, self.config.url)
        if result["reward"] is None:   # nobody's reward: an error, which trainers leave out
            raise RuntimeError(f"no reward: {result['verdict']}")
        trace.record_metrics({"passed": float(result["verdict"] == "pass"), "us": float(result.get("us") or 0), "ratio": float(result.get("ratio") or 0)})
        return float(result["reward"])


class KernelConfig(vf.TasksetConfig):
    task: KernelTaskConfig = KernelTaskConfig()
    problems: list[str] = []          # none: what the service lists
    mode: str = "schedules"           # of the prompts: "source", "edits"
    examples: bool = True             # prompts show earlier candidates


class KernelTaskset(vf.Taskset[KernelTask, KernelConfig]):
    def load(self):
        """One by one: a prompt is made when its task is asked for."""
        from gemmsmith import reward
        config = self.config
        for problem in config.problems or [task["problem"] for task in reward.get("tasks", config.task.url)["tasks"]]:
            row = _env.rows([problem], config.mode, config.examples, config.task.url)[0]
            system, ask = (message["content"] for message in row["prompt"])
            yield KernelTask(KernelData(name=row["answer"], system_prompt=system, prompt=ask, problem=row["answer"], mode=config.mode, parent=row["info"]["parent"]), config.task)
