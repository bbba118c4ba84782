#include "device/opencl/opencl_api.h"
#include <dlfcn.h>
#include <stdio.h>

struct pd_opencl_api pd_cl;

static bool opencl_api_find(void *library, const char *name, void **function) {
  *function = dlsym(library, name);
  return *function != NULL;
}

bool pd_opencl_load(char *why_not, size_t size) {
  /* The loader that knows every driver; else the one driver that is known to stand alone. */
  static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so", "libnvidia-opencl.so.1"};
  void *library = NULL;
  for (int k = 0; k < 3 && library == NULL; ++k)
    library = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(why_not, size, "no OpenCL on this machine: %s is not there", names[0]);
    return false;
  }
#define PD_OPENCL_FIND(name)                                                                       \
  if (!opencl_api_find(library, #name, (void **)&pd_cl.name)) {                                    \
    snprintf(why_not, size, "this machine's OpenCL is older than 1.2: it has no %s", #name);       \
    return false;                                                                                  \
  }
  PD_OPENCL_FUNCTIONS(PD_OPENCL_FIND)
  return true;
}
