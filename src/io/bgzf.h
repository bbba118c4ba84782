/* A gzip member that says in its header how many bytes it has, of the form that bgzip gave: RFC
 * 1952 with one extra field, "BC", whose two bytes are the member's length less one. */
#ifndef PD_BGZF_H
#define PD_BGZF_H

#include <stddef.h>

enum {
  PD_BGZF_HEADER = 18,
  PD_BGZF_TRAILER = 8,
  PD_BGZF_BYTES = 1 << 16, /* the most, with header and trailer and inflated */
  PD_BGZF_TEXT = 0xff00    /* of those that are written: stored as they are they still fit */
};

/** The header but for the length: no time and no name; system 255, unknown. */
extern const unsigned char pd_bgzf_header[PD_BGZF_HEADER];

#endif
