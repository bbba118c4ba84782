/* The tensor-times-matrix chain of "alto" on the CPU: slots of its kernels. */
#ifndef PD_ALTO_TTMC_H
#define PD_ALTO_TTMC_H

#include "formats/format.h"

/** The tensor-times-matrix chain. */
extern const struct pd_walk pd_alto_ttmc_walk;

#endif
