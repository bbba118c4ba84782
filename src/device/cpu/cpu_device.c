/* The CPU as a device: memory is the context's, copies are the host's, nothing is asynchronous. */
#include "core/isa.h"
#include "core/machine.h"
#include "device/cpu/cpu_portable.h"
#include "device/cpu/cpu_roof.h"
#include "device/device.h"
#include "device/module.h"
#include "linalg/linalg.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static polyad_status cpu_device_allocate(polyad_context *context, const struct pd_device *device,
                                         uint64_t bytes, void **out) {
  (void)device;
  return pd_alloc(context, bytes, 1, out);
}

static void cpu_device_release(polyad_context *context, const struct pd_device *device,
                               void *pointer) {
  (void)device;
  pd_free(context, pointer);
}

static polyad_status cpu_device_copy(polyad_context *context, const struct pd_device *device,
                                     void *to, const void *from, uint64_t bytes) {
  (void)device;
  pd_copy(context, to, from, bytes);
  return POLYAD_OK;
}

static polyad_status cpu_device_fill_zero(polyad_context *context, const struct pd_device *device,
                                          void *to, uint64_t bytes) {
  (void)device;
  if (bytes > 0) pd_fill_zero(context, to, bytes);
  return POLYAD_OK;
}

static polyad_status cpu_device_synchronize(polyad_context *context,
                                            const struct pd_device *device) {
  (void)context;
  (void)device;
  return POLYAD_OK;
}

static uint64_t cpu_device_memory_available(polyad_context *context,
                                            const struct pd_device *device) {
  (void)device;
  uint64_t used = polyad_memory_in_use(context), limit = polyad_memory_limit(context);
  return used < limit ? limit - used : 0;
}

static const struct pd_device_functions functions = {
    .host_memory = true,
    .allocate = cpu_device_allocate,
    .release = cpu_device_release,
    .copy_in = cpu_device_copy,
    .copy_out = cpu_device_copy,
    .copy = cpu_device_copy,
    .fill_zero = cpu_device_fill_zero,
    .synchronize = cpu_device_synchronize,
    .memory_available = cpu_device_memory_available,
    .stream = pd_cpu_stream,
    .has_stream = {true, true},
    .roof = pd_cpu_roof,
    .rows = pd_cpu_rows,
    .rows_shape = pd_cpu_rows_shape,
    .rows_groups = pd_cpu_rows_groups,
};

const struct pd_device pd_cpu_device = {
    .kind = "cpu", .name = "cpu", .functions = &functions, .linalg = &pd_cpu_linalg};

static void processor_name(char *name, size_t size) {
  snprintf(name, size, "CPU");
  FILE *file = fopen("/proc/cpuinfo", "re");
  if (file == NULL) return;
  char line[256];
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "model name", 10) != 0) continue;
    const char *value = strchr(line, ':');
    if (value == NULL) continue;
    value += 1 + strspn(value + 1, " \t");
    snprintf(name, size, "%.*s", (int)strcspn(value, "\n"), value);
    break;
  }
  fclose(file);
}

void pd_cpu_describe(polyad_device_description *about) {
  *about = (polyad_device_description){.processors = pd_machine_processors(),
                                       .memory_bytes = pd_machine_memory()};
  snprintf(about->name, sizeof about->name, "cpu");
  processor_name(about->description, sizeof about->description);
  snprintf(about->capability, sizeof about->capability, "%s", pd_isa_name(pd_isa_current()));
#ifdef _SC_LEVEL3_CACHE_SIZE
  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  about->cache_bytes = cache > 0 ? (uint64_t)cache : 0;
#endif
}
