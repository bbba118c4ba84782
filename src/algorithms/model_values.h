/* Values of a model at the entries of a tensor, on a device of its own memory. */
#ifndef PD_MODEL_VALUES_H
#define PD_MODEL_VALUES_H

#include "algorithms/double_model.h"
#include "device/device.h"
#include "tensor/tensor.h"

enum { PD_DEVICE_NAME = 64 };

/** The context's device where it computes such values, by name; else NULL and "cpu": the caller
 *  computes them. */
polyad_status pd_values_device(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_device **device, char name[PD_DEVICE_NAME]);

/** values[q] = the model at entry q, in double. The tensor's indices are within the model's rows.
 *  @return POLYAD_OUT_OF_MEMORY, POLYAD_MEMORY_LIMIT, POLYAD_DEVICE_LOST */
polyad_status pd_values_on_device(polyad_context *context, const struct pd_device *device,
                                  const struct pd_double_model *model, const polyad_tensor *tensor,
                                  double *values);

#endif
