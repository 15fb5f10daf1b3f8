/* SPDX-License-Identifier: MIT
 * An NVRTC that compiles nothing and reports the version in $FAKE_NVRTC, for example "12.0". */
#include <stdio.h>
#include <stdlib.h>

int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor)
{
    const char *const version = getenv("FAKE_NVRTC");
    return version && sscanf(version, "%d.%d", major, minor) == 2 ? 0 : 1;
}

const char *nvrtcGetErrorString(int result);
const char *nvrtcGetErrorString(int result) { return result ? "fake error" : "fake success"; }

#define FAILS(name) \
    int name(void); \
    int name(void) { return 1; }
FAILS(nvrtcCreateProgram)
FAILS(nvrtcDestroyProgram)
FAILS(nvrtcCompileProgram)
FAILS(nvrtcGetCUBINSize)
FAILS(nvrtcGetCUBIN)
FAILS(nvrtcGetPTXSize)
FAILS(nvrtcGetPTX)
FAILS(nvrtcGetProgramLogSize)
FAILS(nvrtcGetProgramLog)
