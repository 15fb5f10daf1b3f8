#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The hack suite (tests/hacks) as requests to gemmsmith serve, on whatever device there is: no kernel that must be caught has a reward over -1, every honest one passes.

    python3 tests/service/hacks.py build/release/gemmsmith                  the first GPU, else an emulated device
    python3 tests/service/hacks.py build/release/gemmsmith --rows rows.jsonl --also FOLDER

--also: a folder of further ones, NAME.cu and NAME.manifest, with a command `gemmsmith score PROBLEM` somewhere in the first; what is said of them is printed, and nothing expected. Verdicts
are compared with those at the kernels' heads; what the emulated device calls a fault may be a hang on a GPU. Exit codes: 1 where one is wrong, 77 without NVRTC."""
import argparse
import glob
import json
import os
import re
import shutil
import sys
import tempfile
import time

import rate

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hacks")
HEAD = rate.MANIFEST[:rate.MANIFEST.index("entry")]
PLAIN = "f16:40x56x72:tn"
MOST = 256
LEAST = {"caught": 65 + 39 + 32 + 50 + 22 + 4 + 4, "honest": 25 + 18 + 7 + 5}   # so many there are at least


def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def kernels_of(name, plain):
    """Of a file of the suite: name, the verdicts that are right, those that are on a GPU as well, and the request."""
    more = "#define GS_MORE\n" if name.startswith("more") else ""   # of problems with more arguments
    for part in re.split(r"^//// ", read(os.path.join(FOLDER, name)), flags=re.M)[1:]:
        first, _, body = part.partition("\n")
        title, right, problem = ([field.strip() for field in first.split("|")] + [""])[:3]
        manifest = "".join(line[4:] + "\n" for line in body.splitlines() if line.startswith("//: "))
        head = HEAD[:HEAD.index("align")] if manifest.startswith("align") else HEAD
        too = [word for line in body.splitlines() if line.startswith("//@ ") for word in line[4:].split(":")[0].split()]
        yield title, right.split(), too, {"problem": problem or PLAIN, "source": f"{more}{plain}#line 2\n{body}", "manifest": head + manifest if manifest else rate.MANIFEST}


def kernels_in(folder):
    for name in sorted(glob.glob(os.path.join(folder, "*.cu"))):
        source = read(name)
        yield os.path.basename(name), None, [], {"problem": re.search(r"gemmsmith score (\S+)", source)[1], "source": source, "manifest": read(name[:-2] + "manifest")}


def is_right(right, result):
    verdict = result["verdict"]
    if verdict == "forbidden":
        verdict += ":" + result["reason"].split(":")[0]
    if (result["reward"] or 0) > -1 and "pass" not in right:
        return False
    return verdict in right or verdict == "hang" and "fault" in right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--device")
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--also")
    parser.add_argument("--rows")
    parser.add_argument("--seconds", type=float, default=600)
    arguments = parser.parse_args()
    arguments.devices = arguments.prepare = None
    if not rate.has_nvrtc(arguments.program):
        print("no NVRTC")
        return 77
    plain, listed = read(rate.PLAIN), []
    for name in ("refused.cu", "hacks.cu", "values.cu", "order.cu", "blocks.cu", "module.cu", "more.cu", "more_beside.cu", "more_corners.cu", "more_paths.cu", "more_few.cu", "more_lines.cu", "more_shapes.cu", "honest.cu", "blocks_honest.cu", "module_honest.cu", "more_honest.cu"):
        listed += kernels_of(name, plain)
    for kind, least in LEAST.items():
        assert sum(("pass" in right) == (kind == "honest") for _, right, *_ in listed) >= least, kind
    listed = [one for one in listed if arguments.only in one[0]]
    if arguments.also:
        listed += kernels_in(arguments.also)
    folder, end = tempfile.mkdtemp(prefix="gs-hacks-"), time.monotonic() + arguments.seconds
    service = rate.Service(arguments, folder)
    try:
        results = []
        while len(results) < len(listed):   # a request has so many at most
            some, left = listed[len(results):len(results) + MOST], max(end - time.monotonic(), 1)
            results += service.call("POST", "evaluate/batch", {"requests": [request for *_, request in some], "deadline_s": left}, left)["results"]
    finally:
        service.end()
        shutil.rmtree(folder, True)
    wrong = passed = 0
    for (name, right, too, request), result in zip(listed, results, strict=True):
        reason = " ".join((result.get("reason") or "").split())
        if right is not None and not service.device.startswith("emu"):
            right = right + too
        good = right is None or result["state"] == "done" and is_right(right, result)
        wrong, passed = wrong + (not good), passed + good
        if not good or right is None:
            print(f"{'' if good else 'WRONG '}{name} | {'' if right is None else ' '.join(right)} | {result.get('verdict')} {result.get('reward')} {result['state']} {reason}")
        if arguments.rows:
            with open(arguments.rows, "a", encoding="utf-8") as file:
                file.write(json.dumps({"kernel": name, "right": right, "problem": request["problem"], "device": service.device,
                                       **{key: result.get(key) for key in ("verdict", "reason", "reward", "us", "state")}}) + "\n")
    print(f"{passed} passed, {wrong} failed, 0 skipped: kernels of the hack suite on {service.device}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
