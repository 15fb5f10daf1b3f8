#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trainers' own code, installed from their packages, against gemmsmith serve on the emulated device: verl's reward loop, TRL's GRPOTrainer, OpenRLHF's executor,
OpenEnv's clients, Gymnasium's checker; and docs/howto/recipes in the packages that they are for. scripts/trainers.sh installs and runs it; nothing here is
skipped. Usage: packages.py PROGRAM FAKE_WORKER [unittest's arguments]"""
import asyncio
import gzip
import importlib.metadata
import importlib.util
import json
import math
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import urllib.error
import urllib.request
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
PYTHON = os.path.join(ROOT, "python")
sys.path.insert(0, PYTHON)
sys.dont_write_bytecode = True
os.environ.update(HF_HUB_OFFLINE="1", TRL_EXPERIMENTAL_SILENCE="1", CUDA_VISIBLE_DEVICES="", TOKENIZERS_PARALLELISM="false", RAY_USAGE_STATS_ENABLED="0", WANDB_MODE="disabled",
                  RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0", PYTHONPATH=PYTHON)
warnings.filterwarnings("ignore", category=ResourceWarning)
sys.path.insert(1, os.path.join(HERE, "..", "dataset"))
import recipes  # noqa: E402  takes PROGRAM
import service  # noqa: E402  takes PROGRAM and FAKE_WORKER
from service import TOKEN  # noqa: E402

BUILD = os.path.dirname(service.PROGRAM)

PROBLEM = "f16:32x32x32:tn"
RIGHT = "I take the plain one.\n```schedule\nsimple\n```"
WRONG = "```schedule\nws/nonsense\n```"
NONE = "I do not know."


def setUpModule():
    """One service for all; its worker is the program's own."""
    global folder, served, URL, RIGHTS
    folder = tempfile.mkdtemp(prefix="gs-trainers-")
    served = service.Service(folder, device="emu:h200")
    URL = f"http://127.0.0.1:{served.port}"
    os.environ["GEMMSMITH_SERVE"] = URL
    code, got = served.post("evaluate", {"problem": PROBLEM, "schedule": "simple", "reward": "milestones"})
    assert (code, got["verdict"]) == (200, "pass"), got
    RIGHTS = got["reward"]
    names = ("verl", "trl", "transformers", "torch", "openrlhf", "openenv", "gymnasium", "ray", "aiohttp", "numpy")
    print("packages:", ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names), f"; python {sys.version.split()[0]}", flush=True)


def tearDownModule():
    served.end()
    shutil.rmtree(folder, True)


def tokenizer():
    """Bytes as tokens, with the marks and the template of Qwen3; made here."""
    import tokenizers
    import transformers
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    out = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>", additional_special_tokens=["<|im_start|>"])
    import trl.chat_template_utils
    out.chat_template = trl.chat_template_utils.qwen3_chat_template
    return out


class Verl(unittest.TestCase):
    """verl's configuration, its reward loop, its reward managers."""

    @classmethod
    def setUpClass(cls):
        cls.tokenizer = tokenizer()
        cls.path = os.path.join(folder, "tokenizer")
        cls.tokenizer.save_pretrained(cls.path)

    def config(self, name, *more):
        import hydra
        import verl.trainer
        with hydra.initialize_config_dir(os.path.join(os.path.dirname(verl.trainer.__file__), "config"), version_base=None):
            return hydra.compose("ppo_trainer", [f"actor_rollout_ref.model.path={self.path}", f"reward.custom_reward_function.path={PYTHON}/gemmsmith/reward.py",
                                                 f"reward.custom_reward_function.name={name}", "+reward.custom_reward_function.reward_kwargs.deadline_s=60", "reward.num_workers=1", *more])

    def data(self, *answers):
        """A batch as a rollout leaves it: prompts and responses padded to the same length, and the data set's columns."""
        import numpy
        import torch
        import verl
        ids = [self.tokenizer(answer)["input_ids"] for answer in answers]
        size = max(len(one) for one in ids)
        responses = torch.tensor([one + [self.tokenizer.pad_token_id] * (size - len(one)) for one in ids])
        mask = torch.cat([torch.ones(len(ids), 4, dtype=torch.long), torch.tensor([[1] * len(one) + [0] * (size - len(one)) for one in ids])], 1)
        column = lambda values: numpy.array(values, dtype=object)
        return verl.DataProto.from_dict({"prompts": torch.ones(len(ids), 4, dtype=torch.long), "responses": responses, "attention_mask": mask},
                                        {"data_source": column(["hgemm"] * len(ids)), "reward_model": column([{"style": "rule", "ground_truth": PROBLEM} for _ in ids]),
                                         "extra_info": column([{"index": i} for i in range(len(ids))])})

    def check(self, got):
        self.assertEqual([one["reward_score"] for one in got], [RIGHTS, -1.0, -1.0])
        self.assertEqual([one["reward_extra_info"]["verdict"] for one in got], ["pass", "launch", "text"])
        self.assertEqual(len({tuple(sorted(one["reward_extra_info"])) for one in got}), 1)   # verl makes columns of them

    def test_reward_loop(self):
        from verl.experimental.reward_loop import RewardLoopWorker

        async def run():   # in one event loop, as a worker has: rate_limited has a semaphore for all
            got = {}
            for manager in ("naive", "dapo", "gdpo", "rate_limited"):
                for name in ("compute_score", "compute_score_async"):
                    config = self.config(name, f"reward.reward_manager.name={manager}")
                    got[manager, name] = await RewardLoopWorker(config).compute_score_batch(self.data(RIGHT, WRONG, NONE))
            return got
        for case, got in asyncio.run(run()).items():
            with self.subTest(case):
                self.check(got)

    def test_over_ray(self):
        """The reward loop as a trainer has it: its workers are Ray's, and what they answer becomes tensors."""
        import ray
        from verl.experimental.reward_loop import RewardLoopManager
        for manager, name in (("naive", "compute_score_async"), ("remote", "compute_score")):   # remote: processes of their own under the workers
            with self.subTest(manager=manager):
                ray.init(num_cpus=2, num_gpus=0, include_dashboard=False, logging_level="error", log_to_driver=False, object_store_memory=100 << 20)
                self.addCleanup(ray.shutdown)
                data = self.data(RIGHT, WRONG, NONE)
                got = RewardLoopManager(self.config(name, f"reward.reward_manager.name={manager}")).compute_rm_score(data)
                lengths = data.batch["attention_mask"][:, 4:].sum(1)
                scores = got.batch["rm_scores"]
                self.assertEqual([round(scores[i, lengths[i] - 1].item(), 6) for i in range(3)], [round(RIGHTS, 6), -1.0, -1.0])
                self.assertEqual(scores.count_nonzero().item(), 3)
                self.assertEqual(list(got.non_tensor_batch["verdict"]), ["pass", "launch", "text"])
                ray.shutdown()

    def test_batch_manager(self):
        """Of older configurations: one call for the batch."""
        from gemmsmith import reward
        from verl.workers.reward_manager import get_reward_manager_cls
        manager = get_reward_manager_cls("batch")(self.tokenizer, 0, reward.compute_score_batch)
        got = manager(self.data(RIGHT, WRONG, NONE), return_dict=True)
        self.assertEqual([round(value, 6) for value in got["reward_tensor"].sum(1).tolist()], [round(RIGHTS, 6), -1.0, -1.0])
        self.assertEqual(got["reward_extra_info"]["verdict"], ["pass", "launch", "text"])


class Trl(unittest.TestCase):
    """GRPOTrainer with a model of two layers: its rollouts are given, its rewards, losses and steps are its own."""

    def train(self, answers, conversational=True, steps=2, length=128, **named):
        import datasets
        import transformers
        import trl
        words = tokenizer()
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
                                                                       num_key_value_heads=2, max_position_embeddings=4096))
        prompt = [{"role": "user", "content": "Write a kernel."}] if conversational else "Write a kernel: "
        rows = datasets.Dataset.from_list([{"prompt": prompt, "problem": PROBLEM}] * 4)
        args = trl.GRPOConfig(os.path.join(folder, "trl"), use_cpu=True, bf16=False, max_steps=steps, per_device_train_batch_size=4, num_generations=4, max_completion_length=length,
                              logging_steps=1, report_to=[], save_strategy="no", disable_tqdm=True, gradient_checkpointing=False, learning_rate=1e-3, loss_type="grpo")

        def rollout(prompts, trainer):
            text = [words.apply_chat_template(one, add_generation_prompt=True, tokenize=False, tools=trainer.tools or None) if conversational else one for one in prompts]
            ids = [words(answers[i % len(answers)] + words.eos_token)["input_ids"] for i in range(len(prompts))]
            return {"prompt_ids": [words(one)["input_ids"] for one in text], "completion_ids": ids, "logprobs": None}
        trainer = trl.GRPOTrainer(model, args=args, train_dataset=rows, processing_class=words, rollout_func=rollout if answers else None, **named)
        trainer.train()
        return trainer, [entry for entry in trainer.state.log_history if "reward" in entry]

    def test_reward_functions(self):
        from gemmsmith import reward
        for function in (reward.trl_reward, reward.trl_reward_async):
            for conversational in (True, False):
                with self.subTest(function=function.__name__, conversational=conversational):
                    trainer, log = self.train([RIGHT, WRONG, NONE, RIGHT], conversational, reward_funcs=function)
                    self.assertEqual(trainer.state.global_step, 2)
                    for entry in log:
                        self.assertAlmostEqual(entry["reward"], (2 * RIGHTS - 2) / 4, 5)
                        self.assertAlmostEqual(entry[f"rewards/{function.__name__}/mean"], (2 * RIGHTS - 2) / 4, 5)
                        self.assertAlmostEqual(entry["gemmsmith/passed"], 0.5)
                        self.assertGreater(entry["grad_norm"], 0)   # a reward that differs within the group moves the model

    def test_what_a_model_of_two_layers_writes(self):
        from gemmsmith import reward
        log = self.train([], True, 1, reward_funcs=reward.trl_reward_async)[1]
        self.assertEqual((log[0]["reward"], log[0]["gemmsmith/passed"]), (-1.0, 0.0))

    def test_the_service_s_failure_is_no_reward(self):
        """None becomes NaN, which the trainer leaves out of the group."""
        import functools
        from gemmsmith import reward
        slow = functools.partial(reward.trl_reward, deadline_s=0.0)
        trainer, _ = self.train([RIGHT], True, 1, reward_funcs=reward.trl_reward)
        problem = f"f16:{33}x33x33:tn"   # not evaluated before
        rewards = trainer._calculate_rewards([{"prompt": "p", "problem": problem}] * 2, ["p"] * 2, [RIGHT, NONE], [[1], [1]])
        self.assertEqual(rewards[1].item(), -1.0)
        trainer.reward_funcs[0] = slow
        rewards = trainer._calculate_rewards([{"prompt": "p", "problem": "f16:64x64x256:tn"}] * 2, ["p"] * 2, [RIGHT, NONE], [[1], [1]])
        self.assertTrue(rewards[0].isnan().item())

    def test_environment(self):
        from gemmsmith.trl_env import KernelEnvironment

        class Tested(KernelEnvironment):
            turns = 2
            mode = None   # the whole prompt is longer than so small a model reads; tests/service/trainers.py has it
            made = []

            def __init__(self):
                super().__init__()
                self.made.append(self)

        call = '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'
        right, wrong = call % ("evaluate_schedule", '{"schedule": "simple"}'), call % ("evaluate_schedule", '{"schedule": "ws/nonsense"}')
        kernel = call % ("evaluate_kernel", '{"source": "int", "manifest": "manifest"}')
        trainer, log = self.train([right, wrong, kernel, NONE], True, 1, 320, environment_factory=Tested)
        self.assertAlmostEqual(log[0]["rewards/Tested/mean"], (RIGHTS - 3) / 4, 5)
        self.assertEqual((log[0]["tools/call_frequency"], log[0]["tools/failure_frequency"]), (0.75, 0.0))
        self.assertEqual([one._episode.last and one._episode.last["verdict"] for one in Tested.made], ["pass", "launch", "launch", None])
        self.assertEqual(sorted(tool.__name__ for tool in trainer.tools), ["evaluate_edits", "evaluate_kernel", "evaluate_schedule"])
        self.assertEqual([one._episode.left for one in Tested.made], [1, 1, 1, 2])


