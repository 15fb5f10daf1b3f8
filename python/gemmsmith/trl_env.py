# SPDX-License-Identifier: MIT
"""TRL's environment: a model calls tools that evaluate its kernels, and is rewarded for the best of them. The Python standard library alone.

    GRPOTrainer(model, args=..., train_dataset=rows, environment_factory=gemmsmith.trl_env.KernelEnvironment)

Rows have a column "problem" ("f16:4096x4096x4096:tn") beside "prompt", which may be a line: the service's whole prompt of the problem, with what its store knows by then, is
added to it. Options are in the environment: GEMMSMITH_SERVE, GEMMSMITH_TOKEN, GEMMSMITH_REWARD as in gemmsmith.reward, or of a subclass:
class Mine(KernelEnvironment): turns, reward, mode = 8, "headroom", "edits". Public methods are the model's tools; there are no others here.
"""
from gemmsmith.episode import Episode as _Episode

__all__ = ["KernelEnvironment"]


class KernelEnvironment:
    turns = 4                 # evaluations of an episode
    reward = None             # None: $GEMMSMITH_REWARD, else milestones
    deadline_s = 600.0        # of one evaluation
    mode = "schedules"        # of the prompt: also "source", "edits"; None: no prompt but the problem, the floor and cuBLASLt's time
    examples = True           # the prompt shows earlier candidates
    url = None                # None: $GEMMSMITH_SERVE

    def __init__(self):
        self._episode = None

    def reset(self, problem, **_):
        self._episode = _Episode(problem, self.turns, self.reward, self.deadline_s, self.url, self.mode or "schedules")
        if self.mode is None:
            return "\n" + self._episode.describe()
        texts = [message["content"].strip() for message in self._episode.prompt(self.examples)]
        tool = {"schedules": "evaluate_schedule", "source": "evaluate_kernel", "edits": "evaluate_edits"}[self.mode]
        return "\n" + "\n\n".join(texts + [self._episode.describe() + f" Call the tool {tool} with each candidate: you see what came of it, and may try another."])

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

    def evaluate_edits(self, edits: str) -> str:
        """
        Applies search/replace edits to the kernel of the prompt, checks the result and measures its time.

        Args:
            edits: Fenced blocks with the edits, of the kernel under "Where to begin".

        Returns:
            The verdict, the time and the reward.
        """
        return self._evaluate({"completion": str(edits)})

    def get_reward(self):
        """The best reward; -1 where nothing was evaluated, None where the machine is the reason that there is none."""
        if self._episode.best is not None:
            return float(self._episode.best["reward"])
        return None if self._episode.last is not None else -1.0

    def _evaluate(self, candidate):
        candidate = {name: text.replace("\0", "") for name, text in candidate.items()}
        return self._episode.say(self._episode.evaluate(candidate))
