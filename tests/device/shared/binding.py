# SPDX-License-Identifier: MIT
"""$GEMMSMITH_DEVICE names an emulated device: the Python binding is not diverted to it, but opens one that it is told to."""
import gemmsmith

try:
    gemmsmith.open()
except gemmsmith.Error as error:
    assert error.name == "GS_ERROR_ARGUMENT" and error.field == "GEMMSMITH_DEVICE", str(error)
else:
    raise SystemExit("gemmsmith.open() was diverted to an emulated device")
with gemmsmith.open("emu:a100", cache=""):
    pass
