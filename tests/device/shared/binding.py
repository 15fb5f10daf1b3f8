# SPDX-License-Identifier: MIT
"""$GEMMSMITH_DEVICE names an emulated device: the Python binding is not diverted to it, but opens one that it is told to; open takes what Context takes, and hands all of it on."""
import inspect
import os
import struct
import tempfile
from unittest import mock

import gemmsmith

try:
    gemmsmith.open()
except gemmsmith.Error as error:
    assert error.name == "GS_ERROR_ARGUMENT" and error.field == "GEMMSMITH_DEVICE", str(error)
else:
    raise SystemExit("gemmsmith.open() was diverted to an emulated device")
with gemmsmith.open("emu:a100", cache=""):
    pass


def refused(call, field):
    """The library found the value in the field that it belongs into."""
    try:
        call()
    except gemmsmith.Error as error:
        assert error.name == "GS_ERROR_ARGUMENT" and error.field == field, str(error)
    else:
        raise SystemExit(f"a wrong {field} was taken")


refused(lambda: gemmsmith.open("emu:a100", cache="", measure=True, measure_ms=-1), "measure_ms")
refused(lambda: gemmsmith.open("emu:a100", cache="", measure_total_ms=-1), "measure_total_ms")
with gemmsmith.open("emu:a100", cache="", measure=False) as context:
    refused(lambda: context.plan("f16:16x16x16:tn", measure=True, measure_ms=-1), "measure_ms")

with tempfile.TemporaryDirectory() as folder:   # the others lie beside the library that is named
    open(folder + "/libgemmsmith_torch.so", "w").close()
    with mock.patch.dict(os.environ, {"GEMMSMITH_LIBRARY": folder + "/libgemmsmith.so"}):
        assert gemmsmith._file("libgemmsmith_torch.so", "GEMMSMITH_NONE") == folder + "/libgemmsmith_torch.so"

try:
    gemmsmith._opened("libgemmsmith_none.so", "GEMMSMITH_NONE")
except OSError as error:
    assert "libgemmsmith_none.so" in str(error) and str(error).endswith("; GEMMSMITH_NONE names the file"), str(error)
else:
    raise SystemExit("a library that is not there was opened")

taken = list(inspect.signature(gemmsmith.Context.__init__).parameters.values())[1:]
assert list(inspect.signature(gemmsmith.open).parameters.values()) == taken, "gemmsmith.open does not take what Context takes"
with mock.patch.object(gemmsmith, "Context", side_effect=lambda *given, **named: (given, named)) as context:
    values = {parameter.name: object() for parameter in taken}
    given, named = gemmsmith.open(**values)
    named.update(zip(values, given))
    assert named == values, "gemmsmith.open does not hand on what it is given"

