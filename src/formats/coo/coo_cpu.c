/* Kernels of "coo" on the CPU. */
#include "core/threads.h"
#include "formats/coo/coo.h"
#include "formats/coo/coo_layout.h"

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

static uint64_t coo_cpu_workspace_bytes(const void *storage, uint64_t rank, int threads) {
  return pd_add_saturated(pd_rowsum_scratch_bytes(rank, coo_cpu_block_rows(storage), threads),
                          coo_cpu_table_bytes(storage, rank));
}

static polyad_status coo_cpu_workspace_create(polyad_context *context,
                                              const struct pd_device *device, const void *storage,
                                              uint64_t rank, void **scratch) {
  (void)device;
  const struct pd_coo *coo = storage;
  struct pd_rowsum_scratch *sums;
  PD_TRY(pd_rowsum_scratch_create(context, coo->type, rank, coo_cpu_block_rows(coo),
                                  pd_kernel_threads(context, coo->nnz, rank), &sums));
  polyad_status status =
      pd_rowsum_scratch_add_tables(context, coo_cpu_table_bytes(coo, rank), sums);
  if (status != POLYAD_OK) {
    pd_rowsum_scratch_destroy(context, sums);
    return status;
  }
  *scratch = sums;
  return POLYAD_OK;
}

static void coo_cpu_workspace_destroy(polyad_context *context, void *scratch) {
  pd_rowsum_scratch_destroy(context, scratch);
}

static struct pd_rowsum_job coo_cpu_job_of(const struct pd_coo *coo, int mode,
                                           const struct pd_matrix *const *factors) {
  const struct pd_rowsum *list = &coo->list[mode];
  struct pd_rowsum_job job = {.list = list, .type = coo->type};
  for (int g = 0; g < list->columns; ++g) {
    const struct pd_matrix *factor = factors[list->mode[g]];
    job.factor[g] = factor->data;
    job.stride[g] = factor->stride;
    job.factor_rows[g] = factor->rows;
    job.version[g] = factor->version;
  }
  return job;
}

static void coo_cpu_set_output(struct pd_rowsum_job *job, const struct pd_matrix *out) {
  job->rank = out->columns;
  job->out = out->data;
  job->out_rows = out->rows;
  job->out_stride = out->stride;
}

static polyad_status coo_cpu_mttkrp(polyad_context *context, const void *storage, void *scratch,
                                    int mode, const struct pd_matrix *const *factors,
                                    struct pd_matrix *out) {
  (void)context;
  struct pd_rowsum_job job = coo_cpu_job_of(storage, mode, factors);
  coo_cpu_set_output(&job, out);
  pd_rowsum_run(&job, scratch);
  return POLYAD_OK;
}

static polyad_status coo_cpu_pi(polyad_context *context, const void *storage, void *scratch,
                                int mode, const struct pd_matrix *const *factors) {
  const struct pd_coo *coo = storage;
  struct pd_rowsum_job job = coo_cpu_job_of(coo, mode, factors);
  struct pd_versions *versions;
  void *room = NULL;
  for (int n = 0; n < coo->order; ++n)
    if (n != mode) job.rank = factors[n]->columns;
  if (coo->order == 1) return POLYAD_OK; /* Pi is one everywhere */
  PD_TRY(pd_rowsum_pi_room(context, scratch, mode, coo->nnz, coo->type, job.rank, &room));
  pd_rowsum_pi(&job, scratch, room);
  (void)pd_rowsum_stored_pi(scratch, mode, &versions);
  pd_versions_set(versions, factors, pd_modes_but(coo->order, mode));
  return POLYAD_OK;
}

/* The stored rows of Pi, made anew where they are of other factors; NULL: to be made on the fly. */
static polyad_status coo_cpu_find_pi(polyad_context *context, const struct pd_coo *coo,
                                     void *scratch, int mode,
                                     const struct pd_matrix *const *factors, const void **rows) {
  uint64_t others = pd_modes_but(coo->order, mode);
  struct pd_versions *versions;
  *rows = pd_rowsum_stored_pi(scratch, mode, &versions);
  if (*rows == NULL || pd_versions_hold(versions, factors, others)) return POLYAD_OK;
  if (pd_versions_known(factors, others)) return coo_cpu_pi(context, coo, scratch, mode, factors);
  *rows = NULL;
  return POLYAD_OK;
}

static polyad_status coo_cpu_phi(polyad_context *context, const void *storage, void *scratch,
                                 int mode, const struct pd_matrix *const *factors, double epsilon,
                                 struct pd_matrix *out) {
  struct pd_rowsum_job job = coo_cpu_job_of(storage, mode, factors);
  coo_cpu_set_output(&job, out);
  job.b = factors[mode]->data;
  job.b_stride = factors[mode]->stride;
  job.epsilon = epsilon;
  PD_TRY(coo_cpu_find_pi(context, storage, scratch, mode, factors, &job.pi));
  pd_rowsum_run(&job, scratch);
  return POLYAD_OK;
}

static polyad_status coo_cpu_log_likelihood(polyad_context *context, const void *storage,
                                            void *scratch, int mode,
                                            const struct pd_matrix *const *factors,
                                            struct pd_matrix *out) {
  (void)context;
  struct pd_rowsum_job job = coo_cpu_job_of(storage, mode, factors);
  job.rank = factors[mode]->columns;
  job.out_rows = factors[mode]->rows;
  job.b = factors[mode]->data;
  job.b_stride = factors[mode]->stride;
  *(double *)out->data = pd_rowsum_log_likelihood(&job, scratch);
  return POLYAD_OK;
}

const struct polyad_kernels pd_coo_kernels_cpu = {
    .format = "coo",
    .device = "cpu",
    .workspace_bytes = coo_cpu_workspace_bytes,
    .workspace_create = coo_cpu_workspace_create,
    .workspace_destroy = coo_cpu_workspace_destroy,
    .mttkrp = coo_cpu_mttkrp,
    .sum_depth = pd_sum_depth_on_cpu,
    .ttmc_workspace_bytes = pd_coo_ttmc_workspace_bytes,
    .ttmc_workspace_create = pd_coo_ttmc_workspace_create,
    .ttmc_workspace_destroy = pd_coo_ttmc_workspace_destroy,
    .ttmc = pd_coo_ttmc,
    .pi = coo_cpu_pi,
    .phi = coo_cpu_phi,
    .phi_over_mttkrp = 1.9,
    .log_likelihood = coo_cpu_log_likelihood,
};
