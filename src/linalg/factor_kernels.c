#include "linalg/factor_kernels.h"
#include "core/isa.h"

const struct pd_factor_kernels *pd_factor_kernels_for(polyad_type type) {
  static const struct pd_factor_kernels *const tables[] = PD_FOR_EACH_ISA(pd_factor_kernels);
  return &tables[pd_isa_current()][type];
}
