# SPDX-License-Identifier: MIT
"""OpenEnv: its own server over gemmsmith serve. Needs openenv (0.10).

    python3 -m gemmsmith.openenv --port 8000 --sessions 64
    GenericEnvClient("http://127.0.0.1:8000", message_timeout_s=600)        # or KernelEnv, below: the same with types

OpenEnv's clients speak its WebSocket protocol, and its environments are Python servers; so everything of the protocol (/ws, /reset, /step, /state, /schema, /metadata, /health) is OpenEnv's code
here, and this file has the environment alone. A session is an Episode: reset(problem=..., mode=...) and steps that evaluate a schedule, a kernel, or the completion of a model in which
there is one. The observation of reset has the service's prompt as messages; in the mode "edits" completions are edits of the kernel that it shows.
$GEMMSMITH_SERVE and $GEMMSMITH_TOKEN name the service, as in gemmsmith.reward.
"""
import argparse
import os
import random
import uuid
from typing import Any, Optional

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
from pydantic import Field

from gemmsmith import reward as _service
from gemmsmith.episode import Episode

__all__ = ["KernelAction", "KernelEnv", "KernelEnvironment", "KernelObservation", "KernelState", "app"]


class KernelAction(Action):
    """A candidate: a schedule, or source and manifest, or a completion that has one of them in fenced blocks."""
    schedule: Optional[str] = Field(default=None, max_length=512)
    source: Optional[str] = Field(default=None, max_length=512 << 10)
    manifest: Optional[str] = Field(default=None, max_length=64 << 10)
    completion: Optional[str] = Field(default=None, max_length=1 << 20)

    def candidate(self):
        if self.completion is not None:
            return {"completion": self.completion}
        if self.schedule is not None:
            return {"schedule": self.schedule.replace("\0", "")}
        if self.source is not None and self.manifest is not None:
            return {"source": self.source.replace("\0", ""), "manifest": self.manifest.replace("\0", "")}
        return None


class KernelObservation(Observation):
    problem: str = ""
    feedback: str = ""
    verdict: str = ""                        # "": nothing was evaluated yet
    compilation_success: bool = False
    correctness_pass: bool = False
    speedup: Optional[float] = None          # over cuBLASLt, in paired rounds
    us: Optional[float] = None
    cublaslt_us: Optional[float] = None
    floor_us: Optional[float] = None
    turns_left: int = 0
    messages: Optional[list] = None          # of reset: the prompt, [{"role", "content"}]
    metrics: Optional[dict] = None           # of the candidate, names as docs/internals/metrics.md has them


class KernelState(State):
    problem: str = ""
    turns_left: int = 0
    best_reward: Optional[float] = None
    best_candidate: Optional[str] = None


_NOT_COMPILED = {"text", "launch", "unsupported", "forbidden", "compile", "spill", "serialized", "memory"}