class OpenRlhf(unittest.TestCase):
    """The executor that asks a URL for rewards, with an engine that answers what it is told."""

    def execute(self, url, answer):
        from openrlhf.utils.agent import SingleTurnAgentExecutor
        words = tokenizer()
        ids = words(answer + words.eos_token)["input_ids"]

        class Engine:
            async def generate(self, prompt, params, multi_modal_data=None):
                return types.SimpleNamespace(outputs=[types.SimpleNamespace(token_ids=ids, text=answer, finish_reason="stop", logprobs=None)])
        prompt = words.apply_chat_template([{"role": "user", "content": f"Write a kernel. For example:\n{RIGHT}"}], tokenize=False, add_generation_prompt=True)
        params = types.SimpleNamespace(max_tokens=2000, logprobs=None)
        return asyncio.run(SingleTurnAgentExecutor(url).execute(prompt, PROBLEM, params, 4096, words, Engine()))

    def test_rewards(self):
        for answer, want in ((RIGHT, RIGHTS), (WRONG, -1.0), (NONE, -1.0)):
            got = self.execute(URL + "/v1/adapters/openrlhf", answer)
            self.assertEqual((got["reward"], got["scores"]), ([want], [(want + 1) / 2]), answer)
            self.assertEqual(got["extra_logs"]["passed"], [float(answer == RIGHT)])
            import torch   # what its SamplesGenerator, which is not to be imported without vLLM, makes of them
            for value in (got["reward"], got["scores"], *got["extra_logs"].values()):
                self.assertEqual(torch.tensor([value]).dtype, torch.float32)

    def test_a_token_in_the_url(self):
        own = tempfile.mkdtemp(prefix="gs-trainers-")
        self.addCleanup(shutil.rmtree, own, True)
        s = service.Service(own, device="emu:h200", token=TOKEN)
        self.addCleanup(s.end)
        self.assertEqual(self.execute(f"http://any:{TOKEN}@127.0.0.1:{s.port}/v1/adapters/openrlhf?reward=headroom", NONE)["reward"], [-1.0])

    def test_the_recorded_request_is_what_is_sent(self):
        from openrlhf.utils.agent import SingleTurnAgentExecutor
        with open(os.path.join(HERE, "trainers", "openrlhf.http"), "rb") as file:
            recorded = file.read()
        body = json.loads(recorded.split(b"\r\n\r\n", 1)[1])
        with socket.create_server(("127.0.0.1", 0)) as listener:
            got = []

            def answer():
                connection, _ = listener.accept()
                with connection:
                    data = b""
                    while len(data.partition(b"\r\n\r\n")[2]) < len(recorded.partition(b"\r\n\r\n")[2]):
                        data += connection.recv(65536)
                    got.append(data)
                    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}')
            thread = threading.Thread(target=answer)
            thread.start()
            port = listener.getsockname()[1]
            asyncio.run(SingleTurnAgentExecutor(f"http://127.0.0.1:{port}/v1/adapters/openrlhf")._fetch_rewards_via_http(body["query"], body["prompts"], body["labels"]))
            thread.join()
        self.assertEqual(got[0].replace(b"127.0.0.1:%d" % port, b"127.0.0.1:7811"), recorded)


