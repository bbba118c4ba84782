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
  struct pd_room *room; /* for records of pd_modecopy_record_words() words */
};

/** The most words of a record that building moves; `partitions` is 1 for the default variant. */
int pd_modecopy_record_words(int order, const uint64_t *dims, polyad_type type, int partitions);

/** What the format's slots do with all copies, for those alone whose bits are set in `copies`. */
void pd_modecopy_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                uint64_t copies, uint64_t *storage, uint64_t *building);
polyad_status pd_modecopy_begin(polyad_context *context, const polyad_tensor *tensor,
                                const struct pd_request *request, uint64_t copies,
                                struct pd_modecopy **out);
polyad_status pd_modecopy_build(polyad_context *context, const polyad_tensor *tensor,
                                const struct pd_request *request, uint64_t copies,
                                struct pd_modecopy **out);

/** Builds storage->copy[mode]; what was allocated is in the copy also on failure. */
polyad_status pd_modecopy_build_sorted(polyad_context *context, const struct pd_modecopy_job *job);
polyad_status pd_modecopy_build_paper(polyad_context *context, const struct pd_modecopy_job *job);

/** Validates every invariant of the storage. */
polyad_status pd_modecopy_check(polyad_context *context, const void *storage);
/** Nonzeros in the order of the copy of mode 0. */
void pd_modecopy_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk);

#endif
