/* Putting trees of compressed fibers on a GPU. */
#include "formats/fibers/fibers_cuda.h"

polyad_status pd_fibers_put(polyad_context *context, const struct pd_device *device,
                            const struct pd_fibers *tree, int mode, bool alone, int kind,
                            struct pd_nz_on_device *made) {
  struct pd_nz_device_list *list = pd_nz_add_list(made, mode, tree->level);
  uint64_t upper = (uint64_t)tree->order - 1;
  list->kind = kind;
  list->list.nnz = tree->nnz;
  list->list.items = tree->items;
  list->list.number[0] = alone;
  list->list.number[1] = tree->nodes[tree->order - 2];
  for (int l = 0; l < tree->order; ++l) {
    PD_TRY(pd_nz_put(context, device, list, l, tree->nodes[l], sizeof *tree->id[l], tree->id[l]));
    if (tree->start[l] != NULL)
      PD_TRY(pd_nz_put(context, device, list, PD_FIBERS_START + l, (uint64_t)tree->nodes[l] + 1,
                       sizeof *tree->start[l], tree->start[l]));
  }
  PD_TRY(pd_nz_put(context, device, list, PD_FIBERS_ITEM, (uint64_t)tree->items + 1,
                   sizeof *tree->item, tree->item));
  PD_TRY(pd_nz_put(context, device, list, PD_FIBERS_PATH, tree->items * upper, sizeof *tree->path,
                   tree->path));
  PD_TRY(pd_nz_put(context, device, list, PD_FIBERS_WHOLE, tree->items, 1, tree->whole));
  return pd_nz_put(context, device, list, -1, tree->nnz, pd_type_bytes(made->host->type),
                   tree->values);
}
