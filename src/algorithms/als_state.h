/* State of one CP-ALS run: factors, Gram matrices, weights, and what iterations need. */
#ifndef PD_ALS_STATE_H
#define PD_ALS_STATE_H

#include "algorithms/method.h"
#include "algorithms/nonnegative.h"
#include "linalg/linalg.h"
#include "plan/plan.h"
#include "tensor/ktensor.h"
#include <polyad/cp_als.h>

/** Fit and residual of the current model, as the last fetch found them. */
struct pd_als_fit {
  double fit;      /* 1 - ||X - M|| / ||X|| */
  double residual; /* ||X - M||^2 / ||X||^2, at least 0 */
  double bound;    /* what rounding may have changed the fit by */
  polyad_fit_from from;
  double norms;   /* sum of the norms of the model's components */
  double peaks;   /* see PD_SCALAR_PEAKS */
  double clipped; /* how many of them have weight zero; NaN: unknown */
};

/** Normal equations that were not solved as they are. */
struct pd_als_solves {
  uint64_t fallbacks; /* by eigenvalues */
  double kept;        /* eigenvalues kept by the last of them */
  uint64_t damped;
};

/** An iteration that the device has recorded. */
struct pd_als_record {
  void *iteration; /* NULL: none */
  uint64_t kept;   /* partial sums that it leaves: see polyad_kernels::kept */
};

struct pd_als {
  polyad_context *context;
  const polyad_plan *plan;
  const polyad_cp_als_options *options;
  const struct pd_device *device;
  const struct pd_linalg *linalg;
  polyad_workspace *workspace;
  struct pd_linalg_work *work;
  int order;
  uint32_t nonnegative; /* the modes whose factors stay so: see nonnegative.h */
  double norm_squared;  /* of the tensor as the plan's kernels see it */

  polyad_ktensor *model; /* its arrays are the factors' memory where the device allows; of a team's
                            plan it has the rows of this member's matrices */
  polyad_ktensor *whole; /* of a team, once the run has ended: the model, on member 0 */
  struct pd_matrix factor[POLYAD_MAX_ORDER];
  /* Where the next update of each factor goes; they change places with it. After an iteration these
     and lambda_before are the iterate before, which a breakdown goes back to. */
  struct pd_matrix spare[POLYAD_MAX_ORDER];
  struct pd_matrix lambda_before; /* 1 x R */
  /* Where kernels round the factors that they read, all but the last are kept so rounded, and of
     the last this is a rounded copy. */
  struct pd_matrix rounded;
  struct pd_matrix gram[POLYAD_MAX_ORDER]; /* of what MTTKRP reads */
  struct pd_matrix peak[POLYAD_MAX_ORDER]; /* 1 x R: the largest magnitudes of its columns */
  struct pd_matrix lambda;                 /* 1 x R */
  struct pd_matrix v;                      /* R x R */
  struct pd_matrix m; /* MTTKRP, where it cannot go into the spare itself; rows of the longest
                         mode */
  const struct pd_matrix *factor_list[POLYAD_MAX_ORDER];
  const struct pd_matrix *gram_list[POLYAD_MAX_ORDER];
  double sum_depth; /* of the last mode's MTTKRP: see pd_plan_sum_depth() */

  double *host_lambda; /* R numbers, then `order` matrices R x R: copies on the host */

  /* Rows in bfloat16: see als_half.c. The factor and its spare share a copy. */
  uint16_t *halves[POLYAD_MAX_ORDER];
  bool halving;     /* whether the running iteration, or the last one, has them */
  bool was_halving; /* whether the one before it had */
  bool half_ended;  /* they have served their time */

  /* An iteration after the first, where the device records: one for each way in which factors and
     spares lie. */
  struct pd_als_record record[2][2]; /* without the sums of a residual, and with them */
  uint64_t position;                 /* of the workspace, when the iteration before began */
  int exchanges;                     /* iterations in which they changed places: even or odd */
  /* The marks of an iteration are read while the device is at work on the next one, which sets
     other marks. */
  bool unread;    /* whether there are marks to read */
  int marked;     /* the iteration that set them */
  int first_mark; /* number of its first mark */

  /* The first MTTKRP of the iteration that comes next, where it is made before the host knows the
     fit of the one before: see als_ahead.c. */
  struct pd_matrix first;
  bool ahead;       /* it was made, and has not been used */
  bool sent;        /* the scalars of the fit, sent before it was made, have not been fetched */
  bool takes_first; /* the running iteration takes its first MTTKRP from there */
  uint64_t first_of[POLYAD_MAX_ORDER]; /* the versions of the factors that it was made from */

