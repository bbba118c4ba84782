/* The tensor-times-matrix chain of "coo" on a GPU: on the lists that MTTKRP uses. */
#include "formats/coo/coo_layout.h"
#include "formats/tables.h"
#include "formats/ttmc/ttmc_cuda.h"

static uint64_t coo_ttmc_cuda_bytes(const void *storage, const uint64_t *ranks, int threads) {
  (void)threads;
  const struct pd_coo *coo = storage;
  return coo->atomic ? 0 : pd_ttmc_gpu_carry_bytes(coo->order, coo->nnz, ranks);
}

static void coo_ttmc_cuda_fill_list(const struct pd_coo *coo, int mode, struct pd_ttmc_list *to) {
  const struct pd_coo_flat *from = &coo->flat[coo->atomic ? 0 : mode];
  *to = (struct pd_ttmc_list){.nnz = coo->nnz, .values = from->values, .atomic = coo->atomic};
  for (int l = 0; l < coo->order; ++l) {
    struct pd_gpu_ttmc_index index = {.plane = from->index[l], .mask = UINT32_MAX};
    if (from->level[l] == mode) {
      to->row = index;
    } else {
      to->column_mode[to->columns] = from->level[l];
      to->column[to->columns++] = index;
    }
  }
}

static polyad_status coo_ttmc_cuda_lists(polyad_context *context, const void *storage,
                                         struct pd_ttmc_gpu_work *work) {
  (void)context;
  const struct pd_coo *coo = storage;
  for (int mode = 0; mode < coo->order; ++mode)
    coo_ttmc_cuda_fill_list(coo, mode, &work->list[mode]);
  return POLYAD_OK;
}

PD_TTMC_WALK_CUDA(coo)
