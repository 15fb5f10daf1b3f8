#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trainers against gemmsmith serve, over a scripted worker: their calls byte for byte (tests/service/trainers), what is refused, and python/gemmsmith as they
call it. What their packages do with it is scripts/trainers.sh. Usage: trainers.py PROGRAM FAKE_WORKER [unittest's arguments]"""
import asyncio
import base64
import concurrent.futures
import http.server
import json
import os
import signal
import socket
import sys
import threading
import time
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
sys.dont_write_bytecode = True
import service  # noqa: E402  takes PROGRAM and FAKE_WORKER
from gemmsmith import reward, trl_env, verifiers_env  # noqa: E402
from gemmsmith.episode import Episode  # noqa: E402
from service import MANIFEST, PROBLEM, SCHEDULE, TOKEN, user_kernel  # noqa: E402


REWARD = 1 / 3   # of the kernel below: right, and slower than the library


def kernel(number=1, rule="fake: us=12.5"):
    return f"Let us see.\n```cuda\n// {number}\n// {rule}\n```\n```manifest\n{MANIFEST}```\n"


def edits_of(parent, us=9):
    """A completion that changes what the scripted worker obeys, and a macro that nobody reads: comments alone are no answer."""
    line = next(line for line in parent["source"].splitlines() if line.startswith("#define GS_"))
    return f"```cuda kernel.cu\n<<<<<<< SEARCH\n{line}\n=======\n// fake: us={us}\n#define FAKE {us}\n{line}\n>>>>>>> REPLACE\n```\n"


def openrlhf(*answers, **more):
    return {"query": ["prompt: " + answer for answer in answers], "prompts": ["prompt: "] * len(answers), "labels": [PROBLEM] * len(answers), **more}


def slime(answer, **more):
    return {"prompt": "prompt", "response": answer, "label": PROBLEM, **more}


class Case(service.Case):
    def url(self, s):
        return f"http://127.0.0.1:{s.port}/"

    def well(self, s):
        """It ends as it should: with sanitizers, without leaks."""
        self.assertEqual(s.end(), 128 + signal.SIGTERM, s.said())

    def environment(self, **values):
        for name, value in values.items():
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)


