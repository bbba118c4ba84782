/* Lists of "coo" on devices: every index of every nonzero in an array of its mode. */
#ifndef PD_COO_FLAT_H
#define PD_COO_FLAT_H

#include "formats/coo/coo_layout.h"

uint64_t pd_coo_flat_bytes(int lists, int order, uint64_t nnz, polyad_type type);
/** Fills the coo->flats lists. What was allocated is there also on failure. */
polyad_status pd_coo_flat_build(polyad_context *context, const polyad_tensor *tensor,
                                const struct pd_traits *traits, const struct pd_request *request,
                                struct pd_coo *coo);
/** The same on request->device: slot `build_there`. */
polyad_status pd_coo_flat_build_there(polyad_context *context, struct pd_build *build,
                                      const polyad_tensor *tensor, const struct pd_request *request,
                                      void *storage);
polyad_status pd_coo_flat_check(polyad_context *context, const struct pd_coo *coo);
void pd_coo_flat_decode(const struct pd_coo *coo, uint64_t first, int count,
                        struct pd_chunk *chunk);

#endif
