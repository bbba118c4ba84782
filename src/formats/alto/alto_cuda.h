/* What MTTKRP and the chain of "alto" share on CUDA devices. */
#ifndef PD_ALTO_CUDA_H
#define PD_ALTO_CUDA_H

#include "formats/format.h"

struct pd_alto;
struct pd_gpu_alto;

/** The nonzeros as kernels read them, with `mode` as the output mode. `factors` NULL: none. */
void pd_alto_set_nonzeros(const struct pd_alto *alto, int mode,
                          const struct pd_matrix *const *factors, struct pd_gpu_alto *a);

#endif
