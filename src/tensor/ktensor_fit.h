/* The residual of a Kruskal tensor. */
#ifndef PD_KTENSOR_FIT_H
#define PD_KTENSOR_FIT_H

#include "tensor/ktensor.h"
#include "tensor/tensor.h"

/** ||X - M|| / ||X||, also where it is small or where the model's components cancel: then it is
 *  summed from its entries. The dims agree.
 *  @param[out] bound  what rounding may have changed it by; may be NULL
 *  @return POLYAD_NUMERICAL when ||X|| is zero */
polyad_status pd_ktensor_residual(polyad_context *context, const polyad_ktensor *ktensor,
                                  const polyad_tensor *tensor, double *relative, double *bound);

#endif
