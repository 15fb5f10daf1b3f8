#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Changes the project's own code at random, one small change at a time, and says which changes no test notices.

    mutate.py --seed S --count N [--room ROOM]... [--json]

Each change (a mutant) is made in a copy of the tree, which is built; then the tests run until one fails: those of the room, the golden
cases of the command line and, with --all, every other. A mutant that all of them let pass survives, and is printed as a diff. One that
does not compile, or compiles to the same object, is no mutant: another is drawn in its place.

    --room ROOM      a folder of src, or `kernels`; repeated or with commas. Without it: all of them
    --kind KIND      only changes of this kind; repeated or with commas. --list says which there are and how many places each has
    --all            also all other tests of the build whose program the change is in, the quick ones first
    --together       all mutants in one build, of which each test is told one: the tests run once without a mutant, which says which of them reach the
                     function of each; then these run, the quick ones first, until one fails. Many times sooner, and the same judgement. What lies
                     in no function, or in one with a list of arguments that is open, is counted apart
    --quick S        with --together: tests that take longer run when all mutants have had the others (20), with up to eight mutants at once,
                     of which half are taken away as long as the test fails
    --room-alone     only the tests of the room: what survives may still be killed by others. Not with --together
    --preset NAME    the build: release, or sanitize, which alone sees leaks
    --results FILE   a line of JSON per mutant (build/mutate/results-SEED.jsonl). A run that was stopped goes on behind the last: same
                     seed, rooms and sources, same mutants
    --equivalent FILE   mutants that compute the same, each with its reason (tests/mutants/code.txt)
    --seconds S      begins no mutant after this time
    --parallel N     judges N mutants at a time, each in a copy of the tree of its own (1). With ccache the copies are built soon
    --leave-out REGEX   tests that do not run, because this machine lacks what they need; --leave-failing leaves out, and names, those
                     that fail without a mutant
    --at-least X     exit 1 if a smaller share is killed

What is printed last: killed, survived, the share killed, and its interval of 95 % (Wilson). A stage of tests may take four times what
it takes without a mutant, and 30 s more; one that is late counts as killed. A test must fail twice. Without a mutant all must pass.

For another tree: --root DIR --source FOLDER --build COMMAND --test COMMAND (repeated, one per stage; {room} is replaced)."""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import math
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

from mutations import KINDS, applied, diff, draws, read_equivalent, reason_of, survey
from mutants_together import Together
from tested_trees import Project, Tree, adopt_orphans, copy_tree, end_descendants, run

ROOT = Path(__file__).resolve().parent.parent
STAGE_FACTOR, STAGE_MORE = 4, 30
AHEAD = 3                  # mutants begun or waiting for each copy, with --parallel


class Judge:
    """Judges mutants in one copy of the tree."""

    def __init__(self, root, copy, arguments):
        copy.mkdir(parents=True, exist_ok=True)
        copy_tree(root, copy, "build")
        self.tree = (Tree if arguments.test else Project)(copy, arguments)
        self.tree.prepare()
        self.limit, self.taken = arguments.limit, {}

    def measure(self, rooms, cores):
        self.taken = self.tree.measure(sorted(rooms), cores)
        return self.taken, self.tree.left_out

    def judge(self, mutant):
        """(outcome, stage, what was said at the end): killed, survived, refused by the compiler, or same as before."""
        tree, surroundings = self.tree, self.tree.surroundings(mutant.room)
        path = tree.copy / mutant.path
        text = path.read_text(encoding="utf-8")
        try:
            code, said, _ = run(tree.build(mutant), tree.copy, None, surroundings)   # as it is, if it was not built before
            if code != 0:
                sys.exit(f"{mutant.room}: the build fails without a mutant:\n{said[-4000:]}")
            tree.built()
            before = tree.object(mutant)
            path.write_text(applied(mutant, text), encoding="utf-8")
            single = tree.compile(mutant)
            if single:
                code, said, _ = run(single, tree.copy, self.limit, surroundings)
                if code != 0:
                    return "refused", "build", said[-400:]
                if before and tree.object(mutant) == before:
                    return "same", "build", ""
            code, said, _ = run(tree.build(mutant), tree.copy, self.limit, surroundings)
            if code != 0:
                return "refused", "build", said[-400:]
            for stage in tree.stages(mutant):
                outcome = self.stage(mutant.room, stage, surroundings)
                if outcome:
                    return outcome
            return "survived", "", ""
        finally:
            path.write_text(text, encoding="utf-8")

    def stage(self, room, stage, surroundings):
        """None: its tests pass."""
        limit = min(self.limit, self.taken.get((room, stage.name), self.limit) * STAGE_FACTOR + STAGE_MORE)
        stop = stage.command.replace("--output-on-failure", "--output-on-failure --stop-on-failure", 1)
        code, said, _ = run(stop, self.tree.copy, limit, surroundings)
        failed = re.findall(r"^\s*\d+ - (\S+) \(", said, re.M)
        if code not in (None, 0):   # a test that fails now and then kills nothing: it must fail twice
            again = re.sub(r" -R '.*| -LE? .*", "", stage.command) + " --rerun-failed" if failed else stage.command
            code, said, _ = run(again, self.tree.copy, limit, surroundings)
            if code == 0 and failed:   # those behind it have not run
                code, said, _ = run(stop, self.tree.copy, limit, surroundings)
                failed = re.findall(r"^\s*\d+ - (\S+) \(", said, re.M)
        if code is None:
            return "killed", stage.name, "late"
        return ("killed", stage.name, " ".join(failed) or f"exit {code}") if code != 0 else None


# ---- several at a time ----

JUDGE = None   # of this process


def begin_judge(root, copies, known, arguments):
    global JUDGE   # pylint: disable=global-statement
    signal.signal(signal.SIGINT, signal.SIG_IGN)   # the parent's affair
    adopt_orphans()
    JUDGE = Judge(root, Path(copies.get()), arguments)
    JUDGE.taken, JUDGE.tree.left_out = known


def judge_here(mutant):
    return JUDGE.judge(mutant)


class Judges:
    """Judges mutants in as many copies as are asked for, ahead of those whose outcome is waited for."""

    def __init__(self, root, copy, arguments, keep):
        self.keep, self.pending, self.pool, self.parallel = keep, {}, None, arguments.parallel
        self.first, self.known = Judge(root, copy, arguments), None
        self.start = lambda: self.begin(root, copy, arguments)

    def measure(self, rooms, cores):
        self.known = self.first.measure(rooms, cores)

    def begin(self, root, copy, arguments):
        context = multiprocessing.get_context("fork")
        copies = context.Queue()
        for number in range(self.parallel):
            copies.put(str(copy) if number == 0 else f"{copy}-{number}")
        self.pool = concurrent.futures.ProcessPoolExecutor(self.parallel, mp_context=context, initializer=begin_judge,
                                                           initargs=(root, copies, self.known, arguments))

    def ahead(self, mutant):
        """Begins with a mutant that will be asked for. What is known is kept as soon as it is known, in another thread."""
        if not self.pool:
            self.start()
        future = self.pool.submit(judge_here, mutant)
        future.add_done_callback(lambda done: done.cancelled() or done.exception() or self.keep(mutant, done.result()))
        self.pending[mutant] = future

    def judge(self, mutant):
        if mutant in self.pending:
            outcome = self.pending.pop(mutant).result()
        else:
            outcome = self.first.judge(mutant)
        self.keep(mutant, outcome)

    def end(self):
        if self.pool:
            self.pool.shutdown(cancel_futures=True)


# ---- results ----

def wilson(hits, count):
    if not count:
        return 0.0, 1.0
    z, share = 1.96, hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def identity(mutant, text):
    """The same mutant of the same file, in another run."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{mutant.path}@{digest}:{mutant.start}-{mutant.end}:{mutant.new}"


