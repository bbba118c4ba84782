/* Small dense algebra behind one table per device. Matrices are row major on the table's
 * device; R x R matrices and lambda (1 x R) are always F64, factors F32 or F64. Calls are
 * stream-ordered and never wait; results that the host needs are scalars, fetched together.
 *
 * CPU: rows of tall matrices are split over polyad's own threads and added in fixed order;
 * LAPACK is called for eigenvalues only. */
#ifndef PD_LINALG_H
#define PD_LINALG_H

#include "device/device.h"
#include "device/nonzero_list.h"
#include "linalg/svd.h"
#include "tensor/chunk.h"
#include <polyad/plan.h>

/** Everything that calls on one rank change: scratch memory and the scalars. Made once per
 *  run, so that iterations allocate nothing. Not shared by running computations. */
struct pd_linalg_work;

/** Numbers on the device (F64), by name. */
enum pd_scalar {
  PD_SCALAR_FALLBACKS, /* updates since the last fetch that took the rank-revealing way */
  PD_SCALAR_KEPT,      /* eigenvalues kept by the last of them */
  PD_SCALAR_DAMPED,    /* updates since the last fetch that were damped */
  PD_SCALAR_INNER,     /* <m, x> of the last update or weighted_inner */
  PD_SCALAR_MODEL,     /* squared norm of the model (quadratic_form) */
  PD_SCALAR_NORMS,     /* sum of the norms of its components (quadratic_form) */
  PD_SCALAR_PEAKS,     /* sum of the squares of those norms, each over the squared norm of the
                          component's column in the last factor (quadratic_form) */
  PD_SCALAR_SPREAD,    /* what the entries of an MTTKRP may hold at most, by rows (spread) */
  PD_SCALAR_RESIDUAL,  /* sum of (x - m)^2 over the nonzeros x (residual) */
  PD_SCALAR_COVERED,   /* sum of m^2 over the nonzeros (residual) */
  PD_SCALAR_KKT,       /* violation that kkt() found last */
  PD_SCALAR_UPDATES,   /* times that multiply() changed its matrix since the last fetch */
  PD_SCALAR_SHIFTED,   /* entries that weigh() shifted since the last fetch */
  PD_SCALAR_MASS,      /* sum of lambda of the last normalize() */
  PD_SCALARS
};

/** How the columns of a factor are scaled after an update. */
enum pd_scaling {
  PD_SCALE_NORM_2,         /* by the 2-norm (first iteration, and the end) */
  PD_SCALE_MAX_AT_LEAST_1, /* by max(max |entry|, 1) (later iterations) */
  PD_SCALE_NORM_1,         /* by the 1-norm (Poisson models) */
  PD_SCALE_AS_BEFORE,      /* by powers of two, so that no entry is rounded and none is larger than
                              two. Where the powers of the update before still serve they stay,
                              which spares the pass that divides. */
};

struct pd_linalg {
  const struct pd_svd *svd; /* NULL: none */
  /** Memory for matrices of `rank` columns. */
  polyad_status (*work_create)(polyad_context *context, const struct pd_device *device,
                               uint64_t rank, struct pd_linalg_work **work);
  void (*work_destroy)(polyad_context *context, struct pd_linalg_work *work);
  uint64_t (*work_bytes)(uint64_t rank, int threads);

