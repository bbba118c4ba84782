/* Storages of "twotree" on a GPU: built there, or copied there and back. A side is two storages of
 * "modecopy", and the indices of its tuples for who reads the nonzeros. */
#include "formats/twotree/twotree_store_cuda.h"
#include "device/build.h"
#include "formats/modecopy/modecopy_device.h"
#include <string.h>

void pd_twotree_cuda_unload(polyad_context *context, const struct pd_device *device,
                            void *pointer) {
  struct pd_twotree_on_device *made = pointer;
  if (made == NULL) return;
  for (int s = 0; s < PD_TWOTREE_MAX_ORDER; ++s) {
    struct pd_twotree_device_side *side = &made->side[s];
    pd_modecopy_cuda_unload(context, device, side->nonzeros);
    pd_modecopy_cuda_unload(context, device, side->by_tuple);
    for (int k = 0; k < PD_TWOTREE_MAX_ORDER; ++k)
      pd_cuda_release(context, device, side->tuple_id[k]);
  }
  pd_cuda_services->free(context, made);
}

static polyad_status twotree_store_cuda_create(polyad_context *context,
                                               const struct pd_twotree *host,
                                               struct pd_twotree_on_device **out) {
  struct pd_twotree_on_device *made;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *made, (void **)&made));
  *made = (struct pd_twotree_on_device){.host = host};
  *out = made;
  return POLYAD_OK;
}

/* ---- from the host ----------------------------------------------------------------------------
 */

/* A tensor without nonzeros has no copies. */
static polyad_status upload_copies(polyad_context *context, const struct pd_device *device,
                                   const struct pd_modecopy *from,
                                   struct pd_modecopy_on_device **to) {
  void *made = NULL;
  if (from != NULL) PD_TRY(pd_modecopy_cuda_upload(context, device, from, &made));
  *to = made;
  return POLYAD_OK;
}

static polyad_status upload_side(polyad_context *context, const struct pd_device *device,
                                 const struct pd_twotree_side *from,
                                 struct pd_twotree_device_side *to) {
  PD_TRY(upload_copies(context, device, from->nonzeros, &to->nonzeros));
  PD_TRY(upload_copies(context, device, from->by_tuple, &to->by_tuple));
  for (int k = 0; k < from->modes.count; ++k)
    PD_TRY(pd_cuda_upload(context, device, from->tuples, (size_t)from->id_bytes[k],
                          from->tuple_id[k], (void **)&to->tuple_id[k]));
  return POLYAD_OK;
}

polyad_status pd_twotree_cuda_upload(polyad_context *context, const struct pd_device *device,
                                     const void *storage, void **out) {
  const struct pd_twotree *host = storage;
  struct pd_twotree_on_device *made;
  *out = NULL;
  PD_TRY(twotree_store_cuda_create(context, host, &made));
  polyad_status status = POLYAD_OK;
  for (int s = 0; s < host->sides && status == POLYAD_OK; ++s)
    status = upload_side(context, device, &host->side[s], &made->side[s]);
  if (status == POLYAD_OK)
    *out = made;
  else
    pd_twotree_cuda_unload(context, device, made);
  return status;
}

/* ---- on the device ----------------------------------------------------------------------------
 */

uint64_t pd_twotree_cuda_build_bytes(const struct pd_traits *traits,
                                     const struct pd_request *request, uint64_t storage_bytes) {
  const struct pd_device *device = request->device;
  uint64_t bytes = pd_modecopy_build_bytes(device, traits, request->precision, storage_bytes),
           most = 0;
  struct pd_twotree_cut cut;
  if (bytes == 0) return 0;
  pd_twotree_cut_choose(traits, request, &cut);
  for (int s = 0; s < cut.sides; ++s) {
    struct pd_twotree_modes modes = pd_twotree_modes_of(traits->order, &cut, s);
    if (modes.count == 1) continue;
    uint64_t tuples = pd_twotree_tuples_at_most(traits, &modes);
    uint64_t each =
        device->functions->build->group_bytes(traits->nnz, tuples, modes.count, request->precision);
    if (each > most) most = each;
  }
  return pd_add_saturated(bytes, most);
}

/* The two storages of a side of several modes, whose number of tuples is known by now. */
static polyad_status build_grouped(polyad_context *context, const struct pd_device *device,
                                   const struct pd_build_groups *groups,
                                   const struct pd_traits *traits, const struct pd_request *request,
                                   struct pd_twotree_side *side,
                                   struct pd_twotree_device_side *to) {
  struct pd_traits of;
  side->tuples = groups->tuples;
  side->nonzeros->dims[0] = groups->tuples;
  side->by_tuple->dims[0] = side->by_tuple->nnz = groups->tuples;
  pd_twotree_pass_traits(traits, &side->modes, groups->tuples, &of);
  PD_TRY(pd_modecopy_cuda_build_opened(context, device, groups->nonzeros, &of, request,
                                       side->nonzeros, &to->nonzeros));
  pd_twotree_tuple_traits(traits, &side->modes, groups->tuples, &of);
  return pd_modecopy_cuda_build_opened(context, device, groups->by_tuple, &of, request,
                                       side->by_tuple, &to->by_tuple);
}

