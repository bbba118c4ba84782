/* MTTKRP of "coo": lists sorted by output row, and one list with atomic operations. */
#include "formats/coo/coo_cuda.h"
#include "formats/nonzeros/nonzeros_sorted.cuh"

template <typename T, int INPUTS> using CooSource = NzArraySource<T, INPUTS, false>;

PD_NZ_SORTED_LAUNCHERS(pd_coo_sorted, CooSource)
PD_NZ_LAUNCHERS(pd_coo_atomic, CooSource)
