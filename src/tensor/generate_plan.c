#include "tensor/generate_plan.h"
#include "core/random.h"
#include <assert.h>
#include <string.h>

enum { LEAF_NNZ = 1 << 17, SMALL_SHARE = 24 };

uint64_t pd_plan_stream(const uint64_t *prefix, int modes) {
  uint64_t stream = UINT64_C(0x632be59bd9b4e019);
  for (int n = 0; n < modes; ++n)
    stream = pd_mix64(stream ^ (prefix[n] + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(n + 1)));
  return stream;
}

/* ---- dividing nonzeros among indices -----------------------------------------------------------
 */

static struct pd_draws draws_of_range(const struct pd_plan *plan, uint64_t stream, uint64_t lo,
                                      uint64_t hi) {
  return (struct pd_draws){plan->seed, pd_mix64(stream + 3 * pd_mix64(lo) + 5 * pd_mix64(~hi)), 0};
}

/* Brings a share to where both sides can hold theirs. */
static uint64_t within_capacity(uint64_t share, uint64_t nnz, uint64_t room, uint64_t other_room) {
  if (nnz > other_room && share < nnz - other_room) share = nnz - other_room;
  return share < room ? share : room;
}

static void share_freely(struct pd_draws *draws, const double *weight, int count, uint64_t nnz,
                         uint64_t *share) {
  double below[PD_LAW_BLOCK], sum = 0;
  for (int i = 0; i < count; ++i)
    below[i] = sum += weight[i];
  for (uint64_t p = 0; p < nnz; ++p) {
    double mark = pd_draw(draws) * sum;
    int low = 0, high = count - 1;
    while (low < high) {
      int middle = (low + high) / 2;
      if (mark < below[middle])
        high = middle;
      else
        low = middle + 1;
    }
    ++share[low];
  }
}

static void share_in_turn(struct pd_draws *draws, const double *weight, int count, uint64_t nnz,
                          uint64_t capacity, uint64_t *share) {
  double rest = 0;
  for (int i = 0; i < count; ++i)
    rest += weight[i];
  for (int i = 0; i < count; ++i) {
    uint64_t others = pd_mul_saturated((uint64_t)(count - 1 - i), capacity);
    share[i] = i + 1 == count ? nnz : pd_draw_binomial(draws, nnz, weight[i] / rest);
    share[i] = within_capacity(share[i], nnz, capacity, others);
    nnz -= share[i];
    rest -= weight[i];
  }
}

static polyad_status divide_block(const struct pd_plan *plan, uint64_t stream, int mode,
                                  uint64_t lo, uint64_t hi, uint64_t nnz,
                                  struct pd_visitor *visitor) {
  double weight[PD_LAW_BLOCK];
  uint64_t share[PD_LAW_BLOCK] = {0}, capacity = plan->capacity[mode];
  int count = (int)(hi - lo);
  struct pd_draws draws = draws_of_range(plan, stream, lo, hi);
  for (int i = 0; i < count; ++i)
    weight[i] = pd_law_weight(&plan->law[mode], lo + (uint64_t)i);
  if (nnz <= SMALL_SHARE && nnz <= capacity)
    share_freely(&draws, weight, count, nnz, share);
  else
    share_in_turn(&draws, weight, count, nnz, capacity, share);
  for (int i = 0; i < count; ++i)
    if (share[i] != 0) PD_TRY(visitor->visit(visitor, lo + (uint64_t)i, share[i]));
  return POLYAD_OK;
}

polyad_status pd_plan_divide(const struct pd_plan *plan, uint64_t stream, int mode, uint64_t lo,
                             uint64_t hi, uint64_t nnz, struct pd_visitor *visitor) {
  const struct pd_law *law = &plan->law[mode];
  polyad_status status = POLYAD_OK;
  if (nnz == 0) return POLYAD_OK;
  if (visitor->take != NULL && visitor->take(visitor, lo, hi, nnz, &status)) return status;
  if (hi - lo == 1) return visitor->visit(visitor, lo, nnz);
  if (hi - lo <= PD_LAW_BLOCK) return divide_block(plan, stream, mode, lo, hi, nnz, visitor);
  uint64_t blocks = (hi - lo + PD_LAW_BLOCK - 1) / PD_LAW_BLOCK;
  uint64_t middle = lo + blocks / 2 * PD_LAW_BLOCK;
  struct pd_draws draws = draws_of_range(plan, stream, lo, hi);
  double left_mass = pd_law_mass(law, lo, middle), mass = left_mass + pd_law_mass(law, middle, hi);
  uint64_t left = pd_draw_binomial(&draws, nnz, left_mass / mass);
  left = within_capacity(left, nnz, pd_mul_saturated(middle - lo, plan->capacity[mode]),
                         pd_mul_saturated(hi - middle, plan->capacity[mode]));
  PD_TRY(pd_plan_divide(plan, stream, mode, lo, middle, left, visitor));
  return pd_plan_divide(plan, stream, mode, middle, hi, nnz - left, visitor);
}

