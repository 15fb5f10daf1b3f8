#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trained.py PROGRAM PREDICT_PAIRS: what of python/trained needs nothing but Python: data, the split, the parts of a prompt, figures of regret. Training itself is in
tests/service/packages.py."""
import http.server
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRAINED = os.path.join(ROOT, "python", "trained")
PROGRAM, PREDICT = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
sys.dont_write_bytecode = True
sys.path.insert(0, TRAINED)
import common  # noqa: E402
import predicted  # noqa: E402
import races  # noqa: E402

SCHEDULES = [f"ws/64x64x64/s{s}/c1x1/coop/g{g}" for s in (2, 3, 4) for g in (1, 2, 4, 8)]


def write_times(path, problems):
    with open(path, "w", encoding="utf-8") as file:
        file.write("group,problem,schedule,us\n")
        for group, problem in enumerate(problems, 1):
            for place, schedule in enumerate(SCHEDULES):
                file.write(f"{group},{problem},{schedule},{10 + place}\n")


def run(name, *arguments, folder):
    environment = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, os.path.join(TRAINED, name), *map(str, arguments)], cwd=folder, env=environment, check=True, text=True, stdout=subprocess.PIPE).stdout


class Data(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        at = cls.folder.name
        near = ["f16:640x1024x1024:nn", "f16:1024x640x1024:tn", "f16:640x1024x2048:tn", "f16:2048x1024x1024:tn"]   # itself, its twin, two with two extents of it
        cls.far = ["f16:512x512x768:tn", "bf16:768x1536x512:nn", "f16:1536x768x768:nn"]
        write_times(os.path.join(at, "a.csv"), near + cls.far[:1])
        write_times(os.path.join(at, "b.csv"), cls.far[1:])   # the same numbers of groups as in the other file
        with open(os.path.join(at, "test.txt"), "w", encoding="utf-8") as file:
            file.write("# the test\nf16:640x1024x1024:nn  # near to four\n")
        cls.said = run("data.py", "out", "--program", PROGRAM, "--test", "test.txt", "--times", "a.csv", "b.csv", "--each", 6, "--random", 5, "--jobs", 2, folder=at)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rows(self, name):
        return list(common.rows(os.path.join(self.folder.name, "out", name)))

    def test_lessons(self):
        rows = self.rows("lessons.0.jsonl.gz") + self.rows("lessons.1.jsonl.gz") + self.rows("check.jsonl.gz")
        self.assertTrue(rows)
        self.assertLessEqual({row["problem"] for row in rows}, set(self.far))
        self.assertTrue(all(row["asked"] == len(common.schedules(row["completion"][0]["content"])) for row in rows))
        self.assertRegex(self.said, r"^\d+ lessons \(([1-9]\d*) left out")

    def test_questions(self):
        rows = self.rows("questions.jsonl.gz")
        known = [row for row in rows if row["problem"] in self.far]
        self.assertEqual(len(rows), 2 * len(known))
        self.assertTrue(known)
        self.assertTrue(any(common.NOTHING not in row["prompt"][1]["content"] for row in known))
        self.assertTrue(all(common.NOTHING in row["prompt"][1]["content"] for row in rows if row not in known))

    def test_the_test(self):
        rows = self.rows("test.jsonl")
        self.assertEqual([row["problem"] for row in rows], ["f16:640x1024x1024:nn"])
        self.assertGreater(rows[0]["floor_us"], 0)

    def test_even_questions(self):
        """A third each of multiples of 64, of 8 and of anything, none near to the test, and no lessons where none are asked for."""
        run("data.py", "even", "--program", PROGRAM, "--test", "test.txt", "--times", "a.csv", "--each", 0, "--random", 9, "--floor", 1000, "--even", "--jobs", 2, folder=self.folder.name)
        at = os.path.join(self.folder.name, "even")
        listed = [row["problem"] for row in common.rows(os.path.join(at, "questions.jsonl.gz"))]
        self.assertEqual(sorted(map(common.alignment, listed)), [1, 1, 1, 8, 8, 8, 64, 64, 64])
        self.assertFalse(any(map(common.Test(["f16:640x1024x1024:nn"]).near, listed)))
        self.assertEqual([name for name in os.listdir(at) if name.startswith(("lessons", "times"))], [])
        self.assertEqual([common.alignment(f"f16:5x{n}x{k}:nn") for n, k in ((64, 128), (8, 64), (64, 66), (7, 64))], [64, 8, 1, 1])

    def test_rows_of_a_timing(self):
        """Rows of tools/time_pairs are groups by their problem, and a file may say how many lessons each of its groups gives."""
        at = os.path.join(self.folder.name, "timed.csv")
        with open(at, "w", encoding="utf-8") as file:
            file.write("problem,schedule,measured_us,predicted_us,sm_mhz\n" + "".join(f"{self.far[0]},{one},{10 + i},9,1980\n" for i, one in enumerate(SCHEDULES)))
        counts = []
        for each in ("", ":2"):
            run("data.py", "timed", "--program", PROGRAM, "--test", "test.txt", "--times", at + each, "--each", 5, "--random", 2, "--jobs", 1, folder=self.folder.name)
            rows = list(common.rows(os.path.join(self.folder.name, "timed", "lessons.0.jsonl.gz")))
            self.assertEqual({row["problem"] for row in rows}, {self.far[0]})
            counts.append(len(rows))
        self.assertEqual(counts, [5, 2])
        with open(at, "w", encoding="utf-8") as file:
            file.write("schedule,us\n")
        with self.assertRaises(subprocess.CalledProcessError):
            run("data.py", "timed", "--program", PROGRAM, "--test", "test.txt", "--times", at, "--each", 5, "--random", 2, "--jobs", 1, folder=self.folder.name)

    def test_brief(self):
        """A small model reads the problem, facts of it, what was measured and the question, and neither the device nor the grammar."""
        row = next(row for row in self.rows("lessons.0.jsonl.gz") + self.rows("lessons.1.jsonl.gz") if row["problem"] == self.far[0] and row["shown"])
        (message,) = common.brief(row["prompt"])
        text, whole = message["content"], row["prompt"][1]["content"]
        self.assertEqual(text.splitlines()[:3], [self.far[0], f"floor {common.number(row['floor_us'])} us", "M 64 N 64 K 64"])
        self.assertIn("\n128x256 0.06\n", text)     # 8 tiles of 132
        self.assertTrue(all(line in text for line in whole.splitlines() if line.startswith("- ws/64x64x64/s")))
        self.assertTrue(text.endswith(whole.splitlines()[-1] + "\n"))
        self.assertNotIn("Grammar", text)
        self.assertLess(len(text), len(whole) / 5)
        failed = [{**row["prompt"][1], "content": whole.replace("# What failed\n\nNothing.", "# What failed\n\n- simple: too slow")}]
        self.assertIn("\n- simple: too slow\n", common.brief(failed)[0]["content"])
        other = [{"role": "system", "content": "s"}, {"role": "user", "content": "# Problem\n\nno schedule\n"}]
        self.assertEqual(common.brief(other), other)

    def test_prompts_are_the_program_s(self):
        """What is shown of measured times, as Python writes it, is what C writes."""
        same = 0
        for row in self.rows("lessons.0.jsonl.gz") + self.rows("lessons.1.jsonl.gz"):
            if row["shown"] <= common.BEST:
                shown = [one for one in SCHEDULES if f"- {one}:" in row["prompt"][1]["content"]]
                self.assertEqual(len(shown), row["shown"])
                times = {one: 10.0 + SCHEDULES.index(one) for one in shown}
                self.assertEqual(common.with_measured(common.without_examples(row["prompt"]), times, row["floor_us"]), row["prompt"])
                same += 1
        self.assertGreater(same, 2)


class Prompts(unittest.TestCase):
    PROMPT = [{"role": "system", "content": "s"}, {"role": "user", "content": "# What was measured\n\n1 so far. The fastest:\n- ws/a/b: 12.5 us, 30 % of the floor's speed, l2_hit 0.5\n\n# What failed\n\nNothing.\n"}]

    def test_arms(self):
        text = common.without_metrics(self.PROMPT)[1]["content"]
        self.assertIn("- ws/a/b: 12.5 us\n", text)
        self.assertNotIn("floor", text)
        text = common.without_examples(self.PROMPT)[1]["content"]
        self.assertIn("# What was measured\n\nNothing yet.\n\n# What failed", text)
        self.assertIn("rl", common.ARMS)

    def test_ranges(self):
        text = common.measured_text({f"s{i}": 1 + i / 10 for i in range(30)}, 0.5, 1)
        self.assertIn("30 so far. The fastest:\n- s0: 1 us, 50 % of the floor's speed\n- s1: 1.1 us", text)
        self.assertEqual(text.count("- s"), 3 + 1 + 2 + 2)   # to 1.3 (those to 1.1 are among the fastest), to 2, beyond

    def test_answers(self):
        self.assertEqual(common.schedules('```json\n["a/b", "c"]\n```'), ["a/b", "c"])
        for text in ("", "[", "no", '{"a": 1}', '["a'):
            self.assertEqual(common.schedules(text), [], text)


class Asked(unittest.TestCase):
    def test_what_is_valid(self):
        asked = predicted.Predicted(PREDICT)
        try:
            for text, valid in (("simple", True), ("ws/64x64x64/s2/c1x1/coop/g1", True), ("ws/nonsense", False), ("", False), ("simple\nsimple", False), ("\u00e9", False), ("s" * 300, False)):
                self.assertEqual(asked.valid("f16:512x512x768:tn", text), valid, text)
            self.assertFalse(asked.valid("f16:512x512x7:tn", "ws/64x64x64/s2/c1x1/coop/g1"))   # rows that no tensor copy takes
        finally:
            asked.run.communicate()

    def test_timings_that_must_end(self):
        """run.sh orders what is timed: each pair once, a problem's together, problems as they came."""
        with open(os.path.join(TRAINED, "run.sh"), encoding="utf-8") as file:
            function = file.read().partition("together() {")[2].partition("\n}")[0].partition("\n")[2]
        with tempfile.TemporaryDirectory() as at:
            for name, text in (("one", "q,b\nq,a\np,a\n"), ("two", "q,a\nr,a\np,c\n")):
                with open(os.path.join(at, name), "w", encoding="utf-8") as file:
                    file.write(text)
            said = subprocess.run(["sh", "-c", function, "sh", "one", "two"], cwd=at, check=True, text=True, stdout=subprocess.PIPE).stdout
        self.assertEqual(said, "q,b\nq,a\np,a\np,c\nr,a\n")


