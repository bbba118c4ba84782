/* Which thread sums what, and where: the temporaries of the pull-based edition. */
#ifndef PD_ALTO_SHARE_H
#define PD_ALTO_SHARE_H

#include "formats/alto/alto_layout.h"

/** One thread's part of the nonzeros and its output rows. */
struct pd_alto_share {
  uint64_t begin, end;     /* nonzeros */
  struct pd_alto_span all; /* rows it touches */
  struct pd_alto_span own; /* some of them that no other part touches */
  uint64_t first;          /* row of the temporaries at which its own begin */
};

/** How the work of one mode is shared. */
struct pd_alto_sharing {
  int parts;
  bool direct;   /* rows `own` are summed in the output itself */
  uint64_t rows; /* of temporaries, all parts together */
  struct pd_alto_share *share;
};

/** Shares a mode between at most `threads` parts, so that all temporaries together stay below
 *  `rows_most` rows; `share` has room for `threads`. With `direct`, rows that one part alone
 *  touches need no temporaries. */
void pd_alto_share_mode(const struct pd_alto *alto, int mode, int threads, bool direct,
                        uint64_t rows_most, struct pd_alto_share *share,
                        struct pd_alto_sharing *sharing);

/** Rows of temporaries that a share has. */
static inline uint64_t pd_alto_share_rows(const struct pd_alto_share *share, bool direct) {
  uint64_t all = share->all.end - share->all.begin;
  return direct ? all - (share->own.end - share->own.begin) : all;
}

#endif