static polyad_status
twotree_store_cuda_build_side(polyad_context *context, const struct pd_device *device,
                              struct pd_build *build, const struct pd_traits *traits,
                              const struct pd_request *request, struct pd_twotree_side *side,
                              struct pd_twotree_device_side *to) {
  const struct pd_device_build *steps = device->functions->build;
  struct pd_build_groups groups;
  if (side->modes.count == 1)
    return pd_modecopy_cuda_build_opened(context, device, build, traits, request, side->nonzeros,
                                         &to->nonzeros);
  polyad_status status = steps->group(context, build, side->modes.mode, side->modes.count, &groups);
  for (int k = 0; k < side->modes.count; ++k)
    to->tuple_id[k] = groups.index[k];
  if (status == POLYAD_OK)
    status = build_grouped(context, device, &groups, traits, request, side, to);
  steps->close(context, groups.nonzeros);
  steps->close(context, groups.by_tuple);
  return status;
}

polyad_status pd_twotree_cuda_build(polyad_context *context, const struct pd_device *device,
                                    const polyad_tensor *tensor, const struct pd_traits *traits,
                                    const struct pd_request *request, void *storage, void **out) {
  const struct pd_device_build *steps = device->functions->build;
  struct pd_twotree *host = storage;
  struct pd_twotree_on_device *made;
  struct pd_build *build = NULL;
  *out = NULL;
  PD_TRY(twotree_store_cuda_create(context, host, &made));
  polyad_status status = steps->open(context, device, tensor, &build);
  for (int s = 0; s < host->sides && status == POLYAD_OK; ++s)
    status = twotree_store_cuda_build_side(context, device, build, traits, request, &host->side[s],
                                           &made->side[s]);
  steps->close(context, build);
  if (status == POLYAD_OK)
    *out = made;
  else
    pd_twotree_cuda_unload(context, device, made);
  return status;
}

/* ---- back to the host --------------------------------------------------------------------------
 */

static polyad_status download_copies(polyad_context *context, const struct pd_device *device,
                                     const struct pd_modecopy_on_device *from, bool whole,
                                     struct pd_modecopy **to) {
  void *brought = NULL;
  if (from != NULL) PD_TRY(pd_modecopy_cuda_download(context, device, from, whole, &brought));
  *to = brought;
  return POLYAD_OK;
}

static polyad_status bring_side(polyad_context *context, const struct pd_device *device,
                                const struct pd_twotree_device_side *from, bool whole,
                                struct pd_twotree_side *to) {
  PD_TRY(download_copies(context, device, from->nonzeros, whole, &to->nonzeros));
  if (whole) PD_TRY(download_copies(context, device, from->by_tuple, whole, &to->by_tuple));
  for (int k = 0; k < to->modes.count && to->tuples > 0; ++k) {
    PD_TRY(pd_cuda_services->alloc(context, to->tuples, (size_t)to->id_bytes[k], &to->tuple_id[k]));
    PD_TRY(device->functions->copy_out(context, device, to->tuple_id[k], from->tuple_id[k],
                                       to->tuples * (uint64_t)to->id_bytes[k]));
  }
  return POLYAD_OK;
}

/* The arrays of a storage that nobody else has. */
static void twotree_store_cuda_drop(polyad_context *context, struct pd_twotree *storage) {
  for (int s = 0; s < storage->sides; ++s) {
    struct pd_twotree_side *side = &storage->side[s];
    pd_modecopy_cuda_drop(context, side->nonzeros);
    pd_modecopy_cuda_drop(context, side->by_tuple);
    for (int k = 0; k < side->modes.count; ++k)
      pd_cuda_services->free(context, side->tuple_id[k]);
  }
  pd_cuda_services->free(context, storage);
}

/* Decoding reads the first side's nonzeros and tuples alone. */
polyad_status pd_twotree_cuda_download(polyad_context *context, const struct pd_device *device,
                                       const void *on_device, bool whole, void **out) {
  const struct pd_twotree_on_device *made = on_device;
  struct pd_twotree *storage;
  *out = NULL;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *storage, (void **)&storage));
  *storage = *made->host;
  for (int s = 0; s < storage->sides; ++s) {
    struct pd_twotree_side *side = &storage->side[s];
    side->nonzeros = side->by_tuple = NULL;
    memset(side->tuple_id, 0, sizeof side->tuple_id);
  }
  polyad_status status = POLYAD_OK;
  for (int s = 0; s < (whole ? storage->sides : 1) && status == POLYAD_OK; ++s)
    status = bring_side(context, device, &made->side[s], whole, &storage->side[s]);
  if (status == POLYAD_OK)
    *out = storage;
  else
    twotree_store_cuda_drop(context, storage);
  return status;
}
