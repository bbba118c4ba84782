#include "formats/rowsum/isa.h"
#include <stdatomic.h>

static atomic_int forced = PD_ISA_COUNT;

bool pd_isa_available(enum pd_isa isa) {
  if (isa == PD_ISA_PORTABLE) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (isa == PD_ISA_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == PD_ISA_AVX512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("fma");
#endif
  return false;
}

enum pd_isa pd_isa_current(void) {
  int isa = atomic_load_explicit(&forced, memory_order_relaxed);
  if (isa != PD_ISA_COUNT) return (enum pd_isa)isa;
  for (isa = PD_ISA_COUNT - 1; isa > PD_ISA_PORTABLE; --isa)
    if (pd_isa_available((enum pd_isa)isa)) break;
  return (enum pd_isa)isa;
}

void pd_isa_force(enum pd_isa isa) { atomic_store(&forced, (int)isa); }

const char *pd_isa_name(enum pd_isa isa) {
  static const char *const names[] = {"portable", "avx2", "avx512"};
  return names[isa];
}
