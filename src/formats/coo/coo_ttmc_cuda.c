/* The tensor-times-matrix chain of "coo" on a GPU: on the lists that MTTKRP uses. */
#include "formats/coo/coo_ttmc_cuda.h"
#include "formats/coo/coo_layout.h"
#include "formats/nonzeros/nonzeros_cuda.h"
#include "formats/ttmc/ttmc_cuda.h"

uint64_t pd_coo_ttmc_gpu_bytes(const void *storage, const uint64_t *ranks, int threads) {
  (void)threads;
  const struct pd_nz_on_device *made = storage;
  const struct pd_coo *coo = (const struct pd_coo *)made->host;
  return coo->atomic ? 0 : pd_ttmc_gpu_carry_bytes(made->host->order, made->host->nnz, ranks);
}

static const struct pd_nz_device_list *coo_ttmc_cuda_list_of(const struct pd_nz_on_device *made,
                                                             int mode) {
  for (int k = 0; k < made->lists; ++k)
    if (made->list[k].mode == mode || made->list[k].mode < 0) return &made->list[k];
  return NULL;
}

static struct pd_gpu_ttmc_index slot_of(const struct pd_nz_device_list *list, int slot) {
  return (struct pd_gpu_ttmc_index){.plane = list->list.array[slot], .mask = UINT32_MAX};
}

static void coo_ttmc_cuda_fill_list(const struct pd_nz_device_list *from, int mode, bool atomic,
                                    struct pd_ttmc_list *to) {
  *to = (struct pd_ttmc_list){.nnz = from->list.nnz, .values = from->list.values, .atomic = atomic};
  for (int slot = 0; slot < from->levels; ++slot) {
    if (from->level[slot] == mode) {
      to->row = slot_of(from, slot);
    } else {
      to->column_mode[to->columns] = from->level[slot];
      to->column[to->columns++] = slot_of(from, slot);
    }
  }
}

polyad_status pd_coo_ttmc_gpu_create(polyad_context *context, const struct pd_device *device,
                                     const void *storage, const uint64_t *ranks, void **scratch) {
  const struct pd_nz_on_device *made = storage;
  const struct pd_coo *coo = (const struct pd_coo *)made->host;
  struct pd_ttmc_gpu_work *work;
  *scratch = NULL;
  PD_TRY(pd_ttmc_gpu_create(context, device, made->host->order, made->host->type, &work));
  for (int mode = 0; mode < made->host->order; ++mode)
    coo_ttmc_cuda_fill_list(coo_ttmc_cuda_list_of(made, mode), mode, coo->atomic,
                            &work->list[mode]);
  polyad_status status = pd_ttmc_gpu_finish(context, work, ranks);
  if (status == POLYAD_OK)
    *scratch = work;
  else
    pd_ttmc_gpu_destroy(context, work);
  return status;
}
