/* Inflating gzip members: by ISA-L where it was there when polyad was built; else by zlib as bytes
 * come, and whole ones by libdeflate. */
#ifndef PD_INFLATER_H
#define PD_INFLATER_H

#include "core/core.h"

struct pd_inflater;

struct pd_inflater_functions {
  /** Ready for a first member. All memory is taken here: it may run on another thread. */
  polyad_status (*create)(polyad_context *context, struct pd_inflater **inflater);
  /** Ready for the next member. */
  void (*reset)(struct pd_inflater *inflater);
  /** Bytes from `in` to `out`; the sizes become what was taken and what was made. NULL, or why the
   *  data are corrupt. Nothing taken and nothing made: more input is wanted. *ended tells whether
   *  the member ends here, its checksum being right. */
  const char *(*run)(struct pd_inflater *inflater, const unsigned char *in, size_t *in_size,
                     unsigned char *out, size_t *out_size, bool *ended);
  /** A whole member at once, of a header that is known to be right: false unless it has just so
   * many bytes, before and after, and its checksum is right. Needs no reset before it. */
  bool (*run_whole)(struct pd_inflater *inflater, const unsigned char *in, size_t in_size,
                    unsigned char *out, size_t out_size);
  /** NULL is fine. */
  void (*destroy)(polyad_context *context, struct pd_inflater *inflater);
};

extern const struct pd_inflater_functions pd_inflating;

#endif
