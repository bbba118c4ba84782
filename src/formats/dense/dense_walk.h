/* The inner loops of "dense", compiled once for each instruction set. Matrices are of doubles, row
 * major, `padded` numbers a row, which is a multiple of `lanes`; sums go by ascending row. */
#ifndef PD_DENSE_WALK_H
#define PD_DENSE_WALK_H

#include <stddef.h>
#include <stdint.h>

struct pd_dense_walk {
  size_t lanes;
  /** y = a b for a matrix `a` of rows x inner and `b` of inner rows. */
  void (*product)(size_t rows, size_t inner, const double *a, const double *b, size_t padded,
                  double *y);
  /** sum += the sum over l < outer and r < inner of row r of y times row l inner + r of b, entry by
   *  entry; the rows of y for l + 1 begin `step` rows behind those for l. */
  void (*fold)(size_t outer, size_t step, size_t inner, size_t padded, const double *y,
               const double *b, double *sum);
};

extern const struct pd_dense_walk pd_dense_walk_plain, pd_dense_walk_avx2, pd_dense_walk_avx512;

#endif
