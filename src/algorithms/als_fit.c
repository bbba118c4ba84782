/* The fit of CP-ALS, with a bound for its rounding error.
 *
 * With rho = ||X - M||^2 / ||X||^2 the fit is 1 - sqrt(rho). The formula
 *
 *   ||X - M||^2 = ||X||^2 + ||M||^2 - 2 <X, M>
 *
 * costs nothing: <X, M> is the inner product of the last MTTKRP with the last factor. But near an
 * exact fit the three terms cancel, and <X, M> is only as precise as that MTTKRP. So each fit comes
 * with a bound, and where the formula's is too wide the residual is summed from the nonzeros:
 *
 *   ||X - M||^2 = sum over nonzeros x of (x - m)^2 + (||M||^2 - sum over nonzeros of m^2)
 *
 * in double. Both bounds are for rounding errors that are independent (core/rounding.h), but for
 * the sums of <X, M> in double. */
#include "algorithms/als_state.h"
#include "core/rounding.h"
#include "plan/part.h"
#include <float.h>
#include <math.h>

/* What a chain of so many roundings comes to. Those of equal terms are not independent: sums of a
 * million equal numbers are off by 10^5 units. Chains in float are short, and their sum grows like
 * the root of their number; where they are so long that they cannot grow any more, and in double,
 * whose chains are of any length, all errors count as of one sign. */
static double roundings(double count, double unit) {
  return unit <= 0x1p-53 || count * unit > 0.01 ? count : sqrt(count);
}

static double type_roundoff(const struct pd_als *als) {
  return als->plan->type == POLYAD_F32 ? 0x1p-24 : 0x1p-53;
}

/* Of the products in MTTKRP. */
static double unit_roundoff(const struct pd_als *als) {
  switch (als->plan->compute) {
  case POLYAD_COMPUTE_F16:
  case POLYAD_COMPUTE_TF32:
    return 0x1p-11;
  case POLYAD_COMPUTE_BF16:
    return 0x1p-8;
  case POLYAD_COMPUTE_NATIVE:
    break;
  }
  return type_roundoff(als);
}

double pd_als_damping(const struct pd_als *als) {
  double unit = type_roundoff(als);
  if (unit <= 0x1p-53 && als->caution == 1) return 0;
  return 2 * unit * (double)als->options->rank * als->caution;
}

double pd_als_fit_limit(const struct pd_als *als) {
  return 0.1 * fmax(als->options->run.tolerance, 1e-5);
}

/* Sets fit, residual and bound from rho and a bound for its error. Rounding may leave a rho below
 * zero for an exact model: it counts as zero, and the bound covers what was cut off. */
static void set_fit(struct pd_als *als, double rho, double bound, polyad_fit_from from) {
  struct pd_als_fit *fit = &als->fit;
  fit->from = from;
  fit->residual = rho > 0 ? rho : 0;
  fit->fit = 1.0 - sqrt(fit->residual);
  fit->bound = pd_root_bound(rho, fmax(bound, -rho)) + DBL_EPSILON;
  /* Factors that are kept rounded are not what the update has found. */
  if (als->plan->compute != POLYAD_COMPUTE_NATIVE)
    fit->bound += als->order * unit_roundoff(als) * fit->norms / sqrt(als->norm_squared);
}

/* Most additions one after another in a sum over nonzeros in double: of blocks in parts, and of the
 * parts (tensor/tensor_norm.c, linalg/cpu_residual.c; of a GPU, 2^14 groups of threads). The
 * members of a team, which decide alike, all have those of the largest part. */
static double additions(const struct pd_als *als) {
  const struct pd_part *part = als->plan->part;
  return 1024 + (double)(part != NULL ? part->most_nnz : als->plan->nnz) / (1 << 14);
}

/* Error of ||X||^2 and ||M||^2 in double, over ||X||^2: Gram matrices are sums over rows, and the
 * components' products cancel where the model's norm is less than the sum of theirs. */
static double norms_bound(const struct pd_als *als, const struct pd_als_fit *fit) {
  uint64_t longest = 1;
  for (int n = 0; n < als->order; ++n)
    if (pd_plan_length(als->plan, n) > longest) longest = pd_plan_length(als->plan, n);
  double count = (double)als->order * (double)longest + 2 * (double)als->options->rank;
  double gram = PD_DEVIATIONS * sqrt(count) * fit->norms * fit->norms / als->norm_squared;
  return 0x1p-53 * (gram + roundings(additions(als), 0x1p-53));
}