class Replays(Case):
    """What the trainers' own code sent when it was recorded."""

    def replay(self, s, name):
        with open(os.path.join(HERE, "trainers", name + ".http"), "rb") as file:
            call = file.read()
        with socket.create_connection(("127.0.0.1", s.port), timeout=30) as c:
            c.sendall(call)
            got = b""
            while b"\r\n\r\n" not in got or len(got.split(b"\r\n\r\n", 1)[1]) < int(got.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
                more = c.recv(65536)
                self.assertTrue(more, got)
                got += more
        head, body = got.split(b"\r\n\r\n", 1)
        self.assertIn(b"content-type: application/json", head.lower())   # aiohttp's json() refuses others
        return int(head.split()[1]), json.loads(body)

    def test_openrlhf(self):
        code, got = self.replay(self.serve(), "openrlhf")
        self.assertEqual((code, got["rewards"], got["scores"]), (200, [REWARD], [(REWARD + 1) / 2]))
        self.assertEqual(set(got["extra_logs"]), {"passed", "us", "ratio"})
        for values in got["extra_logs"].values():   # each becomes torch.tensor([values])
            self.assertEqual([type(value) for value in values], [float])

    def test_slime(self):
        code, got = self.replay(self.serve(), "slime")
        self.assertEqual((code, type(got), got), (200, float, REWARD))

    def test_they_are_one_evaluation(self):
        s = self.serve()
        for name in ("openrlhf", "slime", "slime", "openrlhf"):
            self.replay(s, name)
        self.assertEqual((s.requests('"op":"verify"'), s.metric("jobs_accepted_total"), s.metric("jobs_joined_total")), (1, 1, 3))


class Calls(Case):
    def test_openrlhf(self):
        s = self.serve()
        code, got = s.post("adapters/openrlhf", openrlhf(kernel(), kernel(1, "fake: wrong"), "none", kernel(), f"```schedule\n{SCHEDULE}\n```</s>"))
        self.assertEqual((code, got["rewards"][1:3], got["extra_logs"]["passed"]), (200, [-1.0, -1.0], [1.0, 0.0, 0.0, 1.0, 1.0]))
        self.assertEqual(got["rewards"][0], got["rewards"][3])
        self.assertEqual([score == (value + 1) / 2 for score, value in zip(got["scores"], got["rewards"])], [True] * 5)
        self.assertEqual(s.metric("jobs_accepted_total"), 3)
        for kind in ("headroom", "composite", "milestones", "difference", "length", "clipped"):
            want = s.post("evaluate", {"problem": PROBLEM, "schedule": SCHEDULE, "reward": kind})[1]["reward"]
            self.assertEqual(s.post("adapters/openrlhf?reward=" + kind, openrlhf(f"```schedule\n{SCHEDULE}\n```"))[1]["rewards"], [want])
        self.well(s)

    def test_a_prompt_s_example_is_no_answer(self):
        s = self.serve()
        example = f"Like this:\n```schedule\n{SCHEDULE}\n```\nNow you, with the best that you can think of, for this problem and on this device: "
        self.assertEqual(s.post("adapters/openrlhf", {"query": [example + "no"], "prompts": [example], "labels": [PROBLEM]})[1]["rewards"], [-1.0])
        # a tokenizer that does not give back what it took, a prompt that was cut: its end is what is looked for
        for shown in (example.replace("Like", " Like"), example[20:]):
            self.assertEqual(s.post("adapters/openrlhf", {"query": [shown + "no"], "prompts": [example], "labels": [PROBLEM]})[1]["rewards"], [-1.0])
            self.assertEqual(s.post("adapters/openrlhf", {"query": [shown + f"\n```schedule\n{SCHEDULE}\n```"], "prompts": [example], "labels": [PROBLEM]})[1]["extra_logs"]["passed"], [1.0])
        code, got = s.post("adapters/openrlhf", {"query": ["something else\n" + kernel()], "prompts": [example], "labels": [PROBLEM]})
        self.assertEqual((code, got["error"]["field"]), (400, "query[0]"))
        self.assertEqual(s.post("adapters/openrlhf", {"query": [kernel()], "prompts": [""], "labels": [{"problem": PROBLEM, "split": "train"}]})[1]["extra_logs"]["passed"], [1.0])

    def test_slime(self):
        s = self.serve()
        self.assertEqual(s.post("adapters/slime", slime(kernel(), prompt=[{"role": "user", "content": "x"}])), (200, REWARD))
        code, got = s.post("adapters/slime?details=true", slime(kernel()))
        self.assertEqual((code, got["reward"], got["verdict"], got["passed"], got["us"] > 0), (200, REWARD, "pass", True, True))
        self.assertEqual(s.post("adapters/slime?details=true", slime("none"))[1], {"reward": -1.0, "verdict": "text", "passed": False, "us": 0.0, "ratio": 0.0})

    def test_edits(self):
        """A label that is an object, or one in a text, may have the kernel that the model was shown."""
        s = self.serve()
        parent = s.post("prompt", {"problem": PROBLEM, "mode": "edits"})[1]["parent"]
        edits = edits_of(parent)
        whole = s.post("evaluate", {"problem": PROBLEM, "completion": edits, "parent": parent, "reward": "milestones"})[1]
        self.assertEqual(whole["verdict"], "pass", whole)
        stored = s.post("evaluate", user_kernel(7))[1]["candidate"]
        more = "```cuda\n<<<<<<< SEARCH\n// fake: us=12.5\n=======\n// fake: us=11\nint more;\n>>>>>>> REPLACE\n```\n"
        labels = [{"problem": PROBLEM, "parent": parent}, json.dumps({"problem": PROBLEM, "parent": stored}), {"problem": PROBLEM, "parent": None}, {"problem": PROBLEM, "parent": parent}]
        code, got = s.post("adapters/openrlhf", openrlhf(edits, more, edits, "no edits", labels=labels))
        self.assertEqual((code, got["extra_logs"]["passed"], got["rewards"][0], got["rewards"][2:]), (200, [1.0, 1.0, 0.0, 0.0], whole["reward"], [-1.0, -1.0]))
        self.assertEqual(s.post("adapters/slime", slime(edits, label=labels[0])), (200, whole["reward"]))
        for label in ({"problem": PROBLEM, "parent": 1}, {"problem": PROBLEM, "parent": {"source": "x"}}, {"problem": PROBLEM, "parent": "source:" + "0" * 32}, "{", '{"problem": 1}'):
            code, got = s.post("adapters/slime", slime(edits, label=label))
            self.assertEqual((code, got["error"]["field"]), (400, "label"), label)
        self.well(s)

    def test_what_a_model_writes_is_its_own_fault(self):
        s = self.serve()
        for answer in ("```schedule\nx\0\n```", "```schedule\n" + "x" * 600 + "\n```", "```schedule\nnonsense\n```", "```cuda\nx\n```\n```manifest\n" + "x" * 70000 + "\n```", "", "\ud83d", "\udc00"):
            if answer in ("\ud83d", "\udc00"):   # half a character is no JSON
                self.assertEqual(s.post("adapters/slime", slime(answer))[0], 400)
            else:
                self.assertEqual(s.post("adapters/slime", slime(answer)), (200, -1.0), answer[:20])

    def test_what_trainers_do_not_send(self):
        s = self.serve(options=[PROBLEM])
        for path, body, field in [
            ("openrlhf", "[]", "body"), ("openrlhf", "{", "body"), ("openrlhf", {}, "query"), ("openrlhf", openrlhf(), "query"), ("openrlhf", openrlhf("x", more=1), "body"),
            ("openrlhf", openrlhf("x", query="x"), "query"), ("openrlhf", openrlhf("x", prompts=[]), "prompts"), ("openrlhf", openrlhf("x", labels=[PROBLEM] * 2), "labels"),
            ("openrlhf", openrlhf("x", query=[1]), "query[0]"), ("openrlhf", openrlhf("x", prompts=[1]), "prompts"), ("openrlhf", openrlhf(*"x" * 257), "query"),
            ("openrlhf", openrlhf("x", "y", labels=[PROBLEM, "x"]), "labels[1]"), ("openrlhf", openrlhf("x", labels=[None]), "labels[0]"), ("openrlhf", openrlhf("x", labels=[{}]), "labels[0]"),
            ("openrlhf", openrlhf("x", labels=["64_64_64"]), "labels[0]"), ("slime", {}, "prompt"), ("slime", slime("x", prompt=1), "prompt"), ("slime", slime("x", response=None), "response"),
            ("slime", slime("x", label=None), "label"), ("slime", slime("x", label=""), "label"), ("slime", slime("x", label=PROBLEM + "\0"), "label"), ("slime", slime("x", label="x" * 300), "label"),
            ("slime", slime("x", metadata={}), "body"), ("slime?reward=applause", slime("x"), "query"), ("slime?unknown=much", slime("x"), "query"), ("slime?details=1", slime("x"), "query"),
            ("slime?deadline_s=-1", slime("x"), "query"), ("slime?problem=x", slime("x"), "query"),
        ]:
            code, got = s.post("adapters/" + path, body)
            self.assertEqual((code, got["error"]["field"]), (400, field), (path, body, got))
            self.assertTrue(got["error"]["reason"].isprintable())
        self.assertEqual(s.get("adapters/slime")[0], 405)
        self.assertEqual(s.post("adapters/other", {})[0], 404)
        self.assertEqual(s.metric("jobs_accepted_total"), 0)
        self.well(s)

    def test_no_reward_yet(self):
        """A trainer asks again where the answer is no success, and then waits for the same evaluation."""
        s = self.serve("library=1.1;delay=700")
        code, got, headers = s.call("POST", "/v1/adapters/slime?deadline_s=0.1", slime(kernel()))
        self.assertEqual((code, got["error"]["field"], "Retry-After" in headers), (503, "deadline_s", True))
        self.assertEqual(s.post("adapters/openrlhf?deadline_s=0.1&unknown=0.25", openrlhf(kernel(), "none"))[1]["rewards"], [0.25, -1.0])
        self.assertEqual(s.post("adapters/slime", slime(kernel())), (200, REWARD))
        self.assertEqual(s.requests('"op":"verify"'), 1)
        self.well(s)

    def test_a_full_queue_is_waited_for(self):
        s = self.serve("library=1.1;delay=400", options=["--queue", "1"])
        s.post("submit", user_kernel(7))
        self.assertEqual(s.post("submit", user_kernel(8))[0], 429)
        self.assertEqual(s.post("adapters/slime?deadline_s=0", slime(kernel()))[0], 429)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            self.assertEqual(list(pool.map(lambda n: s.post("adapters/slime", slime(kernel(n))), range(3))), [(200, REWARD)] * 3)

    def test_the_machine_s_failure_is_no_reward(self):
        s = self.serve("library=1.1;reference=GS_ERROR_NO_LIBRARY")
        self.assertEqual(s.post("adapters/slime", slime(kernel()))[0], 503)
        self.assertEqual(s.post("adapters/slime?unknown=0", slime(kernel())), (200, 0.0))

    def test_a_stop_is_told(self):
        s = self.serve("library=1.1;delay=1000")
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(s.post("adapters/openrlhf", openrlhf(kernel(1), kernel(2)))))
        waiting.start()
        while s.metric("jobs_accepted_total") < 2:
            time.sleep(0.01)
        s.end()
        waiting.join()
        self.assertEqual(answers[0][0], 503)

    def test_a_token_in_the_url(self):
        s = self.serve(token=TOKEN)
        for user, password, code in [("any", TOKEN, 200), ("", TOKEN, 200), (TOKEN, "", 401), ("any", TOKEN + "x", 401), ("any", "", 401)]:
            basic = {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}
            self.assertEqual(s.call("POST", "/v1/adapters/slime", slime("x"), basic)[0], code, (user, password))
        for wrong in ("Basic", "Basic ", "Basic !", "Basic " + base64.b64encode(TOKEN.encode()).decode()):
            self.assertEqual(s.call("POST", "/v1/adapters/slime", slime("x"), {"Authorization": wrong})[0], 401, wrong)
        self.well(s)


