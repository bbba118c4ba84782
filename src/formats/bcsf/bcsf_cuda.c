/* MTTKRP of "bcsf" on a GPU: the tree that is rooted at the output mode. */
#include "formats/bcsf/bcsf_layout.h"
#include "formats/fibers/fibers_cuda.h"
#include "formats/tables.h"

static void bcsf_cuda_describe(const void *storage, struct pd_nz_lists *to) {
  const struct pd_bcsf *bcsf = storage;
  for (int n = 0; n < bcsf->head.order; ++n)
    pd_fibers_list(&bcsf->tree[n], n, true, 0, to);
}

static const struct pd_nz_cuda bcsf_on_cuda = {.describe = bcsf_cuda_describe,
                                               .f32 = {pd_fibers_add_f32},
                                               .f64 = {pd_fibers_add_f64},
                                               .chain_f32 = pd_fibers_chain_f32,
                                               .chain_f64 = pd_fibers_chain_f64};

PD_NZ_WALK_CUDA(bcsf, false)
PD_NZ_CHAIN_CUDA(bcsf)

const struct polyad_kernels pd_bcsf_kernels_cuda = {
    .format = "bcsf",
    .device = "cuda",
    .walks = {&bcsf_cuda_lists, &bcsf_cuda_chain},
};
