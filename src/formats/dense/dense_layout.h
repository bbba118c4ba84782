/* Layout of format "dense": all cells of the tensor as a matrix, zeros too.
 *
 * The modes are cut into two groups, say {0, 1} and {2} of three. A row of the matrix is a tuple of
 * indices of the first group, a column one of the second, counted as in row-major arrays:
 *
 *   cells[0]   rows[0] x rows[1]   x(0,0,0) x(0,0,1) ... | x(0,1,0) x(0,1,1) ... | ...
 *   cells[1]   rows[1] x rows[0]   its transpose
 *
 *   cell       [ 1 5 7 ... ]       the place of each nonzero in cells[0], ascending
 *   values     [ x x x ... ]       and its value, in the tensor's type
 *
 * Cells are doubles whatever the tensor's type is: their long sums are then exact enough for the
 * fit of a float32 model. */
#ifndef PD_DENSE_LAYOUT_H
#define PD_DENSE_LAYOUT_H

#include "formats/format.h"

enum { PD_DENSE_GROUPS = 2 };

struct pd_dense {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  int cut;                        /* modes of the first group; the second has none of order 1 */
  uint64_t rows[PD_DENSE_GROUPS]; /* tuples of each group */
  double *cells[PD_DENSE_GROUPS]; /* the second is NULL where its group has no modes */
  uint32_t *cell;
  void *values;
};

/** Some modes, one after another. */
struct pd_dense_modes {
  int first, count;
};

static inline struct pd_dense_modes pd_dense_group(const struct pd_dense *dense, int group) {
  return group == 0 ? (struct pd_dense_modes){0, dense->cut}
                    : (struct pd_dense_modes){dense->cut, dense->order - dense->cut};
}

#endif
