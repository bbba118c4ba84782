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
#include "device/team.h"
#include "linalg/completion.h"
#include "linalg/newton_rows.h"
#include "linalg/svd.h"
#include "tensor/chunk.h"
#include "tensor/columns.h"
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
  PD_SCALAR_MODEL,     /* squared norm of the model (model_norm) */
  PD_SCALAR_NORMS,     /* sum of the norms of its components (model_norm) */
  PD_SCALAR_PEAKS,     /* sum of the squares of those norms, with the largest entry of the
                          component's column in the last factor in place of its norm (model_norm) */
  PD_SCALAR_CLIPPED,   /* components of weight zero (model_norm) */
  PD_SCALAR_SPREAD,    /* what the entries of an MTTKRP may hold at most, by rows (spread) */
  PD_SCALAR_RESIDUAL,  /* sum of (x - m)^2 over the nonzeros x (residual) */
  PD_SCALAR_COVERED,   /* sum of m^2 over the nonzeros (residual) */
  PD_SCALAR_KKT,       /* violation that kkt() found last */
  PD_SCALAR_UPDATES,   /* times that multiply() changed its matrix since the last fetch */
  PD_SCALAR_SHIFTED,   /* entries that weigh() shifted since the last fetch */
  PD_SCALAR_MASS,      /* sum of lambda of the last normalize() */
  PD_SCALARS
};

/** The lists of sums that the members of a mixed team exchange. Each list has a number for every
 *  column of the member's own rows: the sum of m x, with x as it is stored; the sum of x^2,
 * weighted by `slices` where there are some; the sum of |x|; and the largest |x|. gram() and
 * update_finish() send the R x R Gram matrix before the lists; the receiver reads its upper
 * triangle. Devices of one kind exchange their sums in the way of their kind. */
enum pd_column_sum { PD_SUM_INNER, PD_SUM_SQUARE, PD_SUM_ABSOLUTE, PD_SUM_LARGEST, PD_COLUMN_SUMS };

/** How the columns of a factor are scaled. */
enum pd_scaling {
  PD_SCALE_NORM_2,         /* by the 2-norm (an update of the first iteration) */
  PD_SCALE_MAX_AT_LEAST_1, /* by max(max |entry|, 1) (normalize) */
  PD_SCALE_NORM_1,         /* by the 1-norm (normalize, of Poisson models) */
  PD_SCALE_AS_BEFORE,      /* by powers of two that are known before the update, so that no entry is
                              rounded and no pass is needed: the least that are no less than one and
                              than the largest entries of the factor before times its weights (an
                              update of a later iteration) */
};

/** One update of one factor: what it reads, and what it makes. Every call of an update gets the
 *  same one. */
struct pd_update {
  struct pd_linalg_work *work;
  const struct pd_matrix *const *grams; /* prepare(): what v is made from, as hadamard() does */
  int count, skip;
  double ridge;
  struct pd_matrix *v;             /* the normal equations, as prepare() or hadamard() left them */
  bool prepared;                   /* prepare() has been called for this update */
  bool sweeps;                     /* it is update_rows_nonnegative(), which inverts nothing */
  double damping;                  /* see update_rows() */
  const struct pd_matrix *before;  /* the factor that x is to replace, another matrix; NULL: none */
  const struct pd_matrix *weights; /* of the model before, 1 x R; may be `lambda` */
  /* The MTTKRP where x does not hold it: always of update_rows_nonnegative(), and of update_rows()
     where the device has send(). */
  const struct pd_matrix *m;
  const struct pd_matrix *slices; /* see spread(); NULL: what SPREAD needs is not wanted */
  enum pd_scaling scaling;        /* NORM_2 or AS_BEFORE */
  struct pd_matrix *x;
  struct pd_matrix *lambda; /* 1 x R */
  struct pd_matrix *gram;   /* R x R */
  struct pd_matrix *peak;   /* 1 x R: the largest magnitudes of the columns: in, of the factor
                               before (AS_BEFORE); out, of x */
};