class OpenEnv(unittest.TestCase):
    """OpenEnv's clients against its server with our environment, in a process of its own."""

    @classmethod
    def setUpClass(cls):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        cls.url = f"http://127.0.0.1:{port}"
        cls.process = subprocess.Popen([sys.executable, "-m", "gemmsmith.openenv", "--port", str(port), "--serve", URL, "--turns", "2", PROBLEM])
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(cls.url + "/health", timeout=5).close()
                return
            except OSError:
                if time.monotonic() > end or cls.process.poll() is not None:
                    raise
                time.sleep(0.1)

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait(20)

    def test_generic_client(self):
        from openenv.core.generic_client import GenericEnvClient
        with GenericEnvClient(self.url, message_timeout_s=120).sync() as env:
            first = env.reset(seed=1)
            self.assertEqual((first.observation["problem"], first.observation["turns_left"], first.reward, first.done), (PROBLEM, 2, None, False))
            self.assertIn("2 evaluations", first.observation["feedback"])
            self.assertEqual([message["role"] for message in first.observation["messages"]], ["system", "user"])
            got = env.step({"completion": RIGHT})
            self.assertEqual((got.reward, got.done, got.observation["correctness_pass"], got.observation["verdict"]), (RIGHTS, False, True, "pass"))
            self.assertGreater(got.observation["metrics"]["registers"], 0)
            with self.assertRaisesRegex(RuntimeError, "VALIDATION_ERROR"):
                env.step({"shell": "rm"})
            got = env.step({"completion": NONE})
            self.assertEqual((got.reward, got.done, got.observation["compilation_success"]), (-1.0, True, False))
            state = env.state()
            self.assertEqual((state["step_count"], state["best_reward"], state["best_candidate"]), (2, RIGHTS, "simple"))
            self.assertEqual(env.step({"schedule": "simple"}).done, True)
            self.assertEqual(env.reset(problem="64_64_64", turns=1).observation["problem"], "f16:64x64x64:nn")
            self.assertTrue(env.step({"source": "int", "manifest": "manifest"}).done)
            self.assertIn("Answer with edits", env.reset(problem=PROBLEM, mode="edits").observation["messages"][1]["content"])

    def test_typed_clients_at_once(self):
        from gemmsmith.openenv import KernelAction, KernelEnv

        async def one(number):
            async with KernelEnv(self.url, message_timeout_s=120) as env:
                await env.reset(problem=PROBLEM)
                got = await env.step(KernelAction(schedule="simple" if number % 2 else "ws/nonsense"))
                return got.reward, got.observation.verdict, (await env.state()).step_count

        async def all_of_them():
            return await asyncio.gather(*(one(i) for i in range(12)))
        self.assertEqual(asyncio.run(all_of_them()), [(-1.0, "launch", 1), (RIGHTS, "pass", 1)] * 6)

    def test_http(self):
        import requests
        self.assertEqual(requests.get(self.url + "/health", timeout=30).json()["status"], "healthy")
        self.assertEqual(requests.post(self.url + "/reset", json={"problem": PROBLEM}, timeout=30).json()["observation"]["problem"], PROBLEM)
        self.assertEqual(requests.post(self.url + "/step", json={"action": {"schedule": "simple"}, "timeout_s": 60}, timeout=90).json()["reward"], RIGHTS)
        self.assertIn("schedule", requests.get(self.url + "/schema", timeout=30).json()["action"]["properties"])
        self.assertEqual(requests.get(self.url + "/metadata", timeout=30).json()["name"], "gemmsmith")
        self.assertEqual(requests.get(self.url + "/state", timeout=30).status_code, 200)


