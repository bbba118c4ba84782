/* MTTKRP of "hbcsf" on a GPU: three launches for the three kinds of slices of the output mode. */
#include "formats/fibers/fibers_cuda.h"
#include "formats/hbcsf/hbcsf_gpu.h"
#include "formats/hbcsf/hbcsf_layout.h"
#include "formats/tables.h"

enum { SINGLE, LISTED, TREE };

static void list_singles(const struct pd_hbcsf_mode *from, int order, int mode,
                         struct pd_nz_lists *to) {
  struct pd_nz_device_list *list = pd_nz_add_list(to, mode, from->level);
  list->kind = SINGLE;
  list->list.nnz = from->singles;
  list->list.values = from->single_values;
  for (int l = 0; l < order; ++l)
    list->list.array[l] = from->single_id[l];
}

static void list_listed(const struct pd_hbcsf_mode *from, int order, int mode,
                        struct pd_nz_lists *to) {
  struct pd_nz_device_list *list = pd_nz_add_list(to, mode, from->level);
  list->kind = LISTED;
  list->list.nnz = from->listed;
  list->list.values = from->listed_values;
  list->list.array[0] = from->slice_id;
  for (int l = 1; l < order; ++l)
    list->list.array[l] = from->listed_id[l];
  list->list.array[PD_HBCSF_START] = from->slice_start;
  list->list.array[PD_HBCSF_UNIT_SLICE] = from->unit_slice;
}

static void hbcsf_cuda_describe(const void *storage, struct pd_nz_lists *to) {
  const struct pd_hbcsf *hbcsf = storage;
  for (int n = 0; n < hbcsf->head.order; ++n) {
    list_singles(&hbcsf->mode[n], hbcsf->head.order, n, to);
    list_listed(&hbcsf->mode[n], hbcsf->head.order, n, to);
    pd_fibers_list(&hbcsf->mode[n].tree, n, true, TREE, to);
  }
}

static const struct pd_nz_cuda hbcsf_on_cuda = {
    .describe = hbcsf_cuda_describe,
    .f32 = {pd_hbcsf_single_f32, pd_hbcsf_listed_f32, pd_fibers_add_f32},
    .f64 = {pd_hbcsf_single_f64, pd_hbcsf_listed_f64, pd_fibers_add_f64}};

PD_NZ_WALK_CUDA(hbcsf, false)

const struct polyad_kernels pd_hbcsf_kernels_cuda = {
    .format = "hbcsf",
    .device = "cuda",
    .walks = {&hbcsf_cuda_lists},
};
