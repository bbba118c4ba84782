#define _GNU_SOURCE /* dladdr */
#include "device/module.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct pd_services services = {
    .interface = PD_MODULE_INTERFACE,
    .fail = pd_fail,
    .log = pd_log,
    .alloc = pd_alloc,
    .free = pd_free,
    .memory_check = pd_memory_check,
    .bytes_text = pd_bytes_text,
    .memory_limit = pd_memory_limit_of_devices,
    .threads = polyad_threads,
    .shown_mode = pd_shown_mode,
    .team_gather = pd_team_gather_there,
    .team_size = polyad_team_size,
    .host_device = &pd_cpu_device,
};

/* Each is loaded once per process, when something asks for its kernels, opened once, when something
 * asks for its devices, and never unloaded. */
static struct loadable {
  const char *kind, *name, *file;
  bool has_devices;
  bool loaded, opened;
  struct pd_module module;
} modules[] = {
    {.kind = "cuda", .name = "CUDA", .file = "libpolyad_cuda.so", .has_devices = true},
    {.kind = "opencl", .name = "OpenCL", .file = "libpolyad_opencl.so", .has_devices = true},
    {.kind = "portable", .name = "portable", .file = "libpolyad_portable.so"},
    {.kind = "openmpi", .name = "Open MPI", .file = "libpolyad_mpi_openmpi.so"},
    {.kind = "mpich", .name = "MPICH", .file = "libpolyad_mpi_mpich.so"}};
enum { MODULES = sizeof modules / sizeof *modules };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Path of a file beside the library (or program) that this code is part of. */
static bool beside_library(const char *name, char *path, size_t size) {
  Dl_info info;
  if (dladdr((const void *)&services, &info) == 0 || info.dli_fname == NULL) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  int length = slash == NULL ? snprintf(path, size, "%s", name)
                             : snprintf(path, size, "%.*s/%s", (int)(slash - info.dli_fname),
                                        info.dli_fname, name);
  return length > 0 && (size_t)length < size;
}

/* A program linked with the static library lies elsewhere: build/polyad and build/lib. */
static void *open_module(const char *name) {
  char path[1100], directory[1024];
  if (beside_library(name, path, sizeof path) && access(path, R_OK) == 0)
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  snprintf(directory, sizeof directory, "lib/%s", name);
  if (beside_library(directory, path, sizeof path) && access(path, R_OK) == 0)
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void module_load(struct pd_module *module, const char *file, const char *kind) {
  snprintf(module->why_not, sizeof module->why_not, "this installation has no %s module (%s)", kind,
           file);
  void *handle = open_module(file);
  if (handle == NULL) {
    const char *why = dlerror();
    char path[1100];
    bool there = beside_library(file, path, sizeof path) && access(path, R_OK) == 0;
    if (why != NULL && (there || strstr(why, "No such file") == NULL))
      snprintf(module->why_not, sizeof module->why_not, "the %s module does not load: %.180s", kind,
               why);
    return;
  }
  pd_module_entry_function entry;
  /* POSIX guarantees that object and function pointers convert; ISO C does not. */
  *(void **)&entry = dlsym(handle, PD_MODULE_ENTRY);
  if (entry == NULL || entry(&services, module) != 0 || module->interface != PD_MODULE_INTERFACE) {
    *module = (struct pd_module){0};
    snprintf(module->why_not, sizeof module->why_not,
             "the %s module (%s) belongs to another version of polyad", kind, file);
  }
}

static const struct pd_module *get(struct loadable *it, bool open) {
  pthread_mutex_lock(&lock);
  if (!it->loaded) module_load(&it->module, it->file, it->name);
  it->loaded = true;
  if (open && !it->opened && it->module.interface != 0) it->module.open(&it->module);
  it->opened = it->opened || open;
  pthread_mutex_unlock(&lock);
  return &it->module;
}

static struct loadable *of_kind(const char *kind) {
  for (int k = 0; k < MODULES; ++k)
    if (strcmp(kind, modules[k].kind) == 0) return &modules[k];
  return NULL;
}

bool pd_module_device_at(int which, struct pd_device_entry *entry) {
  for (int k = 0; k < MODULES && which >= 0; ++k) {
    if (!modules[k].has_devices) continue;
    const struct pd_module *module = get(&modules[k], true);
    if (which < module->device_count) {
      *entry = module->devices[which];
      return true;
    }
    which -= module->device_count;
  }
  return false;
}

const struct pd_module *pd_module_load(const char *kind) {
  struct loadable *it = of_kind(kind);
  return it == NULL ? NULL : get(it, false);
}

const struct pd_module *pd_module_open(const char *kind) {
  struct loadable *it = of_kind(kind);
  return it == NULL || !it->has_devices ? NULL : get(it, true);
}

void pd_modules_close(void) {
  pthread_mutex_lock(&lock);
  for (int k = 0; k < MODULES; ++k)
    if (modules[k].opened && modules[k].module.close != NULL) modules[k].module.close();
  pthread_mutex_unlock(&lock);
}

const struct pd_mpi_module *pd_module_mpi(const char *name, const char **why_not) {
  const struct pd_module *module = pd_module_load(name);
  *why_not = module->why_not;
  return module->mpi;
}

const char *pd_module_why_not(const char *kind) {
  const struct pd_module *module = pd_module_open(kind);
  if (module == NULL) return "there is no such kind of device";
  return module->device_count > 0 ? "" : module->why_not;
}
