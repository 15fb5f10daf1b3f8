#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stage 1, data: lessons for imitation, questions for reinforcement, the test's questions.

    data.py OUT --test LIST --times ROWS[:EACH]... [--each 12] [--random 4000] [--floor 200] [--even] [--jobs N] [--seed 1]

ROWS: "group,problem,schedule,us", as `gemmsmith train --rows` writes them and docs/performance has them (.gz, too), or "problem,schedule,us,...", as tools/time_pairs does: then
the rows of a problem are a group. EACH: lessons of each group, in place of --each. LIST: the problems of the test; nothing
that shares two extents with one of them, or has M and N swapped, is in what is learned from. OUT gets

    lessons.*.jsonl.gz    prompt, completion: contrastive examples in the question, the fastest schedules of the others in the answer
    check.jsonl.gz        the same of held-out sizes, for the loss during training
    questions.jsonl.gz    prompt, problem: half of them lessons that ask for one schedule, half random sizes of which nothing was measured; all with a floor
                          of so many microseconds at most, because proving a large one takes seconds. With --even random sizes alone, a third of which have N and K
                          that are multiples of 64, a third of 8, a third anything; --each 0: no lessons
    test.jsonl            the questions of LIST, of which nothing was measured
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from common import Test, alignment, extents, opened, problems, rows

import json

ROOT = Path(__file__).resolve().parents[2]
HEAD, PAIRS = "group,problem,schedule,us\n", "problem,schedule,"
COLUMNS = ("problem", "floor_us", "shown", "asked", "us", "best_us", "prompt", "completion")


