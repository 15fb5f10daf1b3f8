# SPDX-License-Identifier: MIT
"""scripts/measure_decoder.py and scripts/measure_experts.py on the emulated device: each part and variant has its rows. decoder.py SOURCE BUILD. 77: no torch, or no compiler of CUDA."""
import pathlib
import subprocess
import sys
import tempfile

SOURCE, BUILD = sys.argv[1:3]
script = [sys.executable, f"{SOURCE}/scripts/measure_decoder.py", BUILD, "--cpu"]
done = subprocess.run([*script, "--variants", "torch,fused+constant"], capture_output=True, text=True)
assert done.returncode == 1 and "fused+constant: no variant" in done.stderr, done.stderr
with tempfile.TemporaryDirectory() as folder:
    rows = pathlib.Path(folder, "rows.tsv")
    done = subprocess.run([*script, "--batches", "2", "--prefill", "32", "--train", "--modes", "eager", "--rounds", "1", "--variants", "torch,ours,fused+const+norms+qkv", "--rows", rows],
                          capture_output=True, text=True)
    if "NVRTC" in done.stderr:
        print("skipped: no compiler of CUDA")
        sys.exit(77)
    assert done.returncode == 0, done.stderr
    found = [line.split("\t") for line in rows.read_text().splitlines()]
wanted = {("llama", part, "eager", variant, "0") for part in ("decode2", "prefill32", "train32") for variant in ("torch", "ours", "fused+const+norms+qkv")}
assert {tuple(row[:5]) for row in found} == wanted and all(float(row[5]) > 0 and float(row[6]) > 0 for row in found), done.stdout
fused = done.stderr.partition("-- fused+const+norms+qkv\n")[2]
assert "ep=silu+gate" in fused and "bf16:rms_norm" in fused and "bf16:2x384x256:tn" in fused and ":const=b" in fused and ":const=b" not in done.stderr.partition("-- ours\n")[2].partition("-- ")[0], done.stderr
assert done.stdout.count("of torch's best") == 6, done.stdout
with tempfile.TemporaryDirectory() as folder:
    rows = pathlib.Path(folder, "rows.tsv")
    done = subprocess.run([sys.executable, f"{SOURCE}/scripts/measure_experts.py", BUILD, "--cpu", "--rounds", "2", "--skewed", "--out", rows], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = [line.split("\t")[4:7] for line in rows.read_text().splitlines()]
assert found == [["skewed", way, turn] for way in ("loop", "ours") for turn in "01"], found
assert all(word in done.stderr for word in (":g=4:ep=silu+gate+aux", ":nn:g=4", ":nt:gk=4")), done.stderr
print("ok")
