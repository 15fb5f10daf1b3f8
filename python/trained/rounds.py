#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stage 3 another way, reinforcement in rounds: the model answers many questions, the GPU times all answers that are schedules of their problems, and the model learns from the
times while the next ones are compiled. Needs no TRL and no service.

    rounds.py DATA FROM OUT [--seconds 360] [--questions 160] [--draws 24] [--most 12] [--passes 4] [--seed 1]

A group is a question and up to --most different schedules among --draws answers, with the time of each. The loss of a group is half the cross-entropy of the answers' probabilities
to softmax(reward / --sharpness), and half the same with the probabilities scaled to a sum of 1 within the group, so that slow answers become less probable than fast ones and no
answer is pushed away without end. A reward is the binary logarithm of the group's fastest time over the answer's own. Half the time the question shows the group's most probable
schedule as measured, and the others are what there is to choose from: so the model also learns the second turn.

The times are older than the model by one round, because answers are compiled while those before them are timed. OUT gets the model, log.jsonl, times.csv.gz with all rows,
and timer.log.
--timer: called as tools/time_pairs is, "TIMER compile PAIRS SHARD SHARDS" and "TIMER time PAIRS SECONDS ROUNDS".
"""
import argparse
import concurrent.futures
import gzip
import math
import os
import random
import shlex
import shutil
import subprocess
import time
from pathlib import Path

BEGAN = time.monotonic()   # to load what is next takes long
import torch  # noqa: E402

from common import ARMS, read_times, rows, schedules, with_measured, without_examples  # noqa: E402
from imitate import CLIP, GRAIN  # noqa: E402
from model import Log, answers, device_of, load, text_of  # noqa: E402
from predicted import Predicted  # noqa: E402

PART = 16         # questions that are answered, and compiled for, together
LAST_PASS = 20    # seconds for what is learned after the last round, and to save


# ---- groups ----

class Group:
    """A question and what was answered: texts and times of different schedules, the most probable first."""

    def __init__(self, row, drawn, valid):
        self.row, self.best, self.text, self.us = row, {}, {}, {}
        self.drawn = self.fine = 0
        for text, probability in drawn:
            name = (schedules(text) or [""])[0]
            self.drawn += 1
            if name in self.best or valid(row["problem"], name):
                self.fine += 1
                self.text.setdefault(name, text)
                self.best[name] = max(self.best.get(name, probability), probability)
        self.nats = -sum(probability for _, probability in drawn) / max(len(drawn), 1)

    def keep(self, most):
        """So many of them, as they were drawn; but always the most probable one."""
        first = max(self.best, key=self.best.get)
        self.names = [first] + [name for name in self.text if name != first][:most - 1]

    def timed(self, times):
        self.us = {name: times[name] for name in self.names if times.get(name, 0) > 0}
        return len(self.us) > 1

    def rewards(self):
        best = min(self.us.values())
        return [math.log2(best / us) for us in self.us.values()]

    def first(self):
        return next(iter(self.us))


def example(group, shown, sharpness, words, edit=lambda prompt: prompt):
    """Tokens of the question, of each answer, and what part of the probability each should have. shown: the first schedule is known. edit: what the arm does to a question."""
    us = dict(list(group.us.items())[1:]) if shown else group.us
    best = min(us.values())
    weights = [math.exp(math.log2(best / one) / sharpness) for one in us.values()]
    told = {group.first(): group.us[group.first()]} if shown else {}
    asked = words(text_of(words, edit(with_measured(group.row["prompt"], told, group.row["floor_us"]))), add_special_tokens=False)["input_ids"]
    answered = [words(group.text[name] + "<|end|>", add_special_tokens=False)["input_ids"] for name in us]
    return asked, answered, [one / sum(weights) for one in weights]


# ---- the loss ----

def packed(examples, device):
    """One row for each question with all of its answers behind it: the tokens, their places in a text that has one of the answers alone, and which tokens see which. Then of all
    answers' tokens: where the token stands that foretells it, the token, and the number of its answer."""
    longest = max(len(asked) + sum(map(len, answered)) for asked, answered, _ in examples)
    longest = (longest + GRAIN - 1) // GRAIN * GRAIN
    ids, places, part = (torch.full((len(examples), longest), fill) for fill in (1, 0, -1))   # 1: padding, which sees the question and itself
    before, wanted, owner, number = [], [], [], 0
    for row, (asked, answered, _) in enumerate(examples):
        at = len(asked)
        ids[row, :at], places[row, :at], part[row, :at] = torch.tensor(asked), torch.arange(at), 0
        for own, answer in enumerate(answered, 1):
            end = at + len(answer)
            ids[row, at:end], places[row, at:end], part[row, at:end] = torch.tensor(answer), torch.arange(len(asked), len(asked) + len(answer)), own
            before += [row * longest + len(asked) - 1] + [row * longest + i for i in range(at, end - 1)]
            wanted += answer
            owner += [number] * len(answer)
            at, number = end, number + 1
    ids, places, part = (one.to(device) for one in (ids, places, part))
    sees = torch.ones(longest, longest, dtype=torch.bool, device=device).tril() & ((part[:, None, :] == 0) | (part[:, None, :] == part[:, :, None]))
    return ids, places, sees[:, None], *(torch.tensor(one, device=device) for one in (before, wanted, owner))


