/* What reading and writing models as Tensor Toolbox text share. */
#ifndef PD_TOOLBOX_PARTS_H
#define PD_TOOLBOX_PARTS_H

#include "tensor/model_arrays.h"

/** Where number k of a core's text, first mode fastest, is in memory, last mode fastest. */
uint64_t pd_toolbox_core_place(const struct pd_model *model, uint64_t k);

#endif
