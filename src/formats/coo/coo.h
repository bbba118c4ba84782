/* The tables of format "coo". */
#ifndef PD_COO_H
#define PD_COO_H

#include "formats/format.h"

extern const struct polyad_format pd_coo_format;
extern const struct polyad_kernels pd_coo_kernels_cpu;
extern const struct polyad_kernels pd_coo_kernels_cuda;

/** The tensor-times-matrix chain on the CPU: slots of its kernels. */
/** Slot `rows` of struct polyad_format. */
void pd_coo_row_source(const void *storage, int mode, struct pd_ttmc_source *source,
                       struct pd_ttmc_segments *segments);
/** The tensor-times-matrix chain. */
extern const struct pd_walk pd_coo_ttmc_walk;

#endif
