#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many candidates gemmsmith serve evaluates per second, cold: distinct schedules, kernels that somebody else wrote, schedules in races; and what part of the
time its devices were busy. One command, on whatever device there is:

    python3 tests/service/rate.py build/release/gemmsmith                    the first GPU, else an emulated device
    python3 tests/service/rate.py build/release/gemmsmith --devices all      all GPUs

The store and the cache of compiled code are empty at the start; one answer is waited for first, for which the service compiles what verification needs on any problem. Prints a line as each stage ends, and with --json an object; --check exits with 1 where a GPU does not
reach the targets. A stage ends after --seconds, whatever is under way, and its rate is that of what was done by then. Where nothing is done for a while, standard error says
what the service's processes are doing. --repeats N: evaluates fixed schedules N times each, as if for the first time, and says how far their rewards lie apart. On an emulated
device the figures say what works, not how fast a GPU is. Exit code 77: no NVRTC."""
import argparse
import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TARGETS = {"first": 0.0, "schedules": 8.0, "kernels": 2.0, "wmma": 2.0, "raced, new": 0.0, "raced": 50.0, "busy": 0.7}   # per second, and a part of the time: of one H200 with 16 cores
MANIFEST = "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) batch\nblock 16 16 1\n"
PLAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hacks", "plain.cuh")   # loads, stores and a dot product, which kernels of tests begin with
BODY = "KERNEL gs_kernel(const gs_kernel_args p)\n{\n    EACH_ELEMENT;\n    put(p, batch, row, col, dot(p, batch, row, col));\n}\n"
WMMA = "wmma where tiles are whole and aligned"   # of honest.cu there: on tensor cores, as a model's first kernels are

KEEP = "1s"   # how long the service that repeats keeps its answers
# problems from small to large, each with schedules of several families; on an emulated device the small ones
REPEATED = {
    "f16:128x128x128:tn": ["simple", "mma/64x64x64/w2x2/s3/g1", "slicek/32x32/w1x1x4/d1/k1/any/f128"],
    "f16:1x4096x4096:tn": ["gemv/8x16/w8/d4/r128/p0/k1/fixed", "slicek/16x32/w1x1x8/d4/k4/any/f128", "splitk/8x64x64/s8/ba/c1x1/k4/any"],
    "f16:16x4096x4096:tn": ["gemv/16x16/w8/d4/r128/p0/k1/any", "slicek/16x32/w1x1x8/d4/k2/any/f128", "splitk/16x64x64/s8/ba/c1x1/k4/any"],
    "f16:512x512x512:tn": ["ws/64x64x64/s4/c1x1/pp/g1", "mma/64x64x64/w2x2/s4/g4", "splitk/64x64x64/s4/ab/c1x1/k2/any"],
    "f16:512x4096x4096:tn": ["ws/128x128x64/s6/c1x1/pp/g8", "mma/128x128x32/w2x2/s4/g8", "splitk/128x128x64/s4/ab/c1x1/k1/any"],
    "f16:2048x2048x2048:tn": ["ws/128x128x64/s6/c1x1/pp/g8", "mma/128x128x32/w2x2/s4/g8", "splitk/128x128x64/s4/ab/c1x1/k1/any"],
    "f16:4096x4096x4096:tn": ["ws/128x256x64/s4/c2x1/coop/g8", "ws/128x192x64/s5/c1x1/pp/h4", "mma/128x256x32/w2x4/s3/g8"],
    "f16:8192x4096x8192:tn": ["ws/128x256x64/s4/c2x1/coop/g8", "ws/128x128x64/s6/c1x1/pp/g8", "mma/128x128x32/w2x2/s4/g8"],
}
REPEATED_EMULATED = {
    "f16:32x64x128:tn": ["simple", "mma/16x32x64/w1x1/s2/g1", "slicek/16x16/w1x1x2/d1/k1/any/f128"],
    "f16:64x64x64:tn": ["simple", "mma/32x32x64/w2x2/s2/g1", "slicek/32x32/w1x1x2/d1/k1/any/f128"],
}


class Service:
    def __init__(self, arguments, folder, options=None, more=()):
        os.makedirs(folder, exist_ok=True)
        environment = {k: v for k, v in os.environ.items() if k not in ("GEMMSMITH_CACHE", "GEMMSMITH_TOKEN")}
        environment.update(HOME=folder, XDG_DATA_HOME=folder, XDG_CACHE_HOME=folder)
        device = ["--devices", arguments.devices] if arguments.devices else ["--device", arguments.device] if arguments.device else []
        prepare = [] if arguments.prepare is None else ["--prepare", str(arguments.prepare)]
        self.errors = open(os.path.join(folder, "stderr"), "wb")
        self.process = subprocess.Popen([arguments.program, "serve", "--port", "0", "--json", "--queue", "100000", *(options or device + prepare), *more], env=environment, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True)
        first = self.process.stdout.readline()
        if not first.startswith("{"):
            raise SystemExit(f"the service did not start: {first}{open(self.errors.name, encoding='utf-8').read()}")
        hello = json.loads(first)
        self.device, self.port = hello["device"], int(hello["url"].split("/v1")[0].rsplit(":", 1)[1])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()

    def call(self, method, path, body=None, seconds=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds + 30)
        try:
            connection.request(method, "/v1/" + path, json.dumps(body) if body else None, {"Content-Type": "application/json"} if body else {})
            reply = connection.getresponse()
            text = reply.read().decode()
        except TimeoutError:
            raise SystemExit(f"{method} {path}: no answer\n{state_of(self)}") from None
        finally:
            connection.close()
        if reply.status not in (200, 202) and (method, reply.status) not in (("DELETE", 409), ("GET", 404)):   # done in the meantime; forgotten
            raise SystemExit(f"{method} {path}: {reply.status} {text}")
        return json.loads(text) if text.startswith("{") else text

    def metrics(self, *names):
        """The sum of each, over all its labels."""
        lines = self.call("GET", "metrics").splitlines()
        return [sum(float(line.split()[-1]) for line in lines if line.startswith(f"gemmsmith_{name}{{")) for name in names]

    def said(self):
        with open(self.errors.name, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()

    def busy(self):
        """Seconds that devices were busy, all together, and how many there are."""
        values = [float(line.split()[-1]) for line in self.call("GET", "metrics").splitlines() if line.startswith("gemmsmith_device_busy_seconds_total{")]
        return sum(values), len(values)


def processes_of(parent):
    """Numbers of the process and of all below it."""
    below = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                below.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
    found = [parent]
    for pid in found:
        found += below.get(pid, [])
    return found


def read_line(path):
    with contextlib.suppress(OSError):
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().replace("\0", " ").strip()
    return "?"


def threads_of(pid):
    """Where the threads of a process stand, a line each, if there is a debugger: functions from the inside out, without those of the C library."""
    debugger, threads = shutil.which("gdb") or shutil.which("cuda-gdb"), []
    if not debugger:
        return []
    with contextlib.suppress(subprocess.TimeoutExpired):
        told = subprocess.run([debugger, "-p", str(pid), "-batch", "-ex", "thread apply all backtrace 16"], capture_output=True, text=True, check=False, timeout=60)
        for line in told.stdout.splitlines():
            frame = re.match(r"#\d+ +(?:0x[0-9a-f]+ in )?(\S+)", line)
            if line.startswith("Thread "):
                threads.append([])
            elif frame and threads and not re.match(r"_|\?\?|futex|start_thread|clone", frame.group(1)):
                threads[-1].append(frame.group(1))
    return ["  thread in " + " < ".join(frames or ["?"]) for frames in threads]


def state_of(service):
    """What each process of the service is doing, what the service said last, and where its threads stand."""
    lines = []
    for pid in processes_of(service.process.pid):
        fields = read_line(f"/proc/{pid}/stat").rsplit(")", 1)[-1].split()
        if len(fields) > 17:
            cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            lines.append(f"  {pid:7} {fields[0]} {cpu:7.2f} s of a core, {fields[17]:>3} threads, waits in {read_line(f'/proc/{pid}/wchan'):20} {read_line(f'/proc/{pid}/cmdline')[:120]}")
    lines += ["  said: " + line for line in service.said()[-8:]]
    return "\n".join(lines + threads_of(service.process.pid))


class Utilization(threading.Thread):
    """What the driver says of the GPU meanwhile: the part of time in which any kernel ran. One process for all of it: to start one takes the driver's locks, which whoever is
    measured waits for."""

    def __init__(self):
        super().__init__(daemon=True)
        self.samples, self.process = [], None
        if shutil.which("nvidia-smi"):
            self.process = subprocess.Popen(["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--loop-ms=1000"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def run(self):
        for line in self.process.stdout if self.process else ():
            self.samples += [float(word) / 100 for word in line.split() if word.isdigit()]

    def mean(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.join(5)
        return sum(self.samples) / len(self.samples) if self.samples else None


class Progress(threading.Thread):
    """Looks now and then how far the service is. Where nothing was done since the last look, it says what the service's processes are doing; `loud`: it says how far, too."""

    def __init__(self, service, stage, seconds, loud):
        super().__init__(daemon=True)
        self.service, self.stage, self.seconds, self.loud, self.over = service, stage, seconds, loud, threading.Event()

    def run(self):
        before, began = None, time.monotonic()
        while not self.over.wait(self.seconds):
            with contextlib.suppress(OSError, SystemExit):
                done, working, waiting, busy = self.service.metrics("stage_done_total", "stage_working", "stage_waiting", "device_busy_seconds_total")
                head = f"{self.stage}, {time.monotonic() - began:.0f} s: {done:.0f} steps done, {working:.0f} under way, {waiting:.0f} wait, devices busy for {busy:.1f} s"
                if done == before:
                    print(f"{head}; none since the last look:\n{state_of(self.service)}", file=sys.stderr, flush=True)
                elif self.loud:
                    print(head, file=sys.stderr, flush=True)
                before = done

    def end(self):
        self.over.set()
        self.join(10)


