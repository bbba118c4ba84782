/* Plans a tree of tuples slice by slice of the first mode. Every node has one child at least; how
 * many more is drawn at random from its level's law. Level by level, the sums over the slices are
 * then brought to the level's exact total in proportion, so that each slice's numbers of tuples are
 * known before any tuple is: slices can be made in any order, by any thread. */
#include "tensor/generate_fibers.h"
#include "core/random.h"
#include <inttypes.h>
#include <math.h>

enum {
  LEAF_NNZ = 1 << 15,
  FULL_FROM = 4 /* slices of a mode stay non-empty while so many tuples end in each */
};

uint64_t pd_fiber_stream(int level, uint64_t slice) {
  return pd_mix64(slice * PD_FIBER_ORDER + (uint64_t)level + UINT64_C(0x3c6ef372fe94f82b));
}

/* ---- counts ------------------------------------------------------------------------------------
 */

static uint64_t at_least(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t generate_fibers_at_most(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t rounded(double x) { return x < 0x1p62 ? (uint64_t)round(x) : UINT64_C(1) << 62; }

static uint64_t quotient_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/* The tuples of the whole tensor, with those that are not published. `tuples[order - 1]` is set. */
static void complete_tuples(const struct pd_fiber_profile *profile, int order, const uint64_t *dims,
                            uint64_t *tuples) {
  uint64_t slices = profile->level[0].tuples != 0 ? profile->level[0].tuples : dims[0];
  for (int n = order - 2; n > 0; --n) {
    uint64_t most = generate_fibers_at_most(tuples[n + 1], pd_cells(n + 1, dims)), least = slices;
    for (int m = 1; m <= n; ++m)
      least = at_least(least, generate_fibers_at_most(dims[m], most));
    tuples[n] = profile->level[n].tuples != 0 ? profile->level[n].tuples
                                              : rounded(sqrt((double)least * (double)most));
  }
  tuples[0] = slices;
}

/* Non-empty slices of a mode of which there are `full` at full size, when so many tuples end in
 * it. */
static uint64_t scaled_slices(uint64_t full, uint64_t tuples, double scale) {
  uint64_t slices = at_least(rounded((double)full * scale), tuples / FULL_FROM);
  return at_least(generate_fibers_at_most(generate_fibers_at_most(slices, full), tuples), 1);
}

struct pd_fiber_counts pd_fiber_counts(const struct pd_fiber_profile *profile, int order,
                                       const uint64_t *dims, uint64_t nnz, double scale) {
  struct pd_fiber_counts counts = {{0}, {0}};
  uint64_t whole[PD_FIBER_ORDER], *tuples = counts.tuples;
  whole[order - 1] = rounded((double)nnz / scale);
  complete_tuples(profile, order, dims, whole);
  tuples[order - 1] = nnz;
  for (int n = order - 2; n >= 0; --n) {
    uint64_t wanted =
        n > 0 ? rounded((double)whole[n] * scale) : scaled_slices(whole[0], tuples[1], scale);
    wanted = at_least(wanted, quotient_up(tuples[n + 1], dims[n + 1]));
    tuples[n] = generate_fibers_at_most(
        wanted, generate_fibers_at_most(tuples[n + 1], pd_cells(n + 1, dims)));
  }
  counts.slices[0] = tuples[0];
  for (int n = 1; n < order; ++n) {
    uint64_t most = profile->level[n].most;
    uint64_t slices = scaled_slices(dims[n], tuples[n], scale);
    slices = at_least(slices, quotient_up(tuples[n], tuples[n - 1]));
    counts.slices[n] = at_least(
        slices, generate_fibers_at_most(most, generate_fibers_at_most(dims[n], tuples[n])));
  }
  return counts;
}

/* ---- sizes of slices ---------------------------------------------------------------------------
 */

/* For every slice: what its nodes at level n - 1 drew beyond one child each, and the most that one
 * of them drew. */
static void draw_extra(polyad_context *context, const struct pd_fiber_plan *plan, int n,
                       const uint64_t *own, uint64_t *extra, uint64_t *largest) {
  uint64_t slices = plan->counts.tuples[0];
  const struct pd_children *law = &plan->mode[n].children;
  int threads = pd_threads_for(context, plan->counts.tuples[n - 1], 1 << 12);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
  for (uint64_t i = 0; i < slices; ++i) {
    uint64_t stream = pd_fiber_stream(n, i);
    extra[i] = largest[i] = 0;
    for (uint64_t j = 0; j < own[i]; ++j) {
      uint64_t drawn = pd_children_draw(law, plan->seed, stream, j);
      extra[i] += drawn;
      largest[i] = drawn > largest[i] ? drawn : largest[i];
    }
  }
}

/* The most children of one node in a slice: the division within the slice rounds up, and where a
 * node has no room left, the next ones take more. */
static uint64_t most_in_slice(uint64_t drawn, uint64_t largest, uint64_t extra, uint64_t own,
                              uint64_t each) {
  double ratio = (double)extra / (double)(drawn == 0 ? own : drawn);
  double most = ceil((double)(drawn == 0 ? 1 : largest) * ratio) + 1;
  return most < (double)each ? (uint64_t)most + 1 : each + 1;
}

/* Sizes the slices at level n, whose numbers of tuples one level above are in `own`; they become
 * the numbers at level n. */
static polyad_status size_level(polyad_context *context, struct pd_fiber_plan *plan, int n,
                                uint64_t *own) {
  polyad_status status = POLYAD_OK;
  struct pd_fiber_mode *mode = &plan->mode[n];
  uint64_t slices = plan->counts.tuples[0], each = mode->extra_room;
  uint64_t total = plan->counts.tuples[n] - plan->counts.tuples[n - 1];
  uint64_t *extra = NULL, *drawn = NULL, *largest = NULL;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, slices, &extra));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, slices, &drawn));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, slices, &largest));
  PD_TRY_CLEANUP(PD_NEW(context, slices + 1, &plan->first[n]));
  if (total != 0) draw_extra(context, plan, n, own, extra, largest);
  for (uint64_t i = 0; i < slices; ++i)
    drawn[i] = extra[i];
  if (total != 0) pd_children_divide(extra, own, slices, each, total);
  plan->first[n][0] = 0;
  mode->most_children = 1;
  mode->most_parents = 0;
  for (uint64_t i = 0; i < slices; ++i) {
    uint64_t most = extra[i] == 0 ? 1 : most_in_slice(drawn[i], largest[i], extra[i], own[i], each);
    mode->most_children = at_least(mode->most_children, most);
    mode->most_parents = at_least(mode->most_parents, own[i]);
    own[i] += extra[i];
    plan->first[n][i + 1] = plan->first[n][i] + own[i];
  }
