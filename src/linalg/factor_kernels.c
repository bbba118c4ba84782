#include "linalg/factor_kernels.h"
#include "device/device_registry.h"
#include <string.h>

const struct pd_factor_kernels *pd_factor_kernels_for(polyad_type type) {
#ifdef PD_X86_KERNELS
  const char *capability = pd_cpu_capability();
  if (strcmp(capability, "avx512") == 0) return &pd_factor_kernels_avx512[type];
  if (strcmp(capability, "avx2") == 0) return &pd_factor_kernels_avx2[type];
#endif
  return &pd_factor_kernels_plain[type];
}
