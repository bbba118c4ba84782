/* Leading eigenvectors of symmetric matrices on the host: dense ones by LAPACK, others by their
 * products with a few columns. */
#ifndef PD_SYMMETRIC_H
#define PD_SYMMETRIC_H

#include "core/stage.h"

/** The `count` largest eigenvalues of a symmetric matrix, largest first, and their eigenvectors
 *  (rows x count, row major, orthonormal columns). `a` is rows x rows with its lower triangle (row
 *  major) filled in, and is destroyed.
 *  @return POLYAD_OVERFLOW for more rows than LAPACK counts, POLYAD_NUMERICAL, POLYAD_CANCELLED */
polyad_status pd_symmetric_leading(struct pd_stage *stage, uint64_t rows, double *a, uint64_t count,
                                   double *values, double *vectors);

/** Columns that a product takes at once. */
enum { PD_SYMMETRIC_BLOCK = 8 };

/** A symmetric positive semidefinite matrix known by its products. */
struct pd_symmetric_operator {
  void *user;
  uint64_t rows;
  /** y = A x, both rows x PD_SYMMETRIC_BLOCK, row major. */
  polyad_status (*apply)(void *user, const double *x, double *y);
};

struct pd_symmetric_search {
  uint64_t wanted;   /* eigenpairs, at most rows / 4, with 512 rows or more */
  double tolerance;  /* of a pair's residual ||A v - l v||, as a part of the largest eigenvalue */
  int most_products; /* with PD_SYMMETRIC_BLOCK columns each */
  uint64_t stream;   /* of the random numbers of the start */
  /* Found: */
  int products;
  double residual; /* the largest of the wanted pairs, as a part of the largest eigenvalue */
};

/** The largest eigenvalues of an operator and their eigenvectors (rows x wanted, row major,
 *  orthonormal) by the block Krylov-Schur method with full reorthogonalization. Ends when every
 *  residual is within the tolerance or after the most products: search->residual tells how exact
 *  they are then. Holds a basis of a few more than twice `wanted` columns, of fewer where the
 *  memory limit asks for it.
 *  @return POLYAD_CANCELLED, POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY, POLYAD_NUMERICAL */
polyad_status pd_symmetric_krylov(struct pd_stage *stage, const struct pd_symmetric_operator *a,
                                  struct pd_symmetric_search *search, double *values,
                                  double *vectors);

#endif