  /** gram = A^T A (R x R, both triangles). */
  polyad_status (*gram)(polyad_context *context, struct pd_linalg_work *work,
                        const struct pd_matrix *a, struct pd_matrix *gram);
  /** `to` = what a compute type other than POLYAD_COMPUTE_NATIVE keeps of `from`; both of one shape
   *  and type, or the same matrix. NULL: the device's kernels read factors as they are. */
  polyad_status (*round)(polyad_context *context, struct pd_linalg_work *work,
                         polyad_compute compute, const struct pd_matrix *from,
                         struct pd_matrix *to);
  /** x += y; both of one shape and type. NULL: the device cannot. */
  polyad_status (*add)(polyad_context *context, struct pd_linalg_work *work,
                       const struct pd_matrix *y, struct pd_matrix *x);
  /** v = elementwise product of grams[m], m != skip, plus ridge on the diagonal. skip -1: all. */
  polyad_status (*hadamard)(polyad_context *context, struct pd_linalg_work *work, int count,
                            const struct pd_matrix *const *grams, int skip, double ridge,
                            struct pd_matrix *v);
  /** Says that the next update() gets this v, as it is now, and this damping: a device that can
   * work on it beside what is enqueued in between begins to. NULL: update() does all. */
  polyad_status (*prepare)(polyad_context *context, struct pd_linalg_work *work,
                           const struct pd_matrix *v, double damping);
  /** The least-squares update of CP-ALS, in as few passes over memory as the device can. On entry
   *  x holds m, the MTTKRP; `before`, another matrix, holds the factor that x is to replace, whose
   *  columns count times lambda; NULL: there is none. Then x = m v^-1 by Cholesky; INNER = sum of
   *  m(i,r) x(i,r); lambda = norms of x's columns by `scaling`; columns divided by them; gram =
   *  x^T x. Columns of norm zero stay zero and get lambda 0.
   *
   *  `damping` is the relative precision of m times R, where m is less precise than a double; else
   *  0. Where a pivot is no more than that part of its diagonal entry, m cannot tell the
   *  components apart: its rounding errors would grow until they hide the data. Then the update is
   *  a proximal step from the factor before, with d = diag(v):
   *
   *    x = (m + damping before diag(lambda d)) (v + damping diag(d))^-1
   *
   *  which moves x only as far as m knows, and in exact arithmetic never raises the residual;
   *  DAMPED grows by one.
   *
   *  When v is not numerically positive definite and damping is 0, x = m v^+ by the symmetric
   *  eigendecomposition instead: eigenvalues up to R * eps * the largest count as zero; FALLBACKS
   *  grows by one and KEPT tells how many eigenvalues did not. Finite v and m give finite
   *  results. */
  polyad_status (*update)(polyad_context *context, struct pd_linalg_work *work,
                          const struct pd_matrix *v, double damping, const struct pd_matrix *before,
                          struct pd_matrix *x, enum pd_scaling scaling, struct pd_matrix *lambda,
                          struct pd_matrix *gram);
  /** The same by one sweep of hierarchical alternating least squares that starts from the
   *  current x with its columns multiplied by the current lambda: entries stay nonnegative.
   *  m is another matrix than x. */
  polyad_status (*update_nonnegative)(polyad_context *context, struct pd_linalg_work *work,
                                      const struct pd_matrix *v, const struct pd_matrix *m,
                                      struct pd_matrix *x, enum pd_scaling scaling,
                                      struct pd_matrix *lambda, struct pd_matrix *gram);
  /** INNER = sum over r of lambda_r sum over i of m(i,r) x(i,r). */
  polyad_status (*weighted_inner)(polyad_context *context, struct pd_linalg_work *work,
                                  const struct pd_matrix *m, const struct pd_matrix *x,
                                  const struct pd_matrix *lambda);
  /** MODEL = lambda^T G lambda: the squared norm of the model when G is the Hadamard product of
   *  all Grams. NORMS = sum of lambda_r sqrt(G(r,r)); PEAKS = sum of lambda_r^2 G(r,r) /
   *  last(r,r), with `last` the Gram matrix of the last factor. */
  polyad_status (*quadratic_form)(polyad_context *context, struct pd_linalg_work *work,
                                  const struct pd_matrix *g, const struct pd_matrix *last,
                                  const struct pd_matrix *lambda);
  /** SPREAD = sum over r of lambda_r^2 G(r,r) / last(r,r) times sum over i of slices(i) x(i,r)^2,
   *  with G and `last` as in quadratic_form and x the last factor. slices (rows x 1, F64) holds the
   *  squared norms of the slices of the last mode: entry (i, r) of its MTTKRP is a sum of products
   *  that is no larger, sign for sign, than the root of slices(i) G(r,r) / last(r,r). */
  polyad_status (*spread)(polyad_context *context, struct pd_linalg_work *work,
                          const struct pd_matrix *slices, const struct pd_matrix *x,
                          const struct pd_matrix *g, const struct pd_matrix *last,
                          const struct pd_matrix *lambda);
  /** RESIDUAL and COVERED: the model's value m = sum over r of lambda_r times the product of
   *  factors[n](i_n, r), at every nonzero x, in double throughout and added in fixed order. `list`
   *  has the nonzeros on the device where residual_reads_list; else it is NULL. */
  polyad_status (*residual)(polyad_context *context, struct pd_linalg_work *work,
                            const struct pd_nonzeros *nonzeros, const struct pd_list *list,
                            const struct pd_matrix *const *factors, const struct pd_matrix *lambda);
  bool residual_reads_list;
  /* The elementwise steps of CP-APR's multiplicative update (Chi and Kolda 2012, algorithm 3);
   * NULL: the device has none. All matrices of one call have the same shape and type. */

  /** x = (x + S) diag(lambda). S(i,r) is `kappa` where phi(i,r) > 1 and x(i,r) < kappa_tolerance
   *  (an inadmissible zero), else 0; phi NULL: S is 0. SHIFTED grows by the shifted entries. */
  polyad_status (*weigh)(polyad_context *context, struct pd_linalg_work *work,
                         const struct pd_matrix *phi, double kappa, double kappa_tolerance,
                         const struct pd_matrix *lambda, struct pd_matrix *x);
  /** KKT = the largest |min(b(i,r), 1 - phi(i,r))|; NaN when any entry is. */
  polyad_status (*kkt)(polyad_context *context, struct pd_linalg_work *work,
                       const struct pd_matrix *phi, const struct pd_matrix *b);
  /** b(i,r) *= phi(i,r), and UPDATES grows by one; nothing when KKT < tolerance. The device
   *  decides, so that inner iterations can be queued without waiting for their outcome. */
  polyad_status (*multiply)(polyad_context *context, struct pd_linalg_work *work,
                            const struct pd_matrix *phi, double tolerance, struct pd_matrix *b);
  /** lambda = norms of x's columns by `scaling`; columns divided by them (those of norm zero stay
   *  zero and get lambda 0); MASS = sum of lambda. */
  polyad_status (*normalize)(polyad_context *context, struct pd_linalg_work *work,
                             enum pd_scaling scaling, struct pd_matrix *x,
                             struct pd_matrix *lambda);
  /** Whether fetch() has to wait for the device: then algorithms look less often. */
  bool fetch_waits;
  /** Waits, copies all scalars to the host, and clears FALLBACKS, DAMPED, UPDATES and SHIFTED. */
  polyad_status (*fetch)(polyad_context *context, struct pd_linalg_work *work,
                         double scalars[PD_SCALARS]);
};

extern const struct pd_linalg pd_cpu_linalg;

#endif