class Functions(Case):
    """python/gemmsmith/reward.py as trainers call it."""

    def test_candidates(self):
        with open(os.path.join(HERE, "completions.json"), encoding="utf-8") as file:
            cases = json.load(file)
        s = self.serve("library=1.1;delay=20")
        cases += [["a long schedule", "```schedule\n" + "x" * 513 + "\n```", {}], ["a long manifest", "```cuda\nx\n```\n```manifest\n" + "x" * (64 << 10) + "\n```", {}]]
        code, whole = s.post("evaluate/batch", {"requests": [{"problem": PROBLEM, "completion": text} for _, text, _ in cases], "deadline_s": 0})
        self.assertEqual(code, 200)
        for (name, _, want), got in zip(cases, whole["results"], strict=True):
            if want:   # the same id: the same candidate
                self.assertEqual(got["id"], s.post("submit", {"problem": PROBLEM, **want})[1]["id"], name)
            else:
                self.assertEqual((got["id"], got["verdict"], got["reward"], got["rewards"]["composite"]), (None, "text", -1, -1), name)
        for more in ({"schedule": SCHEDULE}, {"source": "x", "manifest": "x"}, {"manifest": "x"}):
            self.assertEqual(s.post("evaluate", {"problem": PROBLEM, "completion": "", **more})[1]["error"]["field"], "completion")
        self.assertEqual(s.post("evaluate", {"problem": PROBLEM, "completion": ["x"]})[1]["error"]["field"], "completion")
        code, got = s.post("submit", {"problem": PROBLEM, "completion": "I do not know.", "reward": "milestones"})
        self.assertEqual((code, got["problem"], got["state"], got["reward_kind"], got["stage"]), (200, PROBLEM, "done", "milestones", "text"))

    def test_texts_of_any_length(self):
        s = self.serve(options=["--most_body", "2560"])
        thoughts = "<think>" + "é" * (2 << 20) + "</think>"
        self.assertEqual([r["verdict"] for r in reward.score([PROBLEM] * 3, [thoughts + kernel(), thoughts, "\ud83d"], url=self.url(s))], ["pass", "text", "text"])

    def test_verl(self):
        s = self.serve(token=TOKEN)
        url, text = self.url(s), kernel()
        with self.assertRaises(reward.ServiceError) as refused:
            reward.compute_score("hgemm", text, PROBLEM, url=url)
        self.assertEqual(refused.exception.status, 401)
        self.environment(GEMMSMITH_TOKEN=TOKEN)
        got = reward.compute_score(data_source="hgemm", solution_str=text, ground_truth={"problem": PROBLEM}, extra_info={"index": 1}, url=url)
        self.assertEqual((got["verdict"], got["passed"], got["us"] > 0), ("pass", 1.0, True))
        self.assertEqual(reward.compute_score("hgemm", "nothing", PROBLEM, url=url)["score"], -1.0)
        self.assertEqual(asyncio.run(reward.compute_score_async("hgemm", text + "late", PROBLEM, extra_info={}, url=url)), got)
        batch = reward.compute_score_batch(["hgemm"] * 3, [text, "none", text.replace("us=12.5", "wrong")], [PROBLEM, PROBLEM, ""], [{}, {}, {"problem": PROBLEM}], url=url)
        self.assertEqual([one["score"] for one in batch], [got["score"], -1, -1])
        self.assertEqual({tuple(one) for one in batch}, {tuple(got)})   # the same keys, whatever the verdict
        self.assertEqual(reward.compute_score_batch(["hgemm"], [text], [PROBLEM], url=url), [got])

    def test_many_at_once(self):
        s = self.serve("library=1.1;delay=100")

        async def ask():
            return await asyncio.gather(*(reward.compute_score_async("hgemm", kernel(1), PROBLEM, url=self.url(s)) for _ in range(40)))
        self.assertEqual({got["verdict"] for got in asyncio.run(ask())}, {"pass"})
        self.assertEqual((s.requests('"op":"verify"'), s.metric("jobs_joined_total")), (1, 39))

    def test_trl(self):
        s = self.serve()
        url, text, extra, metrics = self.url(s), kernel(), {}, {}
        wrong = text.replace("us=12.5", "wrong")
        call = {"prompts": ["p"] * 5, "problem": [PROBLEM] * 5, "completion_ids": None, "trainer_state": None, "url": url, "log_extra": extra.__setitem__, "log_metric": metrics.__setitem__,
                "completions": [text, [{"role": "assistant", "content": wrong}], "none", text,
                                [{"role": "assistant", "content": [{"type": "text", "text": text}]}, {"role": "tool", "content": "x"}, {"role": "assistant", "content": None}]]}
        self.assertEqual(reward.trl_reward(**call), [REWARD, -1, -1.0, REWARD, -1.0])
        self.assertEqual(extra["verdict"][0::2], ["pass", "text", "text"])
        self.assertEqual(metrics, {"gemmsmith/passed": 0.4})
        self.assertEqual(asyncio.run(reward.trl_reward_async(**call)), [REWARD, -1, -1.0, REWARD, -1.0])
        with self.assertRaises(reward.ServiceError):
            reward.trl_reward([], [text], ["no problem"], url=url)

    def test_edits(self):
        """What verl and TRL call passes the kernel on, of which a completion is edits."""
        s = self.serve()
        url = self.url(s)
        parent = reward.prompt(PROBLEM, "edits", url=url)["parent"]
        edits = edits_of(parent)
        for truth, extra in (({"problem": PROBLEM, "parent": parent}, None), (PROBLEM, {"parent": parent})):
            self.assertEqual(reward.compute_score("hgemm", edits, truth, extra, url=url)["verdict"], "pass")
        self.assertEqual([one["passed"] for one in reward.compute_score_batch(["hgemm"] * 2, [edits] * 2, [PROBLEM] * 2, [{"parent": parent}, {"parent": None}], url=url)], [1.0, 0.0])
        self.assertEqual([value > -1 for value in reward.trl_reward(None, [edits, edits], [PROBLEM] * 2, parent=[parent, None], url=url)], [True, False])
        got = reward.prompt(PROBLEM, "schedules", examples=False, previous={"problem": PROBLEM, "stage": "text", "verdict": "text", "reason": "nothing"}, url=url)
        self.assertEqual((got["timed"], got["previous"]["verdict"]), (0, "text"))
        with self.assertRaises(reward.ServiceError):
            reward.prompt(PROBLEM, "poems", url=url)

    def test_more_than_a_request_takes(self):
        s = self.serve(options=["--most_body", "2560"])
        texts = ["```schedule\nnonsense/%d\n```" % (i % 7) for i in range(300)] + [kernel(i, "fake: us=12.5\n" + "// é\n" * 80000) for i in range(6)]
        got = reward.score([PROBLEM] * len(texts), texts, deadline_s=30, url=self.url(s))
        self.assertEqual(([r["verdict"] for r in got[:300]], [r["verdict"] for r in got[300:]]), (["launch"] * 300, ["pass"] * 6))

    def test_no_service(self):
        with self.assertRaisesRegex(reward.ServiceError, "http://127.0.0.1:1 does not answer .*gemmsmith serve"):
            reward.evaluate([{"problem": PROBLEM, "schedule": SCHEDULE}], deadline_s=0.1, url="http://127.0.0.1:1")

    def test_several_services(self):
        """A share for each; what one of them does not take, another one does; one that was away is asked for its health first."""
        one, other, asked = self.serve(), self.serve(), []

        class Full(http.server.BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked.append(self.path)
                self.send_response(503)
                self.send_header("Retry-After", "1")
                self.end_headers()
            do_GET = do_POST = answer

            def log_message(self, *_):
                pass
        full = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Full)
        threading.Thread(target=full.serve_forever, daemon=True).start()
        self.addCleanup(full.server_close)
        self.addCleanup(full.shutdown)
        texts = [kernel(i) for i in range(9)]
        self.environment(GEMMSMITH_SERVE=f"{self.url(one)}, {self.url(other)}")
        self.assertEqual([r["verdict"] for r in reward.score([PROBLEM] * 9, texts)], ["pass"] * 9)
        counts = [s.metric("jobs_accepted_total") for s in (one, other)]
        self.assertEqual(sum(counts), 9)
        self.assertTrue(min(counts) >= 4, counts)
        os.environ["GEMMSMITH_SERVE"] = (f"http://127.0.0.1:1,http://127.0.0.1:{full.server_port},{self.url(one)}")
        self.assertEqual([r["verdict"] for r in reward.score([PROBLEM] * 9, texts, deadline_s=20)], ["pass"] * 9)
        self.assertTrue(asked)
        self.assertEqual({path for path in asked if path != "/v1/evaluate/batch"}, set())   # it answered: it is not away
        away = "http://127.0.0.1:1"
        self.assertIn(away, reward._away)
        reward._away[away] = 0.0
        self.assertFalse(reward._well(away))   # asked for its health, and still not there
        self.assertGreater(reward._away[away], time.monotonic())
        reward._away[self.url(one).rstrip("/")] = 0.0
        self.assertTrue(reward._well(self.url(one).rstrip("/")))
        self.assertNotIn(self.url(one).rstrip("/"), reward._away)

    def test_the_kind_of_reward(self):
        s = self.serve()
        self.environment(GEMMSMITH_REWARD="headroom")
        self.assertEqual([r["reward_kind"] for r in reward.score([PROBLEM], [kernel()], url=self.url(s))], ["headroom"])
        self.assertEqual([r["reward_kind"] for r in reward.score([PROBLEM], [kernel()], "composite", url=self.url(s))], ["composite"])

    def test_the_machine_s_failure_is_no_reward(self):
        s = self.serve("library=1.1;delay=600")
        text = f"```schedule\n{SCHEDULE}\n```"
        self.assertEqual(reward.trl_reward(None, [text], [PROBLEM], deadline_s=0.1, url=self.url(s)), [None])
        self.assertEqual(reward.compute_score("hgemm", text, PROBLEM, deadline_s=0.05, unknown=0.25, url=self.url(s))["score"], 0.25)


