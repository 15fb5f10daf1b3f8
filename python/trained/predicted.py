# SPDX-License-Identifier: MIT
"""tools/predict_pairs behind a pipe: whether a text is a schedule of a problem, and what learned weights predict of it. The Python standard library alone."""
import shlex
import subprocess
import threading

LONGEST = 200   # bytes of a schedule string


class Predicted:
    """command: "build/release/tools/predict_pairs [WEIGHTS]". May be asked by several threads."""

    def __init__(self, command):
        self.run = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()

    def us(self, problem, schedule):
        """Time and floor in microseconds; (0, 0): no schedule of the problem."""
        if not schedule.isascii() or not schedule.isprintable() or not 0 < len(schedule) <= LONGEST:
            return 0.0, 0.0
        with self.lock:
            self.run.stdin.write(f"{problem},{schedule}\n")
            self.run.stdin.flush()
            return tuple(map(float, self.run.stdout.readline().split(",")))

    def valid(self, problem, schedule):
        return self.us(problem, schedule)[0] > 0
