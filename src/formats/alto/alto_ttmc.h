/* The tensor-times-matrix chain of "alto" on the CPU: slots of its kernels. */
#ifndef PD_ALTO_TTMC_H
#define PD_ALTO_TTMC_H

#include "formats/format.h"

uint64_t pd_alto_ttmc_workspace_bytes(const void *storage, const uint64_t *ranks, int threads);
polyad_status pd_alto_ttmc_workspace_create(polyad_context *context, const struct pd_device *device,
                                            const void *storage, const uint64_t *ranks,
                                            void **scratch);
void pd_alto_ttmc_workspace_destroy(polyad_context *context, void *scratch);
polyad_status pd_alto_ttmc(polyad_context *context, const void *storage, void *scratch, int mode,
                           const struct pd_matrix *const *factors, struct pd_matrix *out);

#endif