/* Error of 2 <X, M> over ||X||^2. Entry (i, r) of the MTTKRP is a sum of products, each rounded
 * once for every factor and every addition: its error counts times the entry of the last factor and
 * its weight. `spread` is the sum of the squares of what these errors are relative to. What tensors
 * with many equal entries round in the same way everywhere is not independent: that part counts in
 * full. */
static double inner_bound(const struct pd_als *als, double inner, double spread) {
  double unit = unit_roundoff(als);
  double additions = als->sum_depth + als->order;
  /* In double the sum over rows counts like those in them; beside float it is exact. */
  if (unit <= 0x1p-53) additions += (double)pd_plan_length(als->plan, als->order - 1);
  return 2 * unit * roundings(additions, unit) * (PD_DEVIATIONS * sqrt(spread) + fabs(inner)) /
         als->norm_squared;
}

/* No entry of a column of the last factor is larger than its peak. */
static double spread_at_most(const struct pd_als *als) {
  return als->norm_squared * als->fit.peaks;
}

static polyad_status check_finite(const struct pd_als *als, double number) {
  if (isfinite(number)) return POLYAD_OK;
  return pd_fail(als->context, POLYAD_NUMERICAL,
                 "iteration %d overflows; scale the values or ask for a lower rank",
                 als->run.iteration + 1);
}

/* Whether the device has the nonzeros a piece at a time. */
static bool in_pieces(const struct pd_als *als) {
  return als->linalg->residual_reads_list && pd_plan_piece(als->plan) < als->plan->nnz;
}

/* A list on the device is made once; where that is what linalg reads nobody needs the nonzeros
 * otherwise. */
static polyad_status open_nonzeros(struct pd_als *als, struct pd_plan_nonzeros *nonzeros) {
  bool reads_list = als->linalg->residual_reads_list;
  *nonzeros = (struct pd_plan_nonzeros){.all = pd_plan_shape(als->plan)};
  if (reads_list && als->list != NULL && !in_pieces(als)) return POLYAD_OK;
  PD_TRY(pd_plan_nonzeros_open(als->context, als->plan, nonzeros));
  if (!reads_list || in_pieces(als)) return POLYAD_OK;
  polyad_status status = pd_list_create(als->context, als->device, &nonzeros->all, &als->list);
  pd_plan_nonzeros_close(als->context, als->plan, nonzeros);
  return status;
}

/* Whether something has rounded the factors since their Gram matrices were made: then the model's
 * norm needs others, of the factors as they are stored. */
static bool rounded_since(const struct pd_als *als) {
  return pd_als_rounds(als) || pd_als_scaling(als) != PD_SCALE_AS_BEFORE;
}

/* Sums over one piece after the other, in a list whose memory the workspace lends. A piece has
 * nonzeros of one chunk alone, which are decoded while the device sums over those before. */
static polyad_status als_fit_sum_pieces(struct pd_als *als, const struct pd_nonzeros *nonzeros,
                                        const struct pd_matrix *const *factors) {
  uint64_t piece = pd_plan_piece(als->plan), bytes, count;
  void *memory = pd_workspace_lend(als->workspace, &bytes);
  if (als->list == NULL)
    PD_TRY(pd_list_create_within(als->context, als->device, nonzeros, piece, memory, bytes,
                                 &als->list));
  for (uint64_t first = 0; first < nonzeros->nnz; first += count) {
    uint64_t end = (first / piece + 1) * piece;
    struct pd_nonzeros_window window = {nonzeros, first};
    count = (end < nonzeros->nnz ? end : nonzeros->nnz) - first;
    if (count > als->list->room) count = als->list->room;
    struct pd_nonzeros some = pd_nonzeros_some(&window, count);
    PD_TRY(pd_list_refill(als->context, als->list, &some));
    als->list->goes_on = first > 0;
    PD_TRY(als->linalg->residual(als->context, als->work, &some, als->list, factors, &als->lambda));
  }
  PD_TRY(als->device->functions->synchronize(als->context, als->device));
  return pd_nonzeros_check(als->context, nonzeros);
}

/* The model's values at the nonzeros, and their distance from these. */
static polyad_status sum_opened(struct pd_als *als, const struct pd_nonzeros *nonzeros) {
  const struct pd_linalg *linalg = als->linalg;
  const struct pd_matrix *factors[POLYAD_MAX_ORDER];
  for (int n = 0; n < als->order; ++n) {
    struct pd_matrix own = pd_plan_own(als->plan, n, &als->factor[n]);
    factors[n] = &als->factor[n];
    if (rounded_since(als))
      PD_TRY(linalg->gram(als->context, als->work, &own, &als->gram[n], &als->peak[n]));
  }
  if (rounded_since(als)) PD_TRY(pd_als_enqueue_fit(&als, 1));
  if (in_pieces(als)) return als_fit_sum_pieces(als, nonzeros, factors);
  return linalg->residual(als->context, als->work, nonzeros, als->list, factors, &als->lambda);
}

