/* The residual of a Kruskal tensor. */
#ifndef PD_KTENSOR_FIT_H
#define PD_KTENSOR_FIT_H

#include "tensor/ktensor.h"
#include "tensor/tensor.h"

/** ||X - M|| / ||X||, also where it is small: below sqrt(1e-7) it is summed directly. The dims
 *  agree.
 *  @return POLYAD_NUMERICAL when ||X|| is zero */
polyad_status pd_ktensor_residual(polyad_context *context, const polyad_ktensor *ktensor,
                                  const polyad_tensor *tensor, double *relative);

#endif
