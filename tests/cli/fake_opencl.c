/* An OpenCL library that is out of order, as FAKE_OPENCL says: "load" aborts when it is loaded,
 * "platforms" when it is asked for its drivers, "exit" ends the process there, "none" has none. */
#include "device/opencl/opencl_api.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *word) {
  const char *wanted = getenv("FAKE_OPENCL");
  return wanted != NULL && strcmp(wanted, word) == 0;
}

__attribute__((constructor)) static void load(void) {
  if (is("load")) abort();
}

/* Only the drivers are asked for; the other functions are looked for, and never called. */
static cl_int answer(const char *function, cl_uint *count) {
  if (strcmp(function, "clGetPlatformIDs") != 0 || is("platforms")) abort();
  if (is("exit")) _exit(3);
  *count = 0;
  return CL_SUCCESS;
}

/* C names of their own, since the header declares each function with its arguments. */
#define FAKE(name)                                                                                 \
  cl_int fake_##name(cl_uint room, void *platforms, cl_uint *count) __asm__(#name);                \
  cl_int fake_##name(cl_uint room, void *platforms, cl_uint *count) {                              \
    (void)room;                                                                                    \
    (void)platforms;                                                                               \
    return answer(#name, count);                                                                   \
  }
PD_OPENCL_FUNCTIONS(FAKE)