def probabilities(model, examples, device):
    """The logarithm of the probability of each answer, question after question."""
    ids, places, sees, before, wanted, owner = packed(examples, device)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        hidden = model.model(input_ids=ids, position_ids=places, attention_mask=sees, use_cache=False).last_hidden_state
        logits = model.lm_head(hidden.flatten(0, 1)[before])
    each = -torch.nn.functional.cross_entropy(logits.float(), wanted, reduction="none")
    return torch.zeros(int(owner[-1]) + 1, device=device).index_add(0, owner, each)


def loss_of(model, examples, device, share):
    """share: of the part within the groups."""
    known, at, total = probabilities(model, examples, device), 0, 0.0
    for _, answered, wanted in examples:
        mine, at = known[at:at + len(answered)], at + len(answered)
        wanted = torch.tensor(wanted, device=device)
        total = total - share * (wanted * mine.log_softmax(0)).sum() - (1 - share) * (wanted * mine).sum()
    return total / len(examples)


# ---- compiling and timing ----

class Timer:
    """tools/time_pairs in processes of their own, until `end`; what still runs then is killed. What they complain about is in the file `errors`."""

    def __init__(self, command, cores, end, errors):
        self.command, self.end, self.errors = shlex.split(command), end, open(errors, "ab")
        self.pool = concurrent.futures.ThreadPoolExecutor(cores)

    def call(self, arguments, nice=0, out=None):
        left = self.end - time.monotonic()
        if left <= 0:
            return False
        try:
            command = [*(["nice", "-n", str(nice)] if nice else []), *self.command, *map(str, arguments)]
            return subprocess.run(command, stdout=out or subprocess.DEVNULL, stderr=self.errors, timeout=left).returncode == 0
        except subprocess.TimeoutExpired:   # killed; the processes that compile for it end with it
            return False

    def compile(self, path, shards):
        return [self.pool.submit(self.call, ("compile", path, shard, shards), 10) for shard in range(shards)]

    def time(self, pairs, to, rounds):
        """{problem: {schedule: us}} of what there was time for."""
        with open(to, "wb") as file:
            self.call(("time", pairs, max(int(self.end - time.monotonic()) - 2, 0), rounds), out=file)
        text = to.read_text(encoding="utf-8")
        to.write_text(text[:text.rfind("\n") + 1], encoding="utf-8")   # a row that was cut
        return {problem: {one: values[-1] for one, values in times.items()} for problem, times in read_times(to).items()}


class Round:
    """Questions that were answered, and are being compiled."""

    def __init__(self, number, groups, jobs, pairs):
        self.number, self.groups, self.jobs, self.pairs = number, groups, jobs, pairs


# ---- training ----

