#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Edit mode: a model that makes kernels faster by search/replace edits, by imitation and then by reinforcement. All times are measured by `gemmsmith serve` ($GEMMSMITH_SERVE).

    edits.py form DATA [--lessons 100000] [--seed 1]
    edits.py gather DATA [--problems 24] [--each 20] [--tests 40] [--unseen 16] [--seed 1]
    edits.py reinforce DATA FROM OUT [--seconds 300] [--parents 24] [--draws 16] [--most 8] [--passes 4] [--seed 1]
    edits.py propose DATA MODEL|random OUT.jsonl [--turns 2] [--each 4] [--seed 1]
    edits.py confirm DATA ARM.SEED.jsonl... > CONFIRMED.csv
    edits.py judge DATA CONFIRMED.csv ARM.SEED.jsonl... [--against imitation] [--kernel all|seen|unseen]

form writes lessons of how edits are written, to DATA/form: from any variant to any other, with times that are made up. gather evaluates random variants of two kernels (variants.py) on problems of its own, and writes lessons for imitate.py: parents, and edits that make them one of the fastest known. The test is of parents on other
problems, near to none of those, and of a third kernel of which nothing is learned. reinforce draws edits of the lessons' parents, and learns from what the service says, as rounds.py does; an edit that does not
pass is one that should not be answered. propose makes --turns times --each edits of each parent of the test: first of the parent, then of the fastest so far. confirm measures the fastest of the eight and the parent
once more, by a service with another store, because the fastest of several measurements is also the luckiest. judge prints the table.
"""
import argparse
import concurrent.futures
import csv
import json
import math
import random
import sys
import time
from pathlib import Path

from common import Test, geometric, opened, paired, rows
from variants import UNSEEN, Variant, answer, applied, kernels, problem_list, question

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from gemmsmith import reward  # noqa: E402

GAIN, LENGTH, DEADLINE = 1.01, 544, 900.0   # what counts as faster; tokens of an answer; seconds
KERNELS = kernels()


# ---- measuring ----

class Service:
    """Groups of candidates, all of a group of one problem, evaluated side by side."""

    def __init__(self, threads=48):
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)

    def each(self, groups, seconds=DEADLINE):
        """The results of each group, in their order. A candidate: {"problem", "source", "manifest"} or {"problem", "completion", "parent"}. Where there was no time for one, or the
        machine failed, `known` says so."""
        end = time.monotonic() + seconds
        return list(self.pool.map(lambda group: reward.evaluate(group, max(end - time.monotonic(), 1.0)) if group else [], groups))


def edited(variant, text):
    return {"problem": variant.problem, "completion": text, "parent": variant.parent()}


def whole(variant):
    return {"problem": variant.problem, **variant.parent()}


def known(result):
    """Not where the machine is the reason; it also is where a GPU that trains has no memory left for what is evaluated on it."""
    return result["verdict"] not in ("deadline", "cancelled", "problem", "stopping", "machine", "memory")


def passed(result):
    """With a time that can be trusted: an emulated device also has others."""
    return result["verdict"] == "pass" and bool(result.get("ratio"))


def probabilities(drawn):
    """{answer: logarithm of its probability}, in the order in which they were drawn."""
    out = {}
    for text, probability in drawn:
        out[text] = max(out.get(text, probability), probability)
    return out


def kept(variant, result):
    return {"problem": variant.problem, "kernel": variant.kernel.name, "values": variant.values, "verdict": result["verdict"], "reason": None if passed(result) else result.get("reason"),
            **{name: result.get(name) for name in ("us", "ratio", "floor_us", "id")}}


def variant_of(row):
    return Variant(KERNELS[row["kernel"]], row["problem"], row["values"])


def write(path, listed):
    with opened(path, "wt") if str(path).endswith(".gz") else open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in listed)


# ---- data ----

def lessons(measured, count, source):
    """Of the variants of a kernel and a problem: any as the parent, one of the fastest quarter that is faster as the answer."""
    groups = {}
    for row in measured:
        if passed(row):
            groups.setdefault((row["problem"], row["kernel"]), []).append(row)
    out = []
    for own in groups.values():
        own.sort(key=lambda row: -row["ratio"])
        pairs = [(parent, child) for child in own[:max(len(own) // 4, 1)] for parent in own if child["ratio"] > GAIN * parent["ratio"]]
        for parent, child in source.sample(pairs, min(count, len(pairs))):
            before, after = variant_of(parent), variant_of(child)
            out.append({"problem": parent["problem"], "prompt": question(before, parent["us"], parent["floor_us"]), "completion": [{"role": "assistant", "content": answer(before, after)}]})
    source.shuffle(out)
    return out


def form(asked):
    """Nothing about speed can be learned from these: parents and children are any, and so is what the parent takes."""
    (asked.data / "form").mkdir(parents=True, exist_ok=True)
    tests = Test([row["problem"] for row in rows(asked.data / "test.jsonl")])
    source, seen, listed = random.Random(asked.seed), [name for name in KERNELS if name != UNSEEN], problem_list(2000, 500 + asked.seed, tests)

    def lesson():
        one, kernel = source.choice(listed), KERNELS[source.choice(seen)]
        values = kernel.drawn(source, one[-2:])
        before = Variant(kernel, one, values)
        after = Variant(kernel, one, kernel.drawn(source, one[-2:], values, (1, len(kernel.values))))
        floor_us = source.uniform(1, 20)
        return {"problem": one, "prompt": question(before, floor_us * source.uniform(1.2, 20), floor_us), "completion": [{"role": "assistant", "content": answer(before, after)}]}
    write(asked.data / "form" / "lessons.0.jsonl.gz", (lesson() for _ in range(asked.lessons)))
    write(asked.data / "form" / "check.jsonl.gz", (lesson() for _ in range(256)))


def gather(asked):
    asked.data.mkdir(parents=True, exist_ok=True)
    source, seen = random.Random(asked.seed), [name for name in KERNELS if name != UNSEEN]
    tested = problem_list(asked.tests + asked.unseen, 1000 + asked.seed, None, asked.extent, asked.depth)
    learned = problem_list(asked.problems, asked.seed, Test(tested), asked.extent, asked.depth)
    groups = [[Variant(KERNELS[name], one, KERNELS[name].drawn(source, one[-2:])) for _ in range(asked.each)] for one in learned for name in source.sample(seen, 2)]
    spare = 4   # a parent must be a kernel that passes: the first of so many
    groups += [[Variant(KERNELS[name], one, KERNELS[name].drawn(source, one[-2:])) for _ in range(spare)]
               for i, one in enumerate(tested) for name in [seen[i % len(seen)] if i < asked.tests else UNSEEN]]
    results = Service().each([[whole(variant) for variant in group] for group in groups], asked.seconds)
    measured = [kept(variant, result) for group, got in zip(groups, results, strict=True) for variant, result in zip(group, got, strict=True) if known(result)]
    ours, test = [row for row in measured if row["problem"] in learned], {}
    for row in measured:
        if row["problem"] not in learned and passed(row):
            test.setdefault(row["problem"], row)
    write(asked.data / "measured.jsonl.gz", measured)
    write(asked.data / "test.jsonl", test.values())
    checked = set(learned[::10])
    write(asked.data / "lessons.0.jsonl.gz", lessons([row for row in ours if row["problem"] not in checked], asked.lessons, source))
    write(asked.data / "check.jsonl.gz", lessons([row for row in ours if row["problem"] in checked], 32, source))
    print(f"{len(ours)} variants measured, {sum(map(passed, ours))} pass; {len(test)} parents in the test")


# ---- reinforcement ----

class Group:
    """A parent, different edits of it with the most probable first, and what they are worth: the binary logarithm of the gain; None: they did not pass."""

    def __init__(self, row, drawn, most):
        self.row, self.variant = row, variant_of(row)
        best = probabilities(drawn)
        self.nats, self.distinct = -sum(p for _, p in drawn) / len(drawn), len(best) / len(drawn)
        first = max(best, key=best.get)
        self.texts = [first] + [text for text in best if text != first][:most - 1]

    def asked(self):
        return [edited(self.variant, text) for text in self.texts]

    def judged(self, results):
        both = [(text, one) for text, one in zip(self.texts, results, strict=True) if known(one)]
        self.texts = [text for text, _ in both]
        self.rewards = [math.log2(one["ratio"] / self.row["ratio"]) if passed(one) else None for _, one in both]
        return any(one is not None for one in self.rewards) and len(self.texts) > 1

    def example(self, sharpness, words):
        from model import text_of
        best = max(one for one in self.rewards if one is not None)
        weights = [0.0 if one is None else math.exp((one - best) / sharpness) for one in self.rewards]
        asked = words(text_of(words, question(self.variant, self.row["us"], self.row["floor_us"])), add_special_tokens=False)["input_ids"]
        answered = [words(text + "<|end|>", add_special_tokens=False)["input_ids"] for text in self.texts]
        return asked, answered, [one / sum(weights) for one in weights]


class Learner:
    def __init__(self, asked):
        import torch
        from model import device_of, load
        torch.manual_seed(asked.seed)
        self.torch, self.asked, self.device, self.source = torch, asked, device_of(asked.device), random.Random(asked.seed)
        self.model, self.words = load(asked.start, self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=asked.rate, betas=(0.9, 0.95), weight_decay=0.0, fused=self.device.type == "cuda")

    def draw(self, parents):
        from model import answers
        self.model.eval()
        prompts = [question(variant_of(row), row["us"], row["floor_us"]) for row in parents]
        return [Group(row, got, self.asked.most) for row, got in zip(parents, answers(self.model, self.words, prompts, self.asked.draws, length=LENGTH), strict=True)]

    def learn(self, groups):
        """One pass; the mean of the losses."""
        from imitate import CLIP
        from rounds import loss_of
        self.model.train()
        losses, order = [], self.source.sample(groups, len(groups))
        for at in range(0, len(order), self.asked.batch):
            loss = loss_of(self.model, [group.example(self.asked.sharpness, self.words) for group in order[at:at + self.asked.batch]], self.device, self.asked.within)
            loss.backward()
            if self.torch.isfinite(self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)):
                self.optimizer.step()
                losses.append(loss.item())
            self.optimizer.zero_grad(set_to_none=True)
        return sum(losses) / max(len(losses), 1)


def figures(groups):
    judged = [one for group in groups for one in group.rewards]
    well = [one for one in judged if one is not None]
    first = [group.rewards[0] for group in groups if group.rewards and group.rewards[0] is not None]
    return {"passed": len(well) / max(len(judged), 1), "gained": sum(one > math.log2(GAIN) for one in well) / max(len(judged), 1), "reward": sum(well) / max(len(well), 1), "first": sum(first) / max(len(first), 1),
            "best": sum(max([0.0] + [one for one in group.rewards if one is not None]) for group in groups) / len(groups),
            "distinct": sum(group.distinct for group in groups) / len(groups), "nats": sum(group.nats for group in groups) / len(groups)}


def reinforce(asked):
    from model import Log
    began, service = time.monotonic(), Service()
    asked.out.mkdir(parents=True, exist_ok=True)
    tested = {row["problem"] for row in rows(asked.data / "test.jsonl")}
    parents = [row for row in rows(asked.data / "measured.jsonl.gz") if passed(row) and row["kernel"] != UNSEEN]
    tests = Test(tested)
    parents = [row for row in parents if not tests.near(row["problem"])]   # a problem is near to itself
    learner, log, old, spent, number = Learner(asked), Log(asked.out / "log.jsonl"), [], 0.0, 0
    kept_rows = open(asked.out / "edits.jsonl", "w", encoding="utf-8")
    while number < asked.rounds and (number == 0 or time.monotonic() + spent < began + asked.seconds):
        start = time.monotonic()
        groups = learner.draw(learner.source.sample(parents, min(asked.parents, len(parents))))
        results = service.each([group.asked() for group in groups], max(began + asked.seconds - time.monotonic(), 10.0))
        for group, got in zip(groups, results, strict=True):
            for text, one in zip(group.texts, got, strict=True):
                kept_rows.write(json.dumps({"round": number, "problem": group.row["problem"], "kernel": group.row["kernel"], "parent": group.row["values"], "parent_ratio": group.row["ratio"], "text": text,
                                            "verdict": one["verdict"], "us": one.get("us"), "ratio": one.get("ratio")}) + "\n")
        kept_rows.flush()
        new = [group for group, got in zip(groups, results, strict=True) if group.judged(got)]
        losses = [learner.learn(new + learner.source.sample(old, min(len(old), len(new)))) for _ in range(asked.passes)] if new else []
        old += new
        log.add(round=number, seconds=time.monotonic() - began, **({"loss": losses[-1]} if losses else {}), **figures(groups))
        spent, number = time.monotonic() - start, number + 1
    learner.model.save_pretrained(asked.out)
    learner.words.save_pretrained(asked.out)


# ---- the test ----

class Attempt:
    """A parent of the test, and the edits of one arm."""

    def __init__(self, row):
        self.start, self.at, self.ratio, self.us, self.said, self.tried = row, variant_of(row), row["ratio"], row["us"], [], set()

    def choose(self, drawn, count):
        """The most probable ones that were not tried before."""
        best = probabilities(drawn)
        new = [text for text in sorted(best, key=best.get, reverse=True) if text not in self.tried][:count]
        self.tried |= set(new)
        return new

    def judged(self, texts, results):
        base = self.at
        for text, one in zip(texts, results, strict=True):
            self.said.append({"problem": base.problem, "kernel": base.kernel.name, "start": self.start["values"], "start_ratio": self.start["ratio"], "parent": base.values, "text": text,
                              "verdict": one["verdict"], "us": one.get("us"), "ratio": one.get("ratio")})
            child = applied(base, text)
            if passed(one) and one["ratio"] > self.ratio and child:   # what is no variant cannot be edited further here
                self.at, self.ratio, self.us = child, one["ratio"], one["us"]
                self.tried = set()


def by_model(asked):
    import torch
    from model import answers, device_of, load
    torch.manual_seed(asked.seed)
    model, words = load(asked.model, device_of(asked.device))

    def propose(attempts):
        out = []
        for i in range(0, len(attempts), asked.batch):
            part = attempts[i:i + asked.batch]
            out += answers(model, words, [question(one.at, one.us, one.start["floor_us"]) for one in part], asked.draws, length=LENGTH)
        return out
    return propose


def by_chance(asked):
    source = random.Random(asked.seed)

    def propose(attempts):
        return [[(answer(one.at, Variant(one.at.kernel, one.at.problem, one.at.kernel.drawn(source, one.at.problem[-2:], one.at.values))), source.random()) for _ in range(asked.draws)] for one in attempts]
    return propose


def propose(asked):
    attempts, service = [Attempt(row) for row in rows(asked.data / "test.jsonl")], Service()
    ask = by_chance(asked) if asked.model == "random" else by_model(asked)
    for _ in range(asked.turns):
        texts = [one.choose(drawn, asked.each) for one, drawn in zip(attempts, ask(attempts), strict=True)]
        results = service.each([[edited(one.at, text) for text in mine] for one, mine in zip(attempts, texts, strict=True)])
        for one, mine, got in zip(attempts, texts, results, strict=True):
            one.judged(mine, got)
    write(asked.out, [row for one in attempts for row in one.said])
    print(f"{sum(len(one.said) for one in attempts)} edits of {len(attempts)} parents")


def best_of(said):
    """The fastest of them that passed, None: none is faster than the start."""
    well = [row for row in said if passed(row) and row["ratio"] > row["start_ratio"]]
    return max(well, key=lambda row: row["ratio"], default=None)


def name_of(path):
    return path.name.removesuffix(".gz")


def by_problem(path):
    out = {}
    for row in rows(path):
        out.setdefault(row["problem"], []).append(row)
    return out


def confirm(asked):
    best = {(name_of(path), problem): found for path in asked.proposals for problem, said in by_problem(path).items() if (found := best_of(said))}
    starts = {row["problem"]: variant_of(row) for row in rows(asked.data / "test.jsonl")}
    groups = {problem: [(("start", problem), whole(start))] for problem, start in starts.items()}
    for key, row in best.items():
        groups[key[1]].append((key, edited(Variant(KERNELS[row["kernel"]], row["problem"], row["parent"]), row["text"])))
    results = Service().each([[one for _, one in group] for group in groups.values()])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("file", "problem", "verdict", "us", "ratio"))
    for group, got in zip(groups.values(), results, strict=True):
        out.writerows((name, problem, one["verdict"], one.get("us") or "", one.get("ratio") or "") for ((name, problem), _), one in zip(group, got, strict=True))


def gains(said, count):
    """{problem: gain} of the fastest of the first so many edits, as measured when they were proposed; 1: none gained."""
    return {problem: max([1.0] + [row["ratio"] / row["start_ratio"] for row in own[:count] if passed(row)]) for problem, own in said.items()}


def judge(asked):
    with open(asked.confirmed, newline="", encoding="utf-8") as file:
        again = {(row["file"], row["problem"]): float(row["ratio"]) if row["verdict"] == "pass" and row["ratio"] else None for row in csv.DictReader(file)}
    arms = {}
    wanted = {row["problem"] for row in rows(asked.data / "test.jsonl") if asked.kernel == "all" or (row["kernel"] == UNSEEN) == (asked.kernel == "unseen")}
    for path in asked.proposals:
        name = name_of(path)
        arm, seed = name.removesuffix(".jsonl").rsplit(".", 1)
        said = {problem: own for problem, own in by_problem(path).items() if problem in wanted and again.get(("start", problem))}
        sure = {problem: (again[name, problem] or 0) / again["start", problem] if (name, problem) in again else 1.0 for problem in said}
        arms.setdefault(arm, {})[seed] = (said, {problem: max(one, 1.0) for problem, one in sure.items()})   # who is told that it is slower keeps the start
    over = "".join(f" over {asked.against} @{count} |" for count in (1, 4, 8))
    print(f"| arm | seeds | parents | pass | faster by 1 % | best gain @1 | @4 | @8 |{over}\n|---|---|---|---|---|---|---|---|---|---|---|")

    def each(arm, count):
        """Of each seed {parent: best gain}: as measured when they were proposed, but of all eight the second measurement."""
        return [sure if count == 8 else gains(own, count) for own, sure in arms[arm].values()]
    for arm, seeds in arms.items():
        said = [row for own, _ in seeds.values() for mine in own.values() for row in mine]
        share = [sum(row["verdict"] == "pass" for row in said) / len(said), sum(passed(row) and row["ratio"] > GAIN * row["start_ratio"] for row in said) / len(said)]
        found = [paired(each(arm, count), each(asked.against, count)) if asked.against in arms and arm != asked.against else None for count in (1, 4, 8)]
        cells = [arm, str(len(seeds)), str(len(next(iter(seeds.values()))[0])), *(f"{one:.3f}" for one in share),
                 *(f"{geometric([geometric(one.values()) for one in each(arm, count)]):.3f}" for count in (1, 4, 8)), *("{:+.3f} ({:+.3f} to {:+.3f})".format(*one) if one else "" for one in found)]
        print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = parser.add_subparsers(dest="stage", required=True)

    def stage(name, *positional):
        one = stages.add_parser(name)
        for argument, options in (("data", {"type": Path}), *positional):
            one.add_argument(argument, **options)
        return one
    one = stage("form")
    one.add_argument("--lessons", type=int, default=100000)
    one.add_argument("--seed", type=int, default=1)
    one = stage("gather")
    one.add_argument("--problems", type=int, default=24, help="that are learned from, with two kernels each")
    one.add_argument("--each", type=int, default=20, help="variants of each kernel for a problem")
    one.add_argument("--seconds", type=float, default=DEADLINE, help="what is not measured by then is left out")
    one.add_argument("--lessons", type=int, default=60, help="of each")
    one.add_argument("--tests", type=int, default=40, help="parents of the test")
    one.add_argument("--unseen", type=int, default=16, help="more of them, of the kernel that is not learned")
    one.add_argument("--extent", type=int, default=2048, help="the largest M and N of a problem")
    one.add_argument("--depth", type=int, default=16384, help="the largest K")
    one.add_argument("--seed", type=int, default=1)
    one = stage("reinforce", ("start", {"type": Path, "metavar": "FROM"}), ("out", {"type": Path}))
    one.add_argument("--seconds", type=float, default=300.0)
    one.add_argument("--rounds", type=int, default=100, help="at most")
    one.add_argument("--parents", type=int, default=24, help="of a round")
    one.add_argument("--draws", type=int, default=16, help="answers to a question")
    one.add_argument("--most", type=int, default=8, help="different ones that are measured")
    one.add_argument("--passes", type=int, default=4, help="over the groups of a round, and as many of before")
    one.add_argument("--batch", type=int, default=4, help="groups of a step")
    one.add_argument("--rate", type=float, default=2e-4)
    one.add_argument("--sharpness", type=float, default=0.15, help="the smaller, the more the fastest answers count")
    one.add_argument("--within", type=float, default=0.5, help="share of the loss within groups")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--device")
    one = stage("propose", ("model", {}), ("out", {"type": Path}))
    one.add_argument("--turns", type=int, default=2)
    one.add_argument("--each", type=int, default=4, help="edits of a turn")
    one.add_argument("--draws", type=int, default=16)
    one.add_argument("--batch", type=int, default=32)
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--device")
    stage("confirm", ("proposals", {"type": Path, "nargs": "+"}))
    one = stage("judge", ("confirmed", {}), ("proposals", {"type": Path, "nargs": "+"}))
    one.add_argument("--against", default="imitation")
    one.add_argument("--kernel", choices=("all", "seen", "unseen"), default="all")
    asked = parser.parse_args()
    {"form": form, "gather": gather, "reinforce": reinforce, "propose": propose, "confirm": confirm, "judge": judge}[asked.stage](asked)


if __name__ == "__main__":
    main()
