#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workers share a list in one PostgreSQL database; workers and the server are killed at random moments. Nothing that a worker was told is kept may
be lost, nothing may be there twice, and no two may work on one problem.

    kill.py WORKER [--moments N] [--workers N] [--seed N]     N moments for workers and N for the server; exit 77: PostgreSQL is not installed"""
import argparse
import collections
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


class Server:
    """tests/support/postgres.sh, one of its functions at a time."""

    def __init__(self):
        done = self.call("postgres_start; echo FOLDER $postgres_folder")
        if "SKIPPED" in done.stdout:
            print(done.stdout.strip().splitlines()[0])
            sys.exit(77)
        self.folder = re.search(r"FOLDER (\S+)", done.stdout).group(1)

    def call(self, what):
        head = f". {shlex.quote(str(HERE.parent / 'support/postgres.sh'))}; "
        if hasattr(self, "folder"):
            head += f"postgres_folder={self.folder}; "
        return subprocess.run(["sh", "-c", head + what], stdout=subprocess.PIPE, text=True, check=False)

    def name(self):
        return self.call("postgres_connection").stdout.strip()

    def crash(self):
        self.call("postgres_down immediate")
        time.sleep(random.uniform(0, 0.3))
        if self.call("postgres_up").returncode != 0:
            sys.exit("the server does not start again")

    def ask(self, sql):
        done = subprocess.run(["psql", "-X", "-A", "-t", "-F", " ", "-d", self.name(), "-c", sql], stdout=subprocess.PIPE, text=True, check=True)
        return [line.split(" ") for line in done.stdout.splitlines()]


def counted(rows):
    return {name: int(count) for name, count in rows}


def check(server, folder, problems):
    """What the workers wrote down against what is in the database."""
    told = collections.defaultdict(list)
    for path in folder.glob("log.*"):
        for line in path.read_text().splitlines():
            kind, name = line.split(" ", 1)
            told[kind].append(name)
    there = {
        "measurement": counted(server.ask("SELECT t.candidate, count(*) FROM measurement m JOIN trial t ON t.id = m.trial GROUP BY 1")),
        "turn": counted(server.ask("SELECT uid, count(*) FROM turn GROUP BY 1")),
        "outcome": counted(server.ask("SELECT t.uid, count(*) FROM outcome o JOIN turn t ON t.id = o.turn GROUP BY 1")),
        "job": counted(server.ask("SELECT id, count(*) FROM job GROUP BY 1")),
        "attempt": counted(server.ask("SELECT id, attempts FROM job WHERE attempts > 0")),
        "answer": counted(server.ask("SELECT id, 1 FROM job WHERE answer = 'source:' || id")),
        "done": counted(server.ask("SELECT problem, done FROM lease WHERE done = 1")),
    }
    samples = int(server.ask("SELECT count(*) FROM sample")[0][0])
    faults = [f"two worked on {name}" for name in told["TWICE"]]
    faults += [f"{name} was done twice" for name, count in collections.Counter(told["done"]).items() if count > 1]
    for kind, rows in there.items():
        faults += [f"{kind} {name} is lost" for name in told[kind] if name not in rows]
        faults += [f"{kind} {name} is there {count} times" for name, count in rows.items() if count != 1]
    if samples != 3 * len(there["measurement"]):
        faults.append(f"{samples} samples of {len(there['measurement'])} measurements")
    return faults, {kind: len(rows) for kind, rows in there.items()}, len(there["done"]) == problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worker")
    parser.add_argument("--moments", type=int, default=5)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--problems", type=int, default=20000)
    args = parser.parse_args()
    random.seed(args.seed)
    server = Server()
    workers, failed = [], []
    with tempfile.TemporaryDirectory(prefix="gs-kill-") as name:
        folder = pathlib.Path(name)

        def begin():
            workers.append(subprocess.Popen([args.worker, server.name(), name, "r" * 32, str(args.problems)], stderr=subprocess.PIPE, text=True))

        def end(worker):
            said = worker.communicate(timeout=120)[1]
            if worker.returncode not in (0, -signal.SIGKILL):
                failed.append(said.strip())
        try:
            for _ in range(args.workers):
                begin()
            moments = ["worker"] * args.moments + ["server"] * args.moments
            random.shuffle(moments)
            for moment in moments:
                time.sleep(random.uniform(0.05, 0.3))
                if moment == "server":
                    server.crash()
                    continue
                worker = workers.pop(random.randrange(len(workers)))
                os.kill(worker.pid, signal.SIGKILL) if worker.poll() is None else None
                end(worker)
                begin()
            time.sleep(1)
            (folder / "stop").touch()
            while workers:
                end(workers.pop())
            faults, counts, _ = check(server, folder, args.problems)
        finally:
            for worker in workers:
                worker.kill()
            server.call("postgres_stop")
    faults += [f"a worker gave up: {text}" for text in failed]
    for fault in faults[:20]:
        print(fault)
    print(f"{args.moments} workers and {args.moments} times the server killed: " + ", ".join(f"{count} x {kind}" for kind, count in counts.items()) +
          f"; {len(faults)} faults")
    return 1 if faults or counts["done"] < args.moments else 0


if __name__ == "__main__":
    sys.exit(main())
