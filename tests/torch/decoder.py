# SPDX-License-Identifier: MIT
"""scripts/measure_decoder.py on the emulated device: each part and variant has its rows. decoder.py SOURCE BUILD. 77: no torch, or no compiler of CUDA."""
import pathlib
import subprocess
import sys
import tempfile

SOURCE, BUILD = sys.argv[1:3]
with tempfile.TemporaryDirectory() as folder:
    rows = pathlib.Path(folder, "rows.tsv")
    done = subprocess.run([sys.executable, f"{SOURCE}/scripts/measure_decoder.py", BUILD, "--cpu", "--batches", "2", "--prefill", "32", "--train", "--modes", "eager", "--rounds", "1", "--rows", rows],
                          capture_output=True, text=True)
    if "NVRTC" in done.stderr:
        print("skipped: no compiler of CUDA")
        sys.exit(77)
    assert done.returncode == 0, done.stderr
    found = [line.split("\t") for line in rows.read_text().splitlines()]
wanted = {("llama", part, "eager", variant, "0") for part in ("decode2", "prefill32", "train") for variant in ("torch", "ours", "fused")}
assert {tuple(row[:5]) for row in found} == wanted and all(float(row[5]) > 0 and float(row[6]) > 0 for row in found), done.stdout
assert "ep=silu+gate" in done.stderr and done.stdout.count("of torch's best") == 6, done.stdout
print("ok")
