#include "core/isa.h"
#include "portable/portable.h"

const struct pd_portable_cpu *pd_portable_cpu_current(void) {
  static const struct pd_portable_cpu *const tables[] = PD_FOR_EACH_ISA(&pd_portable_cpu);
  return tables[pd_isa_current()];
}