class Figures(unittest.TestCase):
    TIMES = {"p": {"a": 2.0, "b": 1.0}, "q": {"a": 4.0, "c": 3.0}}

    def test_shares(self):
        arm = {"p": ["a", "b"], "q": ["broken", "c"]}
        self.assertEqual(common.shares(arm, self.TIMES, 1), {"p": 0.5, "q": common.FAILED})
        self.assertEqual(common.shares(arm, self.TIMES, 2), {"p": 1.0, "q": 1.0})
        self.assertEqual(common.shares({"p": ["b"]}, self.TIMES, 8)["q"], common.FAILED)   # what it did not propose counts

    def test_pairs(self):
        better, worse = [{f"p{i}": 0.9 + 0.001 * i for i in range(50)}], [{f"p{i}": 0.8 + 0.001 * i for i in range(50)}]
        middle, low, high = common.paired(better, worse)
        self.assertTrue(low <= middle <= high and low > 0.09 and high < 0.11, (low, middle, high))
        middle, low, high = common.paired(better, better)
        self.assertEqual((middle, low, high), (0, 0, 0))
        source = [{f"p{i}": math.exp(-0.05 * ((i * 7919) % 13) / 13) for i in range(40)}], [{f"p{i}": math.exp(-0.05 * ((i * 104729) % 13) / 13) for i in range(40)}]
        _, low, high = common.paired(*source)
        self.assertLess(low, high)

    def test_judge(self):
        with tempfile.TemporaryDirectory() as at:
            for name, text in (("times.csv", "problem,schedule,measured_us\np,a,2\np,b,1\nq,a,4\nq,c,3\n"), ("imitation.1.csv", "p,a\nq,a\n"), ("rl.1.csv", "p,b\nq,broken\nq,c\n")):
                with open(os.path.join(at, name), "w", encoding="utf-8") as file:
                    file.write(text)
            said = run("judge.py", "times.csv", "imitation.1.csv", "rl.1.csv", "--rows", "shares.csv", folder=at).splitlines()
            self.assertRegex(said[2], r"^\| imitation \| 1 \| 2 \| 0\.6124 ")   # of 1/2 and 3/4
            self.assertRegex(said[3], r"^\| rl \| 1 \| 2 \| 0\.3162 \| 1\.0000 ")
            with open(os.path.join(at, "shares.csv"), encoding="utf-8") as file:
                self.assertIn("rl,1,q,1,2,1.00000\n", file.read())
            table = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "report_regret.py"), "shares.csv"], cwd=at, check=True, text=True, stdout=subprocess.PIPE).stdout
            self.assertIn("| rl | 2 | 1 | 1.0000", table)

    def test_judge_by_alignment(self):
        times = {"f16:5x64x128:nn": {"a": 2.0, "b": 1.0}, "f16:5x8x64:nn": {"a": 4.0, "c": 3.0}}
        with tempfile.TemporaryDirectory() as at:
            for name, lines in (("times.csv", ["problem,schedule,measured_us"] + [f"{problem},{one},{us}" for problem, own in times.items() for one, us in own.items()]),
                                ("imitation.1.csv", [f"{problem},a" for problem in times]), ("rl.1.csv", [f"{problem},{one}" for problem, own in times.items() for one in own][1:])):
                with open(os.path.join(at, name), "w", encoding="utf-8") as file:
                    file.write("\n".join(lines) + "\n")
            for of, one, other in (("64", r"0\.5000", r"1\.0000"), ("8", r"0\.7500", r"0\.7500")):
                said = run("judge.py", "times.csv", "imitation.1.csv", "rl.1.csv", "--alignment", of, folder=at).splitlines()
                self.assertRegex(said[2], rf"^\| imitation \| 1 \| 1 \| {one} ")
                self.assertRegex(said[3], rf"^\| rl \| 1 \| 1 \| {other} ")
            with self.assertRaises(subprocess.CalledProcessError):   # neither
                run("judge.py", "times.csv", "imitation.1.csv", "rl.1.csv", "--alignment", "1", folder=at)


