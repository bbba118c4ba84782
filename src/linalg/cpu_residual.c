/* The residual of a model summed from the nonzeros: the model's value at each, in double whatever
 * the type of the factors. Nonzeros are decoded a chunk at a time; sums are of a fixed number of
 * parts, so that they do not depend on the threads. */
#include "linalg/cpu_work.h"
#include <omp.h>

enum { PARTS = 256, LEAST_PRODUCTS = 1 << 14, NEAR_BYTES = 1 << 18 };

/* Modes by how often their indices change in the middle of the storage, the most often last. */
static void order_modes(const struct pd_nonzeros *nonzeros, int *mode) {
  struct pd_chunk chunk;
  uint64_t first = nonzeros->nnz / 2;
  int count = pd_chunk_count(first, nonzeros->nnz), changes[POLYAD_MAX_ORDER];
  if (count > 0) nonzeros->decode(nonzeros->storage, first, count, &chunk);
  for (int n = 0; n < nonzeros->order; ++n) {
    int mine = 0, at = n;
    for (int p = 1; p < count; ++p)
      mine += chunk.index[n][p] != chunk.index[n][p - 1];
    for (; at > 0 && changes[at - 1] > mine; --at) {
      changes[at] = changes[at - 1];
      mode[at] = mode[at - 1];
    }
    changes[at] = mine;
    mode[at] = n;
  }
}

static void cpu_residual_sum_part(const struct pd_factor_kernels *kernels,
                                  const struct pd_nonzeros *nonzeros,
                                  const struct pd_residual_model *model, int part, double *tile,
                                  double sums[2]) {
  struct pd_chunk chunk;
  uint64_t end = pd_part_begin(nonzeros->nnz, part + 1, PARTS);
  sums[0] = sums[1] = 0;
  for (uint64_t p = pd_part_begin(nonzeros->nnz, part, PARTS); p < end; p += PD_CHUNK) {
    int count = pd_chunk_count(p, end);
    nonzeros->decode(nonzeros->storage, p, count, &chunk);
    kernels->residual(model, &chunk, count, tile, sums);
  }
}

polyad_status pd_cpu_residual(polyad_context *context, struct pd_linalg_work *work,
                              const struct pd_nonzeros *nonzeros, const struct pd_list *list,
                              const struct pd_matrix *const *factors,
                              const struct pd_matrix *lambda) {
  (void)list;
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(factors[0]->type);
  struct pd_residual_model model = {
      .order = nonzeros->order, .rank = work->rank, .weight = lambda->data};
  order_modes(nonzeros, model.mode);
  for (int n = 0; n < nonzeros->order; ++n) {
    model.factor[n] = factors[n]->data;
    model.stride[n] = factors[n]->stride * pd_type_bytes(factors[n]->type);
    model.far[n] = factors[n]->rows * model.stride[n] > NEAR_BYTES;
  }
  double sums[PARTS][2], residual = 0, covered = 0;
  uint64_t products = pd_mul_saturated(nonzeros->nnz, work->rank);
  int threads = pd_threads_for(context, products, LEAST_PRODUCTS);
  if (threads > work->threads) threads = work->threads;
#pragma omp parallel num_threads(threads)
  {
    double *tile = work->thread[omp_get_thread_num()].tile;
#pragma omp for schedule(dynamic, 1)
    for (int part = 0; part < PARTS; ++part)
      cpu_residual_sum_part(kernels, nonzeros, &model, part, tile, sums[part]);
  }
  for (int part = 0; part < PARTS; ++part) {
    residual += sums[part][0];
    covered += sums[part][1];
  }
  double both[2] = {residual, covered};
  PD_TRY(pd_nonzeros_check(context, nonzeros));
  PD_TRY(pd_team_is_mixed(work->team) ? pd_team_fold(context, work->team, 2, 2, both)
                                      : pd_team_sum(context, work->team, 2, both));
  work->scalars[PD_SCALAR_RESIDUAL] = both[0];
  work->scalars[PD_SCALAR_COVERED] = both[1];
  return POLYAD_OK;
}
