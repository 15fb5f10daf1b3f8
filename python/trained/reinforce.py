#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stage 3, reinforcement: TRL's RLOOTrainer, rewards of gemmsmith serve ($GEMMSMITH_SERVE), from a model of stage 2.

    reinforce.py DATA FROM OUT [--arm rl] [--judge evaluate] [--steps 120] [--seconds S] [--seed 1]

Arms: rl; rl-no-examples and rl-no-metrics, whose questions show less (begin from a model that learned the same arm); rl-surrogate, whose rewards are predicted times
of --predict "build/release/tools/predict_pairs tuned/nvidia-h200.weights". --judge: evaluate proves and times each answer beside cuBLASLt, races times all answers to a question together. OUT gets TRL's checkpoints, whose trainer_state.json gemmsmith report reads; the same command goes on
from the last one, and OUT itself is the model at the end.
"""
import argparse
import functools
import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import datasets
import transformers
import trl

from common import ARMS, rows, schedules
from gemmsmith import reward as service
from model import device_of, load_words, shown
from predicted import Predicted
from races import Races

LEAST_BETA = 0.02


class PredictedRewards(Predicted):
    """Rewards of predicted times: 1 at the floor, 0 at ten times the floor, -1 for what is no schedule of the problem; as rewards of an emulated device."""

    def __call__(self, problems, texts):
        out = []
        for problem, text in zip(problems, texts, strict=True):
            us, floor_us = self.us(problem, (schedules(text) or [""])[0])
            out.append({"reward": max(-1.0, min(1.0, 1 - math.log10(us / floor_us))) if us > 0 else -1.0, "verdict": "pass" if us > 0 else "text"})
        return out


def judge_of(asked):
    if asked.arm == "rl-surrogate":
        return PredictedRewards(asked.predict)
    if asked.judge == "races":
        return Races(asked.reward, asked.deadline)
    return functools.partial(service.score, reward=asked.reward, deadline_s=asked.deadline)


def figures(problems, texts, results, log_metric):
    """What tells learning from collapse, beside what TRL logs itself."""
    groups = {}
    for problem, text, result in zip(problems, texts, results, strict=True):
        groups.setdefault(problem, []).append((text, result["reward"]))
    known = [[reward for _, reward in group if reward is not None] for group in groups.values()]
    best = [max(rewards) for rewards in known if rewards]
    log_metric("gemmsmith/passed", sum(result["verdict"] in ("pass", "timed") for result in results) / len(results))
    log_metric("gemmsmith/distinct", sum(len({text for text, _ in group}) for group in groups.values()) / len(texts))
    if best:
        log_metric("gemmsmith/best", sum(best) / len(best))
    floor = [result["floor"] for result in results if (result.get("floor") or -1) > -1]
    if floor:
        log_metric("gemmsmith/floor", sum(floor) / len(floor))


def rewarded(judge, prompts, completions, problem, log_metric=None, **_):
    texts = [completion[-1]["content"] for completion in completions]
    results = judge(problem, texts)
    if log_metric:
        figures(problem, texts, results, log_metric)
    return [result["reward"] for result in results]


class Until(transformers.TrainerCallback):
    """Saves and stops when the time is up."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def on_step_end(self, args, state, control, **_):
        if time.monotonic() > self.end:
            control.should_save = control.should_training_stop = True


def settings(asked, device):
    whole = asked.problems * asked.samples
    each = math.gcd(whole, asked.at_once)
    return trl.RLOOConfig(
        output_dir=str(asked.out), max_steps=asked.steps, seed=asked.seed, learning_rate=asked.rate, lr_scheduler_type="constant_with_warmup", warmup_steps=5, max_grad_norm=0.5,
        num_generations=asked.samples, per_device_train_batch_size=each, gradient_accumulation_steps=whole // each, max_completion_length=asked.length, temperature=1.0, beta=asked.beta,
        epsilon=0.2, epsilon_high=0.28, normalize_advantages=False, logging_steps=1, save_steps=asked.save, save_total_limit=2, report_to=asked.report_to.split(",") if asked.report_to else [],
        use_cpu=device.type == "cpu", bf16=device.type == "cuda", gradient_checkpointing=False, disable_tqdm=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("start", type=Path, metavar="FROM")
    parser.add_argument("out", type=Path)
    parser.add_argument("--arm", choices=[arm for arm, edit in ARMS.items() if edit and not arm.startswith("rl-rounds")], default="rl")
    parser.add_argument("--judge", choices=("evaluate", "races"), default="evaluate")
    parser.add_argument("--reward", default="headroom", help="of the service, or share with --judge races: by the fastest answer to the question")
    parser.add_argument("--deadline", type=float, default=600.0)
    parser.add_argument("--predict", default="build/release/tools/predict_pairs tuned/nvidia-h200.weights")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--problems", type=int, default=32, help="of a step")
    parser.add_argument("--samples", type=int, default=16, help="of a problem")
    parser.add_argument("--at-once", type=int, default=64, help="completions in one backward pass")
    parser.add_argument("--length", type=int, default=48, help="tokens of an answer")
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--beta", type=float, default=LEAST_BETA, help="weight of the KL term")
    parser.add_argument("--most", type=int, help="questions at most")
    parser.add_argument("--save", type=int, default=10, help="steps between checkpoints")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop then, to be continued")
    parser.add_argument("--report-to", default="", help="tensorboard, wandb")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device")
    asked = parser.parse_args()
    if asked.beta < LEAST_BETA:
        parser.error(f"--beta: {LEAST_BETA} at least; below it the model forgets what it imitated")
    if asked.reward == "share" and asked.judge != "races":
        parser.error("--reward share: with --judge races only")
    device, edit = device_of(asked.device), ARMS[asked.arm]
    words = load_words(asked.start)
    questions = [{"prompt": shown(words, edit(row["prompt"])), "problem": row["problem"]} for _, row in zip(range(asked.most or sys.maxsize), rows(asked.data / "questions.jsonl.gz"))]
    function = functools.partial(rewarded, judge_of(asked))
    function.__name__ = asked.arm.replace("-", "_")
    # eager: a question that is padded has rows that see nothing, of which the gradient of faster ones is NaN on a GPU
    trainer = trl.RLOOTrainer(transformers.LlamaForCausalLM.from_pretrained(asked.start, attn_implementation="eager"), reward_funcs=function, args=settings(asked, device), processing_class=words,
                              train_dataset=datasets.Dataset.from_list(questions), callbacks=[Until(asked.seconds)])
    trainer.train(resume_from_checkpoint=bool(list(asked.out.glob("checkpoint-*"))))
    trainer.save_model()
    words.save_pretrained(asked.out)
    trainer.save_state()


if __name__ == "__main__":
    main()