def export(program, kind, *arguments):
    """Rows of gemmsmith export, as they come. Prompts are those of $GEMMSMITH_PROMPTS, if it is set."""
    with subprocess.Popen([program, "export", kind, "--quiet", *map(str, arguments)], stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            yield json.loads(line)
        if run.wait() != 0:
            raise SystemExit(f"data.py: gemmsmith export {kind} failed")


def groups_of(path):
    """(group, "problem,schedule,us" with its end of line) of each row."""
    with opened(path) as file:
        head = file.readline()
        if head != HEAD and not head.startswith(PAIRS):
            raise SystemExit(f"data.py: {path}: the head '{HEAD.strip()}' is expected, or one that begins '{PAIRS}'")
        for line in file:
            if head == HEAD:
                group, _, rest = line.partition(",")
                yield group, rest
            else:
                yield "", ",".join(line.rstrip("\n").split(",")[:3]) + "\n"


def split_rows(asked, out, jobs, each):
    """[(file, lessons of each group)]: all rows, a group's together and with a number of its own; so many files for each number of lessons."""
    files, numbers = {}, collections.defaultdict(itertools.count().__next__)
    for one in asked:
        path, _, own = one.partition(":")
        count = int(own) if own else each
        for group, rest in groups_of(path):
            at = numbers[path, group, rest.partition(",")[0]]
            key = count, at % jobs
            if key not in files:
                files[key] = open(out / f"times.{len(files)}.csv", "w", encoding="utf-8")
                files[key].write(HEAD)
            files[key].write(f"{at + 1},{rest}")
    for file in files.values():
        file.close()
    return [(file.name, count) for (count, _), file in files.items()]


def write_lessons(program, times, split, each, seed, test, path):
    kept = near = 0
    with opened(path, "wt") as out:
        for row in export(program, "lessons", "--store", times, "--split", split, "--each", each, "--seed", seed):
            if test.near(row["problem"]):
                near += 1
                continue
            out.write(json.dumps({name: row[name] for name in COLUMNS}) + "\n")
            kept += 1
    return kept, near


def tasks(program, out, listed, jobs):
    """The questions of problems of which nothing was measured, in their order."""
    (out / "empty.tuned").write_text("gemmsmith-tuned 1\n", encoding="utf-8")
    subprocess.run([program, "db", "import", out / "empty.tuned", "--store", out / "empty.db", "--gpu", "nvidia-h200", "--quiet"], check=True, stdout=subprocess.DEVNULL)

    def part(i):
        mine = listed[len(listed) * i // jobs:len(listed) * (i + 1) // jobs]
        if not mine:
            return []
        path = out / f"tasks.{i}.txt"
        path.write_text("\n".join(mine) + "\n", encoding="utf-8")
        made = [{name: row[name] for name in ("problem", "floor_us", "prompt")}
                for row in export(program, "tasks", "--file", path, "--modes", "schedule", "--held-out", 0, "--store", out / "empty.db")]
        path.unlink()
        return made
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(itertools.chain.from_iterable(pool.map(part, range(jobs))))


def about_us(problem):
    """The floor, roughly: a prompt takes a fifth of a second, and those of long problems are not used."""
    m, n, k = extents(problem)
    return max(2 * m * n * k / 900e6, 2 * (m * k + k * n + m * n) / 4.5e6)


def evenly(listed, count):
    """The first ones of each class of alignment, the classes in turn; fewer where a class ends."""
    classes = [[one for one in listed if alignment(one) == of] for of in (64, 8, 1)]
    return [one for several in zip(*classes) for one in several][:count]


def random_problems(count, floor_us, seed, test, even=False):
    text = subprocess.run([sys.executable, ROOT / "scripts" / "list_problems.py", "random", "--seed", str(seed), "--count", str((8 if even else 4) * count)], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    listed = [one for line in text.splitlines() if not test.near(one := line.partition("#")[0].strip())]
    short = [one for one in listed if about_us(one) <= 0.8 * floor_us]
    return evenly(short, count) if even else short[:count]


def questions(program, out, lessons, asked, test):
    """Lessons that ask for one schedule, as many as there are random sizes; both in any order. Or random sizes alone."""
    source = random.Random(asked.seed)
    chosen = []
    for at, row in enumerate(row for path in lessons if not asked.even for row in rows(path) if row["asked"] == 1 and row["floor_us"] <= asked.floor):
        if len(chosen) < asked.random:
            chosen.append(row)
        elif (place := source.randrange(at + 1)) < asked.random:
            chosen[place] = row
    both = [{name: row[name] for name in ("problem", "floor_us", "prompt")} for row in chosen]
    sizes = random_problems(asked.random if asked.even else len(chosen), asked.floor, asked.seed, test, asked.even)
    both += [row for row in tasks(program, out, sizes, asked.jobs) if row["floor_us"] <= asked.floor]
    source.shuffle(both)
    with opened(out / "questions.jsonl.gz", "wt") as file:
        for row in both:
            file.write(json.dumps(row) + "\n")
    return len(both)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--test", required=True)
    parser.add_argument("--times", nargs="+", required=True)
    parser.add_argument("--each", type=int, default=12, help="lessons of each group of times")
    parser.add_argument("--random", type=int, default=4000, help="random sizes among the questions, and as many lessons")
    parser.add_argument("--floor", type=float, default=200.0, help="microseconds of a question's problem at most")
    parser.add_argument("--even", action="store_true", help="questions of random sizes alone, evenly over classes of alignment")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default="gemmsmith")
    asked = parser.parse_args()
    if not asked.each and not asked.even:
        parser.error("--each 0: with --even only")
    out, listed = asked.out, problems(asked.test)
    test = Test(listed)
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / "tokens", ignore_errors=True)   # imitate.py's, of the lessons before
    times = split_rows(asked.times, out, asked.jobs, asked.each) if asked.each else []
    lessons = [out / f"lessons.{i}.jsonl.gz" for i in range(len(times))]
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        counts = list(pool.map(lambda i: write_lessons(asked.program, times[i][0], "train", times[i][1], asked.seed, test, lessons[i]), range(len(times))))
    checked = write_lessons(asked.program, times[0][0], "held_out", 2, asked.seed, test, out / "check.jsonl.gz")[0] if times else 0
    if times and not sum(kept for kept, _ in counts):
        raise SystemExit("data.py: there are no lessons: no group of 8 times and more that is neither held out nor near to the test")
    asked_of = questions(asked.program, out, lessons, asked, test)
    with open(out / "test.jsonl", "w", encoding="utf-8") as file:
        for row in tasks(asked.program, out, listed, asked.jobs):
            file.write(json.dumps(row) + "\n")
    for path, _ in times:
        os.remove(path)
    print(f"{sum(kept for kept, _ in counts)} lessons ({sum(near for _, near in counts)} left out as too near to the test), {checked} to check with, {asked_of} questions, "
          f"{len(listed)} problems in the test")


if __name__ == "__main__":
    main()
