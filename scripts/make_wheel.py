#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the wheel of gemmsmith for Python from a build: the binding, gemmsmith.torch with its adapter, the library, the emulated device, tuned tables and weights. Kernels are inside the
libraries. No torch is needed.

    make_wheel.py [--build FOLDER] [--out FOLDER]          prints the wheel's path, in dist where --out does not say otherwise

--build: a build that exists. Without it build/wheel is configured and built; GS_JOBS says with how many jobs.
The tag says what the libraries need: manylinux_2_34 where they use symbols of glibc 2.34, manylinux_2_28 where they were built on such a system. The same tree and compiler give the same bytes;
SOURCE_DATE_EPOCH is the day of CHANGELOG.md where it is not set."""
import argparse
import base64
import datetime
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OLDEST = (2, 17)   # of manylinux tags of this form
LIBRARIES = ("libgemmsmith.so.{major}", "libgemmsmith-emu.so.{major}", "libgemmsmith_torch.so")
ALLOWED = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux[\w-]*)\.so\.\d+")   # what such a system has


def fail(text):
    sys.exit(f"make_wheel: {text}")


def version():
    return re.search(r'GS_VERSION_TEXT\s+"([\d.]+)"', (ROOT / "include/gemmsmith/gemmsmith.h").read_text())[1]


def check_build(build):
    """Libraries find tables from where they lie: lib and share beside each other, as in the wheel."""
    cache = build / "CMakeCache.txt"
    folder = re.search(r"^CMAKE_INSTALL_LIBDIR:\w+=(.*)$", cache.read_text(), re.M) if cache.exists() else None
    if not folder:
        fail(f"{build} is no build")
    if folder[1] != "lib":
        fail(f"{build} is configured for libraries in {folder[1]}: configure it with -DCMAKE_INSTALL_LIBDIR=lib")


def build_own(build):
    """No path of this machine in what is built."""
    flags = {"CFLAGS": f"-g0 -ffile-prefix-map={ROOT}=.", "LDFLAGS": "-Wl,-z,relro,-z,now"}
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_PREFIX=/usr/local", "-DCMAKE_INSTALL_LIBDIR=lib", "-DGS_TESTS=OFF"],
                   check=True, stdout=sys.stderr, env={**os.environ, **flags})
    jobs = os.environ.get("GS_JOBS")
    libraries = [library.format(major=version().split(".")[0]) for library in LIBRARIES]
    subprocess.run(["cmake", "--build", build, "--target", *libraries, *(["-j", jobs] if jobs else [])], check=True, stdout=sys.stderr)


def needs(library):
    """The newest glibc whose symbols a library uses; an error where it needs more than the C library."""
    text = subprocess.run(["readelf", "-dVW", library], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    for name in re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", text):
        if not ALLOWED.fullmatch(name):
            fail(f"{library.name} needs {name}")
    if re.search(r"\((RPATH|RUNPATH)\)", text):
        fail(f"{library.name} looks for libraries in the build")
    return max([tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_(\d+\.\d+)", text)] + [OLDEST])


def collect(build, stage):
    """Files of the wheel: name -> path. Libraries are copied and stripped."""
    major = version().split(".")[0]
    files = {f"gemmsmith/{p.name}": p for p in sorted((ROOT / "python/gemmsmith").glob("*.py"))}
    for name in (library.format(major=major) for library in LIBRARIES):
        if not (build / name).exists():
            fail(f"{build / name} is missing: build it first")
        shutil.copyfile(build / name, stage / name)
        subprocess.run(["strip", "--strip-unneeded", stage / name], check=True)
        files[f"gemmsmith/lib/{name}"] = stage / name
    for path in sorted((ROOT / "tuned").iterdir()):
        files[f"gemmsmith/share/gemmsmith/tuned/{path.name}"] = path
    return files


ENGINES = "[vllm.general_plugins]\ngemmsmith = gemmsmith.engines:register\n\n[sglang.srt.plugins]\ngemmsmith = gemmsmith.engines:register\n"


def metadata(tag):
    name = f"gemmsmith-{version()}.dist-info"
    about = (f"Metadata-Version: 2.1\nName: gemmsmith\nVersion: {version()}\nSummary: Half-precision matrix multiplication for NVIDIA Hopper, also inside PyTorch\nLicense: MIT\n"
             "Requires-Python: >=3.9\nProvides-Extra: torch\nRequires-Dist: torch>=2.7; extra == 'torch'\nDescription-Content-Type: text/markdown\n\n")
    return {f"{name}/METADATA": (about + (ROOT / "docs/howto/pytorch.md").read_text()).encode(), f"{name}/LICENSE": (ROOT / "LICENSE").read_bytes(),
            f"{name}/entry_points.txt": ENGINES.encode(),
            f"{name}/WHEEL": f"Wheel-Version: 1.0\nGenerator: gemmsmith make_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()}, f"{name}/RECORD"


def moment():
    """Of every file in the wheel."""
    day = re.search(r"^## \[[\d.]+\] - (\d{4})-(\d\d)-(\d\d)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch:
        return datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).timetuple()[:6]
    return (*map(int, day.groups()), 0, 0, 0)


def write(out, contents, record):
    lines = []
    when = moment()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in sorted(contents.items()):
            lines.append(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}")
            add(wheel, name, data, when)
        add(wheel, record, "\n".join([*lines, f"{record},,", ""]).encode(), when)


def add(wheel, name, data, when):
    entry = zipfile.ZipInfo(name, when)
    entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
    entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
    wheel.writestr(entry, data)


def main():
    parser = argparse.ArgumentParser(description="the wheel of gemmsmith for Python")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    build = arguments.build or ROOT / "build/wheel"
    if not arguments.build:
        build_own(build)
    check_build(build)
    with tempfile.TemporaryDirectory() as folder:
        files = collect(build, pathlib.Path(folder))
        least = max(needs(path) for name, path in files.items() if ".so" in name)
        tag = f"py3-none-manylinux_{least[0]}_{least[1]}_{platform.machine()}"
        contents = {name: path.read_bytes() for name, path in files.items()}
    more, record = metadata(tag)
    arguments.out.mkdir(parents=True, exist_ok=True)
    out = arguments.out / f"gemmsmith-{version()}-{tag}.whl"
    write(out, {**contents, **more}, record)
    print(out)


if __name__ == "__main__":
    main()
