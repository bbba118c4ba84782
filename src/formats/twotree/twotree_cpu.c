/* MTTKRP of "twotree" on the CPU, a loss's gain and its gradient. A mode's call makes the partial
 * rows of its side first, unless they are of the same factors: Y(t, :) = sum over the nonzeros of
 * tuple t of x times the rows of the other side's factors. Then out(i, :) = sum over the tuples t
 * with index i in the mode of Y(t, :) times the rows of the side's other factors. Both are sums by
 * row over sorted lists.
 *
 * Where the model is needed Y first holds the products of the side's own rows, one for each tuple:
 * with the rows of the other side's factors they give the model at each of its nonzeros. The pass
 * then replaces them by partial rows of the gain's gradient. */
#include "core/threads.h"
#include "formats/rowsum/driver.h"
#include "formats/tables.h"
#include "formats/twotree/twotree_layout.h"
#include "formats/twotree/twotree_tuples.h"
#include <string.h>

struct scratch {
  struct pd_scratch base;
  struct pd_rowsum_scratch *pass;
  struct pd_rowsum_scratch *tuples[PD_TWOTREE_MAX_ORDER]; /* of lists of tuples */
  void *rows[PD_TWOTREE_MAX_ORDER];                       /* Y */
  struct pd_versions made[PD_TWOTREE_MAX_ORDER];          /* what it was made from */
};

static uint64_t twotree_cpu_block_rows(const struct pd_twotree *twotree) {
  uint64_t most = 1;
  for (int s = 0; s < twotree->sides; ++s) {
    uint64_t rows = pd_rowsum_block_rows(&twotree->side[s].pass);
    if (rows > most) most = rows;
  }
  return most;
}

static uint64_t twotree_cpu_table_bytes(const struct pd_twotree *twotree, uint64_t rank) {
  uint64_t most = 0;
  for (int s = 0; s < twotree->sides; ++s) {
    uint64_t bytes =
        pd_pair_tables_bytes(&twotree->side[s].pass, twotree->dims, twotree->type, rank);
    if (bytes > most) most = bytes;
  }
  return most;
}

static uint64_t twotree_cpu_workspace_bytes(const void *storage, const uint64_t *ranks,
                                            int threads) {
  const uint64_t rank = ranks[0];
  const struct pd_twotree *twotree = storage;
  uint64_t row = pd_mul_saturated(rank, pd_type_bytes(twotree->type));
  uint64_t total = pd_rowsum_scratch_bytes(rank, twotree_cpu_block_rows(twotree), threads);
  for (int s = 0; s < twotree->sides; ++s) {
    if (twotree->side[s].tuples == 0) continue;
    total = pd_add_saturated(total, pd_rowsum_scratch_bytes(rank, 1, threads));
    total = pd_add_saturated(total, pd_mul_saturated(twotree->side[s].tuples, row));
  }
  return pd_add_saturated(total, twotree_cpu_table_bytes(twotree, rank));
}

static polyad_status twotree_cpu_fill(polyad_context *context, const void *storage,
                                      const uint64_t *ranks, void *pointer) {
  const uint64_t rank = ranks[0];
  const struct pd_twotree *twotree = storage;
  struct scratch *scratch = pointer;
  uint64_t numbers;
  PD_TRY(pd_rowsum_scratch_create(&scratch->base, twotree->type, rank,
                                  twotree_cpu_block_rows(twotree),
                                  pd_kernel_threads(context, twotree->nnz, rank), &scratch->pass));
  PD_TRY(pd_rowsum_scratch_add_tables(scratch->pass, twotree_cpu_table_bytes(twotree, rank)));
  for (int s = 0; s < twotree->sides; ++s) {
    uint64_t tuples = twotree->side[s].tuples;
    if (tuples == 0) continue;
    if (!pd_mul(tuples, rank, &numbers))
      return pd_fail(context, POLYAD_OVERFLOW, "%llu partial rows of rank %llu are too large",
                     (unsigned long long)tuples, (unsigned long long)rank);
    PD_TRY(pd_rowsum_scratch_create(&scratch->base, twotree->type, rank, 1,
                                    pd_kernel_threads(context, tuples, rank), &scratch->tuples[s]));
    PD_TRY(
        pd_scratch_array(&scratch->base, numbers, pd_type_bytes(twotree->type), &scratch->rows[s]));
  }
  return POLYAD_OK;
}

