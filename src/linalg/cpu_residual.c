/* The residual of a model summed from the nonzeros: the model's value at each, in double whatever
 * the type of the factors. Nonzeros are decoded a chunk at a time; sums are of a fixed number of
 * parts, so that they do not depend on the threads. */
#include "linalg/cpu_work.h"
#include <omp.h>

enum { PARTS = 256, LEAST_PRODUCTS = 1 << 14 };

/* What all parts read. */
struct pass {
  const struct pd_factor_kernels *kernels;
  const struct pd_nonzeros *nonzeros;
  const struct pd_matrix *const *factors;
  const double *weight;
  size_t rank;
};

static void find_rows(const struct pass *pass, const struct pd_chunk *chunk, int count,
                      const void *(*row)[PD_CHUNK]) {
  for (int n = 0; n < pass->nonzeros->order; ++n)
    for (int p = 0; p < count; ++p)
      row[n][p] = pd_cpu_row(pass->factors[n], chunk->index[n][p]);
}

static void cpu_residual_sum_part(const struct pass *pass, int part, double *tile, double sums[2]) {
  const struct pd_nonzeros *nonzeros = pass->nonzeros;
  struct pd_chunk chunk;
  const void *row[POLYAD_MAX_ORDER][PD_CHUNK];
  uint64_t end = pd_part_begin(nonzeros->nnz, part + 1, PARTS);
  sums[0] = sums[1] = 0;
  for (uint64_t p = pd_part_begin(nonzeros->nnz, part, PARTS); p < end; p += PD_CHUNK) {
    int count = pd_chunk_count(p, end);
    nonzeros->decode(nonzeros->storage, p, count, &chunk);
    find_rows(pass, &chunk, count, row);
    pass->kernels->residual(count, pass->rank, nonzeros->order, (const void *const(*)[PD_CHUNK])row,
                            pass->weight, chunk.value, tile, sums);
  }
}

polyad_status pd_cpu_residual(polyad_context *context, struct pd_linalg_work *work,
                              const struct pd_nonzeros *nonzeros, const struct pd_list *list,
                              const struct pd_matrix *const *factors,
                              const struct pd_matrix *lambda) {
  (void)list;
  const struct pass pass = {.kernels = pd_factor_kernels_for(factors[0]->type),
                            .nonzeros = nonzeros,
                            .factors = factors,
                            .weight = lambda->data,
                            .rank = work->rank};
  double sums[PARTS][2], residual = 0, covered = 0;
  uint64_t products = pd_mul_saturated(nonzeros->nnz, work->rank);
  int threads = pd_threads_for(context, products, LEAST_PRODUCTS);
  if (threads > work->threads) threads = work->threads;
#pragma omp parallel num_threads(threads)
  {
    double *tile = work->thread[omp_get_thread_num()].tile;
#pragma omp for schedule(dynamic, 1)
    for (int part = 0; part < PARTS; ++part)
      cpu_residual_sum_part(&pass, part, tile, sums[part]);
  }
  for (int part = 0; part < PARTS; ++part) {
    residual += sums[part][0];
    covered += sums[part][1];
  }
  work->scalars[PD_SCALAR_RESIDUAL] = residual;
  work->scalars[PD_SCALAR_COVERED] = covered;
  return pd_nonzeros_check(context, nonzeros);
}
