/* The module's entry, and opening: finds the GPUs and hands over their tables. */
#include "device/cuda/cuda_state.h"
#include "formats/tables.h"
#include <stdio.h>
#include <string.h>

enum { LEAST_MAJOR = 7, LEAST_MINOR = 5 };

const struct pd_services *pd_cuda_services;

static struct pd_cuda_state states[PD_MODULE_DEVICES];

#define KERNELS(name) &pd_##name##_kernels_cuda,
static const struct polyad_kernels *const kernels[] = {PD_CUDA_FORMATS(KERNELS)};

static void cuda_module_describe(const struct pd_cuda_state *state,
                                 const struct cudaDeviceProp *about,
                                 polyad_device_description *text) {
  *text = (polyad_device_description){.processors = about->multiProcessorCount,
                                      .memory_bytes = about->totalGlobalMem,
                                      .cache_bytes = (uint64_t)about->l2CacheSize};
  snprintf(text->name, sizeof text->name, "%s", state->device.name);
  snprintf(text->description, sizeof text->description, "%.127s", about->name);
  snprintf(text->capability, sizeof text->capability, "%d.%d", about->major, about->minor);
}

/* Of the identifier that NVIDIA gives a GPU, or a part of one: the same whatever the number by
 * which a process sees it. */
static uint64_t cuda_module_unit(const struct cudaDeviceProp *about) {
  uint64_t half[2];
  _Static_assert(sizeof half == sizeof about->uuid, "the identifier has 16 bytes");
  memcpy(half, &about->uuid, sizeof half);
  return (half[0] * UINT64_C(0x9e3779b97f4a7c15)) ^ half[1];
}

static bool cuda_module_add_device(int index, struct pd_module *module) {
  struct cudaDeviceProp about;
  cudaError_t code = cudaGetDeviceProperties(&about, index);
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    snprintf(module->why_not, sizeof module->why_not, "GPU %d does not answer: %s", index,
             cudaGetErrorString(code));
    return false;
  }
  if (about.major < LEAST_MAJOR || (about.major == LEAST_MAJOR && about.minor < LEAST_MINOR)) {
    snprintf(module->why_not, sizeof module->why_not,
             "the GPU %.100s has compute capability %d.%d; expected at least %d.%d", about.name,
             about.major, about.minor, LEAST_MAJOR, LEAST_MINOR);
    return false;
  }
  struct pd_cuda_state *state = &states[module->device_count];
  state->device = (struct pd_device){.kind = "cuda",
                                     .index = index,
                                     .unit = cuda_module_unit(&about),
                                     .functions = &pd_cuda_device_functions,
                                     .linalg = &pd_cuda_linalg,
                                     .state = state};
  snprintf(state->device.name, sizeof state->device.name, "cuda:%d", module->device_count);
  state->processors = about.multiProcessorCount;
  state->total_bytes = about.totalGlobalMem;
  pthread_mutex_init(&state->lock, NULL);
  struct pd_device_entry *entry = &module->devices[module->device_count++];
  entry->device = &state->device;
  cuda_module_describe(state, &about, &entry->description);
  return true;
}

/* The first call of the CUDA runtime starts the driver. */
static void cuda_module_open_devices(struct pd_module *module) {
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    snprintf(module->why_not, sizeof module->why_not, "no usable NVIDIA GPU: %s",
             cudaGetErrorString(code));
    return;
  }
  for (int k = 0; k < count && module->device_count < PD_MODULE_DEVICES; ++k)
    (void)cuda_module_add_device(k, module);
  if (count == 0)
    snprintf(module->why_not, sizeof module->why_not, "this machine has no NVIDIA GPU");
  if (module->device_count > 0) module->why_not[0] = '\0';
}

/* Ending the driver's context takes a tenth of a second, which a process that ends would spend
 * after its last line. Where several GPUs are open NCCL may still be connected: it ends with their
 * plans. */
static void cuda_module_close(void) {
  int open = 0;
  pd_cuda_end_beginning();
  for (int k = 0; k < PD_MODULE_DEVICES; ++k)
    open += states[k].ready;
  if (open > 1) return;
  for (int k = 0; k < PD_MODULE_DEVICES; ++k) {
    struct pd_cuda_state *state = &states[k];
    if ((!state->ready && !state->begun) || atomic_exchange(&state->lost, true)) continue;
    if (cudaSetDevice(state->device.index) != cudaSuccess || cudaDeviceReset() != cudaSuccess)
      (void)cudaGetLastError();
  }
}

__attribute__((visibility("default"))) int pd_module_entry(const struct pd_services *services,
                                                           struct pd_module *module);

int pd_module_entry(const struct pd_services *services, struct pd_module *module) {
  *module = (struct pd_module){.interface = PD_MODULE_INTERFACE,
                               .kernel_count = (int)(sizeof kernels / sizeof *kernels),
                               .kernels = kernels,
                               .open = cuda_module_open_devices,
                               .close = cuda_module_close};
  if (services->interface != PD_MODULE_INTERFACE) return 1;
  pd_cuda_services = services;
  return 0;
}
