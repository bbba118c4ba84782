/* MTTKRP of "bcsf" on a GPU: the tree that is rooted at the output mode. */
#include "formats/bcsf/bcsf.h"
#include "formats/bcsf/bcsf_layout.h"
#include "formats/fibers/fibers_cuda.h"

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

PD_NZ_CUDA_WORKSPACES(bcsf)
PD_NZ_CUDA_CHAIN_WORKSPACE(bcsf)

const struct polyad_kernels pd_bcsf_kernels_cuda = {PD_NZ_CUDA_SLOTS(bcsf),
                                                    PD_NZ_CUDA_CHAIN_SLOTS(bcsf)};