# memory of the context, and a product in it
with gemmsmith.open("emu:h200", cache="") as context:
    memory = context.memory(300)
    memory.write(b"abc" * 100)
    memory.write(b"X", at=299)
    if memory.read() != b"abc" * 99 + b"abX" or memory.read(2, at=1) != b"bc" or memory.read(0) != b"":
        raise SystemExit("memory does not hold what was written")
    for wrong in (lambda: memory.write(b"ab", at=299), lambda: memory.read(301), lambda: memory.read(1, at=-1)):
        try:
            wrong()
        except ValueError:
            continue
        raise SystemExit("beyond the end of memory")
    try:
        context.memory(1 << 50)
    except gemmsmith.Error as error:
        assert error.name == "GS_ERROR_DEVICE_MEMORY", str(error)
    else:
        raise SystemExit("memory that no device has")
    a, b, d = context.memory(16 * 16 * 2), context.memory(16 * 16 * 2), context.memory(16 * 16 * 2)
    a.write(struct.pack("<256e", *[1.0] * 256))
    b.write(struct.pack("<256e", *[0.5] * 256))
    try:
        context.gemm("f16:16x16x16:tn", a, b, d)
        if struct.unpack("<256e", d.read()) != (8.0,) * 256:
            raise SystemExit("a wrong product")
    except gemmsmith.Error as error:
        if error.name != "GS_ERROR_NO_COMPILER":
            raise
    for wrong in (lambda: context.gemm("f16:16x16x16:tn", 4096, b, d), lambda: context.plan("f16:16x16x16:tn").run(4096, b, d)):   # no memory of the device
        try:
            wrong()
        except gemmsmith.Error as error:
            assert error.name == "GS_ERROR_NO_COMPILER" or str(error) == "kernel faulted: GEMMSMITH_LOG=2 prints what is known of it", str(error)
        else:
            raise SystemExit("an address of no memory was read")
    for wrong, kind in ((lambda: memory.write(5), TypeError), (lambda: context.memory(-5), ValueError), (lambda: context.memory(1 << 70), ValueError), (lambda: gemmsmith.Problem("f16:1x1x1:tn\0x"), ValueError),
                        (lambda: context.gemm("f16:16x16x16:tn", a, b, d, stream="s"), TypeError), (lambda: context.gemm("f16:16x16x16:tn", a, b, d, stream=-1), TypeError)):
        try:
            wrong()
        except kind:
            continue
        raise SystemExit("what is no data, size, text or stream was taken")
    for wrong, words in ((lambda: context.plan("f16:16x16x16:tn", "simple").run(a, None, d), "b: the problem needs it"), (lambda: context.gemm("f16:16x16x16:tn", a, b, d, stream=4096), "invalid argument")):
        try:
            wrong()
        except gemmsmith.Error as error:
            assert error.name == "GS_ERROR_NO_COMPILER" or words in str(error), str(error)
        else:
            raise SystemExit("a wrong argument was taken")
    same = gemmsmith.Problem("64_64_64")
    if same != gemmsmith.Problem("f16:64x64x64:nn") or same == gemmsmith.Problem("f16:64x64x64:tn") or same == "64_64_64" or hash(same) != hash(gemmsmith.Problem("64_64_64")):
        raise SystemExit("problems are compared by something else than what they are")
    memory.close()
    memory.close()

# a sequence: two products and a call between them, other operands, what a call raises
def layers(context):
    ones, halves, between, to = (context.memory(512) for _ in range(4))
    ones.write(struct.pack("<256e", *[1.0] * 256))
    halves.write(struct.pack("<256e", *[0.5] * 256))
    plan = context.plan("f16:16x16x16:tn", "simple")
    streams = []

    def call(stream):
        if fails:
            raise KeyError("of the call")
        streams.append(stream)
        plan.run(ones.pointer, halves.pointer, between.pointer, stream=stream, alpha=0.0)   # zeros

    sequence = context.sequence()
    first = sequence.add(plan, ones.pointer, halves.pointer, between.pointer)
    second = sequence.add(plan, between.pointer, halves.pointer, to.pointer, alpha=0.25)
    fails = False
    sequence.build()
    sequence.launch()
    if struct.unpack("<256e", to.read()) != (16.0,) * 256 or sequence.dependent(second):
        raise SystemExit("a wrong product of two layers")
    sequence.set(first, halves.pointer, halves.pointer, between.pointer)
    sequence.launch()
    if struct.unpack("<256e", to.read()) != (8.0,) * 256:
        raise SystemExit("operands were not changed")
    for wrong in (lambda: sequence.add(plan, 0, 0, 0), lambda: sequence.set(7, ones.pointer, ones.pointer, to.pointer), sequence.build):
        try:
            wrong()
        except gemmsmith.Error as error:
            assert error.name == "GS_ERROR_ARGUMENT", str(error)
        else:
            raise SystemExit("a sequence takes what is wrong")
    sequence.close()
    try:
        sequence.launch()
    except ValueError:
        pass
    else:
        raise SystemExit("a closed sequence runs")
    with context.sequence() as other:
        other.add(plan, ones.pointer, halves.pointer, to.pointer)
        other.call(call)
        fails = True
        try:
            other.build()
        except KeyError:
            pass
        else:
            raise SystemExit("what a call raised was lost")
        fails = False
        other.build()
        other.launch()
        if len(streams) != 1 or struct.unpack("<256e", to.read()) != (8.0,) * 256 or struct.unpack("<256e", between.read()) != (0.0,) * 256:
            raise SystemExit("a call was not captured")
    context.sequence()   # one that is left open goes with its context


with gemmsmith.open("emu:h200", cache="") as context:
    try:
        layers(context)
    except gemmsmith.Error as error:
        if error.name != "GS_ERROR_NO_COMPILER":
            raise
try:
    a.pointer
except ValueError:
    pass
else:
    raise SystemExit("memory outlives its context")
