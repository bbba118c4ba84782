/* Tucker decomposition by higher-order orthogonal iteration: orthonormal factors, and the core that
 * joins their columns, whose model is as near to the tensor as ranks allow (tucker_iterate.c). This
 * file has what lies around the iterations: options, ranks from a share of the norm
 * (rank_search.c), and what the result is said to lack. */
#include "algorithms/rank_search.h"
#include "algorithms/run_options.h"
#include "algorithms/tucker_state.h"
#include <math.h>
#include <string.h>

void polyad_tucker_options_init(polyad_tucker_options *options) {
  *options = (polyad_tucker_options){
      .run = pd_run_options_default(50), .init = POLYAD_INIT_HOSVD, .svd = POLYAD_SVD_EXACT};
}

static polyad_status check_tensor(polyad_context *context, const polyad_plan *plan) {
  if (plan->nnz == 0 || !(plan->norm_square_scaled > 0))
    return pd_fail(context, POLYAD_NUMERICAL,
                   "the tensor has no nonzero: its fit is undefined; expected at least one");
  return POLYAD_OK;
}

static polyad_status tucker_check_options(polyad_context *context, const polyad_plan *plan,
                                          const polyad_tucker_options *options) {
  PD_EXPECT(context, options->energy >= 0 && options->energy <= 1,
            "energy %g found; expected a share above 0 and at most 1, or 0", options->energy);
  PD_EXPECT(
      context,
      !(options->energy > 0) ||
          (options->init == POLYAD_INIT_HOSVD && options->svd == POLYAD_SVD_EXACT),
      "energy %g needs the first factors that come with its ranks, and exact singular vectors, "
      "which keep it",
      options->energy);
  for (int n = 0; n < plan->order && !(options->energy > 0); ++n)
    PD_EXPECT(context, options->ranks[n] >= 1 && options->ranks[n] <= plan->dims[n],
              "rank %llu of mode %d found; expected 1 to %llu, the mode's length",
              (unsigned long long)options->ranks[n], pd_shown_mode(context, n),
              (unsigned long long)plan->dims[n]);
  PD_EXPECT(context,
            options->init == POLYAD_INIT_RANDOM || options->init == POLYAD_INIT_HOSVD ||
                options->init == POLYAD_INIT_MODEL,
            "initialisation %d is unknown", (int)options->init);
  PD_EXPECT(context, options->svd == POLYAD_SVD_EXACT || options->svd == POLYAD_SVD_RANDOMIZED,
            "way %d to find singular vectors is unknown", (int)options->svd);
  PD_EXPECT(context, !options->run.keep_starts,
            "models of all starts are kept of CP decompositions only");
  PD_EXPECT(context,
            options->run.max_iterations != 0 ||
                (options->init == POLYAD_INIT_HOSVD && options->run.starts == 1),
            "0 iterations found; expected at least 1 from first factors other than the HOSVD's, "
            "which need not be orthonormal");
  PD_TRY(pd_run_options_check(context, &options->run, 0));
  return check_tensor(context, plan);
}

/* ---- the method --------------------------------------------------------------------------- */

static double tucker_score(const void *state) {
  const struct pd_tucker *t = state;
  return t->fit;
}

static void diagnose_ranks(const struct pd_tucker *t, polyad_run_info *info) {
  for (int n = 0; n < t->order; ++n)
    if (t->options->ranks[n] > t->columns[n]) {
      pd_run_say(info,
                 "Rank %llu of mode %d is more than the product of the other ranks, %llu: further "
                 "columns add nothing.",
                 (unsigned long long)t->options->ranks[n], pd_shown_mode(t->context, n),
                 (unsigned long long)t->columns[n]);
      return;
    }
}

