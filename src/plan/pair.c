/* The storage and the kernels of plans that two devices share. */
#include "plan/pair.h"
#include "formats/storage.h"
#include "linalg/linalg.h"
#include <stdio.h>
#include <string.h>

/* ---- storage -----------------------------------------------------------------------------------
 */

static polyad_status pair_check(polyad_context *context, const void *storage) {
  const struct pd_pair *pair = storage;
  for (int k = 0; k < 2; ++k)
    PD_TRY(pair->part[k]->format->check(context, pair->readable[k]));
  return POLYAD_OK;
}

static uint64_t pair_bytes(const void *storage) {
  const struct pd_pair *pair = storage;
  return polyad_plan_bytes(pair->part[0]) + polyad_plan_bytes(pair->part[1]);
}

static void pair_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  (void)first_mode;
  const struct pd_pair *pair = storage;
  snprintf(text, PD_REASON_BYTES, "%.1f%% on %s (%.80s), %.1f%% on %s (%.80s)",
           100 * (1 - pair->share), pair->part[0]->device->name, pair->part[0]->variant,
           100 * pair->share, pair->part[1]->device->name, pair->part[1]->variant);
}

static void pair_destroy(polyad_context *context, void *storage) {
  struct pd_pair *pair = storage;
  for (int k = 0; k < 2; ++k) {
    if (pair->brought[k] != NULL) pd_storage_free(context, pair->part[k]->format, pair->brought[k]);
    if (!pair->view) polyad_plan_destroy(pair->part[k]);
  }
  pd_free(context, pair);
}

/* The nonzeros of the first part, then those of the second. */
static void pair_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_pair *pair = storage;
  uint64_t here = pair->part[0]->nnz;
  if (first >= here) {
    pair->part[1]->format->decode(pair->readable[1], first - here, count, chunk);
    return;
  }
  int ours = here - first < (uint64_t)count ? (int)(here - first) : count;
  pair->part[0]->format->decode(pair->readable[0], first, ours, chunk);
  if (ours == count) return;
  struct pd_chunk rest;
  pair->part[1]->format->decode(pair->readable[1], 0, count - ours, &rest);
  for (int n = 0; n < pair->part[0]->order; ++n)
    memcpy(chunk->index[n] + ours, rest.index[n], (size_t)(count - ours) * sizeof rest.index[n][0]);
  memcpy(chunk->value + ours, rest.value, (size_t)(count - ours) * sizeof rest.value[0]);
}

/* A view whose parts can all be read. */
static polyad_status pair_view(polyad_context *context, const void *made, bool whole,
                               void **storage) {
  const struct pd_pair *pair = made;
  struct pd_pair *view;
  polyad_status status = POLYAD_OK;
  *storage = NULL;
  PD_TRY(PD_NEW(context, 1, &view));
  *view = *pair;
  view->view = true;
  for (int k = 0; k < 2 && status == POLYAD_OK; ++k) {
    const polyad_plan *part = pair->part[k];
    if (!part->shed) continue;
    status = pd_storage_bring(context, part->format, part->device, part->on_device, whole,
                              &view->brought[k]);
    view->readable[k] = view->brought[k];
  }
  if (status == POLYAD_OK)
    *storage = view;
  else
    pair_destroy(context, view);
  return status;
}

const struct polyad_format pd_pair_format = {
    .check = pair_check,
    .bytes = pair_bytes,
    .describe = pair_describe,
    .destroy = pair_destroy,
    .decode = pair_decode,
};

/* ---- workspace ---------------------------------------------------------------------------------
 */

struct pd_pair_scratch {
  struct pd_scratch base;
  polyad_workspace *workspace[2];
  struct pd_linalg_work *work;                  /* of the first device */
  void *host[POLYAD_MAX_ORDER + 1];             /* factors, then a result, on their way */
  struct pd_matrix there[POLYAD_MAX_ORDER + 1]; /* the same on the second device */
  struct pd_matrix sum;                         /* the second's result on the first */
  struct pd_matrix number[2];                   /* 1 x 1 F64: a sum there, and brought here */
};

/* Rows of a factor (or, for n == order, of the longest result). */
static uint64_t pair_rows_of(const polyad_plan *plan, int n) {
  return n < plan->order ? plan->dims[n] : pd_longest(plan->order, plan->dims);
}

static uint64_t pair_workspace_bytes(const void *storage, const uint64_t *ranks, int threads) {
  const uint64_t rank = ranks[0];
  const struct pd_pair *pair = storage;
  const polyad_plan *first = pair->part[0];
  uint64_t row = pd_mul_saturated(rank, pd_type_bytes(first->type)), total = 0;
  for (int k = 0; k < 2; ++k)
    if (pair->part[k]->device->functions->host_memory)
      total =
          pd_add_saturated(total, pd_walk_of(pair->part[k]->kernels, PD_OPS_MTTKRP)
                                      ->workspace_bytes(pair->part[k]->on_device, ranks, threads));
  for (int n = 0; n <= first->order; ++n)
    total = pd_add_saturated(total, pd_mul_saturated(pair_rows_of(first, n), row));
  return total;
}

