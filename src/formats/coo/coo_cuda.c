/* MTTKRP of "coo" on a GPU. */
#include "formats/coo/coo_cuda.h"
#include "formats/coo/coo_layout.h"
#include "formats/nonzeros/nonzeros_cuda.h"
#include "formats/tables.h"

enum { SORTED, ATOMIC };

static void coo_cuda_describe(const void *storage, struct pd_nz_lists *to) {
  const struct pd_coo *coo = storage;
  for (int n = 0; n < coo->flats; ++n) {
    const struct pd_coo_flat *from = &coo->flat[n];
    struct pd_nz_device_list *list = pd_nz_add_list(to, coo->atomic ? -1 : n, from->level);
    list->kind = coo->atomic ? ATOMIC : SORTED;
    list->list.nnz = coo->nnz;
    list->list.values = from->values;
    for (int l = 0; l < coo->order; ++l)
      list->list.array[l] = from->index[l];
  }
}

static const struct pd_nz_cuda coo_on_cuda = {
    .describe = coo_cuda_describe,
    .f32 = {[SORTED] = pd_coo_sorted_f32, [ATOMIC] = pd_coo_atomic_f32},
    .f64 = {[SORTED] = pd_coo_sorted_f64, [ATOMIC] = pd_coo_atomic_f64},
    .sorted = {[SORTED] = true},
};

PD_NZ_WALK_CUDA(coo, true)

const struct polyad_kernels pd_coo_kernels_cuda = {
    .format = "coo",
    .device = "cuda",
    .walks = {&coo_cuda_lists, &pd_coo_ttmc_walk_cuda},
};