class Episodes(Case):
    """Several attempts at a problem, and TRL's environment, which is made of them."""

    def test_episode(self):
        s = self.serve()
        e = Episode("1024_1024_1024", turns=3, url=self.url(s))
        self.assertEqual((e.problem, e.cublaslt_us, e.left), ("f16:1024x1024x1024:nn", None, 3))
        self.assertRegex(e.describe(), r"^Problem f16:1024x1024x1024:nn on \S+\. No kernel can take less than \d+\.\d\d us\. 3 evaluations\.$")
        e = Episode(PROBLEM, turns=3, url=self.url(s))
        right, wrong = ({name: user_kernel(1, rule)[name] for name in ("source", "manifest")} for rule in ("fake: us=12.5", "fake: wrong"))
        self.assertEqual((e.evaluate(wrong)["reward"], e.evaluate(right)["reward"], e.evaluate(None)["reward"]), (-1, REWARD, -1.0))
        self.assertEqual((e.left, e.turn, e.best["reward"], e.evaluate(right), e.say(None)), (0, 3, REWARD, None, "No evaluations left."))
        self.assertRegex(e.say(e.best), r"^Right\. \d+\.\d\d us, \d\.\d{3} times as fast as cuBLASLt \(.*\)\.\nReward 0\.333\. 0 evaluations left\.\nMetrics: registers 64, .*ptx_mma 8.*\.$")
        self.assertIn("cuBLASLt takes", Episode(PROBLEM, url=self.url(s)).describe())
        e = Episode(PROBLEM, turns=1, url=self.url(s))
        self.assertRegex(e.say(e.evaluate({"schedule": "nonsense/1"})), r"^Refused: launch.*: .+\nReward -1\.000\. 0 evaluations left\.$")   # and no metrics: nothing was compiled
        e = Episode(PROBLEM, url=self.url(s))
        self.assertEqual([e.evaluate(what)["verdict"] for what in ({"schedule": ""}, {"schedule": "x" * 600}, {"source": "x", "manifest": ""})], ["text"] * 3)

    def test_prompts_of_an_episode(self):
        s = self.serve()
        e = Episode(PROBLEM, url=self.url(s), mode="edits")
        self.assertIn("Answer with edits", e.prompt()[1]["content"])
        self.assertEqual(e.evaluate({"completion": edits_of(e.parent)})["verdict"], "pass")
        name = e.last["candidate"]
        self.assertIn(f"## {name}: ", e.prompt()[1]["content"])   # what came of it, and where to begin now
        self.assertEqual(e.parent, name)
        self.assertIn("It could not be read", Episode.prompt(self.tried(s, None))[1]["content"])

    def tried(self, s, candidate):
        e = Episode(PROBLEM, url=self.url(s))
        e.evaluate(candidate)
        return e

    def test_the_machine_s_failure_takes_no_turn(self):
        s = self.serve("library=1.1;delay=600")
        e = Episode(PROBLEM, turns=1, deadline_s=0.1, url=self.url(s))
        self.assertEqual((e.evaluate({"schedule": SCHEDULE})["reward"], e.left, e.best), (None, 1, None))
        e.deadline_s = 20
        self.assertEqual(e.evaluate({"schedule": SCHEDULE})["verdict"], "pass")

    def test_trl_environment(self):
        s = self.serve()
        self.environment(GEMMSMITH_SERVE=self.url(s))
        e = trl_env.KernelEnvironment()
        told = e.reset(prompt=[], problem=PROBLEM, other=1)
        self.assertIn("4 evaluations. Call the tool evaluate_schedule", told)
        got = reward.prompt(PROBLEM)
        self.assertIn(got["system"].strip(), told)
        self.assertIn(got["ask"].strip(), told)
        self.assertEqual(e.get_reward(), -1.0)
        self.assertRegex(e.evaluate_kernel(user_kernel(1, "fake: wrong")["source"], MANIFEST), "^Refused: [a-z]+ in .+\nReward -1.000. 3 evaluations left.\nMetrics: registers 64, .+$")
        self.assertTrue(e.evaluate_kernel(user_kernel(1)["source"] + "\0", manifest=MANIFEST).startswith("Right."))
        self.assertEqual(e.get_reward(), REWARD)
        e.reset(problem=PROBLEM)
        self.assertTrue(e.evaluate_schedule(f" {SCHEDULE}\n").startswith("Right."))
        for _ in range(3):
            e.evaluate_schedule("nonsense")
        self.assertEqual((e.evaluate_schedule(SCHEDULE), e.get_reward() > -1), ("No evaluations left.", True))
        self.assertIn(f"- {SCHEDULE}: ", e.reset(problem=PROBLEM))   # the store has grown
        e.mode = None
        self.assertTrue(e.reset(problem=PROBLEM).startswith("\nProblem "))
        e.mode = "edits"
        self.assertIn("tool evaluate_edits", e.reset(problem=PROBLEM))
        self.assertRegex(e.evaluate_edits("no edits"), "^Refused: text")
        self.assertTrue(e.evaluate_edits(edits_of(e._episode.parent)).startswith("Right."), e._episode.last)
        self.assertEqual(trl_env.KernelEnvironment.evaluate_kernel.__annotations__, {"source": str, "manifest": str, "return": str})   # TRL makes the tool's schema of them

    def test_grammar(self):
        s = self.serve()
        families = {family["name"]: family["parameters"] for family in s.get("grammar")[1]["families"]}
        self.assertEqual(families["simple"], [])
        values = SCHEDULE.split("/")
        self.assertEqual(sum(not parameter["optional"] for parameter in families["ws"]), len(values) - 1)
        for parameter, value in zip(families["ws"], values[1:]):
            self.assertIn(value, parameter["values"], parameter["name"])
        self.assertEqual(s.get("grammar?family=ws")[0], 400)


