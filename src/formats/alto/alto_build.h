/* Building and checking the storage of format "alto". */
#ifndef PD_ALTO_BUILD_H
#define PD_ALTO_BUILD_H

#include "formats/alto/alto_layout.h"
#include "formats/format.h"

/** Fills in what depends on dims and request alone: bits, widths, segments. False when a key would
 *  be too long; `bits` tells how long. */
bool pd_alto_shape(int order, const uint64_t *dims, uint64_t nnz, const struct pd_request *request,
                   struct pd_alto *alto);
/** Bytes that pd_alto_fill() takes beyond the storage. */
uint64_t pd_alto_building_bytes(const struct pd_alto *alto, int threads);
/** Fills in the rest from the tensor; with `take` its arrays may be moved or freed. */
polyad_status pd_alto_fill(polyad_context *context, polyad_tensor *tensor, bool take,
                           struct pd_alto *alto);
/** The same for a storage of pd_alto_shape() on a device: slot `build_there`. */
polyad_status pd_alto_fill_there(polyad_context *context, struct pd_build *build,
                                 const polyad_tensor *tensor, const struct pd_request *request,
                                 void *storage);
/** The rows that a segment touches in a mode, from its nonzeros. */
struct pd_alto_span pd_alto_measure(const struct pd_alto *alto, int segment, int mode);
polyad_status pd_alto_check(polyad_context *context, const void *storage);
void pd_alto_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk);

/** Makes alto->list[mode]; what was allocated is there also on failure. */
polyad_status pd_alto_list_rows(polyad_context *context, struct pd_alto *alto, int mode);
/** Validates it. */
polyad_status pd_alto_check_rows(polyad_context *context, const struct pd_alto *alto, int mode);

#endif
