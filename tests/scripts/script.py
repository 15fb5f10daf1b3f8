# SPDX-License-Identifier: MIT
"""What the tests of scripts in Python share: a script that is run as from a shell, in the root of the source tree."""
import contextlib
import importlib
import io
import os
import subprocess
import sys
from pathlib import Path


class Script:
    def __init__(self, source, name):
        os.chdir(source)
        self.name = name
        sys.path.insert(0, str(Path(name).parent.resolve()))
        self.module = importlib.import_module(Path(name).stem)

    def run(self, *arguments):
        """(exit code, standard output, standard error); in this process, which is sooner done."""
        out, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            try:
                code = self.module.main([str(argument) for argument in arguments])
            except SystemExit as end:   # wrong usage
                code = end.code
        return code, out.getvalue(), said.getvalue()

    def run_alone(self, *arguments):
        """The same in a process of its own."""
        done = subprocess.run([sys.executable, self.name, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def run_unread(self, *arguments):
        """What it says where whoever reads its output has left."""
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([sys.executable, self.name, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
        os.close(writer)
        return done.stderr
