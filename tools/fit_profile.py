#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fits the constants of the time model to measured rows. Needs SciPy (pip install scipy); no device.

    fit_profile.py PROFILE ROWS.csv... [--only PREFIX,...] > NEW.profile

prints the profile again, fitted constants replaced and marked [fitted]. Rows are those of time_pairs. Rows with the counters of an emulated launch fit the
launch_ constants, all others the other ones. The model is the library's own: tools/predict_rows predicts the times.

What is minimised, averaged over problems: the error of the logarithm of the time, an offset per problem taken out (it counts a little), near the best schedule
more than far from it; and what is lost by taking the schedules that the model likes."""
import argparse
import pathlib
import re
import subprocess
import sys

try:
    import numpy
    from scipy import optimize
except ImportError:
    sys.exit("fit_profile.py: SciPy is not installed (pip install scipy)")

# not to be seen in such rows, or fixed by the hardware
FIXED = {"sustained", "issue_width", "feed_bytes", "l2_latency", "ws_read_c", "cluster4_share", "cluster16_share"}
REACH = 4   # a constant is looked for from a fourth of its value to four times it


class Model:
    """tools/predict_rows times: predictions of all rows by any constants."""

    def __init__(self, program, profile, rows):
        self.process = subprocess.Popen([program, "times", profile, *rows], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        head = self.process.stdout.readline().split()
        if len(head) != 6:
            sys.exit("fit_profile.py: the rows cannot be predicted")
        self.count, self.counted = int(head[1]), head[3] == b"1"
        pairs = [self.process.stdout.readline().split(b",") for _ in range(self.count)]
        self.group = numpy.array([int(pair[0]) for pair in pairs])
        self.measured = numpy.array([float(pair[1]) for pair in pairs])
        lines = [self.process.stdout.readline().decode().strip().split(",") for _ in range(int(head[5]))]
        self.names = [line[0] for line in lines]
        self.values, self.least, self.most = numpy.array([[float(x) for x in line[1:]] for line in lines]).T

    def predict(self, values):
        self.process.stdin.write(" ".join(f"{value:.17g}" for value in values).encode() + b"\n")
        self.process.stdin.flush()
        times = self.process.stdout.read(8 * self.count)
        if len(times) != 8 * self.count:
            sys.exit("fit_profile.py: predict_rows ended")
        return numpy.frombuffer(times)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def bent(x):
    """Quadratic, then linear."""
    return 0.15 * (numpy.sqrt(1 + (x / 0.15) ** 2) - 1)


def loss_of(model):
    """The loss of predicted times, as a function."""
    group, measured = model.group, model.measured
    starts = numpy.flatnonzero(numpy.diff(group, prepend=-1))
    best = numpy.minimum.reduceat(measured, starts)[group]
    weight = (best / measured) ** 0.7
    weights = numpy.add.reduceat(weight, starts)
    lost = numpy.minimum(numpy.log(measured / best), 1)

    def loss(times):
        error = numpy.log(measured / times)
        offset = numpy.add.reduceat(weight * error, starts) / weights
        spread = numpy.add.reduceat(weight * bent(error - offset[group]), starts) / weights
        like = (numpy.minimum.reduceat(times, starts)[group] / times) ** 20
        likes = numpy.add.reduceat(like * lost, starts) / numpy.add.reduceat(like, starts)
        return float(numpy.mean(spread + 0.2 * bent(offset) + 0.3 * likes))

    return loss


def fit(model, only, evaluations):
    """Indices of the fitted constants, and all constants with the fitted ones in place."""
    free = [i for i, name in enumerate(model.names)
            if name not in FIXED and name.startswith("launch_") == model.counted and model.values[i] > 0 and (not only or name.startswith(tuple(only)))]
    if not free:
        sys.exit("fit_profile.py: there is no constant to be fitted")
    loss, start = loss_of(model), model.values[free]

    def values_at(x):
        values = model.values.copy()
        values[free] = numpy.clip(start * numpy.exp(x), model.least[free], model.most[free])
        return values

    def objective(x):
        return loss(model.predict(values_at(x))) + 2e-5 * float(numpy.sum(x ** 2))   # a constant that hardly matters stays where it is

    reach = float(numpy.log(REACH))
    found = optimize.minimize(objective, numpy.zeros(len(free)), method="Powell", bounds=[(-reach, reach)] * len(free),
                              options={"maxfev": evaluations, "xtol": 1e-4, "ftol": 1e-7})
    print(f"loss {objective(numpy.zeros(len(free))):.5f} before, {found.fun:.5f} after {found.nfev} evaluations", file=sys.stderr)
    return free, values_at(found.x)


def replaced(text, fitted):
    """The profile's text; the lines of fitted constants with their value and origin."""
    lines = []
    for line in text.splitlines():
        name = re.match(r"[^ \t#]*", line).group()
        if name in fitted:
            _, mark, comment = line.partition("#")
            comment = re.sub(r" *\[[^][]*\]$", "", mark + comment.rstrip())
            line = f"{name:<16} {format(fitted[name], '.4g'):<12} {comment} [fitted]"
        lines.append(line)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Fits the constants of the time model to measured rows.")
    parser.add_argument("profile")
    parser.add_argument("rows", nargs="+", metavar="ROWS.csv")
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="PREFIX,...", help="only constants whose name begins so")
    parser.add_argument("--evaluations", type=int, default=20000, help="predictions of all rows at most (20000)")
    parser.add_argument("--program", default="build/release/tools/predict_rows", help="(build/release/tools/predict_rows)")
    o = parser.parse_args()
    model = Model(o.program, o.profile, o.rows)
    free, values = fit(model, o.only, o.evaluations)
    model.close()
    print(replaced(pathlib.Path(o.profile).read_text(encoding="utf-8"), {model.names[i]: values[i] for i in free}), end="")


if __name__ == "__main__":
    main()
