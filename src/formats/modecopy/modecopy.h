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
uint64_t pd_modecopy_ttmc_workspace_bytes(const void *storage, const uint64_t *ranks, int threads);
polyad_status pd_modecopy_ttmc_workspace_create(polyad_context *context,
                                                const struct pd_device *device, const void *storage,
                                                const uint64_t *ranks, void **scratch);
void pd_modecopy_ttmc_workspace_destroy(polyad_context *context, void *scratch);
polyad_status pd_modecopy_ttmc(polyad_context *context, const void *storage, void *scratch,
                               int mode, const struct pd_matrix *const *factors,
                               struct pd_matrix *out);

#endif
