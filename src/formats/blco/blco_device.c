/* Building "blco" on a device: nonzeros are sorted by the pieces of their indices along the curve,
 * written as keys and values, and told apart where the bits above those of the keys differ. */
#include "formats/blco/blco_layout.h"
#include "formats/sent.h"

enum { KEY_BITS = 64 };

/* The curve from its highest bit down; where the bits above those of the keys agree, the mode that
 * the storage is ordered for comes first. */
static struct pd_build_key blco_device_key(const struct pd_blco *blco) {
  const struct pd_nz *head = &blco->head;
  struct pd_build_key key = {.pieces = 0};
  struct pd_nz_curve curve;
  int inner = blco->ordered_for;
  pd_nz_curve_init(&curve, head->order, head->dims, 0);
  for (int k = curve.bits - 1; k >= 0; --k) {
    if (inner >= 0 && k < KEY_BITS) {
      pd_build_key_add(&key, inner, 0, pd_index_bits(head->dims[inner]));
      inner = -1;
    }
    pd_build_key_add(&key, curve.place[k].mode, curve.place[k].bit, curve.place[k].bit + 1);
  }
  return key;
}

static polyad_status write_blco_keys(polyad_context *context, struct pd_build *build,
                                     const struct pd_request *request, struct pd_blco *blco) {
  const struct pd_nz *head = &blco->head;
  PD_TRY(pd_sent_allocate(context, request, head->nnz, sizeof *blco->key, &blco->key));
  PD_TRY(pd_sent_allocate(context, request, head->nnz, pd_type_bytes(head->type), &blco->values));
  struct pd_build_planes planes = {.output = -1,
                                   .planes = 1,
                                   .padded = head->nnz,
                                   .plane = {blco->key},
                                   .wide = {true},
                                   .values = blco->values};
  for (int n = 0; n < head->order; ++n)
    pd_build_field_add(&planes, n, 0, blco->bits[n], 0, blco->shift[n]);
  return request->device->functions->build->gather(context, build, &planes);
}

/* Where blocks begin, and the bits of the indices that their keys lack. */
static polyad_status write_blco_blocks(polyad_context *context, struct pd_build *build,
                                       const struct pd_request *request, struct pd_blco *blco) {
  const struct pd_device_build *steps = request->device->functions->build;
  const struct pd_nz *head = &blco->head;
  uint64_t tiles = pd_nz_units(head->nnz, PD_BLCO_TILE);
  struct pd_build_key above = {.pieces = 0};
  for (int n = 0; n < head->order; ++n)
    pd_build_key_add(&above, n, blco->bits[n], pd_index_bits(head->dims[n]));
  PD_TRY(steps->runs(context, build, &above, &blco->start, &blco->blocks));
  struct pd_build_planes planes = {
      .output = -1, .planes = head->order, .padded = blco->blocks, .place = blco->start};
  for (int n = 0; n < head->order; ++n) {
    PD_TRY(pd_sent_allocate(context, request, blco->blocks, sizeof *blco->base[n], &blco->base[n]));
    planes.plane[n] = blco->base[n];
    pd_build_field_add(&planes, n, blco->bits[n], pd_index_bits(head->dims[n]), n, blco->bits[n]);
  }
  PD_TRY(steps->gather(context, build, &planes));
  PD_TRY(pd_sent_allocate(context, request, tiles, sizeof *blco->tile_block, &blco->tile_block));
  return steps->runs_at(context, build, blco->start, blco->blocks, PD_BLCO_TILE, tiles,
                        blco->tile_block);
}

polyad_status pd_blco_fill_there(polyad_context *context, struct pd_build *build,
                                 const polyad_tensor *tensor, const struct pd_request *request,
                                 void *storage) {
  (void)tensor;
  const struct pd_device *device = request->device;
  struct pd_blco *blco = storage;
  const struct pd_build_key key = blco_device_key(blco);
  double begin = pd_seconds();
  PD_TRY(device->functions->build->sort(context, build, &key));
  PD_TRY(device->functions->synchronize(context, device));
  blco->seconds_order = pd_seconds() - begin;
  PD_TRY(write_blco_blocks(context, build, request, blco));
  return write_blco_keys(context, build, request, blco);
}
