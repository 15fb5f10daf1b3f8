# SPDX-License-Identifier: MIT
"""TRL's environment: a model calls tools that evaluate its kernels, and is rewarded for the best of them. The Python standard library alone.

    GRPOTrainer(model, args=..., train_dataset=rows, environment_factory=gemmsmith.trl_env.KernelEnvironment)

Rows have a column "problem" ("f16:4096x4096x4096:tn") beside "prompt". Options are in the environment: GEMMSMITH_SERVE, GEMMSMITH_TOKEN as in gemmsmith.reward,
or of a subclass: class Mine(KernelEnvironment): turns, reward = 8, "headroom". Public methods are the model's tools; there are no others here.
"""
from gemmsmith.episode import Episode as _Episode

__all__ = ["KernelEnvironment"]


class KernelEnvironment:
    turns = 4                 # evaluations of an episode
    reward = None             # None: $GEMMSMITH_REWARD, else milestones
    deadline_s = 600.0        # of one evaluation
    url = None                # None: $GEMMSMITH_SERVE

    def __init__(self):
        self._episode = None

    def reset(self, problem, **_):
        self._episode = _Episode(problem, self.turns, self.reward, self.deadline_s, self.url)
        return "\n" + self._episode.describe()

    def evaluate_schedule(self, schedule: str) -> str:
        """
        Builds the kernel that a schedule describes, checks it and measures its time.

        Args:
            schedule: A schedule string of the schedule grammar, for example ws/128x256x64/s4/c2x1/coop/g8.

        Returns:
            The verdict, the time and the reward.
        """
        return self._evaluate({"schedule": str(schedule).strip()})

    def evaluate_kernel(self, source: str, manifest: str) -> str:
        """
        Compiles a kernel, checks it and measures its time.

        Args:
            source: The kernel in CUDA C.
            manifest: How it is launched.

        Returns:
            The verdict, the time and the reward.
        """
        return self._evaluate({"source": str(source), "manifest": str(manifest)})

    def get_reward(self):
        """The best reward; -1 where nothing was evaluated, None where the machine is the reason that there is none."""
        if self._episode.best is not None:
            return float(self._episode.best["reward"])
        return None if self._episode.last is not None else -1.0

    def _evaluate(self, candidate):
        candidate = {name: text.replace("\0", "") for name, text in candidate.items()}
        return self._episode.say(self._episode.evaluate(candidate))