class KernelEnvironment(Environment[KernelAction, KernelObservation, KernelState]):
    """problems: those that reset draws from where it is given none; None: what the service lists. mode: of prompts; None: reset has none."""
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, problems=None, turns=4, reward=None, deadline_s=600.0, url=None, mode="schedules"):
        super().__init__()
        self._problems, self._turns, self._reward, self._deadline_s, self._url, self._mode = problems, turns, reward, deadline_s, url, mode
        self._episode = None
        self._id = None

    def reset(self, seed: Optional[int] = None, episode_id: Optional[str] = None, problem: Optional[str] = None, turns: Optional[int] = None,
              mode: Optional[str] = None, **_: Any) -> KernelObservation:
        if problem is None:
            self._problems = self._problems or [task["problem"] for task in _service.get("tasks", self._url)["tasks"]]
            problem = random.Random(seed).choice(self._problems)
        self._id = episode_id or str(uuid.uuid4())
        self._episode = Episode(problem, self._turns if turns is None else min(max(int(turns), 1), 1000), self._reward, self._deadline_s, self._url,
                                mode or self._mode or "schedules")
        messages = self._episode.prompt() if mode or self._mode else None
        return self._observe(None, self._episode.describe(), messages)

    def step(self, action: KernelAction, timeout_s: Optional[float] = None, **_: Any) -> KernelObservation:
        if self._episode is None:
            self.reset()
        episode = self._episode
        episode.deadline_s = min(self._deadline_s, timeout_s) if timeout_s else self._deadline_s
        result = episode.evaluate(action.candidate())
        return self._observe(result, episode.say(result))

    def _observe(self, result, feedback, messages=None):
        e, r = self._episode, result or {}
        return KernelObservation(problem=e.problem, feedback=feedback, verdict=r.get("verdict", ""), correctness_pass=r.get("verdict") == "pass",
                                 compilation_success=bool(r) and r["reward"] is not None and r["verdict"] not in _NOT_COMPILED, speedup=r.get("ratio") or None, us=r.get("us") or None,
                                 messages=messages, metrics=r.get("metrics"), cublaslt_us=r.get("cublaslt_us") or e.cublaslt_us, floor_us=e.floor_us, turns_left=e.left, reward=r.get("reward"), done=e.left <= 0)

    @property
    def state(self) -> KernelState:
        e = self._episode
        if e is None:
            return KernelState()
        best = e.best or {}
        return KernelState(episode_id=self._id, step_count=e.turn, problem=e.problem, turns_left=e.left, best_reward=best.get("reward"), best_candidate=best.get("candidate"))

    def get_metadata(self) -> EnvironmentMetadata:
        return EnvironmentMetadata(name="gemmsmith", description="Half-precision GEMM kernels: verified, timed beside cuBLASLt, rewarded")


class KernelEnv(EnvClient[KernelAction, KernelObservation, KernelState]):
    """OpenEnv's client, with this environment's types."""

    def _step_payload(self, action: KernelAction) -> dict:
        return action.model_dump(exclude_none=True)

    def _parse_result(self, payload: dict) -> StepResult:
        seen = KernelObservation(**{**payload.get("observation", {}), "reward": payload.get("reward"), "done": payload.get("done", False)})
        return StepResult(observation=seen, reward=payload.get("reward"), done=payload.get("done", False))

    def _parse_state(self, payload: dict) -> KernelState:
        return KernelState(**payload)


def app(sessions=64, **named):
    """An ASGI application; named: of KernelEnvironment."""
    return create_fastapi_app(lambda: KernelEnvironment(**named), KernelAction, KernelObservation, max_concurrent_envs=sessions, env_name="gemmsmith", state_cls=KernelState)


def main():
    import uvicorn
    parser = argparse.ArgumentParser(prog="python3 -m gemmsmith.openenv", description="OpenEnv's server over gemmsmith serve.")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1); there is no token: a loopback address, or behind a proxy")
    parser.add_argument("--port", type=int, default=8000, help="(8000)")
    parser.add_argument("--serve", default=None, metavar="URL", help="of gemmsmith serve; default $GEMMSMITH_SERVE, else http://127.0.0.1:7811")
    parser.add_argument("--sessions", type=int, default=64, help="clients at once (64)")
    parser.add_argument("--turns", type=int, default=4, help="evaluations of an episode (4)")
    parser.add_argument("--reward", default=None, choices=("headroom", "composite", "milestones", "difference", "length", "clipped"))
    parser.add_argument("--mode", default="schedules", choices=("schedules", "source", "edits"), help="of the prompts of reset (schedules)")
    parser.add_argument("--deadline", type=float, default=600.0, metavar="S", help="of an evaluation (600)")
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help="what reset draws from; default: what the service lists")
    o = parser.parse_args()
    if o.serve:
        os.environ["GEMMSMITH_SERVE"] = o.serve
    uvicorn.run(app(o.sessions, problems=o.problems or None, turns=o.turns, reward=o.reward, deadline_s=o.deadline, mode=o.mode), host=o.host, port=o.port, log_level="warning")


if __name__ == "__main__":
    main()