class Stage:
    """One of the measurements: how long it may go on, and what became of it."""

    def __init__(self, seconds):
        self.until, self.stopped, self.spent, self.verdicts = time.monotonic() + seconds, False, {}, {}

    def left(self):
        return max(self.until - time.monotonic(), 0.0)

    def count(self, service, results):
        """Of those that a device had to look at. What is not done at the end is cancelled, or it would hold up the next stage."""
        looked = 0
        for result in results:
            if result["state"] != "done":
                self.stopped = True
                service.call("DELETE", "result/" + result["id"])
                continue
            self.verdicts[result["verdict"]] = self.verdicts.get(result["verdict"], 0) + 1
            for name, seconds in result.get("spent", {}).items():
                self.spent.setdefault(name, []).append(seconds)
            looked += result["verdict"] not in ("launch", "unsupported", "machine", "problem", "deadline", "cancelled", "stopping")
        return looked


def schedules(arguments, folder, problems, family, count):
    """Distinct ones that every problem takes: another service, whose store and cache nobody sees, refuses the others at once."""
    draw, found, limit = random.Random(arguments.seed), [], Stage(arguments.seconds)
    screen = Service(arguments, folder, ["--device", "emu:h200", "--prepare", "0"])
    try:
        parameters = next(f["parameters"] for f in screen.call("GET", "grammar")["families"] if f["name"] == family)
        for _ in range(200 * count):
            if limit.left() == 0:
                break
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
    raise SystemExit(f"only {len(found)} of {count} schedules for {problems}")


