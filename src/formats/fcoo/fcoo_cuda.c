/* MTTKRP of "fcoo" on a GPU. */
#include "formats/fcoo/fcoo_gpu.h"
#include "formats/fcoo/fcoo_layout.h"
#include "formats/nonzeros/nonzeros_cuda.h"
#include "formats/tables.h"

static void fcoo_cuda_describe(const void *storage, struct pd_nz_lists *to) {
  const struct pd_fcoo *fcoo = storage;
  for (int n = 0; n < fcoo->head.order; ++n) {
    const struct pd_fcoo_mode *mode = &fcoo->mode[n];
    struct pd_nz_list *list = &pd_nz_add_list(to, n, mode->level)->list;
    list->nnz = fcoo->head.nnz;
    list->values = mode->values;
    for (int l = 1; l < fcoo->head.order; ++l)
      list->array[l] = mode->id[l];
    list->array[PD_FCOO_FLAGS] = mode->flags;
    list->array[PD_FCOO_ROW_ID] = mode->row_id;
    list->array[PD_FCOO_UNIT_ROW] = mode->unit_row;
  }
}

static const struct pd_nz_cuda fcoo_on_cuda = {.describe = fcoo_cuda_describe,
                                               .f32 = {pd_fcoo_add_f32},
                                               .f64 = {pd_fcoo_add_f64},
                                               .chain_f32 = pd_fcoo_chain_f32,
                                               .chain_f64 = pd_fcoo_chain_f64,
                                               .sorted = {true}};

PD_NZ_WALK_CUDA(fcoo, true)
PD_NZ_CHAIN_CUDA(fcoo)

const struct polyad_kernels pd_fcoo_kernels_cuda = {
    .format = "fcoo",
    .device = "cuda",
    .walks = {&fcoo_cuda_lists, &fcoo_cuda_chain},
};