class Raced(unittest.TestCase):
    """A scripted service: what is sent once for all that is alike, what is no schedule is not sent, a full queue is asked again."""

    def serve(self, answer):
        asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked.append((self.path, self.headers.get("Authorization"), body))
                code, headers, value = answer(body, len(asked))
                data = json.dumps(value).encode()
                self.send_response(code)
                for name, text in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, text)
                self.end_headers()
                self.wfile.write(data)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}", asked

    @staticmethod
    def text(name):
        return json.dumps([name])

    def test_groups(self):
        url, asked = self.serve(lambda body, number: (200, {}, {"race": [{"reward": len(one) / 10, **({"verdict": "launch"} if one == "bb" else {})} for one in body["schedules"]]}))
        judge = races.Races("milestones", 20, url + "/")
        got = judge(["p", "p", "q", "p", "p", "q"], [self.text("a"), self.text("bb"), self.text("ccc"), self.text("a"), "no", self.text("x" * 201)])
        self.assertEqual([one["reward"] for one in got], [0.1, 0.2, 0.3, 0.1, -1, -1])
        self.assertEqual([one["verdict"] for one in got], ["timed", "launch", "timed", "timed", "text", "text"])
        self.assertEqual(sorted((path, body["problem"], body["schedules"], body["reward"]) for path, _, body in asked),
                         [("/v1/races", "p", ["a", "bb"], "milestones"), ("/v1/races", "q", ["ccc"], "milestones")])
        self.assertTrue(all(0 < body["deadline_s"] <= 20 for _, _, body in asked))

    def test_shares(self):
        """By the fastest answer to the same question; half as fast is as bad as what did not run; what the machine did not judge has no reward."""
        us = {"a": 4.0, "bb": 5.0, "ccc": 16.0}
        url, asked = self.serve(lambda body, _: (200, {}, {"race": [{"us": us[one], "reward": 0.5} if one in us else {"verdict": "launch", "reward": -1 if one == "bad" else None} for one in body["schedules"]]}))
        got = races.Races("share", 20, url)(["p"] * 5 + ["q"], [self.text(one) for one in ("a", "bb", "ccc", "bad", "late", "bb")])
        self.assertEqual([one["reward"] for one in got], [0, math.log2(4 / 5), -1, -1, None, 0])
        self.assertEqual([one["floor"] for one in got], [0.5, 0.5, 0.5, -1, None, 0.5])
        self.assertEqual({body["reward"] for _, _, body in asked}, {"headroom"})

    def test_later_and_never(self):
        url, asked = self.serve(lambda body, number: (429, {"Retry-After": "0"}, {}) if number == 1 else (200, {}, {"state": "queued", "verdict": "deadline"}))
        self.assertEqual(races.Races("headroom", 20, url)(["p"], [self.text("a")]), [{"reward": None, "verdict": "deadline"}])
        self.assertEqual(len(asked), 2)
        url, _ = self.serve(lambda body, number: (404, {}, {"error": "none"}))
        with self.assertRaisesRegex(RuntimeError, "^404"):
            races.Races("headroom", 20, url)(["p"], [self.text("a")])
        with self.assertRaises(RuntimeError):
            races.Races("headroom", 0.1, "http://127.0.0.1:9")(["p"], [self.text("a")])


