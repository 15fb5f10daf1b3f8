#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random damage of every kind of file that gemmsmith writes and reads again: the store, a tuned table, weights, a saved plan, compiled code in the
cache. After each one the commands that read the file are run. The damage is

  told      a message names the file, or says what is wrong, and the exit code is a documented one
  harmless  every command says what it says without the damage
  silent    anything else: other output without a word, a crash, a hang

and nothing may be silent. Usage: damage.py PROGRAM PACK [--seed N] [--count N] [--kinds store,table,...] [--keep DIR]
PACK is the program that tests/damage/pack.c is. A failure prints the seed of its damage: --seed N --count 1 repeats it."""
import argparse
import contextlib
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

KINDS = {"store": 6, "log": 3, "table": 4, "weights": 3, "plan": 3, "cache": 1}   # how often each; the last compiles anew each time
DOCUMENTED = {0, 1, 2, 3, 4, 5, 75, 77}
PROBLEM = "f16:16x16x32:tn"


def rows(count):
    """A tuned table's rows, of problems of many sizes."""
    draw = random.Random(7)
    for i in range(count):
        us = draw.uniform(2, 900)
        yield (f"f16:{16 * (i + 1)}x{draw.choice((64, 256, 1024))}x{draw.choice((64, 4096))}:{draw.choice(('nn', 'tn'))}  ws/128x256x64/s4/c2x1/coop/g8  {us:.3f}  {us * 1.1:.3f}"
               f"  1.1000  1.0900  1.1100  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0")