  struct pd_matrix slices; /* squared norms of the last mode's slices, once a fit needed them */
  struct pd_list *list;    /* the nonzeros as residuals want them, once one was summed */
  bool sums;               /* the running iteration enqueues the sums of its residual itself */

  struct pd_run run;
  struct pd_als_fit fit; /* of the current factors */
  double
      caution; /* times the damping that the precision asks for: 1, more after a fall of the fit */
  struct pd_als_solves solves;
  struct pd_als_solves late; /* counted for `first`; added to `solves` when that is used */
  double fell_to;            /* the fit of the iteration that broke down; NaN: none did */
};

extern const struct pd_method pd_als_method;

/** Whether these are options for this plan's tensor. */
polyad_status pd_als_check_options(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_als_options *options);
/** Allocates everything a run needs, after checking the memory limit. `shared`: no workspace, for
 *  it will share its MTTKRPs. */
polyad_status pd_als_create(polyad_context *context, const polyad_plan *plan,
                            const polyad_cp_als_options *options, bool shared, struct pd_als **als);
/** Looks how many additions an entry of the last MTTKRP goes through, which depends on the
 * workspace.
 */
polyad_status pd_als_find_sum_depth(struct pd_als *als);
void pd_als_destroy(struct pd_als *als);
/** How the columns of a factor are scaled in the running iteration. */
enum pd_scaling pd_als_scaling(const struct pd_als *als);

/** Gives components of weight zero a new chance, without changing the model; no more than a look at
 *  als->fit where that has counted none. */
polyad_status pd_als_revive(struct pd_als *als);

static inline bool pd_als_rounds(const struct pd_als *als) {
  return als->plan->compute != POLYAD_COMPUTE_NATIVE && als->linalg->round != NULL;
}
/** Makes mode n's factor what MTTKRP reads, and its Gram matrix from that: normal equations of
 *  other matrices than the MTTKRP has read let errors of rounding grow. */
polyad_status pd_als_take_factor(struct pd_als *als, int n);

/** Whether this plan's kernels can gather rows in bfloat16. */
polyad_status pd_als_half_check(polyad_context *context, const polyad_plan *plan,
                                const polyad_cp_als_options *options);
/** Bytes of the copies. */
uint64_t pd_als_half_bytes(const polyad_plan *plan, const polyad_cp_als_options *options);
polyad_status pd_als_half_create(struct pd_als *als);
void pd_als_half_destroy(struct pd_als *als);
/** Forgets where the start before was. */
void pd_als_half_reset(struct pd_als *als);
/** Begins or ends the time of half rows, as the iteration that comes next asks for. */
polyad_status pd_als_half_turn(struct pd_als *als);
/** Ends it for good. */
void pd_als_half_end(struct pd_als *als);

/** linalg->fetch(), with the same numbers on all members of a team: what follows from them is done
 *  by all or by none. Counts solves. */
polyad_status pd_als_fetch(struct pd_als *als, double scalar[PD_SCALARS]);
void pd_als_count_solves(struct pd_als *als, const double scalar[PD_SCALARS]);

/** Bytes on the device of a first MTTKRP that is made ahead; 0: it is not. */
uint64_t pd_als_ahead_bytes(const polyad_plan *plan, const polyad_cp_als_options *options);
polyad_status pd_als_ahead_create(struct pd_als *als);
/** Whether iteration number `iteration` takes its first MTTKRP from there. */
bool pd_als_goes_ahead(const struct pd_als *als, int iteration);
/** Where the iteration that comes next will take it: sends the scalars of the fit on their way, and
 *  then makes the product. */
polyad_status pd_als_ahead_make(struct pd_als *als);
/** Begins an iteration that takes it, and makes it where it is not there, or not of these factors.
 */
polyad_status pd_als_ahead_begin(struct pd_als *als);
/** Leaves it unused, and what its solve has counted. */
polyad_status pd_als_ahead_drop(struct pd_als *als);

/** Host copy of mode n's Gram matrix. */
static inline double *pd_als_host_gram(const struct pd_als *als, int n) {
  uint64_t rank = als->options->rank;
  return als->host_lambda + rank + (uint64_t)n * rank * rank;
}

/** The first factors of a start on the device, with weights one and Gram matrices. Forgets what the
 *  start before has counted. */
polyad_status pd_als_start(void *als, int start);
/** Puts the weights of the host model onto the device; and the whole model, without Gram matrices.
 */