def read_results(path):
    known = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
                known[row["id"]] = row
            except (ValueError, KeyError):   # the last line of a run that was killed
                continue
    return known


def total(rows, as_json, out):
    counts = collections.Counter(row["outcome"] for row in rows)
    killed, survived = counts["killed"], counts["survived"]
    low, high = wilson(killed, killed + survived)
    share = killed / (killed + survived) if killed + survived else 0.0
    if as_json:
        json.dump({"killed": killed, "survived": survived, "equivalent": counts["equivalent"], "refused": counts["refused"], "same": counts["same"],
                   "share": round(share, 4), "interval": [round(low, 4), round(high, 4)], "mutants": rows}, out, indent=1)
        out.write("\n")
    else:
        by_kind = collections.defaultdict(collections.Counter)
        for row in rows:
            by_kind[row["kind"]][row["outcome"]] += 1
        for kind, some in sorted(by_kind.items()):
            print(f"{kind:12} {some['killed']:4} killed {some['survived']:4} survived", file=out)
        apart = f", {counts['apart']} in no function that can be there twice" if counts["apart"] else ""
        print(f"{killed} killed, {survived} survived, {counts['equivalent']} without effect by the list, {counts['same']} by their object, "
              f"{counts['refused']} not compiled{apart}: {100 * share:.0f} % killed ({100 * low:.0f} to {100 * high:.0f})", file=out)
    return share


def tell(row, as_json):
    if as_json:
        return
    if row["outcome"] == "survived":
        print(f"SURVIVED {row['file']}:{row['line']} {row['kind']}\n{row['diff']}", flush=True)
    elif row["outcome"] == "killed":
        print(f"killed   {row['file']}:{row['line']} {row['kind']}: {row['stage']} ({row['by']})", flush=True)
    elif row["outcome"] == "equivalent":
        print(f"same     {row['file']}:{row['line']} {row['kind']}: {row['by']}", flush=True)