/** One model whose norm is wanted; see model_norm(). */
struct pd_norm {
  struct pd_linalg_work *work;
  int count;
  const struct pd_matrix *const *grams;
  const struct pd_matrix *peak;   /* of the last factor */
  const struct pd_matrix *lambda; /* 1 x R */
  bool spreads;                   /* the last update got slices: SPREAD too */
  bool sums_follow;               /* residual() of the same work is what comes next */
};

/** Columns of a matrix that become columns of another of as many rows and the same type. */
struct pd_column_copy {
  const struct pd_matrix *from;
  struct pd_matrix *to;
  uint64_t first_from, first_to, columns;
};

/** Runs, or copies, that one call takes at most. */
enum { PD_RUNS_AT_ONCE = 64 };

/** The calls that updates are made of take several runs at once, each with a work and matrices of
 *  its own: the rows of a mode are as many for all, ranks may differ. A device that starts work one
 *  call at a time then starts it once for all. */
struct pd_linalg {
  const struct pd_svd *svd;               /* NULL: none */
  const struct pd_completion *completion; /* NULL: none */
  const struct pd_newton *newton;         /* NULL: the host solves rows, or nobody */
  /** Memory for matrices of `rank` columns. */
  polyad_status (*work_create)(polyad_context *context, const struct pd_device *device,
                               uint64_t rank, struct pd_linalg_work **work);
  void (*work_destroy)(polyad_context *context, struct pd_linalg_work *work);
  uint64_t (*work_bytes)(uint64_t rank, int threads);
  /** From now on matrices of factors are the rows that this member of a team owns, and sums and
   *  largest numbers over rows or nonzeros are over those of all members: each call that finds some
   *  is made by all. NULL: the device's sums cannot be shared. */
  polyad_status (*join)(polyad_context *context, struct pd_linalg_work *work, polyad_team *team);
  /** Rows of a matrix on their way to and from other members of a team; `index` and the packed side
   *  lie in the device's memory. take_rows: to[j] = matrix[index[j]]; add_rows: matrix[index[j]] +=
   *  from[j], with no index twice. NULL with `join`. */
  polyad_status (*take_rows)(polyad_context *context, const struct pd_matrix *matrix,
                             uint64_t count, const uint64_t *index, void *to);
  polyad_status (*add_rows)(polyad_context *context, const void *from, uint64_t count,
                            const uint64_t *index, struct pd_matrix *matrix);
  /** A library that carries data between the members' devices where each has one of its own; NULL:
   *  there is none. */
  const struct pd_device_link *link;

