/* A plan's tensor on the device that builds from it: sent once, for traits, measurements and
 * building.
 */
#ifndef PD_SENT_H
#define PD_SENT_H

#include "device/build.h"
#include "formats/format.h"

/** Sends it where the request has a place for it, its device has the steps and the room, and a
 * format that is asked for builds there; else does nothing. */
polyad_status pd_sent_begin(polyad_context *context, const polyad_tensor *tensor,
                            const struct pd_request *request);
/** What was sent; NULL: nothing. */
struct pd_build *pd_sent(const struct pd_request *request);
/** Bytes of the device that it takes. */
uint64_t pd_sent_bytes(const struct pd_request *request, uint64_t nnz, int order,
                       const uint64_t *dims);
/** Frees it. */
void pd_sent_end(polyad_context *context, const struct pd_request *request);

/** For building: what was sent, or else the tensor sent for this time alone. */
polyad_status pd_sent_open(polyad_context *context, const polyad_tensor *tensor,
                           const struct pd_request *request, struct pd_build **build);
void pd_sent_close(polyad_context *context, const struct pd_request *request,
                   struct pd_build *build);

#endif
