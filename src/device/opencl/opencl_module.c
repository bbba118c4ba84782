/* The module's entry, and opening: finds OpenCL's devices and hands over their tables. */
#include "device/opencl/opencl_state.h"
#include <stdio.h>
#include <string.h>

const struct pd_services *pd_opencl_services;

static struct pd_opencl_state states[PD_MODULE_DEVICES];

static void text_of(cl_device_id id, cl_device_info what, char *text, size_t size) {
  memset(text, 0, size);
  if (pd_cl.clGetDeviceInfo(id, what, size - 1, text, NULL) != CL_SUCCESS) text[0] = '\0';
}

static uint64_t opencl_module_number_of(cl_device_id id, cl_device_info what, size_t size) {
  cl_ulong wide = 0;
  cl_uint narrow = 0;
  if (size == sizeof wide)
    (void)pd_cl.clGetDeviceInfo(id, what, size, &wide, NULL);
  else
    (void)pd_cl.clGetDeviceInfo(id, what, size, &narrow, NULL);
  return size == sizeof wide ? wide : narrow;
}

/* Lanes that add across a row need a way to exchange numbers; see backend_opencl.h. */
static bool has_lanes(cl_device_id id) {
  static char extensions[16384];
  char vendor[128];
  text_of(id, CL_DEVICE_VENDOR, vendor, sizeof vendor);
  text_of(id, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
  return strstr(vendor, "NVIDIA") != NULL || strstr(extensions, "cl_khr_subgroup_shuffle") != NULL;
}

/* Tiles: on a CPU wide vectors and one lane, else 4, 8 and 16 lanes of 16 bytes, or what one lane
 * can hold. */
static void shape_tiles(struct pd_opencl_state *state) {
  bool lanes = !state->is_cpu && has_lanes(state->id);
  uint64_t doubles =
      opencl_module_number_of(state->id, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, sizeof(cl_uint));
  state->vector_bytes = !state->is_cpu ? 16 : doubles >= 8 ? 64 : doubles >= 4 ? 32 : 16;
  for (int t = 0; t < PD_ROWS_TILES; ++t) {
    int size = t == PD_ROWS_PARTIAL ? 1 : t;
    state->lanes[t] = lanes ? 4 << size : 1;
    state->vectors[t] = lanes ? 1 : 1 << size;
    state->shape.groups[t] = state->is_cpu ? 1 : lanes ? 256 / state->lanes[t] : 64;
    int bytes = state->lanes[t] * state->vectors[t] * state->vector_bytes;
    state->shape.columns[POLYAD_F32][t] = bytes / 4;
    state->shape.columns[POLYAD_F64][t] = bytes / 8;
  }
  state->shape.alignment = state->vector_bytes == 16 ? 16 : 1;
}

static void opencl_module_describe(struct pd_opencl_state *state,
                                   polyad_device_description *about) {
  char name[128], version[128];
  text_of(state->id, CL_DEVICE_NAME, name, sizeof name);
  text_of(state->id, CL_DEVICE_VERSION, version, sizeof version);
  *about = (polyad_device_description){
      .processors = state->compute_units,
      .memory_bytes = state->memory_bytes,
      .cache_bytes =
          opencl_module_number_of(state->id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof(cl_ulong))};
  snprintf(about->name, sizeof about->name, "%s", state->device.name);
  snprintf(about->description, sizeof about->description, "%.127s", name);
  snprintf(about->capability, sizeof about->capability, "%.63s", version);
}

static void opencl_module_add_device(cl_device_id id, struct pd_module *module) {
  struct pd_opencl_state *state = &states[module->device_count];
  cl_device_type type = 0;
  (void)pd_cl.clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  if (opencl_module_number_of(id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(cl_ulong)) == 0) {
    snprintf(module->why_not, sizeof module->why_not,
             "the OpenCL devices of this machine have no double precision");
    return;
  }
  state->id = id;
  state->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  state->compute_units =
      (int)opencl_module_number_of(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
  state->memory_bytes = opencl_module_number_of(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
  state->device = (struct pd_device){.kind = "opencl",
                                     .index = module->device_count,
                                     .functions = &pd_opencl_device_functions,
                                     .linalg = &pd_opencl_linalg,
                                     .state = state};
  snprintf(state->device.name, sizeof state->device.name, "opencl:%d", module->device_count);
  shape_tiles(state);
  pthread_mutex_init(&state->lock, NULL);
  struct pd_device_entry *entry = &module->devices[module->device_count++];
  entry->device = &state->device;
  opencl_module_describe(state, &entry->description);
}

static void add_platform(cl_platform_id platform, struct pd_module *module) {
  cl_device_id ids[PD_MODULE_DEVICES];
  cl_uint count = 0;
  if (pd_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, PD_MODULE_DEVICES, ids, &count) !=
      CL_SUCCESS)
    return;
  for (cl_uint k = 0; k < count && k < PD_MODULE_DEVICES; ++k)
    if (module->device_count < PD_MODULE_DEVICES) opencl_module_add_device(ids[k], module);
}

/* OpenCL's library and the drivers that it finds. */
static void opencl_module_open_devices(struct pd_module *module) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (!pd_opencl_load(module->why_not, sizeof module->why_not)) return;
  snprintf(module->why_not, sizeof module->why_not, "this machine has no OpenCL driver");
  if (pd_cl.clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) return;
  for (cl_uint k = 0; k < count && k < 16; ++k)
    add_platform(platforms[k], module);
  if (module->device_count > 0) module->why_not[0] = '\0';
}

__attribute__((visibility("default"))) int pd_module_entry(const struct pd_services *services,
                                                           struct pd_module *module);

int pd_module_entry(const struct pd_services *services, struct pd_module *module) {
  *module =
      (struct pd_module){.interface = PD_MODULE_INTERFACE, .open = opencl_module_open_devices};
  if (services->interface != PD_MODULE_INTERFACE) return 1;
  pd_opencl_services = services;
  return 0;
}
