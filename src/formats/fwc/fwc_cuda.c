/* MTTKRP of "fwc" on a GPU. */
#include "formats/fwc/fwc_gpu.h"
#include "formats/fwc/fwc_layout.h"
#include "formats/nonzeros/nonzeros_cuda.h"
#include "formats/tables.h"

static void fwc_cuda_describe(const void *storage, struct pd_nz_lists *to) {
  const struct pd_fwc *fwc = storage;
  for (int n = 0; n < fwc->head.order; ++n) {
    const struct pd_fwc_mode *mode = &fwc->mode[n];
    struct pd_nz_list *list = &pd_nz_add_list(to, n, mode->level)->list;
    list->nnz = fwc->head.nnz;
    list->values = mode->values;
    for (int l = 0; l < fwc->head.order; ++l)
      list->array[l] = mode->id[l];
    list->array[PD_FWC_START] = mode->start;
    list->array[PD_FWC_UNIT_FIBER] = mode->unit_fiber;
  }
}

static const struct pd_nz_cuda fwc_on_cuda = {
    .describe = fwc_cuda_describe, .f32 = {pd_fwc_add_f32}, .f64 = {pd_fwc_add_f64}};

PD_NZ_WALK_CUDA(fwc, false)

const struct polyad_kernels pd_fwc_kernels_cuda = {
    .format = "fwc",
    .device = "cuda",
    .walks = {&fwc_cuda_lists},
};