class Gymnasium(unittest.TestCase):
    def make(self, **named):
        import gymnasium
        import gemmsmith.gym
        return gymnasium.make("gemmsmith/Schedule-v0", problems=[PROBLEM, "f16:32x48x64:nn"], reward="milestones", **named)

    def test_checker(self):
        from gymnasium.utils.env_checker import check_env
        for named in ({}, {"actions": "text"}, {"turns": 3, "render_mode": "ansi"}):
            with self.subTest(**named), warnings.catch_warnings():
                warnings.simplefilter("error")
                check_env(self.make(**named).unwrapped, skip_render_check=not named.get("render_mode"))

    def test_episode(self):
        env = self.make(turns=2, render_mode="ansi")
        seen, info = env.reset(seed=3, options={"problem": PROBLEM})
        self.assertEqual(info, {"problem": PROBLEM})
        self.assertIn(PROBLEM, self.make(prompts=True).reset(options={"problem": PROBLEM})[1]["messages"][1]["content"])
        own = env.unwrapped
        self.assertEqual(own.schedule_string(own.action("ws/128x256x64/s4/c2x1/coop/g8")), "ws/128x256x64/s4/c2x1/coop/g8")
        seen, reward, terminated, truncated, info = env.step(own.action("simple"))
        self.assertEqual((reward, terminated, truncated, info["verdict"], info["schedule"]), (RIGHTS, False, False, "pass", "simple"))
        self.assertIn("Right.", env.render())
        self.assertAlmostEqual(float(seen[-2]), RIGHTS, 5)
        seen, reward, terminated, truncated, info = env.step(own.action("ws/128x256x64/s4/c2x1/coop/g8"))
        self.assertEqual((terminated, truncated, own.observation_space.contains(seen)), (True, False, True))
        import gymnasium
        with self.assertRaises(gymnasium.error.ResetNeeded):
            own.step(own.action("simple"))

    def test_vectors(self):
        import functools
        import gymnasium
        make = functools.partial(self.make, turns=1)
        for kind in (gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv):
            with self.subTest(kind=kind.__name__):
                envs = kind([make] * 3)
                self.addCleanup(envs.close)
                seen, _ = envs.reset(seed=1)
                self.assertEqual(seen.shape, (3, 14))
                action = envs.single_action_space.sample() * 0   # the first family: simple
                seen, rewards, terminated, _, infos = envs.step([action] * 3)
                self.assertEqual((list(infos["verdict"]), list(terminated)), (["pass"] * 3, [True] * 3))
                self.assertTrue((rewards > -1).all())


