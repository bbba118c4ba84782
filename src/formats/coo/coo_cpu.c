/* MTTKRP of "coo" on the CPU: each thread owns a range of output rows. */
#include "formats/coo/coo.h"
#include "formats/coo/coo_layout.h"
#include <omp.h>
#include <string.h>

static uint64_t at(const struct pd_coo *coo, int mode, uint64_t p) {
  return coo->index_bytes[mode] == 4 ? ((const uint32_t *)coo->index[mode])[p]
                                     : ((const uint64_t *)coo->index[mode])[p];
}

static double entry(const struct pd_matrix *a, uint64_t row, uint64_t r) {
  uint64_t k = row * a->stride + r;
  return a->type == POLYAD_F32 ? (double)((const float *)a->data)[k] : ((const double *)a->data)[k];
}

struct scratch {
  int threads;
  double *rows; /* one row of sums per thread and output row: see workspace_bytes */
};

static uint64_t longest(const struct pd_coo *coo) {
  uint64_t dim = 0;
  for (int n = 0; n < coo->order; ++n)
    dim = coo->dims[n] > dim ? coo->dims[n] : dim;
  return dim;
}

static uint64_t workspace_bytes(const void *storage, uint64_t rank, int threads) {
  (void)threads;
  return pd_mul_saturated(pd_mul_saturated(longest(storage), rank), sizeof(double));
}

static void workspace_destroy(polyad_context *context, void *scratch) {
  struct scratch *s = scratch;
  if (s == NULL) return;
  pd_free(context, s->rows);
  pd_free(context, s);
}

static polyad_status workspace_create(polyad_context *context, const struct pd_device *device,
                                      const void *storage, uint64_t rank, void **scratch) {
  (void)device;
  struct scratch *s;
  *scratch = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &s));
  s->threads = polyad_threads(context);
  polyad_status status = PD_NEW(context, longest(storage) * rank, &s->rows);
  if (status == POLYAD_OK)
    *scratch = s;
  else
    workspace_destroy(context, s);
  return status;
}

static polyad_status mttkrp(polyad_context *context, const void *storage, void *scratch, int mode,
                            const struct pd_matrix *const *factors, struct pd_matrix *out) {
  (void)context;
  const struct pd_coo *coo = storage;
  struct scratch *s = scratch;
  uint64_t rank = out->columns;
#pragma omp parallel num_threads(s->threads)
  {
    int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    uint64_t first = pd_part_begin(out->rows, thread, threads);
    uint64_t end = pd_part_begin(out->rows, thread + 1, threads);
    memset(s->rows + first * rank, 0, (end - first) * rank * sizeof(double));
    for (uint64_t p = 0; p < coo->nnz; ++p) {
      uint64_t i = at(coo, mode, p);
      if (i < first || i >= end) continue;
      double x = coo->type == POLYAD_F32 ? (double)((const float *)coo->values)[p]
                                         : ((const double *)coo->values)[p];
      for (uint64_t r = 0; r < rank; ++r) {
        double product = x;
        for (int m = 0; m < coo->order; ++m)
          if (m != mode) product *= entry(factors[m], at(coo, m, p), r);
        s->rows[i * rank + r] += product;
      }
    }
    for (uint64_t i = first; i < end; ++i)
      for (uint64_t r = 0; r < rank; ++r)
        if (out->type == POLYAD_F32)
          ((float *)out->data)[i * out->stride + r] = (float)s->rows[i * rank + r];
        else
          ((double *)out->data)[i * out->stride + r] = s->rows[i * rank + r];
  }
  return POLYAD_OK;
}

const struct polyad_kernels pd_coo_kernels_cpu = {
    .format = "coo",
    .device = "cpu",
    .workspace_bytes = workspace_bytes,
    .workspace_create = workspace_create,
    .workspace_destroy = workspace_destroy,
    .mttkrp = mttkrp,
};
