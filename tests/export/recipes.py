#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recipes.py PROGRAM: the recipes of docs/howto/recipes on data of gemmsmith export. What needs a package that is not here is skipped."""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECIPES = os.path.join(ROOT, "docs", "howto", "recipes")
PROGRAM = os.path.abspath(sys.argv[1])
TABLE = """gemmsmith-tuned 1
f16:4096x4096x4096:tn  ws/128x256x64/s4/c2x1/coop/g8  196.20  210  1.07  1.06  1.08  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
f16:512x512x512:tn     ws/64x64x64/s2/c1x1/coop/g1    4       5     1.25  1.2   1.3   1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
f16:512x512x512:nn     ws/64x64x64/s2/c1x1/coop/g1    4       3.9   0.97  0.96  0.98  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
"""


def has(*packages):
    return all(importlib.util.find_spec(package) for package in packages)


class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        at = cls.folder.name
        environment = {**os.environ, "HOME": at, "PATH": os.path.join(at, "bin") + ":" + os.environ["PATH"], "LC_ALL": "C"}
        os.mkdir(os.path.join(at, "bin"))
        os.symlink(PROGRAM, os.path.join(at, "bin", "gemmsmith"))
        with open(os.path.join(at, "in.tuned"), "w", encoding="utf-8") as file:
            file.write(TABLE)
        with open(os.path.join(at, "problems.txt"), "w", encoding="utf-8") as file:
            file.write("f16:4096x4096x4096:tn\n" + "".join(f"bf16:{m}x256x256:tn\n" for m in range(64, 64 + 24 * 8, 8)))
        subprocess.run(["gemmsmith", "db", "import", "in.tuned", "--store", "s.db"], cwd=at, env=environment, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["sh", os.path.join(RECIPES, "data.sh"), "problems.txt", "data", "s.db"], cwd=at, env=environment, check=True, stderr=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rows(self, name):
        with open(os.path.join(self.folder.name, "data", name), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_data(self):
        for mode in ("schedule", "source"):
            train, held_out = self.rows(mode + "-train.jsonl"), self.rows(mode + "-held_out.jsonl")
            self.assertEqual(len(train) + len(held_out), 25)
            self.assertTrue(held_out)
            self.assertEqual({row["split"] for row in train}, {"train"})
            self.assertEqual({row["split"] for row in held_out}, {"held_out"})
            self.assertFalse({(row["m"], row["n"], row["k"]) for row in train} & {(row["m"], row["n"], row["k"]) for row in held_out})
        self.assertEqual(len(self.rows("winners.jsonl")), 2)

    @unittest.skipUnless(has("pyarrow"), "no pyarrow")
    def test_parquet(self):
        import pyarrow.parquet
        for name in ("schedule-train", "source-held_out", "winners"):
            to = os.path.join(self.folder.name, name + ".parquet")
            subprocess.run([sys.executable, os.path.join(RECIPES, "to_parquet.py"), os.path.join(self.folder.name, "data", name + ".jsonl"), to], check=True)
            self.assertEqual(pyarrow.parquet.read_table(to).to_pylist(), self.rows(name + ".jsonl"))

    @unittest.skipUnless(has("verl", "hydra", "torch"), "no verl")
    def test_verl(self):
        from hydra import compose, initialize_config_dir
        with initialize_config_dir(config_dir=RECIPES, version_base=None):
            config = compose(config_name="verl-rloo", overrides=["actor_rollout_ref.model.path=m", "reward.custom_reward_function.path=p", "trainer.nnodes=4"])
        self.assertEqual((config.algorithm.adv_estimator, config.actor_rollout_ref.rollout.n, config.trainer.nnodes), ("rloo", 16, 4))

    @unittest.skipUnless(has("trl", "torch", "transformers", "datasets"), "no TRL")
    def test_trl(self):
        import trl
        for kind, arguments, columns in (("sft", trl.SFTConfig, ["prompt", "completion"]), ("rloo", trl.RLOOConfig, ["prompt", "problem"]),
                                         ("dpo", trl.DPOConfig, ["prompt", "chosen", "rejected"])):
            script = importlib.import_module("trl.scripts." + kind)
            parser = trl.TrlParser(dataclass_types=[getattr(script, "RLOOScriptArguments", trl.ScriptArguments), arguments, trl.ModelConfig, trl.DatasetMixtureConfig])
            _, got, _, data = parser.parse_args_and_config(["--config", os.path.join(RECIPES, f"trl-{kind}.yaml"), "--output_dir", self.folder.name,
                                                            "--model_name_or_path", "m", "--bf16", "false", "--use_cpu", "true"])
            self.assertEqual(data.datasets[0].columns, columns)
            self.assertGreater(got.learning_rate, 0)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(0 if result.wasSuccessful() else 1)