class Learner:
    def __init__(self, asked, device):
        self.asked, self.device = asked, device
        self.model, self.words = load(asked.start, device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=asked.rate, betas=(0.9, 0.95), weight_decay=0.0, fused=device.type == "cuda")
        self.source, self.step, self.edit = random.Random(asked.seed), 0, ARMS[asked.arm]
        self.began = time.monotonic()
        torch.manual_seed(asked.seed)

    def answer(self, number, questions, valid, timer):
        """Compilation begins with the first questions."""
        groups, jobs = [], []
        path = self.asked.out / f"pairs.{number}.csv"
        self.model.eval()
        with open(path, "w", encoding="utf-8") as whole:
            for at in range(0, len(questions), PART):
                part = questions[at:at + PART]
                drawn = answers(self.model, self.words, [self.edit(row["prompt"]) for row in part], self.asked.draws)
                own = [Group(row, got, valid) for row, got in zip(part, drawn, strict=True)]
                groups += own
                text = ""
                for group in (group for group in own if len(group.best) > 1):
                    group.keep(self.asked.most)
                    text += "".join(f"{group.row['problem']},{name}\n" for name in group.names)
                whole.write(text)
                piece = self.asked.out / f"pairs.{number}.{at}.csv"
                piece.write_text(text, encoding="utf-8")
                jobs += timer.compile(piece, min(4, len(part)))
        return Round(number, groups, jobs, path)

    def rate(self):
        """Warm-up, then down to a tenth with the time."""
        done = min((time.monotonic() - self.began) / self.asked.seconds, 1)
        return self.asked.rate * min((self.step + 1) / 20, 0.55 + 0.45 * math.cos(math.pi * done))

    def shows(self, group):
        """Whether the question shows the group's first schedule as measured."""
        return self.edit is not without_examples and len(group.us) > 2 and self.source.random() < 0.5

    def learn(self, groups, until):
        """One pass over the groups; the mean of the losses."""
        self.model.train()
        losses, order = [], self.source.sample(groups, len(groups))
        for at in range(0, len(order), self.asked.batch):
            if time.monotonic() > until:
                break
            made = [example(group, self.shows(group), self.asked.sharpness, self.words, self.edit) for group in order[at:at + self.asked.batch]]
            for parameters in self.optimizer.param_groups:
                parameters["lr"] = self.rate()
            loss = loss_of(self.model, made, self.device, self.asked.within)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
            if torch.isfinite(norm):   # the model stays what it was otherwise
                self.optimizer.step()
                losses.append(loss.detach())
            self.optimizer.zero_grad(set_to_none=True)
            self.step += 1
        return torch.stack(losses).mean().item() if losses else math.nan

    def passes(self, old, new, until):
        """Over what was timed last and as many groups of before."""
        losses = [self.learn(new + self.source.sample(old, min(len(old), len(new))), until) for _ in range(self.asked.passes)] if new else []
        return losses[-1] if losses else math.nan

    def save(self):
        self.model.save_pretrained(self.asked.out)
        self.words.save_pretrained(self.asked.out)


def figures(groups, timed):
    """What the answers of a round are worth; their questions were not seen before."""
    drawn = sum(group.drawn for group in groups)
    rewards = [group.rewards() for group in timed]
    said = {"valid": sum(group.fine for group in groups) / drawn, "distinct": sum(len(group.best) for group in groups) / drawn, "nats": sum(group.nats for group in groups) / len(groups)}
    if timed:
        said |= {"reward": sum(sum(one) / len(one) for one in rewards) / len(timed), "first": sum(one[0] for one in rewards) / len(timed), "pairs": sum(map(len, rewards))}
    return said


def learned(step, loss):
    return {"step": step, "loss": loss} if math.isfinite(loss) else {"step": step}


