/* Kernels of "coo" on the CPU. */
#include "core/threads.h"
#include "formats/coo/coo_layout.h"
#include "formats/tables.h"

struct scratch {
  struct pd_scratch base;
  struct pd_rowsum_scratch *sums;
};

static uint64_t coo_cpu_block_rows(const struct pd_coo *coo) {
  uint64_t most = 1;
  for (int n = 0; n < coo->order; ++n) {
    uint64_t rows = pd_rowsum_block_rows(&coo->list[n]);
    if (rows > most) most = rows;
  }
  return most;
}

static uint64_t coo_cpu_table_bytes(const struct pd_coo *coo, uint64_t rank) {
  uint64_t most = 0;
  for (int n = 0; n < coo->order; ++n) {
    uint64_t bytes = pd_pair_tables_bytes(&coo->list[n], coo->dims, coo->type, rank);
    if (bytes > most) most = bytes;
  }
  return most;
}

static uint64_t coo_cpu_workspace_bytes(const void *storage, const uint64_t *ranks, int threads) {
  const uint64_t rank = ranks[0];
  return pd_add_saturated(pd_rowsum_scratch_bytes(rank, coo_cpu_block_rows(storage), threads),
                          coo_cpu_table_bytes(storage, rank));
}

static polyad_status coo_cpu_fill(polyad_context *context, const void *storage,
                                  const uint64_t *ranks, void *pointer) {
  const struct pd_coo *coo = storage;
  struct scratch *scratch = pointer;
  PD_TRY(pd_rowsum_scratch_create(&scratch->base, coo->type, ranks[0], coo_cpu_block_rows(coo),
                                  pd_kernel_threads(context, coo->nnz, ranks[0]), &scratch->sums));
  return pd_rowsum_scratch_add_tables(scratch->sums, coo_cpu_table_bytes(coo, ranks[0]));
}

/* Stores the rows of Pi. With one mode Pi is one everywhere. */
static polyad_status coo_cpu_pi(polyad_context *context, const struct pd_coo *coo,
                                struct pd_rowsum_scratch *scratch, const struct pd_call *call) {
  struct pd_rowsum_job job = pd_rowsum_job_of(&coo->list[call->mode], coo->type, call);
  struct pd_versions *versions;
  void *room = NULL;
  if (coo->order == 1) return POLYAD_OK;
  PD_TRY(pd_rowsum_pi_room(context, scratch, call->mode, coo->nnz, coo->type, job.rank, &room));
  pd_rowsum_pi(&job, scratch, room);
  (void)pd_rowsum_stored_pi(scratch, call->mode, &versions);
  pd_versions_set(versions, call->factors, pd_modes_but(coo->order, call->mode));
  return POLYAD_OK;
}

/* The stored rows of Pi, made anew where they are of other factors; NULL: to be made on the fly. */
static polyad_status coo_cpu_find_pi(polyad_context *context, const struct pd_coo *coo,
                                     struct pd_rowsum_scratch *scratch, const struct pd_call *call,
                                     const void **rows) {
  uint64_t others = pd_modes_but(coo->order, call->mode);
  struct pd_versions *versions;
  *rows = pd_rowsum_stored_pi(scratch, call->mode, &versions);
  if (*rows == NULL || pd_versions_hold(versions, call->factors, others)) return POLYAD_OK;
  if (pd_versions_known(call->factors, others)) {
    const struct pd_call pi = {.op = PD_PI, .mode = call->mode, .factors = call->factors};
    return coo_cpu_pi(context, coo, scratch, &pi);
  }
  *rows = NULL;
  return POLYAD_OK;
}

static polyad_status coo_cpu_run(polyad_context *context, const void *storage, void *workspace,
                                 const struct pd_call *call) {
  struct pd_rowsum_scratch *scratch = ((const struct scratch *)workspace)->sums;
  const struct pd_coo *coo = storage;
  if (call->op.into == PD_INTO_NONZEROS) return coo_cpu_pi(context, coo, scratch, call);
  struct pd_rowsum_job job = pd_rowsum_job_of(&coo->list[call->mode], coo->type, call);
  if (call->op.into == PD_INTO_SCALAR) {
    *(double *)call->out->data = pd_rowsum_gain(&job, scratch);
    return POLYAD_OK;
  }
  if (pd_op_needs_model(&call->op)) PD_TRY(coo_cpu_find_pi(context, coo, scratch, call, &job.pi));
  pd_rowsum_run(&job, scratch);
  return POLYAD_OK;
}

static uint64_t coo_cpu_sum_depth(const void *storage, const void *scratch, int mode,
                                  uint64_t longest_row) {
  (void)scratch;
  const struct pd_coo *coo = storage;
  return pd_rowsum_depth(&coo->list[mode], longest_row);
}

static const struct pd_walk coo_cpu_rows = {
    .ops = PD_OPS_MTTKRP | PD_OPS_PI | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = coo_cpu_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = coo_cpu_fill,
    .run = coo_cpu_run,
};

const struct polyad_kernels pd_coo_kernels_cpu = {
    .format = "coo",
    .device = "cpu",
    .walks = {&coo_cpu_rows, &pd_coo_ttmc_walk},
    .sum_depth = coo_cpu_sum_depth,
    .phi_over_mttkrp = 2.0,
};