/* Y(t, :) = the product of the rows of the side's factors at tuple t. */
static void fill_own_rows(const struct pd_twotree *twotree, const struct pd_twotree_side *side,
                          const struct pd_call *call, int threads, struct pd_matrix *rows) {
  const uint64_t rank = rows->columns;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t t = 0; t < side->tuples; ++t)
    for (int k = 0; k < side->modes.count; ++k) {
      const struct pd_matrix *factor = call->factors[side->modes.mode[k]];
      uint64_t at = pd_twotree_tuple_index(side, k, t) * factor->stride;
      if (twotree->type == POLYAD_F32) {
        float *to = (float *)rows->data + t * rank;
        for (uint64_t r = 0; r < rank; ++r)
          to[r] = (k == 0 ? 1 : to[r]) * ((const float *)factor->data)[at + r];
      } else {
        double *to = (double *)rows->data + t * rank;
        for (uint64_t r = 0; r < rank; ++r)
          to[r] = (k == 0 ? 1 : to[r]) * ((const double *)factor->data)[at + r];
      }
    }
}

/* The pass over a side's nonzeros: partial rows, or the rows of the mode itself where the side has
 * but one. */
static struct pd_rowsum_job pass_of(const struct pd_twotree *twotree, struct scratch *scratch,
                                    const struct pd_call *call, int s, struct pd_matrix *rows) {
  const struct pd_twotree_side *side = &twotree->side[s];
  struct pd_call pass = *call;
  if (side->tuples > 0 && call->op.into == PD_INTO_ROWS) pass.out = rows;
  struct pd_rowsum_job job = pd_rowsum_job_of(&side->pass, twotree->type, &pass);
  if (side->tuples == 0 || !pd_op_needs_model(&call->op)) return job;
  fill_own_rows(twotree, side, call, scratch->tuples[s]->workers, rows);
  scratch->made[s] = (struct pd_versions){0};
  job.b = rows->data;
  job.b_stride = rows->stride;
  job.out_rows = rows->rows;
  return job;
}

/* The list of the mode over the side's tuples has the partial rows, as a mode after the last, and
 * the side's other modes as columns. */
static void sum_tuples(const struct pd_twotree *twotree, struct pd_rowsum_scratch *scratch,
                       const struct pd_call *call, const struct pd_rowsum *list,
                       const struct pd_matrix *rows) {
  const struct pd_matrix *inputs[POLYAD_MAX_ORDER + 1];
  struct pd_call last = *call;
  memcpy(inputs, call->factors, (size_t)twotree->order * sizeof *inputs);
  inputs[twotree->order] = rows;
  last.factors = inputs;
  last.op = PD_MTTKRP;
  struct pd_rowsum_job job = pd_rowsum_job_of(list, twotree->type, &last);
  pd_rowsum_run(&job, scratch);
}

static polyad_status twotree_cpu_run(polyad_context *context, const void *storage, void *workspace,
                                     const struct pd_call *call) {
  (void)context;
  const struct pd_twotree *twotree = storage;
  struct scratch *scratch = workspace;
  int s = 0, which = 0;
  while (twotree->side[s].modes.mode[which] != call->mode)
    if (++which >= twotree->side[s].modes.count) which = 0, ++s;
  const struct pd_twotree_side *side = &twotree->side[s];
  struct pd_matrix rows = {.rows = side->tuples,
                           .columns = pd_call_rank(call),
                           .stride = pd_call_rank(call),
                           .data = scratch->rows[s]};
  bool model = pd_op_needs_model(&call->op);
  if (side->tuples == 0 || model ||
      !pd_versions_hold(&scratch->made[s], call->factors, pd_twotree_others(side))) {
    struct pd_rowsum_job job = pass_of(twotree, scratch, call, s, &rows);
    if (call->op.into == PD_INTO_SCALAR) {
      *(double *)call->out->data = pd_rowsum_gain(&job, scratch->pass);
      return POLYAD_OK;
    }
    pd_rowsum_run(&job, scratch->pass);
  }
  if (side->tuples == 0) return POLYAD_OK;
  if (!model) pd_versions_set(&scratch->made[s], call->factors, pd_twotree_others(side));
  sum_tuples(twotree, scratch->tuples[s], call, &side->list[which], &rows);
  return POLYAD_OK;
}

/* Those on the way into a partial row, and from there into the mode's. */
static uint64_t twotree_cpu_sum_depth(const void *storage, const void *scratch, int mode,
                                      uint64_t longest_row) {
  (void)scratch, (void)mode;
  const struct pd_twotree *twotree = storage;
  return 2 * pd_rowsum_depth(&twotree->side[0].pass, longest_row);
}

static const struct pd_walk twotree_cpu_rows = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = twotree_cpu_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = twotree_cpu_fill,
    .run = twotree_cpu_run,
};

const struct polyad_kernels pd_twotree_kernels_cpu = {
    .format = "twotree",
    .device = "cpu",
    .walks = {&twotree_cpu_rows},
    .sum_depth = twotree_cpu_sum_depth,
};