def run(asked, learner, questions, predicted, timer, log):
    began, end, spent = time.monotonic(), timer.end, 0.0
    old, new, waiting, number = [], [], [], 0

    def enough():
        return number >= asked.rounds or number * asked.questions >= len(questions) or time.monotonic() + 0.9 * spent * (len(waiting) + 1) > end

    while waiting or not enough():
        start = time.monotonic()
        loss = learner.passes(old, new, end)
        old, new = old + new, []
        while len(waiting) < 2 and not enough():
            waiting.append(learner.answer(number, questions[number * asked.questions:(number + 1) * asked.questions], predicted.valid, timer))
            number += 1
        if not waiting:
            break
        now = waiting.pop(0)
        concurrent.futures.wait(now.jobs, max(end - time.monotonic(), 0))
        compiled = time.monotonic()
        times = timer.time(now.pairs, asked.out / f"times.{now.number}.csv", asked.timings) if compiled < end else {}
        new = [group for group in now.groups if len(group.best) > 1 and group.timed(times.get(group.row["problem"], {}))]
        if not new and not old and compiled < end:
            raise SystemExit(f"rounds.py: nothing was timed; {asked.out / 'timer.log'} may say why")
        if now.number:   # the first one also waits for what compiles before there is anything to time
            spent = time.monotonic() - start
        log.add(round=now.number, **learned(learner.step, loss), seconds=time.monotonic() - began, timing=time.monotonic() - compiled, **figures(now.groups, new))
    loss = learner.passes(old, new, end + 0.75 * LAST_PASS)
    log.add(**learned(learner.step, loss), seconds=time.monotonic() - began)


def gather(out):
    """All rows in one file, the pieces away."""
    head = None
    with gzip.open(out / "times.csv.gz", "wt", encoding="utf-8") as file:
        for path in sorted(out.glob("times.[0-9]*.csv"), key=lambda path: int(path.name.split(".")[1])):
            first, _, rest = path.read_text(encoding="utf-8").partition("\n")
            if not first:
                continue
            if head is None:
                head = first
                file.write(head + "\n")
            file.write(rest if first == head else first + "\n" + rest)
            path.unlink()
    for path in out.glob("pairs.*.csv"):
        path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("start", type=Path, metavar="FROM")
    parser.add_argument("out", type=Path)
    parser.add_argument("--predict", default="build/release/tools/predict_pairs", help="says which answers are schedules of their problems")
    parser.add_argument("--timer", default="build/release/tools/time_pairs")
    parser.add_argument("--arm", choices=[arm for arm in ARMS if arm.startswith("rl-rounds")], default="rl-rounds", help="what questions show; rl-rounds-surrogate goes with a --timer that predicts")
    parser.add_argument("--timings", type=int, default=5, help="rounds of a timing")
    parser.add_argument("--seconds", type=float, default=360.0)
    parser.add_argument("--rounds", type=int, default=100, help="at most")
    parser.add_argument("--questions", type=int, default=160, help="of a round")
    parser.add_argument("--draws", type=int, default=24, help="answers to a question")
    parser.add_argument("--most", type=int, default=12, help="schedules of a group")
    parser.add_argument("--passes", type=int, default=4, help="over the groups of a round, and as many of before")
    parser.add_argument("--batch", type=int, default=16, help="groups of a step")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--sharpness", type=float, default=0.1, help="the smaller, the more the fastest answers count")
    parser.add_argument("--within", type=float, default=0.5, help="share of the loss within groups")
    parser.add_argument("--cores", type=int, default=max(len(os.sched_getaffinity(0)) - 2, 1), help="that compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device")
    asked = parser.parse_args()
    end, device = BEGAN + asked.seconds, device_of(asked.device)
    shutil.rmtree(asked.out, ignore_errors=True)
    asked.out.mkdir(parents=True)
    questions = list(rows(asked.data / "questions.jsonl.gz"))
    random.Random(asked.seed).shuffle(questions)
    learner, log = Learner(asked, device), Log(asked.out / "log.jsonl")
    run(asked, learner, questions, Predicted(asked.predict), Timer(asked.timer, asked.cores, end - LAST_PASS, asked.out / "timer.log"), log)
    learner.save()
    gather(asked.out)


if __name__ == "__main__":
    main()