static polyad_status tucker_finish(void *state, polyad_run_info *info) {
  struct pd_tucker *t = state;
  double energy = t->options->energy, rounded;
  PD_TRY(pd_tucker_finish_model(t, &rounded));
  if (info->trace_rows == 0) {
    info->fit = t->fit;
    info->fit_bound = t->fit_error;
    info->fit_from = t->fit_from;
  }
  info->fit_bound += rounded / sqrt(t->norm_squared); /* factors are orthonormal */
  diagnose_ranks(t, info);
  if (t->hosvd.mode >= 0)
    pd_run_say(info,
               "The first factor of mode %d is no exact HOSVD: its residual was %.1e after %d "
               "products.",
               pd_shown_mode(t->context, t->hosvd.mode), t->hosvd.residual, PD_HOSVD_PRODUCTS);
  if (t->no_sum)
    pd_run_say(info,
               "The fit may be wrong by %.1e: there is no room to sum the residual of the "
               "nonzeros.",
               t->fit_error);
  if (1 - t->residual < energy - t->share_error)
    pd_run_say(info,
               "The model keeps %.6f of the squared norm, less than the %g asked for: products in "
               "a narrower type lose it.",
               1 - t->residual, energy);
  return POLYAD_OK;
}

const struct pd_method pd_tucker_method = {.name = "tucker",
                                           .objective = "fit",
                                           .start = pd_tucker_start,
                                           .guess = pd_tucker_guess,
                                           .iterate = pd_tucker_iterate,
                                           .converged = pd_tucker_converged,
                                           .score = tucker_score,
                                           .save = pd_tucker_save,
                                           .finish = tucker_finish};

/* ---- ranks from a share of the norm --------------------------------------------------------- */

struct room {
  polyad_context *context;
  const polyad_plan *plan;
  uint64_t bytes;
};

static bool fits(const void *user, const uint64_t *ranks) {
  const struct room *room = user;
  return pd_tucker_bytes(room->context, room->plan, ranks, PD_SVD_EXACT) <= room->bytes;
}

static polyad_status find_ranks(polyad_context *context, const polyad_plan *plan, double energy,
                                double deadline, struct pd_rank_search *found) {
  uint64_t used = polyad_memory_in_use(context), limit = polyad_memory_limit(context);
  struct room room = {context, plan, limit > used ? limit - used : 0};
  return pd_rank_search(context, plan, energy, deadline, fits, &room, found);
}

/* ---- entry points --------------------------------------------------------------------------- */

static polyad_status tucker_decompose(polyad_context *context, const polyad_plan *plan,
                                      const polyad_tucker_options *options, polyad_ttensor **model,
                                      polyad_run_info *info) {
  double started = pd_seconds();
  polyad_tucker_options own = *options;
  struct pd_rank_search found = {.share = 0};
  struct pd_tucker *t = NULL;
  polyad_status status = POLYAD_OK;
  if (options->energy > 0) {
    double deadline = options->run.max_seconds > 0 ? started + options->run.max_seconds : INFINITY;
    PD_TRY_CLEANUP(find_ranks(context, plan, options->energy, deadline, &found));
    memcpy(own.ranks, found.ranks, sizeof own.ranks);
  }
  PD_TRY_CLEANUP(pd_tucker_create(context, plan, &own, started, &t));
  t->found = options->energy > 0 ? &found : NULL;
  PD_TRY_CLEANUP(pd_run_execute(&t->run, info));
  *model = t->model;
  t->model = NULL;
cleanup:
  pd_tucker_destroy(t);
  pd_rank_search_clear(context, &found);
  return status;
}

polyad_status polyad_tucker(polyad_context *context, const polyad_plan *plan,
                            const polyad_tucker_options *options, polyad_ttensor **model,
                            polyad_run_info *info) {
  PD_ENTER(context);
  if (model != NULL) *model = NULL;
  PD_EXPECT(context, plan != NULL && options != NULL && model != NULL,
            "plan, options or model is NULL");
  PD_TRY(tucker_check_options(context, plan, options));
  return tucker_decompose(context, plan, options, model, info);
}

polyad_status polyad_tucker_ranks(polyad_context *context, const polyad_plan *plan, double energy,
                                  uint64_t *ranks) {
  PD_ENTER(context);
  PD_EXPECT(context, plan != NULL && ranks != NULL, "plan or ranks is NULL");
  PD_EXPECT(context, energy > 0 && energy <= 1,
            "energy %g found; expected a share above 0 and at most 1", energy);
  PD_TRY(check_tensor(context, plan));
  struct pd_rank_search found;
  PD_TRY(find_ranks(context, plan, energy, INFINITY, &found));
  memcpy(ranks, found.ranks, (size_t)plan->order * sizeof *ranks);
  pd_rank_search_clear(context, &found);
  return POLYAD_OK;
}
