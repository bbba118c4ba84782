#include "portable/portable.h"
#include <string.h>

const struct pd_portable_cpu *pd_portable_cpu_for(const char *capability) {
#ifdef PD_X86_KERNELS
  if (strcmp(capability, "avx512") == 0) return &pd_portable_cpu_avx512;
  if (strcmp(capability, "avx2") == 0) return &pd_portable_cpu_avx2;
#endif
  (void)capability;
  return &pd_portable_cpu_plain;
}
