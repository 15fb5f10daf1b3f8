# SPDX-License-Identifier: MIT
"""The wheel: the same bytes twice, what is in it, and what an installation of it does, with torch where there is one: wheel.py SOURCE BUILD. $GS_TORCH_PYTHON: a Python that has torch, and
whose pip installs it; else python3."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE, BUILD = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
del sys.argv[1:3]
PYTHON = os.environ.get("GS_TORCH_PYTHON", sys.executable)


def make(out, build=BUILD):
    return subprocess.run([sys.executable, SOURCE / "scripts/make_wheel.py", "--build", build, "--out", out], capture_output=True, text=True)


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        done = make(cls.path / "first")
        assert done.returncode == 0, done.stderr
        cls.wheel = pathlib.Path(done.stdout.strip())
        cls.environment = {k: v for k, v in os.environ.items() if not k.startswith("GEMMSMITH_") and k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
        cls.environment |= {"PYTHONPATH": str(cls.path / "installed"), "HOME": str(cls.path), "GEMMSMITH_CACHE": str(BUILD.parent / "check-cache")}
        done = subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", cls.path / "installed", cls.wheel], capture_output=True, text=True)
        cls.pip = done.returncode, done.stderr

    def run_there(self, code):
        done = subprocess.run([PYTHON, "-c", code], env=self.environment, cwd=self.path, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_same_bytes(self):
        again = make(self.path / "second")
        self.assertEqual(pathlib.Path(again.stdout.strip()).read_bytes(), self.wheel.read_bytes())

    def test_contents(self):
        self.assertRegex(self.wheel.name, r"^gemmsmith-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            self.assertIsNone(wheel.testzip())
            record = wheel.read([n for n in names if n.endswith("RECORD")][0]).decode()
        for wanted in ("gemmsmith/torch.py", "gemmsmith/lib/libgemmsmith_torch.so", "gemmsmith/lib/libgemmsmith.so.1", "gemmsmith/share/gemmsmith/tuned/nvidia-h200.tuned"):
            self.assertIn(wanted, names)
        self.assertEqual(sorted(line.split(",")[0] for line in record.splitlines()), sorted(names))
        least = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)", self.wheel.name).groups()))
        for library in ("libgemmsmith.so.1", "libgemmsmith_torch.so"):
            symbols = subprocess.run(["objdump", "-T", BUILD / library], capture_output=True, text=True, check=True).stdout
            self.assertLessEqual(max(tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+\.\d+)", symbols)), least)

    def test_refusals(self):
        for folder, words in ((self.path, "is no build"), (self.path / "other", "configured for libraries in lib/somewhere"), (self.path / "empty", "is missing: build it first")):
            folder.mkdir(exist_ok=True)
            if folder.name in ("other", "empty"):
                (folder / "CMakeCache.txt").write_text("CMAKE_INSTALL_LIBDIR:PATH=lib" + ("/somewhere" if folder.name == "other" else "") + "\n")
            done = make(self.path / "none", folder)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)

    def test_library(self):
        if "No module named pip" in self.pip[1]:
            self.skipTest(f"{PYTHON} has no pip")
        self.assertEqual(self.pip[0], 0, self.pip[1])
        said = self.run_there("import gemmsmith\nprint(gemmsmith.__file__, gemmsmith.version())\nwith gemmsmith.open('emu:h200') as c:\n    assert c.status() is None\n"
                              "    try:\n        print(c.plan('bf16:64x512x512:tn').why)\n    except gemmsmith.Error as error:\n        print('NO_COMPILER' in error.name, error)")
        self.assertIn(str(self.path / "installed"), said)
        if "NVRTC" not in said:
            self.assertIn("learned weights", said)   # which lie in the wheel

    def test_engines(self):
        if self.pip[0] != 0:
            self.skipTest(f"{PYTHON} has no pip")
        said = self.run_there("import importlib.metadata as metadata, sys\nfor group in ('vllm.general_plugins', 'sglang.srt.plugins'):\n"
                              "    (point,) = [p for p in metadata.entry_points(group=group) if p.name == 'gemmsmith']\n    print(point.load().__module__, 'torch' in sys.modules)")
        self.assertEqual(said.splitlines(), ["gemmsmith.engines False"] * 2)

    def test_torch(self):
        if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0 or self.pip[0] != 0:
            self.skipTest(f"{PYTHON} has no torch or no pip; name one that has with GS_TORCH_PYTHON")
        said = self.run_there("import torch, gemmsmith.torch\nassert gemmsmith.torch.enable(emulated='emu:h200')\nx = torch.ones(16, 64, dtype=torch.bfloat16)\nassert (torch.mm(x, x.t()) == 64).all()\n"
                              "print(gemmsmith.torch.__file__, gemmsmith.torch.why()[0])")
        self.assertIn(str(self.path / "installed"), said)
        if "NVRTC" not in said:
            self.assertIn("learned weights", said)


if __name__ == "__main__":
    unittest.main()