def sources():
    """Of each kind of kernel: text and manifest. One thread adds up a dot product; one warp a tile on tensor cores."""
    with open(PLAIN, encoding="utf-8") as file:
        plain = file.read()
    with open(os.path.join(os.path.dirname(PLAIN), "honest.cu"), encoding="utf-8") as file:
        wmma = next(part for part in file.read().split("//// ") if part.startswith(WMMA)).partition("\n")[2]
    head = MANIFEST[:MANIFEST.index("entry")] + "".join(line[4:] + "\n" for line in wmma.splitlines() if line.startswith("//: "))
    return {"kernels": (plain + BODY, MANIFEST), "wmma": (plain + wmma, head)}


def measured(service, arguments, name, work):
    """Runs one stage. What it did, per second; the part of the time that devices were busy, by the service and by the driver; where the time of a candidate went."""
    stage, watch, progress = Stage(arguments.seconds), Utilization(), Progress(service, name, arguments.look, arguments.trace)
    watch.start()
    progress.start()
    before, devices = service.busy()
    began = time.monotonic()
    count = work(stage)
    seconds, after = time.monotonic() - began, service.busy()[0]
    progress.end()
    row = {"count": count, "seconds": seconds, "per_s": count / seconds, "busy": (after - before) / seconds / devices, "driver": watch.mean(), "stopped": stage.stopped,
           "verdicts": stage.verdicts, "spent": {key: sum(values) / len(values) for key, values in stage.spent.items()}}
    if not arguments.json:
        tell(name, row)
    return row


