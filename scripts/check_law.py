#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the dependency law of docs/internals/design.md: who may include whom, and what the shipped library may not use."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# layer: what it may include besides itself, the public headers and the C library
LAW = {
    "base":     set(),
    "problem":  {"base"},
    "schedule": {"base", "problem"},
    "learn":    {"base", "problem", "schedule"},
    "kernel":   {"base", "problem", "schedule"},
    "ptx":      {"base"},
    "device":   {"base", "schedule"},
    "emu":      {"base", "schedule", "device", "ptx"},
    "inspect":  {"base", "kernel", "ptx"},
    "cublas":   {"base", "device", "plan"},
    "plan":     {"base", "problem", "schedule", "learn", "kernel", "device", "cublas", "common"},
    "train":    {"base", "problem", "schedule", "learn"},
    "store":    {"base", "problem", "schedule"},
    "llm":      {"base"},
    "sandbox":  {"base", "device"},
    "redact":   {"base"},
    "baseline": {"base", "problem", "schedule", "kernel", "device", "cublas", "plan"},
    "verify":   {"base", "problem", "schedule", "kernel", "device", "plan", "common"},
    "bench":    {"base", "problem", "schedule", "kernel", "device", "plan", "verify"},
}
TOOLS = {"ptx", "emu", "inspect", "train", "store", "llm", "sandbox", "redact", "baseline", "verify", "bench"}
SHIPPED = ("base", "problem", "schedule", "learn", "kernel", "device", "cublas", "plan")
for layer, others in (("worker", {"evaluate", "policy", "tune", "author", "dataset"}), ("evaluate", {"policy", "author", "dataset"}), ("policy", {"author", "dataset"}),
                      ("tune", {"author", "dataset"}), ("author", {"dataset"}), ("dataset", set()), ("report", set()), ("service", set()), ("cli", set())):
    LAW[layer] = set(SHIPPED) | TOOLS | {"common", "worker", "evaluate", "policy", "tune", "author", "dataset", "service", "report"} - others - {layer}
OUTSIDE = {   # third-party headers and the layers that may use them
    "sqlite3.h": {"store"}, "jansson.h": {"llm", "worker", "evaluate", "policy", "tune", "author", "dataset", "service", "report", "cli"}, "seccomp.h": {"sandbox"},
    "microhttpd.h": {"service"}, "curl/curl.h": {"llm"}, "xxhash.h": {"base"},
    "cuda.h": set(), "nvrtc.h": set(), "cublas_v2.h": set(), "cublasLt.h": set(),
}
FORBIDDEN_CALLS = re.compile(r"(?<![\w.>])(exit|_exit|abort|printf|puts|assert)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LINES = 620


def strip_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def main():
    faults, files = [], 0
    folders = {layer: ROOT / "src" / layer for layer in LAW if layer != "cli"}
    folders["cli"] = ROOT / "cli"
    for layer, folder in folders.items():
        for path in sorted(folder.rglob("*.[ch]")) + sorted(folder.rglob("*.def")):
            files += 1
            name = path.relative_to(ROOT)
            text = path.read_text(encoding="utf-8")
            if not text.startswith("/* SPDX-License-Identifier: MIT"):
                faults.append(f"{name}:1: must open with the licence line")
            if text.count("\n") > LINES:
                faults.append(f"{name}: {text.count(chr(10))} lines, at most {LINES}")
            for number, line in enumerate(text.splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                kind, target = match.groups()
                first = target.split("/")[0]
                if kind == "<" and target in OUTSIDE and layer not in OUTSIDE[target]:
                    faults.append(f"{name}:{number}: {layer} may not use {target}")
                if kind == '"' and "/" in target and first != layer and first not in LAW[layer]:
                    faults.append(f"{name}:{number}: {layer} may not include {target}")
            if layer in SHIPPED or layer in ("ptx", "emu"):   # libgemmsmith.so and libgemmsmith-emu.so
                for number, line in enumerate(strip_comments(text).splitlines(), 1):
                    call = FORBIDDEN_CALLS.search(line)
                    if call:
                        faults.append(f"{name}:{number}: the library may not call {call.group(1)}()")
    for path in sorted((ROOT / "examples").rglob("*.c")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match.group(1) == '"' and "/" in match.group(2):
                faults.append(f"{path.relative_to(ROOT)}:{number}: examples use the public headers only")
    for fault in faults:
        print(fault)
    print(f"{files} files, {len(faults)} faults")
    return 1 if faults or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