class Verifiers(Case):
    """The environment for verifiers without the package: classes of the same names stand for it."""

    def stubs(self):
        class Rubric:
            def __init__(self, funcs, weights):
                self.funcs, self.weights = funcs, weights

        class MultiTurnEnv:
            def __init__(self, dataset, rubric, max_turns, eval_dataset=None):
                self.dataset, self.rubric, self.max_turns, self.eval_dataset = dataset, rubric, max_turns, eval_dataset

            async def setup_state(self, state):
                return state
        verifiers, datasets = types.ModuleType("verifiers"), types.ModuleType("datasets")
        verifiers.Rubric, verifiers.MultiTurnEnv, verifiers.utils = Rubric, MultiTurnEnv, types.SimpleNamespace()
        datasets.Dataset = types.SimpleNamespace(from_list=list)
        for module in (verifiers, datasets):
            sys.modules[module.__name__] = module
            self.addCleanup(sys.modules.pop, module.__name__, None)
        return verifiers

    def score(self, env, state, text):
        async def score():
            return [await func(completion=[{"role": "assistant", "content": text}], info=state["info"], state=state) for func in env.rubric.funcs]
        return asyncio.run(score())

    def test_one_turn(self):
        s = self.serve()
        self.stubs()
        self.environment(GEMMSMITH_SERVE=self.url(s))
        env = verifiers_env.load_environment([PROBLEM], eval_problems=[PROBLEM])
        row = env.dataset[0]
        self.assertEqual(([message["role"] for message in row["prompt"]], row["answer"], len(env.eval_dataset), env.rubric.weights), (["system", "user"], PROBLEM, 1, [1.0, 0.0]))
        s.post("evaluate", {"problem": PROBLEM, "schedule": SCHEDULE})
        state = {"info": row["info"], "prompt": row["prompt"]}
        asyncio.run(env.setup_state(state))
        self.assertIn(f"- {SCHEDULE}: ", state["prompt"][1]["content"])   # made for the rollout, from what is known by then
        self.assertNotIn(SCHEDULE, row["prompt"][1]["content"])
        self.assertEqual(self.score(env, state, f"```schedule\n{SCHEDULE}\n```"), [REWARD, 1.0])
        state = {"info": json.dumps(row["info"]), "prompt": row["prompt"]}
        asyncio.run(env.setup_state(state))
        self.assertEqual(self.score(env, state, "none"), [-1.0, 0.0])

    def test_edits_in_several_turns(self):
        s = self.serve()
        self.stubs()
        self.environment(GEMMSMITH_SERVE=self.url(s), GEMMSMITH_REWARD="headroom")
        env = verifiers_env.load_environment([PROBLEM], mode="edits", turns=2)
        state = {"info": env.dataset[0]["info"], "prompt": env.dataset[0]["prompt"]}
        asyncio.run(env.setup_state(state))
        edits = edits_of(json.loads(state["info"]["parent"]), us=5)
        told = asyncio.run(env.env_response([{"role": "user", "content": "x"}, {"role": "assistant", "content": [{"type": "text", "text": edits}]}], state))
        self.assertRegex(told[0]["content"], r"^Right\. \d+\.\d\d us\.\nReward .*\nMetrics: registers 64.*\nAnswer again")
        best = state["gemmsmith"][0]["reward"]
        self.assertEqual(self.score(env, state, "nothing"), [best, 1.0])   # the best of its attempts
        self.assertEqual(len(state["gemmsmith"]), 2)

    def test_the_machine_s_failure(self):
        s = self.serve("library=1.1;delay=600")
        self.stubs()
        self.environment(GEMMSMITH_SERVE=self.url(s))
        env = verifiers_env.load_environment([PROBLEM], fresh=False, deadline_s=0.1, unknown=0.25)
        state = {"info": env.dataset[0]["info"], "prompt": env.dataset[0]["prompt"]}
        asyncio.run(env.setup_state(state))
        self.assertEqual(self.score(env, state, f"```schedule\n{SCHEDULE}\n```"), [0.25, 0.0])
        self.assertTrue(verifiers_env.say(state["gemmsmith"][0]).startswith("The machine failed"))

    def test_a_release_without_environments(self):
        verifiers = self.stubs()
        del verifiers.MultiTurnEnv
        with self.assertRaisesRegex(ImportError, "gemmsmith-taskset"):
            verifiers_env.load_environment([PROBLEM])


if __name__ == "__main__":
    unittest.main()
