#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many candidates gemmsmith serve evaluates per second, cold: distinct schedules, kernels that somebody else wrote, schedules in races; and what part of the
time its devices were busy. One command, on whatever device there is:

    python3 tests/service/rate.py build/release/gemmsmith                    the first GPU, else an emulated device
    python3 tests/service/rate.py build/release/gemmsmith --devices all      all GPUs

The store and the cache of compiled code are empty at the start. Prints a table, and with --json an object; --check exits with 1 where a GPU does not reach the
targets. On an emulated device the figures say what works, not how fast a GPU is. Exit code 77: no NVRTC."""
import argparse
import concurrent.futures
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TARGETS = {"schedules": 8.0, "kernels": 2.0, "raced, new": 0.0, "raced": 50.0, "busy": 0.7}   # per second, and a part of the time: of one H200 with 16 cores
MANIFEST = "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) batch\nblock 16 16 1\n"
PLAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hacks", "plain.cuh")   # loads, stores and a dot product, which kernels of tests begin with
BODY = "KERNEL gs_kernel(const gs_kernel_args p)\n{\n    EACH_ELEMENT;\n    put(p, batch, row, col, dot(p, batch, row, col));\n}\n"


class Service:
    def __init__(self, arguments, folder, options=None):
        os.makedirs(folder, exist_ok=True)
        environment = {k: v for k, v in os.environ.items() if k not in ("GEMMSMITH_CACHE", "GEMMSMITH_TOKEN")}
        environment.update(HOME=folder, XDG_DATA_HOME=folder, XDG_CACHE_HOME=folder)
        device = ["--devices", arguments.devices] if arguments.devices else ["--device", arguments.device] if arguments.device else []
        prepare = [] if arguments.prepare is None else ["--prepare", str(arguments.prepare)]
        self.errors = open(os.path.join(folder, "stderr"), "wb")
        self.process = subprocess.Popen([arguments.program, "serve", "--port", "0", "--json", "--queue", "100000", *(options or device + prepare)], env=environment, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True)
        first = self.process.stdout.readline()
        if not first.startswith("{"):
            raise SystemExit(f"the service did not start: {first}{open(self.errors.name, encoding='utf-8').read()}")
        hello = json.loads(first)
        self.device, self.port = hello["device"], int(hello["url"].split("/v1")[0].rsplit(":", 1)[1])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.errors.close()

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)
        connection.request(method, "/v1/" + path, json.dumps(body) if body else None, {"Content-Type": "application/json"} if body else {})
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        if reply.status not in (200, 202):
            raise SystemExit(f"{method} {path}: {reply.status} {text}")
        return json.loads(text) if text.startswith("{") else text

    def busy(self):
        """Seconds that devices were busy, all together, and how many there are."""
        values = [float(line.split()[-1]) for line in self.call("GET", "metrics").splitlines() if line.startswith("gemmsmith_device_busy_seconds_total{")]
        return sum(values), len(values)


class Utilization(threading.Thread):
    """What the driver says of the GPU meanwhile: the part of time in which any kernel ran."""

    def __init__(self):
        super().__init__(daemon=True)
        self.samples, self.stop = [], threading.Event()

    def run(self):
        while shutil.which("nvidia-smi") and not self.stop.wait(0.5):
            told = subprocess.run(["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"], capture_output=True, text=True, check=False)
            self.samples += [float(word) / 100 for word in told.stdout.split() if word.isdigit()]

    def mean(self):
        self.stop.set()
        self.join()
        return sum(self.samples) / len(self.samples) if self.samples else None


def schedules(arguments, folder, problems, family, count):
    """Distinct ones that every problem takes: another service, whose store and cache nobody sees, refuses the others at once."""
    draw, found = random.Random(arguments.seed), []
    screen = Service(arguments, folder, ["--device", "emu:h200", "--prepare", "0"])
    try:
        parameters = next(f["parameters"] for f in screen.call("GET", "grammar")["families"] if f["name"] == family)
        for _ in range(200 * count):
            name = "/".join([family, *(draw.choice(p["values"]) for p in parameters if not p["optional"])])
            taken = []
            for problem in problems if name not in found else []:
                got = screen.call("POST", "submit", {"problem": problem, "schedule": name})
                taken.append(got["id"] is not None)
                if taken[-1]:
                    screen.call("DELETE", "result/" + got["id"])
                else:
                    break
            if taken and all(taken):
                found.append(name)
            if len(found) == count:
                return found
    finally:
        screen.end()
    raise SystemExit(f"only {len(found)} schedules for {problems}")


def measured(service, work):
    """What `work` returns, seconds, part of the time that devices were busy, what the driver says."""
    watch = Utilization()
    watch.start()
    before, devices = service.busy()
    began = time.monotonic()
    count = work()
    seconds = time.monotonic() - began
    return count, seconds, (service.busy()[0] - before) / seconds / devices, watch.mean()


def groups_of(items, size):
    return [items[i:i + size] for i in range(0, len(items), size)]


def count_verdicts(results, verdicts):
    for result in results:
        verdicts[result["verdict"]] = verdicts.get(result["verdict"], 0) + 1
    return sum(result["verdict"] not in ("launch", "unsupported", "machine", "problem", "deadline", "cancelled", "stopping") for result in results)


def evaluate(service, arguments, requests, verdicts):
    """Groups of one problem from several callers at once, as a trainer sends them. Counts those that a device had to look at."""
    def group(items):
        return count_verdicts(service.call("POST", "evaluate/batch", {"requests": items, "deadline_s": 3600})["results"], verdicts)
    with concurrent.futures.ThreadPoolExecutor(arguments.callers) as pool:
        return sum(pool.map(group, groups_of(requests, arguments.group)))


def run(arguments, folder):
    service = Service(arguments, os.path.join(folder, "measured"))
    try:
        emulated = service.device.startswith("emu")
        problems = arguments.problems.split(",") if arguments.problems else ["f16:64x64x64:tn", "f16:64x64x128:tn"] if emulated else ["f16:2048x2048x2048:tn", "f16:4096x1024x2048:tn", "bf16:512x4096x4096:tn"]
        counts = [arguments.schedules or (4 if emulated else 96), arguments.kernels or (3 if emulated else 32), arguments.raced or (6 if emulated else 128)]
        names = schedules(arguments, os.path.join(folder, "screen"), problems, "mma" if emulated else "ws", counts[0] + counts[2])
        with open(PLAIN, encoding="utf-8") as file:
            plain = file.read()
        verdicts, rows, size = {}, {}, arguments.group
        cold = [{"problem": problems[i // size % len(problems)], "schedule": name} for i, name in enumerate(names[:counts[0]])]
        rows["schedules"] = measured(service, lambda: evaluate(service, arguments, cold, verdicts))
        kernels = [{"problem": problems[i // size % len(problems)], "source": f"// {i}\n{plain}{BODY}", "manifest": MANIFEST} for i in range(counts[1])]
        rows["kernels"] = measured(service, lambda: evaluate(service, arguments, kernels, verdicts))
        rest = names[counts[0]:]

        def race(problem):
            groups = groups_of(rest, 256)
            return sum("us" in e for g in groups for e in service.call("POST", "races", {"problem": problem, "schedules": g, "deadline_s": 3600})["race"])
        # for the first problem the code of all is compiled; for the others the cache has it, as for a policy that has learned what is worth trying
        rows["raced, new"] = measured(service, lambda: race(problems[0]))
        rows["raced"] = measured(service, lambda: sum(map(race, problems[1:] or problems)))
        return service.device, emulated, verdicts, rows
    finally:
        service.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--device")
    parser.add_argument("--devices")
    parser.add_argument("--prepare", type=int, help="the service's option; default: its own")
    parser.add_argument("--problems", help="by commas")
    parser.add_argument("--schedules", type=int, help="distinct schedules, each verified and timed")
    parser.add_argument("--kernels", type=int, help="distinct kernels, each emulated, verified and timed")
    parser.add_argument("--raced", type=int, help="schedules in a race, of which there is one for each problem")
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--group", type=int, default=16, help="candidates of one problem in a request")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    told = subprocess.run([arguments.program, "info"], capture_output=True, text=True, check=False).stdout
    if any(line.split()[:2] == ["NVRTC", "none"] for line in told.splitlines()):
        print("no NVRTC")
        return 77
    folder = tempfile.mkdtemp(prefix="gs-rate-")
    try:
        device, emulated, verdicts, rows = run(arguments, folder)
    finally:
        shutil.rmtree(folder, True)
    out = {"device": device, "emulated": emulated, "cores": len(os.sched_getaffinity(0)), "verdicts": verdicts,
           "rates": {name: {"count": count, "seconds": seconds, "per_s": count / seconds, "busy": busy, "driver": driver} for name, (count, seconds, busy, driver) in rows.items()}}
    if arguments.json:
        print(json.dumps(out))
    else:
        print(f"{device}, {out['cores']} cores{'; an emulated device: no figure of a GPU' if emulated else ''}; verdicts {verdicts}")
        for name, row in out["rates"].items():
            target = f" (target {TARGETS[name]:g})" if TARGETS[name] else ""
            driver = "" if row["driver"] is None else f", {row['driver']:.0%} by the driver"
            print(f"{name:10} {row['count']:5} in {row['seconds']:6.1f} s: {row['per_s']:7.2f}/s{target}, devices busy {row['busy']:.0%}{driver}")
    reached = all(row["per_s"] >= TARGETS[name] for name, row in out["rates"].items()) and out["rates"]["schedules"]["busy"] >= TARGETS["busy"]
    return 1 if arguments.check and not emulated and not reached else 0


if __name__ == "__main__":
    sys.exit(main())
