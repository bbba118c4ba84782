/* The iterations of CP-ALS, written once for every format and device. Every mode in turn gets the
 * factor that fits the tensor best while the others stay: A = M V^-1, M the MTTKRP with the others
 * and V the elementwise product of their Gram matrices (Kolda and Bader 2009, figure 3.3), or one
 * sweep of nonnegative updates of its columns (HALS). Then the fit is computed. An iteration after
 * which it fell, beyond rounding, is taken back and done again with damped updates. */
#include "algorithms/als_state.h"
#include <math.h>

/* The buffer of the MTTKRP, as long as mode n. */
static struct pd_matrix mttkrp_buffer(const struct pd_als *als, int n) {
  struct pd_matrix m = als->m;
  m.rows = als->plan->dims[n];
  return m;
}

/* Scales the first guess to the tensor: weights alpha = <X, M> / <M, M>, with m the first MTTKRP.
 * A guess that overshoots would have all columns but the last clipped to zero for good. */
static polyad_status scale_guess(struct pd_als *als, const struct pd_matrix *m) {
  double scalar[PD_SCALARS];
  struct pd_matrix own_m = pd_plan_own(als->plan, 0, m);
  struct pd_matrix own = pd_plan_own(als->plan, 0, &als->factor[0]);
  PD_TRY(als->linalg->weighted_inner(als->context, als->work, &own_m, &own, &als->lambda));
  struct pd_norm norm = pd_als_norm(als);
  norm.spreads = false;
  PD_TRY(als->linalg->model_norm(als->context, 1, &norm));
  PD_TRY(pd_als_fetch(als, scalar));
  double alpha = scalar[PD_SCALAR_INNER] / scalar[PD_SCALAR_MODEL];
  if (!(alpha > 0 && isfinite(alpha))) return POLYAD_OK;
  for (uint64_t r = 0; r < als->options->rank; ++r)
    als->host_lambda[r] = alpha;
  return pd_matrix_from_host(als->context, &als->lambda, als->host_lambda);
}

/* The MTTKRP of one run between two marks of the device, or two readings of the host's clock. */
struct timed {
  struct pd_als *als;
  double *seconds; /* by modes */
  int first_mark;
};

static polyad_status timed_mttkrp(void *user, int n, struct pd_matrix *const *m) {
  const struct timed *timed = user;
  const struct pd_als *als = timed->als;
  polyad_context *context = als->context;
  const struct pd_device_functions *device = als->device->functions;
  bool scales = n == 0 && als->run.iteration == 0 && pd_nonnegative_in(als->nonnegative, n);
  /* The guess that is scaled for HALS reads all rows. */
  bool leaves =
      als->options->rank <= als->linalg->unused_rank && !scales && pd_plan_team(als->plan) == NULL;
  const struct pd_call call = {.op = PD_MTTKRP,
                               .mode = n,
                               .factors = als->factor_list,
                               .out = m[0],
                               .leaves_unused = leaves};
  double begin = pd_seconds();
  int mark = timed->first_mark + 2 * n;
  if (device->mark != NULL) PD_TRY(device->mark(context, als->device, mark));
  PD_TRY(pd_plan_run(context, als->plan, als->workspace, &call));
  if (device->mark != NULL) return device->mark(context, als->device, mark + 1);
  timed->seconds[n] = pd_seconds() - begin;
  return POLYAD_OK;
}

enum pd_scaling pd_als_scaling(const struct pd_als *als) {
  return als->run.iteration == 0 ? PD_SCALE_NORM_2 : PD_SCALE_AS_BEFORE;
}

/* The rows of matrices that an update reads and makes. */
struct operands {
  struct pd_matrix before, x, m, own_m;
};

/* The update of mode n's factor into its spare. That of the first mode leaves the weights before as
 * they are. HALS goes on from the factor as it is; else the first guess is no model yet, which no
 * update holds on to. */
