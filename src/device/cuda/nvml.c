/* SPDX-License-Identifier: MIT
 * Clocks, power and temperature through NVML, opened with dlopen at the first request. The device is found by its PCI address. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/cuda/cuda.h"

typedef struct nvml_device_ *nvml_device;

/* The part of NVML's ABI that is used. Results are ints, 0 is success. */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };

struct gs_nvml {
    void       *library;
    nvml_device device;
    int (*init)(void);
    int (*shutdown)(void);
    int (*find)(const char *bus_id, nvml_device *device);
    int (*clock)(nvml_device device, int which, unsigned int *mhz);
    int (*power)(nvml_device device, unsigned int *milliwatts);
    int (*temperature)(nvml_device device, int sensor, unsigned int *celsius);
};

static bool resolve(void *library, const char *symbol, void *field)
{
    void *const address = dlsym(library, symbol);
    memcpy(field, &address, sizeof address);
    return address != NULL;
}

static bool resolve_all(gs_nvml *nvml)
{
    void *const library = nvml->library;
    return resolve(library, "nvmlInit_v2", &nvml->init) && resolve(library, "nvmlShutdown", &nvml->shutdown) &&
           resolve(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml->find) && resolve(library, "nvmlDeviceGetClockInfo", &nvml->clock) &&
           resolve(library, "nvmlDeviceGetPowerUsage", &nvml->power) && resolve(library, "nvmlDeviceGetTemperature", &nvml->temperature);
}

static gs_status open_nvml(gs_nvml **out, const gs_cuda_device *cuda, gs_error *error)
{
    char bus_id[32];
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuDeviceGetPCIBusId(bus_id, sizeof bus_id, cuda->device), "cuDeviceGetPCIBusId", error));
    gs_nvml *const nvml = calloc(1, sizeof *nvml);
    if (!nvml) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for NVML's state");
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library || !resolve_all(nvml) || nvml->init() != 0) {
        if (nvml->library) dlclose(nvml->library);
        free(nvml);
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "clocks are not known: NVML (libnvidia-ml.so.1) cannot be used");
    }
    if (nvml->find(bus_id, &nvml->device) != 0) {
        gs_nvml *closing = nvml;
        gs_nvml_close(&closing);
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "clocks are not known: NVML does not know the device at %s", bus_id);
    }
    *out = nvml;
    return GS_OK;
}

void gs_nvml_close(gs_nvml **nvml)
{
    if (!*nvml) return;
    (*nvml)->shutdown();
    dlclose((*nvml)->library);
    free(*nvml);
    *nvml = NULL;
}

gs_status gs_cuda_clocks(gs_device *device, gs_clocks *out, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    memset(out, 0, sizeof *out);
    if (!cuda->nvml) GS_TRY(open_nvml(&cuda->nvml, cuda, error));
    const gs_nvml *const nvml = cuda->nvml;
    unsigned int value;
    if (nvml->clock(nvml->device, NVML_CLOCK_SM, &value) == 0) out->sm_mhz = (int)value;
    if (nvml->clock(nvml->device, NVML_CLOCK_MEMORY, &value) == 0) out->memory_mhz = (int)value;
    if (nvml->power(nvml->device, &value) == 0) out->power_w = value / 1000.0;
    if (nvml->temperature(nvml->device, NVML_TEMPERATURE_GPU, &value) == 0) out->temperature_c = value;
    return GS_OK;
}
