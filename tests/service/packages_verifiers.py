#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verifiers' own code, of two releases, over gemmsmith serve with a scripted worker: rollouts of its environment through an endpoint that answers from a list, or its loader,
tasks and scoring, as the release has them. scripts/trainers.sh installs and runs it. Usage: packages_verifiers.py PROGRAM FAKE_WORKER [unittest's arguments]"""
import asyncio
import http.server
import importlib.metadata
import json
import os
import sys
import threading
import typing
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
sys.dont_write_bytecode = True
import service  # noqa: E402  takes PROGRAM and FAKE_WORKER
from service import PROBLEM, SCHEDULE  # noqa: E402

RELEASE = tuple(int(part) for part in importlib.metadata.version("verifiers").split(".")[:2])
RIGHT = f"```schedule\n{SCHEDULE}\n```"
REWARD = 1 / 3


class Case(service.Case):
    def setUp(self):
        self.served = self.serve()
        os.environ.update(GEMMSMITH_SERVE=f"http://127.0.0.1:{self.served.port}", ENDPOINT_KEY="none")


@unittest.skipUnless(RELEASE < (0, 4), "tasksets")
class Environments(Case):
    def rollout(self, answers, **named):
        """One rollout whose model says these, and what it was asked."""
        from gemmsmith import verifiers_env
        from verifiers.types import ClientConfig
        asked = []

        class Endpoint(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"])
                message = {"role": "assistant", "content": answers[min(len(asked), len(answers)) - 1]}
                body = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                                   "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        endpoint = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=endpoint.serve_forever, daemon=True).start()
        self.addCleanup(endpoint.server_close)
        self.addCleanup(endpoint.shutdown)
        env = verifiers_env.load_environment([PROBLEM], **named)
        client = ClientConfig(api_base_url=f"http://127.0.0.1:{endpoint.server_port}/v1", api_key_var="ENDPOINT_KEY")
        out = asyncio.run(env.evaluate(client=client, model="m", num_examples=1, rollouts_per_example=1))["outputs"][0]
        self.assertIsNone(out["error"])
        return out, asked

    def test_one_turn(self):
        out, asked = self.rollout([RIGHT])
        self.assertEqual((out["reward"], out["passed"], len(asked)), (REWARD, 1.0, 1))
        self.assertIn("# What was measured", asked[0][1]["content"])

    def test_several_turns(self):
        out, asked = self.rollout(["I do not know.", RIGHT], turns=2)
        self.assertEqual((out["reward"], [len(messages) for messages in asked]), (REWARD, [2, 4]))
        self.assertIn("no candidate", asked[1][-1]["content"])

    def test_edits(self):
        from gemmsmith import reward
        parent = reward.prompt(PROBLEM, "edits")["parent"]
        line = next(line for line in parent["source"].splitlines() if line.startswith("#define GS_"))
        edits = f"```cuda kernel.cu\n<<<<<<< SEARCH\n{line}\n=======\n// fake: us=12.5\n{line}\n>>>>>>> REPLACE\n```\n"
        self.assertEqual(self.rollout([edits], mode="edits")[0]["reward"], REWARD)
        self.assertEqual(self.rollout([edits], mode="source")[0]["reward"], -1.0)


@unittest.skipUnless(RELEASE >= (0, 4), "environments")
class Tasksets(Case):
    def tasks(self, **named):
        from verifiers.v1.utils.loaders import taskset_class, taskset_config_type
        config = taskset_config_type("gemmsmith-taskset")(id="gemmsmith-taskset", **named)
        return list(taskset_class("gemmsmith-taskset")(config))

    def score(self, task, text):
        """With the release's own trace and its own scoring."""
        import verifiers.v1 as vf

        class Trace(vf.Trace):
            last_reply: typing.ClassVar[str] = text
        trace = Trace.model_construct(metrics={}, rewards={}, nodes=[])
        asyncio.run(task.score(trace))
        return {name: value if isinstance(value, float) else value.value for name, value in trace.rewards.items()}, trace.metrics

    def test_a_task(self):
        task, = self.tasks(problems=[PROBLEM], task={"reward": "milestones"})
        self.assertEqual((task.data.idx, task.data.problem, task.key), (0, PROBLEM, "schedules " + PROBLEM))
        self.assertIn("# What was measured", task.data.prompt)
        rewards, metrics = self.score(task, RIGHT)
        self.assertEqual((rewards, metrics["passed"]), ({"kernel": REWARD}, 1.0))
        self.assertEqual(self.score(task, "I do not know.")[0], {"kernel": -1.0})

    def test_the_machine_s_failure_is_an_error(self):
        import verifiers.v1 as vf
        task, = self.tasks(problems=[PROBLEM], task={"deadline_s": 0.0})
        with self.assertRaises(vf.TaskError):
            self.score(task, "```schedule\nws/64x128x64/s4/c1x1/coop/g8\n```")

    def test_what_no_release_takes(self):
        from gemmsmith import verifiers_env
        with self.assertRaisesRegex(ImportError, "gemmsmith-taskset"):
            verifiers_env.load_environment([PROBLEM])


if __name__ == "__main__":
    unittest.main()
