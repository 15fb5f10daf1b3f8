#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stage 4, proposals for the test's problems, in rounds: each is told the times of those before.

    propose.py DATA MODEL PROPOSALS.csv UP_TO [--arm rl] [--times TIMES.csv] [--draws 32] [--valid "build/release/tools/predict_pairs"]

Adds rows "problem,schedule" to PROPOSALS until each problem has UP_TO of them: of `draws` answers those that the model finds most probable and that were not proposed before.
An answer that cannot be read, or is no schedule, is a proposal as well; with --valid it is drawn again, up to so many times: then proposals are what the model would write if it
could write nothing but schedules of the problem. TIMES: rows that begin "problem,schedule,us", of tools/time_pairs.
"""
import argparse
import csv
import functools
from pathlib import Path

import torch

from common import ARMS, read_times, rows, schedules, with_measured
from model import answers, device_of, load
from predicted import Predicted

AGAIN = 4   # draws at most where answers must be schedules


def read_pairs(path):
    """{problem: [schedule]}, in their order."""
    out = {}
    if path.exists():
        with open(path, newline="", encoding="utf-8") as file:
            for problem, schedule in csv.reader(file):
                out.setdefault(problem, []).append(schedule)
    return out


def last_times(path):
    """{problem: {schedule: us}}; of several times of one the last."""
    return {problem: {one: values[-1] for one, values in times.items()} for problem, times in read_times(path).items()} if path and path.exists() else {}


def choose(drawn, known, wanted, valid=lambda _: True):
    """The most probable new ones. drawn: (answer, log-probability)."""
    best = {}
    for text, probability in drawn:
        name = (schedules(text) or [text.strip()[:80] or "nothing"])[0].replace(",", " ").replace("\n", " ").replace('"', " ")
        if name in best or valid(name):
            best[name] = max(best.get(name, probability), probability)
    return [name for name in sorted(best, key=best.get, reverse=True) if name not in known][:wanted]


class Asked:
    """A model that proposes. valid: (problem, schedule) -> whether it is one, or None."""

    def __init__(self, model, words, draws, valid=None):
        self.model, self.words, self.draws, self.valid = model, words, draws, valid

    def propose(self, problems, prompts, known, up_to):
        """Adds to the lists `known`."""
        for _ in range(AGAIN if self.valid else 1):
            short = [i for i, mine in enumerate(known) if len(mine) < up_to]
            if not short:
                break
            for i, drawn in zip(short, answers(self.model, self.words, [prompts[i] for i in short], self.draws), strict=True):
                valid = functools.partial(self.valid, problems[i]) if self.valid else lambda _: True
                known[i] += choose(drawn, known[i], up_to - len(known[i]), valid)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("proposals", type=Path)
    parser.add_argument("up_to", type=int)
    parser.add_argument("--arm", choices=ARMS, default="imitation")
    parser.add_argument("--times", type=Path)
    parser.add_argument("--draws", type=int, default=32)
    parser.add_argument("--valid", metavar="COMMAND", help="tools/predict_pairs: only schedules of the problem are proposals")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device")
    asked = parser.parse_args()
    torch.manual_seed(asked.seed)
    whole = Asked(*load(asked.model, device_of(asked.device)), asked.draws, Predicted(asked.valid).valid if asked.valid else None)
    edit = ARMS[asked.arm] or (lambda prompt: prompt)
    proposed, times, listed = read_pairs(asked.proposals), last_times(asked.times), list(rows(asked.data / "test.jsonl"))
    for at in range(0, len(listed), asked.batch):
        part = listed[at:at + asked.batch]
        known = [proposed.setdefault(row["problem"], []) for row in part]
        told = [{one: us for one, us in times.get(row["problem"], {}).items() if one in mine} for row, mine in zip(part, known, strict=True)]
        prompts = [edit(with_measured(row["prompt"], own, row["floor_us"], asked.seed)) for row, own in zip(part, told, strict=True)]
        whole.propose([row["problem"] for row in part], prompts, known, asked.up_to)
    with open(asked.proposals, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows((problem, one) for problem, mine in proposed.items() for one in mine)
    print(f"{sum(map(len, proposed.values()))} proposals for {len(proposed)} problems")


if __name__ == "__main__":
    main()
