/* Shrinks a core by trying smaller ranks. Higher-order orthogonal iteration keeps more than the
 * truncated HOSVD of equal ranks, so that a smaller core often does. */
#include "algorithms/rank_choice.h"
#include <math.h>
#include <string.h>

/* Work without success after which the search ends: at least so much, and so many times what one
 * decomposition takes. */
static const double least_patience = 2e9, patience = 6;
/* Of larger cores a smaller one is worth trying when it saves a fiftieth. */
enum { WORTH = 50 };

struct shrink {
  struct pd_stage *stage;
  polyad_context *context;
  const struct pd_core *core;
  const struct pd_rank_limits *limits;
  struct pd_core_work work;
  struct pd_core_model *best;
  double target, deadline;
  double bend;      /* estimates promise too much by this times the squared distance */
  uint64_t *failed; /* `failures` ranks that do not keep the target */
  uint64_t failures, room;
  int tried;
  /* of the search for the next ranks: */
  bool smallest; /* the smallest core that reaches the target; else the largest estimate */
  uint64_t most, next_size, next[POLYAD_MAX_ORDER], at[POLYAD_MAX_ORDER];
  double next_share; /* its logarithm */
};

static uint64_t rank_shrink_size_of(const uint64_t *ranks, int order) {
  uint64_t size = 1;
  for (int n = 0; n < order; ++n)
    size *= ranks[n];
  return size;
}

/* Smaller ranks than some that failed fail too. */
static bool hopeless(const struct shrink *s, const uint64_t *ranks) {
  int order = s->core->order;
  for (uint64_t k = 0; k < s->failures; ++k) {
    bool inside = true;
    for (int n = 0; n < order && inside; ++n)
      inside = ranks[n] <= s->failed[k * (uint64_t)order + (uint64_t)n];
    if (inside) return true;
  }
  return false;
}

/* By how much mode n's change from the best model's rank to r multiplies the share, as a logarithm.
 * What a mode keeps is a part of what the others keep, so that parts multiply; the farther away,
 * the less they do. */
static double rank_shrink_change(const struct shrink *s, int n, uint64_t r) {
  double ratio = log((double)r / (double)s->best->ranks[n]);
  return log(s->best->shares[n][r] / s->best->shares[n][s->best->ranks[n]]) -
         s->bend * ratio * ratio;
}

static void offer(struct shrink *s, uint64_t size, double share) {
  if (s->smallest ? share < log(s->target) || size > s->next_size ||
                        (size == s->next_size && share <= s->next_share)
                  : share <= s->next_share)
    return;
  if (hopeless(s, s->at) || !s->limits->fits(s->limits->user, s->at)) return;
  s->next_size = size;
  s->next_share = share;
  memcpy(s->next, s->at, sizeof s->next);
}

/* All ranks of modes n and on within s->most cells; `share` is the estimate's logarithm as those
 * before make it. */
static void enumerate(struct shrink *s, int n, uint64_t size, double share) {
  uint64_t most = s->best->columns[n], rest = 1;
  for (int m = n + 1; m < s->core->order; ++m)
    rest *= s->limits->least[m];
  if (most > s->most / size / rest) most = s->most / size / rest;
  if (n < s->core->order - 1) {
    for (uint64_t r = s->limits->least[n]; r <= most; ++r) {
      s->at[n] = r;
      enumerate(s, n + 1, size * r, share + rank_shrink_change(s, n, r));
    }
    return;
  }
  if (most < s->limits->least[n]) return;
  uint64_t r = most; /* more columns keep more; fewer are smaller */
  while (s->smallest && r > s->limits->least[n] &&
         share + rank_shrink_change(s, n, r - 1) >= log(s->target))
    --r;
  s->at[n] = r;
  offer(s, size * r, share + rank_shrink_change(s, n, r));
}

/* The next ranks to try, in s->next. */
static bool find_next(struct shrink *s) {
  uint64_t size = rank_shrink_size_of(s->best->ranks, s->core->order);
  s->most = size - 1 - (size - 1) / WORTH;
  for (int pass = 0; pass < 2; ++pass) {
    s->smallest = pass == 0;
    s->next_size = UINT64_MAX;
    s->next_share = -INFINITY;
    if (s->most > 0) enumerate(s, 0, 1, log(s->best->share));
    if (s->next_size < UINT64_MAX) return true;
  }
  return false;
}

static polyad_status note_failure(struct shrink *s, double share) {
  uint64_t order = (uint64_t)s->core->order;
  if (s->failures == s->room) {
    s->room = 2 * s->room + 64;
    PD_TRY(pd_realloc(s->context, pd_mul_saturated(s->room, order), sizeof *s->failed,
                      (void **)&s->failed));
  }
  memcpy(s->failed + s->failures++ * order, s->next, order * sizeof *s->next);
  double distance = 0;
  for (int n = 0; n < s->core->order; ++n) {
    double ratio = log((double)s->next[n] / (double)s->best->ranks[n]);
    distance += ratio * ratio;
  }
  s->bend += fmax(s->next_share - log(share), 0) / distance;
  return POLYAD_OK;
}

static polyad_status try_next(struct shrink *s, bool *success) {
  struct pd_core_model model = {0};
  polyad_status status = POLYAD_OK;
  ++s->tried;
  PD_TRY_CLEANUP(pd_core_model_cut(s->context, s->core, s->best, s->next, &model));
  PD_TRY_CLEANUP(pd_core_iterate(s->stage, &s->work, s->target, &model));
  *success = model.share >= s->target;
  if (*success) {
    struct pd_core_model old = *s->best;
    *s->best = model;
    model = old;
    s->stage->share = s->best->share;
  } else {
    status = note_failure(s, model.share);
  }
cleanup:
  pd_core_model_clear(s->context, &model);
  return status;
}

static polyad_status rank_shrink_search(struct shrink *s) {
  double since = s->work.done, last = 0;
  while (s->work.done - since <= fmax(least_patience, patience * last) &&
         pd_seconds() < s->deadline && find_next(s)) {
    double before = s->work.done;
    bool success;
    PD_TRY(try_next(s, &success));
    last = s->work.done - before;
    if (success) since = s->work.done;
  }
  return POLYAD_OK;
}

polyad_status pd_rank_shrink(struct pd_stage *stage, const struct pd_core *core,
                             const struct pd_rank_limits *limits, double target, double deadline,
                             struct pd_core_model *model, int *tried) {
  struct shrink s = {.stage = stage,
                     .context = stage->context,
                     .core = core,
                     .limits = limits,
                     .best = model,
                     .target = target,
                     .deadline = deadline};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_core_work_create(stage->context, core, &s.work));
  PD_TRY_CLEANUP(pd_core_iterate(stage, &s.work, target, model)); /* the estimates' numbers */
  PD_TRY_CLEANUP(rank_shrink_search(&s));
cleanup:
  *tried = s.tried;
  pd_core_work_clear(stage->context, &s.work);
  pd_free(stage->context, s.failed);
  return status;
}