/* ---- leaves ------------------------------------------------------------------------------------
 */

struct planner {
  struct pd_visitor visitor;
  polyad_context *context;
  struct pd_plan *plan;
  uint64_t prefix[POLYAD_MAX_ORDER];
  int mode;
};

static polyad_status add_leaf(struct planner *planner, uint64_t lo, uint64_t hi, uint64_t nnz) {
  struct pd_plan *plan = planner->plan;
  if (plan->leaf_count == plan->leaf_room) {
    plan->leaf_room = plan->leaf_room == 0 ? 64 : 2 * plan->leaf_room;
    PD_TRY(pd_realloc(planner->context, plan->leaf_room, sizeof *plan->leaves,
                      (void **)&plan->leaves));
  }
  struct pd_leaf *leaf = &plan->leaves[plan->leaf_count];
  *leaf = (struct pd_leaf){.mode = planner->mode, .lo = lo, .hi = hi, .nnz = nnz};
  memcpy(leaf->prefix, planner->prefix, (size_t)planner->mode * sizeof leaf->prefix[0]);
  if (plan->leaf_count > 0) leaf->begin = leaf[-1].begin + leaf[-1].nnz;
  ++plan->leaf_count;
  return POLYAD_OK;
}

static bool take_leaf(struct pd_visitor *visitor, uint64_t lo, uint64_t hi, uint64_t nnz,
                      polyad_status *status) {
  struct planner *planner = (struct planner *)visitor;
  if (nnz > planner->plan->leaf_nnz) return false;
  *status = add_leaf(planner, lo, hi, nnz);
  return true;
}

/* A single index with too much for one leaf is divided along the next mode. */
static polyad_status plan_index(struct pd_visitor *visitor, uint64_t index, uint64_t nnz) {
  struct planner *planner = (struct planner *)visitor;
  if (nnz <= planner->plan->leaf_nnz) return add_leaf(planner, index, index + 1, nnz);
  planner->prefix[planner->mode++] = index;
  assert(planner->mode < planner->plan->order);
  PD_TRY(pd_law_tabulate(planner->context, &planner->plan->law[planner->mode]));
  uint64_t stream = pd_plan_stream(planner->prefix, planner->mode);
  polyad_status status = pd_plan_divide(planner->plan, stream, planner->mode, 0,
                                        planner->plan->dims[planner->mode], nnz, visitor);
  --planner->mode;
  return status;
}

polyad_status pd_plan_create(polyad_context *context, const double *skew, struct pd_plan *plan) {
  polyad_status status = POLYAD_OK;
  uint64_t cells = 1;
  for (int n = plan->order - 1; n >= 0; --n) {
    plan->capacity[n] = cells;
    cells = pd_mul_saturated(cells, plan->dims[n]);
  }
  for (int n = 0; n < plan->order; ++n)
    pd_law_init(plan->dims[n], skew[n], &plan->law[n]);
  plan->leaf_nnz = LEAF_NNZ / (uint64_t)plan->order;
  /* Other modes are divided where a leaf is full of cells, or where the planner divides. */
  PD_TRY_CLEANUP(pd_law_tabulate(context, &plan->law[0]));
  for (int n = 1; n < plan->order; ++n)
    if (plan->capacity[n - 1] / PD_DENSE_SHARE < plan->leaf_nnz)
      PD_TRY_CLEANUP(pd_law_tabulate(context, &plan->law[n]));
  struct planner planner = {
      .visitor = {.visit = plan_index, .take = take_leaf}, .context = context, .plan = plan};
  PD_TRY_CLEANUP(pd_plan_divide(plan, pd_plan_stream(NULL, 0), 0, 0, plan->dims[0], plan->nnz,
                                &planner.visitor));
cleanup:
  if (status != POLYAD_OK) pd_plan_destroy(context, plan);
  return status;
}

void pd_plan_destroy(polyad_context *context, struct pd_plan *plan) {
  for (int n = 0; n < plan->order; ++n)
    pd_law_destroy(context, &plan->law[n]);
  pd_free(context, plan->leaves);
  plan->leaves = NULL;
}