class Files:
    """Sound files, and what the commands say of them."""

    def __init__(self, program, pack, folder):
        self.program, self.pack, self.folder = program, pack, folder
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("GEMMSMITH_")}
        self.environment.update(HOME=folder, XDG_DATA_HOME=folder, XDG_CACHE_HOME=folder, LC_ALL="C", GEMMSMITH_CACHE=self.at("cache"),
                                ASAN_OPTIONS="abort_on_error=1", UBSAN_OPTIONS="halt_on_error=1")
        self.make()

    def at(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, **more):
        return subprocess.run([str(w) for w in words], cwd=self.folder, env={**self.environment, **more}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120)

    def need(self, *words, **more):
        done = self.run(*words, **more)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stderr.decode(errors='replace')}")

    def make(self):
        g = self.program
        compiled = {"GEMMSMITH_CACHE": os.environ.get("GS_TEST_CACHE") or self.at("compiled")}   # kernels that other tests of the run compiled
        with open(self.at("more.tuned"), "w", encoding="ascii") as file:
            file.write("gemmsmith-tuned 1\n" + "\n".join(rows(150)) + "\n")
        with open(self.at("curves.csv"), "w", encoding="ascii") as file:
            file.write("series,name,x,y\n" + "".join(f"train/surrogate,loss,{i},{1 / (i + 1)}\n" for i in range(200)))
        self.need(g, "tune", PROBLEM, "--device", "emu:h200", "--candidates", "2", "--families", "simple", "--quiet", "--store", "sound.store", "--tuned", "emu-h200.tuned", **compiled)
        self.need(g, "eval", PROBLEM, "--device", "emu:h200", "--contenders", "own", "--quiet", "--store", "sound.store", "--json", **compiled)
        self.need(g, "db", "import", "more.tuned", "--store", "sound.store", "--quiet")
        self.need(g, "db", "curves", "curves.csv", "--store", "sound.store", "--quiet")
        self.need(g, "db", "export", "sound.table", "--gpu", "nvidia-h200", "--store", "sound.store")
        self.leave_log()
        self.need(g, "train", "sound.weights", "--problems", "1", "--quiet")
        self.need(self.pack, "save", "sound.plan", **compiled)
        self.need(g, "gemm", PROBLEM, "--device", "emu:h200", "--quiet", "--no-check")
        cached = sorted(os.listdir(self.at("cache")))
        os.rename(os.path.join(self.at("cache"), cached[0]), self.at("sound.cache"))
        self.cached = os.path.join("cache", cached[0])
        self.names = {"store": "hurt.db", "table": "hurt.tuned", "weights": "hurt.weights", "plan": "hurt.plan", "cache": self.cached, "log": "logged.db-wal"}
        self.sound = {}
        for kind in KINDS:
            with open(self.at("sound." + kind), "rb") as file:
                self.sound[kind] = file.read()
        self.says = {kind: self.readers(kind, self.sound[kind]) for kind in KINDS}

    def leave_log(self):
        """A store whose last rows are in the log still, as after a kill."""
        shutil.copy(self.at("sound.store"), self.at("logged.db"))
        with contextlib.closing(sqlite3.connect(self.at("logged.db"), isolation_level=None)) as store:
            store.execute("PRAGMA wal_autocheckpoint = 0")
            for i in range(12):
                store.execute("UPDATE winner SET us = us + 1 WHERE id % 12 = ?", (i,))
            shutil.copy(self.at("logged.db"), self.at("log.base"))
            shutil.copy(self.at("logged.db-wal"), self.at("sound.log"))

    def commands(self, kind):
        """What reads the file, and the variables that name it."""
        g, name = self.program, self.names[kind]
        on = ["--device", "emu:h200"]
        if kind == "log":
            store = ["--store", "logged.db"]
            return [([g, "db", "list", "--gpu", "nvidia-h200", "--json", *store], {}), ([g, "db", "check", *store], {})]
        if kind == "store":
            store = ["--store", name]
            return [([g, "db", "list", "--gpu", "nvidia-h200", "--json", *store], {}), ([g, "db", "list", "--gpu", "emu-h200", *store], {}),
                    ([g, "db", "show", PROBLEM, "--gpu", "emu-h200", "--json", *store], {}), ([g, "db", "curves", *store], {}), ([g, "db", "check", *store], {}),
                    ([g, "db", "export", "-", "--gpu", "nvidia-h200", *store], {}), ([g, "export", "trajectories", "--predicted", *store], {}),
                    ([g, "report", "--out", "-", *store], {})]
        if kind == "table":
            return [([g, "gemm", PROBLEM, "--no-check", "--json", *on], {"GEMMSMITH_TUNED": name}), ([g, "db", "compare", name, "sound.table", "--json", "--gpu", "nvidia-h200"], {}),
                    ([g, "doctor", *on], {"GEMMSMITH_TUNED": name})]
        if kind == "weights":
            return [([g, "doctor", *on], {"GEMMSMITH_WEIGHTS": name}), ([g, "gemm", "f16:64x64x64:tn", "--no-check", "--json", *on], {"GEMMSMITH_WEIGHTS": name})]
        if kind == "plan":
            return [([self.pack, "load", name], {})]
        return [([g, "gemm", PROBLEM, "--json", *on], {})]

    def readers(self, kind, data):
        path = self.at(self.names[kind])
        said = []
        for words, more in self.commands(kind):
            for tail in ("", "-wal", "-shm", "-journal"):
                if os.path.exists(path + tail):
                    os.unlink(path + tail)
            if kind == "log":
                shutil.copy(self.at("log.base"), self.at("logged.db"))
                if os.path.exists(self.at("logged.db-shm")):
                    os.unlink(self.at("logged.db-shm"))
            with open(path, "wb") as file:
                file.write(data)
            try:
                done = self.run(*words, **more)
                out = re.sub(rb'"(date|seconds|time|us|device_us|call_us|wall_us)": ?("[^"]*"|[0-9.e+-]+),?', b"", done.stdout)
                out = re.sub(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?", b"DATE", out) if kind != "store" or words[1] == "report" else out
                said.append((done.returncode, out, done.stderr))
            except subprocess.TimeoutExpired:
                said.append((None, b"", b"hangs"))
        return said


def damage(draw, data):
    """(what was done, the damaged bytes)."""
    out, size = bytearray(data), len(data)
    how = draw.choice(("bit", "byte", "bytes", "cut", "swap", "zeros", "append", "delete", "noise", "repeat"))
    length = min(size, draw.choice((1, 2, 3, 7, 16, 64, 200, 512, 4096)))
    at = draw.randrange(size - length + 1)
    if how == "bit":
        at = draw.randrange(size)
        out[at] ^= 1 << draw.randrange(8)
    elif how == "byte":
        at = draw.randrange(size)
        out[at] = draw.randrange(256)
    elif how == "bytes":
        for _ in range(draw.randrange(2, 9)):
            out[draw.randrange(size)] = draw.randrange(256)
    elif how == "cut":
        at = draw.randrange(size)
        del out[at:]
    elif how == "swap":
        other = draw.randrange(size - length + 1)
        out[at:at + length], out[other:other + length] = data[other:other + length], data[at:at + length]
    elif how == "zeros":
        out[at:at + length] = bytes(length)
    elif how == "append":
        out += draw.randbytes(length) if draw.random() < 0.5 else bytes(length)
    elif how == "delete":
        del out[at:at + length]
    elif how == "noise":
        out[at:at + length] = draw.randbytes(length)
    else:
        out[at:at] = data[at:at + length]
    return f"{how} of {length} at {at} of {size}", bytes(out)


def judge(files, kind, data):
    """(verdict, what was seen)."""
    verdict, why = "harmless", ""
    name = os.path.basename(files.names[kind]).encode()
    for (words, _), sound, now in zip(files.commands(kind), files.says[kind], files.readers(kind, data)):
        code, out, errors = now
        shown = f"{' '.join(os.path.basename(w) for w in words)}: exit {code}\n{errors.decode(errors='replace')}"
        if code not in DOCUMENTED or b"Sanitizer" in errors:
            return "silent", "crash or hang: " + shown
        told = (name in errors and errors != sound[2]) or (name in out and name + b": " not in sound[1] and code != sound[0])
        if (code, out) == sound[:2] and not told:
            continue
        if not told and words[1] == "doctor":   # it prints what is wrong among its lines
            told = any(name in line and not line.startswith(b"ok") for line in out.splitlines())
        if not told:
            return "silent", shown + out[:400].decode(errors="replace")
        verdict, why = "told", shown
    return verdict, why


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("pack", type=os.path.abspath)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--keep", help="where files whose damage was silent are kept")
    asked = parser.parse_args()
    info = subprocess.run([asked.program, "info"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    if re.search(r"^NVRTC *none", info, re.M):
        print("no NVRTC")
        return 77
    kinds = asked.kinds.split(",")
    counts, silent = {kind: {"told": 0, "harmless": 0, "silent": 0} for kind in kinds}, 0
    with tempfile.TemporaryDirectory(prefix="gs-damage-") as folder:
        files = Files(asked.program, asked.pack, folder)
        for seed in range(asked.seed, asked.seed + asked.count):
            draw = random.Random(seed)
            kind = draw.choices(kinds, [KINDS[k] for k in kinds])[0]
            what, data = damage(draw, files.sound[kind])
            verdict, why = judge(files, kind, data)
            if data == files.sound[kind] and verdict != "harmless":
                verdict, why = "silent", "without damage: " + why
            counts[kind][verdict] += 1
            if verdict == "silent":
                silent += 1
                print(f"seed {seed}: {kind}: {what}: {why}", flush=True)
                if asked.keep:
                    with open(os.path.join(asked.keep, f"{seed}.{kind}"), "wb") as file:
                        file.write(data)
    for kind in kinds:
        print(f"{kind:8} " + ", ".join(f"{n} {verdict}" for verdict, n in counts[kind].items()))
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
