/* The lists of "coo" for devices: the nonzeros are sorted by a permutation, and every mode's
 * indices and the values are gathered by it. */
#include "formats/coo/coo_flat.h"
#include "core/numbers.h"
#include "formats/sent.h"

void pd_coo_flat_levels(const struct pd_traits *traits, const struct pd_request *request, int mode,
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
  uint32_t *permutation = NULL;
  PD_TRY(PD_NEW(context, tensor->nnz, &permutation));
  for (int n = 0; n < coo->flats; ++n) {
    struct pd_coo_flat *list = &coo->flat[n];
    pd_coo_flat_levels(traits, request, n, list->level);
    PD_TRY_CLEANUP(pd_nz_sort_modes(context, tensor, list->level, permutation));
    for (int l = 0; l < coo->order; ++l)
      PD_TRY_CLEANUP(pd_nz_gather_index(context, tensor, list->level[l], tensor->nnz, permutation,
                                        &list->index[l]));
    PD_TRY_CLEANUP(pd_nz_gather_values(context, tensor, tensor->nnz, permutation, &list->values));
  }
cleanup:
  pd_free(context, permutation);
  return status;
}

/* ---- on the device ----------------------------------------------------------------------------
 */

uint64_t pd_coo_flat_bytes_there(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t storage_bytes) {
  const struct pd_device_build *steps = request->device->functions->build;
  if (!steps->takes(traits->nnz, traits->order, traits->dims)) return 0;
  return pd_add_saturated(
      storage_bytes, steps->bytes(traits->nnz, traits->order, traits->dims, request->precision));
}

static polyad_status build_list_there(polyad_context *context, const struct pd_request *request,
                                      struct pd_build *build, int mode, struct pd_coo *coo) {
  const struct pd_device *device = request->device;
  const struct pd_device_functions *functions = device->functions;
  struct pd_coo_flat *list = &coo->flat[mode];
  struct pd_build_planes planes = {
      .output = mode, .planes = coo->order, .fields = coo->order, .padded = coo->nnz};
  pd_coo_flat_levels(request->traits, request, mode, list->level);
  for (int l = 0; l < coo->order; ++l) {
    PD_TRY(functions->allocate(context, device, pd_mul_saturated(coo->nnz, sizeof *list->index[l]),
                               (void **)&list->index[l]));
    planes.plane[l] = list->index[l];
    planes.field[l] = (struct pd_build_field){.mode = list->level[l], .plane = l};
  }
  PD_TRY(functions->allocate(context, device, pd_mul_saturated(coo->nnz, pd_type_bytes(coo->type)),
                             &list->values));
  planes.values = list->values;
  PD_TRY(functions->build->sort(context, build, list->level, coo->order));
  return functions->build->gather(context, build, &planes);
}

polyad_status pd_coo_flat_build_there(polyad_context *context, const polyad_tensor *tensor,
                                      const struct pd_request *request, void *storage) {
  const struct pd_device *device = request->device;
  struct pd_coo *coo = storage;
  struct pd_build *build;
  PD_TRY(pd_sent_open(context, tensor, request, &build));
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < coo->flats && status == POLYAD_OK; ++n)
    status = build_list_there(context, request, build, n, coo);
  if (status == POLYAD_OK) status = device->functions->synchronize(context, device);
  pd_sent_close(context, request, build);
  return status;
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
