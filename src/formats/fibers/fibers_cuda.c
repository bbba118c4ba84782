/* Trees of compressed fibers as lists of the kernels over nonzeros. */
#include "formats/fibers/fibers_cuda.h"

void pd_fibers_list(const struct pd_fibers *tree, int mode, bool alone, int kind,
                    struct pd_nz_lists *to) {
  struct pd_nz_list *list;
  struct pd_nz_device_list *added = pd_nz_add_list(to, mode, tree->level);
  added->kind = kind;
  list = &added->list;
  *list = (struct pd_nz_list){.nnz = tree->nnz,
                              .items = tree->items,
                              .values = tree->values,
                              .number = {alone, tree->nodes[tree->order - 2]}};
  for (int l = 0; l < tree->order; ++l) {
    list->array[l] = tree->id[l];
    list->array[PD_FIBERS_START + l] = tree->start[l];
  }
  list->array[PD_FIBERS_ITEM] = tree->item;
  list->array[PD_FIBERS_PATH] = tree->path;
  list->array[PD_FIBERS_WHOLE] = tree->whole;
}