def tell(name, row):
    target = f" (target {TARGETS[name]:g})" if TARGETS[name] else ""
    driver = "" if row["driver"] is None else f", {row['driver']:.0%} by the driver"
    stopped = ", stopped by --seconds" if row["stopped"] else ""
    print(f"{name:10} {row['count']:5} in {row['seconds']:6.1f} s: {row['per_s']:7.2f}/s{target}, devices busy {row['busy']:.0%}{driver}{stopped}")
    if row["spent"]:
        print(" " * 11 + "seconds each: " + ", ".join(f"{key} {seconds:.2f}" for key, seconds in row["spent"].items()))
    sys.stdout.flush()


def groups_of(items, size):
    return [items[i:i + size] for i in range(0, len(items), size)]


def evaluate(service, arguments, requests, stage):
    """Groups of one problem from several callers at once, as a trainer sends them."""
    def group(items):
        left = stage.left()
        if left == 0:
            stage.stopped = True
            return 0
        return stage.count(service, service.call("POST", "evaluate/batch", {"requests": items, "deadline_s": left}, left)["results"])
    with concurrent.futures.ThreadPoolExecutor(arguments.callers) as pool:
        return sum(pool.map(group, groups_of(requests, arguments.group)))


def race(service, problem, names, stage):
    timed = 0
    for group in groups_of(names, 256):
        left = stage.left()
        got = service.call("POST", "races", {"problem": problem, "schedules": group, "deadline_s": left}, left) if left > 0 else {}
        timed += sum("us" in entry for entry in got.get("race", []))
        if "race" not in got:
            stage.stopped = True
            if got.get("id"):
                service.call("DELETE", "result/" + got["id"])
    return timed


def repeat(service, arguments, requests, stage):
    """Rewards and rounds of each, as often as asked. Between two times the service forgets its answers, so each is compiled from the cache, verified with new data and timed again."""
    rows = [{**request, "rewards": [], "rounds": []} for request in requests]
    for _ in range(arguments.repeats):
        left = stage.left()
        if left == 0:
            stage.stopped = True
            break
        results = service.call("POST", "evaluate/batch", {"requests": requests, "deadline_s": left}, left)["results"]
        stage.count(service, results)
        for row, result in zip(rows, results):
            if result["state"] == "done" and result["verdict"] == "pass":
                row["rewards"].append(result["reward"])
                row["rounds"].append(result.get("rounds", 0))
        while stage.left() > 0 and any("state" in service.call("GET", "result/" + result["id"]) for result in results if result["id"]):
            time.sleep(0.2)
    for row in rows:
        row["spread"] = max(row["rewards"]) - min(row["rewards"]) if row["rewards"] else None
    return rows


def repeated(arguments, folder, emulated):
    """By another service, with the code that the first one has compiled: how far the rewards of a schedule lie apart."""
    requests = [{"problem": problem, "schedule": name} for problem, names in (REPEATED_EMULATED if emulated else REPEATED).items() for name in names]
    service, stage = Service(arguments, folder, more=["--keep", KEEP]), Stage(arguments.seconds)
    try:
        rows = repeat(service, arguments, requests, stage)
    finally:
        service.end()
    spreads = [row["spread"] for row in rows if len(row["rewards"]) > 1]
    return {"rows": rows, "verdicts": stage.verdicts, "stopped": stage.stopped, "median": statistics.median(spreads) if spreads else None, "worst": max(spreads, default=None)}