static struct pd_update update_of(struct pd_als *als, int n, struct operands *of) {
  bool nonnegative = pd_nonnegative_in(als->nonnegative, n);
  bool slices = n == als->order - 1 && als->slices.data != NULL;
  bool there = n == 0 && als->takes_first;
  of->before = pd_plan_own(als->plan, n, &als->factor[n]);
  of->x = pd_plan_own(als->plan, n, &als->spare[n]);
  if (nonnegative) {
    of->m = mttkrp_buffer(als, n);
    of->own_m = pd_plan_own(als->plan, n, &of->m);
  }
  return (struct pd_update){.work = als->work,
                            .grams = als->gram_list,
                            .count = als->order,
                            .skip = n,
                            .ridge = als->options->ridge,
                            .v = &als->v,
                            .prepared = true,
                            .sweeps = nonnegative,
                            .damping = pd_als_damping(als),
                            .before = nonnegative || als->run.iteration > 0 ? &of->before : NULL,
                            .weights = &als->lambda,
                            .m = there         ? &als->first
                                 : nonnegative ? &of->own_m
                                               : NULL,
                            .slices = slices ? &als->slices : NULL,
                            .scaling = pd_als_scaling(als),
                            .x = &of->x,
                            .lambda = n == 0 ? &als->lambda_before : &als->lambda,
                            .gram = &als->gram[n],
                            .peak = &als->peak[n]};
}

polyad_status pd_als_update_mode(struct pd_als *const *als, int runs, int n,
                                 const struct pd_als_products *products) {
  polyad_context *context = als[0]->context;
  const struct pd_linalg *linalg = als[0]->linalg;
  bool nonnegative = pd_nonnegative_in(als[0]->nonnegative, n);
  struct operands operands[PD_SHARED_COLUMNS];
  struct pd_update update[PD_SHARED_COLUMNS];
  struct pd_matrix *m[PD_SHARED_COLUMNS];
  for (int k = 0; k < runs; ++k) {
    update[k] = update_of(als[k], n, &operands[k]);
    m[k] = nonnegative ? &operands[k].m : &als[k]->spare[n];
  }
  bool there = n == 0 && als[0]->takes_first;
  if (!there) PD_TRY(linalg->prepare(context, runs, update));
  if (!there) PD_TRY(products->make(products->user, n, m));
  for (int k = 0; k < runs; ++k) {
    operands[k].x.used = als[k]->spare[n].used;
    operands[k].own_m.used = m[k]->used;
  }
  for (int k = 0; k < runs && nonnegative && n == 0; ++k)
    if (als[k]->run.iteration == 0) PD_TRY(scale_guess(als[k], m[k]));
  PD_TRY(nonnegative ? linalg->update_rows_nonnegative(context, runs, update)
                     : linalg->update_rows(context, runs, update));
  PD_TRY(linalg->update_finish(context, runs, update));
  for (int k = 0; k < runs; ++k) {
    als[k]->spare[n].used = NULL;
    PD_TRY(pd_plan_spread(context, als[k]->plan, als[k]->workspace, n, &als[k]->spare[n]));
    pd_als_exchange(als[k], n);
  }
  return POLYAD_OK;
}

/* The number of an iteration's first mark: iterations have two sets of marks in turn, as they have
 * two ways in which factors and spares lie. */
static int first_mark(const struct pd_als *als, int exchanges) {
  return exchanges % 2 * 2 * als->order;
}

polyad_status pd_als_enqueue_first(struct pd_als *als) {
  struct operands operands;
  struct pd_matrix *m = &als->first;
  struct pd_update update = update_of(als, 0, &operands);
  struct timed timed = {als, NULL, first_mark(als, als->exchanges)}; /* by marks alone */
  /* In this order: an inverse that is started first takes the room of blocks of the MTTKRP. */
  PD_TRY(timed_mttkrp(&timed, 0, &m));
  PD_TRY(als->linalg->prepare(als->context, 1, &update));
  return als->linalg->rejoin(als->context, als->work);
}

