/* Plain words about a model of CP-ALS that is singular, degenerate or larger than the data
 * supports: from its weights, its rows, the cosines between its components (products over the modes
 * of the cosines between their columns), and what the run has met on its way. */
#include "algorithms/als_state.h"
#include "algorithms/model_start.h"
#include "core/threads.h"
#include <inttypes.h>
#include <math.h>

/* Weights are sorted; one that is rounding error beside the first counts as zero. */
static void report_zero_components(const struct pd_als *als, const polyad_ktensor *model,
                                   polyad_run_info *info) {
  uint64_t count = 0;
  double least = 1e-12 * pd_model_number(model, model->weights, 0);
  for (uint64_t r = 0; r < model->rank; ++r)
    count += pd_model_number(model, model->weights, r) <= least;
  if (count > 0)
    pd_run_say(info,
               "%" PRIu64 " of %" PRIu64 " components are zero: the data supports a lower rank%s.",
               count, model->rank, als->options->ridge > 0 ? ", or the ridge outweighs them" : "");
}

/* No tensor needs more components than there are fibers along its longest mode. */
static void report_rank(const struct pd_als *als, polyad_run_info *info) {
  uint64_t longest = 1, product = 1, rank = als->options->rank;
  for (int n = 0; n < als->order; ++n) {
    uint64_t length = pd_plan_length(als->plan, n);
    product = pd_mul_saturated(product, length);
    if (length > longest) longest = length;
  }
  if (product < UINT64_MAX && rank > product / longest)
    pd_run_say(info, "Rank %" PRIu64 " is more than any tensor of this size needs (%" PRIu64 ").",
               rank, product / longest);
}

static const char *precision_of(const struct pd_als *als) {
  if (als->plan->compute != POLYAD_COMPUTE_NATIVE) return "this compute type";
  return als->plan->type == POLYAD_F32 ? "float32" : "float64";
}

static void report_breakdown(const struct pd_als *als, polyad_run_info *info) {
  if (info->reason != POLYAD_REASON_BREAKDOWN) return;
  pd_run_say(
      info,
      "The fit fell to %.6g in iteration %d, more than its rounding explains, and the model is "
      "that "
      "of the iteration before: the normal equations ask for more digits than %s has; try %s.",
      als->fell_to, info->iterations + 1, precision_of(als),
      als->plan->type == POLYAD_F32 ? "float64, a lower rank or a ridge"
                                    : "a lower rank or a ridge");
}

static void report_fallbacks(const struct pd_als *als, polyad_run_info *info) {
  uint64_t damped = als->solves.damped, singular = info->regularized_solves - damped;
  if (damped > 0)
    pd_run_say(info,
               "%" PRIu64
               " normal equations had less precise right-hand sides than they need and were "
               "damped: components are nearly collinear or the rank is too large for %s.",
               damped, precision_of(als));
  if (singular > 0)
    pd_run_say(info,
               "%" PRIu64 " normal equations were singular (rank %.0f of %" PRIu64
               " in the last) and were solved in the least-norm sense: components are collinear or "
               "the rank is too large.",
               singular, als->solves.kept, als->options->rank);
}

/* Empty slices have zero rows. So may nonnegative factors and those that a ridge pulls to zero, for
 * other reasons. */
static polyad_status report_empty_slices(const struct pd_als *als, polyad_run_info *info) {
  const polyad_ktensor *model = als->model;
  for (int n = 0; n < model->order; ++n) {
    uint64_t empty = 0, own = pd_plan_own_rows(als->plan, n);
    int threads = pd_worth_threads(polyad_threads(als->context), own);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : empty)
    for (uint64_t i = 0; i < own; ++i) {
      uint64_t r = 0;
      while (r < model->rank && pd_model_number(model, model->factor[n], i * model->rank + r) == 0)
        ++r;
      empty += r == model->rank;
    }
    double all = (double)empty;
    PD_TRY(pd_team_sum(als->context, pd_plan_team(als->plan), 1, &all));
    if (all > 0)
      pd_run_say(info,
                 "%.0f of %" PRIu64 " slices of mode %d have no nonzero: their rows are zero.", all,
                 pd_plan_length(als->plan, n), pd_shown_mode(als->context, n));
  }
  return POLYAD_OK;
}

polyad_status pd_als_find_cosines(const struct pd_als *als, double *cosine) {
  uint64_t rank = als->options->rank;
  for (uint64_t k = 0; k < rank * rank; ++k)
    cosine[k] = 1;
  for (int n = 0; n < als->order; ++n) {
    double *gram = pd_als_host_gram(als, n);
    PD_TRY(pd_matrix_to_host(als->context, &als->gram[n], gram));
    for (uint64_t r = 0; r < rank; ++r)
      for (uint64_t s = 0; s < rank; ++s) {
        double norms = sqrt(gram[r * rank + r]) * sqrt(gram[s * rank + s]);
        cosine[r * rank + s] *= norms > 0 ? gram[r * rank + s] / norms : 0;
      }
  }
  return POLYAD_OK;
}

polyad_status pd_als_diagnose(const struct pd_als *als, const struct pd_component *order,
                              const double *cosine, polyad_run_info *info) {
  report_zero_components(als, als->model, info);
  report_rank(als, info);
  report_breakdown(als, info);
  report_fallbacks(als, info);
  pd_run_say_pairs(als->context, als->model->rank, order, cosine, info);
  if (als->nonnegative != 0 || als->options->ridge != 0) return POLYAD_OK;
  return report_empty_slices(als, info);
}
