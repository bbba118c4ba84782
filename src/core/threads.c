#include "core/core.h"
#include <stdatomic.h>

static _Atomic uint64_t forced;

void pd_worth_threads_force(uint64_t least) { atomic_store(&forced, least); }

int pd_worth_threads(int most, uint64_t work) {
  uint64_t least = atomic_load_explicit(&forced, memory_order_relaxed);
  uint64_t useful = work / (least == 0 ? PD_THREAD_WORK : least);
  if (useful < 1) return 1;
  return useful < (uint64_t)most ? (int)useful : most;
}

int pd_worth_threads_dense(int most, uint64_t count) { return pd_worth_threads(most, count / 4); }

int pd_kernel_threads(const polyad_context *context, uint64_t nonzeros, uint64_t columns) {
  return pd_worth_threads(polyad_threads(context), pd_mul_saturated(nonzeros, columns));
}
