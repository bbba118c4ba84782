/* Building one copy of format "modecopy". */
#ifndef PD_MODECOPY_BUILD_H
#define PD_MODECOPY_BUILD_H

#include "build/records.h"
#include "formats/modecopy/modecopy_layout.h"

/** What building one copy works on. */
struct pd_modecopy_job {
  const polyad_tensor *tensor;
  const struct pd_traits *traits;
  const struct pd_request *request;
  int mode;
  struct pd_modecopy *storage;
  struct pd_room *room; /* for records of keys of pd_modecopy_key_bits() bits */
};

/** All copies of a tensor. */
static inline uint64_t pd_modecopy_all(int order) { return (UINT64_C(1) << order) - 1; }
/** Sets the facts of a storage without arrays that is to have the copies whose bits are set. */
void pd_modecopy_init(const polyad_tensor *tensor, const struct pd_request *request,
                      uint64_t copies, struct pd_modecopy *storage);
/** Builds its copies; what was allocated is in the storage also on failure. */
polyad_status pd_modecopy_fill(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_request *request, struct pd_modecopy *storage);
/** Shows the arrays; `decoded`: somebody decodes the copy of mode 0. */
void pd_modecopy_arrays(struct pd_modecopy *storage, bool decoded, struct pd_arrays *arrays);

/** The same as pd_modecopy_fill() on a device that has the tensor and the steps for it, of the
 *  default variant: the arrays are on the device, request->traits are the tensor's. */
polyad_status pd_modecopy_fill_opened(polyad_context *context, struct pd_build *build,
                                      const struct pd_request *request,
                                      struct pd_modecopy *storage);
/** Slot `build_there`. */
polyad_status pd_modecopy_fill_there(polyad_context *context, struct pd_build *build,
                                     const polyad_tensor *tensor, const struct pd_request *request,
                                     void *storage);
/** Most bytes of the device that this takes, a storage of `storage_bytes` included; 0: the device
 *  cannot do it. */
uint64_t pd_modecopy_bytes_there(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t storage_bytes);

/** The most bits of a key that building sorts by; `partitions` is 1 for the default variant. */
int pd_modecopy_key_bits(int order, const uint64_t *dims, int partitions);

/** What the format's slot does with all copies, for those alone whose bits are set in `copies`. */
void pd_modecopy_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                uint64_t copies, uint64_t *storage, uint64_t *building);

/** Makes the tables of storage->copy[mode] and finds the order of its nonzeros; what was allocated
 *  is in the copy also on failure. */
polyad_status pd_modecopy_order(polyad_context *context, const struct pd_modecopy_job *job,
                                struct pd_layout *keys);
/** Builds the copy's nonzeros in that order. */
polyad_status pd_modecopy_build_sorted(polyad_context *context, const struct pd_modecopy_job *job,
                                       const struct pd_layout *keys);
polyad_status pd_modecopy_build_paper(polyad_context *context, const struct pd_modecopy_job *job);

/** Validates every invariant of the storage. */
polyad_status pd_modecopy_check(polyad_context *context, const void *storage);
/** Nonzeros in the order of the copy of mode 0. */
void pd_modecopy_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk);
/** The same of the copy of `mode`. */
void pd_modecopy_decode_copy(const struct pd_modecopy *storage, int mode, uint64_t first, int count,
                             struct pd_chunk *chunk);

#endif
