/* Layout of the Tucker tensor. */
#ifndef PD_TTENSOR_H
#define PD_TTENSOR_H

#include "core/core.h"
#include <polyad/ttensor.h>

struct polyad_ttensor {
  polyad_context *context;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER], ranks[POLYAD_MAX_ORDER];
  uint64_t core_size; /* product of the ranks */
  polyad_type type;
  void *core;                     /* the last mode varies fastest */
  void *factor[POLYAD_MAX_ORDER]; /* dims[n] x ranks[n], row major */
};

/** Bytes that a Tucker tensor takes; UINT64_MAX when they do not fit into 64 bits. */
uint64_t pd_ttensor_bytes(int order, const uint64_t *dims, const uint64_t *ranks, polyad_type type);

/** ||X - M|| / ||X||; the tensor has a nonzero. Small residuals are summed entry by entry, since
 *  the difference of the norms has none of their digits.
 *  @param[out] bound  what rounding may have changed it by; may be NULL */
polyad_status pd_ttensor_residual(polyad_context *context, const polyad_ttensor *ttensor,
                                  const polyad_tensor *tensor, double *relative, double *bound);

#endif
