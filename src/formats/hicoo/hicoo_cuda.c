/* MTTKRP of "hicoo" on a GPU. */
#include "formats/hicoo/hicoo_gpu.h"
#include "formats/hicoo/hicoo_layout.h"
#include "formats/nonzeros/nonzeros_cuda.h"
#include "formats/tables.h"

_Static_assert(PD_HICOO_UNIT == 64, "host and kernels agree");

static void hicoo_cuda_describe(const void *storage, struct pd_nz_lists *to) {
  const struct pd_hicoo *hicoo = storage;
  struct pd_nz_list *list = &pd_nz_add_list(to, -1, hicoo->levels)->list;
  list->nnz = hicoo->head.nnz;
  list->values = hicoo->values;
  list->number[0] = (uint64_t)hicoo->bits;
  for (int n = 0; n < hicoo->head.order; ++n) {
    list->array[n] = hicoo->element[n];
    list->array[PD_HICOO_BLOCK + n] = hicoo->block[n];
  }
  list->array[PD_HICOO_START] = hicoo->start;
  list->array[PD_HICOO_UNIT_BLOCK] = hicoo->unit_block;
}

static const struct pd_nz_cuda hicoo_on_cuda = {.describe = hicoo_cuda_describe,
                                                .f32 = {pd_hicoo_add_f32},
                                                .f64 = {pd_hicoo_add_f64},
                                                .chain_f32 = pd_hicoo_chain_f32,
                                                .chain_f64 = pd_hicoo_chain_f64};

PD_NZ_WALK_CUDA(hicoo, false)
PD_NZ_CHAIN_CUDA(hicoo)

const struct polyad_kernels pd_hicoo_kernels_cuda = {
    .format = "hicoo",
    .device = "cuda",
    .walks = {&hicoo_cuda_lists, &hicoo_cuda_chain},
};