static polyad_status als_iterate_enqueue(struct pd_als *als, double *seconds) {
  struct timed timed = {als, seconds, first_mark(als, als->exchanges - 1)};
  const struct pd_als_products own = {timed_mttkrp, &timed};
  for (int n = 0; n < als->order; ++n) {
    PD_TRY(pd_als_update_mode(&als, 1, n, &own));
    if (pd_als_rounds(als) && n < als->order - 1) PD_TRY(pd_als_take_factor(als, n));
  }
  PD_TRY(pd_als_enqueue_fit(&als, 1));
  return als->sums ? pd_als_enqueue_sums(als) : POLYAD_OK;
}

/* Tensors whose kernels are so short that starting them one by one takes as long. Recording itself
 * takes as long as a few iterations do. */
static const uint64_t recorded_nonzeros = UINT64_C(1) << 22;

/* All iterations but the first of a start enqueue the same work, on factors and spares that change
 * places: it may be recorded once for each way in which they lie. Members of a team meet between
 * their kernels, which no record could hold. */
static bool may_record(const struct pd_als *als) {
  return als->device->functions->record_begin != NULL &&
         als->run.iteration > als->run.first_iteration + 1 && als->plan->nnz <= recorded_nonzeros &&
         pd_plan_team(als->plan) == NULL;
}

static polyad_status record_iteration(struct pd_als *als, double *seconds,
                                      struct pd_als_record *record) {
  const struct pd_device_functions *device = als->device->functions;
  const struct polyad_kernels *kernels = als->plan->kernels;
  PD_TRY(device->record_begin(als->context, als->device));
  polyad_status status = als_iterate_enqueue(als, seconds);
  bool keep = status == POLYAD_OK;
  polyad_status ended = device->record_end(als->context, als->device, keep, &record->iteration);
  if (kernels->kept != NULL)
    record->kept = kernels->kept(als->plan->on_device, als->workspace->scratch, als->factor_list);
  return keep ? ended : status;
}

/* What a replay changes without a call. */
static void note_replay(struct pd_als *als, const struct pd_als_record *record) {
  const struct polyad_kernels *kernels = als->plan->kernels;
  for (int n = 0; n < als->order; ++n)
    pd_als_exchange(als, n);
  if (kernels->keep != NULL)
    kernels->keep(als->plan->on_device, als->workspace->scratch, als->factor_list, record->kept);
}

/* Whether the iteration before left the workspace as it found it. */
static bool repeats(struct pd_als *als) {
  const struct polyad_kernels *kernels = als->plan->kernels;
  uint64_t position = kernels->position == NULL ? 0 : kernels->position(als->workspace->scratch);
  bool same = position == als->position;
  als->position = position;
  if (!same) pd_als_forget_records(als);
  return same;
}

static polyad_status run_iteration(struct pd_als *als, double *seconds) {
  als->sums = pd_als_expects_sums(als);
  bool records = repeats(als) && may_record(als);
  als->takes_first = pd_als_goes_ahead(als, als->run.iteration);
  if (als->takes_first) PD_TRY(pd_als_ahead_begin(als));
  struct pd_als_record *record = &als->record[als->sums][als->exchanges++ % 2];
  if (!records) return als_iterate_enqueue(als, seconds);
  if (record->iteration == NULL)
    PD_TRY(record_iteration(als, seconds, record));
  else
    note_replay(als, record);
  return als->device->functions->replay(als->context, als->device, record->iteration);
}

polyad_status pd_als_read_marks(void *state) {
  struct pd_als *als = state;
  if (!als->unread) return POLYAD_OK;
  als->unread = false;
  double *seconds = als->run.kernel_seconds + (size_t)als->marked * (size_t)als->order;
  for (int n = 0; n < als->order; ++n) {
    int mark = als->first_mark + 2 * n;
    PD_TRY(als->device->functions->between(als->context, als->device, mark, mark + 1, &seconds[n]));
  }
  return POLYAD_OK;
}

static void note_marks(struct pd_als *als) {
  als->marked = als->run.iteration;
  als->first_mark = first_mark(als, als->exchanges - 1);
  als->unread = als->device->functions->mark != NULL;
}