class Predicted(unittest.TestCase):
    def test_in_place_of_a_timer(self):
        """surrogate.sh writes the rows that time_pairs would, with times of the weights."""
        with tempfile.TemporaryDirectory() as at:
            pairs = os.path.join(at, "pairs.csv")
            with open(pairs, "w", encoding="utf-8") as file:
                file.write("".join(f"f16:512x512x768:tn,{one}\n" for one in SCHEDULES[:3]))
            environment = {**os.environ, "BUILD": os.path.dirname(os.path.dirname(PREDICT)), "WEIGHTS": os.path.join(ROOT, "tuned", "nvidia-h200.weights")}

            def timer(*words):
                return subprocess.run(["sh", os.path.join(TRAINED, "surrogate.sh"), *words], env=environment, check=True, text=True, stdout=subprocess.PIPE).stdout
            self.assertEqual(timer("compile", pairs, "0", "1"), "")
            rows = [line.split(",") for line in timer("time", pairs, "10", "5").splitlines()]
            self.assertEqual([row[:2] for row in rows], [["f16:512x512x768:tn", one] for one in SCHEDULES[:3]])
            self.assertTrue(all(1 < float(row[2]) < 100 for row in rows), rows)

    def test_lines(self):
        weights = os.path.join(ROOT, "tuned", "nvidia-h200.weights")
        for arguments in ([], [weights]):
            text = "f16:1024x1024x1024:tn,ws/128x128x64/s4/c1x1/coop/g8\nf16:1024x1024x1024:tn,ws/1x1\nnonsense\n"
            got = subprocess.run([PREDICT, *arguments], input=text, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
            us, floor_us = map(float, got[0].split(","))
            self.assertGreater(us, floor_us)
            self.assertEqual(got[1:], ["0,0", "0,0"])


if __name__ == "__main__":
    unittest.main()
