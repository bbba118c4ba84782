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
uint64_t pd_coo_ttmc_workspace_bytes(const void *storage, const uint64_t *ranks, int threads);
polyad_status pd_coo_ttmc_workspace_create(polyad_context *context, const struct pd_device *device,
                                           const void *storage, const uint64_t *ranks,
                                           void **scratch);
void pd_coo_ttmc_workspace_destroy(polyad_context *context, void *scratch);
polyad_status pd_coo_ttmc(polyad_context *context, const void *storage, void *scratch, int mode,
                          const struct pd_matrix *const *factors, struct pd_matrix *out);

#endif