polyad_status pd_als_put_weights(struct pd_als *als);
polyad_status pd_als_put_model(struct pd_als *als);
/** pd_als_take_factor() of all modes, which are new. */
polyad_status pd_als_take_factors(struct pd_als *als);
/** Brings the device's weights into als->model. */
polyad_status pd_als_download_weights(struct pd_als *als);
/** Brings the device's factors there. */
polyad_status pd_als_download(struct pd_als *als);

/** Lets a factor and its spare change places: another factor, and one of a new version even where
 *  the place had it before, for a replay changes numbers without a call. With the first change the
 *  weights, which every update makes anew, and those before. */
void pd_als_exchange(struct pd_als *als, int n);
/** Goes back to the iterate before. */
polyad_status pd_als_go_back(struct pd_als *als);

/** Relative precision of the MTTKRP times the rank, as pd_linalg::update wants it, times what falls
 *  of the fit have taught. */
double pd_als_damping(const struct pd_als *als);
/** The widest bound of a fit that its formula may have. */
double pd_als_fit_limit(const struct pd_als *als);
/** Forgets recorded iterations: what is enqueued next is other work. */
void pd_als_forget_records(struct pd_als *als);
/** What the norm of the current model is computed from. */
struct pd_norm pd_als_norm(const struct pd_als *als);
/** Computes on the device what the formula of the fit is made of, beside INNER, for each run. */
polyad_status pd_als_enqueue_fit(struct pd_als *const *als, int runs);
/** Whether the running iteration will need the residual, as the one before did, and may enqueue its
 *  sums with all else: residuals that are expected let the host wait for the device once. */
bool pd_als_expects_sums(const struct pd_als *als);
/** Enqueues them; pd_als_enqueue_fit() was what came before. */
polyad_status pd_als_enqueue_sums(struct pd_als *als);
/** Finds the slices' norms, and computes SPREAD of the current iterate on the device (see
 *  pd_linalg::spread); later updates do that themselves. */
polyad_status pd_als_enqueue_spread(struct pd_als *als);
/** The fits of the iterations that were enqueued, by the formula or, where that is too imprecise,
 *  by the residual. Runs that are several have no team. */
polyad_status pd_als_fetch_fit(struct pd_als *const *als, int runs);
/** als->fit of the current factors by the residual, without changing them. Where the device has no
 *  memory for the nonzeros `measured` is false, and the fit stays as it was. */
polyad_status pd_als_measure_fit(struct pd_als *als, bool *measured);
/** Who makes the MTTKRPs of mode n, of run k into m[k]: the run itself, or what several runs share.
 */
struct pd_als_products {
  polyad_status (*make)(void *user, int n, struct pd_matrix *const *m);
  void *user;
};
/** The update of mode n in an iteration of each of at most PD_SHARED_COLUMNS runs on one plan, all
 *  with the same modes nonnegative. */
polyad_status pd_als_update_mode(struct pd_als *const *als, int runs, int n,
                                 const struct pd_als_products *products);
/** Whether the fit fell by more than rounding explains. */
bool pd_als_fell(const struct pd_als *als);
/** The end of an iteration whose fit is known: where it fell the iteration is done again with more
 *  damping, by MTTKRPs of its own. Fills in the row. */
polyad_status pd_als_complete(struct pd_als *als, polyad_trace_row *row, double *kernel_seconds);
/** Reads the marks that are still to be read. */
polyad_status pd_als_read_marks(void *als);
/** The first MTTKRP of the iteration that comes next, and beside it the inverse of its normal
 *  equations. */
polyad_status pd_als_enqueue_first(struct pd_als *als);
/** One iteration, whether it was a breakdown, and whether it met the tolerance: see pd_method. */
polyad_status pd_als_iterate(void *als, polyad_trace_row *row, double *kernel_seconds);
polyad_status pd_als_judge(void *als, const polyad_trace_row *row, bool *breaks);
bool pd_als_converged(const void *als);
/** The numbers that iterations go on from. */
polyad_status pd_als_save(void *als, struct pd_archive *archive);

/** The cosines between the components of the device's model (R x R), from its Gram matrices. */
polyad_status pd_als_find_cosines(const struct pd_als *als, double *cosine);
/** Writes plain words about a singular or degenerate model into info->diagnosis, if there is
 *  anything to say. als->model is arranged, and component r of it is number order[r].place in
 *  `cosine`. */
polyad_status pd_als_diagnose(const struct pd_als *als, const struct pd_component *order,
                              const double *cosine, polyad_run_info *info);

#endif
