/* Kernels over rows of tall factor matrices, compiled once per instruction set and chosen at
 * run time. All are sequential and work on a range of rows; callers split rows over threads
 * and add partial sums in fixed order.
 *
 * Matrices are row major with `rank` columns and no padding, of float or double; sums and
 * rank x rank matrices are double. BLAS is not used here because its own threads cannot be
 * turned off without changing the host program's settings. */
#ifndef PD_FACTOR_KERNELS_H
#define PD_FACTOR_KERNELS_H

#include "tensor/chunk.h"
#include <polyad/tensor.h>
#include <stddef.h>
#include <stdint.h>

/** Rows that are solved together: one lane of the vector unit per row. */
enum { PD_ROW_TILE = 16 };
/** Rows that `tile` has room for. */
enum { PD_TILE_ROWS = 64 };
/** Columns of the tiles that Gram and product are computed in; their matrices are padded with
 *  zeros to a multiple of it. */
enum { PD_COLUMN_TILE = 16 };

/** Columns with padding: the stride of Gram sums, of multiply's matrix and of tiles. */
static inline size_t pd_padded(size_t rank) {
  return (rank + PD_COLUMN_TILE - 1) / PD_COLUMN_TILE * PD_COLUMN_TILE;
}

/** A model's value at a nonzero is the sum over r of weight[r] times the product of entries r of
 * the rows of its indices, one in each of `order` factors whose rows lie `stride` bytes apart. */
struct pd_residual_model {
  int order;
  int mode[POLYAD_MAX_ORDER]; /* by how often indices change from one nonzero to the next */
  size_t rank;
  const char *factor[POLYAD_MAX_ORDER];
  size_t stride[POLYAD_MAX_ORDER];
  bool far[POLYAD_MAX_ORDER]; /* factors that the caches do not hold */
  const double *weight;
};

/** Rows of some factors, one of each for every product. */
struct pd_row_lists {
  int count;                               /* factors; products of none are 1 */
  size_t stride;                           /* entries between two rows of any of them */
  const void *factor[POLYAD_MAX_ORDER];    /* the first entry that is wanted of row 0 */
  const uint32_t *index[POLYAD_MAX_ORDER]; /* which row, for each product */
};

struct pd_factor_kernels {
  const char *name;
  /** gram(r,s) += sum over rows of a(i,r) a(i,s), at least for s >= r; padded x padded. */
  void (*gram)(uint64_t rows, size_t rank, const void *a, double *gram, double *tile);
  /** The same of at most PD_TILE_ROWS rows of doubles that are padded with zeros. */
  void (*gram_padded)(size_t rows, size_t rank, const double *a, double *gram);
  /** out(j, r) = the product over the factors of entry r of row index[j], for j < rows and r <
   *  rank; rows of `out` lie `stride` doubles apart. */
  void (*row_products)(const struct pd_row_lists *lists, size_t rows, size_t rank, size_t stride,
                       double *out);
  /** x = m (L L^T)^-1 for `rows` rows, with L lower triangular, row major, and
   *  inverse_diagonal its diagonal's reciprocals; inner[r] += sum of m(i,r) x(i,r). x may be m.
   *  `tile` holds PD_TILE_ROWS * padded doubles, here and below. */
  void (*solve)(uint64_t rows, size_t rank, const double *lower, const double *inverse_diagonal,
                const void *m, void *x, double *inner, double *tile);
  /** x = m w for a matrix w, rank x padded, row major; x as above; inner is padded. */
  void (*multiply)(uint64_t rows, size_t rank, const double *w, const void *m, void *x,
                   double *inner, double *tile);
  /** x = (m + before diag(c)) w: multiply() with another right-hand side, but inner is of m. */
  void (*multiply_damped)(uint64_t rows, size_t rank, const double *w, const void *before,
                          const double *c, const void *m, void *x, double *inner, double *tile);
  /** sums[0] += sum of (x - m)^2, sums[1] += sum of m^2 over the `count` nonzeros of a chunk, with
   *  x their values and m the model's. */
  void (*residual)(const struct pd_residual_model *model, const struct pd_chunk *chunk, int count,
                   double *tile, double sums[2]);
  /** largest[r] = the largest of itself and all |x(i,r)|. */
  void (*largest)(uint64_t rows, size_t rank, const void *x, double *largest);
  /** sums[r] += sum over rows of of_row[i] x(i,r)^2. */
  void (*squares)(uint64_t rows, size_t rank, const double *of_row, const void *x, double *sums);
  /** sum[r] += sum over rows of |x(i,r)|. */
  void (*absolute)(uint64_t rows, size_t rank, const void *x, double *sum);
  /** inner[r] += sum over rows of m(i,r) x(i,r). */
  void (*inner)(uint64_t rows, size_t rank, const void *m, const void *x, double *inner);
  /** x(i,r) *= factor[r]. */
  void (*scale)(uint64_t rows, size_t rank, const double *factor, void *x);
  /** One sweep of HALS over each row: a(i,r) = max(0, a(i,r) + (m(i,r) - (a v)(i,r)) / v(r,r)),
   *  r ascending, with the updated entries used at once. Columns with v(r,r) <= 0 are left. inner
   * as above, with the new a; a is not m. */
  void (*hals)(uint64_t rows, size_t rank, const double *v, const void *m, void *a, double *inner,
               double *tile);
  /** The steps of CP-APR, as linalg.h defines them. phi may be NULL; returns the entries shifted.
   */
  uint64_t (*weigh)(uint64_t rows, size_t rank, const void *phi, double kappa,
                    double kappa_tolerance, const double *lambda, void *x);
  /** The largest |min(b, 1 - phi)| of `count` entries and `most`; NaN when any is. */
  double (*kkt)(uint64_t count, const void *phi, const void *b, double most);
  /** b *= phi. */
  void (*elementwise)(uint64_t count, const void *phi, void *b);
  /** dots[i] = sum over r of a(i,r) b[r]. */
  void (*row_dots)(uint64_t rows, size_t rank, const void *a, const double *b, double *dots);
  /** sums[r] += sum over rows of weight[i] a(i,r). */
  void (*row_sums)(uint64_t rows, size_t rank, const void *a, const double *weight, double *sums);
};

/** The kernels for a type on this machine. */
const struct pd_factor_kernels *pd_factor_kernels_for(polyad_type type);

extern const struct pd_factor_kernels pd_factor_kernels_plain[2];
extern const struct pd_factor_kernels pd_factor_kernels_avx2[2];
extern const struct pd_factor_kernels pd_factor_kernels_avx512[2];

#endif
