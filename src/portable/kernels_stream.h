/* STREAM's four loops (J. D. McCalpin): a work item has one vector. Include once per type. */
#include "portable/real_types.h"

PD_KERNEL OF_TYPE(stream_copy)(PD_ITEM const PD_GLOBAL REAL *PD_RESTRICT a,
                               PD_GLOBAL REAL *PD_RESTRICT c) {
  pd_u64 at = PD_INDEX * WIDTH;
  OF_TYPE(store_once)(c + at, OF_TYPE(load)(a + at));
}

PD_KERNEL OF_TYPE(stream_scale)(PD_ITEM REAL s, const PD_GLOBAL REAL *PD_RESTRICT c,
                                PD_GLOBAL REAL *PD_RESTRICT b) {
  pd_u64 at = PD_INDEX * WIDTH;
  OF_TYPE(store_once)(b + at, OF_TYPE(splat)(s) * OF_TYPE(load)(c + at));
}

PD_KERNEL OF_TYPE(stream_add)(PD_ITEM const PD_GLOBAL REAL *PD_RESTRICT a,
                              const PD_GLOBAL REAL *PD_RESTRICT b, PD_GLOBAL REAL *PD_RESTRICT c) {
  pd_u64 at = PD_INDEX * WIDTH;
  OF_TYPE(store_once)(c + at, OF_TYPE(load)(a + at) + OF_TYPE(load)(b + at));
}

PD_KERNEL OF_TYPE(stream_triad)(PD_ITEM REAL s, const PD_GLOBAL REAL *PD_RESTRICT b,
                                const PD_GLOBAL REAL *PD_RESTRICT c,
                                PD_GLOBAL REAL *PD_RESTRICT a) {
  pd_u64 at = PD_INDEX * WIDTH;
  OF_TYPE(store_once)(a + at, OF_TYPE(load)(b + at) + OF_TYPE(splat)(s) * OF_TYPE(load)(c + at));
}

#include "portable/real_types_end.h"