static void pair_workspace_clear(polyad_context *context, void *user) {
  struct pd_pair_scratch *scratch = user;
  const struct pd_linalg *linalg = NULL;
  if (scratch->workspace[0] != NULL) linalg = scratch->workspace[0]->plan->device->linalg;
  if (linalg != NULL && scratch->work != NULL) linalg->work_destroy(context, scratch->work);
  for (int n = 0; n <= POLYAD_MAX_ORDER; ++n) {
    pd_matrix_destroy(context, &scratch->there[n]);
    pd_free(context, scratch->host[n]);
  }
  pd_matrix_destroy(context, &scratch->sum);
  for (int k = 0; k < 2; ++k) {
    pd_matrix_destroy(context, &scratch->number[k]);
    polyad_workspace_destroy(scratch->workspace[k]);
  }
}

static polyad_status pair_fill(polyad_context *context, const void *storage, const uint64_t *ranks,
                               void *pointer) {
  const struct pd_pair *pair = storage;
  struct pd_pair_scratch *scratch = pointer;
  const uint64_t rank = ranks[0];
  const polyad_plan *first = pair->part[0], *second = pair->part[1];
  for (int k = 0; k < 2; ++k) {
    PD_TRY(polyad_workspace_create(context, pair->part[k], rank, &scratch->workspace[k]));
    PD_TRY(pd_matrix_create(context, pair->part[1 - k]->device, POLYAD_F64, 1, 1,
                            &scratch->number[k]));
  }
  PD_TRY(first->device->linalg->work_create(context, first->device, rank, &scratch->work));
  for (int n = 0; n <= first->order; ++n) {
    uint64_t rows = pair_rows_of(first, n);
    PD_TRY(pd_alloc_zero(context, pd_mul_saturated(rows, rank), pd_type_bytes(first->type),
                         &scratch->host[n]));
    PD_TRY(pd_matrix_over_host(context, second->device, first->type, rows, rank, scratch->host[n],
                               &scratch->there[n]));
  }
  return pd_matrix_over_host(context, first->device, first->type,
                             pd_longest(first->order, first->dims), rank,
                             scratch->host[first->order], &scratch->sum);
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* The factors that the kernel reads, for the second device: those that have changed. */
static polyad_status bring_factors(polyad_context *context, const struct pd_pair *pair,
                                   struct pd_pair_scratch *scratch, const struct pd_call *call,
                                   const struct pd_matrix **there) {
  const struct pd_matrix *const *factors = call->factors;
  for (int n = 0; n < pair->part[0]->order; ++n) {
    there[n] = &scratch->there[n];
    if (n == call->mode && !pd_op_needs_model(&call->op)) continue;
    if (factors[n]->version != 0 && scratch->there[n].version == factors[n]->version) continue;
    PD_TRY(pd_matrix_transfer(context, factors[n], scratch->host[n], &scratch->there[n]));
    scratch->there[n].version = factors[n]->version;
  }
  return POLYAD_OK;
}

/* Adds the second device's result `from` to the first's; `here` is room for it. */
static polyad_status add_result(polyad_context *context, const struct pd_pair *pair,
                                struct pd_pair_scratch *scratch, const struct pd_matrix *from,
                                void *host, struct pd_matrix *here, struct pd_matrix *out) {
  PD_TRY(pd_matrix_transfer(context, from, host, here));
  return pair->part[0]->device->linalg->add(context, scratch->work, here, out);
}

/* The first device computes while the second does, where it does not make the host wait. */
static polyad_status pair_run(polyad_context *context, const void *storage, void *workspace,
                              const struct pd_call *call) {
  const struct pd_pair *pair = storage;
  struct pd_pair_scratch *scratch = workspace;
  const struct pd_matrix *there[POLYAD_MAX_ORDER] = {NULL};
  int order = pair->part[0]->order;
  struct pd_matrix result = scratch->there[order], here = scratch->sum;
  void *host = scratch->host[order];
  double number = 0;
  if (call->op.into == PD_INTO_SCALAR) {
    result = scratch->number[0];
    here = scratch->number[1];
    host = &number;
  }
  result.rows = here.rows = call->out->rows;
  PD_TRY(bring_factors(context, pair, scratch, call, there));
  const struct pd_call second = {
      .op = call->op, .mode = call->mode, .factors = there, .out = &result};
  PD_TRY(pd_plan_run(context, pair->part[0], scratch->workspace[0], call));
  PD_TRY(pd_plan_run(context, pair->part[1], scratch->workspace[1], &second));
  return add_result(context, pair, scratch, &result, host, &here, call->out);
}

static const struct pd_walk pair_walk = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = pair_workspace_bytes,
    .scratch_bytes = sizeof(struct pd_pair_scratch),
    .fill = pair_fill,
    .clear = pair_workspace_clear,
    .run = pair_run,
};

/* That of the deeper part, and the addition of the two. */
static uint64_t pair_sum_depth(const void *storage, const void *pointer, int mode,
                               uint64_t longest_row) {
  const struct pd_pair *pair = storage;
  const struct pd_pair_scratch *scratch = pointer;
  uint64_t deepest = 0;
  (void)longest_row;
  for (int k = 0; k < 2; ++k) {
    uint64_t depth = pd_plan_sum_depth(pair->part[k], scratch->workspace[k], mode);
    if (depth > deepest) deepest = depth;
  }
  return deepest + 1;
}

const struct polyad_kernels pd_pair_kernels = {
    .sum_depth = pair_sum_depth,
    .view = pair_view,
    .format = "pair",
    .device = "pair",
    .walks = {&pair_walk},
};