cleanup:
  PD_FREE(context, largest, drawn, extra);
  return status;
}

static polyad_status size_slices(polyad_context *context, struct pd_fiber_plan *plan) {
  polyad_status status = POLYAD_OK;
  uint64_t *own;
  PD_TRY(PD_NEW(context, plan->counts.tuples[0], &own));
  for (uint64_t i = 0; i < plan->counts.tuples[0]; ++i)
    own[i] = 1;
  for (int n = 1; n < plan->order; ++n)
    PD_TRY_CLEANUP(size_level(context, plan, n, own));
cleanup:
  pd_free(context, own);
  return status;
}

/* ---- modes and leaves --------------------------------------------------------------------------
 */

static void plan_mode(struct pd_fiber_plan *plan, const struct pd_fiber_level *level, int n,
                      double skew) {
  struct pd_fiber_mode *mode = &plan->mode[n];
  uint64_t ranks = plan->counts.slices[n];
  struct pd_law scattered;
  pd_law_init(plan->dims[n], skew, &scattered);
  mode->pick = (struct pd_pick_mode){.dim = plan->dims[n],
                                     .multiplier = scattered.multiplier,
                                     .inverse = scattered.inverse,
                                     .index_bits = pd_index_bits(plan->dims[n])};
  pd_law_init(ranks, skew, &mode->pick.law);
  mode->pick.law.multiplier = mode->pick.law.inverse = 1;
  mode->common = level->common;
  mode->share = level->share;
  if (n == 0) return;
  uint64_t most = level->most == 0 ? ranks : generate_fibers_at_most(level->most, ranks);
  most = at_least(most, quotient_up(plan->counts.tuples[n], plan->counts.tuples[n - 1]));
  mode->extra_room = most - 1;
  double mean = (double)plan->counts.tuples[n] / (double)plan->counts.tuples[n - 1];
  mode->children = pd_children_law(mean, level->cv == 0 ? 1 : level->cv, most);
}

static polyad_status divide_into_leaves(polyad_context *context, struct pd_fiber_plan *plan) {
  const uint64_t *first = plan->first[plan->order - 1];
  uint64_t slices = plan->counts.tuples[0], leaves = 0, begin = 0;
  for (int pass = 0; pass < 2; ++pass) { /* to count, then to set */
    leaves = 0;
    for (uint64_t i = 0; i < slices; ++i) {
      if (i > 0 && first[i + 1] - begin <= LEAF_NNZ) continue;
      if (pass == 1) plan->leaf_slice[leaves] = i;
      begin = first[i];
      ++leaves;
    }
    if (pass == 0) PD_TRY(PD_NEW(context, leaves + 1, &plan->leaf_slice));
  }
  plan->leaf_slice[leaves] = slices;
  plan->leaf_count = leaves;
  return POLYAD_OK;
}

/* Places of tuples are multiplied by numbers of slices, ranks by dims. */
static polyad_status check_products(polyad_context *context, const struct pd_fiber_plan *plan) {
  for (int n = 0; n < plan->order; ++n)
    if (pd_mul_saturated(at_least(plan->counts.tuples[n], plan->dims[n]), plan->dims[n]) ==
        UINT64_MAX)
      return pd_fail(context, POLYAD_UNSUPPORTED,
                     "%" PRIu64 " nonzeros with real fibers; expected fewer, or flat structure",
                     plan->counts.tuples[plan->order - 1]);
  return POLYAD_OK;
}

polyad_status pd_fiber_plan_create(polyad_context *context, const struct pd_fiber_profile *profile,
                                   uint64_t nnz, double scale, const double *skew,
                                   struct pd_fiber_plan *plan) {
  polyad_status status = POLYAD_OK;
  plan->counts = pd_fiber_counts(profile, plan->order, plan->dims, nnz, scale);
  PD_TRY(check_products(context, plan));
  for (int n = 0; n < plan->order; ++n)
    plan_mode(plan, &profile->level[n], n, skew[n]);
  PD_TRY_CLEANUP(size_slices(context, plan));
  PD_TRY_CLEANUP(divide_into_leaves(context, plan));
cleanup:
  if (status != POLYAD_OK) pd_fiber_plan_destroy(context, plan);
  return status;
}

void pd_fiber_plan_destroy(polyad_context *context, struct pd_fiber_plan *plan) {
  for (int n = 1; n < plan->order; ++n) {
    pd_free(context, plan->first[n]);
    plan->first[n] = NULL;
  }
  pd_free(context, plan->leaf_slice);
  plan->leaf_slice = NULL;
}

uint64_t pd_fiber_plan_begin(const struct pd_fiber_plan *plan, uint64_t leaf) {
  return plan->first[plan->order - 1][plan->leaf_slice[leaf]];
}