class Trained(unittest.TestCase):
    """python/trained, each stage as its how-to calls it, with a model of two layers, short prompts and few lessons: the loss falls, two steps of reinforcement are rewarded by
    the service, proposals are judged, and gemmsmith tune asks the shipped model."""
    TIMES = {f"mma/16x16x64/w1x1/s{s}/{g}": 3 + s for s in (2, 3, 4, 5) for g in ("g1", "g2", "h1")}
    ASK = "{{problem}}\n\n# What was measured\n\n{{measured}}\n# What failed\n\n{{failed}}{{dropped}}\n# Question\n\n{{count}} schedules.\n"

    @classmethod
    def setUpClass(cls):
        cls.at = os.path.join(folder, "trained")
        cls.out = os.path.join(cls.at, "out")
        os.makedirs(cls.out)
        with open(os.path.join(cls.at, "times.csv"), "w", encoding="utf-8") as file:
            file.write("group,problem,schedule,us\n")
            for group, problem in enumerate(("f16:32x32x64:tn", "f16:32x32x64:nn", "bf16:32x32x64:tn"), 1):
                for schedule, us in cls.TIMES.items():
                    file.write(f"{group},{problem},{schedule},{us}\n")
        prompts = os.path.join(cls.at, "prompts")
        shutil.copytree(os.path.join(ROOT, "share", "prompts"), prompts)
        for name, text in (("ask", cls.ASK), ("system", "Choose.\n")):
            with open(os.path.join(prompts, f"schedules-{name}.md"), "w", encoding="utf-8") as file:
                file.write(text)
        with open(os.path.join(cls.at, "test.txt"), "w", encoding="utf-8") as file:
            file.write("f16:48x80x96:tn\n")
        timer = os.path.join(cls.at, "timer")
        with open(timer, "w", encoding="utf-8") as file:   # predicted times in place of a GPU's
            file.write(f'#!/bin/sh\n[ "$1" = time ] || exit 0\n"{BUILD}/tools/predict_pairs" <"$2" | cut -d, -f1 | paste -d, "$2" -\n')
        os.chmod(timer, 0o755)
        cls.environment = {**os.environ, "OUT": cls.out, "BUILD": BUILD, "PYTHON": sys.executable, "TEST": os.path.join(cls.at, "test.txt"), "SEEDS": "1", "ARMS": "imitation rl rl-surrogate",
                           "TIMES": os.path.join(cls.at, "times.csv"), "GEMMSMITH_PROMPTS": prompts, "TRAIN": "", "TIMER": timer, "STEPS": "160", "ROLLOUTS": "2", "HOME": cls.at,
                           "XDG_DATA_HOME": cls.at, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def stage(self, *arguments, **named):
        run = subprocess.run(["sh", os.path.join(ROOT, "python", "trained", "run.sh"), *arguments], cwd=ROOT, env={**self.environment, **named}, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def entries(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def reinforced(self, arm):
        with open(os.path.join(self.out, f"{arm}.1", "trainer_state.json"), encoding="utf-8") as file:
            state = json.load(file)
        self.assertEqual(state["global_step"], 2)
        return [entry for entry in state["log_history"] if "reward" in entry]

    def test_all_stages(self):
        self.assertRegex(self.stage("data", "--each", "60", "--random", "2", "--jobs", "1"), r"\n?\d+ lessons")
        self.stage("imitate", MORE="--size tiny --vocabulary 700 --batch 8 --rate 5e-3 --every 20")
        losses = [entry["loss"] for entry in self.entries("imitation.1/log.jsonl") if "loss" in entry]
        self.assertLess(losses[-1], 0.4 * losses[0])
        self.goes_on(losses)

        self.questions_of_small_problems()
        self.stage("reinforce", MORE="--problems 2 --samples 8 --at-once 8 --save 1 --length 40")
        for arm in ("rl", "rl-surrogate"):
            entries = self.reinforced(arm)
            self.assertEqual(len(entries), 2)
            for entry in entries:
                self.assertLessEqual({"kl", "entropy", "gemmsmith/passed", "gemmsmith/distinct", "gemmsmith/best"}, set(entry))
            self.assertGreater(max(entry["gemmsmith/passed"] for entry in entries), 0)
            self.assertGreater(max(entry["reward"] for entry in entries), -1)

        self.assertIn("| rl | 1 | 1 |", self.stage("evaluate", ARMS="imitation rl"))
        self.rounds()
        self.assertRegex(self.stage("ship", "rl", "1"), r"model\.safetensors: 0\.\d MB")
        self.ask()

    def goes_on(self, losses):
        """What was saved is what was learned: the next steps begin where the last ones ended, and who knows the kind of model only makes the same tokens."""
        os.remove(os.path.join(self.out, "imitation.1", "done"))
        self.stage("imitate", MORE="--size tiny --batch 8 --rate 5e-3 --every 5", STEPS="170")
        more = [entry["loss"] for entry in self.entries("imitation.1/log.jsonl") if "loss" in entry][len(losses):]
        self.assertEqual(len(more), 2)
        self.assertLess(max(more), 1.5 * losses[-1])
        import transformers
        path = os.path.join(self.out, "imitation.1")
        with open(os.path.join(self.out, "data", "test.jsonl"), encoding="utf-8") as file:
            text = json.loads(file.readline())["prompt"][1]["content"]
        self.assertEqual(transformers.AutoTokenizer.from_pretrained(path)(text)["input_ids"], transformers.PreTrainedTokenizerFast.from_pretrained(path)(text)["input_ids"])

    def questions_of_small_problems(self):
        """Random sizes, which the emulated device would take minutes for, are left out."""
        path = os.path.join(self.out, "data", "questions.jsonl.gz")
        with gzip.open(path, "rt", encoding="utf-8") as file:
            small = [line for line in file if ":32x32x64:" in line]
        self.assertTrue(small)
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.writelines(small)

    def rounds(self):
        """Reinforcement in rounds: what is answered is timed and learned from, and the model that comes out answers; asked again until they are, all proposals are schedules."""
        self.stage("rounds", MORE="--rounds 2 --questions 1 --draws 16 --most 6 --batch 1 --passes 2 --cores 1", WITHIN="100")
        entries = self.entries("rl-rounds.1/log.jsonl")
        self.assertEqual([entry.get("round") for entry in entries], [0, 1, None])
        self.assertGreater(entries[-1]["step"], 0)
        losses = [entry["loss"] for entry in entries if "loss" in entry]
        self.assertTrue(losses and all(map(math.isfinite, losses)), entries)
        self.assertTrue(all(0 < entry["distinct"] <= entry["valid"] <= 1 for entry in entries[:2]))
        with gzip.open(os.path.join(self.out, "rl-rounds.1", "times.csv.gz"), "rt", encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), sum(entry.get("pairs", 0) for entry in entries))
        self.stage("imitate", ARMS="imitation rl-rounds-no-examples", MORE="--size tiny --vocabulary 700 --batch 8 --rate 5e-3 --every 20")
        self.stage("rounds", ARMS="imitation rl-rounds-no-examples rl-rounds-surrogate", MORE="--rounds 1 --questions 1 --draws 16 --most 6 --batch 1 --passes 1 --cores 1", WITHIN="100")
        for arm in ("rl-rounds-no-examples", "rl-rounds-surrogate"):
            self.assertEqual([entry.get("round") for entry in self.entries(f"{arm}.1/log.jsonl")], [0, None], arm)
        shutil.rmtree(os.path.join(self.out, "proposals"))
        self.assertIn("| rl-rounds | 1 | 1 |", self.stage("evaluate", ARMS="imitation rl-rounds", VALID="1"))
        for arm in ("imitation", "rl-rounds"):
            with open(os.path.join(self.out, "proposals", f"{arm}.1.csv"), encoding="utf-8") as file:
                text = file.read()
            said = subprocess.run([os.path.join(BUILD, "tools", "predict_pairs")], input=text, check=True, text=True, stdout=subprocess.PIPE).stdout
            self.assertTrue(text)
            self.assertNotIn("0,0", said.splitlines())

    def test_edits(self):
        """Edit mode with a model of two layers, answers that are written for it and a scripted service: what is faster becomes more probable, what does not pass less."""
        before, sys.argv = sys.argv, ["edits.py", os.path.join(BUILD, "gemmsmith")]
        try:
            spec = importlib.util.spec_from_file_location("edits_test", os.path.join(ROOT, "tests", "dataset", "edits.py"))
            scripted = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(scripted)
        finally:
            sys.argv = before
        import model
        service, source = scripted.Service({"BM": 128, "BN": 64, "SHARES": 4, "STAGES": 8, "wait": "1", "bounds": "1"}), random.Random(1)

        def answers(_, __, prompts, count=1, **___):
            parents = [scripted.asked_of(prompt[0]["content"].partition("\n")[0], prompt[0]["content"]) for prompt in prompts]
            return [[(scripted.edits.answer(one, scripted.any_variant(source, one.problem, one.kernel.name, one.values)), -source.random()) for _ in range(count - 1)] + [("junk", -9.0)] for one in parents]
        for place, name, value in ((scripted.edits.reward, "evaluate", service.evaluate), (model, "answers", answers)):
            self.addCleanup(setattr, place, name, getattr(place, name))
            setattr(place, name, value)
        data, start, out = (pathlib.Path(self.at, name) for name in ("edits", "edits-imitation.1", "edits-rl.1"))
        scripted.run_stage("gather", data, "--problems", 4, "--each", 8, "--tests", 2, "--unseen", 1, "--lessons", 20)
        subprocess.run([sys.executable, os.path.join(ROOT, "python", "trained", "imitate.py"), data, start, "--size", "tiny", "--steps", "20", "--batch", "4", "--device", "cpu"], check=True,
                       stdout=subprocess.DEVNULL, env=self.environment)
        said = scripted.run_stage("reinforce", data, start, out, "--rounds", 2, "--parents", 5, "--draws", 6, "--most", 4, "--passes", 6, "--rate", "2e-3", "--device", "cpu")
        entries = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
        self.assertEqual([entry["round"] for entry in entries], [0, 1], said)
        self.assertLess(entries[1]["loss"], entries[0]["loss"])
        self.assertTrue(all(0 < entry["passed"] < 1 and entry["best"] > 0 for entry in entries), said)
        self.assertEqual(len((out / "edits.jsonl").read_text().splitlines()), 40)
        self.assertIn("edits of 3 parents", scripted.run_stage("propose", data, out, os.path.join(self.at, "rl.1.jsonl"), "--device", "cpu"))

    def test_brief_words(self):
        """Words made of brief questions say so when they are read again, and questions are shown so; others are shown whole."""
        sys.path.insert(0, os.path.join(ROOT, "python", "trained"))
        import model
        text = "# Problem\n\nf16:64x64x64:tn\n\n# Grammar\n\nlong\n\n# What was measured\n\nNothing yet.\n\n# Question\n\n1.\n"
        lessons = os.path.join(self.at, "lessons.jsonl")
        prompt = [{"role": "system", "content": "s"}, {"role": "user", "content": text}]
        with open(lessons, "w", encoding="utf-8") as file:
            file.write(json.dumps({"prompt": prompt, "completion": [{"role": "assistant", "content": "a"}]}) + "\n")
        for short in (True, False):
            path = os.path.join(self.at, f"words.{short}")
            model.train_tokenizer([lessons], 300, short=short).save_pretrained(path)
            words = model.load_words(path)
            self.assertEqual(model.is_brief(words), short)
            self.assertEqual("long" in model.text_of(words, prompt), not short)

    def test_even_lessons(self):
        """A pass has as many lessons of each class of alignment, all of those of the rarest."""
        import random

        import numpy
        sys.path.insert(0, os.path.join(ROOT, "python", "trained"))
        import imitate
        classes = [64] * 20 + [8] * 4 + [1] * 6
        examples = imitate.Examples(numpy.zeros(30, dtype=numpy.uint16), numpy.arange(31), numpy.zeros(30, dtype=numpy.int64), numpy.array(classes))
        chosen = imitate.one_pass(examples, random.Random(1), True)
        self.assertEqual([sum(classes[i] == one for i in chosen) for one in (64, 8, 1)], [10, 10, 10])
        self.assertLessEqual(set(range(20, 30)), set(chosen))
        self.assertEqual(sorted(imitate.one_pass(examples, random.Random(1), False)), list(range(30)))

    def test_answers_side_by_side(self):
        """A row that has all answers to a question gives each the probability that it has alone; the loss leads to the fastest."""
        import torch
        import transformers
        sys.path.insert(0, os.path.join(ROOT, "python", "trained"))
        import model
        import rounds
        made = model.create("tiny", 300, 1)
        torch.manual_seed(1)
        examples = [(torch.randint(5, 300, (length,)).tolist(), [torch.randint(5, 300, (n,)).tolist() for n in (3, 5, 2)], [0.7, 0.2, 0.1]) for length in (7, 150, 40)]
        got = rounds.probabilities(made, examples, torch.device("cpu"))
        for i, (asked, answer) in enumerate((asked, answer) for asked, answered, _ in examples for answer in answered):
            logits = made(input_ids=torch.tensor([asked + answer])).logits[0, len(asked) - 1:-1].log_softmax(-1)
            self.assertAlmostEqual(got[i].item(), logits.gather(1, torch.tensor(answer)[:, None]).sum().item(), places=3)
        optimizer = torch.optim.Adam(made.parameters(), lr=1e-3)
        for _ in range(60):
            loss = rounds.loss_of(made, examples, torch.device("cpu"), 0.5)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        got = rounds.probabilities(made, examples, torch.device("cpu")).detach().view(3, 3).softmax(1)
        self.assertTrue(bool((got.argmax(1) == 0).all() and (got[:, 1] > got[:, 2]).all()), got)

    def ask(self):
        endpoint = subprocess.Popen(["sh", os.path.join(ROOT, "python", "trained", "run.sh"), "endpoint", "--port", "0"], cwd=ROOT, env=self.environment, text=True, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)
        try:
            url = endpoint.stdout.readline().split()[-1]
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", b'{"messages": "no"}'), timeout=60)
            self.assertEqual(refused.exception.code, 400)
            refused.exception.close()
            got = subprocess.run([service.PROGRAM, "tune", "f16:32x32x64:tn", "--device", "emu:h200", "--policy", "llm", "--llm-url", url, "--llm-model", "trained", "--llm-budget",
                                  "requests=4", "--candidates", "8", "--store", "tune.db", "--tuned", "t.tuned", "--json"], cwd=self.at, env=self.environment, check=True, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertIn("f16:32x32x64:tn", got.stdout)
            rows = subprocess.run([service.PROGRAM, "export", "trajectories", "--store", "tune.db", "--split", "all", "--predicted"], cwd=self.at, env=self.environment, check=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            turns = [row for row in map(json.loads, rows.splitlines()) if row["kind"] == "turn"]
            self.assertTrue(turns)
            self.assertTrue(any(not row["fault"] for row in turns), turns)   # an answer that could be read
        finally:
            endpoint.terminate()
            endpoint.wait(20)
            endpoint.stdout.close()


class Recipes(recipes.Recipes):
    """docs/howto/recipes: their data as Parquet, their configurations as verl and TRL read them."""

    def test_parquet(self):
        import pyarrow.parquet
        for name in ("schedule-train", "source-held_out", "winners"):
            to = os.path.join(self.folder.name, name + ".parquet")
            subprocess.run([sys.executable, os.path.join(recipes.RECIPES, "to_parquet.py"), os.path.join(self.folder.name, "data", name + ".jsonl"), to], check=True)
            self.assertEqual(pyarrow.parquet.read_table(to).to_pylist(), self.rows(name + ".jsonl"))

    def test_verl(self):
        from hydra import compose, initialize_config_dir
        with initialize_config_dir(config_dir=recipes.RECIPES, version_base=None):
            config = compose(config_name="verl-rloo", overrides=["actor_rollout_ref.model.path=m", "reward.custom_reward_function.path=p", "trainer.nnodes=4"])
        self.assertEqual((config.algorithm.adv_estimator, config.actor_rollout_ref.rollout.n, config.trainer.nnodes), ("rloo", 16, 4))

    def test_trl(self):
        import trl
        for kind, arguments, columns in (("sft", trl.SFTConfig, ["prompt", "completion"]), ("rloo", trl.RLOOConfig, ["prompt", "problem"]),
                                         ("dpo", trl.DPOConfig, ["prompt", "chosen", "rejected"])):
            script = importlib.import_module("trl.scripts." + kind)
            parser = trl.TrlParser(dataclass_types=[getattr(script, "RLOOScriptArguments", trl.ScriptArguments), arguments, trl.ModelConfig, trl.DatasetMixtureConfig])
            _, got, _, data = parser.parse_args_and_config(["--config", os.path.join(recipes.RECIPES, f"trl-{kind}.yaml"), "--output_dir", self.folder.name,
                                                            "--model_name_or_path", "m", "--bf16", "false", "--use_cpu", "true"])
            self.assertEqual(data.datasets[0].columns, columns)
            self.assertGreater(got.learning_rate, 0)


if __name__ == "__main__":
    unittest.main()