/* Whether a fit goes on without what there was no memory for. All members of a team would have to:
 * there it is an error. */
static bool may_do_without(const struct pd_als *als, polyad_status status) {
  return pd_plan_team(als->plan) == NULL &&
         (status == POLYAD_OUT_OF_MEMORY || status == POLYAD_MEMORY_LIMIT);
}

/* Enqueues the sums of the residual; where there is no memory for the nonzeros `summed` is false.
 */
static polyad_status als_fit_sum_residual(struct pd_als *als, bool *summed) {
  struct pd_plan_nonzeros nonzeros;
  polyad_status status = open_nonzeros(als, &nonzeros);
  if (status == POLYAD_OK) {
    status = sum_opened(als, &nonzeros.all);
    pd_plan_nonzeros_close(als->context, als->plan, &nonzeros);
  }
  *summed = status == POLYAD_OK;
  if (!may_do_without(als, status)) return status;
  pd_log(als->context, POLYAD_LOG_INFO, "the fit keeps its rounding error of up to %.1g: %s",
         als->fit.bound, polyad_last_error(als->context));
  pd_begin(als->context);
  return POLYAD_OK;
}

/* What model_norm() has found of the components. */
static void take_norms(struct pd_als *als, const double scalar[PD_SCALARS]) {
  als->fit.norms = scalar[PD_SCALAR_NORMS];
  als->fit.peaks = scalar[PD_SCALAR_PEAKS];
  als->fit.clipped = scalar[PD_SCALAR_CLIPPED];
}

/* Sets the fit by the residual, from its sums. */
static polyad_status set_measured(struct pd_als *als, const double scalar[PD_SCALARS]) {
  take_norms(als, scalar);
  double rest = scalar[PD_SCALAR_MODEL] - scalar[PD_SCALAR_COVERED];
  double rho = (scalar[PD_SCALAR_RESIDUAL] + rest) / als->norm_squared;
  PD_TRY(check_finite(als, rho));
  double count = (double)als->options->rank + als->order;
  double sums = fabs(scalar[PD_SCALAR_RESIDUAL]) + fabs(scalar[PD_SCALAR_COVERED]);
  double bound = norms_bound(als, &als->fit) +
                 0x1p-53 * roundings(additions(als), 0x1p-53) * sums / als->norm_squared +
                 PD_DEVIATIONS * 0x1p-53 * sqrt(count) * als->fit.norms *
                     (als->fit.norms + 2 * sqrt(als->norm_squared)) / als->norm_squared;
  set_fit(als, rho, bound, POLYAD_FIT_RESIDUAL);
  return POLYAD_OK;
}

polyad_status pd_als_measure_fit(struct pd_als *als, bool *measured) {
  double scalar[PD_SCALARS];
  PD_TRY(als_fit_sum_residual(als, measured));
  if (!*measured) return POLYAD_OK;
  PD_TRY(pd_als_fetch(als, scalar));
  return set_measured(als, scalar);
}

struct pd_norm pd_als_norm(const struct pd_als *als) {
  return (struct pd_norm){.work = als->work,
                          .count = als->order,
                          .grams = als->gram_list,
                          .peak = &als->peak[als->order - 1],
                          .lambda = &als->lambda,
                          .spreads = als->slices.data != NULL,
                          .sums_follow = als->sums};
}

polyad_status pd_als_enqueue_fit(struct pd_als *const *als, int runs) {
  struct pd_norm norms[PD_SHARED_COLUMNS];
  if (runs < 1) return POLYAD_OK;
  for (int k = 0; k < runs; ++k)
    norms[k] = pd_als_norm(als[k]);
  PD_TRY(als[0]->linalg->model_norm(als[0]->context, runs, norms));
  for (int k = 0; k < runs; ++k)
    if (pd_als_rounds(als[k])) PD_TRY(pd_als_take_factor(als[k], als[k]->order - 1));
  return POLYAD_OK;
}

