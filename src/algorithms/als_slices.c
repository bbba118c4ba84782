/* The squared norms of the slices of the last mode, which say how large the sums in its MTTKRP are:
 * by Cauchy and Schwarz, entry (i, r) sums products whose magnitudes add up to no more than the
 * norm of slice i times those of the other factors' columns r. They are computed when a fit first
 * needs them, from the nonzeros, in a number of parts that does not depend on the threads. */
#include "algorithms/als_state.h"

enum { MOST_PARTS = 16 };

/* Every part sums into rows of its own: no more parts than the nonzeros are worth. */
static int count_parts(const struct pd_nonzeros *nonzeros, uint64_t rows) {
  uint64_t worth = nonzeros->nnz / (rows > 0 ? rows : 1);
  return worth < 1 ? 1 : worth < MOST_PARTS ? (int)worth : MOST_PARTS;
}

static void als_slices_sum_part(const struct pd_nonzeros *nonzeros, int part, int parts,
                                double *squares) {
  struct pd_chunk chunk;
  int last = nonzeros->order - 1;
  uint64_t end = pd_part_begin(nonzeros->nnz, part + 1, parts);
  for (uint64_t p = pd_part_begin(nonzeros->nnz, part, parts); p < end; p += PD_CHUNK) {
    int count = pd_chunk_count(p, end);
    nonzeros->decode(nonzeros->storage, p, count, &chunk);
    for (int k = 0; k < count; ++k)
      squares[chunk.index[last][k]] += chunk.value[k] * chunk.value[k];
  }
}

/* Sums into the first of `parts` times `rows` zeros. */
static void sum_slices(polyad_context *context, const struct pd_nonzeros *nonzeros, uint64_t rows,
                       int parts, double *squares) {
  int threads = pd_threads_for(context, nonzeros->nnz, 1 << 16);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int part = 0; part < parts; ++part)
    als_slices_sum_part(nonzeros, part, parts, squares + (uint64_t)part * rows);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t i = 0; i < rows; ++i)
    for (int part = 1; part < parts; ++part)
      squares[i] += squares[(uint64_t)part * rows + i];
}

static polyad_status als_slices_find_slices(struct pd_als *als) {
  struct pd_nonzeros shape = pd_plan_shape(als->plan);
  struct pd_plan_nonzeros nonzeros = {.brought = NULL};
  uint64_t rows = shape.dims[shape.order - 1];
  int parts = count_parts(&shape, rows);
  double *squares = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_memory_check(als->context, pd_mul_saturated(rows, (uint64_t)parts * sizeof *squares),
                         "the norms of the slices"));
  PD_TRY(PD_NEW_ZERO(als->context, pd_mul_saturated((uint64_t)parts, rows), &squares));
  PD_TRY_CLEANUP(pd_plan_nonzeros_open(als->context, als->plan, &nonzeros));
  sum_slices(als->context, &nonzeros.all, rows, parts, squares);
  PD_TRY_CLEANUP(pd_nonzeros_check(als->context, &nonzeros.all));
  PD_TRY_CLEANUP(pd_matrix_create(als->context, als->device, POLYAD_F64, rows, 1, &als->slices));
  PD_TRY_CLEANUP(pd_matrix_from_host(als->context, &als->slices, squares));
  status = pd_plan_collect(als->context, als->plan, als->workspace, shape.order - 1, &als->slices);
cleanup:
  pd_plan_nonzeros_close(als->context, als->plan, &nonzeros);
  pd_free(als->context, squares);
  return status;
}

polyad_status pd_als_enqueue_spread(struct pd_als *als) {
  PD_TRY(als_slices_find_slices(als));
  pd_als_forget_records(als); /* updates of the last mode read the slices from now on */
  int last = als->order - 1;
  struct pd_matrix slices = pd_plan_own(als->plan, last, &als->slices);
  struct pd_matrix own = pd_plan_own(als->plan, last, &als->factor[last]);
  return als->linalg->spread(als->context, als->work, &slices, &own, als->order, als->gram_list,
                             &als->lambda);
}
