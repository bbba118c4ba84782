/* The tables of format "csf". */
#ifndef PD_CSF_H
#define PD_CSF_H

#include "formats/format.h"

extern const struct polyad_format pd_csf_format;
extern const struct polyad_kernels pd_csf_kernels_cpu;

/** The tensor-times-matrix chain on the CPU: slots of its kernels. */
/** Slot `rows` of struct polyad_format. */
void pd_csf_row_source(const void *storage, int mode, struct pd_ttmc_source *source,
                       struct pd_ttmc_segments *segments);
/** The tensor-times-matrix chain. */
extern const struct pd_walk pd_csf_ttmc_walk;

#endif
