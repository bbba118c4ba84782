/* MTTKRP of "mmcsf" on a GPU: every tree adds its share, whatever level the output mode is on. */
#include "formats/fibers/fibers_cuda.h"
#include "formats/mmcsf/mmcsf_layout.h"
#include "formats/tables.h"

static void mmcsf_cuda_describe(const void *storage, struct pd_nz_lists *to) {
  const struct pd_mmcsf *mmcsf = storage;
  for (int t = 0; t < mmcsf->trees; ++t)
    pd_fibers_list(&mmcsf->tree[t], -1, mmcsf->trees == 1, 0, to);
}

static const struct pd_nz_cuda mmcsf_on_cuda = {.describe = mmcsf_cuda_describe,
                                                .f32 = {pd_fibers_add_f32},
                                                .f64 = {pd_fibers_add_f64},
                                                .chain_f32 = pd_fibers_chain_f32,
                                                .chain_f64 = pd_fibers_chain_f64};

PD_NZ_WALK_CUDA(mmcsf, false)
PD_NZ_CHAIN_CUDA(mmcsf)

const struct polyad_kernels pd_mmcsf_kernels_cuda = {
    .format = "mmcsf",
    .device = "cuda",
    .walks = {&mmcsf_cuda_lists, &mmcsf_cuda_chain},
};
