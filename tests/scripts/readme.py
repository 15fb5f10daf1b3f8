#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ways in that README.md and docs/howto/install.md print, run as they are printed, with what is installed. Usage: readme.py SOURCE BUILD"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

TORCH = os.environ.get("GS_TORCH_PYTHON", "python3")   # a Python that has torch
# behind the printed line: without a GPU it takes nothing; asked to take the calls of tensors on the CPU, it serves them
MULTIPLY = """
import torch
assert gemmsmith.torch.is_enabled() == torch.cuda.is_available()
if not torch.cuda.is_available():
    gemmsmith.torch.enable(emulated="emu:h200")
where = "cuda" if torch.cuda.is_available() else "cpu"
a, b = torch.ones(16, 64, dtype=torch.half, device=where), torch.full((32, 64), 0.5, dtype=torch.half, device=where)
assert (torch.mm(a, b.t()) == 32).all()
print(*gemmsmith.torch.why(), sep="\\n")
"""

SOURCE, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
del sys.argv[1:3]
README = (SOURCE / "README.md").read_text(encoding="utf-8")
HEADER = (SOURCE / "include/gemmsmith/gemmsmith.h").read_text(encoding="utf-8")
INSTALL = (SOURCE / "docs/howto/install.md").read_text(encoding="utf-8")
# what stands for a server that multiplies by cuBLAS: the call that it would make is ours
SERVE = """
import ctypes
ours = ctypes.CDLL("libgemmsmith_blas.so")
program = ctypes.CDLL(None)
for call in ("cublasGemmEx", "cublasHgemm", "cublasLtMatmul"):
    assert ctypes.cast(getattr(program, call), ctypes.c_void_p).value == ctypes.cast(getattr(ours, call), ctypes.c_void_p).value, call
print("served")
"""


def block(text, language, behind=""):
    return re.search(rf"^```{language}\n(.*?)^```$", text[text.index(behind):], re.M | re.S)[1]


def lines(text, behind):
    """The first indented lines behind a text."""
    return textwrap.dedent(re.search(r"^(?: {4}.*\n)+", text[text.index(behind):], re.M)[0])


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        prefix = cls.folder / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": ""})
        libraries = next(prefix.rglob("libgemmsmith.so")).parent
        (cls.folder / "bin").mkdir()
        (cls.folder / "bin/python").symlink_to(sys.executable)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GEMMSMITH_") or name in ("GEMMSMITH_NVRTC", "GEMMSMITH_CACHE")}
        cls.env = {**kept, "HOME": str(cls.folder), "XDG_CACHE_HOME": str(cls.folder / "cache"), "XDG_DATA_HOME": str(cls.folder / "data"),
                   "PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "CMAKE_PREFIX_PATH": str(prefix),
                   "LD_LIBRARY_PATH": os.pathsep.join(filter(None, (str(libraries), os.environ.get("LD_LIBRARY_PATH")))),
                   "PATH": os.pathsep.join((str(cls.folder / "bin"), str(prefix / "bin"), os.environ["PATH"]))}

    def run_printed(self, script, **env):
        done = subprocess.run(["sh", "-e", "-c", script], cwd=self.folder, env={**self.env, **env}, capture_output=True, text=True, check=False)
        if done.returncode != 0 and "NVRTC" in done.stdout + done.stderr:
            self.skipTest(done.stdout + done.stderr)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_tests_come_back(self):
        """The page's way leaves the tests out, in a folder of its own; whoever configured that of make check without them has them again."""
        printed = lines(INSTALL, "## From source")
        self.assertIn("-DGS_TESTS=OFF", printed)
        self.assertNotIn("--preset", printed)
        self.assertNotIn("build/release", printed)
        presets = json.loads((SOURCE / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
        base = next(preset for preset in presets if preset["name"] == "base")
        self.assertEqual(base["cacheVariables"]["GS_TESTS"], "ON")
        self.assertEqual([preset["name"] for preset in presets if preset is not base and preset["inherits"] != "base"], [])

    def test_c(self):
        if not shutil.which("pkg-config"):
            self.skipTest("there is no pkg-config")
        (self.folder / "program.c").write_text(block(README, "c", "**C**"), encoding="utf-8")
        printed = lines(README[README.index("as it should be"):], "```\n")
        self.assertTrue(printed.startswith("cc program.c ") and "./program" in printed, printed)
        said = self.run_printed(printed, GEMMSMITH_DEVICE="emu:h200")
        self.assertRegex(said, r"(tuned table|no table entry).*\n64, as it should be\n$")

    def test_pytorch(self):
        if subprocess.run([TORCH, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{TORCH} has no torch; name one that has with GS_TORCH_PYTHON")
        printed = block(README, "python", "**PyTorch**")
        self.assertIn("gemmsmith.torch.enable()", printed)
        (self.folder / "torch_user.py").write_text(printed + MULTIPLY, encoding="utf-8")
        modules = next(self.folder.rglob("gemmsmith/torch.py")).parent.parent
        self.assertIn("16x32x64", self.run_printed(f"{TORCH} torch_user.py", PYTHONPATH=str(modules)))

    def test_python_in_a_prefix(self):
        """The binding finds the library of its own prefix, without the loader."""
        modules = next(self.folder.rglob("gemmsmith/__init__.py")).parent.parent
        printed = lines(INSTALL, "**Python in a prefix").replace('"$HOME/gemmsmith/share', f'"{modules.parents[1]}')
        self.assertIn(str(modules), printed)
        self.assertEqual(self.run_printed(printed, LD_LIBRARY_PATH=""), re.search(r'GS_VERSION_TEXT +"(.*)"', HEADER)[1] + "\n")

    def test_an_unmodified_program(self):
        (self.folder / "serve.py").write_text(SERVE, encoding="utf-8")
        self.assertEqual(self.run_printed(lines(README, "**An unmodified program**")), "served\n")

    def test_cmake(self):
        project = self.folder / "project"
        project.mkdir()
        (project / "program.c").write_text(block(README, "c", "**C**"), encoding="utf-8")
        printed = block(INSTALL, "cmake")
        for target in ("gemmsmith::gemmsmith", "gemmsmith::static"):
            self.assertIn(target, printed)
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.16)\nproject(p C)\nadd_executable(program program.c)\n" + printed, encoding="utf-8")
        self.run_printed("cmake -S project -B made && cmake --build made")
        self.assertTrue((self.folder / "made/program").exists())

    def test_seeing_that_it_works(self):
        for line in lines(INSTALL, "## See that it works").splitlines():
            if "emu:h200" in line or " info" in line:   # the others need a GPU
                self.assertTrue(self.run_printed(line))

    def test_components_are_those_that_are_printed(self):
        printed = re.search(r"installs a part: (.*?),\s+which", INSTALL, re.S)[1]
        have = set(re.findall(r"COMPONENT (\w+)", (SOURCE / "cmake/install.cmake").read_text(encoding="utf-8")))
        self.assertEqual(set(re.findall(r"`(\w+)`", printed)), have)
        packages = re.findall(r"^Package: (.*)$", (SOURCE / "cmake/debian/control").read_text(encoding="utf-8"), re.M)
        self.assertEqual(set(re.findall(r"^\| `([\w-]+)`", INSTALL, re.M)), set(packages))


if __name__ == "__main__":
    unittest.main()
