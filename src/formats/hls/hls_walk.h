/* The CPU's kernels of "hls": sums of a group of 16 output rows, or the gains of its nonzeros; one
 * table per instruction set. */
#ifndef PD_HLS_WALK_H
#define PD_HLS_WALK_H

#include "formats/hls/hls_layout.h"

/** What all threads of one call share. */
struct pd_hls_sweep {
  const struct pd_hls *hls;
  const struct pd_hls_order *order;
  int mode;
  bool chain;       /* tensor-times-matrix chain instead of MTTKRP */
  uint64_t columns; /* of the output */
  uint64_t widest;  /* largest of the ranks */
  uint64_t rank[PD_HLS_MAX_ORDER];
  const void *factor[PD_HLS_MAX_ORDER];
  uint64_t stride[PD_HLS_MAX_ORDER];
  /* Whether the model is needed, and with it the factor of `mode`; then the gain itself may be
   * asked for instead of its gradient. */
  bool weighs, gains;
  struct pd_loss loss;
};

/** Some tiles and single nonzeros (places in the order) whose output rows are among 16. */
struct pd_hls_unit {
  uint64_t first_row;
  uint64_t tile_begin, tile_end, nonzero_begin, nonzero_end;
};

/** Adds what the unit has to rows[16][columns], or its gains to rows[0]. `buffer`: 2 x columns +
 *  (order + 1) x widest numbers.
 */
typedef void pd_hls_walk_function(const struct pd_hls_sweep *sweep, const struct pd_hls_unit *unit,
                                  double *rows, double *buffer);

void pd_hls_walk_plain(const struct pd_hls_sweep *sweep, const struct pd_hls_unit *unit,
                       double *rows, double *buffer);
void pd_hls_walk_avx2(const struct pd_hls_sweep *sweep, const struct pd_hls_unit *unit,
                      double *rows, double *buffer);
void pd_hls_walk_avx512(const struct pd_hls_sweep *sweep, const struct pd_hls_unit *unit,
                        double *rows, double *buffer);

#endif
