/* The tables of format "modecopy". */
#ifndef PD_MODECOPY_H
#define PD_MODECOPY_H

#include "formats/format.h"

extern const struct polyad_format pd_modecopy_format;
extern const struct polyad_kernels pd_modecopy_kernels_cpu;

/** The tensor-times-matrix chain on the CPU: slots of its kernels. */
/** Slot `rows` of struct polyad_format. */
void pd_modecopy_row_source(const void *storage, int mode, struct pd_ttmc_source *source,
                            struct pd_ttmc_segments *segments);
/** The tensor-times-matrix chain. */
extern const struct pd_walk pd_modecopy_ttmc_walk;

#endif
