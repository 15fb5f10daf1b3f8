# SPDX-License-Identifier: MIT
"""The plugin of serving engines, with a gemmsmith.torch that notes how it is called: engines.py SOURCE. Where their packages are found, vLLM's and SGLang's own loaders find
and call it: of the packages only what loads plugins is imported, which needs no GPU."""
import importlib.util
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
del sys.argv[1:]
sys.path.insert(0, str(SOURCE / "python"))
CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"


class Noted(types.ModuleType):
    """In the place of gemmsmith.torch."""

    def __init__(self, answer=True):
        super().__init__("gemmsmith.torch")
        self.answer, self.calls = answer, []

    def enable(self, **settings):
        self.calls.append((settings, os.environ.get(CHECK)))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Engines(unittest.TestCase):
    def setUp(self):
        for name in ("GEMMSMITH_ENGINES", "VLLM_BATCH_INVARIANT", CHECK):
            os.environ.pop(name, None)
        spec = importlib.util.spec_from_file_location("gemmsmith.engines", SOURCE / "python/gemmsmith/engines.py")
        self.engines = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.engines)

    def register(self, answer=True, said=None, **environment):
        """What enable() was called with."""
        noted = Noted(answer)
        package = types.ModuleType("gemmsmith")
        package.torch = noted
        before = {name: sys.modules.get(name) for name in ("gemmsmith", "gemmsmith.torch")}
        sys.modules.update({"gemmsmith": package, "gemmsmith.torch": noted})
        os.environ.update(environment)
        try:
            if said is None:
                with self.assertNoLogs("gemmsmith", logging.WARNING):
                    self.assertIsNone(self.engines.register())
            else:
                with self.assertLogs("gemmsmith", logging.WARNING) as logs:
                    self.assertIsNone(self.engines.register())
                self.assertEqual(len(logs.output), 1)
                self.assertIn(said, logs.output[0])
                self.assertIn("own kernels are used", logs.output[0])
        finally:
            for name, module in before.items():
                sys.modules.pop(name) if module is None else sys.modules.update({name: module})
            for name in environment:
                os.environ.pop(name, None)
        return noted.calls

    def test_enables(self):
        self.assertEqual(self.register(), [({"invariant": False}, "1")])
        self.assertNotIn(CHECK, os.environ)
        self.assertEqual(self.register(GEMMSMITH_ENGINES="on"), [({"invariant": False}, "1")])
        self.assertEqual(self.register(GEMMSMITH_ENGINES="invariant", VLLM_BATCH_INVARIANT="1"), [({"invariant": True}, "1")])
        os.environ[CHECK] = "0"
        self.assertEqual(self.register(), [({"invariant": False}, "1")])
        self.assertEqual(os.environ[CHECK], "0")

    def test_does_nothing(self):
        self.assertEqual(self.register(GEMMSMITH_ENGINES="off"), [])
        self.assertEqual(self.register(said="'fast' is none of on, off, invariant", GEMMSMITH_ENGINES="fast"), [])
        self.assertEqual(self.register(said="VLLM_BATCH_INVARIANT is set", VLLM_BATCH_INVARIANT="1"), [])

    def test_raises_nothing(self):
        self.assertEqual(len(self.register(False, "finds no GPU")), 1)
        self.assertEqual(len(self.register(OSError("libgemmsmith_torch.so is missing"), "OSError: libgemmsmith_torch.so is missing")), 1)
        self.assertEqual(len(self.register(RuntimeError("another torch"), "RuntimeError: another torch")), 1)
        self.assertNotIn(CHECK, os.environ)


LOADER = """
import importlib, importlib.util, os, sys, types
engine, module, function, source = sys.argv[1:]
def empty(name, path):   # the package without what its __init__ brings
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
root = importlib.util.find_spec(engine).submodule_search_locations[0]
parts = module.split(".")
for i in range(1, len(parts)):
    empty(".".join(parts[:i]), os.path.join(root, *parts[1:i]))
calls = []
adapter = types.ModuleType("gemmsmith.torch")
adapter.enable = lambda **settings: calls.append(settings) or True
empty("gemmsmith", os.path.join(source, "python", "gemmsmith"))
sys.modules["gemmsmith"].torch = sys.modules["gemmsmith.torch"] = adapter
loader = getattr(importlib.import_module(module), function)
loader()
loader()
print(calls)
"""


class Loaders(unittest.TestCase):
    """legend: of the engine's package what loads plugins"""

    def call(self, engine, module, function, **environment):
        if importlib.util.find_spec(engine) is None:
            self.skipTest(f"{engine} is not installed")
        spec = importlib.util.spec_from_file_location("make_wheel", SOURCE / "scripts/make_wheel.py")
        wheel = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(wheel)
        with tempfile.TemporaryDirectory() as folder:
            about = pathlib.Path(folder, "gemmsmith-1.dist-info")
            about.mkdir()
            (about / "METADATA").write_text("Metadata-Version: 2.1\nName: gemmsmith\nVersion: 1\n")
            (about / "entry_points.txt").write_text(wheel.ENGINES)
            path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
            done = subprocess.run([sys.executable, "-c", LOADER, engine, module, function, SOURCE], env={**os.environ, "PYTHONPATH": path, **environment}, capture_output=True, text=True)
        if done.returncode != 0 and "ModuleNotFoundError" in done.stderr:
            self.skipTest(f"{engine} lacks what it needs: {done.stderr.strip().splitlines()[-1]}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip().splitlines()[-1]

    def test_vllm(self):
        self.assertEqual(self.call("vllm", "vllm.plugins", "load_general_plugins"), "[{'invariant': False}]")
        self.assertEqual(self.call("vllm", "vllm.plugins", "load_general_plugins", VLLM_PLUGINS="another"), "[]")

    def test_sglang(self):
        self.assertEqual(self.call("sglang", "sglang.srt.plugins", "load_plugins"), "[{'invariant': False}]")
        self.assertEqual(self.call("sglang", "sglang.srt.plugins", "load_plugins", SGLANG_PLUGINS="another"), "[]")


if __name__ == "__main__":
    unittest.main()
