/* The formats of the library, and their kernels for a device: the CPU's are built in, others come
 * with the device's module. */
#include "device/module.h"
#include "formats/format.h"
#include "formats/tables.h"
#include <string.h>

#define FORMAT(name) &pd_##name##_format,
#define CPU_KERNELS(name) &pd_##name##_kernels_cpu,
static const struct polyad_format *const formats[] = {PD_FORMATS(FORMAT)};
static const struct polyad_kernels *const built_in[] = {PD_FORMATS(CPU_KERNELS)};

/* Built in for the devices of modules: what they launch, the modules bring. */
static const struct polyad_kernels *const for_modules[] = {&pd_portable_kernels_cuda,
                                                           &pd_portable_kernels_opencl};

enum { FORMATS = sizeof formats / sizeof *formats, BUILT_IN = sizeof built_in / sizeof *built_in };

int pd_format_count(void) { return FORMATS; }

const struct polyad_format *pd_format_at(int which) {
  return which >= 0 && which < FORMATS ? formats[which] : NULL;
}

const struct polyad_format *pd_format_find(const char *name) {
  for (int f = 0; f < FORMATS; ++f)
    if (strcmp(formats[f]->name, name) == 0) return formats[f];
  return NULL;
}

static bool registry_serves(const struct polyad_kernels *kernels, const char *format,
                            const char *device) {
  return strcmp(kernels->format, format) == 0 && strcmp(kernels->device, device) == 0;
}

/* What modules bring. The CPU's kernels are never there: no module is loaded for them. */
static const struct polyad_kernels *find_in_modules(const char *format, const char *device) {
  const struct pd_module *module = strcmp(device, "cpu") == 0 ? NULL : pd_module_load(device);
  if (module == NULL || module->interface == 0) return NULL;
  for (int k = 0; k < module->kernel_count; ++k)
    if (registry_serves(module->kernels[k], format, device)) return module->kernels[k];
  for (size_t k = 0; k < sizeof for_modules / sizeof *for_modules; ++k)
    if (registry_serves(for_modules[k], format, device)) return for_modules[k];
  return NULL;
}

const struct polyad_kernels *pd_kernels_find(const char *format, const char *device) {
  for (int k = 0; k < BUILT_IN; ++k)
    if (registry_serves(built_in[k], format, device)) return built_in[k];
  return find_in_modules(format, device);
}

polyad_status pd_storage_expand(polyad_context *context, const struct polyad_format *format,
                                const void *storage, const polyad_tensor *like,
                                polyad_tensor **tensor) {
  struct pd_nonzeros nonzeros = {.order = like->order,
                                 .nnz = like->nnz,
                                 .type = like->type,
                                 .storage = storage,
                                 .decode = format->decode,
                                 .zeros = like->zeros};
  memcpy(nonzeros.dims, like->dims, sizeof nonzeros.dims);
  return pd_nonzeros_to_tensor(context, &nonzeros, tensor);
}

uint64_t pd_sum_depth_on_cpu(const void *storage, const void *scratch, int mode,
                             uint64_t longest_row) {
  (void)storage, (void)scratch, (void)mode;
  return longest_row < 128 ? longest_row : 128;
}
