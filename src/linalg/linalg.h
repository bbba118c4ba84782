/* Small dense algebra behind one table per device. Matrices are row major on the table's
 * device; R x R matrices are always F64. Calls are stream-ordered and never wait; results that
 * the host needs are scalars, fetched together by `fetch`.
 *
 * CPU: BLAS/LAPACK called single-threaded on blocks, our own threads, sums in fixed order. */
#ifndef PD_LINALG_H
#define PD_LINALG_H

#include "device/device.h"

/** A number on the device (F64). */
struct pd_scalar {
  double *data;
};

/** How the columns of a factor are scaled after an update. */
enum pd_scaling {
  PD_SCALE_NORM_2,         /* by the 2-norm (first iteration, and the end) */
  PD_SCALE_MAX_AT_LEAST_1, /* by max(max |entry|, 1) (later iterations) */
  PD_SCALE_NORM_1,         /* by the 1-norm (Poisson models) */
  PD_SCALE_NONE
};

struct pd_linalg {
  /** gram = A^T A (R x R, F64, both triangles). */
  polyad_status (*gram)(polyad_context *context, const struct pd_matrix *a, struct pd_matrix *gram);
  /** v = elementwise product of grams[m], m != skip, plus ridge on the diagonal. skip -1: all. */
  polyad_status (*hadamard)(polyad_context *context, int count,
                            const struct pd_matrix *const *grams, int skip, double ridge,
                            struct pd_matrix *v);
  /** Solves X V = M for X (rows of M are right-hand sides) by Cholesky. When V is not
   *  numerically positive definite sets *failed to 1 (else 0) and leaves X undefined. X may be
   *  M. */
  polyad_status (*solve)(polyad_context *context, const struct pd_matrix *v,
                         const struct pd_matrix *m, struct pd_matrix *x, struct pd_scalar failed);
  /** X = M V^+ by the symmetric eigendecomposition, eigenvalues below R * eps * the largest
   *  taken as zero; *rank gets how many were kept. */
  polyad_status (*solve_rank_revealing)(polyad_context *context, const struct pd_matrix *v,
                                        const struct pd_matrix *m, struct pd_matrix *x,
                                        struct pd_scalar rank);
  /** One sweep of hierarchical alternating least squares over the columns of A for
   *  min ||..||, A >= 0, with normal equations A V = M: A is updated in place. */
  polyad_status (*hals)(polyad_context *context, const struct pd_matrix *v,
                        const struct pd_matrix *m, struct pd_matrix *a);
  /** Divides each column by its norm and writes the norms into lambda (1 x R, F64). Columns of
   *  norm zero are left as they are and get lambda 0 (PD_SCALE_MAX_AT_LEAST_1 never does). */
  polyad_status (*scale_columns)(polyad_context *context, struct pd_matrix *a,
                                 enum pd_scaling scaling, struct pd_matrix *lambda);
  /** *result = sum over r of lambda_r sum over i of a(i,r) b(i,r). */
  polyad_status (*weighted_inner)(polyad_context *context, const struct pd_matrix *a,
                                  const struct pd_matrix *b, const struct pd_matrix *lambda,
                                  struct pd_scalar result);
  /** *result = lambda^T G lambda: the squared norm of the model when G is the Hadamard product
   *  of all Grams. */
  polyad_status (*quadratic_form)(polyad_context *context, const struct pd_matrix *g,
                                  const struct pd_matrix *lambda, struct pd_scalar result);
  /** Scalars: `count` of them, zero at first. */
  polyad_status (*scalars_create)(polyad_context *context, const struct pd_device *device,
                                  int count, struct pd_scalar *scalars);
  void (*scalars_destroy)(polyad_context *context, const struct pd_device *device, int count,
                          struct pd_scalar *scalars);
  /** Waits and copies `count` scalars that were created together to the host. */
  polyad_status (*fetch)(polyad_context *context, const struct pd_device *device, int count,
                         const struct pd_scalar *scalars, double *values);
};

extern const struct pd_linalg pd_cpu_linalg;

#endif