def lists(values, known, what):
    names = [name for value in values or [] for name in value.split(",") if name]
    for name in names:
        if known is not None and name not in known:
            sys.exit(f"there is no {what} {name}: {', '.join(sorted(known))}")
    return names


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--room", action="append")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--quick", type=float, default=20)
    parser.add_argument("--room-alone", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--preset", default="release")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--equivalent", type=Path)
    parser.add_argument("--copy", type=Path, help="the copy of the tree, which is kept (build/mutate/tree)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--leave-out")
    parser.add_argument("--leave-failing", action="store_true")
    parser.add_argument("--limit", type=float, default=1800, help="seconds that a stage may take at most")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--at-least", type=float, default=0)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--source", action="append")
    parser.add_argument("--build")
    parser.add_argument("--test", action="append")
    return parser


def fill(order, drawn, count):
    """Draws until so many wait."""
    order.extend(itertools.islice(drawn, max(0, count - len(order))))


def more(drawn, order):
    """Those that were drawn ahead, then others."""
    while True:
        fill(order, drawn, 1)
        if not order:
            return
        yield order.pop(0)


def main(argv=None):
    arguments = options().parse_args(argv)
    if arguments.together and arguments.room_alone:
        sys.exit("mutate: --room-alone cannot be used with --together, which runs every test that reaches a mutant")
    root, begin = arguments.root.resolve(), time.monotonic()
    folders = arguments.source or ["src", "kernels"]
    kinds = lists(arguments.kind, KINDS, "kind") or list(KINDS)
    everywhere = survey(root, folders, [], kinds)
    rooms = lists(arguments.room, {mutant.room for some in everywhere.values() for mutant in some}, "room")
    found = survey(root, folders, rooms, kinds) if rooms else everywhere
    if arguments.list:
        for kind, mutants in found.items():
            print(f"{kind:12} {len(mutants)}")
        return 0
    work = root / "build/mutate"
    copy = (arguments.copy or work / f"tree-{arguments.preset}").resolve()
    results = arguments.results or work / f"results-{arguments.seed}.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    known, done = read_equivalent(arguments.equivalent or root / "tests/mutants/code.txt"), read_results(results)
    texts, rows, judges, order, lock = {}, [], None, [], threading.Lock()
    adopt_orphans()

    def text_of(mutant):
        return texts.setdefault(mutant.path, (root / mutant.path).read_text(encoding="utf-8"))

    def open_question(mutant):
        return identity(mutant, text_of(mutant)) not in done and not reason_of(mutant, text_of(mutant), known)

    def row_of(mutant, outcome, stage, by):
        return {"id": identity(mutant, text_of(mutant)), "file": mutant.path, "line": mutant.line, "room": mutant.room, "kind": mutant.kind,
                "diff": diff(mutant, text_of(mutant)), "outcome": outcome, "stage": stage, "by": by}

    def keep(mutant, judged):
        row = row_of(mutant, *judged)
        with lock:
            if row["id"] not in done:
                file.write(json.dumps(row) + "\n")
                file.flush()
            done.setdefault(row["id"], row)

    def judge_together():
        together = Together(root, copy, arguments)
        numbered, others = together.draw(draws(found, arguments.seed), lambda mutant: reason_of(mutant, text_of(mutant), known))
        for mutant, outcome in others:
            reason = reason_of(mutant, text_of(mutant), known)
            rows.append(row_of(mutant, *(("equivalent", "", reason) if reason else (outcome, "build", ""))))
        for mutant, outcome in together.judge(numbered, lambda mutant: not open_question(mutant)):
            keep(mutant, outcome)
            tell(done[identity(mutant, text_of(mutant))], arguments.json)
        rows.extend(done[identity(mutant, text_of(mutant))] for mutant in numbered.values())

    with open(results, "a", encoding="utf-8") as file:
        try:
            drawn = () if arguments.together else draws(found, arguments.seed)
            if arguments.together:
                judge_together()
            for mutant in more(drawn, order):
                counted = sum(row["outcome"] in ("killed", "survived") for row in rows)
                if counted >= arguments.count or time.monotonic() - begin > arguments.seconds:
                    break
                if open_question(mutant):
                    if not judges:
                        judges = Judges(root, copy, arguments, keep)
                        ahead = itertools.islice(draws(found, arguments.seed), 2 * arguments.count)
                        judges.measure({other.room for other in ahead if open_question(other)}, arguments.jobs)
                    if arguments.parallel > 1:   # one that takes long delays no other
                        fill(order, drawn, AHEAD * arguments.parallel)
                        for other in [mutant, *order]:
                            if other not in judges.pending and open_question(other) and len(judges.pending) < AHEAD * arguments.parallel:
                                judges.ahead(other)
                    judges.judge(mutant)
                reason = reason_of(mutant, text_of(mutant), known)
                row = row_of(mutant, "equivalent", "", reason) if reason else done[identity(mutant, text_of(mutant))]
                rows.append(row)
                tell(row, arguments.json)
        except BaseException:
            end_descendants()   # what is judged now is not waited for
            raise
        finally:
            if judges:
                judges.end()
    share = total(rows, arguments.json, sys.stdout)
    return 1 if share < arguments.at_least else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:   # the results until here are kept
        end_descendants()       # tests that are still running in a tree would be told of the next run's mutants
        sys.exit(130)