/* Updates every factor once (Kolda and Bader 2009, figure 3.3) and computes the fit. */
static polyad_status als_iterate_update_all(struct pd_als *als, double *seconds) {
  if (als->nonnegative != 0 && als->run.iteration > 0) PD_TRY(pd_als_revive(als));
  PD_TRY(run_iteration(als, seconds));
  PD_TRY(pd_als_read_marks(als));
  note_marks(als);
  return pd_als_fetch_fit(&als, 1);
}

/* In exact arithmetic no iteration raises the residual, unless a ridge pulls. */
bool pd_als_fell(const struct pd_als *als) {
  if (als->run.iteration == 0 || als->options->ridge > 0) return false;
  const polyad_trace_row *before = &als->run.trace[als->run.iteration - 1];
  return before->fit - als->fit.fit > before->fit_bound + als->fit.bound;
}

/* After this many times the damping that rounding asks for, a fall is a breakdown. */
static const double most_caution = 1e4;

/* An iteration after which the fit fell is done once more with more damping, which takes smaller
 * steps where the right-hand sides know little. HALS solves no equations that could be damped:
 * where all modes are nonnegative there is nothing to do. */
static polyad_status take_care(struct pd_als *als, double *seconds) {
  bool solves = !pd_nonnegative_everywhere(als->nonnegative, als->order);
  while (solves && pd_als_fell(als) && als->caution < most_caution) {
    PD_TRY(pd_als_go_back(als));
    if (als->halving) /* first of all without what rounds them */
      pd_als_half_end(als);
    else
      als->caution *= 100;
    pd_als_forget_records(als);
    PD_TRY(als_iterate_update_all(als, seconds));
    PD_TRY(pd_als_read_marks(als)); /* runs side by side do not come to where others read them */
  }
  return POLYAD_OK;
}

polyad_status pd_als_complete(struct pd_als *als, polyad_trace_row *row, double *kernel_seconds) {
  PD_TRY(take_care(als, kernel_seconds));
  row->fit = als->fit.fit;
  row->residual = als->fit.residual;
  row->fit_bound = als->fit.bound;
  row->fit_from = als->fit.from;
  row->half_rows = als->halving;
  return POLYAD_OK;
}

polyad_status pd_als_iterate(void *state, polyad_trace_row *row, double *kernel_seconds) {
  struct pd_als *als = state;
  PD_TRY(pd_als_half_turn(als));
  PD_TRY(als_iterate_update_all(als, kernel_seconds));
  return pd_als_complete(als, row, kernel_seconds);
}

/* Goes back to the iterate before, if the fit fell. */
polyad_status pd_als_judge(void *state, const polyad_trace_row *row, bool *breaks) {
  struct pd_als *als = state;
  *breaks = pd_als_fell(als);
  if (!*breaks) return POLYAD_OK;
  const polyad_trace_row *before = &als->run.trace[als->run.iteration - 1];
  als->fell_to = row->fit;
  als->fit.fit = before->fit;
  als->fit.residual = before->residual;
  als->fit.bound = before->fit_bound;
  als->fit.from = before->fit_from;
  pd_log(als->context, POLYAD_LOG_WARNING,
         "the fit fell from %.6g to %.6g in iteration %d, more than rounding of the fit explains: "
         "the model is that of iteration %d",
         als->fit.fit, als->fell_to, als->run.iteration + 1, als->run.iteration);
  return pd_als_go_back(als);
}

/* With a ridge the fit may fall to its limit; else a fall is no convergence. Below zero the model
 * is worse than none. */
bool pd_als_converged(const void *state) {
  const struct pd_als *als = state;
  double tolerance = als->options->run.tolerance, change = als->run.change;
  if (als->halving || als->was_halving) return false;
  if (tolerance <= 0 || isnan(change)) return false; /* it is at first */
  if (als->options->ridge > 0) return fabs(change) < tolerance;
  return als->fit.fit >= 0 && change >= 0 && change < tolerance;
}
