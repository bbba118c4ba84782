/* A plan's tensor on the device that builds from it: sent once, for traits, measurements and
 * building.
 */
#ifndef PD_SENT_H
#define PD_SENT_H

#include "device/build.h"
#include "formats/format.h"

/** Whether a format that is asked for, or any, can be built by a device that has the steps. */
bool pd_sent_builds(const struct pd_request *request);
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

/** Makes the arrays of a storage from begin() by its format's build_there(), from what was sent or
 *  else from the tensor sent for this time alone. Waits. */
polyad_status pd_sent_build(polyad_context *context, const struct polyad_format *format,
                            const polyad_tensor *tensor, const struct pd_request *request,
                            void *storage);
/** Slot `bytes_there` of a format that builds with the memory of the steps alone; 0: the device
 * does not take the tensor. */
uint64_t pd_sent_bytes_there(const struct pd_traits *traits, const struct pd_request *request,
                             uint64_t storage_bytes);
/** Allocates an array of a storage on the request's device: `array` is where the storage keeps its
 *  address, which becomes NULL on failure. */
polyad_status pd_sent_allocate(polyad_context *context, const struct pd_request *request,
                               uint64_t count, size_t size, void *array);

#endif
