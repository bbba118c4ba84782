/* The lists of "coo" for devices: every mode's indices and the values, in sorted order. */
#include "formats/coo/coo_flat.h"
#include "core/numbers.h"
#include "formats/sent.h"

/* The modes by which the list of `mode` is sorted: `mode` itself, then the columns of the tiling
 * that the model of the caches chooses. */
static void flat_levels(const struct pd_traits *traits, const struct pd_request *request, int mode,
                        int *level) {
  struct pd_tiling tiling;
  pd_tiling_choose(traits, request, mode, false, &tiling);
  level[0] = mode;
  for (int g = 0; g < tiling.columns; ++g)
    level[g + 1] = tiling.mode[g];
}

uint64_t pd_coo_flat_bytes(int lists, int order, uint64_t nnz, polyad_type type) {
  uint64_t item = 4 * (uint64_t)order + pd_type_bytes(type);
  return pd_mul_saturated((uint64_t)lists, pd_mul_saturated(nnz, item));
}

polyad_status pd_coo_flat_build(polyad_context *context, const polyad_tensor *tensor,
                                const struct pd_traits *traits, const struct pd_request *request,
                                struct pd_coo *coo) {
  polyad_status status = POLYAD_OK;
  struct pd_room room = {0};
  polyad_tensor sorted = {.context = context};
  for (int n = 0; n < coo->flats; ++n) {
    struct pd_coo_flat *list = &coo->flat[n];
    flat_levels(traits, request, n, list->level);
    PD_TRY_CLEANUP(pd_sorted_by_modes(context, tensor, list->level, &room, &sorted));
    for (int l = 0; l < coo->order; ++l)
      list->index[l] = pd_sorted_take(&sorted.index[list->level[l]]);
    list->values = pd_sorted_take(&sorted.values);
  }
cleanup:
  pd_tensor_free_arrays(&sorted);
  pd_room_destroy(context, &room);
  return status;
}

/* ---- on the device ----------------------------------------------------------------------------
 */

static polyad_status build_list_there(polyad_context *context, const struct pd_request *request,
                                      struct pd_build *build, int mode, struct pd_coo *coo) {
  const struct pd_device_build *steps = request->device->functions->build;
  struct pd_coo_flat *list = &coo->flat[mode];
  struct pd_build_planes planes = {.output = -1, .planes = coo->order, .padded = coo->nnz};
  flat_levels(request->traits, request, mode, list->level);
  for (int l = 0; l < coo->order; ++l) {
    PD_TRY(pd_sent_allocate(context, request, coo->nnz, sizeof *list->index[l], &list->index[l]));
    planes.plane[l] = list->index[l];
    pd_build_field_add(&planes, list->level[l], 0, pd_index_bits(coo->dims[list->level[l]]), l, 0);
  }
  PD_TRY(pd_sent_allocate(context, request, coo->nnz, pd_type_bytes(coo->type), &list->values));
  planes.values = list->values;
  const struct pd_build_key key = pd_build_key_of_modes(list->level, coo->order, coo->dims);
  PD_TRY(steps->sort(context, build, &key));
  return steps->gather(context, build, &planes);
}

polyad_status pd_coo_flat_build_there(polyad_context *context, struct pd_build *build,
                                      const polyad_tensor *tensor, const struct pd_request *request,
                                      void *storage) {
  (void)tensor;
  struct pd_coo *coo = storage;
  for (int n = 0; n < coo->flats; ++n)
    PD_TRY(build_list_there(context, request, build, n, coo));
  return POLYAD_OK;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

/* Whether nonzero p comes after the one before it. */
static bool flat_ascends(const struct pd_coo_flat *list, int order, uint64_t p) {
  int l = 0;
  while (l < order - 1 && list->index[l][p] == list->index[l][p - 1])
    ++l;
  return list->index[l][p] > list->index[l][p - 1];
}

polyad_status pd_coo_flat_check(polyad_context *context, const struct pd_coo *coo) {
  for (int n = 0; n < coo->flats; ++n) {
    const struct pd_coo_flat *list = &coo->flat[n];
    for (uint64_t p = 0; p < coo->nnz; ++p) {
      for (int l = 0; l < coo->order; ++l)
        if (list->index[l][p] >= coo->dims[list->level[l]])
          return pd_nz_broken(context, "coo", "index too large, nonzero", p);
      if (p > 0 && !flat_ascends(list, coo->order, p))
        return pd_nz_broken(context, "coo", "list not ascending, nonzero", p);
    }
  }
  return POLYAD_OK;
}

void pd_coo_flat_decode(const struct pd_coo *coo, uint64_t first, int count,
                        struct pd_chunk *chunk) {
  const struct pd_coo_flat *list = &coo->flat[0];
  for (int k = 0; k < count; ++k) {
    for (int l = 0; l < coo->order; ++l)
      chunk->index[list->level[l]][k] = list->index[l][first + (uint64_t)k];
    chunk->value[k] = pd_load(coo->type, list->values, first + (uint64_t)k);
  }
}
