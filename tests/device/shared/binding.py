# SPDX-License-Identifier: MIT
"""$GEMMSMITH_DEVICE names an emulated device: the Python binding is not diverted to it, but opens one that it is told to; open takes what Context takes, and hands all of it on."""
import inspect
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

taken = list(inspect.signature(gemmsmith.Context.__init__).parameters.values())[1:]
assert list(inspect.signature(gemmsmith.open).parameters.values()) == taken, "gemmsmith.open does not take what Context takes"
with mock.patch.object(gemmsmith, "Context", side_effect=lambda *given, **named: (given, named)) as context:
    values = {parameter.name: object() for parameter in taken}
    given, named = gemmsmith.open(**values)
    named.update(zip(values, given))
    assert named == values, "gemmsmith.open does not hand on what it is given"