/* Sets the formula's fit. Its bound for the inner product follows from `spread`. */
static void set_formula(struct pd_als *als, const double scalar[PD_SCALARS], double spread) {
  double rho = (als->norm_squared + scalar[PD_SCALAR_MODEL] - 2.0 * scalar[PD_SCALAR_INNER]) /
               als->norm_squared;
  double bound = norms_bound(als, &als->fit) + inner_bound(als, scalar[PD_SCALAR_INNER], spread);
  set_fit(als, rho, bound, POLYAD_FIT_FORMULA);
  /* The formula's model is the one before scaling, which rounds unless it is by powers of two. */
  if (pd_als_scaling(als) != PD_SCALE_AS_BEFORE)
    als->fit.bound += als->order * type_roundoff(als) * als->fit.norms / sqrt(als->norm_squared);
}

/* Where the formula's bound is too wide with the most that SPREAD can be, SPREAD is computed: the
 * first time by a pass over one factor, from then on by every update. Without memory for it the
 * bound stays. */
static polyad_status tighten(struct pd_als *als, const double found[PD_SCALARS]) {
  struct pd_als_fit wide = als->fit;
  double scalar[PD_SCALARS];
  set_formula(als, found, 0);
  bool useful = als->fit.bound <= pd_als_fit_limit(als);
  als->fit = wide;
  if (!useful) return POLYAD_OK;
  if (als->slices.data != NULL) {
    set_formula(als, found, found[PD_SCALAR_SPREAD]);
    return POLYAD_OK;
  }
  polyad_status status = pd_als_enqueue_spread(als);
  if (may_do_without(als, status)) {
    pd_begin(als->context);
    return POLYAD_OK;
  }
  PD_TRY(status);
  PD_TRY(pd_als_fetch(als, scalar));
  set_formula(als, found, scalar[PD_SCALAR_SPREAD]);
  return POLYAD_OK;
}

/* als->fit from scalars; `summed`: those of the residual are among them. */
static polyad_status take_fit(struct pd_als *als, const double scalar[PD_SCALARS], bool summed) {
  PD_TRY(check_finite(als, scalar[PD_SCALAR_MODEL] - 2.0 * scalar[PD_SCALAR_INNER]));
  take_norms(als, scalar);
  set_formula(als, scalar, spread_at_most(als));
  if (als->fit.bound > pd_als_fit_limit(als)) PD_TRY(tighten(als, scalar));
  if (als->fit.bound <= pd_als_fit_limit(als)) return POLYAD_OK;
  if (summed) return set_measured(als, scalar);
  bool measured; /* else the formula's fit stays, with its bound */
  return pd_als_measure_fit(als, &measured);
}

/* Where the iteration before needed the residual this one will. */
static bool expects_residual(const struct pd_als *als) {
  return als->run.iteration > als->run.first_iteration && als->fit.from == POLYAD_FIT_RESIDUAL &&
         !rounded_since(als);
}

/* The list is there since the iteration before. Members of a team add up their sums between. */
bool pd_als_expects_sums(const struct pd_als *als) {
  return expects_residual(als) && als->linalg->residual_reads_list && als->list != NULL &&
         !in_pieces(als) && pd_plan_team(als->plan) == NULL;
}

polyad_status pd_als_enqueue_sums(struct pd_als *als) {
  struct pd_nonzeros shape = pd_plan_shape(als->plan);
  return sum_opened(als, &shape);
}

/* Residuals that are expected are summed at once, so that the host waits for the device once and
 * not twice. */
polyad_status pd_als_fetch_fit(struct pd_als *const *als, int runs) {
  double scalar[PD_SHARED_COLUMNS][PD_SCALARS];
  struct pd_linalg_work *work[PD_SHARED_COLUMNS];
  bool summed[PD_SHARED_COLUMNS];
  if (runs < 1) return POLYAD_OK;
  for (int k = 0; k < runs; ++k) {
    work[k] = als[k]->work;
    summed[k] = als[k]->sums;
    als[k]->sums = false;
    if (!summed[k] && expects_residual(als[k])) PD_TRY(als_fit_sum_residual(als[k], &summed[k]));
  }
  if (runs == 1) {
    PD_TRY(pd_als_ahead_make(als[0]));
    PD_TRY(pd_als_fetch(als[0], scalar[0]));
  } else {
    PD_TRY(als[0]->linalg->fetch(als[0]->context, runs, work, scalar));
    for (int k = 0; k < runs; ++k)
      pd_als_count_solves(als[k], scalar[k]);
  }
  for (int k = 0; k < runs; ++k)
    PD_TRY(take_fit(als[k], scalar[k], summed[k]));
  return POLYAD_OK;
}