def tell_repeated(got):
    for row in got["rows"]:
        rewards, rounds = row["rewards"], row["rounds"]
        figures = f"{len(rewards):3} rewards of {sum(rewards) / len(rewards):7.4f}, spread {row['spread']:.4f}, {min(rounds)} to {max(rounds)} rounds" if rewards else "  no reward"
        print(f"repeats    {row['problem']:24} {row['schedule']:36} {figures}")
    if got["median"] is not None:
        print(f"repeats    spread of the reward: median {got['median']:.4f}, worst {got['worst']:.4f}{', stopped by --seconds' if got['stopped'] else ''}")
    sys.stdout.flush()


def cores():
    return len(os.sched_getaffinity(0))


def run(arguments, folder):
    service = Service(arguments, os.path.join(folder, "measured"))
    try:
        emulated = service.device.startswith("emu")
        problems = arguments.problems.split(",") if arguments.problems else ["f16:64x64x64:tn", "f16:64x64x128:tn"] if emulated else ["f16:2048x2048x2048:tn", "f16:4096x1024x2048:tn", "f16:512x4096x4096:tn"]
        counts = [arguments.schedules or (4 if emulated else 192), arguments.kernels or (3 if emulated else 32), arguments.raced or (6 if emulated else 128)]
        names = schedules(arguments, os.path.join(folder, "screen"), problems, "mma" if emulated else "ws", counts[0] + counts[2] + 1)
        rows, size = {}, arguments.group

        def measure(name, work):
            rows[name] = measured(service, arguments, name, work)
        if not arguments.json:
            print(f"{service.device}, {cores()} cores{'; an emulated device: no figure of a GPU' if emulated else ''}", flush=True)
        first = [{"problem": problems[0], "schedule": names.pop()}]
        measure("first", lambda stage: evaluate(service, arguments, first, stage))
        cold = [{"problem": problems[i // size % len(problems)], "schedule": name} for i, name in enumerate(names[:counts[0]])]
        measure("schedules", lambda stage: evaluate(service, arguments, cold, stage))
        for name, (source, manifest) in sources().items():
            kernels = [{"problem": problems[i // size % len(problems)], "source": f"// {i}\n{source}", "manifest": manifest} for i in range(counts[1])]
            measure(name, lambda stage, kernels=kernels: evaluate(service, arguments, kernels, stage))
        rest = names[counts[0]:]
        # for the first problem the code of all is compiled; for the others the cache has it, as for a policy that has learned what is worth trying
        measure("raced, new", lambda stage: race(service, problems[0], rest, stage))
        measure("raced", lambda stage: sum(race(service, problem, rest, stage) for problem in problems[1:] or problems))
    finally:
        service.end()
    again = repeated(arguments, os.path.join(folder, "measured"), emulated) if arguments.repeats else None
    if again and not arguments.json:
        tell_repeated(again)
    return service.device, emulated, rows, again


def has_nvrtc(program):
    told = subprocess.run([program, "info"], capture_output=True, text=True, check=False).stdout
    return not any(line.split()[:2] == ["NVRTC", "none"] for line in told.splitlines())


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
    parser.add_argument("--repeats", type=int, default=0, help="how often each of some fixed schedules is evaluated after the other stages, to see how far its rewards lie apart")
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--group", type=int, default=16, help="candidates of one problem in a request")
    parser.add_argument("--seconds", type=float, default=150, help="most for each stage; what is not done by then is cancelled")
    parser.add_argument("--look", type=float, default=20, help="seconds between looks at the service, which say what its processes do where nothing was done since")
    parser.add_argument("--trace", action="store_true", help="say at each look how far the service is")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not has_nvrtc(arguments.program):
        print("no NVRTC")
        return 77
    folder = tempfile.mkdtemp(prefix="gs-rate-")
    try:
        device, emulated, rows, again = run(arguments, folder)
    finally:
        shutil.rmtree(folder, True)
    if arguments.json:
        print(json.dumps({"device": device, "emulated": emulated, "cores": cores(), "rates": rows, **({"repeats": again} if again else {})}))
    reached = all(row["per_s"] >= TARGETS[name] for name, row in rows.items()) and rows["schedules"]["busy"] >= TARGETS["busy"]
    return 1 if arguments.check and not emulated and not reached else 0


if __name__ == "__main__":
    sys.exit(main())
