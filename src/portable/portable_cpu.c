#include "portable/portable.h"
#include <string.h>

static const char *forced;

void pd_portable_cpu_force(const char *capability) { forced = capability; }

const struct pd_portable_cpu *pd_portable_cpu_for(const char *capability) {
  const char *wanted = forced != NULL ? forced : capability;
#ifdef PD_X86_KERNELS
  if (strcmp(wanted, "avx512") == 0) return &pd_portable_cpu_avx512;
  if (strcmp(wanted, "avx2") == 0) return &pd_portable_cpu_avx2;
#endif
  (void)wanted;
  return &pd_portable_cpu_plain;
}