  /** gram = A^T A (R x R, both triangles); peak (1 x R, F64) = the largest magnitudes of A's
   *  columns. */
  polyad_status (*gram)(polyad_context *context, struct pd_linalg_work *work,
                        const struct pd_matrix *a, struct pd_matrix *gram, struct pd_matrix *peak);
  /** `to` = what a compute type other than POLYAD_COMPUTE_NATIVE keeps of `from`; both of one shape
   *  and type, or the same matrix. NULL: the device's kernels read factors as they are. */
  polyad_status (*round)(polyad_context *context, struct pd_linalg_work *work,
                         polyad_compute compute, const struct pd_matrix *from,
                         struct pd_matrix *to);
  /** Rounds a factor in single precision to bfloat16, into `halves` too, which it has. From then on
   *  update_rows() does that to every x that has them, before it sums over it: Gram matrix and
   * inner products are those of the rounded rows. NULL: the device does not. */
  polyad_status (*halve)(polyad_context *context, struct pd_linalg_work *work, struct pd_matrix *a);
  /** Entry (i, r) of a = pd_random_uniform(seed, stream, i * columns + r), rounded to a's type.
   * NULL: the host fills matrices. */
  polyad_status (*random)(polyad_context *context, struct pd_linalg_work *work, uint64_t seed,
                          uint64_t stream, struct pd_matrix *a);
  /** x += y; both of one shape and type. NULL: the device cannot. */
  polyad_status (*add)(polyad_context *context, struct pd_linalg_work *work,
                       const struct pd_matrix *y, struct pd_matrix *x);
  /** v = elementwise product of grams[m], m != skip, plus ridge on the diagonal. skip -1: all. */
  polyad_status (*hadamard)(polyad_context *context, struct pd_linalg_work *work, int count,
                            const struct pd_matrix *const *grams, int skip, double ridge,
                            struct pd_matrix *v);
  /** Copies columns from matrix to matrix. NULL: the device cannot. */
  polyad_status (*copy_columns)(polyad_context *context, const struct pd_device *device, int count,
                                const struct pd_column_copy *copies);
  /** v as hadamard() makes it, for an update of rows that follows: a device that can work on it
   *  beside what is enqueued in between begins to. */
  polyad_status (*prepare)(polyad_context *context, int runs, const struct pd_update *updates);
  /** Lets what is enqueued next wait for what prepare() and update_finish() have begun beside the
   *  rest, as all other calls with this work do. NULL: they begin nothing. */
  polyad_status (*rejoin)(polyad_context *context, struct pd_linalg_work *work);
  /** The least-squares update of CP-ALS in one pass over memory, and for every fixed block of rows
   *  the sums that update_finish() adds up: the Gram matrix of the block, inner products with m,
   *  largest magnitudes, squares weighted by `slices`. How rows are divided into blocks depends on
   *  their number alone: who holds which blocks, and by how many threads, does not show in the
   *  bits.
   *
   *  On entry x holds m, the MTTKRP, unless that is another matrix; columns of `before` count times
   * `weights`. Then x = m v^-1 by Cholesky, its columns divided as AS_BEFORE says.
   *
   *  `damping` is the relative precision of m times R, where m is less precise than a double; else
   *  0. Where a pivot is no more than that part of its diagonal entry, m cannot tell the
   *  components apart: its rounding errors would grow until they hide the data. Then the update is
   *  a proximal step from the factor before, with d = diag(v):
   *
   *    x = (m + damping before diag(weights d)) (v + damping diag(d))^-1
   *
   *  which moves x only as far as m knows, and in exact arithmetic never raises the residual;
   *  DAMPED grows by one.
   *
   *  When v is not numerically positive definite and damping is 0, x = m v^+ by the symmetric
   *  eigendecomposition instead: eigenvalues up to R * eps * the largest count as zero; FALLBACKS
   *  grows by one and KEPT tells how many eigenvalues did not. Finite v and m give finite
   *  results. */
  polyad_status (*update_rows)(polyad_context *context, int runs, const struct pd_update *updates);
  /** Up to this rank updates of rows heed pd_matrix::used of the MTTKRP; 0: never. */
  uint64_t unused_rank;
  /** The same by one sweep of hierarchical alternating least squares that starts from `before` with
   *  its columns multiplied by `weights`: entries stay nonnegative. m is another matrix than x. */
  polyad_status (*update_rows_nonnegative)(polyad_context *context, int runs,
                                           const struct pd_update *updates);
  /** From the sums of the blocks, in their order: gram = x^T x; lambda, what the columns of x were
   *  divided by; peak; INNER = sum of m(i,r) x(i,r) lambda_r; and what SPREAD needs, until the next
   *  update. Columns of norm zero stay zero and get lambda 0. Only after NORM_2 another pass scales
   *  x. Where several share the rows, their blocks' sums come together before this call. All but x
   *  is there for calls of this table, and for others after one of them or a fetch(). */
  polyad_status (*update_finish)(polyad_context *context, int runs,
                                 const struct pd_update *updates);
  /** INNER = sum over r of lambda_r sum over i of m(i,r) x(i,r). */
  polyad_status (*weighted_inner)(polyad_context *context, struct pd_linalg_work *work,
                                  const struct pd_matrix *m, const struct pd_matrix *x,
                                  const struct pd_matrix *lambda);
  /** MODEL = lambda^T G lambda with G the elementwise product of all Gram matrices: the squared
   *  norm of the model. NORMS = sum of lambda_r sqrt(G(r,r)); PEAKS = sum of the squares of
   *  lambda_r, times peak_r of the last factor, times the norms of the columns r of the others.
   *  Where it `spreads`, SPREAD becomes what spread() computes. */
  polyad_status (*model_norm)(polyad_context *context, int runs, const struct pd_norm *norms);
  /** SPREAD = sum over r of (lambda_r times the norms of columns r of all factors but the last)^2
   *  times sum over i of slices(i) x(i,r)^2, with x the last factor. slices (rows x 1, F64) holds
   *  the squared norms of the slices of the last mode: entry (i, r) of its MTTKRP is a sum of
   *  products that is no larger, sign for sign, than the root of slices(i) times those norms. */
  polyad_status (*spread)(polyad_context *context, struct pd_linalg_work *work,
                          const struct pd_matrix *slices, const struct pd_matrix *x, int count,
                          const struct pd_matrix *const *grams, const struct pd_matrix *lambda);
  /** RESIDUAL and COVERED: the model's value m = sum over r of lambda_r times the product of
   *  factors[n](i_n, r), at every nonzero x, in double throughout and added in fixed order. `list`
   *  has the nonzeros on the device where residual_reads_list, and says whether the sums go on
   *  from those over another list; else it is NULL. */
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
   *  decides, so that inner iterations can be queued without waiting for their outcome; `loop`
   * (NULL: none; always on devices that do not record) goes on where it has multiplied, and what it
   * found is KKT. */
  polyad_status (*multiply)(polyad_context *context, struct pd_linalg_work *work,
                            const struct pd_matrix *phi, double tolerance,
                            const struct pd_loop *loop, struct pd_matrix *b);
  /** lambda = norms of x's columns by `scaling`; columns divided by them (those of norm zero stay
   *  zero and get lambda 0); MASS = sum of lambda. */
  polyad_status (*normalize)(polyad_context *context, struct pd_linalg_work *work,
                             enum pd_scaling scaling, struct pd_matrix *x,
                             struct pd_matrix *lambda);
  /** The 2-norms of the columns first to first + count - 1 of x, at most PD_COLUMN_CHUNK, with
   *  entries taken times 2^-exponent before they are squared, and each one's first entry of largest
   *  magnitude. Waits. NULL: the host looks at factors when they are there. */
  polyad_status (*column_norms)(polyad_context *context, struct pd_linalg_work *work,
                                const struct pd_matrix *x, uint64_t first, int count,
                                const int *exponent, double *norm, double *peak);
  /** Column k of `to`, a matrix of the same shape, becomes what form[k] makes of a column of x;
   * there is one for each column. NULL likewise. */
  polyad_status (*form_columns)(polyad_context *context, struct pd_linalg_work *work,
                                const struct pd_column_form *form, const struct pd_matrix *x,
                                struct pd_matrix *to);
  /** Whether fetch() has to wait for the device: then algorithms look less often. */
  bool fetch_waits;
  /** Begins to copy the scalars of one run to the host: the fetch() of this run that comes next has
   *  them as they are now, and does not wait for what is enqueued in between. NULL: fetch() has
   *  nothing to wait for. */
  polyad_status (*send)(polyad_context *context, struct pd_linalg_work *work);
  /** Waits, copies all scalars of each run to the host, and clears FALLBACKS, DAMPED, UPDATES and
   *  SHIFTED. */
  polyad_status (*fetch)(polyad_context *context, int runs, struct pd_linalg_work *const *works,
                         double (*scalars)[PD_SCALARS]);
};

extern const struct pd_linalg pd_cpu_linalg;

#endif
