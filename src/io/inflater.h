/* Inflating gzip members: by ISA-L where it was there when polyad was built, else by zlib. */
#ifndef PD_INFLATER_H
#define PD_INFLATER_H

#include "core/core.h"

struct pd_inflater;

/** Ready for a first member. All memory is taken here: it may run on another thread. */
polyad_status pd_inflater_create(polyad_context *context, struct pd_inflater **inflater);
/** Ready for the next member. */
void pd_inflater_reset(struct pd_inflater *inflater);
/** Bytes from `in` to `out`; the sizes become what was taken and what was made. NULL, or why the
 *  data are corrupt. Nothing taken and nothing made: more input is wanted.
 *  @param[out] ended  whether the member ends here, its checksum being right */
const char *pd_inflater_run(struct pd_inflater *inflater, const unsigned char *in, size_t *in_size,
                            unsigned char *out, size_t *out_size, bool *ended);
/** NULL is fine. */
void pd_inflater_destroy(polyad_context *context, struct pd_inflater *inflater);

#endif
